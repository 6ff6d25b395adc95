"""Hyper-parameters drawn from what their declarations allow: ends of ranges and words first of all.

A hyper-parameter that takes anything (`Free`) says in `FREE` what is tried; that none is forgotten is a law of its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from fuzz.tables import Rng, maybe, one_of

from assay.estimator.params import Choice, Flag, Param, Range, Seed
from assay.families import model_class

#: what says how much is computed, where, or printed, and not what is learnt
LEFT = {
    "n_jobs",
    "verbose",
    "cache_size",
    "max_seconds",
    "warm_start",
    "copy_X",
    "max_fun",
    "validation_rows",
    "refit",
    "solver_options",
    "use_legacy_attributes",
    "covariance_estimator",  # an object of the user's, whose answer no claim is about
}
#: what all models but these refuse
ONLY = {"positive": {"linear-regression", "ridge"}}
#: the most of whole numbers that cost time
MOST = {
    "n_estimators": 6,
    "max_iter": 300,
    "n_components": 20,
    "metric_steps": 10,
    "n_init": 3,
    "folds": 6,
    "n_rectangles": 3,
    "degree": 5,
    "n_neighbors": 12,
    "max_voters": 50,
    "budget": 12,
}
#: what decides which algorithm runs is drawn more often than the rest
OFTEN = {"kernel": 0.6, "loss": 0.4, "metric": 0.4, "criterion": 0.4, "covariance": 0.3, "columns": 0.4, "C": 0.25}
#: what is always said, so that a fit is small
ALWAYS: dict[str, dict[str, Any]] = {
    "n_estimators": {"n_estimators": 4},
    "n_components": {},
    "hidden_layer_sizes": {"hidden_layer_sizes": [4], "max_iter": 15},
    "metric_steps": {"metric_steps": 5},
    "max_voters": {"max_iter": 30},
    "budget": {"max_iter": 30},
}


def _weights_of_classes(rng: Rng, classes: np.ndarray, d: int) -> Any:
    given = {label.item(): float(one_of(rng, 0.5, 1, 3, 1e-3, 0.0)) for label in classes if maybe(rng, 0.7)}
    return one_of(rng, "balanced", given)


def _priors(rng: Rng, classes: np.ndarray, d: int) -> Any:
    share = rng.random(len(classes)) + 0.01
    return (share / share.sum()).tolist()


def _start(rng: Rng, classes: np.ndarray, d: int) -> Any:
    return rng.standard_normal(d + 1).tolist()


def _some_rows(rng: Rng, classes: np.ndarray, d: int) -> Any:
    return one_of(rng, 2, 5, 0.3, 1.0)


def _signs(rng: Rng, classes: np.ndarray, d: int) -> Any:
    return rng.integers(-1, 2, d).tolist()


def _strengths(rng: Rng, classes: np.ndarray, d: int) -> Any:
    return one_of(rng, 5, [0.01, 1.0, 100.0], [1e-6], [1e6, 1.0])


FREE: dict[str, Any] = {
    "Cs": _strengths,
    "alpha": lambda rng, classes, d: one_of(rng, 0.0, 1e-10, 0.5, 1e6, rng.random(d).tolist()),
    "alphas": _strengths,
    "average": lambda rng, classes, d: one_of(rng, True, False, 10),
    "binarize": None,
    "categorical_features": lambda rng, classes, d: [int(rng.integers(d))],
    "class_prior": _priors,
    "class_weight": _weights_of_classes,
    "columns": None,
    "constant": lambda rng, classes, d: one_of(rng, *classes).item() if len(classes) else 0.5,
    "cv": lambda rng, classes, d: one_of(rng, 2, 3, None),
    "estimator": lambda rng, classes, d: {"max_depth": int(rng.integers(1, 4))},
    "hidden_layer_sizes": lambda rng, classes, d: one_of(rng, [1], [3], [5, 2], []),
    "init": _start,
    "interaction_cst": lambda rng, classes, d: one_of(rng, "no_interactions", "pairwise", [[int(rng.integers(d))]]),
    "kernel": None,
    "kernel_params": lambda rng, classes, d: None,
    "l1_ratio": lambda rng, classes, d: one_of(rng, 0.5, 1.0, [0.2, 0.8]),
    "l1_ratios": lambda rng, classes, d: one_of(rng, None, [0.0], [0.0, 0.5]),
    "loss": None,
    "max_features": lambda rng, classes, d: one_of(rng, 1, 0.5, "sqrt"),
    "max_samples": _some_rows,
    "metric_params": lambda rng, classes, d: {"W": np.diag(rng.random(d) + 0.1).tolist()},
    "min_categories": lambda rng, classes, d: int(rng.integers(1, 60)),
    "min_samples_leaf": lambda rng, classes, d: one_of(rng, 1, 2, 5, 0.2),
    "min_samples_split": _some_rows,
    "monotonic_cst": _signs,
    "outlier_label": lambda rng, classes, d: one_of(rng, "most_frequent", *classes.tolist()) if len(classes) else None,
    "pos_label": lambda rng, classes, d: one_of(rng, *classes).item() if len(classes) else None,
    "precompute": lambda rng, classes, d: one_of(rng, True, False, "auto"),
    "priors": _priors,
}


def _number(rng: Rng, given: Range, name: str) -> Any:
    """A number of the range, on a logarithmic scale; its ends now and then."""
    if given.kind is int:
        low = int(max(given.low, -1))
        return int(rng.integers(low, min(given.high, MOST.get(name, 8)) + 1))
    ends = [float(end) for end in (given.low, given.high) if given.accepts(float(end)) and abs(end) != math.inf]
    if given.accepts(math.inf) and maybe(rng, 0.1):
        return math.inf
    if ends and maybe(rng, 0.3):
        return one_of(rng, *ends)
    if given.high <= 2:
        return float(rng.uniform(max(given.low, 0.0), given.high))
    found = float(10.0 ** rng.uniform(-4, 3) if name != "tol" else 10.0 ** rng.uniform(-10, -2))
    return -found if given.low == -math.inf and maybe(rng, 0.3) else max(found, given.low)


def draw_value(rng: Rng, name: str, given: Param, classes: np.ndarray, d: int) -> Any:
    """A value that the declaration allows; None where there is nothing to draw."""
    words = list(given.words)
    if isinstance(given, Flag) and not words:
        return maybe(rng, 0.5)
    if isinstance(given, Choice):
        return one_of(rng, *given.options, *words)
    if isinstance(given, Seed):
        return one_of(rng, int(rng.integers(8)), *words)
    make = FREE.get(name)
    plain = (
        (lambda: _number(rng, given, name)) if isinstance(given, Range) else make and (lambda: make(rng, classes, d))
    )
    if words and (plain is None or maybe(rng, 0.4)):
        return one_of(rng, *words)
    return given.default if plain is None else plain()


def draw_setting(rng: Rng, name: str, classes: np.ndarray, d: int) -> dict[str, Any]:
    """Hyper-parameters of a registered model that differ from their defaults: none to many of them."""
    table = model_class(name).params
    share = one_of(rng, 0.0, 0.15, 0.4)
    found = {key: value for first, more in ALWAYS.items() if first in table for key, value in more.items()}
    for key, given in table.items():
        if key not in LEFT and name in ONLY.get(key, {name}) and maybe(rng, max(share, OFTEN.get(key, 0.0))):
            value = draw_value(rng, key, given, classes, d)
            if given.accepts(value):
                found[key] = value
    if found.get("metric") == "quadratic":
        found["metric_params"] = FREE["metric_params"](rng, classes, d)
    elif "metric_params" in found:
        del found["metric_params"]
    return found
