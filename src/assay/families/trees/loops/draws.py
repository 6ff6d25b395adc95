"""What is drawn for a tree: the rows that it sees, by hash of (key, number of the draw), as the entries of its nodes; and random thresholds of a
column, between the least and the greatest value that a node holds.

For a threshold the node's codes are read once, into a row of numbers: where they lie apart, a second look takes as long as the first. Which
code of the whole column is the last one below the threshold is looked up, in a small node, for the split that is kept alone: until then any
code tells the sides apart that lies between the same two of the node's.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined, inner, jit
from assay.compiled.mixing import STEP, below, mixed, unit
from assay.families.trees.loops.arrays import HALF, LOW32, NONE_MISSING
from assay.families.trees.loops.candidates import keep

FEW = 8  # rows whose values take less time to compare than a place among all values to find
QUARTER = np.uint64(16)
ONE_BIT = np.uint64(1)


@inlined
def _read_codes(codes, first, entries, a, b, own):  # type: ignore[no-untyped-def]
    """own[: b − a]: the codes of a node's rows."""
    for i in range(a, b):
        own[i - a] = codes[first + np.int64(entries[i] >> HALF)]


@inlined
def _reach(own, m, missing):  # type: ignore[no-untyped-def]
    """(The least of some codes, the greatest of a value, the greatest of all), −1 where there is none."""
    low, top = np.int64(0xFFFFFFFF), np.int64(-1)
    for i in range(m):
        c = np.int64(own[i])
        low = min(low, c)
        top = max(top, c)
    if top != missing:
        return low, top, top
    high = np.int64(-1)
    for i in range(m):
        c = np.int64(own[i])
        high = max(high, c if c < missing else np.int64(-1))
    return low, high, top


@inlined
def _last_below(values, start, low, high, threshold):  # type: ignore[no-untyped-def]
    """The last code whose value is at most the threshold: values[start + low] ≤ threshold < values[start + high]."""
    while high - low > 1:
        middle = (low + high) // 2
        if values[start + middle] <= threshold:
            low = middle
        else:
            high = middle
    return low


@inner
def _draw(codes, first, entries, a, b, values, start, missing, word, own):  # type: ignore[no-untyped-def]
    _read_codes(codes, first, entries, a, b, own)
    m = b - a
    low, high, top = _reach(own, m, missing)
    if high < 0 or low == top:
        return np.int64(-1), high, np.nan, np.int64(NONE_MISSING)
    if low == high:
        return low, high, np.nan, np.int64(0)
    least, most, u = values[start + low], values[start + high], unit(mixed(word))
    threshold = (1.0 - u) * least + u * most
    threshold = threshold if least <= threshold < most else least  # rounding may leave the range
    cut = low
    if m <= FEW:
        for i in range(m):
            c = min(np.int64(own[i]), high)
            cut = max(cut, c if values[start + c] <= threshold else low)
    else:
        cut = _last_below(values, start, low, high, threshold)
    return cut, high, threshold, np.int64(word & np.uint64(1)) if top > high else np.int64(NONE_MISSING)


@inlined
def random_threshold(table, entries, a, b, f, word, own):  # type: ignore[no-untyped-def]
    """Draw a threshold: (a code that ends the left side in this node, the node's greatest, the threshold, where missing values go as in
    `Found`); the first is −1 where the column does not vary, the threshold NaN where only missing values are told apart. own[: b − a]
    receives the codes."""
    first, start = f * table.n, table.first[f]
    return _draw(table.codes, first, entries, a, b, table.values, start, table.missing[f], word, own)


@inlined
def keep_random_threshold(table, found, score, f, cut, high, threshold, left):  # type: ignore[no-untyped-def]
    """Remember the split that `random_threshold` drew."""
    if threshold != threshold:  # all that is there has one value: that is the threshold
        keep(found, score, f, cut, table.missing[f], left)
        found.score[3] = table.values[table.first[f] + cut]
        return
    cut = _last_below(table.values, table.first[f], cut, high, threshold)
    keep(found, score, f, cut, cut + 1, left)
    if not table.binned:
        found.score[3] = threshold


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
