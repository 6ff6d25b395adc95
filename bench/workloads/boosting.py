"""Boosting: fits of equal leaves, rate and stages against the libraries that people use for it, with the held-out loss of both; answers; memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_squared_error
from xgboost import XGBClassifier, XGBRegressor

import assay
from bench.harness import Contender, Race, Target

JOBS, STAGES, LEAVES, RATE = 2, 100, 31, 0.1
NEAR = 1.003  # of the other's held-out loss: equal
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@cache
def classes(n: int, d: int, K: int) -> Split:
    """Rows to fit on and half as many held out."""
    X, y = make_classification(
        n + n // 2, d, n_informative=min(10, d // 2), n_redundant=d // 10, n_classes=K, random_state=0
    )
    return X[:n], y[:n], X[n:], y[n:]


@cache
def numbers(n: int, d: int) -> Split:
    """A smooth function of five columns, with noise."""
    rng = np.random.default_rng(0)
    X = rng.random((n + n // 2, d))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    y += rng.normal(size=len(y))
    return X[:n], y[:n], X[n:], y[n:]


def by_loss(data: Split) -> Callable[[Any, Any], str]:
    """Held-out log loss, or squared error, of both."""

    def loss(model: Any) -> float:
        if hasattr(model, "predict_proba"):
            return float(log_loss(data[3], model.predict_proba(data[2])))
        return float(mean_squared_error(data[3], model.predict(data[2])))

    def agree(ours: Any, theirs: Any) -> str:
        a, b = loss(ours), loss(theirs)
        return f"held-out loss {a:.5f} against {b:.5f}" + ("" if a <= NEAR * b else " (WORSE)")

    return agree


def races() -> list[Race]:
    return [
        _classes("100 000×20", classes(100_000, 20, 2)),
        _classes("1 000 000×20", classes(1_000_000, 20, 2), rounds=2),
        _classes("200 000×100", classes(200_000, 100, 2), rounds=2),
        _classes("50 000×50, 10 classes", classes(50_000, 50, 10), rounds=2),
        _numbers("100 000×20", numbers(100_000, 20)),
        _answers(classes(1_000_000, 20, 2)),
        _one_row(classes(100_000, 20, 2)),
    ]


def _ours(X: np.ndarray, y: np.ndarray) -> Any:
    model = assay.GradientBoostingClassifier(n_estimators=STAGES, learning_rate=RATE, max_leaf_nodes=LEAVES)
    return model.fit(X, y)


def _lightgbm(X: np.ndarray, y: np.ndarray) -> Any:
    return LGBMClassifier(
        n_estimators=STAGES, learning_rate=RATE, num_leaves=LEAVES, n_jobs=JOBS, verbose=-1, max_bin=255
    ).fit(X, y)


def _classes(title: str, data: Split, rounds: int = 5) -> Race:
    X, y = data[0], data[1]
    return Race(
        f"Boosting, {STAGES} stages of {LEAVES} leaves, {title}",
        [
            Contender("assay", lambda: _ours(X, y), rounds=rounds),
            Contender("LightGBM", lambda: _lightgbm(X, y), rounds=rounds),
            Contender(
                "XGBoost",
                lambda: XGBClassifier(
                    n_estimators=STAGES,
                    learning_rate=RATE,
                    tree_method="hist",
                    grow_policy="lossguide",
                    max_leaves=LEAVES,
                    max_depth=0,
                    n_jobs=JOBS,
                ).fit(X, y),
                rounds=max(1, rounds // 2),
            ),
            Contender(
                "HistGradientBoosting",
                lambda: HistGradientBoostingClassifier(
                    max_iter=STAGES, learning_rate=RATE, max_leaf_nodes=LEAVES, early_stopping=False
                ).fit(X, y),
                rounds=max(1, rounds // 2),
            ),
            Contender(
                "CatBoost",
                lambda: CatBoostClassifier(
                    iterations=STAGES, learning_rate=RATE, depth=5, thread_count=JOBS, verbose=False
                ).fit(X, y),
                rounds=1,
            ),
        ],
        by_loss(data),
        [
            Target("LightGBM", at_least=1.5),
            Target("XGBoost", at_least=3),
            Target("HistGradientBoosting", at_least=4),
            Target("CatBoost", at_least=10),
        ],
    )


def _numbers(title: str, data: Split) -> Race:
    X, y = data[0], data[1]
    return Race(
        f"Boosting of numbers, {STAGES} stages of {LEAVES} leaves, {title}",
        [
            Contender("assay", lambda: assay.GradientBoostingRegressor(n_estimators=STAGES).fit(X, y), rounds=5),
            Contender(
                "LightGBM", lambda: LGBMRegressor(n_estimators=STAGES, n_jobs=JOBS, verbose=-1).fit(X, y), rounds=5
            ),
            Contender(
                "XGBoost",
                lambda: XGBRegressor(
                    n_estimators=STAGES,
                    learning_rate=RATE,
                    grow_policy="lossguide",
                    max_leaves=LEAVES,
                    max_depth=0,
                    n_jobs=JOBS,
                ).fit(X, y),
                rounds=2,
            ),
            Contender(
                "HistGradientBoosting",
                lambda: HistGradientBoostingRegressor(max_iter=STAGES, early_stopping=False).fit(X, y),
                rounds=2,
            ),
        ],
        by_loss(data),
        [Target("LightGBM", at_least=1.5), Target("XGBoost", at_least=3), Target("HistGradientBoosting", at_least=4)],
    )


def _answers(data: Split) -> Race:
    X, y = data[0], data[1]
    ours, theirs = _ours(X[:100_000], y[:100_000]), _lightgbm(X[:100_000], y[:100_000])
    ours.predict_proba(X[:1000])
    return Race(
        "Boosting: 1 000 000 rows answered",
        [
            Contender("assay", lambda: ours.predict_proba(X), rounds=5),
            Contender("LightGBM", lambda: theirs.predict_proba(X), rounds=3),
        ],
        lambda a, b: f"mean difference {np.abs(a - b).mean():.4f}",
        [Target("LightGBM", at_least=3)],
    )


def _one_row(data: Split) -> Race:
    X, y = data[0], data[1]
    ours, row = _ours(X, y), X[:1].copy()
    ours.predict(row)
    return Race(
        "Boosting: 1000 times one row answered",
        [Contender("assay", lambda: [ours.predict(row) for _ in range(1000)], rounds=5)],
        lambda a, b: "",
        [Target("assay", within=0.03)],
    )
