"""Nearest rows by nothing but NumPy: for few rows and queries, and what every other search is compared with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from assay.errors import DataError
from assay.families.neighbours.named_metrics import NamedMetric
from assay.numerics import Array, Floats

HAMMING = 0.0
NO_ROW = np.iinfo(np.int64).max
SHORT = 512  # so few are sorted rather than parted
PICKED = 8  # so few are picked one after another, which reads the distances so often and moves none
AT_A_TIME = 1 << 20  # reduced distances that are held at a time

MetricFunction = Callable[[Floats, Floats], Any]  # of a query and a row


@np.errstate(over="ignore")
def reduced_distances(Z: Floats, Q: Floats, norm: float | MetricFunction | NamedMetric) -> Floats:
    """r (m, n) of the queries Q (m, d) and the rows Z (n, d), each added up in the order of the columns, or by a function of the user's.

    >>> reduced_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[3.0, 0.0]]), 2.0)
    array([[ 9., 16.]])
    """
    if isinstance(norm, NamedMetric):
        return norm.distances(Z, Q)
    if callable(norm):
        return _by_function(norm, Z, Q)
    r = np.zeros((len(Q), len(Z)))
    for j in range(Z.shape[1]):
        if norm == HAMMING:
            r += Z[:, j] != Q[:, j, None]
            continue
        t = Z[:, j] - Q[:, j, None]
        if norm == 2.0:
            r += t * t
        elif norm == 1.0:
            r += np.abs(t)
        elif math.isinf(norm):
            np.maximum(r, np.abs(t), out=r)
        else:
            r += _powers(np.abs(t), norm)
    return r


def _by_function(function: MetricFunction, Z: Floats, Q: Floats) -> Floats:
    """A call for each query and row, which it may read and not write."""
    Z, Q = Z.view(), Q.view()
    Z.flags.writeable = Q.flags.writeable = False
    return np.array([[_distance(function(q, z), q, z) for z in Z] for q in Q], dtype=np.float64).reshape(len(Q), len(Z))


def _distance(value: Any, q: Floats, z: Floats) -> float:
    if isinstance(value, float | int | np.floating | np.integer) and 0 <= value < math.inf:
        return float(value)
    if np.ndim(value) == 0 and isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return _distance(value[()], q, z)
    told = repr(value) if isinstance(value, str) else str(value)
    raise DataError(
        f"The metric function returned {told[:60]} for the rows {q[:6].tolist()} and {z[:6].tolist()}: a distance is one number that is ≥ 0 "
        "and finite. For rows that must never be neighbours return a large one."
    )


def _powers(t: Floats, p: float) -> Floats:
    """t^p by the C library's pow, number by number, as compiled loops take it: NumPy's own differs in last bits."""
    return np.array([_power(x, p) for x in t.ravel().tolist()]).reshape(t.shape)


def _power(x: float, p: float) -> float:
    try:
        return math.pow(x, p)
    except OverflowError:
        return math.inf


def least(r: Floats, k: int) -> tuple[Floats, Array]:
    """The k least of each row of r (m, n) in the order of (r, column): their values and columns.

    >>> least(np.array([[2.0, 1.0, 1.0, 1.0]]), 2)
    (array([[1., 1.]]), array([[1, 2]]))
    """
    m, n = r.shape
    if k <= min(n, PICKED) and r.size and r.max() < np.inf:  # which also says that there is no NaN
        return _picked(r.copy(), k)
    if k >= n or n <= SHORT:
        order = np.argsort(r, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(r, order, axis=1), order
    bound = np.partition(r, k - 1, axis=1)[:, k - 1]
    values, columns = np.empty((m, k)), np.empty((m, k), dtype=np.int64)
    for i in range(m):
        near = np.flatnonzero(r[i] <= bound[i])
        near = near[np.argsort(r[i, near], kind="stable")[:k]]
        values[i], columns[i] = r[i, near], near
    return values, columns


def _picked(r: Floats, k: int) -> tuple[Floats, Array]:
    """`least` of finite r, which is used up: of equal ones argmin takes the first."""
    rows = np.arange(len(r))
    values, columns = np.empty((len(r), k)), np.empty((len(r), k), dtype=np.int64)
    for i in range(k):
        at = r.argmin(axis=1)
        values[:, i], columns[:, i] = r[rows, at], at
        r[rows, at] = np.inf
    return values, columns


def nearest(
    Z: Floats, Q: Floats, k: int, norm: float | MetricFunction | NamedMetric, without: Array | None = None
) -> tuple[Floats, Array]:
    """The k rows of Z nearest to each query: r (m, k) and row numbers (m, k). `without` (m,): a row that a query must not have, or −1.
    Where there are fewer rows: infinity, and a number above all."""
    step = max(1, AT_A_TIME // max(1, len(Z)))
    found = [
        _piece(Z, Q[a : a + step], k, norm, None if without is None else without[a : a + step])
        for a in range(0, len(Q), step)
    ]
    if not found:
        return np.empty((0, k)), np.empty((0, k), dtype=np.int64)
    r, index = (np.concatenate(parts) for parts in zip(*found))
    return r, index


def _piece(
    Z: Floats, Q: Floats, k: int, norm: float | MetricFunction | NamedMetric, without: Array | None
) -> tuple[Floats, Array]:
    r = reduced_distances(Z, Q, norm)
    if without is not None:
        own = np.flatnonzero(without >= 0)
        r[own, without[own]] = np.nan  # behind all rows, also behind those that are infinitely far
    r, index = least(r, k)
    nothing = np.isnan(r)
    r[nothing], index[nothing] = np.inf, NO_ROW
    return r, index


def within(Z: Floats, Q: Floats, r: Floats, norm: float | MetricFunction | NamedMetric) -> tuple[Array, Array, Floats]:
    """The rows of Z up to a reduced distance r (m,) of each query: start (m + 1,), row numbers and reduced distances, those of query i at
    start[i] … start[i + 1] − 1 in the order of (distance, number)."""
    step = max(1, AT_A_TIME // max(1, len(Z)))
    start, rows, found = [0], [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for a in range(0, len(Q), step):
        for one, most in zip(reduced_distances(Z, Q[a : a + step], norm), r[a : a + step]):
            near = np.flatnonzero(one <= most)
            near = near[np.argsort(one[near], kind="stable")]
            start.append(start[-1] + len(near))
            rows.append(near)
            found.append(one[near])
    return np.array(start), np.concatenate(rows), np.concatenate(found)
