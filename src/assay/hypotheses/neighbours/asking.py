"""Questions that do not need a target: who is near, and how far."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import Block
from assay.engines.rows import cut
from assay.errors import DataError, ParameterError
from assay.hypotheses.neighbours.neighbourhood import Neighbourhood
from assay.inputs import refuse_non_finite
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

AT_A_TIME = 1 << 14  # queries whose lists are held at a time


class Asking:
    """`kneighbors`, `radius_neighbors` and their graphs, of a model with a `_hood`."""

    def neighbourhood(self) -> Neighbourhood:
        raise NotImplementedError

    def _query_blocks(self, X: Any) -> Iterator[tuple[Block, Array | None]]:
        """Blocks of queries; of the rows of the fit themselves (X=None) with their numbers."""
        raise NotImplementedError

    def _usual_neighbors(self) -> int:
        raise NotImplementedError

    def _mapped(self, block: Block, names: Any = None) -> Floats:
        if not np.isfinite(block.X).all():
            refuse_non_finite(block.X, block.start, names)
        return self.neighbourhood().geometry.rows(block.X)

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest rows of the fit to each row of X: distances and row numbers, (m, k) each, by (distance, row number).

        Without X the queries are the rows of the fit, none of which is its own neighbour.
        """
        hood = self.neighbourhood()
        k = self._usual_neighbors() if n_neighbors is None else _whole(n_neighbors)
        _check_rows(k, hood.size - (X is None))
        found = []
        for block, own in self._query_blocks(X):
            for piece in cut(block, AT_A_TIME):
                mine = None if own is None else own[piece.start - block.start :][: len(piece.X)]
                found.append(hood.nearest(self._mapped(piece), k, mine))
        r, rows = (np.concatenate(parts) for parts in zip(*found)) if found else hood.nearest(np.empty((0, 1)), k)
        return (hood.geometry.distances(r, hood.columns), rows) if return_distance else rows

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = True
    ) -> Any:
        """The rows of the fit up to a distance of each row of X: an array of distances and one of row numbers for each, by
        (distance, row number). `sort_results` is accepted for scikit-learn's sake: results are always sorted."""
        hood = self.neighbourhood()
        start, rows, far = self._within(X, radius)
        ends = list(pairwise(start.tolist()))
        distances, numbers = np.empty(len(ends), dtype=object), np.empty(len(ends), dtype=object)
        for i, (a, b) in enumerate(ends):
            distances[i], numbers[i] = hood.geometry.distances(far[a:b], hood.columns), rows[a:b]
        return (distances, numbers) if return_distance else numbers

    def _within(self, X: Any, radius: float | None) -> tuple[Array, Array, Floats]:
        hood = self.neighbourhood()
        radius = getattr(self, "radius", 1.0) if radius is None else radius
        if not (isinstance(radius, float | int | np.number) and radius >= 0):
            raise ParameterError(f"radius={radius!r} is not possible: it must be a number ≥ 0.")
        most = hood.geometry.reduced(float(radius), hood.columns)
        starts, rows, far, held = [np.zeros(1, dtype=np.int64)], [], [], 0
        for block, own in self._query_blocks(X):
            for piece in cut(block, AT_A_TIME):
                start, near, r = hood.within(self._mapped(piece), np.full(len(piece.X), most))
                if own is not None:
                    query = np.repeat(np.arange(len(piece.X)), np.diff(start))
                    others = near != own[piece.start - block.start :][: len(piece.X)][query]
                    near, r = near[others], r[others]
                    start = np.concatenate([[0], np.cumsum(np.bincount(query[others], minlength=len(piece.X)))])
                starts.append(start[1:] + held)
                held += len(near)
                rows.append(near)
                far.append(r)
        if not rows:
            return starts[0], np.empty(0, dtype=np.int64), np.empty(0)
        return np.concatenate(starts), np.concatenate(rows), np.concatenate(far)

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> csr_matrix:
        """The nearest rows as a sparse matrix (m, n): ones, or distances with mode="distance"."""
        _check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        m, k = rows.shape
        values = np.ones(m * k) if mode == "connectivity" else distances.ravel()
        return self._graph(values, rows.ravel(), np.arange(0, m * k + 1, k))

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity"
    ) -> csr_matrix:
        """The rows up to a distance as a sparse matrix (m, n): ones, or distances with mode="distance"."""
        _check_mode(mode)
        hood = self.neighbourhood()
        start, rows, far = self._within(X, radius)
        values = np.ones(len(rows)) if mode == "connectivity" else hood.geometry.distances(far, hood.columns)
        return self._graph(values, rows, start)

    def _graph(self, values: Floats, rows: Array, start: Array) -> csr_matrix:
        from scipy.sparse import csr_matrix

        return csr_matrix((values, rows, start), shape=(len(start) - 1, self._rows_of_fit()))

    def _rows_of_fit(self) -> int:
        raise NotImplementedError


def _whole(k: Any) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"n_neighbors={k!r} is not possible: it must be a whole number ≥ 1.")
    return int(k)


def _check_rows(k: int, n: int) -> None:
    if k > n:
        raise DataError(
            f"Expected n_neighbors <= n_samples_fit: {k} neighbours are asked for, and there are {n} rows to choose from."
        )


def _check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ParameterError(f"mode={mode!r} is not possible: it must be 'connectivity' or 'distance'.")
