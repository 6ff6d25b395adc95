"""Trees and forests in the making, for teaching: split by split, tree by tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import Rows
from assay.engines.threads import Threads
from assay.hypotheses.trees.nodes import LEAF, depths_of, tree_ends
from assay.hypotheses.trees.one_tree import cut, grow, keep
from assay.hypotheses.trees.pruning import in_order_of_gain, root_impurity, weighted_gains
from assay.hypotheses.trees.questions import Questions
from assay.hypotheses.trees.tall import Tall
from assay.inputs import as_rows
from assay.learner import Step
from assay.numerics import Floats
from assay.params import check_params

if TYPE_CHECKING:
    from assay.hypotheses.tree import _OneTree
    from assay.hypotheses.trees.forest_model import Forest


def fresh_and_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Rows]:
    """An unfitted model of the same hyper-parameters that knows the columns, and the rows in memory."""
    fresh = type(model)(**model.get_params())
    check_params(fresh)
    rows = as_rows(X, y, sample_weight, categories=True).in_memory()
    fresh._forget()
    fresh._remember_columns(rows)
    return fresh, rows


def some_of(steps: Iterator[Step], every: int | None) -> Iterator[Step]:
    """Every `every`-th step (None: each), and the last."""
    held = None
    for step in steps:
        held = step
        if every is None or step.number % every == 0:
            yield step
            held = None
    if held is not None:
        yield held


def tree_steps(model: _OneTree, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """First the root alone, then the splits in the order of what they gain, times their share of the rows."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine = Threads(fresh.n_jobs)
    tall = cut(fresh, grow(fresh, engine, rows, True, None))
    keep(fresh, tall)
    grown, ground = tall.grown, tall.ground
    gains, ends = weighted_gains(grown, ground), tree_ends(grown.feature)
    depths, n = depths_of(grown.feature, ends), rows.n_rows or 0
    wrong, impurity, leaves = _wrong(tall), root_impurity(ground), 1
    share = ground.plot.target.weights(grown.sums, grown.rows)
    ask = Questions(fresh)
    error = None if wrong is None else float(wrong[0])
    yield Step(
        1, n, {"leaves": 1, "impurity": impurity, "nodes_": np.array([1])} | ({} if error is None else {"error": error})
    )
    for number, node in enumerate(in_order_of_gain(gains, grown.feature, ends), 2):
        left, right = node + 1, int(ends[node + 1])
        leaves, impurity = leaves + 1, impurity - float(gains[node])
        values: dict[str, Any] = {
            "node": node,
            "depth": int(depths[node]),
            "column": ask.column(node),
            "question": ask.question(node),
            "gain": float(grown.gain[node]),
            "rows": int(grown.rows[node]),
            "rows_left": int(grown.rows[left]),
            "rows_right": int(grown.rows[right]),
            "share": float(share[node] / share[0]),
            "leaves": leaves,
            "impurity": max(impurity, 0.0),
            "nodes_": np.array([2 * leaves - 1]),
        }
        if wrong is not None and error is not None:
            error += float(wrong[left] + wrong[right] - wrong[node])
            values["error"] = max(error, 0.0)
        yield Step(number, n, values)


def _wrong(tall: Tall) -> Floats | None:
    """Of each node the share of all weight that its answer gets wrong; None where the target is a number."""
    if not tall.ground.plot.target.classes:
        return None
    counts = tall.answers()
    wrong: Floats = (counts.sum(axis=1) - counts.max(axis=1)) / float(counts[0].sum())
    return wrong


def forest_steps(model: Forest, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """Tree by tree, with the error on the rows that the trees so far did not see."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine = Threads(fresh.n_jobs)
    grove = fresh._plant(engine, rows, True, None)
    for number, tree in fresh._growing(engine, rows, grove):
        values: dict[str, Any] = {
            "leaves": int((tree.feature == LEAF).sum()),
            "depth": int(depths_of(tree.feature, tree_ends(tree.feature)).max()),
            "nodes_": np.array([len(t.feature) for t in grove.trees]),
        }
        loss, error, judged = grove.bag.loss()
        if judged:
            values |= {"oob_loss": loss, "oob_error_of_loss": error, "oob_rows": judged}
        yield Step(number, rows.n_rows or 0, values)
