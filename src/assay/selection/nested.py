"""Searches that share their fits. Each fold of a cross-validation searches settings on the rows of the other folds; done apart, ten folds
with five inner ones take 55 fits of every setting.

The folds are joined to few parts S_1 … S_m. The folds within S_a share one search, which leaves out all of S_a: its inner folds are the other
parts. Then the fit without S_a and S_b serves two searches, that of a, where it answers S_b, and that of b, where it answers S_a. The search
on all rows has S_a answered by the fit without S_a and its neighbour, which is there already. That is m(m − 1)/2 fits of every setting, 10 for five
parts. Nothing is given away: what a fold tests has no part in its search. (Files from before had m fits more, the search on all rows its own.)
"""

from __future__ import annotations

import numpy as np

from assay.numerics import Array
from assay.selection.data import TableData
from assay.selection.splits import Resampling, Split, make_splits

PARTS = 5
NO_PART = -1  # of a row that counts for nothing
PAIRS = "pairs"  # how a file says that the search on all rows had no fits of its own


def parts_of(plan: Resampling, splits: list[Split], table: TableData) -> Array | None:
    """(n,): the part of each row; None where the tests of a plan are not folds, or too few to be joined to parts."""
    if plan.kind not in ("k-fold", "leave-one-out") or len(splits) < PARTS:
        return None
    found = np.full(len(table), NO_PART)
    for split, part in zip(splits, _part_of_each(plan, splits, table)):
        found[split.test] = part
    return found


def _part_of_each(plan: Resampling, splits: list[Split], table: TableData) -> Array:
    """Folds side by side form a part; those of single rows are dealt anew, for rows are often sorted by class."""
    if plan.kind == "k-fold" or table.groups is not None:
        return np.arange(len(splits)) * PARTS // len(splits)
    dealt = make_splits(Resampling("k-fold", PARTS, seed=plan.seed), len(splits), y=table.strata(PARTS))
    found = np.empty(len(splits), dtype=np.int64)
    for part, split in enumerate(dealt):
        found[split.test] = part
    return found


def by_parts(parts: Array, rows: Array, pairs: bool) -> list[Split]:
    """The inner folds of some rows: the parts that lie wholly among them; `pairs`: where these are all, the fit that answers one leaves its neighbour
    out as well."""
    counts = np.bincount(parts[parts != NO_PART], minlength=PARTS)
    whole = np.flatnonzero((np.bincount(parts[rows], minlength=PARTS) == counts) & (counts > 0))
    kept = rows[np.isin(parts[rows], whole)]
    beside = dict(zip(whole, np.roll(whole, -1) if pairs and len(whole) == PARTS else whole))
    return [
        Split(kept[(parts[kept] != part) & (parts[kept] != beside[part])], kept[parts[kept] == part]) for part in whole
    ]


def shared_by(table: TableData) -> bool | str:
    """What a file says of it."""
    return False if table.parts is None else PAIRS if table.pairs else True


def outside(parts: Array, train: Array) -> Array:
    """The rows of all parts that some training rows leave out: every search that shares the fit tests among these."""
    return np.flatnonzero((parts != NO_PART) & ~np.isin(parts, parts[train]))
