"""What each column adds to each answer (Saabas 2014): the answer of a tree is that of its root, changed at every step of the way.

    h(x) = v(root) + Σ_steps [ v(child) − v(node) ],   a step counted for the column that its node asks for
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import Block
from assay.hypotheses.trees.values import node_values
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.hypotheses.trees.model import TreeModel


def contributions_of(model: TreeModel, X: Any) -> tuple[Floats, Array]:
    """(bias (K,), contributions (n, d, K)) of the mean over trees."""
    model._check_fitted()
    values = np.ascontiguousarray(node_values(model).answer)
    bias = values[model._walker.roots].sum(axis=0) / len(model.nodes_)
    return bias, model._answer(X, partial(_block, model, values))


def _block(model: TreeModel, values: Floats, block: Block) -> Array:
    from assay.loops.tree.contributions import add_contributions

    model._refuse_infinite(block)
    out = np.zeros((*block.X.shape, values.shape[1]))
    for tree in range(len(model.nodes_)):
        add_contributions(block.X, *model._walker.way(tree), values, out)
    out /= len(model.nodes_)
    return out
