"""The mean of the nearest rows' numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from assay.engines import Block, Rows
from assay.hypotheses.neighbours.leave_one_out import Curve, number_curves
from assay.hypotheses.neighbours.metrics import METRIC, METRIC_PARAMS, P
from assay.hypotheses.neighbours.model import ALGORITHM, LEAF_SIZE, RULE, VALIDATION_ROWS, WEIGHTS, NeighboursModel
from assay.hypotheses.neighbours.neighbourhood import Neighbourhood
from assay.hypotheses.neighbours.target import Survey
from assay.layout import Layout
from assay.learner import Regressor, Tensor, attribute
from assay.neighbours.votes import mean_value
from assay.numerics import Array, Floats
from assay.params import N_JOBS, Range, param


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

    name = "knn-regressor"
    layout: ClassVar[Layout] = {
        **NeighboursModel.layout,
        "y_": Tensor(("n",), doc="the targets of the rows of the fit"),
    }

    n_neighbors: int | str = param("how many neighbours answer; 'auto': by leave-one-out", default=5, kw_only=False, check=Range(int, low=1, words=("auto",)))  # fmt: skip
    weights: str = WEIGHTS
    algorithm: str = ALGORITHM
    leaf_size: int = LEAF_SIZE
    p: float = P
    metric: str = METRIC
    metric_params: Any = METRIC_PARAMS
    n_jobs: int | None = N_JOBS
    rule: str = RULE
    validation_rows: int | None = VALIDATION_ROWS

    y_: Floats = attribute()

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows, as if they had been there from the start."""
        return self._fit(X, y, sample_weight, afresh=False)

    def _keep_target(self, survey: Survey) -> None:
        self.y_ = survey.y

    def _target(self) -> Array:
        return self.y_

    def _codes_or_numbers(self) -> Array:
        return self.y_

    def _curves(
        self, hood: Neighbourhood, rows: Rows, ways: tuple[bool, ...], k: int, chosen: Array | None
    ) -> list[Curve]:
        return number_curves(hood, rows, self.y_, ways, k, chosen)

    def _predict_block(self, block: Block) -> Array:
        hood = self.neighbourhood()
        hood.check(self.n_neighbors_)
        voters = hood.voters(self._queries(block), self.n_neighbors_, self.weights == "distance")
        return mean_value(voters, self.y_)

    def _left_out(self, hood: Neighbourhood, Z: Floats, own: Array | None) -> Floats:
        return mean_value(hood.voters(Z, self.n_neighbors_, self.weights == "distance", own), self.y_)[:, None]
