"""The statistics of normal densities: weight and mean of every class, and its scatter matrix or the squared deviations of its columns alone.

    n_k = Σ w      m_k = Σ w x / n_k      S_k = Σ w (x − m_k)(x − m_k)ᵀ        over the rows of class k

A block's rows are gathered class by class in pieces that stay in cache, taken about a pivot and multiplied by BLAS (syrk).
The pivot is the column medians of the class's first heavy rows: near the mean, and exact where a column never varies.
Blocks are merged by the pairwise formula of Chan, Golub and LeVeque (1979). Where they are asked for (Ledoit-Wolf
shrinkage needs them), the moments Σ w u_j² u_l and Σ w u_j² u_l² with u = x − m_k are carried in the same way.

Without covariances (`ClassMoments`) a block is summed about a pivot p, the first of its heaviest rows in the class. If M = Σw(x − mean)² then
w_max·(p − mean)² ≤ M, so that the sums about the pivot are at most (m + 1)·M for m rows and no more than log₁₀ m digits cancel, whatever the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, fingerprint
from assay.engines.fingerprint import bits
from assay.inputs import refuse_non_finite, refuse_overflow
from assay.inputs.labels import Labels
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats

PIECE = 1 << 15  # numbers gathered at a time: a quarter of a megabyte
PIVOT_ROWS = 33
NO_WEIGHTS = np.empty(0)
LEAST = 2.0**-960  # sums of squares below it have lost digits to underflow
SMALLEST = float(np.finfo(np.float64).tiny)


class ClassScatter(NamedTuple):
    """class_count (K,), mean (K, d), scatter (K, d, d); third and fourth (K, d, d) or None; the rows' fingerprint."""

    class_count: Floats
    mean: Floats
    scatter: Floats
    third: Floats | None = None
    fourth: Floats | None = None
    mark: bytes = b""


class ScatterSums(NamedTuple):
    """Moments of one class about a point: n, Σ w u (d,), Σ w u uᵀ, Σ w u_j² u_l, Σ w u_j² u_l² (d, d)."""

    n: float
    s1: Floats
    s2: Floats
    s3: Floats | None
    s4: Floats | None


def absorb_scatter(labels: Labels, names: Any, high: bool, block: Block) -> ClassScatter:
    """The statistics of a block; `high` asks for the third and fourth moments too."""
    assert block.y is not None
    codes = labels.encode(block.y)
    K, d = len(labels.classes), block.X.shape[1]
    n, mean, scatter = np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d))
    third, fourth = (np.zeros((K, d, d)), np.zeros((K, d, d))) if high else (None, None)
    with np.errstate(over="ignore", invalid="ignore"):
        for k, rows in _rows_of_classes(codes, block.w, K):
            pivot = median_row(block.X, rows if block.w is None else rows[block.w[rows] >= block.w[rows].max() / 2])
            sums = _about(block.X, block.w, rows, pivot, high)
            shift = sums.s1 / sums.n
            n[k], mean[k], scatter[k] = sums.n, pivot + shift, _about_mean(sums)
            if third is not None and fourth is not None:
                third[k], fourth[k] = _shifted(sums, -shift)
    if not all(np.isfinite(a).all() for a in (n, mean, scatter, fourth) if a is not None):
        refuse_non_finite(block.X, block.start, names)
        refuse_heavy(block.w)
        refuse_overflow(block.X, block.start, names)
    hashes = fingerprint.column_hashes(block.X)
    mark = fingerprint.leaf(hashes, block.X, codes, block.w)
    return ClassScatter(n, mean, scatter, third, fourth, mark)


def _rows_of_classes(codes: Array, w: Array | None, K: int) -> Iterator[tuple[int, Array]]:
    """Each class that occurs with the numbers of its rows; a row of weight zero is no row."""
    order = np.argsort(codes.astype(np.min_scalar_type(K)), kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=K))
    for k, (start, stop) in enumerate(zip([0, *ends[:-1]], ends)):
        rows = order[start:stop]
        if w is not None:
            rows = rows[w[rows] > 0]
        if len(rows):
            yield k, rows


