"""What the page is told of a model: how it begins, the states it passes through (in words too), and how it ends."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from assay.estimator.steps import Step
from assay.numerics import Floats
from assay.selection.table_model import TableModel
from assay.studio.code import code
from assay.studio.overlays import Grid, affine, model_overlays, row_overlays
from assay.studio.requests import FitRequest, TableLocation
from assay.studio.session_files import SessionFiles
from assay.studio.training_run import TrainingRun

Message = dict[str, Any]
Item = TypeVar("Item")
STAGES = 8  # strides double after each
LONG = 0.05  # seconds


def play(request: FitRequest, place: TableLocation | None, files: SessionFiles) -> Iterator[Message]:
    """The states of a fit, then the fitted model."""
    return (message for message in watched(request, place, files) if message is not None)


def watched(request: FitRequest, place: TableLocation | None, files: SessionFiles) -> Iterator[Message | None]:
    """`play`, and None where it goes on for long with nothing to tell: somebody may want to stop it."""
    began = monotonic()
    run = TrainingRun.of(request.data, place, request.model, request.params)
    grid = Grid(run.dataset, request.view, *request.grid)
    yield begin(run, grid)
    number = 0
    with _warnings_as_notes() as notes:
        for step in thinned(run.steps(), request.frames, run.total):
            if step is None:
                yield None
                continue
            number = step.number
            yield frame(run, grid, run.at(step), step)
        fitted = run.fitted()
        fitted.model_.certify(run.rows)
    yield end(run, fitted, files, number, began, notes, quick=request.quick)


def fit(request: FitRequest, place: TableLocation | None, files: SessionFiles) -> Iterator[Message]:
    """The fitted model at once."""
    began = monotonic()
    run = TrainingRun.of(request.data, place, request.model, request.params)
    grid = Grid(run.dataset, request.view, *request.grid)
    with _warnings_as_notes() as notes:
        fitted = run.fitted()
        if not request.quick:
            fitted.model_.certify(run.rows)
        yield {
            "begin": begin(run, grid),
            "frame": frame(run, grid, fitted, None),
            "end": end(run, fitted, files, 0, began, notes, quick=request.quick),
        }


@contextmanager
def _warnings_as_notes() -> Iterator[list[str]]:
    """Within, warnings become notes."""
    notes: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for meant_for_developers in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning, ImportWarning):
            warnings.simplefilter("ignore", meant_for_developers)
        warnings.showwarning = lambda message, *_, **__: notes.append(str(message))
        yield notes


def begin(run: TrainingRun, grid: Grid) -> Message:
    """What stays the same while a model learns."""
    return {
        "kind": "begin",
        "task": run.dataset.task,
        "classes": run.dataset.classes,
        "axes": run.dataset.axes(),
        "total": run.last,
        "word": run.word,
        "code": code(run),
        "support": grid.support(),
    }


def frame(run: TrainingRun, grid: Grid, model: TableModel | None, step: Step | None) -> Message:
    """One state: what it answers, what it is made of, and how far it has come."""
    values: Mapping[str, Any] = {} if step is None else step.values
    found: Message = {
        "kind": "frame",
        "step": 0 if step is None else step.number,
        "caption": _finished(run) if step is None else caption(run, step),
        "arithmetic": [] if step is None else arithmetic(run, step),
        "regions": None,
        "curve": None,
        "overlays": [],
        "measures": [] if step is None else [_measure(m) for m in step.measures],
        "risk": {"training": None, "loss": run.loss},
    }
    if model is None:
        return found
    seen, answers = grid.answers(model), run.answers(model)
    found["regions"], found["curve"] = seen.regions, seen.curve
    found["overlays"] = [
        *seen.overlays,
        *model_overlays(grid, model),
        *row_overlays(grid, model, run.rows, answers, values),
    ]
    found["risk"]["training"] = run.training_risk(answers)
    if (at := line_of(run, model)) is not None:
        found["at"] = at
    return found


def _finished(run: TrainingRun) -> str:
    return f"{run.name}, fitted on {len(run.dataset.table)} rows"


def _measure(m: Any) -> Message:
    of = None if m.of is None or not np.isfinite(m.of) else float(m.of)
    return {"name": m.name, "value": float(m.value), "of": of, "text": m.text, "scale": m.scale, "better": m.better}


def line_of(run: TrainingRun, model: TableModel) -> list[float] | None:
    """Intercept and slope of a straight line over one column, in the column's own units."""
    w = getattr(model.model_, "coef_", None)
    if w is None or not run.dataset.line:
        return None
    on = affine(run.dataset, model)
    if on is None or np.size(w) != len(on.c):
        return None
    b, slope = on.function(np.ravel(w), float(np.ravel(model.model_.intercept_)[0]))  # type: ignore[attr-defined]
    return [b, float(slope[0])]


def end(
    run: TrainingRun, fitted: TableModel, files: SessionFiles, step: int, began: float, notes: list[str], *, quick: bool
) -> Message:
    """The fitted model: how wrong it is on rows it saw and on rows it did not, and what is proved of it."""
    answers = run.answers(fitted)
    held_out, why = (None, "") if quick else run.held_out()
    return {
        "kind": "end",
        "step": step,
        "seconds": round(monotonic() - began, 4),
        "model": files.put_model(fitted),
        "risk": {"loss": run.loss, "training": run.training_risk(answers), "held_out": held_out},
        "certificate": [] if quick else claims(fitted),
        "notes": list(dict.fromkeys([*run.dataset.notes(), *notes, *([why] if why else [])])),
    }


def claims(model: TableModel) -> list[Message]:
    """The certificate, claim by claim."""
    return [{"name": c.name, "status": c.kind, "text": c.statement, "holds": bool(c.holds)} for c in model.certificate_]


# --- a step in words, and the perceptron's arithmetic as it is done by hand ---------------------------------------------


def caption(run: TrainingRun, step: Step) -> str:
    """What happened in a step."""
    v = step.values
    begin = f"{run.word} {step.number}"
    if run.word == "epoch" and "n_iter_" in v:  # the fitted model, behind the last of its epochs
        begin = f"after {run.word} {v['n_iter_']}"
    if "row" in v and "prediction" in v:
        return f"{begin}: {_visit(run, v)}"
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


def _visit(run: TrainingRun, v: Mapping[str, Any]) -> str:
    row = int(v["row"])
    truth = run.dataset.table.y[row]
    where = f"row {row + 1} is {truth}, answered {v['prediction']}"
    return f"{where}: right" if v["prediction"] == truth else f"{where}: a mistake, the weights change"


def arithmetic(run: TrainingRun, step: Step) -> list[str]:
    """w, x̃, the score, the answer and the update of a visit of the perceptron to one row; nothing of other steps."""
    v = step.values
    if "row" not in v or "w" not in v or np.ndim(v["w"]) != 1 or "score" not in v:
        return []
    w = np.asarray(v["w"], dtype=np.float64)
    update = np.asarray(v["update"], dtype=np.float64)
    before, row = w - update, int(v["row"])
    X: Any = run.rows.X  # type: ignore[attr-defined]
    x = np.concatenate([[1.0], np.asarray(X[row], dtype=np.float64).ravel()])
    if len(x) != len(w) or len(x) > 8:
        return []
    k, score, truth = step.number, float(v["score"]), run.dataset.table.y[row]
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


# --- which of many steps are shown, decided as they come: the first, the last, and no more than asked for ---------------


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
