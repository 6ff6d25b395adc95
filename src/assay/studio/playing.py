"""A step in one line, and the perceptron's arithmetic as it is done by hand."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from assay.engines import Rows
from assay.estimator.steps import Step
from assay.numerics import Array, Floats
from assay.pictures.geometry import inside_margin
from assay.selection.table_model import TableModel
from assay.studio.asks import Ask
from assay.studio.code import code
from assay.studio.lesson import Lesson
from assay.studio.looking import Overlay, Window
from assay.studio.protocol import TableLocation
from assay.studio.scene import Scene
from assay.studio.shapes import affine, shapes
from assay.studio.tables import Shelf


def caption(lesson: Lesson, step: Step) -> str:
    """What happened in a step."""
    v = step.values
    begin = f"{lesson.word} {step.number}"
    if lesson.word == "epoch" and "n_iter_" in v:  # the fitted model, behind the last of its epochs
        begin = f"after {lesson.word} {v['n_iter_']}"
    if "row" in v and "prediction" in v:
        return f"{begin}: {_visit(lesson, v)}"
    if "question" in v:
        return (
            f"{begin}: {v['question']}? gains {v['gain']:.3g} "
            f"({v['rows']} rows: {v['rows_left']} yes, {v['rows_right']} no)"
        )
    if "row" in v and "neighbours" in v:
        looked = step.measures[-1].text
        return f"{begin}: {looked} for the nearest of row {int(v['row']) + 1}, {len(v['neighbours'])} so far"
    told = "; ".join(m.text or f"{m.name} {m.value:.4g}" for m in step.measures[:2])
    return f"{begin}: {told}" if told else f"{begin}, {step.rows} rows seen"


def _visit(lesson: Lesson, v: Mapping[str, Any]) -> str:
    row = int(v["row"])
    truth = lesson.scene.table.y[row]
    where = f"row {row + 1} is {truth}, answered {v['prediction']}"
    return f"{where}: right" if v["prediction"] == truth else f"{where}: a mistake, the weights change"


def arithmetic(lesson: Lesson, step: Step) -> list[str]:
    """w, x̃, the score, the answer and the update of a visit of the perceptron to one row; nothing of other steps."""
    v = step.values
    if "row" not in v or "w" not in v or np.ndim(v["w"]) != 1 or "score" not in v:
        return []
    w = np.asarray(v["w"], dtype=np.float64)
    update = np.asarray(v["update"], dtype=np.float64)
    before, row = w - update, int(v["row"])
    X: Any = lesson.rows.X  # type: ignore[attr-defined]
    x = np.concatenate([[1.0], np.asarray(X[row], dtype=np.float64).ravel()])
    if len(x) != len(w) or len(x) > 8:
        return []
    k, score, truth = step.number, float(v["score"]), lesson.scene.table.y[row]
    terms = " + ".join(f"{_short(a)}·{_short(b)}" for a, b in zip(before, x))
    lines = [
        f"w({k - 1}) = {_vector(before)},  x̃ = {_vector(x)}",
        f"w·x̃ = {terms} = {_short(score)}",
        f"sign → {v['prediction']}; the label is {truth}",
    ]
    if not update.any():
        return [*lines, f"right: w({k}) = w({k - 1})"]
    sign = "+" if float(update @ x) > 0 else "−"
    factor = float(np.abs(update @ x) / (x @ x))
    times = "" if abs(factor - 1) < 1e-12 else f"{_short(factor)}·"
    return [*lines, f"wrong: w({k}) = w({k - 1}) {sign} {times}x̃ = {_vector(w)}"]


def _short(value: float) -> str:
    """
    >>> _short(-0.5), _short(2.0), _short(1 / 3)
    ('−0.5', '2', '0.3333')
    """
    return f"{value:.4g}".replace("-", "−")


def _vector(values: Floats) -> str:
    return "(" + ", ".join(_short(float(v)) for v in values) + ")"


# Which of many steps are shown, decided as they come: the first, the last, and no more than asked for.

Item = TypeVar("Item")
STAGES = 8  # strides double after each
LONG = 0.05  # seconds


def thinned(steps: Iterator[Item], most: int, total: int | None) -> Iterator[Item | None]:
    """At most so many steps: evenly, where it is known how many there are (at most), else half of them one by one and the
    others with ever longer strides. Where steps go by unshown for long, None says that it goes on.

    >>> list(thinned(iter(range(10)), 4, 10)), list(thinned(iter(range(300)), 8, None))
    ([0, 4, 8, 9], [0, 1, 2, 4, 8, 16, 32, 299])
    """
    wanted = _doubling(most - 1) if total is None else _even(most, total)
    following, held, told = next(wanted, None), None, monotonic()
    for number, step in enumerate(steps):
        held = step
        if number == following:
            following, held = next(wanted, None), None
            yield step
        elif monotonic() > told + LONG:
            told = monotonic()
            yield None
    if held is not None:
        yield held


def _even(most: int, total: int) -> Iterator[int]:
    stride = 1 if total <= most else -(-total // max(1, most - 1))
    return iter(range(0, total, stride))


def _doubling(most: int) -> Iterator[int]:
    first = most // 2
    at, stride, stage = 0, 1, max(1, (most - first) // STAGES)
    for shown in range(1, most + 1):
        yield at
        if shown >= first and (shown - first) % stage == 0:
            stride *= 2
        at += stride


# Rows that a model has something to say about: mistakes, support vectors, the row visited, residuals.

KERNEL_MACHINES = ("svc", "svr", "kernel-perceptron")


def marks(window: Window, model: TableModel, rows: Rows, answers: Array, values: Mapping[str, Any]) -> list[Overlay]:
    """`answers` are the model's for all `rows` of the table (codes of classes, or numbers), `values` those of the step shown."""
    found = _residuals(window, answers) if window.scene.line else []
    if window.scene.classes is not None:
        found += _marked(window, np.flatnonzero(answers != window.scene.table.codes), "mistake")
    found += _marked(window, _support(model.model_, rows, window.scene, values), "support")
    if (nearest := values.get("neighbours")) is not None:
        found += _marked(window, np.asarray(nearest), "neighbour", few=True)
    row = values.get("row")
    if isinstance(row, int | np.integer):
        found += _marked(window, np.array([row]), "current", few=True)
    elif (working := values.get("working")) is not None:
        found += _marked(window, np.unique(working), "current")
    return found


