"""A root of the inverse of a matrix that may be singular and whose columns may have any units."""

from __future__ import annotations

import numpy as np

from assay.engines.blas import one_thread_blas, scipy_linalg
from assay.numerics import Array, Floats

EPS = float(np.finfo(np.float64).eps)
SURE = 1e-5  # a Cholesky pivot below this: the eigenvectors are asked which directions are real


def root_of_inverse(M: Floats, rounding: Floats, last: bool = True) -> Floats:
    """root (d, d) with root·rootᵀ = M⁺: in the columns' own scale, on the directions that are more than rounding.

    A column whose diagonal is at most `rounding` (d,) is constant, and left alone; so is the last one unless it is wanted.
    """
    with one_thread_blas():
        return _root(M, np.flatnonzero((np.diag(M) > rounding) & (last | (np.arange(len(M)) < len(M) - 1))))


def _root(M: Floats, live: Array) -> Floats:
    linalg = scipy_linalg()
    root = np.zeros(M.shape)
    if len(live) == 0:
        return root
    u = np.sqrt(np.diag(M)[live])
    R = M[np.ix_(live, live)] / u[:, None] / u
    try:
        L = np.linalg.cholesky(R)
        sure = float(L.diagonal().min()) > SURE
    except np.linalg.LinAlgError:
        sure = False
    if sure:
        inverse = linalg.solve_triangular(L, np.eye(len(live)), lower=True, check_finite=False).T
    else:
        lam, V = np.linalg.eigh(R)
        keep = lam > 8 * len(live) * EPS * lam[-1]
        inverse = np.where(keep, V / np.sqrt(np.where(keep, lam, 1.0)), 0.0)
    root[np.ix_(live, live)] = inverse / u[:, None]
    return root
