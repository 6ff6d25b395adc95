"""A model file in the studio: what it is, and what it answers on data that have its columns."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.engines import Rows
from assay.select.comparison import plain
from assay.select.table_model import TableModel, sides
from assay.studio.asks import DatasetAsk, ShowAsk
from assay.studio.lesson import Lesson
from assay.studio.looking import Window
from assay.studio.near import fit_to, loaded, task_of_model
from assay.studio.playing import claims, frame
from assay.studio.protocol import Place
from assay.studio.scene import scene_of
from assay.studio.shelf import Shelf
from assay.tables.encoding import Encoding

Message = dict[str, Any]


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


def model(ask: DatasetAsk, _place: Any, shelf: Shelf) -> Iterator[Message]:
    """What a model file holds."""
    found = loaded(shelf, ask.name)
    yield {"model": ask.name, **_facts(found), "certificate": claims(found), "notes": []}


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


def show(ask: ShowAsk, place: Place | None, shelf: Shelf) -> Iterator[Message]:
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
