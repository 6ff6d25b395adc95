"""Sparse rows like those of texts: 100 000×100 000, about 100 entries a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

import assay
from bench import agreement
from bench.data import texts
from bench.harness import Contender, Race, Target
from bench.workloads.linear_models import Weights, by_objective, weights


def objective(
    X: Any, y: np.ndarray, loss: Callable[[np.ndarray], np.ndarray], intercept: float
) -> Callable[[Weights], float]:
    """Σ loss(margin) + ½‖w‖² + ½·intercept·b²."""
    t = np.where(y > 0, 1.0, -1.0)

    def value(w: Weights) -> float:
        margins = t * (X @ w[0][0] + w[1][0])
        return float(loss(margins).sum() + 0.5 * (w[0] ** 2).sum() + 0.5 * intercept * w[1][0] ** 2)

    return value


def races() -> list[Race]:
    X, y = texts(100_000, 100_000, 100)
    no_intercept = {"fit_intercept": False}
    return [
        Race(
            "LogisticRegression, sparse 1e5×1e5, no intercept",
            [
                Contender("assay", lambda: weights(assay.LogisticRegression(**no_intercept).fit(X, y)), rounds=5),
                Contender(
                    "liblinear",
                    lambda: weights(LogisticRegression(solver="liblinear", **no_intercept).fit(X, y)),
                    rounds=1,
                ),
                Contender(
                    "saga", lambda: weights(LogisticRegression(solver="saga", **no_intercept).fit(X, y)), rounds=1
                ),
            ],
            by_objective(objective(X, y, lambda m: np.logaddexp(0, -m), 0.0)),
            [Target("liblinear", at_least=2), Target("saga", at_least=2)],
        ),
        Race(
            "LinearSVC squared hinge, sparse 1e5×1e5",
            [
                Contender("assay", lambda: weights(assay.LinearSVC(intercept_scaling=1.0).fit(X, y)), rounds=5),
                Contender("liblinear", lambda: weights(LinearSVC().fit(X, y)), rounds=1),
            ],
            by_objective(objective(X, y, lambda m: np.maximum(0, 1 - m) ** 2, 1.0)),
            [Target("liblinear", at_least=2)],
        ),
        Race(
            "LinearSVC hinge, sparse 1e5×1e5",
            [
                Contender(
                    "assay", lambda: weights(assay.LinearSVC(loss="hinge", intercept_scaling=1.0).fit(X, y)), rounds=3
                ),
                Contender("liblinear", lambda: weights(LinearSVC(loss="hinge").fit(X, y)), rounds=2),
            ],
            by_objective(objective(X, y, lambda m: np.maximum(0, 1 - m), 1.0)),
            [Target("liblinear", at_least=2)],
        ),
        Race(
            "MultinomialNB, sparse 1e5×1e5, 2 classes",
            [
                Contender("assay", lambda: assay.MultinomialNB().fit(X, y).feature_log_prob_, rounds=6),
                Contender("scikit-learn", lambda: MultinomialNB().fit(X, y).feature_log_prob_, rounds=6),
            ],
            agreement.arrays,
        ),
    ]
