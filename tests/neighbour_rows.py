"""Kinds of tables that searches for neighbours find hard."""

from __future__ import annotations

import math

import numpy as np

KINDS = [
    "normal",
    "tied",
    "equal",
    "copies",
    "clustered",
    "far from zero",
    "scaled",
    "outlier",
    "huge",
    "largest",
    "tiny",
    "vanishing",
    "denormal",
    "halfway vanishing",
]
NORMS = [2.0, 1.0, math.inf, 3.0, 1.5, 40.0]
SIZES = {
    "huge": 1e200,
    "largest": 2e307,
    "tiny": 1e-23,
    "vanishing": 1e-200,
    "denormal": 1e-310,
    "halfway vanishing": 1e-161,
}


def rows_like(kind: str, n: int, d: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([n, d, len(kind), seed])
    Z = rng.normal(size=(n, d)).clip(-3, 3)
    if kind in SIZES:
        Z[: n // 3] = np.round(Z[: n // 3])
        Z[n // 3 : n // 2] *= 1e-12
        return Z * SIZES[kind]
    if kind == "tied":
        return np.round(Z)
    if kind == "copies":
        return rng.integers(0, 2, (n, d)) * 0.7
    if kind == "equal":
        return np.ones((n, d))
    if kind == "clustered":
        return Z * 1e-3 + rng.integers(0, 4, (n, 1)) * 10.0
    if kind == "far from zero":
        return 1e8 + Z * 1e-6
    if kind == "scaled":
        return Z * 10.0 ** rng.integers(-6, 7, d)
    if kind == "outlier":
        Z[n // 2] = 1e12
    return Z


def queries_like(kind: str, Z: np.ndarray, m: int) -> np.ndarray:
    """Some of the rows, some near to them, and some elsewhere."""
    rng = np.random.default_rng([len(Z), m])
    n, d = Z.shape
    near = Z[rng.integers(0, n, m)] * (1 + 1e-7)
    return np.vstack([Z[: min(n, m)], near, 2 * rows_like(kind, max(1, m // 2), d, 1), np.zeros((1, d))])
