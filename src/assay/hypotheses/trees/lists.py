"""The rows of a tree sorted by every column: for trees that try all columns at every node."""

from __future__ import annotations

from functools import partial

import numpy as np

from assay.engines.threads import Threads
from assay.loops.tree.draws import sort_column
from assay.loops.tree.shapes import Lists, Table
from assay.numerics import Array

WORTH = 512  # rows from which on sorting once pays


def no_lists() -> Lists:
    """No lists: rows are sorted node by node."""
    return Lists(np.zeros((1, 1), np.uint64), 0, np.zeros(1, np.uint64), np.zeros(1, np.uint8))


def sorted_lists(table: Table, entries: Array, workers: Threads) -> Lists:
    """Every column of numbers sorted by its codes, equal ones by row."""
    m, d = len(entries), table.d
    items = np.empty((d, m), np.uint64)
    numbers = [j for j in range(d) if table.levels[j] == 0]
    for _ in workers.map(partial(_sort, table, entries, items), numbers):
        pass
    entry = np.empty(table.n, np.uint64)
    entry[(entries >> np.uint64(32)).astype(np.int64)] = entries
    return Lists(items, m, entry, np.zeros(table.n, np.uint8))


def _sort(table: Table, entries: Array, items: Array, j: int) -> None:
    most = int(table.missing[j] if table.missing[j] >= 0 else (table.buckets[j] << table.shift[j]))
    sort_column(table.codes[j], entries, items[j], np.zeros(most + 2, np.int64))
