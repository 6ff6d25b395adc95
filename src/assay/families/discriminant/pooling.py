"""Singular class covariances pulled towards the common one: regularised discriminant analysis (Friedman 1989).

With n_k the weight of class k, N = Σ n_k and a share a in (0, 1] that all classes have in common,

    Σ_k(a) = [ (1 − a) n_k Σ_k + a Σ_l n_l Σ_l ] / W_k        W_k = (1 − a) n_k + a N

is quadratic discriminant analysis for a → 0 and linear for a = 1. The share is the one of least leave-one-out error, the greatest of
equal ones, so that the error is at most that of linear analysis but for the noise of the choice. Leaving a row out takes a multiple of
δδᵀ, δ = x − μ_k, from every Σ_l(a): by the formula of Sherman and Morrison all rows are answered in one fold, at the price of eight
predictions. A weight is a repeated row: one repetition is left out (of a lighter row, all of it). What `shrinkage`, `reg_param` and
`unbiased` multiply or add is held fixed meanwhile.

Where the common covariance is singular too, the least ridge R that cures it, in the columns' own units, is added to all classes alike:
directions in which no class varies then say nothing, unless the classes' means differ there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats, WhiteningFactor, safe_log, whitener

SHARES: tuple[float, ...] = tuple(0.25**i for i in range(8))  # the first of the least errors wins: the greatest share
SLACK = 4.0  # `tol` is in the common units, in those of a class that spreads wider the same ridge is less
TILE = 1 << 15  # numbers of whitened rows at a time: a quarter of a megabyte
ROUNDING = float(np.finfo(np.float64).eps)


def pooled(C: Floats, n: Floats, share: float) -> Floats:
    """Σ_k(a) of all classes (K, d, d), from their covariances and weights (K,)."""
    common = np.einsum("k,kij->ij", n / n.sum(), C)
    own = (1 - share) * n / weight_behind(n, share)
    out: Floats = own[:, None, None] * C + (1 - own)[:, None, None] * common
    return out


def weight_behind(n: Floats, share: float) -> Floats:
    """W_k: the weight of the rows behind each Σ_k(a)."""
    out: Floats = (1 - share) * n + share * n.sum()
    return out


def common_ridge(C: Floats, n: Floats, unit: Floats, tol: float) -> Floats:
    """The diagonal (d,) of R: lifts the least eigenvalue of the common correlations to twice what counts as zero."""
    common = np.einsum("k,kij->ij", n / n.sum(), C)
    u = np.sqrt(np.maximum(np.diag(common), 0.0))
    u = np.where(u > 0, u, unit)
    floor = 2 * max(tol * tol, 8 * len(u) * ROUNDING)
    least = float(np.linalg.eigvalsh(common / u[:, None] / u)[0])
    return np.zeros(len(u)) if least >= floor else (floor - max(least, 0.0)) * u * u


def factored(C: Floats, ridge: Floats, unit: Floats, tol: float) -> list[WhiteningFactor]:
    """Σ + R of each class, ready to whiten with."""
    return [whitener(c + np.diag(ridge), unit, tol) for c in C]


class PooledDensities(NamedTuple):
    """The classes' densities for one share: share, A (K, d, d), log|Σ_k(a)| (K,), W_k (K,)."""

    share: float
    whiten: Floats
    log_det: Floats
    weight: Floats


class LeftOut(NamedTuple):
    """What all candidates share when a row is left out.

    labels; means (K, d); total (K,) the rows' own weights and n (K,) with class weights; kept (K,) how much of a row's δδᵀ is in n_k Σ_k;
    log π_k where priors are given, else None; the structure of the covariances.
    """

    labels: Labels
    mean: Floats
    total: Floats
    n: Floats
    kept: Floats
    log_prior: Floats | None
    structure: str


def candidates(C: Floats, n: Floats, unit: Floats, tol: float) -> Iterator[PooledDensities]:
    """From the greatest share down, as long as no covariance is singular."""
    ridge = common_ridge(C, n, unit, tol)
    for share in SHARES:
        factors = factored(pooled(C, n, share), ridge, unit, tol / SLACK)
        if share < 1 and any(f.rank < C.shape[1] for f in factors):
            return
        yield PooledDensities(
            share,
            np.array([f.whiten for f in factors]),
            np.array([f.log_det for f in factors]),
            weight_behind(n, share),
        )


