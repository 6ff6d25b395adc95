"""The class or the mean of the nearest rows (Fix and Hodges 1951, Cover and Hart 1967), and neighbours alone, without a target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from assay.certify import Claim
from assay.engines import ArrayRows, Block, Engine, Rows
from assay.engines.engine import Threads
from assay.errors import DataError, ModelFileError, ParameterError
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, ChoiceOrFunction, Range, attribute, param
from assay.estimator.regressor import Regressor
from assay.families.neighbours.fit import ALGORITHM, LEAF_SIZE, RULE, VALIDATION_ROWS, WEIGHTS, NeighboursModel
from assay.families.neighbours.leave_one_out import LeaveOneOutCurve, class_curves, number_curves
from assay.families.neighbours.metrics import (
    FUNCTION,
    METRIC,
    METRIC_PARAMS,
    METRICS,
    Geometry,
    P,
    check_metric,
    fitted_geometry,
    plain_geometry,
    reach,
)
from assay.families.neighbours.neighbourhood import Neighbourhood, Voters, mean_value, tally, winners
from assay.families.neighbours.search import HAMMING
from assay.inputs import as_rows, refuse_non_finite
from assay.inputs.labels import Labels, class_multipliers
from assay.inputs.refusals import refuse_absent, refuse_unlisted
from assay.numerics import Array, Floats, safe_log
from assay.statistics.targets import TargetSurvey
from assay.store import Record


class KNeighborsClassifier(NeighboursModel, Classifier):
    """The class of most votes among the k nearest rows. Shape: pairwise blocks.

        h(x) = argmax_c Σ_{i in N_k(x)} v_i [y_i = c],     v_i = w_i,  or w_i / d(x, x_i) with weights="distance"

    Of classes with equally many votes that of the nearest voter wins, then the lowest; of rows equally far the first is nearer. A row of
    weight w has w votes, as w copies would, and k counts votes. `n_neighbors="auto"` takes the k of least exact leave-one-out error.

    `metric`: "minkowski" (with `p`, and `metric_params={"w": weights of columns}`), "euclidean", "manhattan", "chebyshev", "cosine", "hamming",
    "canberra", "braycurtis", "correlation", "haversine", "sqeuclidean", "nan_euclidean" (of rows with missing values), of zeros and ones "jaccard" and
    the like; "precomputed", where X holds distances; "seuclidean" (variances of the rows, or {"V": variances}); "mahalanobis" (Σ of the rows, or
    {"V": Σ} or {"VI": Σ⁻¹}); "quadratic", √((x − z)ᵀ W (x − z)) with `metric_params={"W": W}`; "learned", the W that
    makes the soft leave-one-out error least (`rank`, `metric_steps`); or a function of yours that gives the distance of a query and a row
    (`metric_params`: its keyword arguments), which is asked for every pair and cannot go into a model file.

    Certificate
    -----------
    The neighbours of rows drawn from the fit are just those that comparing with every row gives; the leave-one-out error of
    n_neighbors='auto' is the least; a bracket of the least error that any classifier can reach (estimate, Cover and Hart).

    See Also
    --------
    KNeighborsRegressor : the same for a number.
    NearestNeighbors : the neighbours alone.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]], ["low"] * 3 + ["high"] * 3
    >>> model = KNeighborsClassifier(n_neighbors=3).fit(X, y)
    >>> model.predict([[1.4], [7.0]]).tolist(), model.kneighbors([[1.4]], 2)[1].tolist()
    (['low', 'high'], [[1, 2]])
    """

    title = "Nearest neighbours"
    name = "knn"
    n_neighbors: int | str = param("how many neighbours answer; 'auto': by leave-one-out", default=5, says="k={}", kw_only=False, check=Range(int, low=1, words=("auto",)))  # fmt: skip
    weights: Any = WEIGHTS
    algorithm: str = ALGORITHM
    leaf_size: int = LEAF_SIZE
    p: float = P
    metric: Any = param("the distance by which rows are near or far", default="minkowski", check=ChoiceOrFunction((*METRICS, "learned"), FUNCTION))  # fmt: skip
    metric_params: Any = METRIC_PARAMS
    n_jobs: int | None = N_JOBS
    rule: str = RULE
    validation_rows: int | None = VALIDATION_ROWS
    rank: int | str = param("of metric='learned': W is full, diagonal, or of so low a rank", default="full", check=Range(int, low=1, words=("full", "diagonal")))  # fmt: skip
    metric_steps: int = param("of metric='learned': steps of L-BFGS at most", default=50, check=Range(int, low=0))
    class_weight: Any = CLASS_WEIGHT
    layout: ClassVar[Layout] = {
        **NeighboursModel.layout,
        "objective_": Tensor(("S",), low=0, optional=True, doc="of metric='learned': the mean chance that soft neighbours name a row rightly, itself left out, before and after each step; else None"),
        "codes_": Tensor(("n",), dtype="<i8", index="K", low=0, doc="the class of each row of the fit, as a place in `classes_`"),
        "class_factor_": Tensor(("K",), low=0, doc="the factor of each class's rows, from class_weight"),
    }  # fmt: skip

    objective_: Floats | None = attribute()
    codes_: Array = attribute()
    class_factor_: Floats = attribute()

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows, as if they had been there from the start.

        `classes` lists every class that can ever occur; the first call needs it, later calls may repeat it.
        """
        refuse_unlisted(self, classes)
        return self._fit(X, y, sample_weight, afresh=False, classes=classes)

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels:
        return self._classes_of(engine, rows, afresh, classes)

    def _keep_target(self, survey: TargetSurvey) -> None:
        self.codes_ = survey.y
        count = np.bincount(self.codes_, weights=survey.w, minlength=len(self.classes_)).astype(np.float64)
        refuse_absent(self.classes_, count, False)
        self.class_factor_ = class_multipliers(self.class_weight, self.classes_, count)

    def _target(self) -> Array:
        return self.classes_[self.codes_]

    def _codes_or_numbers(self) -> Array:
        return self.codes_

    def _geometry_for(self, engine: Engine, rows: Rows, survey: TargetSurvey) -> Geometry:
        self.objective_ = None
        return self._learned(rows) if self.metric == "learned" else super()._geometry_for(engine, rows, survey)

    def _learned(self, rows: Rows) -> Geometry:
        """metric="learned"."""
        from assay.families.neighbours.metric_learning import learn_map

        kept = rows.in_memory()
        X = np.asarray(kept.X, dtype=np.float64)
        there = np.ones(len(X), dtype=bool) if kept.w is None else kept.w > 0
        X, codes, w = X[there], self.codes_[there], None if kept.w is None else kept.w[there]
        centre = X.mean(axis=0)
        found = learn_map(
            X - centre,
            codes,
            w,
            shape=self.rank,
            steps=self.metric_steps,
            workers=Threads(self.n_jobs),
            each=self._on_step,
        )
        self.objective_ = np.array(found.history)
        return Geometry(2.0, found.map, centre)

    _on_step: Any = attribute(default=None)  # called with each state of a learned metric

    def _metric_steps(self, fit: Callable[[], Any]) -> list[dict[str, Any]]:
        seen: list[dict[str, Any]] = []
        self._on_step = lambda step, W, value: seen.append({"step": step, "W": W, "objective": value})
        try:
            fit()
        finally:
            del self._on_step
        return seen

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        if len(self.codes_) == 0 or int(self.codes_.max()) >= len(self.classes_):
            raise ModelFileError("The model file's rows are of classes that it does not have.")
        self.objective_ = getattr(self, "objective_", None)
        if (self.objective_ is None) == (self.metric == "learned"):
            raise ModelFileError(f"The model file's steps of a learned metric do not fit metric={self.metric!r}.")

    def _curves(
        self, hood: Neighbourhood, rows: Rows, ways: tuple[bool, ...], k: int, chosen: Array | None
    ) -> list[LeaveOneOutCurve]:
        return class_curves(hood, rows, self.codes_, self.class_factor_, ways, k, chosen)

    def _tallied(self, hood: Neighbourhood, Z: Floats, own: Array | None = None) -> tuple[Floats, Voters]:
        hood.check(self.n_neighbors_)
        voters = hood.voters(Z, self.n_neighbors_, self._votes(), own)
        if self.class_weight is not None:
            voters = voters._replace(votes=voters.votes * self.class_factor_[self.codes_[voters.rows]])
        return tally(voters, self.codes_, len(self.classes_)), voters

    def _leave_one_out(self, hood: Neighbourhood, Z: Floats, own: Array | None) -> Floats:
        return self._tallied(hood, Z, own)[0]

    def _predict_block(self, block: Block, own: Array | None = None) -> Array:
        tallied = self._tallied(self.neighbourhood(), self._queries(block), own)
        labels: Array = self.classes_[winners(*tallied, self.codes_)]
        return labels

    def _proba_block(self, block: Block, own: Array | None = None) -> Array:
        """Shares of the votes; where classes tie, the winner's is the next greater number, so that the greatest share is its."""
        total, voters = self._tallied(self.neighbourhood(), self._queries(block), own)
        votes = total.sum(axis=1, keepdims=True)
        shares: Array = np.divide(total, votes, out=np.full(total.shape, 1 / total.shape[1]), where=votes > 0)
        best = winners(total, voters, self.codes_)
        tied = np.flatnonzero(shares.argmax(axis=1) != best)
        shares[tied, best[tied]] = np.nextafter(shares[tied].max(axis=1), np.inf)
        return shares

    def _both_block(self, block: Block) -> Array:
        """The neighbours are searched once: the greatest share is the label's."""
        shares = self._proba_block(block)
        return np.column_stack([shares.argmax(axis=1), shares])

    def _scored_block(self, block: Block) -> Array:
        both = self._both_block(block)
        both[:, 1:] = safe_log(both[:, 1:])
        return both


