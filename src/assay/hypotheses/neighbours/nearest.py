"""Neighbours alone, without a target."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from assay.certify import Claim
from assay.engines import Rows, engine_for
from assay.engines.blas import one_thread_blas
from assay.hypotheses.neighbours.metrics import METRIC, METRIC_PARAMS, P
from assay.hypotheses.neighbours.model import ALGORITHM, LEAF_SIZE, NeighboursModel
from assay.hypotheses.neighbours.target import Survey
from assay.inputs import as_rows
from assay.learner import attribute
from assay.numerics import Array, Floats
from assay.params import N_JOBS, Range, check_params, param


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
    metric: str = METRIC
    p: float = P
    metric_params: Any = METRIC_PARAMS
    n_jobs: int | None = N_JOBS

    _number_: Floats = attribute()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows X; y is ignored."""
        check_params(self)
        before = dict(vars(self))
        try:
            rows = as_rows(X)
            if rows.categories is not None:
                self._refuse_categories(rows)
            self._forget()
            self._remember_columns(rows)
            self._hold(rows)
        except BaseException:  # a fit that fails leaves the model as it was
            vars(self).clear()
            vars(self).update(before)
            raise
        return self

    def _hold(self, rows: Rows) -> None:
        engine = engine_for(rows, self.n_jobs)
        with one_thread_blas():
            self._learn(engine, engine.open(rows), True, None)
        self._fitted_with = self.get_params()

    def _check_enough(self) -> None:
        """Fewer rows than n_neighbors are no error until so many are asked for."""

    def _keep_target(self, survey: Survey) -> None:
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
