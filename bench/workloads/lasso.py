"""Lasso and its cross-validation against scikit-learn, and where they are installed celer and skglm, at equal gaps."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn import linear_model

import assay
from bench.harness import Contender, Race, Target

SHAPES = [(10_000, 50), (100_000, 50), (2_000, 500), (300, 5_000)]
TOL = 1e-6


def races() -> list[Race]:
    found = []
    for n, d in SHAPES:
        X, y = _sparse_target(n, d)
        strongest = float(np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max()) / n
        for share in (0.1, 0.01):
            found.append(_race(X, y, share * strongest, f"Lasso, {n}×{d}, alpha {share:g} of the strongest"))
    X, y = _sparse_target(10_000, 50)
    found.append(
        Race(
            "LassoCV, 10000×50",
            [
                Contender("assay", lambda: assay.LassoCV().fit(X, y).alpha_),
                Contender("scikit-learn", lambda: linear_model.LassoCV().fit(X, y).alpha_, rounds=3),
            ],
            lambda a, b: f"alphas {a:.4g} and {b:.4g}",
            [Target("scikit-learn", at_least=3)],
        )
    )
    return found


def _race(X: Any, y: Any, alpha: float, title: str) -> Race:
    def objective(model: Any) -> float:
        w = np.ravel(model.coef_)
        return float(np.mean((y - X @ w - model.intercept_) ** 2) / 2 + alpha * np.abs(w).sum())

    contenders = [
        Contender("assay", lambda: objective(assay.Lasso(alpha, tol=TOL).fit(X, y))),
        Contender(
            "scikit-learn", lambda: objective(linear_model.Lasso(alpha, tol=TOL, max_iter=100_000).fit(X, y)), rounds=5
        ),
    ]
    for name in ("celer", "skglm"):
        if find_spec(name) is not None:
            peer = import_module(name).Lasso
            contenders.append(
                Contender(name, lambda peer=peer: objective(peer(alpha=alpha, tol=TOL).fit(X, y)), rounds=5)
            )  # type: ignore[misc]
    return Race(
        title,
        contenders,
        lambda a, b: f"objectives differ by {abs(a - b) / b:.1e}",
        [Target("scikit-learn", at_least=3)],
    )


def _sparse_target(n: int, d: int) -> tuple[Any, Any]:
    """Columns that are alike with their neighbours, of which a few carry the target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    few = rng.choice(d, 10, replace=False)
    y = X[:, few] @ rng.standard_normal(10)
    return X, y + 0.3 * y.std() * rng.standard_normal(n) + 2.0
