"""What the page is told of a model: how it begins, the states it passes through, and how it ends."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from assay.learner import Step
from assay.select.table_model import TableModel
from assay.studio.affine import affine
from assay.studio.asks import Ask
from assay.studio.captions import arithmetic, caption
from assay.studio.code import code
from assay.studio.lesson import Lesson
from assay.studio.looking import Window
from assay.studio.marks import marks
from assay.studio.protocol import Place
from assay.studio.shapes import shapes
from assay.studio.shelf import Shelf
from assay.studio.thinning import thinned

Message = dict[str, Any]


def play(ask: Ask, place: Place | None, shelf: Shelf) -> Iterator[Message]:
    """The states of a fit, then the fitted model."""
    return (message for message in watched(ask, place, shelf) if message is not None)


def watched(ask: Ask, place: Place | None, shelf: Shelf) -> Iterator[Message | None]:
    """`play`, and None where it goes on for long with nothing to tell: somebody may want to stop it."""
    began = time.monotonic()
    lesson = Lesson.of(ask.data, place, ask.model, ask.params)
    window = Window(lesson.scene, ask.view, *ask.grid)
    yield begin(lesson, window)
    number = 0
    with _told() as notes:
        for step in thinned(lesson.steps(), ask.frames, lesson.total):
            if step is None:
                yield None
                continue
            number = step.number
            yield frame(lesson, window, lesson.at(step), step)
        fitted = lesson.fitted()
        fitted.model_.certify(lesson.rows)
    yield end(lesson, fitted, shelf, number, began, notes, quick=ask.quick)


def fit(ask: Ask, place: Place | None, shelf: Shelf) -> Iterator[Message]:
    """The fitted model at once."""
    began = time.monotonic()
    lesson = Lesson.of(ask.data, place, ask.model, ask.params)
    window = Window(lesson.scene, ask.view, *ask.grid)
    with _told() as notes:
        fitted = lesson.fitted()
        if not ask.quick:
            fitted.model_.certify(lesson.rows)
        yield {
            "begin": begin(lesson, window),
            "frame": frame(lesson, window, fitted, None),
            "end": end(lesson, fitted, shelf, 0, began, notes, quick=ask.quick),
        }


@contextmanager
def _told() -> Iterator[list[str]]:
    """Within, warnings become notes."""
    notes: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for meant_for_developers in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning, ImportWarning):
            warnings.simplefilter("ignore", meant_for_developers)
        warnings.showwarning = lambda message, *_, **__: notes.append(str(message))
        yield notes


def begin(lesson: Lesson, window: Window) -> Message:
    """What stays the same while a model learns."""
    return {
        "kind": "begin",
        "task": lesson.scene.task,
        "classes": lesson.scene.classes,
        "axes": lesson.scene.axes(),
        "total": lesson.last,
        "word": lesson.word,
        "code": code(lesson),
        "support": window.support(),
    }


def frame(lesson: Lesson, window: Window, model: TableModel | None, step: Step | None) -> Message:
    """One state: what it answers, what it is made of, and how far it has come."""
    values: Mapping[str, Any] = {} if step is None else step.values
    found: Message = {
        "kind": "frame",
        "step": 0 if step is None else step.number,
        "caption": _finished(lesson) if step is None else caption(lesson, step),
        "arithmetic": [] if step is None else arithmetic(lesson, step),
        "regions": None,
        "curve": None,
        "overlays": [],
        "measures": [] if step is None else [_measure(m) for m in step.measures],
        "risk": {"training": None, "loss": lesson.loss},
    }
    if model is None:
        return found
    seen, answers = window.look(model), lesson.answers(model)
    found["regions"], found["curve"] = seen.regions, seen.curve
    found["overlays"] = [*seen.overlays, *shapes(window, model), *marks(window, model, lesson.rows, answers, values)]
    found["risk"]["training"] = lesson.training_risk(answers)
    if (at := line_of(lesson, model)) is not None:
        found["at"] = at
    return found


def _finished(lesson: Lesson) -> str:
    return f"{lesson.name}, fitted on {len(lesson.scene.table)} rows"


def _measure(m: Any) -> Message:
    of = None if m.of is None or not np.isfinite(m.of) else float(m.of)
    return {"name": m.name, "value": float(m.value), "of": of, "text": m.text, "scale": m.scale, "better": m.better}


def line_of(lesson: Lesson, model: TableModel) -> list[float] | None:
    """Intercept and slope of a straight line over one column, in the column's own units."""
    w = getattr(model.model_, "coef_", None)
    if w is None or not lesson.scene.line:
        return None
    on = affine(lesson.scene, model)
    if on is None or np.size(w) != len(on.c):
        return None
    b, slope = on.function(np.ravel(w), float(np.ravel(model.model_.intercept_)[0]))  # type: ignore[attr-defined]
    return [b, float(slope[0])]


def end(
    lesson: Lesson, fitted: TableModel, shelf: Shelf, step: int, began: float, notes: list[str], *, quick: bool
) -> Message:
    """The fitted model: how wrong it is on rows it saw and on rows it did not, and what is proved of it."""
    answers = lesson.answers(fitted)
    held_out, why = (None, "") if quick else lesson.held_out()
    return {
        "kind": "end",
        "step": step,
        "seconds": round(time.monotonic() - began, 4),
        "model": shelf.put_model(fitted),
        "risk": {"loss": lesson.loss, "training": lesson.training_risk(answers), "held_out": held_out},
        "certificate": [] if quick else claims(fitted),
        "notes": list(dict.fromkeys([*lesson.scene.notes(), *notes, *([why] if why else [])])),
    }


def claims(model: TableModel) -> list[Message]:
    """The certificate, claim by claim."""
    return [{"name": c.name, "status": c.kind, "text": c.statement, "holds": bool(c.holds)} for c in model.certificate_]
