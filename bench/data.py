"""Seeded tables for the workloads."""

from __future__ import annotations

import numpy as np


def two_classes(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping normal classes with different means and spreads."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d))
    X[y == 1] *= 1.1
    X[y == 1] += 0.1
    return X, y


def linear_target(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A linear function of normal columns plus noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 3 + rng.normal(size=n)
