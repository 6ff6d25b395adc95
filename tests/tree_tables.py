"""Small random tables for trees, with everything that may be in one: ties, missing values, categories, weights, constant columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import assay

FAMILIES = ("DecisionTree", "RandomForest", "ExtraTrees")


class Setup(NamedTuple):
    """A model with rows to fit it on."""

    model: Any
    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None


def one_of(rng: np.random.Generator, *options: Any) -> Any:
    """One of the options, as it is."""
    return options[int(rng.integers(len(options)))]


def random_columns(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, list[int]]:
    """Columns of several kinds, and the numbers of those that name categories."""
    X, categories = np.empty((n, d)), []
    for j in range(d):
        kind = rng.integers(6)
        if kind == 0:
            X[:, j] = rng.standard_normal(n)
        elif kind == 1:
            X[:, j] = rng.integers(0, 3, n)
        elif kind == 2:
            X[:, j] = rng.integers(0, 12, n) / 4 - 1
        elif kind == 3:
            X[:, j] = 7.0
        else:
            X[:, j] = rng.integers(0, one_of(rng, 2, 5, 40, 255), n)
            categories.append(j)
        if rng.random() < 0.4:
            X[rng.random(n) < one_of(rng, 0.1, 0.1, 0.5, 0.5, 1.0), j] = np.nan
    return X, categories


def random_target(rng: np.random.Generator, X: np.ndarray, criterion: str) -> np.ndarray:
    n = len(X)
    signal = np.nan_to_num(X[:, 0]) + rng.standard_normal(n)
    if criterion in ("gini", "entropy"):
        K = one_of(rng, 2, 2, 3, 6)
        y = (np.abs(signal) * 2).astype(int) % K
        y[: min(n, K)] = np.arange(min(n, K))
        return y
    return np.round(np.abs(signal), rng.integers(0, 4)) + (criterion == "poisson")


def random_weights(rng: np.random.Generator, n: int, y: np.ndarray) -> np.ndarray | None:
    kind = rng.integers(4)
    if kind < 2:
        return None
    w = rng.random(n) + 0.01 if kind == 2 else rng.integers(0, 4, n).astype(float)
    w[np.unique(y, return_index=True)[1]] += 1.0  # every class keeps some
    return w


def random_setup(seed: int, most_rows: int = 200) -> Setup:
    """A model, its settings and its rows, by a seed."""
    rng = np.random.default_rng(seed)
    criterion = one_of(rng, "gini", "entropy", "squared_error", "absolute_error", "poisson")
    classifies = criterion in ("gini", "entropy")
    n, d = int(rng.integers(2 if classifies else 1, most_rows + 1)), int(rng.integers(1, 9))
    X, categories = random_columns(rng, n, d)
    y = random_target(rng, X, criterion)
    if classifies and len(np.unique(y)) < 2:
        y[0] = 1 - y[0]
    w = random_weights(rng, n, y)
    name = one_of(rng, *FAMILIES) + ("Classifier" if classifies else "Regressor")
    params: dict[str, Any] = {
        "criterion": criterion,
        "max_depth": one_of(rng, None, None, 1, 2, 5),
        "min_samples_split": one_of(rng, 2, 2, 5, 0.1),
        "min_samples_leaf": one_of(rng, 1, 1, 1, 3, 0.05),
        "min_weight_fraction_leaf": one_of(rng, 0.0, 0.0, 0.05),
        "max_features": one_of(rng, None, None, 1, "sqrt", 0.5),
        "max_leaf_nodes": one_of(rng, None, None, None, 2, 7),
        "min_impurity_decrease": one_of(rng, 0.0, 0.0, 0.01),
        "ccp_alpha": one_of(rng, 0.0, 0.0, 0.005),
        "bins": one_of(rng, "auto", "exact", 2, 16, 255),
        "categorical_features": categories or None,
        "random_state": int(rng.integers(9)),
    }
    numbers = [j for j in range(d) if j not in categories]
    if rng.random() < 0.3 and criterion != "absolute_error" and (not classifies or len(np.unique(y)) == 2):
        params["monotonic_cst"] = {j: one_of(rng, -1, 1) for j in numbers[:2]} or None
    if name.startswith("DecisionTree"):
        params["splitter"] = one_of(rng, "best", "random")
    else:
        params["n_estimators"] = int(rng.integers(1, 4))
        params["bootstrap"] = bool(rng.integers(2))
        params["max_samples"] = one_of(rng, None, None, 1, 0.5)
    return Setup(getattr(assay, name)(**params), X, y, w)
