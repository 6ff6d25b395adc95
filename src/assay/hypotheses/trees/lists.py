"""The rows of a tree sorted by every column: for trees that try all columns at every node."""

from __future__ import annotations

from functools import partial

import numpy as np

from assay.engines.threads import Threads
from assay.hypotheses.trees.target import Target
from assay.loops.tree.draws import list_column
from assay.loops.tree.shapes import ABSOLUTE, Lists, Rules, Table
from assay.numerics import Array

WORTH = 512  # rows from which on keeping them sorted pays
MOST = 1 << 31  # rows that an item has room for
ROW = np.uint64(32)


def empty_lists(d: int, m: int, n: int) -> Lists:
    """Room for d lists of m of n rows."""
    return Lists(
        np.empty((d, m), np.uint32),
        m,
        np.zeros(d, np.uint8),
        np.zeros(n, np.uint64),
        np.empty(n, np.uint8),
        np.empty(m, np.uint32),
    )


def lists_help(rules: Rules, d: int) -> bool:
    """Whether all splits of all columns are tried at every node, and found in one pass over the sorted rows."""
    return rules.max_features >= d and not rules.random and rules.criterion != ABSOLUTE


def sorted_lists(target: Target, table: Table, order: Array | None, entries: Array, workers: Threads) -> Lists | None:
    """Every column of numbers sorted by its codes, equal ones by row; none where they do not pay, or where rows are drawn more than once."""
    m = len(entries)
    once = np.uint64(1 << 16)
    if order is None or not WORTH <= m < MOST or not ((entries & np.uint64(0xFFFF0000)) == once).all():
        return None
    lists = empty_lists(table.d, m, table.n)
    lists.entry[(entries >> ROW).astype(np.int64)] = entries
    numbers = [j for j in range(table.d) if table.levels[j] == 0]
    for _ in workers.map(partial(_list, target.two, table, order, lists), numbers):
        pass
    return lists


def _list(two: bool, table: Table, order: Array, lists: Lists, j: int) -> None:
    lists.tied[j] = list_column(order[j], table.codes[j], lists.entry, two, lists.items[j])[1]
