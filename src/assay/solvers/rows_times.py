"""Products of a block with weights about a centre, in plain NumPy: for what is computed once a fit."""

from __future__ import annotations

import numpy as np

from assay.engines.sparse import SparseMatrix
from assay.numerics import Array, Floats


def rows_times(X: Array | SparseMatrix, w: Floats, centre: Floats) -> Floats:
    """(x − p)·w + b for each row; w (d + 1,) holds b last."""
    shift = float(w[-1] - (centre * w[:-1]).sum())
    if isinstance(X, SparseMatrix):
        z: Floats = np.bincount(X.row_numbers(), X.data * w[:-1][X.indices], minlength=len(X))
        return z + shift
    return np.asarray(X @ w[:-1] + shift)


def rows_back(X: Array | SparseMatrix, r: Floats, centre: Floats) -> Floats:
    """Σ_i r_i (x_i − p, 1), (d + 1,)."""
    total = float(r.sum())
    if isinstance(X, SparseMatrix):
        g: Floats = np.bincount(X.indices, X.data * r[X.row_numbers()], minlength=X.shape[1])
    else:
        g = r @ X
    return np.append(g - total * centre, total)
