"""The hyper-parameters that trees and forests share: their table, and what they mean for the rows at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log2, sqrt
from numbers import Integral, Real
from typing import Any

import numpy as np

from assay.errors import ParameterError
from assay.estimator.params import CLASS_WEIGHT, Choice, Flag, Free, Range, Seed, param
from assay.numerics import Array

UNLIMITED = 1 << 40


@dataclass(frozen=True, kw_only=True)
class FlagOrFunction(Flag):
    """True or False, or a function of truths and answers."""

    def accepts(self, value: Any) -> bool:
        return callable(value) or super().accepts(value)

    def describe(self) -> str:
        return f"{super().describe()} or a function of truths and answers"


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _count_or_share(least: int) -> Any:
    def good(value: Any) -> bool:
        if _whole(value):
            return bool(value >= least)
        return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) <= 1

    return good


def _trends(value: Any) -> bool:
    given = list(value.values()) if isinstance(value, Mapping) else value
    try:
        return bool(np.isin(np.asarray(given, dtype=np.float64), (-1, 0, 1)).all()) and np.ndim(given) == 1
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True, kw_only=True)
class Trends(Free):
    """−1, 0 or 1 for each column."""

    def refusal(self, name: str, value: Any) -> str:
        both = f"{name} must be None or an array-like of -1, 0 or 1, one for each column, but holds {value!r}"
        return f"{name}={value!r} is not possible: it must be {self.describe()}. ({both}.)"


def _columns(value: Any) -> bool:
    plain = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    return plain and all(isinstance(v, str | Integral) for v in value)


_of_classes = CLASS_WEIGHT.check
CRITERION_OF_CLASSES = param("impurity u; 'entropy' is that of the lecture notes", default="gini", check=Choice(("gini", "entropy", "log_loss")))  # fmt: skip
CRITERION_OF_NUMBERS = param("the error that a split makes small: squared ('friedman_mse' is another name of it), absolute, or the Poisson deviance", default="squared_error", check=Choice(("squared_error", "absolute_error", "poisson", "friedman_mse")))  # fmt: skip
MAX_DEPTH = param("most splits on the way to a leaf; None: no limit", default=None, check=Range(int, low=1, words=(None,)))  # fmt: skip
MIN_SAMPLES_SPLIT = param("least rows of a node that is split; smaller nodes become leaves", default=2, check=Free("a whole number ≥ 2, or a share in (0, 1]", check=_count_or_share(2)))  # fmt: skip
MIN_SAMPLES_LEAF = param("least rows of a leaf: splits that would leave fewer on a side are not made", default=1, says="leaves of {}+ rows", check=Free("a whole number ≥ 1, or a share in (0, 1]", check=_count_or_share(1)))  # fmt: skip
MIN_WEIGHT_FRACTION_LEAF = param("least share of the weight of all rows in a leaf", default=0.0, check=Range(low=0, high=0.5))  # fmt: skip
MAX_FEATURES = param("columns that are tried at a node; None: all", default="sqrt", check=Free("a whole number ≥ 1, or a share in (0, 1]", words=("sqrt", "log2", None), check=_count_or_share(1)))  # fmt: skip
MAX_LEAF_NODES = param("most leaves: the splits that gain most are kept", default=None, says="{} leaves", check=Range(int, low=2, words=(None,)))  # fmt: skip
MIN_IMPURITY_DECREASE = param("least gain of a split, times the node's share of the weight", default=0.0, check=Range(low=0))  # fmt: skip
BINS = param(
    "'exact': all thresholds are tried; a number: those between so many quantile bins; 'auto': exact up to 65 024 rows",
    default="auto",
    check=Range(int, low=2, high=255, words=("auto", "exact")),
)
CATEGORICAL_FEATURES = param(
    "columns of whole numbers 0 … 254 that name categories; columns of text always do",
    default=None,
    check=Free("a list of columns, by name or number", words=(None,), check=_columns),
)
CLASS_WEIGHTS = replace(
    CLASS_WEIGHT,
    what="a dict {class: weight ≥ 0}, of several targets a list of such",
    check=lambda value: (
        all(map(_of_classes, value)) if isinstance(value, list | tuple) and value else _of_classes(value)
    ),
)
MONOTONIC_CST = param(
    "columns with which the answer must not fall (1) or not rise (−1)",
    default=None,
    check=Trends("a list with 1, 0 or −1 for each column, or a dict {column: 1 or −1}", words=(None,), check=_trends),
)
RANDOM_STATE = param("seed of what is drawn at random; None: 0", default=None, check=Seed(words=(None,)))
CCP_ALPHA = param("prune splits that gain less than this for each leaf", default=0.0, check=Range(low=0))
PRUNING_ALPHA = param("prune splits that gain less than this for each leaf; 'cv': chosen by cross-validation", default=0.0, check=Range(low=0, words=("cv",)))  # fmt: skip
FOLDS = param("parts into which ccp_alpha='cv' cuts the rows, to leave out each in turn", default=5, check=Range(int, low=2))  # fmt: skip
SPLITTER = param("the best threshold of each column, or a random one", default="best", check=Choice(("best", "random")))
BOOTSTRAP = param("draw each tree's rows with replacement; otherwise without", default=True)
N_ESTIMATORS = param("the number of trees; 'auto': until the out-of-bag error no longer falls", default=100, says="{} trees", kw_only=False, check=Range(int, low=1, high=100_000, words=("auto",)))  # fmt: skip
VOTING = param("mean of the leaves' shares, or the share of trees as in the lecture notes", default="soft", check=Choice(("soft", "majority")))  # fmt: skip
QUANTILES = param("keep which rows are in which leaf, for predict_quantiles", default=False)
MAX_SAMPLES = param(
    "m, the rows drawn for each tree; None: as many as there are",
    default=None,
    check=Free(
        "a whole number ≥ 1, or a share > 0",
        words=(None,),
        check=lambda v: isinstance(v, int | float | np.number) and not isinstance(v, bool) and bool(0 < v < np.inf),
    ),
)
OOB_SCORE = param("judge each row by the trees that did not see it; a function of truths and answers gives oob_score_", default=True, check=FlagOrFunction())  # fmt: skip
WARM_START = param("keep the trees of the fit before and add to them", default=False)
VERBOSE = param("accepted for scikit-learn's sake; it changes nothing", default=0, check=Range(int, low=0))


def columns_asked(asked: Any, d: int, name: str) -> int:
    """How many columns `max_features` means."""
    if asked is None:
        return d
    if isinstance(asked, str):
        return max(1, int(sqrt(d) if asked == "sqrt" else log2(d)))
    if _whole(asked):
        if asked > d:
            raise ParameterError(
                f"{name}: max_features={asked} is more than the {d} columns there are: give at most {d}, a share such as 0.5, or None."
            )
        return int(asked)
    return max(1, int(float(asked) * d))


def rows_asked(asked: Any, n: int, least: int) -> int:
    """How many rows a number or share means."""
    return int(asked) if _whole(asked) else max(least, ceil(float(asked) * n))


def number_of(column: Any, names: Sequence[str] | None, d: int, what: str) -> int:
    """The number of a column that is given by name or number."""
    if isinstance(column, str):
        if names is None or column not in names:
            there = "the columns have no names" if names is None else f"there are: {', '.join(list(names)[:8])}"
            raise ParameterError(f"{what} names a column {column!r} that is not there; {there}.")
        return list(names).index(column)
    if not 0 <= int(column) < d:
        raise ParameterError(f"{what} names column {column}, but there are {d} columns, 0 to {d - 1}.")
    return int(column)


def trends_of(asked: Any, names: Sequence[str] | None, d: int) -> Array:
    """1, 0, −1 for each column."""
    trend = np.zeros(d, dtype=np.int64)
    if isinstance(asked, Mapping):
        for column, direction in asked.items():
            trend[number_of(column, names, d, "monotonic_cst")] = direction
    elif asked is not None:
        if len(asked) != d:
            raise ParameterError(
                f"monotonic_cst has shape {len(asked)} but the input data X has {d} features. Give one entry for each."
            )
        trend[:] = np.asarray(asked, dtype=np.int64)
    return trend