def _marked(window: Window, rows: Array, role: str, *, few: bool = False) -> list[Overlay]:
    """Marks at rows of the table, each with its class: at those that are points of the picture, or at all where they are few.

    So the share of points that are marked is that of all rows.
    """
    scene = window.scene
    among = np.arange(len(scene.shown)) if few else scene.pointed
    places = among[np.isin(scene.shown[among], rows)]
    if not len(places):
        return []
    found: Overlay = {"kind": "marks", "at": window.told(scene.where[places]), "role": role}
    return [found if scene.classes is None else {**found, "class": scene.table.codes[scene.shown[places]].tolist()}]


def _support(model: Any, rows: Rows, scene: Scene, values: Mapping[str, Any]) -> Array:
    """The rows that carry a kernel machine, or that lie within the margin of a linear one."""
    if "alpha" in values and "rows" in values:
        return np.unique(np.asarray(values["rows"], dtype=np.int64))
    if model.name in KERNEL_MACHINES and hasattr(model, "support_"):
        return np.unique(np.asarray(model.support_, dtype=np.int64))
    if model.name != "linear-svc" or len(scene.classes or ()) != 2:
        return np.empty(0, dtype=np.int64)
    side = np.where(scene.table.codes == 1, 1.0, -1.0)
    return np.flatnonzero(inside_margin(np.asarray(model.decision_function(rows)), side))


def _residuals(window: Window, answers: Array) -> list[Overlay]:
    """From each point to the curve; only where the curve passes at the other columns' own values, as with one column."""
    scene = window.scene
    if scene.seen.X.shape[1] > 1:
        return []
    rows = scene.pointed
    at = scene.where[rows]
    ends = np.stack([at, np.column_stack([at[:, 0], answers[scene.shown[rows]]])], axis=1)
    return [{"kind": "lines", "lines": window.told(ends), "role": "residual"}]


# What the page is told of a model: how it begins, the states it passes through, and how it ends.

Message = dict[str, Any]


def play(ask: Ask, place: TableLocation | None, shelf: Shelf) -> Iterator[Message]:
    """The states of a fit, then the fitted model."""
    return (message for message in watched(ask, place, shelf) if message is not None)


def watched(ask: Ask, place: TableLocation | None, shelf: Shelf) -> Iterator[Message | None]:
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


def fit(ask: Ask, place: TableLocation | None, shelf: Shelf) -> Iterator[Message]:
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
