"""Hyper-parameters and learnt parts that both networks share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from assay.layout import Fact, Layout, Tensor
from assay.networks import ACTIVATIONS
from assay.params import N_JOBS, Choice, Flag, Free, Param, Range

MOST_UNITS = 1 << 20
DIRECTIONS = 4  # along which slopes are compared with differences
MEASURES = 9 + 4 * DIRECTIONS


def hidden_sizes(given: Any) -> tuple[int, ...]:
    """The units of the hidden layers; a single number is one layer."""
    return (int(given),) if isinstance(given, Integral) else tuple(int(units) for units in given)


def _are_sizes(given: Any) -> bool:
    many = [given] if isinstance(given, Integral) else given
    if not isinstance(many, Sequence | np.ndarray) or len(many) > 60:
        return False
    return all(isinstance(m, Integral) and not isinstance(m, bool) and 1 <= int(m) <= MOST_UNITS for m in many)


@dataclass(frozen=True, kw_only=True)
class Sizes(Free):
    """Units of layers, in the shell as people write them.

    >>> PARAMS["hidden_layer_sizes"].parse("20,10"), PARAMS["hidden_layer_sizes"].parse("(20,)"), PARAMS["hidden_layer_sizes"].parse("none")
    ([20, 10], [20], 'none')
    """

    def parse(self, text: str) -> Any:
        words = text.strip().strip("()[]").replace(",", " ").split()
        return (
            [int(word) for word in words] if text and all(word.isdecimal() for word in words) else super().parse(text)
        )


def _share(doc: str, *, open_low: bool = False) -> Range:
    return Range(low=0, open_low=open_low, high=1, open_high=True, doc=doc)


def _positive(doc: str, **more: Any) -> Range:
    return Range(low=0, open_low=True, high=math.inf, open_high=True, doc=doc, **more)


PARAMS: dict[str, Param] = {
    "hidden_layer_sizes": Sizes(
        what="a list of whole numbers ≥ 1, one a layer, such as (20, 10)",
        check=_are_sizes,
        doc="units of each hidden layer; none: a linear model",
    ),
    "activation": Choice(options=ACTIVATIONS, doc="what a hidden unit makes of its sum"),
    "solver": Choice(
        options=("adam", "sgd", "lbfgs"), doc="mini-batches by Adam or plain descent; or all rows at once (small data)"
    ),
    "alpha": Range(low=0, high=math.inf, open_high=True, doc="strength of ½‖W‖², of the weights of standardised columns"),
    "batch_size": Range(kind=int, low=1, words=("auto",), doc="rows of a mini-batch; 'auto': 200, or all where they are fewer"),
    "learning_rate": Choice(
        options=("constant", "invscaling", "adaptive"),
        doc="of solver='sgd': as given, falling with the rows seen, or a fifth whenever the loss stays",
    ),
    "learning_rate_init": _positive("how far a step goes at first"),
    "power_t": Range(doc="of learning_rate='invscaling': rate / (rows seen)^power_t"),
    "max_iter": Range(kind=int, low=1, doc="most epochs (solver='lbfgs': steps)"),
    "shuffle": Flag(doc="visit the rows of each block in a new order in each epoch"),
    "random_state": Range(kind=int, low=0, words=(None,), doc="seed of first weights, orders and dropout; None: 0"),
    "tol": Range(low=0, doc="a loss that falls by less for n_iter_no_change epochs ends the fit (lbfgs: the greatest slope)"),
    "verbose": Flag(doc="say a line a second on standard error: epoch, loss, time left"),
    "warm_start": Flag(doc="begin at the weights of the fit before"),
    "momentum": Range(low=0, high=1, doc="of solver='sgd': share of the last step that is kept"),
    "nesterovs_momentum": Flag(doc="of solver='sgd': look ahead by the momentum"),
    "early_stopping": Flag(doc="hold rows out, end when they are answered no better, and keep the best epoch's weights"),
    "validation_fraction": _share("of early_stopping: the share of rows held out", open_low=True),
    "beta_1": _share("of solver='adam': memory of the mean slope"),
    "beta_2": _share("of solver='adam': memory of the mean squared slope"),
    "epsilon": _positive("of solver='adam': added to the root of the mean squared slope"),
    "n_iter_no_change": Range(kind=int, low=1, doc="epochs without improvement after which the fit ends"),
    "max_fun": Range(kind=int, low=1, doc="of solver='lbfgs': most looks at all rows"),
    "dropout": _share("of mini-batches: share of hidden units left out by chance in each"),
    "dtype": Choice(options=("float32", "float64"), doc="numbers of mini-batches; solver='lbfgs' is always float64"),
    "output_bias": Flag(doc="whether the outputs have biases; the lecture notes' network has none"),
    "standardize": Flag(doc="bring columns (and a number to predict) to mean 0 and deviation 1 inside"),
    "max_seconds": _positive("the fit ends then with what it has; None: no limit", words=(None,)),
    "n_jobs": N_JOBS,
}  # fmt: skip
LAYOUT: Layout = {
    "weights_": Tensor(("p",)),
    "mean_": Tensor(("d",)),
    "scale_": Tensor(("d",), low=0),
    "loss_curve_": Tensor(("e",), low=0),
    "validation_scores_": Tensor(("e",), optional=True),
    "n_iter_": Fact(int, low=1),
    "best_epoch_": Fact(int, low=1),
    "kept_best_": Fact(bool, optional=True),  # a fit that was ended has the weights of its best epoch, not of the last
    "best_loss_": Fact(float, low=0, optional=True),
    "loss_": Fact(float, low=0, optional=True),
    "measured_": Tensor((MEASURES,), optional=True),
    "batch_": Fact(int, low=1),
    "t_": Fact(int, low=0),
    "rows_": Fact(int, low=1),
    "weight_": Fact(float, low=0),
    "converged_": Fact(bool),
    "whole_": Fact(bool),
    "memory_": Tensor(("q",), optional=True),
    "batches_": Fact(int, low=0),
}
