"""Walking rows down a tree in plain NumPy, all rows a step at a time."""

from __future__ import annotations

import numpy as np

from assay.certify.checks.trees_witness import Seen, Stated, Tree
from assay.certify.rows import Array, Floats


def category_codes(stated: Stated, x: Floats, column: Array) -> tuple[Array, Array]:
    """The codes of categories x of their columns, and which of them are known."""
    with np.errstate(invalid="ignore"):
        known = (x >= 0) & (x < stated.levels[column])
    at = stated.first[column] + np.where(known, x, 0).astype(np.int64)
    return stated.code[np.minimum(at, len(stated.code) - 1)], known


def goes_left(stated: Stated, tree: Tree, X: Array, rows: Array, node: Array) -> Array:
    """Whether each of the rows goes to the left at its node, none of which is a leaf."""
    column = tree.column[node]
    x = X[rows, column].astype(np.float64)
    left: Array = (x <= tree.cut[node]) | (np.isnan(x) & tree.missing_left[node])
    sets = np.flatnonzero(tree.by_set[node] >= 0)
    if len(sets):
        at = node[sets]
        code, known = category_codes(stated, x[sets], column[sets])
        word = stated.sets[tree.by_set[at], code >> 6] >> (code & 63).astype(np.uint64)
        left[sets] = np.where(known, (word & np.uint64(1)) != 0, tree.missing_left[at])
    return left


def step(stated: Stated, tree: Tree, X: Array, rows: Array, node: Array) -> Array:
    """The nodes that rows of X (numbers `rows`) come to from their nodes."""
    return np.where(goes_left(stated, tree, X, rows, node), node + 1, tree.right[node])


def leaves_of(stated: Stated, tree: Tree, seen: Seen, wanted: Array) -> Array:
    """The number of the leaf that each of the wanted rows (numbers, in order) reaches."""
    out = np.empty(len(wanted), dtype=np.int64)
    for start, X in seen.blocks():
        a, b = np.searchsorted(wanted, [start, start + len(X)])
        out[a:b] = tree.number[_down(stated, tree, X, wanted[a:b] - start)]
    return out


def _down(stated: Stated, tree: Tree, X: Array, rows: Array) -> Array:
    """The leaf where each of the rows ends."""
    end = np.zeros(len(rows), dtype=np.int64)
    going = np.arange(len(rows)) if tree.column[0] >= 0 else np.zeros(0, np.int64)
    at = np.zeros(len(going), dtype=np.int64)
    while len(going):
        at = step(stated, tree, X, rows[going], at)
        on = tree.column[at] >= 0
        end[going[~on]] = at[~on]
        going, at = going[on], at[on]
    return end


def levels_of(tree: Tree) -> list[Array]:
    """The nodes of each depth, from the root on."""
    found, here = [], np.zeros(1, dtype=np.int64)
    while len(here):
        found.append(here)
        split = here[tree.column[here] >= 0]
        here = np.concatenate([split + 1, tree.right[split]])
    return found


def up(tree: Tree, levels: list[Array], of_leaves: Array) -> Array:
    """Sums of all nodes (N, …) from those of the leaves (L, …)."""
    sums = np.zeros((len(tree.column), *of_leaves.shape[1:]), dtype=of_leaves.dtype)
    sums[tree.leaves] = of_leaves
    for here in reversed(levels):
        split = here[tree.column[here] >= 0]
        sums[split] = sums[split + 1] + sums[tree.right[split]]
    return sums
