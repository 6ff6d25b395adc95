"""Weight, means and the scatter matrix of columns and target: the statistics of least squares.

A block is summed tile by tile about a pivot, the mean of its first heavy rows: M = Σ w t tᵀ with t = (x − pivot, y − pivot, 1).
If S = Σw(x − x̄)² and the rows behind the pivot weigh at least h together, then h·(pivot − x̄)² ≤ 2S: few digits cancel,
whatever the data. Blocks are merged by the pairwise formula of Chan, Golub and LeVeque (1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.engines import Block, fingerprint
from assay.errors import DataError
from assay.inputs import as_regression_target, refuse_non_finite, refuse_overflow
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats

TILE = 1 << 16  # numbers a tile of a BLAS product: half a megabyte
FEW = 128  # up to so many columns our own loop is faster than BLAS
HEAD = 256  # rows that make the pivot
NO_WEIGHTS = np.empty(0)
SMALLEST = float(np.finfo(np.float64).tiny)


class Gram(NamedTuple):
    """n (1,): weight; mean (d,), scatter (d, d): Σw(x − x̄)(x − x̄)ᵀ, cross (d,): Σw(x − x̄)(y − ȳ); the same of y (1,).

    Of T targets, columns of y (m, T), cross is (T, d), and what there is of y (T,).
    Of `absorb_gram` the scatter of a column, or of y, is zero where all values are the same and only there.
    """

    n: Floats
    mean: Floats
    scatter: Floats
    cross: Floats
    target_mean: Floats
    target_scatter: Floats
    mark: bytes


def tile_rows(d: int) -> int:
    """Rows a tile: enough for a matrix product to pay, few enough to stay in the cache.

    >>> tile_rows(50), tile_rows(5000)
    (1260, 256)
    """
    return max(256, TILE // (d + 2))


def _pivot(rows: Array, w: Array | None) -> Floats:
    """The mean of the first heavy rows (at least half the largest weight), exact for a constant column."""
    if w is not None and not w.any():
        return np.zeros(rows.shape[1])
    head = (rows if w is None else rows[np.flatnonzero(w >= w.max() / 2)[:HEAD]])[:HEAD].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        p = head[0] + (head - head[0]).mean(axis=0)
    return np.where(np.isfinite(p), p, 0.0)


def absorb_gram(names: Sequence[str] | None, block: Block) -> Gram:
    """The statistics of one block; values that are not finite are refused by name."""
    assert block.y is not None
    y = as_regression_target(block.y, block.start)
    gram, hashes = gram_of(block.X, y if y.ndim == 1 else y[:, 0], block.w)
    if y.ndim == 2:
        gram = _with_targets(gram, block.X, y, block.w)
    if not _finite(gram):
        _refuse(block, names)
    _mark_lost(gram, block, y)
    return gram._replace(mark=fingerprint.leaf(hashes, block.X, y, block.w))


def _mark_lost(gram: Gram, block: Block, y: Floats) -> None:
    """Where values differ, but by so little that their squares underflow, the scatter is the smallest number there is."""
    live = slice(None) if block.w is None else block.w > 0
    for j in np.flatnonzero(gram.scatter.diagonal() < SMALLEST):
        if _differ(block.X[live, j]):
            gram.scatter[j, j] = SMALLEST
    for t, target in enumerate(y[:, None].T if y.ndim == 1 else y.T):
        if gram.target_scatter[t] < SMALLEST and _differ(target[live]):
            gram.target_scatter[t] = SMALLEST


def _differ(values: Array) -> bool:
    return bool((values != values[:1]).any())


def gram_of(X: Array, y: Floats, w: Array | None) -> tuple[Gram, Array]:
    """The statistics of rows X with targets y, not marked yet, and the hashes of the columns."""
    p, q = _pivot(X, w), float(_pivot(y[:, None], w)[0])
    root = NO_WEIGHTS if w is None else np.sqrt(w)
    hashes = np.zeros(X.shape[1], dtype=np.uint64)
    sums = _sums_of_few if X.shape[1] + 2 <= FEW else _sums_of_many
    with np.errstate(invalid="ignore", over="ignore"):
        M = sums(X, y, root, p, q, hashes)
        return _about_mean(float(len(y)) if w is None else float(w.sum()), p, q, M), hashes


def _with_targets(gram: Gram, X: Array, Y: Floats, w: Array | None) -> Gram:
    """The statistics with those of every target, about the means."""
    weights = np.ones(len(Y)) if w is None else w
    q = _pivot(Y, w)
    with np.errstate(invalid="ignore", over="ignore"):
        at = q + weights @ (Y - q) / gram.n[0] if gram.n[0] > 0 else q
        cross, scatter = np.zeros((Y.shape[1], X.shape[1])), np.zeros(Y.shape[1])
        for a in range(0, len(Y), tile_rows(X.shape[1])):
            here = slice(a, a + tile_rows(X.shape[1]))
            apart = Y[here] - at
            weighted = apart * weights[here, None]
            cross += weighted.T @ np.subtract(X[here], gram.mean, dtype=np.float64)
            scatter += (weighted * apart).sum(axis=0)
    return gram._replace(cross=cross, target_mean=at, target_scatter=scatter)


def _sums_of_few(X: Array, y: Floats, root: Floats, p: Floats, q: float, hashes: Array) -> Floats:
    """M (d + 2, d + 2) by our own loop, upper triangle; the hashes of the columns on the way."""
    from assay.compiled.simd.vectors import LANE
    from assay.statistics.loops import TILE, add_products

    d = X.shape[1]
    padded = -(-(d + 2) // LANE) * LANE
    M = np.zeros((padded, padded))
    U, shift = fingerprint.bits(X)
    add_products(X, U, shift, y, root, p, q, np.zeros((TILE, padded)), M, hashes)
    return M[: d + 2, : d + 2]


def _sums_of_many(X: Array, y: Floats, root: Floats, p: Floats, q: float, hashes: Array) -> Floats:
    """The same by BLAS."""
    from assay.compiled.mixing import mix_rows

    (m, d), step = X.shape, tile_rows(X.shape[1])
    M, T = np.zeros((d + 2, d + 2)), np.ones((min(m, step), d + 2))
    U, shift = fingerprint.bits(X)
    for a in range(0, m, step):
        t = T[: min(step, m - a)]
        mix_rows(U[a : a + step], shift, a, hashes)
        np.subtract(X[a : a + step], p, out=t[:, :d])
        np.subtract(y[a : a + step], q, out=t[:, d])
        if len(root):
            t[:, d + 1] = 1.0
            t *= root[a : a + step, None]
        M += t.T @ t
    return M


def _about_mean(n: float, p: Floats, q: float, M: Floats) -> Gram:
    """Move the sums from the pivot to the means: S = M_xx − s sᵀ/n with s = Σw(x − p)."""
    d = len(p)
    sx, sy = M[:d, d + 1], float(M[d, d + 1])
    at, target_at = (sx / n, sy / n) if n > 0 else (np.zeros(d), 0.0)
    upper = np.triu(M[:d, :d], 1)
    S = upper + upper.T - np.outer(sx, at)
    np.fill_diagonal(S, np.maximum(M.diagonal()[:d] - sx * at, 0.0))  # np.maximum keeps NaN
    S = np.triu(S) + np.triu(S, 1).T  # sᵀs/n rounds differently on the two sides
    cross = M[:d, d] - at * sy
    left = np.maximum(M[d, d] - sy * target_at, 0.0)
    return Gram(np.array([n]), p + at, S, cross, np.array([q + target_at]), np.array([left]), b"")


def _finite(gram: Gram) -> bool:
    return all(bool(np.isfinite(part).all()) for part in gram[:-1])


def _refuse(block: Block, names: Sequence[str] | None) -> None:
    refuse_non_finite(block.X, block.start, names)
    refuse_heavy(block.w)
    assert block.y is not None
    top = float(np.abs(block.y.astype(np.float64)).max())
    if top * top * len(block.y) == np.inf:
        raise DataError(f"y holds values as large as {top:.3g}, whose squares overflow float64. Rescale it.")
    refuse_overflow(block.X, block.start, names)


def merge_gram(a: Gram, b: Gram) -> Gram:
    """The statistics of both stretches of rows together."""
    n = float(a.n[0] + b.n[0])
    share = float(b.n[0]) / n if n > 0 else 0.0
    weight = float(a.n[0]) * share  # n_a·n_b/n
    dx, dy = b.mean - a.mean, b.target_mean - a.target_mean
    with np.errstate(over="ignore", invalid="ignore"):
        merged = Gram(
            np.array([n]),
            a.mean + dx * share,
            a.scatter + b.scatter + np.outer(dx * weight, dx),
            a.cross + b.cross + (dx * (dy * weight) if a.cross.ndim == 1 else np.outer(dy * weight, dx)),
            a.target_mean + dy * share,
            a.target_scatter + b.target_scatter + dy * dy * weight,
            fingerprint.join(a.mark, b.mark),
        )
    if not _finite(merged):
        refuse_heavy(merged.n)
        raise DataError("The values are so large that their squares overflow float64. Rescale the columns.")
    return merged
