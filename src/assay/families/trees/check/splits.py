"""Checks of splits: their gains are taken again from the rows that reach them, and all others are tried.

Rows of one depth are sorted by node and value, and sums run along. Of a column of numbers every threshold between two values is
tried, with what is missing on either side. Categories are put in the order of their mean target (of more than two classes: of their share
of each class in turn), and every cut of that order is tried.
By absolute error the costs of ever more rows are kept up to date by two heaps.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import log
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats
from assay.families.trees.check.nodes import NodeContents, bounds_of, gains_of, held_by, leaf_impurity, slack_of, xlogx
from assay.families.trees.check.witness import Columns, Stated, StatedTree, TreeRows, columns_of, stated_each, step, up


class ValueBounds(NamedTuple):
    """What both sides of a split must keep: rows, weight (in units), and of each node the least and the greatest answer."""

    rows: int
    weight: float
    low: Floats
    high: Floats


class Items(NamedTuple):
    """Rows, or categories, of nodes 0 … G − 1: node (m,), rows (m,), weight (m,) in units, parts (m, C): of classes their weights, of
    numbers Σ w (y − mean of the node) and, for Poisson, Σ w y and the rows with y > 0."""

    node: Array
    rows: Array
    weight: Array
    parts: Array

    def at(self, order: Array) -> Items:
        """Some of the items."""
        return Items(*(part[order] for part in self))


class SideSums(NamedTuple):
    """Running sums along items that are sorted by node, and those of the nodes."""

    rows: Array
    weight: Array
    parts: Array


def totals(items: Items, G: int) -> SideSums:
    """The sums of each of G nodes; items are sorted by node."""
    first = np.flatnonzero(np.append(True, items.node[1:] != items.node[:-1]))
    found = []
    for part in items[1:]:
        total = np.zeros((G, *part.shape[1:]), part.dtype)
        if len(items.node):
            total[items.node[first]] = np.add.reduceat(part, first, axis=0)
        found.append(total)
    return SideSums(*found)


def _running(items: Items) -> SideSums:
    """The sums of each node's items up to and with each one."""
    first = np.searchsorted(items.node, items.node)
    found = []
    for part in items[1:]:
        run = np.cumsum(part, axis=0)
        found.append(run - run[first] + part[first])
    return SideSums(*found)


Each = tuple[tuple[Stated, slice], ...]


def mean_gain(each: Each, left: SideSums, whole: SideSums) -> Floats:
    """The mean of the gains of the targets, each of which has some of the parts."""
    gains = [
        gain(own, left._replace(parts=left.parts[:, at]), whole._replace(parts=whole.parts[:, at])) for own, at in each
    ]
    return gains[0] if len(gains) == 1 else np.mean(gains, axis=0)


def gain(stated: Stated, left: SideSums, whole: SideSums) -> Floats:
    """u(C) − (p_L u(C_L) + p_R u(C_R)) of splits that put `left` of `whole` to the left."""
    W = whole.weight.astype(np.float64)
    p = left.weight / W
    q = (whole.weight - left.weight) / W
    out: Floats
    if stated.criterion == "squared_error":
        a, b = left.parts[:, 0] / left.weight, (whole.parts[:, 0] - left.parts[:, 0]) / (whole.weight - left.weight)
        out = p * q * (a - b) ** 2
    elif stated.criterion == "poisson":
        a, b, c = left.parts[:, 1] / W, (whole.parts[:, 1] - left.parts[:, 1]) / W, whole.parts[:, 1] / W
        counted = (left.parts[:, 2] > 0) & (whole.parts[:, 2] > left.parts[:, 2])  # else a side has no answer
        out = np.where(counted, xlogx(a) - a * np.log(p) + xlogx(b) - b * np.log(q) - xlogx(c), -np.inf)
    else:
        lefts, rights = left.parts / W[:, None], (whole.parts - left.parts) / W[:, None]
        t = whole.parts / W[:, None]
        if stated.criterion == "gini":
            out = (lefts * lefts).sum(axis=1) / p + (rights * rights).sum(axis=1) / q - (t * t).sum(axis=1)
        else:
            sides = (xlogx(lefts) + xlogx(rights)).sum(axis=1) - xlogx(p) - xlogx(q)
            out = (sides - xlogx(t).sum(axis=1)) / log(2.0)
    return out


