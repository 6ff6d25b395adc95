"""Rows of two classes as words: weight and positives share one, and what a split is worth follows from it.

Of a split the criterion's score is what it leaves to be maximised when constants of the node are dropped:

    Gini      s_L² / n_L + s_R² / n_R                        (s: positives, n: rows)
    entropy   Σ over sides  s log s + (n − s) log (n − s) − n log n
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inlined, jit
from assay.compiled.simd.trees import gini_of_words
from assay.families.trees.loops.arrays import ENTROPY, HALF, LOW16, LOW32
from assay.families.trees.loops.candidates import greatest_of

QUARTER = np.uint64(16)
TIMES = np.uint64(0xFFFF0000)


class TwoClassTargets(NamedTuple):
    """An entry's label holds the positives (`times` or 0). xlogx: x log x of whole numbers, where the criterion needs it."""

    xlogx: Any


@jit(inline="always")
def word_of(entry):  # type: ignore[no-untyped-def]
    """weight · 2³² | positives."""
    return ((entry & TIMES) << QUARTER) | (entry & LOW16)


@inlined
def score_words(running, worth, count, n, s, criterion, xlogx, least):  # type: ignore[no-untyped-def]
    """worth[i] of the split that puts running[i] to the left, −∞ where a side is too small; the greatest of them. Both arrays have room up
    to a multiple of eight."""
    if criterion == ENTROPY:
        for i in range(count):
            # of a column with fewer buckets than its neighbours the last ones count what is missing twice: these are no splits
            nl, sl = min(n, np.int64(running[i] >> HALF)), min(s, np.int64(running[i] & LOW32))
            nr, sr = n - nl, s - sl
            w = xlogx[sl] + xlogx[nl - sl] - xlogx[nl] + (xlogx[sr] + xlogx[nr - sr] - xlogx[nr])
            worth[i] = w if (nl >= least) & (nr >= least) else -np.inf
        return greatest_of(worth, count)
    stop = (count + 7) & -8
    for i in range(count, stop):
        running[i] = np.uint64(0)
    return gini_of_words(running, worth, stop, np.float64(n), np.float64(s), np.float64(least))


@inlined
def worth_of_word(run, n, s, criterion, xlogx, least):  # type: ignore[no-untyped-def]
    """As `score_words`, of one split."""
    nl, sl = np.int64(run >> HALF), np.int64(run & LOW32)
    nr, sr = n - nl, s - sl
    if nl < least or nr < least:
        return -np.inf
    if criterion == ENTROPY:
        return xlogx[sl] + xlogx[nl - sl] - xlogx[nl] + (xlogx[sr] + xlogx[nr - sr] - xlogx[nr])
    a, b, c, d = np.float64(nl), np.float64(sl), np.float64(nr), np.float64(sr)
    return (b * b * c + d * d * a) / (a * c)
