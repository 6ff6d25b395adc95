"""Nearest rows by whichever search is the fastest here: NumPy alone, the k-d tree, or brute force.

All give the same rows and the same bits, so that the choice may be made by a clock: both searches answer some of the queries, and
the faster one answers the rest, and later ones for as many neighbours.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from assay.engines.engine import Threads
from assay.errors import DataError
from assay.families.neighbours.named_metrics import NamedMetric
from assay.numerics import Array, Floats

HAMMING = 0.0
NO_ROW = np.iinfo(np.int64).max
SHORT = 512  # so few are sorted rather than parted
PICKED = 8  # so few are picked one after another, which reads the distances so often and moves none
AT_A_TIME = 1 << 20  # reduced distances that are held at a time

MetricFunction = Callable[[Floats, Floats], Any]  # of a query and a row
FEW = 1 << 22  # differences that NumPy takes before the compiler could be loaded
FEW_LOADED = 1 << 15  # and where it is loaded already: 200 rows and 9000 queries take it 4 ms, NumPy 70
LOOPS = ("assay.families.neighbours.loops.kdtree_query", "assay.families.neighbours.loops.brute")
TRIED = 256  # queries that both searches answer before one is chosen
PROBE = 1 << 22  # numbers of a sample of the rows on which a tree may show that it is hopeless
HOPELESS = 8.0  # so many times slower on the sample: building it for all rows is not tried


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


class NeighbourSearch:
    """Rows Z (n, d), float64 and finite, queried under a norm; `algorithm`: "auto", "brute", or a tree ("kd_tree", "ball_tree"); `own`: a distance in place of the norm,
    for which nothing is known that would spare a pair of rows."""

    def __init__(
        self,
        Z: Floats,
        norm: float,
        workers: Threads,
        algorithm: str = "auto",
        own: MetricFunction | NamedMetric | None = None,
    ) -> None:
        self.Z, self.norm, self.workers, self.algorithm = np.ascontiguousarray(Z), norm, workers, algorithm
        self._measure = norm if own is None else own
        self._faster: dict[int, str] = {}

    @cached_property
    def tree(self) -> Any:
        """The k-d tree of all rows."""
        from assay.families.neighbours.kdtree import BoxTree

        return BoxTree(self.Z, self.workers, self.norm)

    @cached_property
    def brute(self) -> Any:
        """All rows, ready to be compared one by one."""
        from assay.families.neighbours.brute import Brute

        return Brute(self.Z, self.workers, self.norm)

    def use(self, workers: Threads) -> None:
        """Search on these threads from now on."""
        self.workers = workers
        for made in ("tree", "brute"):
            if made in vars(self):
                vars(self)[made].workers = workers

    def nearest(self, Q: Floats, k: int, without: Array | None = None) -> tuple[Floats, Array]:
        """The k nearest rows of each query: reduced distances and row numbers, (m, k) each. `without` (m,): a row that a query must
        not have, −1: none."""
        if self._are_few(len(Q)):
            return nearest(self.Z, Q, k, self._measure, without)
        found: tuple[Floats, Array] = self._chosen(Q, k).nearest(Q, k, without)
        return found

    def within(self, Q: Floats, r: Floats) -> tuple[Array, Array, Floats]:
        """The rows up to a reduced distance r (m,) of each query: start (m + 1,), row numbers and reduced distances by (distance, number)."""
        if self._are_few(len(Q)):
            return within(self.Z, Q, r, self._measure)
        found: tuple[Array, Array, Floats] = self._chosen(Q, 1).within(Q, r)
        return found

    def count(self, Q: Floats, r: Floats) -> Array:
        """How many rows `within` gives."""
        if self._are_few(len(Q)):
            return np.diff(within(self.Z, Q, r, self._measure)[0])
        found: Array = self._chosen(Q, 1).count(Q, r)
        return found

    def _are_few(self, m: int) -> bool:
        if not isinstance(self._measure, float):
            return True
        loaded = all(name in sys.modules for name in LOOPS)
        return m * self.Z.size <= (min(FEW, FEW_LOADED) if loaded else FEW)

    def _chosen(self, Q: Floats, k: int) -> Any:
        """The search that answers these queries."""
        if self.norm == HAMMING or (0 < self.norm < 1):  # a box says nothing of how many columns differ
            return self.brute
        if self.algorithm != "auto":
            return self.brute if self.algorithm == "brute" else self.tree
        about = k.bit_length()
        if about not in self._faster:
            if self._is_soon_done(len(Q)):
                return self.brute
            self._faster[about] = "tree" if self._tree_pays(Q, k) else "brute"
        return self.tree if self._faster[about] == "tree" else self.brute

    def _is_soon_done(self, m: int) -> bool:
        """Whether comparing with every row takes no longer than building a tree, by what both take a number."""
        n, d = self.Z.shape
        return "tree" not in vars(self) and m * (2 + d / 8) < 20 * math.log2(n + 1) * (1 + d / 8)

    def _tree_pays(self, Q: Floats, k: int) -> bool:
        some = Q[:: max(1, len(Q) // TRIED)][:TRIED]
        if "tree" not in vars(self) and self.Z.size > PROBE:
            part = self.Z[:: -(-self.Z.size // PROBE)]
            sample = NeighbourSearch(part, self.norm, self.workers)
            if k <= len(part) and sample._seconds("tree", some, k) > HOPELESS * sample._seconds("brute", some, k):
                return False
        return self._seconds("tree", some, k) < self._seconds("brute", some, k)

    def _seconds(self, which: str, Q: Floats, k: int) -> float:
        search = getattr(self, which)
        search.nearest(Q[:1], k)  # compiled, built, and in the cache
        start = perf_counter()
        search.nearest(Q, k)
        return perf_counter() - start

    def __getstate__(self) -> dict[str, Any]:
        return {**{k: v for k, v in vars(self).items() if k not in ("tree", "brute")}, "_faster": {}}
