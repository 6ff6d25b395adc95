"""Linear models by other costs of an error than its square, and models one row at a time, against scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import linear_model, svm

import assay
from bench.harness import Contender, Race, Target

ROWS, COLUMNS, FEW = 100_000, 20, 5_000  # few: scikit-learn's linear programme grows with the square of the rows


def races() -> list[Race]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS))
    y = X @ rng.standard_normal(COLUMNS) + rng.standard_t(3, ROWS)
    given: list[tuple[str, Any, Any, int, Any]] = [
        ("LinearSVR", assay.LinearSVR, svm.LinearSVR, ROWS, y),
        ("HuberRegressor", assay.HuberRegressor, linear_model.HuberRegressor, ROWS, y),
        ("SGDClassifier", assay.SGDClassifier, linear_model.SGDClassifier, ROWS, y > 0),
        ("SGDRegressor", assay.SGDRegressor, linear_model.SGDRegressor, ROWS, y),
        ("PassiveAggressiveClassifier", assay.PassiveAggressiveClassifier, linear_model.PassiveAggressiveClassifier, ROWS, y > 0),
        ("PassiveAggressiveRegressor", assay.PassiveAggressiveRegressor, linear_model.PassiveAggressiveRegressor, ROWS, y),
        ("QuantileRegressor", lambda: assay.QuantileRegressor(alpha=0.0), lambda: linear_model.QuantileRegressor(alpha=0.0), FEW, y),
    ]  # fmt: skip
    return [_race(*each, X) for each in given]


def _race(name: str, ours: Any, peer: Any, n: int, y: Any, X: Any) -> Race:
    def score(make: Any) -> float:
        return float(make().fit(X[:n], y[:n]).score(X[:n], y[:n]))

    return Race(
        f"{name}, {n}×{COLUMNS}",
        [Contender("assay", lambda: score(ours)), Contender("scikit-learn", lambda: score(peer), rounds=3)],
        lambda a, b: f"scores {a:.4g} and {b:.4g}",
        [Target("scikit-learn", at_least=3)],
    )