class KNeighborsRegressor(NeighboursModel, Regressor):
    """The mean of the numbers of the k nearest rows. Shape: pairwise blocks.

        h(x) = Σ_{i in N_k(x)} v_i y_i / Σ v_i,     v_i = w_i,  or w_i / d(x, x_i) with weights="distance"

    Metrics, weights and `n_neighbors="auto"` are those of `KNeighborsClassifier`, but for "learned", which needs classes.

    Certificate
    -----------
    The neighbours of rows drawn from the fit are just those that comparing with every row gives; the leave-one-out error of
    n_neighbors='auto' is the least.

    See Also
    --------
    KNeighborsClassifier : the same for classes.
    NearestNeighbors : the neighbours alone.

    Examples
    --------
    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [5.0]], [0.0, 1.0, 9.0])
    >>> model.predict([[0.4], [3.5]])
    array([0.5, 5. ])
    """

    title = "Nearest neighbours"
    name = "knn-regressor"
    layout: ClassVar[Layout] = {
        **NeighboursModel.layout,
        "y_": Tensor(("n",), doc="the targets of the rows of the fit"),
    }

    n_neighbors: int | str = param("how many neighbours answer; 'auto': by leave-one-out", default=5, says="k={}", kw_only=False, check=Range(int, low=1, words=("auto",)))  # fmt: skip
    weights: Any = WEIGHTS
    algorithm: str = ALGORITHM
    leaf_size: int = LEAF_SIZE
    p: float = P
    metric: Any = METRIC
    metric_params: Any = METRIC_PARAMS
    n_jobs: int | None = N_JOBS
    rule: str = RULE
    validation_rows: int | None = VALIDATION_ROWS

    y_: Floats = attribute()

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows, as if they had been there from the start."""
        return self._fit(X, y, sample_weight, afresh=False)

    def _keep_target(self, survey: TargetSurvey) -> None:
        self.y_ = survey.y

    def _target(self) -> Array:
        return self.y_

    def _codes_or_numbers(self) -> Array:
        return self.y_

    def _curves(
        self, hood: Neighbourhood, rows: Rows, ways: tuple[bool, ...], k: int, chosen: Array | None
    ) -> list[LeaveOneOutCurve]:
        return number_curves(hood, rows, self.y_, ways, k, chosen)

    def _predict_block(self, block: Block, own: Array | None = None) -> Array:
        hood = self.neighbourhood()
        hood.check(self.n_neighbors_)
        voters = hood.voters(self._queries(block), self.n_neighbors_, self._votes(), own)
        return mean_value(voters, self.y_)

    def _leave_one_out(self, hood: Neighbourhood, Z: Floats, own: Array | None) -> Floats:
        return mean_value(hood.voters(Z, self.n_neighbors_, self._votes(), own), self.y_)[:, None]


class NearestNeighbors(NeighboursModel):
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

    def _check_enough(self) -> None:
        """Fewer rows than n_neighbors are no error until a query needs so many."""

    def _keep_target(self, survey: TargetSurvey) -> None:
        self._number_ = survey.y

    def _codes_or_numbers(self) -> Array:
        return self._number_

    def _make_claims(self) -> tuple[Claim, ...]:
        return ()

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
