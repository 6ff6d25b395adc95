"""The network that answers a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from assay.engines import Block
from assay.errors import ModelFileError
from assay.hypotheses.network.model import NO_PIECES, NetworkModel, takes_pieces
from assay.hypotheses.network.parts import LAYOUT, PARAMS
from assay.hypotheses.network.standard import Standard
from assay.layout import Layout
from assay.learner import Fact, Regressor
from assay.learner.available import OnlyIf
from assay.numerics import Array
from assay.params import Choice, Param
from assay.store import Record


class MLPRegressor(NetworkModel, Regressor):
    """Layers of units between the columns and a number. Shape: ordered stream (`solver="lbfgs"`: repeated fold).

        a₀ = x,   a_l = φ(W_lᵀ a_{l−1} + b_l),   f(x) = W_Lᵀ a_{L−1} + b_L;      loss ½ (f(x) − y)²

    The target is standardised inside as columns are, so that its unit changes nothing but the unit of the answers; losses are told in the target's
    own. All else is as in `MLPClassifier`.

    >>> model = MLPRegressor((8,), activation="tanh", solver="lbfgs").fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 10.0, 20.0, 30.0])
    >>> model.predict([[1.0], [2.0]]).round(1)
    array([10., 20.])
    """

    name = "mlp-regressor"
    params: ClassVar[Mapping[str, Param]] = {
        **PARAMS,
        "loss": Choice(options=("squared_error",), doc="what a row costs: ½ (f(x) − y)²"),
    }
    layout: ClassVar[Layout] = {**LAYOUT, "target_mean_": Fact(float), "target_scale_": Fact(float, low=0)}

    loss: str
    target_mean_: float
    target_scale_: float

    def __init__(
        self,
        hidden_layer_sizes: Any = (100,),
        activation: str = "relu",
        *,
        solver: str = "adam",
        alpha: float = 1e-4,
        batch_size: Any = "auto",
        learning_rate: str = "constant",
        learning_rate_init: float = 1e-3,
        power_t: float = 0.5,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: int | None = None,
        tol: float = 1e-4,
        verbose: bool = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: int = 10,
        max_fun: int = 15_000,
        loss: str = "squared_error",
        dropout: float = 0.0,
        dtype: str = "float32",
        output_bias: bool = True,
        standardize: bool = True,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.max_fun = max_fun
        self.loss = loss
        self.dropout = dropout
        self.dtype = dtype
        self.output_bias = output_bias
        self.standardize = standardize
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs

    @property
    def out_activation_(self) -> str:
        """The outputs are the answers."""
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
