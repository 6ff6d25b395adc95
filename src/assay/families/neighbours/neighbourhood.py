"""The rows of a fit, ready to be queried: mapped by the metric, without those of weight zero, in memory or in parts.

A row of weight w has w votes, as w copies of it would have; k neighbours are the nearest k votes, and of the row that exceeds them only the
part that is left counts. With `by_distance` a vote counts in inverse proportion to its distance, and where rows are at distance
zero they alone do. The class of most votes wins; of equal ones that whose nearest voter is nearest, then the lowest.

Where the rows lie in parts, in a file or on a cluster, each part answers for itself, and the answers are merged. Parts come in the order of
their rows, so that a stable sort by distance leaves rows that are equally far in the order of their numbers: the same rows and bits as in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Engine, Part, Rows
from assay.engines.engine import Threads
from assay.errors import DataError, ParameterError
from assay.families.neighbours.metrics import Geometry
from assay.families.neighbours.named_metrics import ABSENT, NamedMetric, refuse_unlisted
from assay.families.neighbours.search import NO_ROW, NeighbourSearch
from assay.numerics import Array, Floats


@dataclass
class Neighbourhood:
    """`numbers`: of the rows that are searched, where some have weight zero; `weights` (n,) of all rows, None: 1 each; `size`: rows searched."""

    geometry: Geometry
    search: NeighbourSearch | PartsSearch
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
        if self._are_listed:
            refuse_unlisted(k, r)
        return r, rows if self.numbers is None else self.numbers[rows]

    @property
    def _are_listed(self) -> bool:
        """Whether distances are given, and may be ABSENT."""
        return isinstance(self.geometry.own, NamedMetric) and self.geometry.own.name == "precomputed"

    def reduced_radius(self, radius: Any) -> Floats:
        """A radius, or one for each query, as reduced distances."""
        try:
            given = np.asarray(radius, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.full(1, np.nan)
        if given.ndim > 1 or not (given >= 0).all() or isinstance(radius, bool | str):
            raise ParameterError(f"radius={radius!r} is not possible: it must be a number ≥ 0, or one for each row.")
        if self._are_listed:
            given = np.minimum(given, np.nextafter(ABSENT, 0.0))
        found = [self.geometry.reduced(float(r), self.columns) for r in np.unique(given)]
        return np.asarray(found)[np.searchsorted(np.unique(given), given)]

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

    def voters(self, Z: Floats, k: int, by_distance: bool | VoteFunction, own: Array | None = None) -> Voters:
        """Who answers each mapped query, and with how many votes."""
        r, rows, w = self.listed(Z, k, own)
        votes = first_votes(w, k)
        if callable(by_distance):
            factor = factors_by(by_distance, self.geometry.distances(r, self.columns), votes > 0)
        else:
            factor = self.factors(r, w, by_distance)
        return Voters(r, rows, votes * factor)

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
    search = NeighbourSearch(Z, geometry.norm, workers, algorithm, geometry.among(numbers))
    return Neighbourhood(geometry, search, Z.shape[1], len(Z), numbers, _uneven(w))


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


VoteFunction = Callable[[Floats], Any]  # of distances (m, k): what a vote of each counts


def factors_by(function: VoteFunction, distance: Floats, there: Array) -> Floats:
    """What a vote counts by a function of the user's, which is given the distances of the voters; where some count without end, they alone do.

    >>> factors_by(lambda d: d**-2.0, np.array([[0.5, 1.0]]), np.array([[True, True]]))
    array([[4., 1.]])
    """
    if there.all():
        factor = asked(function, distance)
    else:  # queries with other numbers of voters, one after another
        factor = np.zeros(distance.shape)
        for i, mine in enumerate(there):
            factor[i, mine] = asked(function, distance[i : i + 1, mine])[0]
    endless = np.isinf(factor)
    rows = endless.any(axis=1)
    factor[rows] = endless[rows]
    return factor


def asked(function: VoteFunction, distance: Floats) -> Floats:
    """What a function of the user's gives for distances (m, k)."""
    with np.errstate(divide="ignore"):
        factor = np.array(function(distance.copy()), dtype=np.float64)
    if factor.shape != distance.shape or not (factor >= 0).all():
        raise DataError(
            f"The function given as weights must return a number ≥ 0 for each of its distances, {distance.shape}; it returned an array of "
            f"shape {factor.shape}{'' if factor.shape != distance.shape else ' with negative numbers or NaN'}."
        )
    return factor


class Voters(NamedTuple):
    """For each query the rows nearest to it, in order: reduced distances, numbers, and votes of each (0: does not count), (m, k) each."""

    r: Floats
    rows: Array
    votes: Floats


def refuse_no_votes(voters: Voters) -> None:
    """Raise where a function of distances gives no voter of a query any weight."""
    silent = np.flatnonzero(~(voters.votes > 0).any(axis=1))
    if len(silent):
        raise DataError(
            "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if you are using a user-defined "
            f"function. (First of query {silent[0]}.)"
        )


