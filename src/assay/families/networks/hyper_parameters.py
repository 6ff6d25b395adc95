"""Hyper-parameters and learnt parts that both networks share, and the shape and the plan that they make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from assay.errors import ParameterError
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import Choice, Free, Range, param
from assay.families.networks.architecture import NetworkShape, count

MOST_UNITS = 1 << 20
MOST_WEIGHTS = 1 << 29  # 2 GB of float32, of which a fit needs some ten times as much
DIRECTIONS = 4  # along which slopes are compared with differences
MEASURES = 9 + 4 * DIRECTIONS


def seed_of(model: Any) -> int:
    """random_state as compiled loops take it: the lowest 63 bits; None: 0."""
    return int(model.random_state or 0) & ((1 << 63) - 1)


def hidden_sizes(given: Any) -> tuple[int, ...]:
    """The units of the hidden layers; a single number is one layer."""
    return (int(given),) if isinstance(given, Integral) else tuple(int(units) for units in given)


def are_sizes(given: Any) -> bool:
    many = [given] if isinstance(given, Integral) else given
    if not isinstance(many, Sequence | np.ndarray) or len(many) > 60:
        return False
    return all(isinstance(m, Integral) and not isinstance(m, bool) and 1 <= int(m) <= MOST_UNITS for m in many)


@dataclass(frozen=True)
class LayerSizes(Free):
    """Units of layers, in the shell as people write them.

    >>> sizes = LayerSizes("a list of whole numbers")
    >>> sizes.parse("20,10"), sizes.parse("(20,)"), sizes.parse("none")
    ([20, 10], [20], 'none')
    """

    def parse(self, text: str) -> Any:
        words = text.strip().strip("()[]").replace(",", " ").split()
        return (
            [int(word) for word in words] if text and all(word.isdecimal() for word in words) else super().parse(text)
        )


DROPOUT = param("of mini-batches: share of hidden units left out by chance in each", default=0.0, check=Range(low=0, high=1, open_high=True))  # fmt: skip
DTYPE = param("numbers of mini-batches; solver='lbfgs' is always float64", default="float32", check=Choice(("float32", "float64")))  # fmt: skip
OUTPUT_BIAS = param("whether the outputs have biases; the lecture notes' network has none", default=True)
STANDARDIZE = param("bring columns (and a number to predict) to mean 0 and deviation 1 inside", default=True)
MAX_SECONDS = param("the fit ends then with what it has; None: no limit", default=None, check=Range(low=0, open_low=True, high=math.inf, open_high=True, words=(None,)))  # fmt: skip
LAYOUT: Layout = {
    "weights_": Tensor(("p",), doc="all weights and biases in one array of p numbers, for standardised columns"),
    "mean_": Tensor(("d",), doc="the mean of each column, taken from it inside; zeros with standardize=False"),
    "scale_": Tensor(("d",), low=0, doc="the deviation of each column, by which it is divided inside; ones with standardize=False"),
    "loss_curve_": Tensor(("e",), low=0, doc="the mean loss in each of the e epochs, as seen before each step"),
    "validation_scores_": Tensor(("e",), optional=True, doc="of early_stopping: the score of the rows held out after each epoch; else None"),
    "n_iter_": Fact(int, low=1, doc="the epochs of the fit (solver='lbfgs': steps)"),
    "best_epoch_": Fact(int, low=1, doc="the epoch of least loss, or of the best score of the rows held out"),
    "kept_best_": Fact(bool, optional=True, doc="True where a fit that was ended has the weights of its best epoch, and not of the last; else None"),
    "best_loss_": Fact(float, low=0, optional=True, doc="the least loss of all epochs"),
    "loss_": Fact(float, low=0, optional=True, doc="the mean loss on the rows of the fit with the final weights; None after partial_fit"),
    "measured_": Tensor((MEASURES,), optional=True, doc="what the certificate states of loss, slopes and gradient, in one array"),
    "batch_": Fact(int, low=1, doc="the number of rows of a mini-batch"),
    "t_": Fact(int, low=0, doc="the rows seen so far, over all epochs"),
    "rows_": Fact(int, low=1, doc="the number of rows of positive weight"),
    "weight_": Fact(float, low=0, doc="the total weight of the rows"),
    "converged_": Fact(bool, doc="whether the fit ended by itself, and not at a limit"),
    "whole_": Fact(bool, doc="whether one fit saw all rows; False after partial_fit"),
    "memory_": Tensor(("q",), optional=True, doc="the optimiser's momentum, from which partial_fit goes on; None with solver='lbfgs'"),
    "batches_": Fact(int, low=0, doc="the number of mini-batches so far"),
}  # fmt: skip


def shape_of(model: Any, given: Any, outputs: int) -> NetworkShape:
    """The shape that hyper-parameters specify."""
    widths = (int(model.n_features_in_), *hidden_sizes(given["hidden_layer_sizes"]), outputs)
    if count(widths) > MOST_WEIGHTS:
        raise ParameterError(
            f"{type(model).__name__}: {widths[0]} columns and hidden_layer_sizes={given['hidden_layer_sizes']!r} make {count(widths):,} weights, and at most "
            f"{MOST_WEIGHTS:,} are possible: take fewer units, or fewer columns."
        )
    return NetworkShape(widths, given["activation"], bool(given["output_bias"]))


@dataclass(frozen=True)
class TrainingPlan:
    """The hyper-parameters of a fit, resolved."""

    solver: str
    alpha: float
    batch: int
    schedule: str
    rate: float
    power: float
    most: int
    shuffle: bool
    tol: float
    momentum: float
    nesterov: bool
    early: bool
    beta1: float
    beta2: float
    small: float
    patience: int
    max_evaluations: int
    dropout: float
    seed: int

    @classmethod
    def of(cls, model: Any, batch: int) -> TrainingPlan:
        """The plan of a model's hyper-parameters."""
        return cls(
            model.solver,
            float(model.alpha),
            batch,
            model.learning_rate if model.solver == "sgd" else "constant",
            float(model.learning_rate_init),
            float(model.power_t),
            int(model.max_iter),
            bool(model.shuffle),
            float(model.tol),
            float(model.momentum),
            bool(model.nesterovs_momentum),
            bool(model.early_stopping),
            float(model.beta_1),
            float(model.beta_2),
            float(model.epsilon),
            int(model.n_iter_no_change),
            int(model.max_fun),
            float(model.dropout),
            seed_of(model),
        )

    def once(self) -> TrainingPlan:
        """The plan of a single epoch over some more rows."""
        return replace(self, most=1, early=False)
