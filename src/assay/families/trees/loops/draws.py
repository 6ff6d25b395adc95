"""Which rows a tree sees: draws by hash of (key, number of the draw), and the rows of a node as entries."""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import jit
from assay.compiled.mixing import STEP, below, mixed
from assay.families.trees.loops.arrays import HALF, LOW32

QUARTER = np.uint64(16)
ONE_BIT = np.uint64(1)


@jit
def draw_with(key, m, times):  # type: ignore[no-untyped-def]
    """times[i] += 1 for m rows drawn with replacement."""
    n = times.shape[0]
    for _ in range(m):
        key += STEP
        times[below(mixed(key), n)] += 1


@jit
def draw_without(key, m, times):  # type: ignore[no-untyped-def]
    """times[i] = 1 for m rows drawn without replacement (Vitter's selection: row by row, so in one pass)."""
    n, left = times.shape[0], m
    for i in range(n):
        key += STEP
        if below(mixed(key), n - i) < left:
            times[i] = 1
            left -= 1


@jit
def fill_entries(times, labels, two, weight, weighted, entries):  # type: ignore[no-untyped-def]
    """The rows drawn and of positive weight as entries; their number. times may be empty: every row once."""
    k = 0
    n = labels.shape[0]
    every = times.shape[0] == 0
    for i in range(n):
        t = np.uint64(1) if every else np.uint64(times[i])
        label = np.uint64(labels[i])
        entries[k] = (np.uint64(i) << HALF) | (t << QUARTER) | (t * label if two else label)
        k += (t != 0) & (not weighted or weight[i] != 0)  # no branch: draws cannot be guessed
    return k


@jit
def list_column(order, codes, entry, two, items):  # type: ignore[no-untyped-def]
    """items: row · 2 | label of the rows drawn, as they come in `order`; entry (n,): of each row, 0 where it is not drawn. (Their number,
    whether neighbours have equal codes.)"""
    k, tied, last = 0, False, np.int64(-1)
    for i in range(order.shape[0]):
        r = np.int64(order[i])
        e = entry[r]
        if e == 0:
            continue
        items[k] = np.uint32((r << 1) | (np.int64(e & ONE_BIT) if two else 0))
        k += 1
        c = np.int64(codes[r])
        tied = tied or c == last
        last = c
    return k, tied


@jit
def settle(codes, levels, items, entries, begin, end, place, own_codes, own_items, own_entries):  # type: ignore[no-untyped-def]
    """The rows of entries[begin : end] numbered anew, in that order, with their codes (d, m), lists (d, m) and entries (m,): what a
    subtree reads then lies together. place (n,): room, of which no two subtrees touch the same."""
    for i in range(begin, end):
        r = np.int64(entries[i] >> HALF)
        place[r] = i - begin
        own_entries[i - begin] = (np.uint64(i - begin) << HALF) | (entries[i] & LOW32)
    for c in range(codes.shape[0]):
        from_codes, to_codes = codes[c], own_codes[c]
        for i in range(begin, end):
            to_codes[i - begin] = from_codes[np.int64(entries[i] >> HALF)]
        if levels[c] > 0:
            continue
        from_items, to_items = items[c, begin:end], own_items[c]
        for i in range(end - begin):
            x = np.int64(from_items[i])
            to_items[i] = np.uint32((np.int64(place[x >> 1]) << 1) | (x & 1))


@jit
def unsettle(rows, own_entries, entries):  # type: ignore[no-untyped-def]
    """Entries with their rows' former numbers rows (m,)."""
    for i in range(entries.shape[0]):
        e = own_entries[i]
        entries[i] = (rows[np.int64(e >> HALF)] << HALF) | (e & LOW32)