def first_votes(w: Floats, k: float) -> Floats:
    """How much of the weights w (m, n), in order, is among the first k.

    >>> first_votes(np.array([[1.0, 3.0, 1.0]]), 2)
    array([[1., 1., 0.]])
    """
    before = np.zeros_like(w)
    np.cumsum(w[:, :-1], axis=1, out=before[:, 1:])
    return np.clip(k - before, 0.0, w)


def nearer_more(distance: Floats, there: Array) -> Floats:
    """What a vote counts in inverse proportion to its distance, relative to the nearest's: the shares are those of 1/d, and nothing
    overflows. Rows that are not `there` count nothing; the first one is.

    >>> nearer_more(np.array([[2.0, 4.0], [0.0, 3.0]]), np.array([[True, True], [True, True]]))
    array([[1. , 0.5],
           [1. , 0. ]])
    """
    near = distance[:, :1]
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(near == 0, (distance == 0).astype(np.float64), near / distance)
    return np.where(there, factor, 0.0)


def tally(voters: Voters, codes: Array, K: int) -> Floats:
    """Votes for each class, (m, K), added up in the order of the voters."""
    total, every = np.zeros((len(voters.rows), K)), np.arange(len(voters.rows))
    for j in range(voters.rows.shape[1]):
        total[every, codes[voters.rows[:, j]]] += voters.votes[:, j]
    return total


def winners(total: Floats, voters: Voters, codes: Array) -> Array:
    """The class of each query."""
    most = total.max(axis=1, keepdims=True)
    best: Array = total.argmax(axis=1)
    tied = np.flatnonzero((total == most).sum(axis=1) > 1)
    if len(tied):
        near, every = np.full((len(tied), total.shape[1]), np.inf), np.arange(len(tied))
        for j in range(voters.rows.shape[1] - 1, -1, -1):
            mine = np.flatnonzero(voters.votes[tied, j] > 0)
            near[every[mine], codes[voters.rows[tied[mine], j]]] = voters.r[tied[mine], j]
        best[tied] = np.where(total[tied] == most[tied], near, np.inf).argmin(axis=1)
    return best


def mean_value(voters: Voters, y: Floats) -> Floats:
    """The mean of the voters' numbers, added up in their order."""
    total, votes = np.zeros(len(voters.rows)), np.zeros(len(voters.rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for j in range(voters.rows.shape[1]):
            votes += voters.votes[:, j]
            total += voters.votes[:, j] * y[voters.rows[:, j]]
        return total / votes


class PartsSearch:
    """Rows in parts, of which those of weight zero are none, queried as `NeighbourSearch` is."""

    def __init__(self, rows: Rows, engine: Engine, geometry: Geometry, algorithm: str = "auto") -> None:
        self.rows, self.engine, self.geometry, self.algorithm = rows, engine, geometry, algorithm

    def nearest(self, Q: Floats, k: int, without: Array | None = None) -> tuple[Floats, Array]:
        """As `NeighbourSearch.nearest`, with the rows' numbers in the whole table."""
        own = np.full(len(Q), -1, dtype=np.int64) if without is None else without
        best, index = np.full((len(Q), 0), np.inf), np.full((len(Q), 0), NO_ROW)
        search = partial(_nearest_of_part, self.geometry, self.algorithm, k)
        for r, rows in self._of_parts(search, Q, own):
            best, index = merged(best, index, r, rows, k)
        return best, index

    def within(self, Q: Floats, r: Floats) -> tuple[Array, Array, Floats]:
        """As `NeighbourSearch.within`."""
        found = list(self._of_parts(partial(_within_part, self.geometry, self.algorithm), Q, r))
        query = np.concatenate([q for q, _, _ in found])
        rows, far = (np.concatenate([one[i] for one in found]) for i in (1, 2))
        order = np.lexsort((rows, far, query))
        return np.searchsorted(query[order], np.arange(len(Q) + 1)), rows[order], far[order]

    def count(self, Q: Floats, r: Floats) -> Array:
        """As `NeighbourSearch.count`."""
        return np.diff(self.within(Q, r)[0])

    def _of_parts(self, search: Callable[..., Any], *arrays: Array) -> Iterator[Any]:
        return self.engine.map(partial(search, *arrays), self.rows.blocks())


def _search_of(geometry: Geometry, algorithm: str, part: Part) -> tuple[NeighbourSearch, Array]:
    """The rows of positive weight of a part, and their numbers."""
    block = part.load()
    at = np.arange(len(block.X)) if block.w is None else np.flatnonzero(block.w > 0)
    Z = geometry.rows(block.X[at])
    return NeighbourSearch(Z, geometry.norm, Threads(1), algorithm, geometry.among(at + block.start)), at + block.start


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
