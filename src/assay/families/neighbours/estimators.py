"""The class or the mean of the k nearest rows (Fix and Hodges 1951, Cover and Hart 1967)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.engines.engine import Threads
from assay.errors import ModelFileError
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Range, attribute, param
from assay.estimator.regressor import Regressor
from assay.families.neighbours.fit import RULE, VALIDATION_ROWS, NeighboursModel
from assay.families.neighbours.kept_rows import ALGORITHM, LEAF_SIZE, WEIGHTS
from assay.families.neighbours.leave_one_out import LeaveOneOutCurve, class_curves, number_curves
from assay.families.neighbours.metrics import (
    FUNCTION,
    METRIC,
    METRIC_PARAMS,
    METRICS,
    Geometry,
    MetricParam,
    P,
)
from assay.families.neighbours.neighbourhood import Neighbourhood, Voters, mean_value, refuse_no_votes, tally, winners
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
    least_classes = 1
    n_neighbors: int | str = param("how many neighbours answer; 'auto': by leave-one-out", default=5, says="k={}", kw_only=False, check=Range(int, low=1, words=("auto",)))  # fmt: skip
    weights: Any = WEIGHTS
    algorithm: str = ALGORITHM
    leaf_size: int = LEAF_SIZE
    p: float = P
    metric: Any = param("the distance by which rows are near or far", default="minkowski", check=MetricParam((*METRICS, "learned"), FUNCTION))  # fmt: skip
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

    def _votes_for(self, block: Block, own: Array | None) -> tuple[Floats, Voters]:
        found = self._tallied(self.neighbourhood(), self._queries(block), own)
        if callable(self.weights):
            refuse_no_votes(found[1])
        return found

    def _predict_block(self, block: Block, own: Array | None = None) -> Array:
        tallied = self._votes_for(block, own)
        labels: Array = self.classes_[winners(*tallied, self.codes_)]
        return labels

    def _proba_block(self, block: Block, own: Array | None = None) -> Array:
        """Shares of the votes; where classes tie, the winner's is the next greater number, so that the greatest share is its."""
        total, voters = self._votes_for(block, own)
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
