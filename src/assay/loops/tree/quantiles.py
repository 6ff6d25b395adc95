"""Quantiles of the targets of the rows that share leaves with a row."""

from __future__ import annotations

import numpy as np

from assay.compiled import jit

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