def median_row(X: Array, rows: Array) -> Floats:
    """The medians of the columns in the first of these rows: exact where a column never varies, zero where it is mostly zeros."""
    first = np.sort(X[rows[:PIVOT_ROWS]].astype(np.float64), axis=0)
    middle = first[len(first) // 2]
    return np.where(np.isfinite(middle), middle, 0.0)


def _about(X: Array, w: Array | None, rows: Array, pivot: Floats, high: bool) -> ScatterSums:
    """The sums of one class's rows about its pivot."""
    d = X.shape[1]
    step = max(64, PIECE // d)
    n, s1, s2 = 0.0, np.zeros(d), np.zeros((d, d))
    s3, s4 = (np.zeros((d, d)), np.zeros((d, d))) if high else (None, None)
    buffer, ones = np.empty((min(step, len(rows)), d)), np.ones(min(step, len(rows)))
    for a in range(0, len(rows), step):
        piece = rows[a : a + step]
        u = buffer[: len(piece)]
        if X.dtype == u.dtype:
            X.take(piece, axis=0, out=u, mode="clip")  # the mode only because NumPy buffers `out` otherwise
            u -= pivot
        else:
            np.subtract(X.take(piece, axis=0), pivot, out=u)
        weight = ones[: len(piece)] if w is None else w[piece]
        n += float(weight.sum())
        s1 += weight @ u
        if s3 is not None and s4 is not None:
            q = u * u
            s3 += q.T @ (weight[:, None] * u)
            s4 += q.T @ (weight[:, None] * q)
        if w is not None:
            u *= np.sqrt(weight)[:, None]  # so that the product below stays a matrix times its own transpose
        s2 += u.T @ u
    return ScatterSums(n, s1, s2, s3, s4)


def _about_mean(m: ScatterSums) -> Floats:
    r = m.s1 / np.sqrt(m.n)
    S: Floats = m.s2 - np.outer(r, r)
    diagonal = np.diag_indices(len(S))
    S[diagonal] = np.maximum(S[diagonal], 0.0)  # np.maximum keeps NaN, which tells of values that are not finite
    return S


def _shifted(m: ScatterSums, t: Floats) -> tuple[Floats, Floats]:
    """Σ w (u+t)_j² (u+t)_l and Σ w (u+t)_j² (u+t)_l² from the sums of u."""
    assert m.s3 is not None
    assert m.s4 is not None
    v, tt, t2 = np.diag(m.s2), np.outer(t, t), t * t
    third = m.s3 + np.outer(v, t) + 2 * t[:, None] * m.s2
    third += 2 * tt * m.s1[:, None] + np.outer(t2, m.s1 + m.n * t)
    cross = 2 * m.s3 * t + np.outer(v, t2) + 2 * np.outer(t * m.s1, t2)
    return third, m.s4 + cross + cross.T + 4 * tt * m.s2 + m.n * np.outer(t2, t2)


def merge_scatter(a: ClassScatter, b: ClassScatter) -> ClassScatter:
    """The statistics of both together: S = S_a + S_b + (n_a n_b / n) δ δᵀ with δ = m_b − m_a."""
    n = a.class_count + b.class_count
    share = np.divide(b.class_count, n, out=np.zeros_like(n), where=n > 0)
    both = (a.class_count > 0) & (b.class_count > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        delta = np.where(both[:, None], b.mean - a.mean, 0.0)
        mean = np.where(a.class_count[:, None] > 0, a.mean + delta * share[:, None], b.mean)
        r = delta * np.sqrt(a.class_count * share)[:, None]
        scatter = a.scatter + b.scatter + r[:, :, None] * r[:, None, :]
        third, fourth = _merged_high(a, b, delta, share)
    return ClassScatter(n, mean, scatter, third, fourth, fingerprint.join(a.mark, b.mark))


def _merged_high(a: ClassScatter, b: ClassScatter, delta: Floats, share: Floats) -> tuple[Any, Any]:
    if a.third is None or a.fourth is None or b.third is None or b.fourth is None:
        return None, None
    third, fourth = np.empty_like(a.third), np.empty_like(a.fourth)
    zero = np.zeros(a.mean.shape[1])
    for k in range(len(third)):
        left = ScatterSums(float(a.class_count[k]), zero, a.scatter[k], a.third[k], a.fourth[k])
        right = ScatterSums(float(b.class_count[k]), zero, b.scatter[k], b.third[k], b.fourth[k])
        of_left = _shifted(left, -delta[k] * share[k])
        of_right = _shifted(right, delta[k] * (1 - share[k]))
        third[k], fourth[k] = of_left[0] + of_right[0], of_left[1] + of_right[1]
    return third, fourth


class ClassMoments(NamedTuple):
    """n (K, d): weight of the values present; mean (K, d); m2 (K, d): Σ w (x − mean)².

    m2 is zero where the values are all the same, and above zero, if below `LEAST`, where squares of what they differ by underflow.
    """

    n: Floats
    mean: Floats
    m2: Floats


def absorb_moments(X: Array, codes: Array, w: Array | None, K: int) -> tuple[ClassMoments, Floats, Array]:
    """The moments of a block, the weight of each class (K,), and the hashes of its columns.

    Values that are not finite make the second moments so; the caller decides what to do then.
    """
    from assay.statistics.loops import add_moments, add_weighted_moments, heaviest_of_each_class

    d = X.shape[1]
    weights = NO_WEIGHTS if w is None else w
    pivot = np.zeros((K, d))
    heaviest_of_each_class(X, codes, weights, pivot)
    weight, s1, s2, h = np.zeros(K), np.zeros((K, d)), np.zeros((K, d)), np.zeros(d, dtype=np.uint64)
    U, shift = bits(X)
    if w is None:
        add_moments(X, U, shift, codes, pivot, weight, s1, s2, h)
    else:
        add_weighted_moments(X, U, shift, codes, w, pivot, weight, s1, s2, h)
    n = np.repeat(weight[:, None], d, axis=1)
    return _about_class_mean(n, pivot, s1, s2), weight, h


def absorb_present(X: Array, codes: Array, w: Array | None, K: int) -> ClassMoments:
    """The moments of a block over the values that are not missing."""
    from assay.statistics.loops import add_moments_where_present

    d = X.shape[1]
    pivot = np.zeros((K, d))
    order = np.arange(len(X)) if w is None else np.argsort(-w, kind="stable")[: np.count_nonzero(w)]
    for j in range(d):  # each column has its own first present value of the heaviest rows
        rows = order[~np.isnan(X[order, j])]
        present, at = np.unique(codes[rows], return_index=True)
        pivot[present, j] = X[rows[at], j]
    n, s1, s2 = np.zeros((K, d)), np.zeros((K, d)), np.zeros((K, d))
    add_moments_where_present(X, codes, NO_WEIGHTS if w is None else w, pivot, n, s1, s2)
    return _about_class_mean(n, pivot, s1, s2)


def _about_class_mean(n: Floats, pivot: Floats, s1: Floats, s2: Floats) -> ClassMoments:
    with np.errstate(invalid="ignore", over="ignore"):
        shift = np.divide(s1, n, out=np.zeros_like(s1), where=n > 0)
        m2 = np.maximum(s2 - s1 * shift, 0.0)  # np.maximum keeps NaN, which tells of values that are not finite
    return ClassMoments(n, pivot + shift, _above_zero(m2, s1 != 0))


def _above_zero(m2: Floats, differ: Array) -> Floats:
    return np.where((m2 < SMALLEST) & differ, SMALLEST, m2)


def merge_moments(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    """The moments of both together."""
    n = a.n + b.n
    share = np.divide(b.n, n, out=np.zeros_like(n), where=n > 0)
    delta = np.where((a.n > 0) & (b.n > 0), b.mean - a.mean, 0.0)  # the mean of no rows means nothing
    mean = np.where(a.n > 0, a.mean + delta * share, b.mean)
    m2 = a.m2 + b.m2 + delta * delta * (a.n * share)
    return ClassMoments(n, mean, _above_zero(m2, delta != 0))
