"""What the nodes of a tree hold, added up again from the rows that reach its leaves; impurities and gains of their splits.

u(C) = 1 − Σ p_k²  |  −Σ p_k log2 p_k  |  Σ w (y − mean)² / W  |  Σ w |y − median| / W  |  −mean · log mean  (Poisson)
gain = u(C) − (p_L u(C_L) + p_R u(C_R)),    of squared errors p_L p_R (mean_L − mean_R)²
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from assay.certify.rows import Array, Floats
from assay.families.trees.check.witness import Stated, StatedTree, TreeRows, leaves_of, levels_of, up

EPS = float(np.finfo(np.float64).eps)


class NodeContents(NamedTuple):
    """row, leaf (m,): the rows that the tree saw and the number of the leaf that each reaches, u (m,): their whole weights, times how
    often each was drawn. Of all nodes: rows (N,) with repetition, weight (N,), classes (N, K) in whole units (empty for numbers), mean
    (N,) of the numbers, or of being the second of two classes, answer (N,): that mean, or the median where columns have trends and the
    criterion wants medians. levels: the nodes by depth."""

    row: Array
    leaf: Array
    u: Array
    rows: Array
    weight: Array
    classes: Array
    mean: Floats
    answer: Floats
    levels: list[Array]


def held_by(stated: Stated, tree: StatedTree, seen: TreeRows, times: Array) -> NodeContents:
    """Send the rows that the tree saw, each so many times, down to its leaves, and add up what the nodes hold."""
    row = np.flatnonzero((times > 0) & (seen.whole > 0))
    leaf, L = leaves_of(stated, tree, seen, row), len(tree.table)
    u = seen.whole[row] * times[row]
    count, weight = np.bincount(leaf, times[row], L).astype(np.int64), np.zeros(L, np.int64)
    if np.any(count == 0):
        raise ValueError("a leaf is reached by no row that the tree saw")
    np.add.at(weight, leaf, u)
    levels = levels_of(tree)
    rows, W = up(tree, levels, count), up(tree, levels, weight)
    if stated.K:
        cells = np.zeros(L * stated.K, np.int64)
        np.add.at(cells, leaf * stated.K + seen.y[row], u)
        classes = up(tree, levels, cells.reshape(L, stated.K))
        second = classes[:, 1] / W if stated.K == 2 else np.zeros(len(W))
        return NodeContents(row, leaf, u, rows, W, classes, second, second, levels)
    mean = _means(tree, levels, leaf, u.astype(np.float64), seen.y[row], W)
    held = NodeContents(row, leaf, u, rows, W, np.zeros((0, 0), np.int64), mean, mean, levels)
    if stated.criterion == "absolute_error" and stated.trend.any():
        held = held._replace(answer=_medians_and_costs(tree, held, seen.y[row])[0])
    return held


def _means(tree: StatedTree, levels: list[Array], leaf: Array, u: Floats, y: Floats, W: Array) -> Floats:
    """Means of all nodes: of leaves as one of their rows plus the mean distance from it, of others from their children."""
    near = np.zeros(len(tree.table))
    near[leaf] = y
    mean = np.zeros(len(W))
    mean[tree.leaves] = near + np.bincount(leaf, u * (y - near[leaf]), len(near)) / W[tree.leaves]
    for here in reversed(levels):
        split = here[tree.column[here] >= 0]
        left, right = split + 1, tree.right[split]
        mean[split] = mean[left] + (mean[right] - mean[left]) * (W[right] / W[split])
    return mean


def bounds_of(stated: Stated, tree: StatedTree, held: NodeContents) -> Floats:
    """The least and the greatest answer (N, 2) of each node: a split on a column with a trend parts those of its children halfway
    between their answers."""
    bounds = np.tile([-np.inf, np.inf], (len(tree.column), 1))
    for here in held.levels if stated.trend.any() else ():
        split = here[tree.column[here] >= 0]
        left, right = split + 1, tree.right[split]
        bounds[left] = bounds[right] = bounds[split]
        trend = np.where(tree.by_set[split] < 0, stated.trend[tree.column[split]], 0)
        low, high = bounds[split].T
        middle = 0.5 * (np.clip(held.answer[left], low, high) + np.clip(held.answer[right], low, high))
        rising, falling = trend > 0, trend < 0
        bounds[left[rising], 1] = bounds[right[rising], 0] = middle[rising]
        bounds[left[falling], 0] = bounds[right[falling], 1] = middle[falling]
    return bounds


def medians(group: Array, y: Floats, u: Array, groups: int) -> Floats:
    """The weighted median of each group's numbers; halfway where the halves weigh the same."""
    order = np.lexsort((y, group))
    g, run = group[order], np.cumsum(u[order])
    last = np.searchsorted(g, np.arange(groups), side="right") - 1
    before = np.concatenate([[0], run[last[:-1]]])
    whole = run[last] - before
    low = np.searchsorted(run, before + (whole + 1) // 2)
    high = np.searchsorted(run, before + whole // 2, side="right")
    found: Floats = 0.5 * y[order][low] + 0.5 * y[order][np.minimum(high, last)]
    return found


def xlogx(x: Any) -> Any:
    """x log x, 0 for 0."""
    return x * np.log(np.where(x > 0, x, 1.0))


def _costs(group: Array, y: Floats, u: Array, groups: int) -> tuple[Floats, Floats]:
    """The median of each group, and Σ w |y − median| / W."""
    middle = medians(group, y, u, groups)
    off = u * np.abs(y - middle[group])
    return middle, np.bincount(group, off, groups) / np.bincount(group, u.astype(np.float64), groups)


def gains_of(stated: Stated, tree: StatedTree, held: NodeContents, y: Floats) -> Floats:
    """The gain of every split, in their order; y: the targets of the rows that the tree saw."""
    s = tree.splits
    left, right = s + 1, tree.right[s]
    W = held.weight.astype(np.float64)
    p, q = W[left] / W[s], W[right] / W[s]
    gains: Floats
    if stated.criterion == "squared_error":
        gains = p * q * (held.mean[left] - held.mean[right]) ** 2
        return gains
    if stated.criterion == "absolute_error":
        u = _medians_and_costs(tree, held, y)[1]
    elif stated.criterion == "poisson":
        u = -xlogx(held.mean)
    else:
        u = class_impurity(held.classes / W[:, None], stated.criterion)
    gains = u[s] - (p * u[left] + q * u[right])
    return gains


def class_impurity(share: Floats, criterion: str) -> Floats:
    """u of classes' shares (…, K)."""
    out: Floats = 1.0 - (share**2).sum(axis=-1) if criterion == "gini" else -xlogx(share).sum(axis=-1) / log(2.0)
    return out


def _medians_and_costs(tree: StatedTree, held: NodeContents, y: Floats) -> tuple[Floats, Floats]:
    """The median of all nodes and Σ w |y − median| / W, level by level: a row is in one node of each depth that it passes."""
    parent = np.full(len(tree.column), -1)
    parent[tree.splits + 1] = parent[tree.right[tree.splits]] = tree.splits
    depth, middle, u = np.empty(len(parent), np.int64), np.empty(len(parent)), np.empty(len(parent))
    for k, here in enumerate(held.levels):
        depth[here] = k
    at = tree.leaves[held.leaf]
    for k in range(len(held.levels) - 1, -1, -1):
        here = np.sort(held.levels[k])
        inside = np.flatnonzero(depth[at] == k)
        middle[here], u[here] = _costs(np.searchsorted(here, at[inside]), y[inside], held.u[inside], len(here))
        at[inside] = parent[at[inside]]
    return middle, u


def leaf_impurity(stated: Stated, tree: StatedTree, held: NodeContents, y: Floats) -> tuple[float, float]:
    """(u of all rows, Σ over leaves of their share times u), straight from the rows where the criterion adds up over them."""
    W, leaf = held.weight.astype(np.float64), tree.leaves
    share, u = W[leaf] / W[0], held.u / W[0]
    if stated.K or stated.criterion == "poisson":
        each = -xlogx(held.mean) if not stated.K else class_impurity(held.classes / W[:, None], stated.criterion)
        return float(each[0]), float(share @ each[leaf])
    if stated.criterion == "absolute_error":
        _, apart = _costs(held.leaf, y, held.u, len(leaf))
        return float(_costs(np.zeros_like(held.leaf), y, held.u, 1)[1][0]), float(share @ apart)
    own = held.mean[leaf][held.leaf]
    return float(u @ (y - held.mean[0]) ** 2), float(u @ (y - own) ** 2)


def slack_of(stated: Stated, seen: TreeRows, held: NodeContents) -> Floats:
    """How far rounding may put the gain at each node: the tolerance, times the criterion's scale, times rows · heaviest / weight."""
    far = (
        64 * EPS * seen.top if stated.criterion == "absolute_error" else 0.0
    )  # numbers far from zero are added up as they are
    size = {
        "squared_error": seen.scale**2,
        "absolute_error": seen.scale,
        "poisson": seen.top * (1 + abs(log(max(seen.top, 1e-300)))),
    }
    light = held.rows * (seen.heaviest / seen.unit) / held.weight
    slack: Floats = (stated.tolerance * size.get(stated.criterion, 1.0) + far) * light
    return slack
