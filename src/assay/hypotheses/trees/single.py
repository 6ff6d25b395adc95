"""One tree, grown where its rows are: in memory on threads, or level by level."""

from __future__ import annotations

import numpy as np

from assay.engines import Engine, Rows
from assay.engines.threads import Threads
from assay.hypotheses.trees import levels
from assay.hypotheses.trees.branching import grow_tree
from assay.hypotheses.trees.ground import Ground
from assay.hypotheses.trees.growing import Drawing, entries_of
from assay.loops.tree.shapes import Grown
from assay.numerics import Array

TASKS = 8  # stubs that a tree becomes on a cluster, at least


def single_tree(
    engine: Engine, rows: Rows, ground: Ground, drawing: Drawing, number: int, workers: Threads
) -> tuple[Grown, Array]:
    """(tree `number`, its rows in the order of its leaves: none where they are not in memory)."""
    n = ground.survey.n
    times = drawing.times(number, n)
    if ground.soil is None:
        entries = entries_of(ground.plot, times)
        return grow_tree(ground.plot, entries, drawing.key(number), workers, ground.order), entries
    most = levels.GATHERED
    if not engine.shares_memory:
        most = min(most, n * rows.n_columns // TASKS)
    soil = ground.soil._replace(times=times)
    rules, trend = ground.plot.rules, ground.plot.table.trend
    grown = levels.grow_levels(engine, rows, soil, rules, trend, drawing.key(number), most)
    return grown, np.zeros(0, np.uint64)
