"""How well a map lets rows be told by their soft neighbours, each left out in turn (Goldberger and others 2004).

    a = Lᵀx,   p_ij = w_j exp(−‖a_i − a_j‖²) / Σ_{l ≠ i} w_l exp(−‖a_i − a_l‖²),   F(L) = Σ_i w_i Σ_{j ≠ i, y_j = y_i} p_ij / Σ_i w_i

F is the chance that a row is named rightly by a neighbour drawn with p. A row never asks itself, whatever its weight: weight 3 is a row that counts
for three as a query and for three as a neighbour of others, not three rows that could ask each other. With m_ij = w_i p_ij ([y_j = y_i] − p_i), whose rows add up to zero,

    ∂F/∂L = 2 [ Xᵀ(M + Mᵀ)X − Xᵀ diag(c) X ] L,   c_j = Σ_i m_ij

Either XᵀMX is added up (d × d), or for maps to few columns MA + MᵀA (n × r). All in float64; memory is a few rows of all pairs for each worker. Rows are taken
ROWS at a time and their sums added in order, so the bits do not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines.blas import one_thread_blas
from assay.engines.threads import Threads
from assay.loops.neighbours.soft import soft_rows
from assay.numerics import Array, Floats

ROWS = 256  # of a task
TILE = 64  # rows whose pairs with all rows are in memory at a time: for some thousand rows they stay in a core's cache


class Sorted(NamedTuple):
    """Rows X (n, d) sorted by class, weights w (n,) that add up to one, and from where to where each row's own class goes."""

    X: Floats
    w: Floats
    low: Array
    high: Array


class Mapped(NamedTuple):
    """The rows mapped: A (n, r), and `scores` (r + 1, n), the columns of A over ‖a_j‖²."""

    A: Floats
    scores: Floats


def sorted_rows(X: Floats, codes: Array, w: Floats | None) -> Sorted:
    """The rows centred and sorted by class (in their order within one), without those of weight zero."""
    w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
    order = np.argsort(codes, kind="stable")
    order = order[w[order] > 0]
    X, codes, w = np.ascontiguousarray(X, dtype=np.float64)[order], np.asarray(codes)[order], w[order]
    w = w / w.sum()
    X = X - (w[:, None] * X).sum(axis=0)
    return Sorted(X, w, np.searchsorted(codes, codes, "left"), np.searchsorted(codes, codes, "right"))


def value(rows: Sorted, L: Floats, workers: Threads) -> float:
    """F(L)."""
    with one_thread_blas():
        mapped = _mapped(rows.X, L)
        if mapped is None:
            return np.nan
        return float(sum(workers.map(partial(_value, rows, mapped), range(0, len(rows.X), ROWS))))


def value_and_gradient(rows: Sorted, L: Floats, workers: Threads) -> tuple[float, Floats]:
    """F(L) and ∂F/∂L (d, r); NaN where the mapped rows are too far apart for numbers."""
    n, (d, r) = len(rows.X), L.shape
    narrow = 2 * r < d
    with one_thread_blas():
        mapped = _mapped(rows.X, L)
        if mapped is None:
            return np.nan, np.full_like(L, np.nan)
        total, c, S = 0.0, np.zeros(n), np.zeros((n, r) if narrow else (d, d))
        for part in workers.map(partial(_narrow if narrow else _wide, rows, mapped), range(0, n, ROWS)):
            total += part[0]
            c += part[1]
            S += part[2]
        if narrow:
            return total, 2.0 * (rows.X.T @ (S - c[:, None] * mapped.A))
        return total, 2.0 * ((S + S.T) @ L - rows.X.T @ (c[:, None] * mapped.A))


def _mapped(X: Floats, L: Floats) -> Mapped | None:
    with np.errstate(over="ignore", invalid="ignore"):
        A = X @ L
        scores = np.vstack([A.T, (A * A).sum(axis=1)])
    return Mapped(A, scores) if np.isfinite(scores).all() else None


def _value(rows: Sorted, mapped: Mapped, first: int) -> float:
    total = 0.0
    for start, G in _tiles(mapped, first):
        total += soft_rows(G, start, rows.w, rows.low, rows.high, np.empty(0))
    return total


def _wide(rows: Sorted, mapped: Mapped, first: int) -> tuple[float, Floats, Floats]:
    """Of ROWS rows: their part of F, of c and of XᵀMX."""
    n, d = rows.X.shape
    total, c, S = 0.0, np.zeros(n), np.zeros((d, d))
    for start, G in _tiles(mapped, first):
        total += soft_rows(G, start, rows.w, rows.low, rows.high, c)
        S += rows.X[start : start + len(G)].T @ (G @ rows.X)
    return total, c, S


def _narrow(rows: Sorted, mapped: Mapped, first: int) -> tuple[float, Floats, Floats]:
    """Of ROWS rows: their part of F, of c and of MA + MᵀA."""
    n, A = len(rows.X), mapped.A
    total, c, S = 0.0, np.zeros(n), np.zeros_like(A)
    for start, G in _tiles(mapped, first):
        total += soft_rows(G, start, rows.w, rows.low, rows.high, c)
        S[start : start + len(G)] += G @ A
        S += G.T @ A[start : start + len(G)]
    return total, c, S


def _tiles(mapped: Mapped, first: int) -> Iterator[tuple[int, Floats]]:
    """(start, G): g_ij = 2a_i·a_j − ‖a_j‖², which is −‖a_i − a_j‖² but for what row i has in common, of TILE rows at a time."""
    n, r = mapped.A.shape
    stop = min(n, first + ROWS)
    room = np.empty((min(TILE, stop - first), n))
    for start in range(first, stop, TILE):
        m = min(TILE, stop - start)
        left = np.empty((m, r + 1))
        np.multiply(mapped.A[start : start + m], 2.0, out=left[:, :r])
        left[:, r] = -1.0
        yield start, np.dot(left, mapped.scores, out=room[:m])
