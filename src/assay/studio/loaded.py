"""What a fitted model says at the pointer: its answer, how sure it is, and why, as far as the model can tell."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assay.engines import ArrayRows, Rows
from assay.errors import AssayError, DataError
from assay.families.neighbours.plain import HAMMING, reduced_distances
from assay.numerics import Array
from assay.report.raw_model import RawModel
from assay.selection.comparison import plain
from assay.selection.loading import load
from assay.selection.table_model import TableModel, sides
from assay.studio.asks import DatasetAsk, NearAsk, ShowAsk
from assay.studio.lesson import Lesson
from assay.studio.looking import Window
from assay.studio.playing import claims, frame
from assay.studio.protocol import TableLocation
from assay.studio.scene import Scene, scene_of
from assay.studio.tables import Shelf
from assay.tables.encoding import Encoding

Message = dict[str, Any]
TURNS = 72  # corners of the line around the neighbours
MOST_LINES = 12


def near(ask: NearAsk, place: TableLocation | None, shelf: Shelf) -> Iterator[Message]:
    """Overlays and a text."""
    model = loaded(shelf, ask.model)
    scene = scene_of(ask.data, place, task_of_model(model))
    fit_to(scene, model)
    at = np.array([[ask.at[0], 0.0 if scene.line else ask.at[1]]])
    x = scene.on.points(at)
    lines = [_answer(scene, RawModel(model), x)]
    overlays: list[Message] = []
    inner = model.model_
    rows: Any = model.encoding_.rows(ArrayRows(x))
    if hasattr(inner, "kneighbors"):
        overlays, said = _neighbours(scene, model, rows, at[0])
        lines += said
    elif hasattr(inner, "explain_path"):
        lines += str(inner.explain_path(rows)).splitlines()[:MOST_LINES]
    elif hasattr(inner, "nodes_") and hasattr(inner, "classes_"):
        lines.append(f"{len(inner.nodes_)} trees vote.")
    yield {"overlays": overlays, "text": "\n".join(lines)}


def loaded(shelf: Shelf, identity: str) -> TableModel:
    """A model of this studio, or of a file that was sent to it."""
    path = shelf.find("model", identity)
    try:
        model = load(path)
    except AssayError as error:  # the studio's own name for the file says nothing to whoever sent it
        raise DataError(str(error).replace(repr(str(path)), "The file").replace(str(path), "the file")) from None
    if not isinstance(model, TableModel):
        raise DataError("The model was not fitted on a table: the studio shows models of assay train and of its own.")
    return model


def task_of_model(model: TableModel) -> str:
    return "classification" if hasattr(model.model_, "classes_") else "regression"


def fit_to(scene: Scene, model: TableModel) -> None:
    """Raise where the scene does not have the columns of the model, each of its kind and with its categories."""
    here, there = scene.schema.used, model.schema_.used
    names, wanted = [c.name for c in here], [c.name for c in there]
    if names != wanted:
        raise DataError(f"The model was fitted on the columns {', '.join(wanted)}, and these are {', '.join(names)}.")
    for a, b in zip(here, there):
        if a.kind != b.kind or a.levels != b.levels:
            raise DataError(f"Column {a.name!r} holds other values here than where the model was fitted.")


def _answer(scene: Scene, raw: RawModel, x: Array) -> str:
    answers, P = raw.both(x)
    if scene.classes is None:
        return f"{scene.target} = {float(answers[0]):.4g}"
    said = f"{scene.target}: {answers[0]}"
    if P is not None:
        order = np.argsort(-P[0], kind="stable")[:4]
        said += " (" + ", ".join(f"{raw.classes_[k]} {P[0, k]:.1%}" for k in order) + ")"
    decide = getattr(raw, "decision_function", None)
    if decide is not None and np.ndim(F := np.asarray(decide(x))) == 1:
        said += f", f = {float(F[0]):.4g}"
    return said


def _neighbours(scene: Scene, model: TableModel, rows: Any, at: Array) -> tuple[list[Message], list[str]]:
    """The rows that answer, and the line up to which they lie."""
    try:
        far, found = model.model_.kneighbors(rows)  # type: ignore[attr-defined]
    except AssayError as error:
        return [], [str(error)]
    numbers = np.asarray(found[0], dtype=np.int64)
    inside = numbers[np.isin(numbers, scene.shown)]
    places = scene.where[np.searchsorted(scene.shown, inside)]
    overlays: list[Message] = [{"kind": "marks", "at": places.tolist(), "role": "neighbour"}]
    if not scene.line:
        overlays += [
            {"kind": "line", "points": [at.tolist(), place], "role": "neighbour"} for place in places.tolist()[:50]
        ]
        overlays += _radius(scene, model, at, float(far[0].max()))
    if scene.classes is None:
        return overlays, [f"the mean of {len(numbers)} neighbours, up to {far[0].max():.4g} away"]
    votes = Counter(str(v) for v in scene.table.y[numbers].tolist())
    said = ", ".join(f"{count} {label}" for label, count in votes.most_common())
    return overlays, [f"the {len(numbers)} nearest rows: {said}; up to {far[0].max():.4g} away"]


def _radius(scene: Scene, model: TableModel, at: Array, r: float) -> list[Message]:
    """The points of the plane as far from the pointer as the farthest neighbour: distances grow evenly along a direction."""
    hood = model.model_.neighbourhood()  # type: ignore[attr-defined]
    geometry = hood.geometry
    if geometry.unit or geometry.norm == HAMMING or scene.on.levels != (None, None) or r <= 0:
        return []
    turn = np.linspace(0.0, 2 * np.pi, TURNS, endpoint=False)
    steps = np.column_stack([np.cos(turn), np.sin(turn)]) * scene.on.unit
    encoded: Any = model.encoding_.rows(ArrayRows(scene.on.points(np.vstack([at, at + steps])))).in_memory()
    Z = geometry.rows(np.asarray(encoded.X, dtype=np.float64))
    reduced = reduced_distances(Z[1:], Z[:1], geometry.norm)[0]
    distance = np.asarray(geometry.distances(reduced, hood.columns))
    if not (distance > 0).all():
        return []
    around = at + steps * (r / distance)[:, None]
    return [{"kind": "polygon", "points": around.tolist(), "role": "radius"}]


# A model file in the studio: what it is, and what it answers on data that have its columns.

LoadedMessage = dict[str, Any]


@dataclass(frozen=True)
class Loaded(Lesson):
    """A lesson that has been learnt: rows are encoded as they were at the fit."""

    fit: TableModel

    @cached_property
    def encoding(self) -> Encoding:  # type: ignore[override]
        return self.fit.encoding_

    @cached_property
    def rows(self) -> Rows:  # type: ignore[override]
        return sides(self.scene.table.rows, self.encoding, None)[0]


def model(ask: DatasetAsk, _place: Any, shelf: Shelf) -> Iterator[LoadedMessage]:
    """What a model file holds."""
    found = loaded(shelf, ask.name)
    yield {"model": ask.name, **_facts(found), "certificate": claims(found), "notes": []}


def _facts(found: TableModel) -> LoadedMessage:
    classes = getattr(found.model_, "classes_", None)
    params: Mapping[str, Any] = found.model_.to_record().params
    return {
        "name": found.name,
        "columns": [{"name": c.name, "kind": c.kind} for c in found.schema_.used],
        "classes": None if classes is None else [str(c) for c in classes.tolist()],
        "target": found.target,
        "params": plain({k: v for k, v in params.items() if k != "n_jobs"}),
    }


def show(ask: ShowAsk, place: TableLocation | None, shelf: Shelf) -> Iterator[LoadedMessage]:
    """The model as it stands, on the picture that is asked for; nothing is fitted."""
    began = time.monotonic()
    found = loaded(shelf, ask.model)
    scene = scene_of(ask.data, place, task_of_model(found))
    fit_to(scene, found)
    lesson = Loaded(scene, found.name, {}, found)
    window = Window(scene, ask.view, *ask.grid)
    seen = frame(lesson, window, found, None)
    seen["caption"] = f"{found.name} from a file, on {len(scene.table)} rows"
    begin = {
        "kind": "begin",
        "task": scene.task,
        "classes": scene.classes,
        "axes": scene.axes(),
        "total": None,
        "word": lesson.word,
        "code": {"python": _PYTHON, "shell": "assay inspect model.assay"},
        "support": window.support(),
    }
    risk = {**seen["risk"], "held_out": None}
    end = {"kind": "end", "step": 0, "seconds": round(time.monotonic() - began, 4), "model": ask.model, "risk": risk}
    yield {"begin": begin, "frame": seen, "end": {**end, "certificate": claims(found), "notes": scene.notes()}}


_PYTHON = "import assay\n\nmodel = assay.load('model.assay')\nprint(model.certificate_)"
