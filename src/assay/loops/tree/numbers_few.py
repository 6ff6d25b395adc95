"""The best split of a node of a few numbers: every row is compared with every other, eight at a time, and nothing is sorted or branched on.

A split after a row leaves to the left whoever has no greater code: sixteen rows need sixteen comparisons of two vectors.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined
from assay.compiled.simd.trees import drawn_up_to, squared_of_sums, weighted_up_to
from assay.loops.tree.candidates import SLACK, beats, greatest_of, keep
from assay.loops.tree.numbers_worth import times_of
from assay.loops.tree.shapes import HALF, NONE_MISSING

MOST = 24  # rows, fewer than FEW_ROWS
BEYOND = np.int64(1) << np.int64(40)  # above every code


@inlined
def numbers_few(weighted, table, rules, entries, a, m, f, n, W, Z, t, w, z, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split of column f, of which nothing is missing, by squared error; t, w, z: draws, weights and values of
    the m rows. Says whether the column varies."""
    codes, first, code = table.codes, f * table.n, scratch.place
    low, high = BEYOND, -BEYOND
    for i in range(m):
        c = np.int64(codes[first + np.int64(entries[a + i] >> HALF)])
        code[i] = c
        low, high = min(low, c), max(high, c)
    if low == high:
        return False
    stop, A, worth = (m + 7) & -8, scratch.reach, scratch.worth
    for i in range(m, stop):
        code[i] = BEYOND
    if weighted:
        weighted_up_to(code, t, w, z, m, W, Z, scratch.number, scratch.real, A)
    else:
        drawn_up_to(code, t, w, z, m, W, Z, scratch.number, scratch.real, A)
    squared_of_sums(
        scratch.number, scratch.real, A, worth, stop, 0.5 * np.float64(W), 0.5 * np.float64(Z), n, rules.min_leaf
    )
    best = greatest_of(worth, stop)
    if beats(best, found):
        _keep_first(found, f, code, worth, m, best)
    return True


@inlined
def _keep_first(found, f, code, worth, m, best):  # type: ignore[no-untyped-def]
    """Keep the split with the lowest code of those that are worth `best`, up to rounding."""
    enough, cut, at, after = best - SLACK * abs(best), BEYOND, 0, BEYOND
    for i in range(m):
        if worth[i] >= enough and code[i] < cut:
            cut, at = code[i], i
    for i in range(m):
        after = min(after, code[i]) if code[i] > cut else after
    keep(found, worth[at], f, cut, after, NONE_MISSING)


@inlined
def draws_of(entries, a, m, t):  # type: ignore[no-untyped-def]
    """t[:m]: how often each row was drawn; in a room that no other search of numbers uses."""
    for i in range(m):
        t[i] = np.uint64(times_of(entries[a + i]))
