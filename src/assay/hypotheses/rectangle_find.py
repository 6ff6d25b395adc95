"""Which rectangles a fit finds, and by which method."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.engines import Engine, Rows
from assay.engines.threads import Threads
from assay.hypotheses.rectangle_rows import Boxes, Weighing, covered_by
from assay.hypotheses.rectangle_search import Found, Plan, greedy, table_of

if TYPE_CHECKING:
    from assay.hypotheses.rectangle import RectangleClassifier

EXACT_ROWS = 10_000  # rows of two columns up to which "auto" asks for the least error: half a second where all is noise


@dataclass
class Shared:
    """What models share that differ in the number of rectangles alone: the rectangles of the greatest number."""

    most: int = 1
    found: list[list[Found]] | None = None
    methods: tuple[str, ...] = ()


def find(model: RectangleClassifier, engine: Engine, rows: Rows, weighing: Weighing, boxes: Boxes) -> list[list[Found]]:
    """The rectangles of each class that has them; `methods_` says how they were found."""
    shared = model._shared
    if shared is not None and shared.found is not None:
        model.methods_ = list(shared.methods)
        return shared.found
    tight = tightest(model, boxes)
    model.methods_ = methods_for(model, engine, rows, weighing, tight)
    found = [list(box) for box in tight]
    slow = [p for p, method in enumerate(model.methods_) if method != "tightest"]
    if slow:
        table, places = table_of(rows, weighing, model.n_jobs), model._places().tolist()
        most = int(model.n_rectangles) if shared is None else shared.most

        def solve(p: int) -> list[Found]:
            return deque(greedy(table, places[p], most, plan_of(model, model.methods_[p])), maxlen=1)[0]

        for p, rectangles in zip(slow, Threads(model.n_jobs).map(solve, slow)):
            found[p] = rectangles
    if shared is not None:
        shared.found, shared.methods = found, tuple(model.methods_)
    return found


def tightest(model: RectangleClassifier, boxes: Boxes) -> list[list[Found]]:
    """The box of each class that has rectangles, where it has rows."""
    return [[Found(boxes.low[k], boxes.high[k], 0)] if model.class_rows_[k] else [] for k in model._places().tolist()]


def methods_for(
    model: RectangleClassifier, engine: Engine, rows: Rows, weighing: Weighing, tight: list[list[Found]]
) -> list[str]:
    """The method of each class: what is asked for; "auto": the tightest where that is right on all rows."""
    if model.method != "auto":
        return [model.method] * len(tight)
    model._keep(tight, rows.n_columns)
    covered = covered_by(engine, rows, weighing, model.lower_, model.upper_, model.owner_)
    wrong = set(model.owner_[covered.lost_rows > 0].tolist())
    small = rows.n_columns == 1 or (rows.n_columns == 2 and model.rows_ <= EXACT_ROWS)
    return [("exact" if small else "search") if k in wrong else "tightest" for k in model._places().tolist()]


def plan_of(model: RectangleClassifier, method: str, slowly: bool = False) -> Plan:
    """How the rectangles of a class are looked for."""
    return Plan(method == "exact", int(model.n_init), int(model.random_state or 0), model.n_jobs, slowly)
