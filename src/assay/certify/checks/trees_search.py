"""The best split of every node of one depth, by trying them all: rows are sorted by node and value, and sums run along.

Of a column of numbers every threshold between two values is tried, with what is missing on either side. Categories are put in the
order of their mean target (of more than two classes: of their share of each class in turn), and every cut of that order is tried.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from assay.certify.checks.trees_nodes import xlogx
from assay.certify.checks.trees_witness import Stated
from assay.certify.rows import Array, Floats


class Bounds(NamedTuple):
    """What both sides of a split must keep: rows, weight (in units), and of each node the least and the greatest answer."""

    rows: int
    weight: float
    low: Floats
    high: Floats


class Items(NamedTuple):
    """CheckedRows, or categories, of nodes 0 … G − 1: node (m,), rows (m,), weight (m,) in units, parts (m, C): of classes their weights, of
    numbers Σ w (y − mean of the node) and, for Poisson, Σ w y and the rows with y > 0."""

    node: Array
    rows: Array
    weight: Array
    parts: Array

    def at(self, order: Array) -> Items:
        """Some of the items."""
        return Items(*(part[order] for part in self))


class Sums(NamedTuple):
    """Running sums along items that are sorted by node, and those of the nodes."""

    rows: Array
    weight: Array
    parts: Array


def totals(items: Items, G: int) -> Sums:
    """Sums of each of G nodes; items are sorted by node."""
    first = np.flatnonzero(np.append(True, items.node[1:] != items.node[:-1]))
    found = []
    for part in items[1:]:
        total = np.zeros((G, *part.shape[1:]), part.dtype)
        if len(items.node):
            total[items.node[first]] = np.add.reduceat(part, first, axis=0)
        found.append(total)
    return Sums(*found)


def _running(items: Items) -> Sums:
    """Sums of each node's items up to and with each one."""
    first = np.searchsorted(items.node, items.node)
    found = []
    for part in items[1:]:
        run = np.cumsum(part, axis=0)
        found.append(run - run[first] + part[first])
    return Sums(*found)


def gain(stated: Stated, left: Sums, whole: Sums) -> Floats:
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


def _best(stated: Stated, left: Sums, whole: Sums, node: Array, keep: Bounds, trend: int, best: Floats) -> None:
    """best[g] = the greatest gain of the admissible splits of node g, where it beats what was there."""
    rest = whole.weight - left.weight
    good = (left.rows >= keep.rows) & (whole.rows - left.rows >= keep.rows) & (left.weight > 0) & (rest > 0)
    if keep.weight > 0:  # what is just too light may be so by rounding alone
        good &= (left.weight >= keep.weight * (1 + 1e-9)) & (rest >= keep.weight * (1 + 1e-9))
    if trend:
        a, b = _mean(stated, left), _mean(stated, Sums(*(all_ - some for all_, some in zip(whole, left))))
        inside = (np.minimum(a, b) >= keep.low[node]) & (np.maximum(a, b) <= keep.high[node])
        good &= ((b - a) * trend >= 0) & inside
    at = np.flatnonzero(good)
    if len(at):
        found = gain(stated, Sums(*(s[at] for s in left)), Sums(*(s[at] for s in whole)))
        np.maximum.at(best, node[at], np.where(np.isnan(found), -np.inf, found))


def _mean(stated: Stated, sums: Sums) -> Floats:
    """Means of sides: of the second class's share, or of y less the node's mean."""
    out: Floats = sums.parts[:, 1 if stated.K else 0] / sums.weight
    return out


def search_numbers(
    stated: Stated, items: Items, code: Array, gone: Array, whole: Sums, keep: Bounds, trend: int, best: Floats
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
        left = Sums(*(s[at] for s in run))
        if left_too:
            left = Sums(*(s + g[node[at]] for s, g in zip(left, lost)))
        _best(stated, left, Sums(*(s[node[at]] for s in whole)), node[at], keep, trend, best)


def search_categories(
    stated: Stated, items: Items, code: Array, value: Floats, alike: float, whole: Sums, keep: Bounds, best: Floats
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
        left = Sums(*(s[at] for s in _running(ranked)))
        _best(stated, left, Sums(*(s[ranked.node[at]] for s in whole)), ranked.node[at], keep, 0, best)
