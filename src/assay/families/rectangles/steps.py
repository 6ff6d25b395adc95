"""Rectangles in the making, for teaching: growing with the rows, or getting better."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import Rows
from assay.engines.engine import Threads
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.steps import Measure, Step, answering
from assay.families.rectangles.fit import ScoredRectangle, greedy, methods_for, plan_of, ranked_rows, tightest
from assay.families.rectangles.rows import WholeWeights, answered_by

if TYPE_CHECKING:
    from assay.families.rectangles.estimators import RectangleClassifier


State = tuple[
    int, list[list[ScoredRectangle]], dict[str, int]
]  # rows seen, the rectangles of each class, what else is reported


def steps_of(model: RectangleClassifier, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """The states of a fit."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine = Threads(1)
    weighing, boxes = fresh._begin(engine, rows)
    fresh.methods_ = methods_for(fresh, engine, rows, weighing, tightest(fresh, boxes))
    for number, (seen, found, more) in enumerate(_states(fresh, rows, weighing), 1):
        fresh._keep(found, rows.n_columns)
        values = {name: getattr(fresh, name) for name in ("lower_", "upper_", "owner_", "unit_")}
        state = answering(fresh, partial(_answers, copy(fresh), engine, rows, weighing))
        yield Step(number, seen, {**values, **more}, _measures(fresh, seen, found), state)


def _answers(model: RectangleClassifier, engine: Threads, rows: Rows, weighing: WholeWeights) -> dict[str, Any]:
    """What probabilities are made of: the rows that these rectangles answer with each class."""
    return {"cells_": answered_by(model, engine, rows, weighing).cells}


def _measures(model: RectangleClassifier, seen: int, found: list[list[ScoredRectangle]]) -> tuple[Measure, ...]:
    n = model.rows_
    rows = Measure("rows", float(seen), float(n), f"{seen} of {n} rows", better="up")
    if all(method == "tightest" for method in model.methods_):
        return (rows,)
    gain = float(np.ldexp(float(sum(box.gain for problem in found for box in problem)), -model.shift_))
    text = f"rows of the class inside less others inside: {gain:.6g} by weight"
    return (rows, Measure("gain of the rectangles", gain, None, text, better="up"))


def _states(model: RectangleClassifier, rows: Rows, weighing: WholeWeights) -> Iterator[State]:
    """First the rows pass by and the tightest rectangles grow, then those of the other classes are searched one after another."""
    n, places = rows.n_rows or 0, model._places().tolist()
    found: list[list[ScoredRectangle]] = [[] for _ in places]
    seen = 0
    for i, p, box in _growth(model, rows, weighing):
        found[p], seen = [box], i + 1
        yield seen, found, {"row": i}
    slow = [p for p, method in enumerate(model.methods_) if method != "tightest"]
    if not slow and seen < n:
        yield n, found, {}
        return
    table = ranked_rows(rows, weighing, 1) if slow else None
    for p in slow:
        assert table is not None
        for state in greedy(table, places[p], int(model.n_rectangles), plan_of(model, model.methods_[p], slowly=True)):
            found[p] = state
            yield n, found, {"class": places[p], "gain": sum(box.gain for box in state)}


def _growth(model: RectangleClassifier, rows: Rows, weighing: WholeWeights) -> list[tuple[int, int, ScoredRectangle]]:
    """(row, place of its class, box of the class's rows so far) of every row that makes a tightest rectangle grow."""
    X, y, w = rows.X, rows.y, rows.w
    codes = weighing.codes(y)
    weights, _ = weighing.weigh(codes, w)
    grown = []
    for p, (k, method) in enumerate(zip(model._places().tolist(), model.methods_)):
        mine = np.flatnonzero((codes == k) & (weights > 0))
        if method != "tightest" or not len(mine):
            continue
        A = np.asarray(X[mine], dtype=np.float64) + 0.0
        low, high = np.minimum.accumulate(A), np.maximum.accumulate(A)
        grows = np.any((low[1:] < low[:-1]) | (high[1:] > high[:-1]), axis=1)
        for t in [0, *(np.flatnonzero(grows) + 1).tolist()]:
            grown.append((int(mine[t]), p, ScoredRectangle(low[t], high[t], 0)))
    return sorted(grown, key=lambda one: one[0])
