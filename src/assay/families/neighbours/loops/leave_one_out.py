"""Leave-one-out errors of all numbers of neighbours in one pass over each row's list of nearest rows.

`row`, `factor` and `weight` (m, n): the nearest rows of each query in order, what a vote of each counts, and how many votes it has (already
without the query itself). The sums are those of `families.neighbours.neighbourhood`, in their order.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit


@inner
def _winner(votes, near):  # type: ignore[no-untyped-def]
    best = 0
    for c in range(1, len(votes)):
        if votes[c] > votes[best] or (votes[c] == votes[best] and near[c] < near[best]):
            best = c
    return best


@jit
def wrong_classes(r, code, factor, weight, truth, own, classes, wrong):  # type: ignore[no-untyped-def]
    """wrong (k,) += the weight `own` of the queries that the nearest 1, 2, …, k votes answer with another class than `truth`."""
    m, n = r.shape
    votes, near = np.empty(classes), np.empty(classes)
    for i in range(m):
        votes[:] = 0.0
        near[:] = np.inf
        j, before = 0, 0.0
        for k in range(1, len(wrong) + 1):
            while j < n and before + weight[i, j] <= k:
                if weight[i, j] > 0:
                    c = code[i, j]
                    votes[c] += weight[i, j] * factor[i, j]
                    near[c] = min(near[c], r[i, j])
                before += weight[i, j]
                j += 1
            if before < k and j < n:
                c = code[i, j]
                kept_votes, kept_near = votes[c], near[c]
                votes[c] += (k - before) * factor[i, j]
                near[c] = min(near[c], r[i, j])
                best = _winner(votes, near)
                votes[c], near[c] = kept_votes, kept_near
            else:
                best = _winner(votes, near)
            if best != truth[i]:
                wrong[k - 1] += own[i]


@jit
def squared_errors(value, factor, weight, truth, own, loss, square):  # type: ignore[no-untyped-def]
    """loss (k,) += own (y − ŷ)² of the queries, ŷ the mean of the nearest 1, 2, …, k votes; square (k,) += own (y − ŷ)⁴."""
    m, n = value.shape
    for i in range(m):
        votes = total = before = 0.0
        j = 0
        for k in range(1, len(loss) + 1):
            while j < n and before + weight[i, j] <= k:
                votes += weight[i, j] * factor[i, j]
                total += weight[i, j] * factor[i, j] * value[i, j]
                before += weight[i, j]
                j += 1
            v, t = votes, total
            if before < k and j < n:
                v += (k - before) * factor[i, j]
                t += (k - before) * factor[i, j] * value[i, j]
            e = truth[i] - t / v
            loss[k - 1] += own[i] * (e * e)
            square[k - 1] += own[i] * (e * e) * (e * e)
