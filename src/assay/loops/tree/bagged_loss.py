"""The mean loss of answers that are added up tree by tree, and how much it varies from row to row.

Rows are taken 1024 at a time, so that little is lost to rounding. What a row needs cannot be guessed, so there are no branches: 22 → 4 ns a
row of two classes.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import jit

ROWS = 1024


@jit
def _losses(sums, count, truth, weight, classes, loss, own):  # type: ignore[no-untyped-def]
    """loss[i] of the mean answer for row i: zero-one where there are classes, else squared; own[i]: its weight, 0 where no tree answered or
    it is not positive. How many rows are left."""
    K, rows = sums.shape[1], 0
    for i in range(count.shape[0]):
        good = (count[i] != 0) & (weight[i] > 0.0)
        if classes == 0:
            off = sums[i, 0] / max(count[i], 1) - truth[i]
            x = off * off
        else:
            best, most = 0, sums[i, 0]
            for k in range(1, K):
                better = sums[i, k] > most
                best += (k - best) * better
                most = max(most, sums[i, k])
            x = np.float64(best != truth[i])
        loss[i] = x
        own[i] = weight[i] * good
        rows += good
    return rows


@jit
def mean_loss(sums, count, truth, weight, classes):  # type: ignore[no-untyped-def]
    """(Σ w, Σ w², Σ w · loss / Σ w, rows) of the rows of positive weight that some tree answered; a mean of 0 where there are none."""
    loss, own, rows = np.empty(ROWS), np.empty(ROWS), 0
    W, squares, total = 0.0, 0.0, 0.0
    for first in range(0, sums.shape[0], ROWS):
        last = min(sums.shape[0], first + ROWS)
        rows += _losses(sums[first:last], count[first:last], truth[first:last], weight[first:last], classes, loss, own)
        a, b, c = 0.0, 0.0, 0.0
        for i in range(last - first):
            a += own[i]
            b += own[i] * own[i]
            c += own[i] * loss[i]
        W += a
        squares += b
        total += c
    return W, squares, total / W if W > 0.0 else 0.0, rows


@jit
def spread_of_loss(sums, count, truth, weight, classes, mean):  # type: ignore[no-untyped-def]
    """Σ w · (loss − mean)² of the same rows."""
    loss, own, spread = np.empty(ROWS), np.empty(ROWS), 0.0
    for first in range(0, sums.shape[0], ROWS):
        last = min(sums.shape[0], first + ROWS)
        _losses(sums[first:last], count[first:last], truth[first:last], weight[first:last], classes, loss, own)
        c = 0.0
        for i in range(last - first):
            off = loss[i] - mean
            c += own[i] * off * off
        spread += c
    return spread
