"""What each column adds to each answer (Saabas 2014): the answer of a tree is that of its root, changed at every step of the way.

h(x) = v(root) + Σ_steps [ v(child) − v(node) ],   a step counted for the column that its node asks for
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Block
from assay.hypotheses.trees.values import columns_of, node_values, parents_of
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.hypotheses.trees.model import TreeModel


class Changes(NamedTuple):
    """Of each node but the first ones: its parent, the column that its parent asks for, and how its answer differs, (N, K)."""

    parent: Array
    column: Array
    change: Floats


def contributions_of(model: TreeModel, X: Any) -> tuple[Floats, Array]:
    """(bias (K,), contributions (n, d, K)) of the mean over trees."""
    model._check_fitted()
    values = node_values(model).answer
    bias = values[model._walker.roots].sum(axis=0) / len(model.nodes_)
    parent = parents_of(model.feature_, model._walker.ends)
    steps = Changes(parent, columns_of(model.feature_)[parent], np.ascontiguousarray(values - values[parent]))
    return bias, model._answer(X, partial(_block, model, steps))


def _block(model: TreeModel, steps: Changes, block: Block) -> Array:
    from assay.loops.tree.contributions import add_contributions

    out = np.zeros((*block.X.shape, steps.change.shape[1]))
    for leaves in model._nodes_block(block).T:
        add_contributions(np.ascontiguousarray(leaves), *steps, out)
    out /= len(model.nodes_)
    return out
