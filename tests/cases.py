"""One list of (model, data, tolerance): every law runs over all of it.

The list is made from the registry, so a new model is under every law from its first day; what it needs besides (data of
another kind than plain numbers, another tolerance) is said here in one line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from assay.families import REGISTRY, model_class

Maker = Callable[[int, int, int], tuple[np.ndarray, np.ndarray]]


@lru_cache(maxsize=8)
def blobs(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes of correlated numbers, well apart but overlapping."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    rng.shuffle(y)
    X = rng.standard_normal((n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    X[:, : min(d, 4)] += 1.5 * y[:, None] * np.array([1.0, -0.5, 0.3, 0.2])[: min(d, 4)]
    return _frozen(X, y)


@lru_cache(maxsize=8)
def pairs(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of correlated numbers."""
    X, y = blobs(n, d, seed)
    return _frozen(X, (y > 1).astype(y.dtype))


@lru_cache(maxsize=8)
def uneven(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes, of which each sample of rows has other shares."""
    X, _ = blobs(n, d, seed)
    y = np.random.default_rng(seed + 7).choice(3, n, p=[0.3, 0.5, 0.2])
    y[: min(3, n)] = np.arange(min(3, n))
    return _frozen(X, y)


@lru_cache(maxsize=8)
def counts(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes of counts."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    rng.shuffle(y)
    rates = 0.5 + 3 * np.random.default_rng(99).random((3, d))
    return _frozen(rng.poisson(rates[y]).astype(np.float64), y)


@lru_cache(maxsize=8)
def bits(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes of zeros and ones."""
    X, y = counts(n, d, seed)
    return _frozen((X > 1).astype(np.float64), y)


@lru_cache(maxsize=8)
def codes(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes of small whole numbers that name categories; each occurs, so that all samples know the same ones."""
    X, y = counts(n, d, seed)
    X = np.minimum(X, 3)
    X[: min(4, n)] = np.arange(min(4, n))[:, None]
    return _frozen(X, y)


@lru_cache(maxsize=8)
def lines(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A number that depends linearly on others, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 3.0
    X[:, 1:] += 0.5 * X[:, :-1]
    beta = np.random.default_rng(99).standard_normal(d)
    return _frozen(X, X @ beta + 2.0 + 0.3 * rng.standard_normal(n))


@lru_cache(maxsize=8)
def amounts(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A number above zero whose logarithm depends linearly on others, with noise."""
    X, y = lines(n, d, seed)
    return _frozen(X - 3.0, np.exp(0.2 * (y - y.mean())) + 0.1)


def _frozen(*arrays: np.ndarray) -> tuple[Any, ...]:
    for array in arrays:  # fits must never write into what they are given
        array.flags.writeable = False
    return arrays


@dataclass(frozen=True, eq=False)
class Case:
    """A model with its parameters, a maker of data (n, d, seed) → (X, y), the tolerance of the laws up to rounding, and the most rows that
    a law may ask for, of models that compare all pairs of rows or take long for another reason."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    data: Maker | None = None
    tolerance: float = 1e-8
    most: int = 1 << 31

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{v}" for v in self.params.values())])

    @property
    def cls(self) -> type[Any]:
        return model_class(self.name)

    @property
    def classifies(self) -> bool:
        return self.cls.kind_of(self.params) == "classifier"

    @property
    def one_fold(self) -> bool:
        """Whether the model is learnt by one fold, so that rows may come in pieces."""
        from assay.estimator.one_fold import OneFold

        return issubclass(self.cls, OneFold)

    @property
    def ordered(self) -> bool:
        """Whether the order of the rows matters."""
        return bool(getattr(self.model(), "depends_on_order", False))

    def model(self, **more: Any) -> Any:
        return self.cls(**{**self.params, **more})

    def rows(self, n: int = 120, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        make = self.data or (blobs if self.classifies else lines)
        return make(min(n, self.most), d, seed)


MANY_PAIRS = 25_000  # rows: ten small blocks, of models that look for every row's neighbours
TWO_BLOCKS = 140_000  # rows: more than the largest block, of models that take seconds for each of them

#: what a registry model needs besides its name; a model that is not here runs with its defaults on plain numbers
NEEDS: dict[str, list[dict[str, Any]]] = {
    "adaboost": [{"params": {"n_estimators": 8}}],
    "baseline": [{"data": uneven}],
    "dummy-classifier": [{"data": uneven}, {"data": uneven, "params": {"strategy": "most_frequent"}}],
    "bernoulli-nb": [{"data": bits}],
    "multinomial-nb": [{"data": counts}],
    "complement-nb": [{"data": counts}, {"data": counts, "params": {"norm": True}}],
    "categorical-nb": [{"data": codes}],
    "naive-bayes": [{}, {"data": codes, "params": {"columns": "categorical"}}],
    "gaussian-nb": [{}, {"params": {"class_weight": "balanced"}}],
    "qda": [{}, {"params": {"covariance": "diagonal", "unbiased": True}}],
    "lda": [{}, {"params": {"covariance": "isotropic", "class_weight": "balanced"}}],
    "linear-regression": [{}, {"params": {"fit_intercept": False}}],
    "elastic-net": [{"params": {"alpha": 0.1}}, {"params": {"alpha": 0.05, "l1_ratio": 0.0, "fit_intercept": False}}],
    "lasso": [{"params": {"alpha": 0.1}}],
    "ridge-cv": [{"params": {"alphas": [0.01, 1.0, 100.0]}}],
    "ridge-classifier": [{}, {"params": {"class_weight": "balanced", "alpha": 0.3}, "data": pairs}],
    "ridge-classifier-cv": [{"params": {"alphas": [0.01, 1.0, 100.0]}}],
    "logistic-regression-cv": [{"params": {"Cs": [0.1, 1.0], "cv": 3}}],
    "poisson-regressor": [{"params": {"alpha": 0.1, "tol": 1e-8}, "data": amounts, "tolerance": 1e-4}],
    "gamma-regressor": [{"params": {"alpha": 0.1, "tol": 1e-8}, "data": amounts, "tolerance": 1e-4}],
    "tweedie-regressor": [
        {"params": {"alpha": 0.1}},
        {"params": {"power": 1.5, "alpha": 0.1, "tol": 1e-8}, "data": amounts, "tolerance": 1e-4},
    ],
    "lasso-cv": [{"params": {"alphas": 20, "cv": 3}}],
    "elastic-net-cv": [{"params": {"alphas": [1.0, 0.1, 0.01], "l1_ratio": [0.2, 0.8]}}],
    "logistic-regression": [{}, {"params": {"l1_ratio": 0.5, "C": 0.5}, "data": pairs}],
    "kernel-perceptron": [
        {"params": {"max_iter": 3, "budget": 60}},
        {
            "params": {"order": "first-mistake", "max_iter": 30, "kernel": "affine", "variant": "averaged"},
            "data": pairs,
        },
    ],
    "linear-svc": [{}, {"params": {"loss": "hinge", "class_weight": "balanced"}, "tolerance": 1e-6, "data": pairs}],
    "huber": [{"params": {"tol": 1e-9}, "tolerance": 1e-5}],
    "linear-svr": [{"params": {"epsilon": 0.1}, "tolerance": 1e-6}],
    "sgd": [
        {"params": {"max_iter": 20, "tol": None}},
        {"params": {"loss": "log_loss", "alpha": 0.1, "average": True, "max_iter": 5, "tol": None}, "data": pairs},
    ],
    "sgd-regressor": [{"params": {"max_iter": 20, "tol": None, "eta0": 1e-3}}],
    "passive-aggressive": [{"params": {"max_iter": 20, "tol": None, "C": 0.1}}],
    "passive-aggressive-regressor": [{"params": {"max_iter": 20, "tol": None, "C": 0.1}}],
    "quantile-regressor": [{"params": {"alpha": 0.01, "quantile": 0.7}, "tolerance": 1e-6}],
    "erm": [{}, {"params": {"loss": "softmax", "penalty": "elasticnet"}, "tolerance": 1e-5}],
    "rectangle": [
        {"params": {"n_init": 2}},
        {"params": {"n_rectangles": 2, "class_weight": "balanced"}, "data": pairs},
        {"params": {"method": "tightest"}, "data": blobs},
    ],
    "decision-tree": [
        {"params": {"max_depth": 10}},
        {"params": {"class_weight": "balanced", "max_depth": 5}, "data": pairs},
    ],
    "tree-regressor": [{"params": {"max_depth": 10}}, {"params": {"max_depth": 4, "min_impurity_decrease": 1e-6}}],
    "random-forest": [{"params": {"n_estimators": 3, "max_depth": 6}}],
    "forest-regressor": [{"params": {"n_estimators": 3, "max_depth": 6}}],
    "extra-tree": [{"params": {"max_depth": 8}}],
    "extra-tree-regressor": [{"params": {"max_depth": 8}}],
    "extra-trees": [{"params": {"n_estimators": 3, "max_depth": 6}}],
    "extra-regressor": [{"params": {"n_estimators": 3, "max_depth": 6}}],
    "gradient-boosting": [
        {"params": {"n_estimators": 4, "min_samples_leaf": 1, "max_leaf_nodes": 6}},
        {
            "params": {"n_estimators": 6, "min_samples_leaf": 2, "subsample": 0.8, "colsample_bytree": 0.7},
            "data": pairs,
        },
    ],
    "boosting-regressor": [
        {"params": {"n_estimators": 10, "min_samples_leaf": 1, "max_leaf_nodes": 6, "learning_rate": 0.3}},
        {"params": {"n_estimators": 10, "loss": "absolute_error", "min_samples_leaf": 1, "learning_rate": 0.5}},
    ],
    "nearest-centroid": [{}, {"params": {"shrink_threshold": 0.5, "priors": "empirical"}}],
    "knn": [{}, {"params": {"n_neighbors": "auto", "weights": "distance", "metric": "chebyshev"}, "most": MANY_PAIRS}],
    "knn-regressor": [
        {},
        {"params": {"n_neighbors": "auto", "rule": "one-se", "metric": "manhattan"}, "most": MANY_PAIRS},
    ],
    "radius-neighbors": [
        {"params": {"radius": 1.5, "outlier_label": "most_frequent"}, "most": 3000},
        {
            "params": {"radius": 4.0, "weights": "distance", "metric": "manhattan", "outlier_label": "most_frequent"},
            "most": 3000,
        },
    ],
    "radius-neighbors-regressor": [{"params": {"radius": 4.0, "weights": "distance"}, "most": 3000}],
    "svc": [
        {"params": {"tol": 1e-9}, "tolerance": 1e-3, "most": 3000},
        {"params": {"kernel": "laplacian", "multi_class": "ovr", "tol": 1e-8}, "tolerance": 1e-3, "most": 1000},
        {"params": {"probability": True, "tol": 1e-9}, "tolerance": 1e-3, "most": 1000},
    ],
    "svr": [{"params": {"C": 2.0, "tol": 1e-9}, "tolerance": 1e-3, "most": 3000}],
    "nu-svc": [{"params": {"tol": 1e-7, "nu": 0.3}, "tolerance": 1e-3, "most": 600}],
    "nu-svr": [{"params": {"tol": 1e-7}, "tolerance": 1e-3, "most": 600}],
    "kernel-ridge": [{"most": 1000}, {"params": {"kernel": "rbf", "alpha": 0.1}, "tolerance": 1e-6, "most": 1000}],
    "kernel-features": [
        {"params": {"n_components": 20}, "most": TWO_BLOCKS},
        {
            "params": {"loss": "hinge", "features": "fourier", "n_components": 15},
            "tolerance": 1e-6,
            "data": pairs,
            "most": TWO_BLOCKS,
        },
    ],
    "features-regressor": [
        {},
        {"params": {"features": "fourier", "kernel": "laplacian", "alpha": 0.1, "n_components": 30}},
    ],
    "mlp": [
        {"params": {"hidden_layer_sizes": [16], "learning_rate_init": 0.05, "max_iter": 12, "batch_size": 20}},
        {
            "params": {
                "hidden_layer_sizes": [6, 4],
                "activation": "tanh",
                "solver": "lbfgs",
                "loss": "hinge",
                "max_iter": 8,
                "alpha": 1.0,
            },
            "tolerance": 1e-5,
            "data": pairs,
        },
    ],
    "mlp-regressor": [
        {
            "params": {
                "hidden_layer_sizes": [16],
                "solver": "sgd",
                "dropout": 0.1,
                "max_iter": 12,
                "learning_rate_init": 0.01,
                "batch_size": 20,
            }
        },
        {
            "params": {"hidden_layer_sizes": [8], "activation": "logistic", "solver": "lbfgs", "max_iter": 10},
            "tolerance": 1e-5,
        },
    ],
    "perceptron": [{"params": {"max_iter": 3}}, {"params": {"order": "batch", "max_iter": 10}}],
}

CASES = [Case(name, **need) for name in REGISTRY for need in NEEDS.get(name, [{}])]
IDS = [str(case) for case in CASES]


def answers(model: Any, X: Any) -> np.ndarray:
    """The finest answer a model gives: probabilities, else decision values, else values."""
    for finest in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, finest):
            return np.asarray(getattr(model, finest)(X))
    raise AssertionError


def file_bytes(model: Any) -> bytes:
    """The bytes of the model's file."""
    from assay.store import encode

    return encode(model.to_record())
