"""Nearest rows where the rows lie in parts, in a file or on a cluster: each part answers for itself, and the answers are merged.

Parts come in the order of their rows, so that a stable sort by distance leaves rows that are equally far in the order of their numbers: the
same rows and bits as in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from assay.engines import Engine, Part, Rows
from assay.engines.threads import Threads
from assay.neighbours.geometry import Geometry
from assay.neighbours.plain import NO_ROW
from assay.neighbours.search import Search
from assay.numerics import Array, Floats


class PartsSearch:
    """Rows in parts, of which those of weight zero are none, asked as `Search` is."""

    def __init__(self, rows: Rows, engine: Engine, geometry: Geometry, algorithm: str = "auto") -> None:
        self.rows, self.engine, self.geometry, self.algorithm = rows, engine, geometry, algorithm

    def nearest(self, Q: Floats, k: int, without: Array | None = None) -> tuple[Floats, Array]:
        """As `Search.nearest`, with the rows' numbers in the whole table."""
        own = np.full(len(Q), -1, dtype=np.int64) if without is None else without
        best, index = np.full((len(Q), 0), np.inf), np.full((len(Q), 0), NO_ROW)
        ask = partial(_nearest_of_part, self.geometry, self.algorithm, k)
        for r, rows in self._asked(ask, Q, own):
            best, index = merged(best, index, r, rows, k)
        return best, index

    def within(self, Q: Floats, r: Floats) -> tuple[Array, Array, Floats]:
        """As `Search.within`."""
        found = list(self._asked(partial(_within_part, self.geometry, self.algorithm), Q, r))
        query = np.concatenate([q for q, _, _ in found])
        rows, far = (np.concatenate([one[i] for one in found]) for i in (1, 2))
        order = np.lexsort((rows, far, query))
        return np.searchsorted(query[order], np.arange(len(Q) + 1)), rows[order], far[order]

    def count(self, Q: Floats, r: Floats) -> Array:
        """As `Search.count`."""
        return np.diff(self.within(Q, r)[0])

    def _asked(self, ask: Callable[..., Any], *arrays: Array) -> Iterator[Any]:
        return self.engine.map(partial(ask, *arrays), self.rows.blocks())


def _search_of(geometry: Geometry, algorithm: str, part: Part) -> tuple[Search, Array]:
    """The rows of positive weight of a part, and their numbers."""
    block = part.load()
    at = np.arange(len(block.X)) if block.w is None else np.flatnonzero(block.w > 0)
    return Search(geometry.rows(block.X[at]), geometry.norm, Threads(1), algorithm), at + block.start


def _nearest_of_part(
    geometry: Geometry, algorithm: str, k: int, Q: Floats, without: Array, part: Part
) -> tuple[Floats, Array]:
    search, numbers = _search_of(geometry, algorithm, part)
    if not len(numbers):
        return np.empty((len(Q), 0)), np.empty((len(Q), 0), dtype=np.int64)
    at = np.searchsorted(numbers, without)
    at = np.where(numbers[np.minimum(at, len(numbers) - 1)] == without, at, -1)
    r, rows = search.nearest(Q, min(k, len(numbers)), at)
    return r, np.append(numbers, NO_ROW)[np.minimum(rows, len(numbers))]


def _within_part(geometry: Geometry, algorithm: str, Q: Floats, r: Floats, part: Part) -> tuple[Array, Array, Floats]:
    search, numbers = _search_of(geometry, algorithm, part)
    start, rows, far = search.within(Q, r)
    return np.repeat(np.arange(len(Q)), np.diff(start)), numbers[rows], far


def merged(a: Floats, a_rows: Array, b: Floats, b_rows: Array, k: int) -> tuple[Floats, Array]:
    """The k nearest of two lists of each query, where the rows of the second have the higher numbers.

    >>> merged(np.array([[1.0, 3.0]]), np.array([[4, 0]]), np.array([[1.0, 2.0]]), np.array([[7, 9]]), 3)
    (array([[1., 1., 2.]]), array([[4, 7, 9]]))
    """
    r, rows = np.concatenate([a, b], axis=1), np.concatenate([a_rows, b_rows], axis=1)
    order = np.argsort(r, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(r, order, axis=1), np.take_along_axis(rows, order, axis=1)
