"""The network that answers a number."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from assay.engines import Block
from assay.errors import ModelFileError
from assay.hypotheses.network.model import NO_PIECES, NetworkModel, takes_pieces
from assay.hypotheses.network.parts import DROPOUT, DTYPE, LAYOUT, MAX_SECONDS, OUTPUT_BIAS, STANDARDIZE
from assay.hypotheses.network.standard import Standard
from assay.layout import Layout
from assay.learner import Fact, Regressor, attribute
from assay.learner.available import OnlyIf
from assay.numerics import Array
from assay.params import N_JOBS, Choice, param
from assay.store import Record


class MLPRegressor(NetworkModel, Regressor):
    """Layers of units between the columns and a number. Shape: ordered stream (`solver="lbfgs"`: repeated fold).

        a₀ = x,   a_l = φ(W_lᵀ a_{l−1} + b_l),   f(x) = W_Lᵀ a_{L−1} + b_L;      loss ½ (f(x) − y)²

    The target is standardised inside as columns are, so that its unit changes nothing but the unit of the answers; losses are told in the target's
    own. All else is as in `MLPClassifier`.

    Certificate
    -----------
    Back-propagation agrees with finite differences; training loss and the length of the gradient are as stated. Nothing is
    claimed about a least loss: the objective is not convex.

    See Also
    --------
    MLPClassifier : the same for classes.
    Ridge : a network without hidden units.

    Examples
    --------
    >>> model = MLPRegressor((8,), activation="tanh", solver="lbfgs").fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 10.0, 20.0, 30.0])
    >>> model.predict([[1.0], [2.0]]).round(1)
    array([10., 20.])
    """

    name = "mlp-regressor"
    loss: str = param("what a row costs: ½ (f(x) − y)²", default="squared_error", check=Choice(("squared_error",)))
    dropout: float = DROPOUT
    dtype: str = DTYPE
    output_bias: bool = OUTPUT_BIAS
    standardize: bool = STANDARDIZE
    max_seconds: float | None = MAX_SECONDS
    n_jobs: int | None = N_JOBS
    layout: ClassVar[Layout] = {
        **LAYOUT,
        "target_mean_": Fact(float, doc="the mean of the target, taken from it inside; 0 with standardize=False"),
        "target_scale_": Fact(float, low=0, doc="the deviation of the target, by which it is divided inside; 1 with standardize=False"),
    }  # fmt: skip

    target_mean_: float = attribute()
    target_scale_: float = attribute()

    @property
    def out_activation_(self) -> str:
        """The function that makes answers of the outputs: none."""
        self._check_fitted()
        return "identity"

    def _partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go through more rows once, from the present weights; rows are standardised as those of the first call were."""
        return self._fit_in_pieces(X, y, sample_weight, None)

    _partial_fit.__name__ = "partial_fit"
    partial_fit = OnlyIf(_partial_fit, takes_pieces, NO_PIECES)

    def _loss_name(self) -> str:
        return "squared"

    def _outputs_of_fit(self) -> int:
        return 1

    def _keep_target(self, standard: Standard) -> None:
        self.target_mean_, self.target_scale_ = standard.target_mean, standard.target_scale

    def _standard(self) -> Standard:
        return Standard(self.mean_, self.scale_, self.target_mean_, self.target_scale_)

    def _predict_block(self, block: Block) -> Array:
        return self._f(block)[:, 0]

    def _restore(self, record: Record) -> None:
        if not record.facts["target_scale_"] > 0:
            raise ModelFileError("The model file's target has a scale of zero.")
        super()._restore(record)
