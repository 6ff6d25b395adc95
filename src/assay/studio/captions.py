"""A step in one line, and the perceptron's arithmetic as it is done by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.learner import Step
from assay.numerics import Floats
from assay.studio.lesson import Lesson


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
