"""What is kept of a grown tree: its nodes in preorder, and what its leaves say. A small tree has a handful of them, for which a dozen calls of
NumPy would take longer than growing it."""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import jit
from assay.families.boosting.loops.scan import BITS, CODE, COLUMN, MISSING, SET


@jit
def leaf_steps(sums, bounds, leaves, shift, per_gradient, per_hessian, l1, l2, values, rows):  # type: ignore[no-untyped-def]
    """values: −shrunk(G) / (H + l2) of each of some leaves, between its bounds; rows: how many it has."""
    mask, unit = (1 << shift) - 1, per_hessian / per_gradient
    for k in range(len(leaves)):
        node = leaves[k]
        G, H = sums[node, 0] / per_gradient, (sums[node, 1] & mask) / per_hessian
        top = np.sign(G) * max(abs(G) - l1, 0.0)
        value = -(top / (H + l2)) if H + l2 > 0 else -0.0
        values[k] = min(max(value, bounds[node, 0] * unit), bounds[node, 1] * unit)
        rows[k] = sums[node, 1] >> shift


@jit
def kept_nodes(split, left, gain, place, count, first, edges, unit, feature, cut, missing, gains, sets):  # type: ignore[no-untyped-def]
    """The nodes `place` one after another: feature of each; cut, missing and gains of each split; returns how many sets of categories there are."""
    inner, of_sets = 0, 0
    for k in range(len(place)):
        node = place[k]
        if left[node] < 0:
            feature[k] = -1
            continue
        column, code = split[node, COLUMN], split[node, CODE]
        if split[node, SET] > 0:
            feature[k], cut[inner] = -2 - column, of_sets
            for b in range(4):
                sets[of_sets, b] = np.uint64(split[node, BITS + b])
            of_sets += 1
        else:
            feature[k] = column
            cut[inner] = np.inf if code >= count[column] else edges[first[column] + code]
        missing[inner], gains[inner] = split[node, MISSING], gain[node] * unit
        inner += 1
    return of_sets
