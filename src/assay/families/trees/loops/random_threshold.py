"""A random threshold of a column between the least and the greatest value that a node holds.

The node's codes are read once, into a row of numbers: where they lie apart, a second look takes as long as the first. Which
code of the whole column is the last one below the threshold is looked up, in a small node, for the split that is kept alone: until then any
code tells the sides apart that lies between the same two of the node's.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined, inner
from assay.compiled.mixing import mixed, unit
from assay.families.trees.loops.arrays import HALF, NONE_MISSING
from assay.families.trees.loops.candidates import keep

FEW = 8  # rows whose values take less time to compare than a place among all values to find


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
    if threshold != threshold:
        keep(found, score, f, cut, table.missing[f], left)
        return
    cut = _last_below(table.values, table.first[f], cut, high, threshold)
    keep(found, score, f, cut, cut + 1, left)
    if not table.binned:
        found.score[3] = threshold
