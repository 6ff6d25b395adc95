"""Scores of rows under normal classes: log p(x, k) up to a constant of the row, tile by tile. NumPy and BLAS only.

`fold_…` turns the learnt arrays into one matrix of weights about a centre c, once a model; `…_scores` then costs one matrix
product a tile whose results stay in cache.
"""

from __future__ import annotations

import numpy as np

from assay.numerics import Array, Floats

TILE = 1 << 15  # numbers of whitened rows at a time: a quarter of a megabyte
ROUNDING = 2.0**-52
SMALL = 1e-9  # rows are centred before a linear score where rounding could otherwise move it by more


def fold_linear(log_prior: Floats, shift: Floats, whiten: Floats, log_det: Floats) -> tuple[Floats, Floats]:
    """Weights AᵀA(μ_k − c) as columns (d, K) and constants log π_k − ½‖A(μ_k − c)‖² (K,); shift (K, d) is μ_k − c."""
    Z = shift @ whiten[0].T
    return np.ascontiguousarray((Z @ whiten[0]).T), log_prior - 0.5 * np.einsum("ij,ij->i", Z, Z)


def fold_quadratic(log_prior: Floats, shift: Floats, whiten: Floats, log_det: Floats) -> tuple[Floats, Floats]:
    """Weights [A_kᵀ; −(μ_k − c)ᵀA_kᵀ] of all classes side by side (d + 1, K·d), so that a row (x − c, 1) times them is
    A_k(x − μ_k), and constants log π_k − ½ log|Σ_k| (K,).
    """
    K, d = shift.shape
    Z = np.einsum("kij,kj->ki", whiten, shift)
    return np.vstack([whiten.reshape(K * d, d).T, -Z.reshape(1, K * d)]), log_prior - 0.5 * log_det


def linear_scores(X: Array, center: Floats, weights: Floats, constant: Floats) -> Floats:
    """wᵀ_k(x − c) + constant_k: the class's log density without what all classes share."""
    n, d = X.shape
    Z = np.empty((n, weights.shape[1]))
    step = max(16, 2 * TILE // d)
    far = ROUNDING * float((np.abs(center) @ np.abs(weights)).max()) > SMALL
    for a in range(0, n, step):
        x = X[a : a + step]
        np.matmul(x - center if far else x, weights, out=Z[a : a + step])
    Z += constant if far else constant - center @ weights
    return Z


def quadratic_scores(X: Array, center: Floats, weights: Floats, constant: Floats) -> Floats:
    """constant_k − ½ ‖A_k(x − μ_k)‖², all classes by one product a tile."""
    n, d = X.shape
    K = len(constant)
    Z = np.empty((n, K))
    step = max(1, min(n, max(16, TILE // (K * d))))
    u, t = np.ones((step, d + 1)), np.empty((step, K * d))
    for a in range(0, n, step):
        x = X[a : a + step]
        m = len(x)
        np.subtract(x, center, out=u[:m, :d])
        rows = np.matmul(u[:m], weights, out=t[:m]).reshape(m, K, d)
        np.vecdot(rows, rows, out=Z[a : a + step])
    Z *= -0.5
    Z += constant
    return Z
