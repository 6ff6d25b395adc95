"""Nearest rows by whichever search is the fastest here: NumPy alone, the k-d tree, or brute force.

All give the same rows and the same bits, so that the choice may be made by a clock: both searches answer some of the queries, and
the faster one answers the rest, and later ones for as many neighbours.
"""

from __future__ import annotations

import math
import sys
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from assay.engines.threads import Threads
from assay.families.neighbours import plain
from assay.families.neighbours.plain import HAMMING, MetricFunction
from assay.numerics import Array, Floats

FEW = 1 << 22  # differences that NumPy takes before the compiler could be loaded
FEW_LOADED = 1 << 15  # and where it is loaded already: 200 rows and 9000 queries take it 4 ms, NumPy 70
LOOPS = ("assay.families.neighbours.loops.kdtree_query", "assay.families.neighbours.loops.brute")
TRIED = 256  # queries that both searches answer before one is chosen
PROBE = 1 << 22  # numbers of a sample of the rows on which a tree may show that it is hopeless
HOPELESS = 8.0  # so many times slower on the sample: building it for all rows is not tried


class NeighbourSearch:
    """Rows Z (n, d), float64 and finite, queried under a norm; `algorithm`: "auto", "kd_tree" or "brute"; `own`: a function in place of the norm,
    for which nothing is known that would spare a pair of rows."""

    def __init__(
        self, Z: Floats, norm: float, workers: Threads, algorithm: str = "auto", own: MetricFunction | None = None
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
            return plain.nearest(self.Z, Q, k, self._measure, without)
        found: tuple[Floats, Array] = self._chosen(Q, k).nearest(Q, k, without)
        return found

    def within(self, Q: Floats, r: Floats) -> tuple[Array, Array, Floats]:
        """The rows up to a reduced distance r (m,) of each query: start (m + 1,), row numbers and reduced distances by (distance, number)."""
        if self._are_few(len(Q)):
            return plain.within(self.Z, Q, r, self._measure)
        found: tuple[Array, Array, Floats] = self._chosen(Q, 1).within(Q, r)
        return found

    def count(self, Q: Floats, r: Floats) -> Array:
        """How many rows `within` gives."""
        if self._are_few(len(Q)):
            return np.diff(plain.within(self.Z, Q, r, self._measure)[0])
        found: Array = self._chosen(Q, 1).count(Q, r)
        return found

    def _are_few(self, m: int) -> bool:
        if callable(self._measure):
            return True
        loaded = all(name in sys.modules for name in LOOPS)
        return m * self.Z.size <= (min(FEW, FEW_LOADED) if loaded else FEW)

    def _chosen(self, Q: Floats, k: int) -> Any:
        """The search that answers these queries."""
        if self.norm == HAMMING or (0 < self.norm < 1):  # a box says nothing of how many columns differ
            return self.brute
        if self.algorithm in ("kd_tree", "brute"):
            return self.tree if self.algorithm == "kd_tree" else self.brute
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