def leave_one_out_errors(engine: Engine, rows: Rows, known: LeftOut, tried: list[PooledDensities]) -> Floats:
    """The share of the rows' weight that each candidate answers wrongly when it has not seen the row."""
    wrong = fold(engine, rows.blocks(), partial(_absorb, known, tried), np.add)
    out: Floats = np.zeros(len(tried)) if wrong is None else wrong / known.n.sum()
    return out


def _absorb(known: LeftOut, tried: list[PooledDensities], block: Block) -> Floats:
    assert block.y is not None
    codes = known.labels.encode(block.y)
    w = np.ones(len(codes)) if block.w is None else np.asarray(block.w, dtype=np.float64)
    wrong = np.zeros(len(tried))
    with np.errstate(all="ignore"):
        for k, rows in _tiles(codes, w, known.mean.shape):
            X = block.X[rows].astype(np.float64) - known.mean[k]
            cost = w[rows] * known.n[k] / known.total[k]
            wrong += [float(cost @ (_answers(known, c, k, X, w[rows]) != k)) for c in tried]
    return wrong


def _tiles(codes: Array, w: Floats, shape: tuple[int, ...]) -> Iterator[tuple[int, Array]]:
    """Rows of one class at a time, few enough that what is computed of them stays in cache."""
    K, d = shape
    step = max(16, TILE // (K * d))
    for k in range(K):
        rows = np.flatnonzero((codes == k) & (w > 0))
        yield from ((k, rows[a : a + step]) for a in range(0, len(rows), step))


def _answers(known: LeftOut, c: PooledDensities, k: int, X: Floats, w: Floats) -> Array:
    """The class that each row δ = x − μ_k of class k gets from the others; −1 where it is the last of its class."""
    out = np.minimum(w, 1.0)
    rest = known.total[k] - out
    stretch = known.total[k] / rest  # x − μ_k from the mean of the others, in units of δ
    share = np.where(np.arange(len(known.n)) == k, 1.0, c.share)
    taken = (out * known.n[k] / known.total[k])[:, None] * share / c.weight
    D = X @ c.whiten.reshape(-1, X.shape[1]).T
    D = D.reshape(len(X), *known.mean.shape)
    Z = D + np.einsum("lij,lj->li", c.whiten, known.mean[k] - known.mean)
    Z[:, k] *= stretch[:, None]
    distance, volume = _downdated(Z, D, taken * known.kept[k] * stretch[:, None], known.structure)
    left = 1 - taken
    Q = -0.5 * (left * distance + volume + c.log_det - X.shape[1] * safe_log(left)) + _log_priors(known, k, rest)
    return np.where(rest > ROUNDING * known.total[k], np.argmax(Q, axis=1), -1)


def _log_priors(known: LeftOut, k: int, rest: Floats) -> Floats:
    if known.log_prior is not None:
        return known.log_prior
    n = np.repeat(known.n[None], len(rest), axis=0)
    n[:, k] *= rest / known.total[k]
    out: Floats = safe_log(n)
    return out


def _downdated(Z: Floats, D: Floats, taken: Floats, structure: str) -> tuple[Floats, Floats]:
    """vᵀ(Σ − t δδᵀ)⁻¹v and log|Σ − t δδᵀ| − log|Σ|, with Z = A v and D = A δ (m, K, d), t = `taken` (m, K).

    Where the covariance has a structure, so has what is taken: the diagonal of δδᵀ, or its mean.
    """
    least = 8 * Z.shape[2] * ROUNDING
    if structure == "full":
        left = np.maximum(1 - taken * np.vecdot(D, D), least)
        return np.vecdot(Z, Z) + taken * np.vecdot(Z, D) ** 2 / left, np.log(left)
    squares = D * D if structure == "diagonal" else np.mean(D * D, axis=2, keepdims=True)
    left = np.maximum(1 - taken[:, :, None] * squares, least) + np.zeros_like(D)
    return (Z * Z / left).sum(axis=2), np.log(left).sum(axis=2)


def least_error(tried: list[PooledDensities], errors: Any) -> float:
    """The share of least error, the greatest of equal ones."""
    return tried[int(np.argmin(errors))].share
