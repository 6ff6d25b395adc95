"""Fitted models of this studio, or of files that were sent to it: what one is, what it answers on data that have its columns, and at
the pointer how sure it is, and why, as far as the model can tell."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assay.engines import ArrayRows
from assay.errors import AssayError, DataError
from assay.families.neighbours.search import HAMMING, reduced_distances
from assay.numerics import Array
from assay.report.raw_model import RawModel
from assay.selection.comparison import plain
from assay.selection.loading import load
from assay.selection.table_model import TableModel
from assay.studio.dataset import PlottedDataset, plotted_dataset
from assay.studio.overlays import Grid
from assay.studio.playing import claims, frame
from assay.studio.requests import NameRequest, NearRequest, ShowRequest, TableLocation
from assay.studio.session_files import SessionFiles
from assay.studio.training_run import TrainingRun
from assay.tables.encoding import Encoding

Message = dict[str, Any]
TURNS = 72  # corners of the line around the neighbours
MOST_LINES = 12
_PYTHON = "import assay\n\nmodel = assay.load('model.assay')\nprint(model.certificate_)"


def near(request: NearRequest, place: TableLocation | None, files: SessionFiles) -> Iterator[Message]:
    """Overlays and a text."""
    model = loaded(files, request.model)
    dataset = plotted_dataset(request.data, place, task_of_model(model))
    fit_to(dataset, model)
    at = np.array([[request.at[0], 0.0 if dataset.line else request.at[1]]])
    x = dataset.plane.points(at)
    lines = [_answer(dataset, RawModel(model), x)]
    overlays: list[Message] = []
    inner = model.model_
    rows: Any = model.encoding_.rows(ArrayRows(x))
    if hasattr(inner, "kneighbors"):
        overlays, said = _neighbours(dataset, model, rows, at[0])
        lines += said
    elif hasattr(inner, "explain_path"):
        lines += str(inner.explain_path(rows)).splitlines()[:MOST_LINES]
    elif hasattr(inner, "nodes_") and hasattr(inner, "classes_"):
        lines.append(f"{len(inner.nodes_)} trees vote.")
    yield {"overlays": overlays, "text": "\n".join(lines)}


def model(request: NameRequest, _place: Any, files: SessionFiles) -> Iterator[Message]:
    """What a model file holds."""
    found = loaded(files, request.name)
    yield {"model": request.name, **_facts(found), "certificate": claims(found), "notes": []}


def show(request: ShowRequest, place: TableLocation | None, files: SessionFiles) -> Iterator[Message]:
    """The model as it stands, on the picture that is asked for; nothing is fitted."""
    began = time.monotonic()
    found = loaded(files, request.model)
    dataset = plotted_dataset(request.data, place, task_of_model(found))
    fit_to(dataset, found)
    run = LoadedRun(dataset, found.name, {}, found)
    grid = Grid(dataset, request.view, *request.grid)
    seen = frame(run, grid, found, None)
    seen["caption"] = f"{found.name} from a file, on {len(dataset.table)} rows"
    begin = {
        "kind": "begin",
        "task": dataset.task,
        "classes": dataset.classes,
        "axes": dataset.axes(),
        "total": None,
        "word": run.word,
        "code": {"python": _PYTHON, "shell": "assay inspect model.assay"},
        "support": grid.support(),
    }
    risk = {**seen["risk"], "held_out": None}
    end = {
        "kind": "end",
        "step": 0,
        "seconds": round(time.monotonic() - began, 4),
        "model": request.model,
        "risk": risk,
    }
    yield {"begin": begin, "frame": seen, "end": {**end, "certificate": claims(found), "notes": dataset.notes()}}


def loaded(files: SessionFiles, identity: str) -> TableModel:
    """A model of this studio, or of a file that was sent to it."""
    path = files.find("model", identity)
    try:
        model = load(path)
    except AssayError as error:  # the studio's own name for the file says nothing to whoever sent it
        raise DataError(str(error).replace(repr(str(path)), "The file").replace(str(path), "the file")) from None
    if not isinstance(model, TableModel):
        raise DataError("The model was not fitted on a table: the studio shows models of assay train and of its own.")
    return model


def task_of_model(model: TableModel) -> str:
    return "classification" if hasattr(model.model_, "classes_") else "regression"


def fit_to(dataset: PlottedDataset, model: TableModel) -> None:
    """Raise where the dataset does not have the columns of the model, each of its kind and with its categories."""
    here, there = dataset.schema.used, model.schema_.used
    names, wanted = [c.name for c in here], [c.name for c in there]
    if names != wanted:
        raise DataError(f"The model was fitted on the columns {', '.join(wanted)}, and these are {', '.join(names)}.")
    for a, b in zip(here, there):
        if a.kind != b.kind or a.levels != b.levels:
            raise DataError(f"Column {a.name!r} holds other values here than where the model was fitted.")


@dataclass(frozen=True)
class LoadedRun(TrainingRun):
    """A run that has been learnt: rows are encoded as they were at the fit."""

    fit: TableModel

    @cached_property
    def encoding(self) -> Encoding:  # type: ignore[override]
        return self.fit.encoding_


def _answer(dataset: PlottedDataset, raw: RawModel, x: Array) -> str:
    answers, P = raw.both(x)
    if dataset.classes is None:
        return f"{dataset.target} = {float(answers[0]):.4g}"
    said = f"{dataset.target}: {answers[0]}"
    if P is not None:
        order = np.argsort(-P[0], kind="stable")[:4]
        said += " (" + ", ".join(f"{raw.classes_[k]} {P[0, k]:.1%}" for k in order) + ")"
    decide = getattr(raw, "decision_function", None)
    if decide is not None and np.ndim(F := np.asarray(decide(x))) == 1:
        said += f", f = {float(F[0]):.4g}"
    return said


def _neighbours(dataset: PlottedDataset, model: TableModel, rows: Any, at: Array) -> tuple[list[Message], list[str]]:
    """The rows that answer, and the line up to which they lie."""
    try:
        far, found = model.model_.kneighbors(rows)  # type: ignore[attr-defined]
    except AssayError as error:
        return [], [str(error)]
    numbers = np.asarray(found[0], dtype=np.int64)
    inside = numbers[np.isin(numbers, dataset.shown)]
    places = dataset.where[np.searchsorted(dataset.shown, inside)]
    overlays: list[Message] = [{"kind": "marks", "at": places.tolist(), "role": "neighbour"}]
    if not dataset.line:
        overlays += [
            {"kind": "line", "points": [at.tolist(), place], "role": "neighbour"} for place in places.tolist()[:50]
        ]
        overlays += _radius(dataset, model, at, float(far[0].max()))
    if dataset.classes is None:
        return overlays, [f"the mean of {len(numbers)} neighbours, up to {far[0].max():.4g} away"]
    votes = Counter(str(v) for v in dataset.table.y[numbers].tolist())
    said = ", ".join(f"{count} {label}" for label, count in votes.most_common())
    return overlays, [f"the {len(numbers)} nearest rows: {said}; up to {far[0].max():.4g} away"]


def _radius(dataset: PlottedDataset, model: TableModel, at: Array, r: float) -> list[Message]:
    """The points of the plane as far from the pointer as the farthest neighbour: distances grow evenly along a direction."""
    hood = model.model_.neighbourhood()  # type: ignore[attr-defined]
    geometry = hood.geometry
    if geometry.unit or geometry.norm == HAMMING or dataset.plane.levels != (None, None) or r <= 0:
        return []
    turn = np.linspace(0.0, 2 * np.pi, TURNS, endpoint=False)
    steps = np.column_stack([np.cos(turn), np.sin(turn)]) * dataset.plane.unit
    encoded: Any = model.encoding_.rows(ArrayRows(dataset.plane.points(np.vstack([at, at + steps])))).in_memory()
    Z = geometry.rows(np.asarray(encoded.X, dtype=np.float64))
    reduced = reduced_distances(Z[1:], Z[:1], geometry.norm)[0]
    distance = np.asarray(geometry.distances(reduced, hood.columns))
    if not (distance > 0).all():
        return []
    around = at + steps * (r / distance)[:, None]
    return [{"kind": "polygon", "points": around.tolist(), "role": "radius"}]


def _facts(found: TableModel) -> Message:
    classes = getattr(found.model_, "classes_", None)
    params: Mapping[str, Any] = found.model_.to_record().params
    return {
        "name": found.name,
        "columns": [{"name": c.name, "kind": c.kind} for c in found.schema_.used],
        "classes": None if classes is None else [str(c) for c in classes.tolist()],
        "target": found.target,
        "params": plain({k: v for k, v in params.items() if k != "n_jobs"}),
    }
