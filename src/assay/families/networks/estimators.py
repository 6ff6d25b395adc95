"""Networks that answer classes or a number (lecture notes: f(x) = Σ αᵢ σ(wᵢ·x + w_{i,0}) with one hidden layer and no output bias)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.errors import ModelFileError
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, AvailableIf, Choice, attribute, param
from assay.estimator.regressor import Regressor
from assay.families.networks.architecture import (
    DROPOUT,
    DTYPE,
    LAYOUT,
    MAX_SECONDS,
    OUTPUT_BIAS,
    STANDARDIZE,
    Standardisation,
    activated,
)
from assay.families.networks.fit import NO_PARTIAL_FIT, NetworkModel, supports_partial_fit
from assay.families.networks.training_data import NetworkSurvey
from assay.inputs.labels import Labels, class_multipliers
from assay.inputs.refusals import refuse_absent, refuse_balanced, refuse_unlisted
from assay.numerics import Array, Floats, log_softmax
from assay.store import Record


def _has_probabilities(model: Any) -> bool:
    return bool(getattr(model, "_fitted_with", {}).get("loss", model.loss) == "log")


class MLPClassifier(NetworkModel, Classifier):
    """Layers of units between the columns and a score of each class. Shape: ordered stream (`solver="lbfgs"`: repeated fold).

        a₀ = x,   a_l = φ(W_lᵀ a_{l−1} + b_l),   f(x) = W_Lᵀ a_{L−1} + b_L;      answer: the greatest score, of two classes f(x) > 0

    The zero-one risk is what counts and cannot be descended; `loss="log"` (of softmax(f), or of σ(f) for two classes), "hinge" or "squared" (distance to +1 for the row's own class, −1 for others) take its place,
    and `zero_one_curve_` has the share of wrong answers beside `loss_curve_`, as seen in each epoch before each step. Columns are
    standardised inside; `coefs_` and `intercepts_` are those of the columns as they are, the penalty is that of standardised ones.

    Mini-batches are an ordered stream: rows come in blocks (`assay.engines.block_rows`), in a new order within each block in each epoch,
    and no batch crosses blocks, so bits are the same on every engine. More threads help where batches are large. On a cluster the weights travel to the
    worker that has a block and come back changed.
    `solver="lbfgs"` folds the gradient of all rows wherever they are. `early_stopping` keeps the weights of the best epoch, else those
    of the last one stay. Where the loss grows beyond all bounds the epoch is taken back and steps are halved. Ctrl-C and
    `max_seconds` end a fit with what it has. A weight of a row multiplies its loss; rows of weight 0 are in no batch. `partial_fit`
    goes through more rows once, standardised as the first ones were. Sparse rows are filled in with their zeros block by block.

    Certificate
    -----------
    Back-propagation agrees with finite differences; training loss, training error and the length of the gradient are as stated.
    Nothing is claimed about a least loss: the objective is not convex.

    See Also
    --------
    MLPRegressor : the same for a number.
    LogisticRegression : a network without hidden units.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["same", "same", "other", "other"]
    >>> model = MLPClassifier((8,), activation="tanh", solver="lbfgs").fit(X, y)
    >>> model.predict(X).tolist(), [W.shape for W in model.coefs_]
    (['same', 'same', 'other', 'other'], [(2, 8), (8, 1)])
    """

    title = "Neural network"
    name = "mlp"
    rough_calibrates = False  # a net that has trained for longer is surer, not better
    loss: str = param("what a row costs; only 'log' has probabilities", default="log", check=Choice(("log", "hinge", "squared")))  # fmt: skip
    dropout: float = DROPOUT
    dtype: str = DTYPE
    output_bias: bool = OUTPUT_BIAS
    standardize: bool = STANDARDIZE
    class_weight: Any = CLASS_WEIGHT
    max_seconds: float | None = MAX_SECONDS
    n_jobs: int | None = N_JOBS
    layout: ClassVar[Layout] = {
        **LAYOUT,
        "zero_one_curve_": Tensor(("e",), low=0, high=1, doc="the share of wrong answers in each of the e epochs, as seen before each step"),
        "error_": Fact(float, low=0, optional=True, doc="the share of the rows of the fit that are answered wrongly; None after partial_fit"),
        "class_factor_": Tensor(("K",), low=0, optional=True, doc="the factor of each class's rows, from class_weight; None where all are 1"),
    }  # fmt: skip

    zero_one_curve_: Floats = attribute()
    error_: float | None = attribute()
    class_factor_: Floats | None = attribute()

    @property
    def out_activation_(self) -> str:
        """The function that makes probabilities of the scores."""
        self._check_fitted()
        if not _has_probabilities(self):
            return "identity"
        return "logistic" if self._outputs_of_fit() == 1 else "softmax"

    # --- learning ---------------------------------------------------------------------------------------------------

    def _partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go through more rows once, from the present weights; rows are standardised as those of the first call were.

        `classes` lists every class that can ever occur; the first call needs it, later calls may repeat it.
        """
        refuse_unlisted(self, classes)
        refuse_balanced(self)
        return self._fit_more(X, y, sample_weight, classes)

    _partial_fit.__name__ = "partial_fit"
    partial_fit = AvailableIf(_partial_fit, supports_partial_fit, NO_PARTIAL_FIT)

    def _loss_name(self) -> str:
        return "signs" if self.loss == "squared" else self.loss

    def _outputs_of_fit(self) -> int:
        K = len(self.classes_)
        return 1 if K == 2 else K

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels:
        return self._classes_of(engine, rows, afresh, classes)

    def _class_factors(self, found: NetworkSurvey) -> Floats | None:
        factor = class_multipliers(self.class_weight, self.classes_, found.weight)
        refuse_absent(self.classes_, found.weight * factor, not self._partial)
        self.class_factor_ = None if np.all(factor == 1) else factor
        return self.class_factor_

    def _keep_wrong(self, wrong: Floats) -> None:
        self.zero_one_curve_ = wrong

    def _wrong_curve(self) -> Floats:
        return self.zero_one_curve_

    def _keep_error(self, wrong: float) -> None:
        self.error_ = min(1.0, wrong)

    # --- answering --------------------------------------------------------------------------------------------------

    def _predict_block(self, block: Block) -> Array:
        F = self._f(block)
        labels: Array = self.classes_[(F[:, 0] > 0).view(np.int8) if F.shape[1] == 1 else F.argmax(axis=1)]
        return labels

    def decision_function(self, X: Any) -> Array:
        """f(x) of each row, > 0 for the greater of two classes; (n, K) for more classes."""
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        F = self._f(block)
        return F[:, 0] if F.shape[1] == 1 else F

    def _proba_block(self, block: Block) -> Array:
        F = self._f(block)
        if F.shape[1] > 1:
            return np.exp(log_softmax(F))
        return np.hstack([activated("logistic", -F), activated("logistic", F)])

    def _why_no_probabilities(self) -> str | None:
        return None if _has_probabilities(self) else "only loss='log' has probabilities"

    # --- file -------------------------------------------------------------------------------------------------------

    def _restore(self, record: Record) -> None:
        if record.classes is not None and len(record.classes) < 2:
            raise ModelFileError("The model file's network has fewer than two classes.")
        super()._restore(record)
        if self.whole_ != (self.error_ is not None) or (self.error_ or 0.0) > 1:
            raise ModelFileError("The model file's share of errors is not that of a whole fit.")


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

    title = "Neural network"
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
        return self._fit_more(X, y, sample_weight, None)

    _partial_fit.__name__ = "partial_fit"
    partial_fit = AvailableIf(_partial_fit, supports_partial_fit, NO_PARTIAL_FIT)

    def _loss_name(self) -> str:
        return "squared"

    def _outputs_of_fit(self) -> int:
        return 1

    def _keep_target(self, standard: Standardisation) -> None:
        self.target_mean_, self.target_scale_ = standard.target_mean, standard.target_scale

    def _standard(self) -> Standardisation:
        return Standardisation(self.mean_, self.scale_, self.target_mean_, self.target_scale_)

    def _predict_block(self, block: Block) -> Array:
        return self._f(block)[:, 0]

    def _restore(self, record: Record) -> None:
        if not record.facts["target_scale_"] > 0:
            raise ModelFileError("The model file's target has a scale of zero.")
        super()._restore(record)
