"""Neighbours alone, without a target: lists and graphs of who is near, and the tree that finds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn, Self

import numpy as np

from assay.engines import ArrayRows, Rows
from assay.engines.engine import Threads
from assay.errors import DataError, ParameterError
from assay.estimator.params import N_JOBS, Range, attribute, param
from assay.families.neighbours.kept_rows import ALGORITHM, LEAF_SIZE, NeighboursBase
from assay.families.neighbours.metrics import (
    METRIC,
    METRIC_PARAMS,
    Geometry,
    P,
    check_metric,
    fitted_geometry,
    plain_geometry,
    reach,
)
from assay.families.neighbours.search import HAMMING
from assay.inputs import as_rows, refuse_non_finite
from assay.numerics import Array, Floats
from assay.statistics.targets import TargetSurvey


class NearestNeighbors(NeighboursBase):
    """Who is near: `kneighbors`, `radius_neighbors` and their graphs, exactly. Shape: pairwise blocks.

    Metrics are those of `KNeighborsClassifier`, but for "learned".

    Certificate
    -----------
    None: nothing is learnt but the rows; `kneighbors` is exact for every metric and algorithm.

    See Also
    --------
    KNeighborsClassifier : the class of the nearest rows.
    KDTree : the tree that finds them.

    Examples
    --------
    >>> near = NearestNeighbors(n_neighbors=2).fit([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    >>> near.kneighbors([[0.0, 0.8]])[1].tolist(), near.radius_neighbors([[0.0, 0.8]], 0.5)[1][0].tolist()
    ([[1, 0]], [1])
    """

    _kind = "neighbours"
    n_neighbors: int = param("neighbours that are listed unless a call says otherwise", default=5, check=Range(int, low=1))  # fmt: skip
    radius: float = param("distance up to which neighbours are listed unless a call says otherwise", default=1.0, check=Range(low=0))  # fmt: skip
    algorithm: str = ALGORITHM
    leaf_size: int = LEAF_SIZE
    metric: Any = METRIC
    p: float = P
    metric_params: Any = METRIC_PARAMS
    n_jobs: int | None = N_JOBS

    _number_: Floats = attribute()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows X; y is ignored."""
        return self._fit(X, None, None)

    def _check_target(self, rows: Rows) -> None:
        """None is needed."""

    def _keep_target(self, survey: TargetSurvey) -> None:
        self._number_ = survey.y

    def _codes_or_numbers(self) -> Array:
        return self._number_

    @property
    def predict(self) -> NoReturn:  # type: ignore[override]
        """There is none."""
        raise AttributeError(
            "NearestNeighbors lists neighbours and predicts nothing: use KNeighborsClassifier or KNeighborsRegressor."
        )

    @property
    def predict_blocks(self) -> NoReturn:  # type: ignore[override]
        """There is none."""
        raise AttributeError("NearestNeighbors predicts nothing.")

    @property
    def save(self) -> NoReturn:  # type: ignore[override]
        """There is none."""
        raise AttributeError("NearestNeighbors is no model of a target and has no file: keep the table and fit again.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.target_tags.required = None, False
        return tags


@dataclass(frozen=True)
class KDTree:
    """A k-d tree of the rows X: median splits of the widest column, leaves of at most 16 rows, boxes eight at a time.

    Every quadratic metric ("mahalanobis", "quadratic") is a linear map and then Euclidean, so the tree serves it as well.

    Parameters
    ----------
    X : rows
        The rows among which neighbours are found; the tree keeps a copy.
    leaf_size : int, default=16
        Accepted for scikit-learn's sake: leaves hold 16 rows at most.
    metric : str, default='minkowski'
        The distance by which rows are near or far, as in `NearestNeighbors`, but for "hamming" and functions, which have no boxes.
    p : float, default=2
        The power of the Minkowski distance, at least 1: 1 Manhattan, 2 Euclidean, inf Chebyshev.
    metric_params : dict or None, default=None
        V or VI (its inverse) of metric='mahalanobis', W of metric='quadratic'.
    n_jobs : int or None, default=None
        Threads to use; None: all that this process may use.

    See Also
    --------
    NearestNeighbors : neighbours by every metric, with a tree where it pays.

    Examples
    --------
    >>> tree = KDTree([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    >>> tree.query([[0.0, 0.8]], k=2)[1].tolist(), tree.count([[0.0, 0.8]], 1.0).tolist()
    ([[1, 0]], [2])
    """

    X: Any
    leaf_size: int = 16
    metric: Any = "minkowski"
    p: float = 2
    metric_params: Any = None
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        self._tree  # noqa: B018 - built now, so that errors are raised now

    @cached_property
    def _rows(self) -> Floats:
        rows = as_rows(self.X).in_memory()
        X = np.ascontiguousarray(rows.X, dtype=np.float64)  # the tree keeps rows of its own
        if not len(X):
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if not np.isfinite(X).all():
            refuse_non_finite(X)
        return X

    @cached_property
    def _geometry(self) -> Geometry:
        check_metric(self, self._rows.shape[1])
        known = plain_geometry(self, self._rows.shape[1], *reach(self._rows, float(self.p)))
        known = fitted_geometry(self, Threads(self.n_jobs), ArrayRows(self._rows)) if known is None else known
        if known.own is not None or known.norm == HAMMING or known.norm < 1:
            raise ParameterError(
                f"metric={self.metric!r}, p={self.p:g} has no boxes to speak of: use NearestNeighbors."
            )
        return known

    @cached_property
    def _tree(self) -> Any:
        from assay.families.neighbours.kdtree import BoxTree

        return BoxTree(self._geometry.rows(self._rows), Threads(self.n_jobs), self._geometry.norm)

    def _rows_in_memory(self) -> Floats:
        return self._rows

    def _queries(self, X: Any) -> Floats:
        rows = as_rows(X).in_memory()
        if rows.n_columns != self._rows.shape[1]:
            raise DataError(f"X has {rows.n_columns} features, but the tree has {self._rows.shape[1]}.")
        Q = np.ascontiguousarray(rows.X, dtype=np.float64)
        refuse_non_finite(Q)
        return self._geometry.rows(Q)

    def query(self, X: Any, k: int = 1, return_distance: bool = True) -> Any:
        """Distances and numbers of the k nearest rows, (m, k) each, by (distance, number)."""
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= len(self._rows):
            raise ParameterError(
                f"k={k!r} is not possible: it must be a whole number from 1 to the {len(self._rows)} rows."
            )
        r, rows = self._tree.nearest(self._queries(X), int(k))
        return (self._geometry.distances(r, self._columns), rows) if return_distance else rows

    def query_radius(self, X: Any, r: Any, return_distance: bool = False, count_only: bool = False) -> Any:
        """For each row of X the numbers of the rows up to distance r (one for all, or one each), by (distance, number)."""
        if count_only:
            return self.count(X, r)
        Q = self._queries(X)
        start, rows, far = self._tree.within(Q, self._reduced(r, len(Q)))
        distances, numbers = np.empty(len(Q), dtype=object), np.empty(len(Q), dtype=object)
        for i, (a, b) in enumerate(pairwise(start.tolist())):
            distances[i], numbers[i] = self._geometry.distances(far[a:b], self._columns), rows[a:b]
        return (numbers, distances) if return_distance else numbers

    def count(self, X: Any, r: Any) -> Array:
        """How many rows there are up to distance r of each row of X."""
        Q = self._queries(X)
        found: Array = self._tree.count(Q, self._reduced(r, len(Q)))
        return found

    @property
    def _columns(self) -> int:
        return int((self._rows if self._geometry.map is None else self._geometry.map).shape[1])

    def _reduced(self, r: Any, m: int) -> Floats:
        radius = np.broadcast_to(np.asarray(r, dtype=np.float64), (m,))
        if not np.all(radius >= 0):
            raise ParameterError("A radius must be a number ≥ 0.")
        return np.array([self._geometry.reduced(float(one), self._columns) for one in radius])

    def __len__(self) -> int:
        return len(self._rows)
