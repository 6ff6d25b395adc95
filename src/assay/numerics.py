"""Numerics that exist once: log-sum-exp, log-softmax, solving with a matrix that may be singular."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[Any]  # float64 or float32; the name tells the reader, mypy need not count digits


FAR = 1e5  # probabilities of scores up to here add up to one within 1e-10


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
    """Z − log Σ exp Z, row by row; far from zero Z is first taken from its greatest, where the logarithm would be lost in rounding.

    >>> np.exp(log_softmax(np.array([[1e200, 1e200]]))).tolist()
    [[0.5, 0.5]]
    """
    log_sums = log_sum_exp(Z)
    out: Floats = Z - log_sums[:, None]
    far = np.abs(log_sums) > FAR
    if far.any():
        near = Z[far] - Z[far].max(axis=1, keepdims=True)
        out[far] = near - log_sum_exp(near)[:, None]
    return out


def near_zero(shape: int | tuple[int, ...], seed: int) -> Floats:
    """Weights drawn at random close to zero, with which the lecture notes' descents begin."""
    return np.random.Generator(np.random.PCG64(seed)).normal(0.0, 0.01, shape)


def safe_log(x: Any) -> Any:
    """log x with log 0 = −∞ and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(x)


class WhiteningFactor(NamedTuple):
    """Σ + diag(added) = A⁻¹A⁻ᵀ: `whiten` A (d, d) maps x − μ to unit covariance; `log_det` is log|Σ + diag(added)|."""

    whiten: Floats
    log_det: float
    rank: int
    added: Floats


def whitener(S: Floats, unit: Floats | None = None, tol: float = 1e-4) -> WhiteningFactor:
    """Factor a covariance: ‖A(x − μ)‖² is its Mahalanobis form; a singular one gets the least ridge that cures it.

    All is measured in the columns' own units u_j = √S_jj (or `unit` where that is zero), so that it does not depend on how
    a column is scaled: with R = S_jl / (u_j u_l) = V diag(λ) Vᵀ an eigenvalue counts as zero up to
    floor = max(tol², 8dε), and where there is one, added_j = (floor − λ_min)·u_j² lifts the smallest to the floor.
    Eigenvalues up to 8dε are rounding and taken as zero, so that it does not show in what the ridge divides.

    >>> whitener(np.array([[4.0, 2.0], [2.0, 1.0]])).rank
    1
    """
    d = len(S)
    u = np.sqrt(np.maximum(np.diag(S), 0.0))
    u = np.where(u > 0, u, 1.0 if unit is None else unit)
    lam, V = np.linalg.eigh(S / u[:, None] / u)
    rounding = 8 * d * float(np.finfo(np.float64).eps)
    floor = max(tol * tol, rounding)
    rank = int((lam > floor).sum())
    lam = np.where(lam > rounding, lam, 0.0)
    ridge = 0.0 if rank == d else floor - float(lam[0])
    lam = lam + ridge
    A: Floats = V.T / np.sqrt(lam)[:, None] / u
    return WhiteningFactor(A, float(np.log(lam).sum() + 2 * np.log(u).sum()), rank, ridge * u * u)