def _best(
    each: Each, left: SideSums, whole: SideSums, node: Array, keep: ValueBounds, trend: int, best: Floats
) -> None:
    """best[g] = the greatest gain of the admissible splits of node g, where it beats what was there."""
    rest = whole.weight - left.weight
    good = (left.rows >= keep.rows) & (whole.rows - left.rows >= keep.rows) & (left.weight > 0) & (rest > 0)
    if keep.weight > 0:  # what is just too light may be so by rounding alone
        good &= (left.weight >= keep.weight * (1 + 1e-9)) & (rest >= keep.weight * (1 + 1e-9))
    if trend:
        stated = each[0][0]
        a, b = _mean(stated, left), _mean(stated, SideSums(*(all_ - some for all_, some in zip(whole, left))))
        inside = (np.minimum(a, b) >= keep.low[node]) & (np.maximum(a, b) <= keep.high[node])
        good &= ((b - a) * trend >= 0) & inside
    at = np.flatnonzero(good)
    if len(at):
        found = mean_gain(each, SideSums(*(s[at] for s in left)), SideSums(*(s[at] for s in whole)))
        np.maximum.at(best, node[at], np.where(np.isnan(found), -np.inf, found))


def _mean(stated: Stated, sums: SideSums) -> Floats:
    """Means of sides: of the second class's share, or of y less the node's mean."""
    out: Floats = sums.parts[:, 1 if stated.K else 0] / sums.weight
    return out


def search_numbers(
    each: Each, items: Items, code: Array, gone: Array, whole: SideSums, keep: ValueBounds, trend: int, best: Floats
) -> None:
    """Try all thresholds of a column; items are sorted by node, then by code, with what is missing (gone) behind."""
    there, c, node = items.at(~gone), code[~gone], items.node[~gone]
    lost = totals(items.at(gone), len(best))
    run = _running(there)
    last = np.append(node[1:] != node[:-1], True)
    between = ~last & np.append(c[1:] != c[:-1], True)
    losing = lost.rows[node] > 0
    for cut, left_too in (
        (between | (last & losing), False),
        (between & losing, True),
    ):  # `last`: only what is missing to the right
        at = np.flatnonzero(cut)
        left = SideSums(*(s[at] for s in run))
        if left_too:
            left = SideSums(*(s + g[node[at]] for s, g in zip(left, lost)))
        _best(each, left, SideSums(*(s[node[at]] for s in whole)), node[at], keep, trend, best)


