"""The rows of a fit as they are asked: mapped by the metric, without those of weight zero, in memory or in parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.engines import Engine, Rows
from assay.engines.threads import Threads
from assay.errors import DataError
from assay.neighbours.geometry import Geometry
from assay.neighbours.parts import PartsSearch
from assay.neighbours.search import Search
from assay.neighbours.votes import Voters, first_votes, nearer_more
from assay.numerics import Array, Floats


@dataclass
class Neighbourhood:
    """`numbers`: of the rows that are searched, where some have weight zero; `weights` (n,) of all rows, None: 1 each; `size`: rows searched."""

    geometry: Geometry
    search: Search | PartsSearch
    columns: int
    size: int
    numbers: Array | None = None
    weights: Floats | None = None

    @property
    def total(self) -> float:
        """The votes of all rows."""
        return float(self.size if self.weights is None else self.weights.sum())

    def nearest(self, Z: Floats, k: int, without: Array | None = None) -> tuple[Floats, Array]:
        """The k nearest rows of mapped queries: reduced distances and numbers in the table of the fit."""
        if not len(Z):
            return np.empty((0, k)), np.empty((0, k), dtype=np.int64)
        if without is not None and self.numbers is not None:
            at = np.minimum(np.searchsorted(self.numbers, without), len(self.numbers) - 1)
            without = np.where(self.numbers[at] == without, at, -1)
        r, rows = self.search.nearest(Z, k, without)
        return r, rows if self.numbers is None else self.numbers[rows]

    def within(self, Z: Floats, r: Floats) -> tuple[Array, Array, Floats]:
        """The rows up to a reduced distance of each mapped query: start (m + 1,), numbers and reduced distances."""
        start, rows, far = self.search.within(Z, r)
        return start, rows if self.numbers is None else self.numbers[rows], far

    def listed(self, Z: Floats, k: int, own: Array | None = None) -> tuple[Floats, Array, Floats]:
        """The rows nearest to each mapped query, as many as have k votes: reduced distances, numbers and weights, (m, some) each.

        `own` (m,): the queries are these rows of the fit, and each leaves one vote of its own out.
        """
        if self.weights is None:
            r, rows = self.nearest(Z, k, own)
            return r, rows, np.ones(r.shape)
        few = min(self.size, k + 1)
        while True:
            r, rows = self.nearest(Z, few)
            w = self.weights[rows]
            if own is not None:
                w = np.where(rows == own[:, None], np.maximum(w - 1.0, 0.0), w)
            if few == self.size or bool(np.all(w.sum(axis=1) >= k)):
                break
            few = min(self.size, 2 * few)
        if own is not None:  # those that are left out altogether go to the end
            order = np.argsort(w == 0, axis=1, kind="stable")
            r, rows, w = (np.take_along_axis(a, order, axis=1) for a in (r, rows, w))
        return r, rows, w

    def factors(self, r: Floats, w: Floats, by_distance: bool) -> Floats:
        """What a vote of each listed row counts; 0 where it has none."""
        if not by_distance:
            return np.ones(r.shape)
        return nearer_more(self.geometry.distances(r, self.columns), w > 0)

    def voters(self, Z: Floats, k: int, by_distance: bool, own: Array | None = None) -> Voters:
        """Who answers each mapped query, and with how many votes."""
        r, rows, w = self.listed(Z, k, own)
        return Voters(r, rows, first_votes(w, k) * self.factors(r, w, by_distance))

    def check(self, k: float) -> None:
        """Raise where there are not as many votes."""
        if k > self.total:
            what = "rows" if self.weights is None else "votes (the sample weights' sum)"
            raise DataError(
                f"{k:g} neighbours are asked for, and the fit has {self.total:g} {what} (n_samples = {self.size}): "
                "use a smaller n_neighbors" + ("." if self.weights is None else ", or multiply the weights.")
            )


def neighbourhood_in_memory(
    X: Floats, w: Floats | None, geometry: Geometry, workers: Threads, algorithm: str
) -> Neighbourhood:
    """Of rows in memory."""
    numbers = None if w is None or w.all() else np.flatnonzero(w > 0)
    Z = geometry.rows(X if numbers is None else X[numbers])
    return Neighbourhood(
        geometry, Search(Z, geometry.norm, workers, algorithm), Z.shape[1], len(Z), numbers, _uneven(w)
    )


def neighbourhood_in_parts(
    rows: Rows, n: int, w: Floats | None, engine: Engine, geometry: Geometry, algorithm: str
) -> Neighbourhood:
    """Of rows that are read in parts, wherever they lie."""
    search = PartsSearch(rows, engine, geometry, algorithm)
    columns = rows.n_columns if geometry.map is None else geometry.map.shape[1]
    return Neighbourhood(geometry, search, columns, n if w is None else int((w > 0).sum()), None, _uneven(w))


def _uneven(w: Floats | None) -> Floats | None:
    """Weights that are not all 1 (or 0, which is no row)."""
    return None if w is None or bool(np.all((w == 1) | (w == 0))) else w
