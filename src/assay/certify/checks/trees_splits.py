"""Checks of splits: their gains are taken again from the rows that reach them, and all others are tried."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certify.checks.trees_absolute import by_median, least_cost, running_costs
from assay.certify.checks.trees_bins import Columns, columns_of
from assay.certify.checks.trees_nodes import Held, bounds_of, gains_of, held_by, leaf_impurity, slack_of
from assay.certify.checks.trees_search import Bounds, Items, search_categories, search_numbers, totals
from assay.certify.checks.trees_walk import step, up
from assay.certify.checks.trees_witness import Seen, Stated, Tree, stated_in
from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats


class _Split(NamedTuple):
    """A tree, what its nodes hold, and the gains of its splits (N,), 0 of leaves, with what rounding may add (N,)."""

    stated: Stated
    tree: Tree
    seen: Seen
    held: Held
    gains: Floats
    slack: Floats
    least: int
    light: float  # in units of the weights


def _opened(claim: Claim, rows: CheckedRows) -> _Split:
    stated = stated_in(claim, rows)
    if len(stated.trees) != 1:
        raise ValueError(f"{len(stated.trees)} trees where one is due")
    tree, seen = stated.trees[0], Seen(stated, rows, None)
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
    whole, left = leaf_impurity(s.stated, s.tree, s.held, s.seen.y[s.held.row])
    total, problem = float(W[at] @ given / W[0]), None
    allowed = float(W[at] @ s.slack[at] / W[0]) + float(s.slack[0])
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
    items, value = _items(s, nodes, row, node)
    at = np.empty(s.seen.n, dtype=np.int64)
    at[row] = np.arange(len(row))
    by_node = np.argsort(node, kind="stable")
    whole = totals(items.at(by_node), len(nodes))
    middle = 0.0 if s.stated.K else s.held.mean[nodes]
    edge = s.stated.tolerance * s.seen.scale
    keep = Bounds(s.least, s.light, bounds[:, 0] - middle + edge, bounds[:, 1] - middle - edge)
    for j, code in enumerate(columns.codes):
        if s.stated.criterion == "absolute_error":
            _absolute(s, columns, j, nodes, row, node, best)
        elif columns.categories[j]:
            search_categories(s.stated, items, code[row].astype(np.int64), value, edge, whole, keep, best)
        else:
            order = columns.order[j]
            order = order[place[order] >= 0]
            order = order[np.argsort(place[order], kind="stable")]
            gone = code[order] == columns.missing[j]
            search_numbers(s.stated, items.at(at[order]), code[order], gone, whole, keep, int(s.stated.trend[j]), best)
    return best


def _items(s: _Split, nodes: Array, row: Array, node: Array) -> tuple[Items, Floats]:
    """CheckedRows as items, and Σ w y of each."""
    u = s.seen.whole[row]
    if s.stated.K:
        parts = np.zeros((len(row), s.stated.K), dtype=np.int64)
        parts[np.arange(len(row)), s.seen.y[row]] = u
        return Items(node, np.ones(len(row), np.int64), u, parts), np.zeros(0)
    y = s.seen.y[row]
    parts = (u * (y - s.held.mean[nodes][node]))[:, None]
    if s.stated.criterion == "poisson":
        parts = np.column_stack([parts, u * y, y > 0])
    return Items(node, np.ones(len(row), np.int64), u, parts), u * y


def _absolute(s: _Split, columns: Columns, j: int, nodes: Array, row: Array, node: Array, best: Floats) -> None:
    """As `search_numbers`, of absolute errors: node by node; categories in the order of their medians, what is missing being one."""
    order = np.lexsort((columns.codes[j][row], node))
    first = np.searchsorted(node[order], np.arange(len(nodes) + 1))
    for g, (a, b) in enumerate(zip(first[:-1].tolist(), first[1:].tolist())):
        here = row[order[a:b]]
        y, u, code = s.seen.y[here] - s.held.mean[nodes[g]], s.seen.whole[here], columns.codes[j][here]
        gone = code == columns.missing[j]
        if columns.categories[j]:
            places, code = by_median(y, u, code)
            y, u, code, gone = y[places], u[places], code[places], np.zeros(len(y), dtype=bool)
        cost = least_cost(y, u, code, gone, s.least, s.light)
        own = running_costs(y, u)[-1]
        best[g] = max(best[g], (own - cost) / float(u.sum()))


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
