"""The kernel perceptron's hyper-parameters, the learnt parts that its model file holds, and what these must be to one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ModelFileError
from assay.hypotheses.perceptron_answers import mean_weights
from assay.labels import class_multipliers
from assay.learner import Fact, Tensor

if TYPE_CHECKING:
    from assay.hypotheses.kernel_perceptron.model import KernelPerceptron

LAYOUT: Mapping[str, Tensor | Fact] = {
    "support_": Tensor(("s",), dtype="<i8", low=0, doc="the numbers of the rows that have a coefficient; s is how many there are"),
    "support_vectors_": Tensor(("s", "e"), doc="the rows that have a coefficient; without columns for kernel='precomputed'"),
    "dual_coef_": Tensor(("p", "s"), doc="the coefficients that answer: one row for two classes, else one a class"),
    "last_coef_": Tensor(("p", "s"), optional=True, doc="of variant='averaged': the last coefficients, from which partial_fit goes on"),
    "drift_": Tensor(("p", "s"), optional=True, doc="of variant='averaged': the sum from which the average is made"),
    "class_factor_": Tensor(("K",), low=0, doc="the factor of each class's rows, from class_weight"),
    "gamma_": Fact(float, low=0, doc="the γ of the kernel that was used"),
    "centre_": Tensor(("d",), optional=True, doc="the point that is taken from every row, where that keeps products small"),
    "n_iter_": Fact(int, low=0, doc="the passes over the rows (order='first-mistake': searches)"),
    "t_": Fact(int, low=0, doc="the rows visited so far, over all passes"),
    "mistakes_": Fact(int, low=0, doc="the mistakes made on the way, each of which changed a coefficient"),
    "dropped_": Fact(int, low=0, doc="the coefficients that went because the budget was full"),
    "seen_": Fact(int, low=0, doc="the number of rows of all fits so far"),
    "converged_": Fact(bool, doc="whether the last pass made no mistake"),
    "history_": Fact(str, doc="'fit' for one fit of all rows, 'pieces' where partial_fit brought rows"),
    "step_sum_": Fact(float, low=0, doc="the sum of all corrections' weights"),
    "step_squares_": Fact(float, low=0, doc="the sum of the squares of all corrections' weights"),
    "asked_": Tensor(("q",), dtype="<i8", low=0, optional=True, doc="the numbers of some rows whose decision values the certificate states"),
    "asked_values_": Tensor(("q", "p"), optional=True, doc="the decision values at these rows"),
    "radius_": Fact(float, low=0, optional=True, doc="R, the greatest length of a row in feature space"),
    "least_margin_": Fact(float, optional=True, doc="the least t·f(x) over all rows; positive where all are answered rightly"),
    "norm_": Fact(float, low=0, optional=True, doc="the length of the weights in feature space"),
    "rounding_": Fact(float, low=0, optional=True, doc="how far rounding can have moved a decision value"),
    "certain_": Fact(bool, optional=True, doc="whether no outcome of a visit hung on rounding"),
    "rows_": Fact(int, low=0, optional=True, doc="the number of rows of positive weight"),
    "weight_": Fact(float, low=0, optional=True, doc="the total weight of these rows"),
    "wrong_": Fact(int, low=0, optional=True, doc="the rows of the fit that are answered wrongly at the end"),
    "wrong_weight_": Fact(float, low=0, optional=True, doc="the weight of the rows that are answered wrongly"),
}  # fmt: skip
LOOKED = (
    *("radius_", "least_margin_", "norm_", "rounding_", "certain_"),
    *("rows_", "weight_", "wrong_", "wrong_weight_", "asked_", "asked_values_"),
)


def check_parts(model: KernelPerceptron) -> None:
    """Refuse a file whose parts do not belong together."""
    K, d = len(model.classes_), model.n_features_in_
    given = model.kernel == "precomputed"
    if model.dual_coef_.shape[0] != (1 if K == 2 else K) or model.support_vectors_.shape[1] != (0 if given else d):
        raise ModelFileError(f"The model file's coefficients and rows do not fit {K} classes and {d} columns.")
    if np.any(np.diff(model.support_) <= 0) or np.any(model.support_ >= (d if given else model.seen_)):
        raise ModelFileError("The model file's row numbers are not in order or beyond the rows of the fit.")
    if not (model.gamma_ > 0 and (model.gamma == model.gamma_ or isinstance(model.gamma, str) or _no_gamma(model))):
        raise ModelFileError("The model file's gamma is not the one that was asked for.")
    if model.budget is not None and len(model.support_) > model.budget:
        raise ModelFileError(f"The model file keeps {len(model.support_)} rows with a budget of {model.budget}.")
    if not isinstance(model.class_weight, str) and not np.array_equal(
        model.class_factor_, class_multipliers(model.class_weight, model.classes_, np.ones(K))
    ):
        raise ModelFileError(
            "The model file's weights of the classes are not those of its hyper-parameter class_weight."
        )
    averaged = {"last_coef_", "drift_"} & set(vars(model))
    if averaged != ({"last_coef_", "drift_"} if model.variant == "averaged" else set()):
        raise ModelFileError(f"The model file's parts are not those of variant={model.variant!r}.")
    if averaged and not np.array_equal(model.dual_coef_, mean_weights(model.last_coef_, model.drift_, model.t_)):
        raise ModelFileError("The model file's coefficients are not the average that its parts give.")
    _check_history(model)


def _no_gamma(model: KernelPerceptron) -> bool:
    return model.kernel in ("linear", "affine", "precomputed")


def _check_history(model: KernelPerceptron) -> None:
    there = {name for name in LOOKED if hasattr(model, name)}
    if model.history_ not in ("fit", "pieces") or there != (set(LOOKED) if model.history_ == "fit" else set()):
        raise ModelFileError(f"The model file's parts do not fit a history {model.history_!r}.")
    if model.history_ == "fit":
        asked = model.asked_
        if np.any(asked >= model.seen_) or np.any(np.diff(asked) <= 0):
            raise ModelFileError("The model file's rows that were asked are not in order or beyond those of the fit.")
        if not model.weight_ > 0 or model.wrong_ > model.rows_ or model.rows_ > model.seen_:
            raise ModelFileError("The model file's counts of rows and mistakes cannot be.")
