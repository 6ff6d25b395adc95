"""The mean of the nearest rows' numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from assay.engines import Block, Rows
from assay.hypotheses.neighbours.leave_one_out import Curve, number_curves
from assay.hypotheses.neighbours.model import NeighboursModel
from assay.hypotheses.neighbours.neighbourhood import Neighbourhood
from assay.hypotheses.neighbours.target import Survey
from assay.layout import Layout
from assay.learner import Regressor, Tensor
from assay.neighbours.votes import mean_value
from assay.numerics import Array, Floats


class KNeighborsRegressor(NeighboursModel, Regressor):
    """The mean of the numbers of the k nearest rows. Shape: pairwise blocks.

        h(x) = Σ_{i in N_k(x)} v_i y_i / Σ v_i,     v_i = w_i,  or w_i / d(x, x_i) with weights="distance"

    Metrics, weights and `n_neighbors="auto"` are those of `KNeighborsClassifier`, but for "learned", which needs classes.

    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [5.0]], [0.0, 1.0, 9.0])
    >>> model.predict([[0.4], [3.5]])
    array([0.5, 5. ])
    """

    name = "knn-regressor"
    layout: ClassVar[Layout] = {**NeighboursModel.layout, "y_": Tensor(("n",))}

    def __init__(
        self,
        n_neighbors: int | str = 5,
        *,
        weights: str = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: str = "minkowski",
        metric_params: Any = None,
        n_jobs: int | None = None,
        rule: str = "best",
        validation_rows: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.rule = rule
        self.validation_rows = validation_rows

    y_: Floats

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
