"""w·x + b for each row and weight vector, by NumPy alone: answering must not wait for a compiler."""

from __future__ import annotations

import numpy as np

from assay.engines.sparse import SparseMatrix
from assay.numerics import Array, Floats

TILE = 1 << 16  # numbers that are made float64 at a time


def linear_scores(X: Array | SparseMatrix, coef: Floats, intercept: Floats) -> Floats:
    """(n, m) for rows X (n, d), coef (m, d), intercept (m,)."""
    if isinstance(X, SparseMatrix):
        return _sparse(X, coef) + intercept
    if X.dtype == np.float64:
        Z: Floats = X @ coef.T
        Z += intercept
        return Z
    Z = np.empty((len(X), len(coef)))
    step = max(1, TILE // max(1, X.shape[1]))
    for a in range(0, len(X), step):
        np.dot(X[a : a + step].astype(np.float64), coef.T, out=Z[a : a + step])
    Z += intercept
    return Z


def _sparse(X: SparseMatrix, coef: Floats) -> Floats:
    rows, data = X.row_numbers(), X.data.astype(np.float64, copy=False)
    columns = [np.bincount(rows, weights=data * w[X.indices], minlength=len(X)) for w in coef]
    return np.stack(columns, axis=1)
