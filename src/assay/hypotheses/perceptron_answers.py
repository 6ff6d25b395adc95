"""Scores of rows under one set of weights, or by the vote of many. NumPy alone: an answer needs no compiler."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.engines import SparseMatrix
from assay.numerics import Array, Floats

TILE = 1 << 22  # scores of rows by voters that are held at a time


def linear_scores(X: Any, coef: Floats, intercept: Floats) -> Floats:
    """Xwᵀ + b for dense rows or sparse ones."""
    if isinstance(X, SparseMatrix):
        rows, data = X.row_numbers(), X.data.astype(np.float64)
        Z = np.column_stack([np.bincount(rows, data * w[X.indices], minlength=len(X)) for w in coef])
    else:
        Z = X.astype(np.float64, copy=False) @ coef.T
    out: Floats = Z + intercept
    return out


def vote(X: Any, voters: Floats, votes: Array) -> Floats:
    """The share of votes: (n, 1), for the greater class less for the lower, or (n, K); voters (V, m, d + 1), bias first."""
    m = voters.shape[1]
    Z = np.zeros((len(X), m))
    tile = max(1, TILE // max(1, len(X) * m))
    for v in range(0, len(votes), tile):
        some = votes[v : v + tile].astype(np.float64)
        flat = voters[v : v + tile].reshape(-1, voters.shape[2])
        S = linear_scores(X, flat[:, 1:], flat[:, 0]).reshape(len(X), -1, m)
        Z[~np.isfinite(S).all(axis=(1, 2))] = np.nan  # a row that no vote should hide
        if m == 1:
            Z[:, 0] += np.where(S[:, :, 0] >= 0, 1.0, -1.0) @ some
        else:
            winners = S.argmax(axis=2)
            Z += np.column_stack([(winners == k) @ some for k in range(m)])
    return Z / max(1, int(votes.sum()))


def mean_weights(last: Floats, drift: Floats, visits: int) -> Floats:
    """The average of the weights over all visits: (T·w_T − u) / T."""
    return last - drift / max(1, visits)
