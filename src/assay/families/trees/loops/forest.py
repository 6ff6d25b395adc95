"""What the trees of a forest say together: the mean loss of their answers, quantiles of targets, and what each column adds.

For the loss, and how much it varies from row to row, rows are taken 1024 at a time, so that little is lost to rounding. What a row needs
cannot be guessed, so there are no branches: 22 → 4 ns a row of two classes.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit

ROWS = 1024


@inner
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
def spread_of_loss(sums, count, truth, weight, classes, mean, unit):  # type: ignore[no-untyped-def]
    """Σ w · (unit · (loss − mean))² of the same rows."""
    loss, own, spread = np.empty(ROWS), np.empty(ROWS), 0.0
    for first in range(0, sums.shape[0], ROWS):
        last = min(sums.shape[0], first + ROWS)
        _losses(sums[first:last], count[first:last], truth[first:last], weight[first:last], classes, loss, own)
        c = 0.0
        for i in range(last - first):
            off = unit * (loss[i] - mean)
            c += own[i] * off * off
        spread += c
    return spread


SLACK = 1e-12  # rounding of shares that are added up


@jit
def weighted_quantiles(leaves, first, place, times, weight, weighted, targets, q, out):  # type: ignore[no-untyped-def]
    """out[i, j]: the least target whose share of weight up to it is at least q[j] (in order).

    leaves (m, T): the leaf of each row in each tree; place[first[l] : first[l + 1]]: the targets of leaf l, by their places in
    `targets` (in order), each `times` there and, where weighted, of weight `weight`.
    """
    T = leaves.shape[1]
    share = np.zeros(targets.shape[0])
    touched = np.empty(targets.shape[0], np.int64)
    for i in range(leaves.shape[0]):
        count = 0
        for t in range(T):
            a, b = first[leaves[i, t]], first[leaves[i, t] + 1]
            total = 0.0
            for k in range(a, b):
                total += times[k] * (weight[place[k]] if weighted else 1.0)
            for k in range(a, b):
                p = np.int64(place[k])
                if share[p] == 0.0:
                    touched[count] = p
                    count += 1
                share[p] += times[k] * (weight[p] if weighted else 1.0) / total
        there = np.sort(touched[:count])
        run, at = 0.0, -1
        for j in range(q.shape[0]):
            while at < 0 or (at + 1 < count and run < (q[j] - SLACK) * T):
                at += 1
                run += share[there[at]]
            out[i, j] = targets[there[at]]
        for k in range(count):
            share[there[k]] = 0.0


@jit
def add_contributions(leaves, parent, column, change, out):  # type: ignore[no-untyped-def]
    """out[i, column[v]] += change[v] for every node v between the leaf of row i and the root (parent −1); out (m, d, K)."""
    K = change.shape[1]
    for i in range(leaves.shape[0]):
        v = leaves[i]
        while parent[v] >= 0:
            for k in range(K):
                out[i, column[v], k] += change[v, k]
            v = parent[v]
