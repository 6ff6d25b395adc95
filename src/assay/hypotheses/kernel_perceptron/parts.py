"""The kernel perceptron's hyper-parameters, the learnt parts that its model file holds, and what these must be to one another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ModelFileError
from assay.hypotheses.perceptron_answers import mean_weights
from assay.kernels import KERNELS
from assay.labels import class_multipliers
from assay.learner import Fact, Tensor
from assay.params import CLASS_WEIGHT, N_JOBS, Choice, Flag, Free, Param, Range

if TYPE_CHECKING:
    from assay.hypotheses.kernel_perceptron.model import KernelPerceptron

PARAMS: Mapping[str, Param] = {
    "kernel": Free(
        doc="the kernel function; 'affine' makes it the perceptron",
        what="a function f(X, Z) of two arrays of rows",
        words=KERNELS,
        check=callable,
    ),
    "gamma": Range(
        low=0,
        open_low=True,
        open_high=True,
        words=("scale", "auto", "median"),
        doc="γ of rbf, laplacian, poly and sigmoid; 'scale': 1/(columns · variance), 'auto': 1/columns, 'median': by the median distance",
    ),
    "degree": Range(low=0, open_high=True, doc="the power of poly"),
    "coef0": Range(low=-math.inf, high=math.inf, open_low=True, open_high=True, doc="the constant of poly and sigmoid"),
    "order": Choice(options=("cyclic", "first-mistake"), doc="which row is visited next"),
    "max_iter": Range(kind=int, low=1, doc="most passes over the rows (order='first-mistake': most searches)"),
    "variant": Choice(
        options=("last", "averaged"), doc="answer with the last coefficients, or their average over all visits"
    ),
    "budget": Range(
        kind=int,
        low=1,
        words=(None,),
        doc="most rows with a coefficient; where they are full, one drawn at random goes",
    ),
    "shuffle": Flag(doc="order='cyclic': visit the rows of a block in a new random order in each pass"),
    "random_state": Range(
        kind=int,
        low=0,
        high=2**63,
        open_high=True,
        words=(None,),
        doc="seed of shuffles and of what a budget drops; None: 0",
    ),
    "class_weight": CLASS_WEIGHT,
    "n_jobs": N_JOBS,
}
LAYOUT: Mapping[str, Tensor | Fact] = {
    "support_": Tensor(("s",), dtype="<i8", low=0),
    "support_vectors_": Tensor(("s", "e")),
    "dual_coef_": Tensor(("p", "s")),
    "last_coef_": Tensor(("p", "s"), optional=True),
    "drift_": Tensor(("p", "s"), optional=True),
    "class_factor_": Tensor(("K",), low=0),
    "gamma_": Fact(float, low=0),
    "centre_": Tensor(("d",), optional=True),
    "n_iter_": Fact(int, low=0),
    "t_": Fact(int, low=0),
    "mistakes_": Fact(int, low=0),
    "dropped_": Fact(int, low=0),
    "seen_": Fact(int, low=0),
    "converged_": Fact(bool),
    "history_": Fact(str),
    "step_sum_": Fact(float, low=0),
    "step_squares_": Fact(float, low=0),
    "asked_": Tensor(("q",), dtype="<i8", low=0, optional=True),
    "asked_values_": Tensor(("q", "p"), optional=True),
    "radius_": Fact(float, low=0, optional=True),
    "least_margin_": Fact(float, optional=True),
    "norm_": Fact(float, low=0, optional=True),
    "rounding_": Fact(float, low=0, optional=True),
    "certain_": Fact(bool, optional=True),
    "rows_": Fact(int, low=0, optional=True),
    "weight_": Fact(float, low=0, optional=True),
    "wrong_": Fact(int, low=0, optional=True),
    "wrong_weight_": Fact(float, low=0, optional=True),
}
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
