"""The hyper-parameters that trees and forests share: their table, and what they mean for the rows at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2, sqrt
from numbers import Integral, Real
from typing import Any

import numpy as np

from assay.errors import ParameterError
from assay.numerics import Array
from assay.params import N_JOBS, Choice, Flag, Free, Param, Range

UNLIMITED = 1 << 40
TOO_WIDE = "the words of a text are thousands of sparse columns, and trees take dense ones"


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


def _columns(value: Any) -> bool:
    plain = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    return plain and all(isinstance(v, str | Integral) for v in value)


SHARED: Mapping[str, Param] = {
    "max_depth": Range(kind=int, low=1, words=(None,), doc="most splits on the way to a leaf; None: no limit"),
    "min_samples_split": Free(
        what="a whole number ≥ 2, or a share in (0, 1]",
        check=_count_or_share(2),
        doc="least rows of a node that is split",
    ),
    "min_samples_leaf": Free(
        what="a whole number ≥ 1, or a share in (0, 1]", check=_count_or_share(1), doc="least rows of a leaf"
    ),
    "min_weight_fraction_leaf": Range(low=0, high=0.5, doc="least share of the weight in a leaf"),
    "max_features": Free(
        what="a whole number ≥ 1, or a share in (0, 1]",
        words=("sqrt", "log2", None),
        check=_count_or_share(1),
        doc="columns that are tried at a node; None: all",
    ),
    "max_leaf_nodes": Range(kind=int, low=2, words=(None,), doc="most leaves: the splits that gain most are kept"),
    "min_impurity_decrease": Range(low=0, doc="least gain of a split, times the node's share of the weight"),
    "bins": Range(
        kind=int,
        low=2,
        high=255,
        words=("auto", "exact"),
        doc="'exact': all thresholds are tried; a number: those between so many quantile bins; 'auto': exact up to 65 024 rows",
    ),
    "categorical_features": Free(
        what="a list of columns, by name or number",
        words=(None,),
        check=_columns,
        doc="columns of whole numbers 0 … 254 that name categories; columns of text always do",
    ),
    "monotonic_cst": Free(
        what="a list with 1, 0 or −1 for each column, or a dict {column: 1 or −1}",
        words=(None,),
        check=_trends,
        doc="columns with which the answer must not fall (1) or not rise (−1)",
    ),
    "random_state": Range(kind=int, low=0, words=(None,), doc="seed of what is drawn at random; None: 0"),
    "ccp_alpha": Range(low=0, doc="prune splits that gain less than this for each leaf"),
    "n_jobs": N_JOBS,
}
CUT: Mapping[str, Param] = {
    "ccp_alpha": Range(
        low=0,
        words=("cv",),
        doc="prune splits that gain less than this for each leaf; 'cv': chosen by cross-validation",
    ),
    "folds": Range(kind=int, low=2, doc="folds of ccp_alpha='cv'"),
}
SPLITTER = Choice(options=("best", "random"), doc="the best threshold of each column, or a random one")
BOOTSTRAP = Flag(doc="draw each tree's rows with replacement; otherwise without")
MOST_TREES = 100_000
FOREST: Mapping[str, Param] = {
    "n_estimators": Range(
        kind=int,
        low=1,
        high=MOST_TREES,
        words=("auto",),
        doc="trees; 'auto': until the out-of-bag error no longer falls",
    ),
    "bootstrap": BOOTSTRAP,
    "max_samples": Free(
        what="a whole number ≥ 1, or a share > 0",
        words=(None,),
        check=lambda v: isinstance(v, int | float | np.number) and not isinstance(v, bool) and bool(0 < v < np.inf),
        doc="m, the rows drawn for each tree; None: as many as there are",
    ),
    "oob_score": Flag(doc="judge each row by the trees that did not see it"),
    "warm_start": Flag(doc="keep the trees of the fit before and add to them"),
    "verbose": Range(kind=int, low=0, doc="accepted for scikit-learn's sake"),
}


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
            raise ParameterError(f"monotonic_cst has {len(asked)} entries for {d} columns: give one for each.")
        trend[:] = np.asarray(asked, dtype=np.int64)
    return trend
