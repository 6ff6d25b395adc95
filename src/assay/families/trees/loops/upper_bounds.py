"""Which columns of a node of two classes may hold a better split than the one found, told from the counts of their buckets alone.

Gini's score of a split is a convex function of what lies to the left, (n, s): rows and positives. A split within a bucket leaves to the left what
the buckets before hold, and some rows of the bucket: its (n, s) lies between four corners, where none of the bucket's rows, all of them,
only its positives, or only its negatives are on the left. So no split scores more than the best of the corners of all buckets. Scores are compared
without a division:

    s² / n + (S − s)² / (N − n) > best    where    s² (N − n) + (S − s)² n > best · n (N − n)

Most columns of a wide table turn out to hold nothing better and need not be sorted.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined
from assay.compiled.simd.trees import corners_above

LEAST = 96  # rows of a node below which sorting a column takes no longer
EVERY = 15  # columns, as bits
MARGIN = 2.0**-40  # of a score: more than rounding, and than what makes one split better than another


@inlined
def run_up(hist, used, c0, c1, c2, c3, running):  # type: ignore[no-untyped-def]
    """running: c and what the first `used` buckets of four columns up to each hold."""
    for b in range(used):
        c0 += hist[4 * b]
        c1 += hist[4 * b + 1]
        c2 += hist[4 * b + 2]
        c3 += hist[4 * b + 3]
        running[4 * b] = c0
        running[4 * b + 1] = c1
        running[4 * b + 2] = c2
        running[4 * b + 3] = c3


@inlined
def upper_bounds(hist, running, used, n, s, best):  # type: ignore[no-untyped-def]
    """Bit j is set where column j, counted in every fourth cell from j on, may hold a split that scores as much as `best`, which is
    finite."""
    count = (4 * used + 7) & -8
    above = corners_above(hist, running, count, np.float64(n), np.float64(s), best - MARGIN * abs(best))
    return (above | (above >> 4)) & EVERY
