"""Which rows a tree sees: draws by hash of (key, number of the draw), and the rows of a node as entries."""

from __future__ import annotations

import numpy as np
from numba import njit

from assay.loops.tree.dice import STEP, below, mixed
from assay.loops.tree.shapes import HALF

QUARTER = np.uint64(16)


@njit(nogil=True, cache=True)
def draw_with(key, m, times):  # type: ignore[no-untyped-def]
    """times[i] += 1 for m rows drawn with replacement."""
    n = times.shape[0]
    for _ in range(m):
        key += STEP
        times[below(mixed(key), n)] += 1


@njit(nogil=True, cache=True)
def draw_without(key, m, times):  # type: ignore[no-untyped-def]
    """times[i] = 1 for m rows drawn without replacement (Vitter's selection: row by row, so in one pass)."""
    n, left = times.shape[0], m
    for i in range(n):
        key += STEP
        if below(mixed(key), n - i) < left:
            times[i] = 1
            left -= 1


@njit(nogil=True, cache=True)
def fill_entries(times, labels, two, weight, weighted, entries):  # type: ignore[no-untyped-def]
    """The rows drawn and of positive weight as entries; their number. times may be empty: every row once."""
    k = 0
    n = labels.shape[0]
    every = times.shape[0] == 0
    for i in range(n):
        t = np.uint64(1) if every else np.uint64(times[i])
        if t == 0 or (weighted and weight[i] == 0):
            continue
        label = np.uint64(labels[i])
        entries[k] = (np.uint64(i) << HALF) | (t << QUARTER) | (t * label if two else label)
        k += 1
    return k


@njit(nogil=True, cache=True)
def sort_column(codes, entries, items, count):  # type: ignore[no-untyped-def]
    """items: code · 2³² | row of each entry, sorted; count: zeros, one more than there are codes."""
    for i in range(entries.shape[0]):
        count[np.int64(codes[np.int64(entries[i] >> HALF)]) + 1] += 1
    for k in range(count.shape[0] - 1):
        count[k + 1] += count[k]
    for i in range(entries.shape[0]):
        r = np.int64(entries[i] >> HALF)
        c = np.int64(codes[r])
        items[count[c]] = np.uint64((c << 32) | r)
        count[c] += 1
