"""Numerics that exist once: log-sum-exp, softmax, solving with a matrix that may be singular."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]


def log_sum_exp(Z: Floats) -> Floats:
    """log Σ_k exp Z[:, k] for each row, without overflow; a row of −∞ gives −∞.

    >>> log_sum_exp(np.array([[1000.0, 1000.0]])).round(4)
    array([1000.6931])
    """
    top = Z.max(axis=1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        out: Floats = np.log(np.exp(Z - top).sum(axis=1)) + top[:, 0]
    return out


def log_softmax(Z: Floats) -> Floats:
    """Z − log Σ exp Z, row by row."""
    out: Floats = Z - log_sum_exp(Z)[:, None]
    return out


def softmax(Z: Floats) -> Floats:
    """exp Z / Σ exp Z, row by row; rows sum to one.

    >>> softmax(np.array([[0.0, 0.0]]))
    array([[0.5, 0.5]])
    """
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    E /= E.sum(axis=1, keepdims=True)
    return E


def safe_log(x: Any) -> Any:
    """log x with log 0 = −∞ and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(x)


class Factor(NamedTuple):
    """Σ + ridge·I = A⁻¹A⁻ᵀ: `whiten` A (d, d) maps x − μ to unit covariance, `log_det` is log|Σ + ridge·I|."""

    whiten: Floats
    log_det: float
    rank: int
    ridge: float


def whitener(S: Floats) -> Factor:
    """Factor a covariance so that ‖A(x − μ)‖² is its Mahalanobis form; a singular one gets the least ridge that cures it.

    Where all eigenvalues exceed d·ε·λ_max nothing is added. Otherwise `ridge` lifts the smallest to √ε·λ_max
    (to 1 where Σ = 0, as the unit of a column that never varied).
    """
    lam, V = np.linalg.eigh(S)
    d = S.shape[0]
    top = float(lam[-1]) if d else 0.0
    eps = float(np.finfo(np.float64).eps)
    floor = d * eps * top * 8
    rank = int((lam > floor).sum()) if top > 0 else 0
    ridge = 0.0
    if rank < d:
        ridge = float(np.sqrt(eps)) * top if top > 0 else 1.0
        lam = np.maximum(lam, 0.0) + ridge
    A: Floats = V.T / np.sqrt(lam)[:, None]
    return Factor(np.ascontiguousarray(A), float(np.log(lam).sum()), rank, ridge)