def search_categories(
    stated: Stated,
    items: Items,
    code: Array,
    value: Floats,
    alike: float,
    whole: SideSums,
    keep: ValueBounds,
    best: Floats,
) -> None:
    """Try all cuts of the categories (codes, what is missing 255) in their order, between any that are not alike; value: Σ w y of each item,
    for numbers."""
    cell, inverse = np.unique(items.node * 256 + code, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    sums = totals(Items(inverse[order], *(part[order] for part in items[1:])), len(cell))
    cells = Items(cell >> 8, *sums)
    for k in range(stated.K) if stated.K > 2 else (1,):
        key = sums.parts[:, k] / sums.weight if stated.K else np.bincount(inverse, value, len(cell)) / sums.weight
        order = np.lexsort((cell, key, cells.node))
        if stated.K > 2:
            order = order[whole.parts[cells.node[order], k] > 0]  # where the class is there
        ranked, key = cells.at(order), key[order]
        apart = np.diff(key) > alike  # which of two alike comes first is up to rounding
        at = np.flatnonzero((ranked.node[1:] == ranked.node[:-1]) & apart)
        left = SideSums(*(s[at] for s in _running(ranked)))
        _best(
            ((stated, slice(None)),),
            left,
            SideSums(*(s[ranked.node[at]] for s in whole)),
            ranked.node[at],
            keep,
            0,
            best,
        )


def running_costs(y: Floats, u: Array) -> tuple[Floats, Floats]:
    """Σ u |y − median| of the first 1, 2, … numbers, and the medians: halfway where the halves weigh the same.

    >>> [part.tolist() for part in running_costs(np.array([1.0, 5.0, 2.0]), np.array([1, 1, 1]))]
    [[0.0, 4.0, 4.0], [1.0, 3.0, 2.0]]
    """
    low: list[tuple[float, int]] = []  # numbers up to the median, the greatest first
    high: list[tuple[float, int]] = []
    w_low = w_high = 0
    z_low = z_high = 0.0
    costs, medians = [], []
    for v, w in zip(y.tolist(), u.tolist()):
        if low and v <= -low[0][0]:
            heappush(low, (-v, w))
            w_low, z_low = w_low + w, z_low + w * v
        else:
            heappush(high, (v, w))
            w_high, z_high = w_high + w, z_high + w * v
        while w_low < w_high:
            v, w = heappop(high)
            heappush(low, (-v, w))
            w_low, w_high, z_low, z_high = w_low + w, w_high - w, z_low + w * v, z_high - w * v
        while w_low - low[0][1] >= w_high + low[0][1]:
            v, w = heappop(low)
            heappush(high, (-v, w))
            w_low, w_high, z_low, z_high = w_low - w, w_high + w, z_low + w * v, z_high - w * v
        middle = -low[0][0]
        costs.append(middle * w_low - z_low + z_high - middle * w_high)
        medians.append(0.5 * (middle + high[0][0]) if high and w_low == w_high else middle)
    return np.array(costs), np.array(medians)


def least_cost(
    ys: list[Floats], u: Array, code: Array, gone: Array, rows: int, weight: float, trend: int, low: float, high: float
) -> float:
    """The least Σ u |y − median of its side|, of all targets together, of all admissible thresholds; items sorted by code, what is missing (gone)
    behind. With a trend medians of the sides lie between low and high, and in its order."""
    m, k, best = len(u), int((~gone).sum()), np.inf
    if not k:
        return best
    total = int(u.sum())
    ends = np.append(code[1:k] != code[: k - 1], k < m)[:k]  # after which of the values a threshold lies
    for left_too in (False, True)[: 1 if k == m else 2]:
        first = np.r_[k:m, 0:k] if left_too else np.arange(k)
        back = np.arange(k - 1, -1, -1) if left_too else np.r_[m - 1 : k - 1 : -1, k - 1 : -1 : -1]
        extra = m - k if left_too else 0
        lefts, rights = ([running_costs(y[order], u[order]) for y in ys] for order in (first, back))
        left = np.sum([cost for cost, _ in lefts], axis=0)[extra:]
        right = np.append(np.sum([cost for cost, _ in rights], axis=0), 0.0)
        count = np.arange(1, k + 1) + extra
        W = np.cumsum(u[first])[extra:]
        good = ends & (count >= rows) & (m - count >= rows) & (total > W)
        good &= (weight <= 0) | ((weight * (1 + 1e-9) <= W) & (total - W >= weight * (1 + 1e-9)))
        if trend:
            a, b = lefts[0][1][extra:], np.append(rights[0][1], 0.0)[m - count - 1]
            good &= ((b - a) * trend >= 0) & (np.minimum(a, b) >= low) & (np.maximum(a, b) <= high)
        at = np.flatnonzero(good)
        if len(at):
            best = min(best, float((left[at] + right[m - count[at] - 1]).min()))
    return best


def by_median(y: Floats, u: Array, code: Array) -> tuple[Array, Array]:
    """The order of items by the (lower) medians of their categories, of equal ones by code, and the categories' places in it."""
    order = np.lexsort((y, code))
    kinds, first = np.unique(code[order], return_index=True)
    run = np.cumsum(u[order])
    before = np.concatenate([[0], run[first[1:] - 1]])
    whole = np.append(before[1:], run[-1]) - before
    median = y[order][np.searchsorted(run, before + (whole + 1) // 2)]
    place = np.empty(len(kinds), np.int64)
    place[np.lexsort((kinds, median))] = np.arange(len(kinds))
    found = place[np.searchsorted(kinds, code)]
    return np.argsort(found, kind="stable"), found


class _Split(NamedTuple):
    """A tree, what its nodes hold, and the gains of its splits (N,), 0 of leaves, with what rounding may add (N,)."""

    stated: Stated
    tree: StatedTree
    seen: TreeRows
    held: NodeContents
    gains: Floats
    slack: Floats
    least: int
    light: float  # in units of the weights
    others: tuple[_Split, ...] = ()  # of several targets the same of all of them

    @property
    def each(self) -> tuple[_Split, ...]:
        return self.others or (self,)


def _opened(claim: Claim, rows: CheckedRows) -> _Split:
    """The tree, with the means over the targets of gains and slack."""
    each = tuple(_opened_one(claim, stated, rows) for stated in stated_each(claim, rows))
    if len(each) == 1:
        return each[0]
    gains, slack = (np.mean([getattr(own, name) for own in each], axis=0) for name in ("gains", "slack"))
    return each[0]._replace(gains=gains, slack=slack, others=each)


def _opened_one(claim: Claim, stated: Stated, rows: CheckedRows) -> _Split:
    if len(stated.trees) != 1:
        raise ValueError(f"{len(stated.trees)} trees where one is due")
    tree, seen = stated.trees[0], TreeRows(stated, rows, None)
    held = held_by(stated, tree, seen, np.ones(seen.n, np.int64))
    gains = np.zeros(len(tree.column))
    gains[tree.splits] = gains_of(stated, tree, held, seen.y[held.row])
    light = float(claim.witness["least_share"]) * float(seen.weights.sum()) / seen.unit
    return _Split(
        stated, tree, seen, held, gains, slack_of(stated, seen, held), int(claim.witness["least_rows"]), light
    )


@check("tree_gains")
def check_gains(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Every split gains what is stated and leaves enough on both sides; together they gain what the leaves are purer than the root."""
    s = _opened(claim, rows)
    at, W = s.tree.splits, s.held.weight.astype(np.float64)
    given = np.asarray(claim.witness["gain"], dtype=np.float64)
    if given.shape != at.shape:
        raise ValueError(f"{given.shape} gains of {len(at)} splits")
    whole, left = np.mean(
        [leaf_impurity(own.stated, own.tree, own.held, own.seen.y[own.held.row]) for own in s.each], axis=0
    ).tolist()
    share, problem = W[at] / W[0], None
    total, allowed = float(share @ given), float(share @ s.slack[at]) + float(s.slack[0])
    wrong = np.flatnonzero(~(np.abs(given - s.gains[at]) <= s.slack[at]))
    if len(wrong):
        k = wrong[0]
        problem = f"the split of node {at[k]} gains {s.gains[at[k]]:.9g}, not {given[k]:.9g}"
    elif not abs(total - (whole - left)) <= allowed or claim.value is None or not abs(claim.value - total) <= allowed:
        problem = f"the gains add up to {total:.9g}, and the leaves are purer by {whole - left:.9g}, not as claimed"
    else:
        problem = _too_small(s)
    reason = (
        f"{len(at)} splits gain what is stated, {total:.6g} together: impurity falls from {whole:.6g} to {left:.6g}"
    )
    return Verdict(claim.name, problem is None, problem or reason, total, claim.kind)


def _too_small(s: _Split) -> str | None:
    """The first child that is smaller than the settings allow."""
    children = np.concatenate([s.tree.splits + 1, s.tree.right[s.tree.splits]])
    small = (s.held.rows[children] < s.least) | (s.held.weight[children] < s.light * (1 - 1e-9))
    if not small.any():
        return None
    return f"node {children[small].min()} holds less than the settings allow"


@check("tree_best_splits")
def check_best_splits(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Try every admissible split of the nodes that the witness names (None: of all), depth by depth."""
    s = _opened(claim, rows)
    columns = columns_of(s.stated, s.seen, rows, claim.witness["bins"])
    wanted = np.zeros(len(s.tree.column), dtype=bool)
    named = claim.witness["searched"]
    wanted[s.tree.splits if named is None else np.asarray(named, dtype=np.int64)] = True
    if np.any(wanted & (s.tree.column < 0)) or claim.value != float(wanted.sum()):
        raise ValueError("nodes that are not those of the claim")
    best, problem = np.full(len(wanted), -np.inf), None
    bounds = bounds_of(s.stated, s.tree, s.held)
    for nodes, row, node in _levels(s, wanted):
        best[nodes] = _best_of(s, columns, bounds[nodes], nodes, row, node)
        if claim.witness["bins"] is None:
            problem = problem or _threshold_problem(s, nodes, row, node)
    better = np.flatnonzero(wanted & ~(best <= s.gains + s.slack))
    if len(better):
        k = better[0]
        problem = f"at node {k} a split gains {best[k]:.9g}, more than the {s.gains[k]:.9g} of the one made"
    problem = problem or _too_small(s)
    which = "all" if named is None else f"{int(wanted.sum())} of the {len(s.tree.splits)}"
    reason = f"no admissible split gains more at {which} splits, by trying them all"
    return Verdict(claim.name, problem is None, problem or reason, float(wanted.sum()), claim.kind)


def _levels(s: _Split, wanted: Array) -> Any:
    """Depth by depth: (the nodes wanted, in order; the rows in them; of each row the place of its node among those)."""
    below = up(s.tree, s.held.levels, np.zeros(len(s.tree.table), np.int64)) + wanted
    for here in reversed(s.held.levels):
        split = here[s.tree.column[here] >= 0]
        below[split] += below[split + 1] + below[s.tree.right[split]]
    row, at = s.held.row, np.zeros(len(s.held.row), dtype=np.int64)
    for here in s.held.levels:
        keep = below[at] > 0
        row, at = row[keep], at[keep]
        nodes = np.sort(here[wanted[here]])
        if len(nodes):
            inside = np.flatnonzero(wanted[at])
            yield nodes, row[inside], np.searchsorted(nodes, at[inside])
        if not len(row):
            return
        on = s.tree.column[at] >= 0
        row, at = row[on], at[on]
        for start, X in s.seen.blocks():
            a, b = np.searchsorted(row, [start, start + len(X)])
            at[a:b] = step(s.stated, s.tree, X, row[a:b] - start, at[a:b])


def _best_of(s: _Split, columns: Columns, bounds: Floats, nodes: Array, row: Array, node: Array) -> Floats:
    """The greatest gain at each of the nodes; row, node: their rows and the places of these rows' nodes."""
    best = np.full(len(nodes), -np.inf)
    place: Array = np.full(s.seen.n, -1, dtype=np.int64 if len(nodes) > 1 << 15 else np.int16)
    place[row] = node
    items, value, each = _all_items(s, nodes, row, node)
    at = np.empty(s.seen.n, dtype=np.int64)
    at[row] = np.arange(len(row))
    by_node = np.argsort(node, kind="stable")
    whole = totals(items.at(by_node), len(nodes))
    middle = 0.0 if s.stated.K else s.held.mean[nodes]
    edge = s.stated.tolerance * s.seen.scale
    keep = ValueBounds(s.least, s.light, bounds[:, 0] - middle + edge, bounds[:, 1] - middle - edge)
    for j, code in enumerate(columns.codes):
        if s.stated.criterion == "absolute_error":
            _absolute(s, columns, j, nodes, row, node, keep, best)
        elif columns.categories[j]:
            search_categories(s.stated, items, code[row].astype(np.int64), value, edge, whole, keep, best)
        else:
            order = columns.order[j]
            order = order[place[order] >= 0]
            order = order[np.argsort(place[order], kind="stable")]
            gone = code[order] == columns.missing[j]
            search_numbers(each, items.at(at[order]), code[order], gone, whole, keep, int(s.stated.trend[j]), best)
    return best


def _all_items(s: _Split, nodes: Array, row: Array, node: Array) -> tuple[Items, Floats, Each]:
    """Rows as items with the parts of all targets, Σ w y of each (of one target), and which parts are of which target."""
    found = [_items(own, nodes, row, node) for own in s.each]
    if len(found) == 1:
        return *found[0], ((s.stated, slice(None)),)
    ends = np.cumsum([0, *(items.parts.shape[1] for items, _ in found)]).tolist()
    parts = np.concatenate([items.parts for items, _ in found], axis=1)
    each = tuple((own.stated, slice(a, b)) for own, a, b in zip(s.each, ends, ends[1:]))
    return found[0][0]._replace(parts=parts), np.zeros(0), each


def _items(s: _Split, nodes: Array, row: Array, node: Array) -> tuple[Items, Floats]:
    """Rows as items, and Σ w y of each."""
    u = s.seen.whole[row]
    if s.stated.K:
        parts = np.zeros((len(row), s.stated.K), dtype=np.int64)
        parts[np.arange(len(row)), s.seen.y[row]] = u
        return Items(node, np.ones(len(row), np.int64), u, parts), np.zeros(0)
    y = s.seen.y[row]
    parts = (u * (y - s.held.mean[nodes][node]))[:, None]
    if s.stated.criterion == "poisson":
        parts = np.column_stack([parts, u * y, u * y >= s.seen.least_value])
    return Items(node, np.ones(len(row), np.int64), u, parts), u * y


def _absolute(
    s: _Split, columns: Columns, j: int, nodes: Array, row: Array, node: Array, keep: ValueBounds, best: Floats
) -> None:
    """As `search_numbers`, of absolute errors: node by node; categories in the order of their medians, what is missing being one."""
    order = np.lexsort((columns.codes[j][row], node))
    first = np.searchsorted(node[order], np.arange(len(nodes) + 1))
    for g, (a, b) in enumerate(zip(first[:-1].tolist(), first[1:].tolist())):
        here = row[order[a:b]]
        ys = [own.seen.y[here] - own.held.mean[nodes[g]] for own in s.each]
        u, code = s.seen.whole[here], columns.codes[j][here]
        gone = code == columns.missing[j]
        if columns.categories[j]:
            places, code = by_median(ys[0], u, code)
            ys, u, code, gone = [ys[0][places]], u[places], code[places], np.zeros(len(u), dtype=bool)
        trend = 0 if columns.categories[j] else int(s.stated.trend[j])
        cost = least_cost(ys, u, code, gone, s.least, s.light, trend, float(keep.low[g]), float(keep.high[g]))
        whole = sum(float(running_costs(y, u)[0][-1]) for y in ys)
        best[g] = max(best[g], (whole - cost) / float(u.sum()) / len(ys))


def _threshold_problem(s: _Split, nodes: Array, row: Array, node: Array) -> str | None:
    """Whether a threshold does not lie halfway between the values next to it among the rows of its node."""
    by_value = s.tree.by_set[nodes] < 0
    cut, low, high = s.tree.cut[nodes], np.full(len(nodes), -np.inf), np.full(len(nodes), np.inf)
    for start, X in s.seen.blocks():
        a, b = np.searchsorted(row, [start, start + len(X)])
        x, g = X[row[a:b] - start, s.tree.column[nodes][node[a:b]]].astype(np.float64), node[a:b]
        np.maximum.at(low, g, np.where(x <= cut[g], x, -np.inf))
        np.minimum.at(high, g, np.where(x > cut[g], x, np.inf))
    middle = 0.5 * low + 0.5 * high
    due = np.where((low <= middle) & (middle < high), middle, low)
    due = np.where(np.isinf(high), np.inf, due)
    wrong = np.flatnonzero(by_value & (due != cut))
    if not len(wrong):
        return None
    k = wrong[0]
    return f"the threshold {cut[k]:.17g} of node {nodes[k]} is not halfway between the values next to it, {low[k]:.9g} and {high[k]:.9g}"
