"""The kernel perceptron as one would write it in NumPy: row by row, over the rows with a coefficient only."""

from __future__ import annotations

from typing import Any

import numpy as np


def numpy_kernel_perceptron(X: Any, y: Any, gamma: float, passes: int) -> tuple[Any, int]:
    """Coefficients α_i y_i (n,) and the number of mistakes; y ∈ {0, 1}, sign(0) = 1, K(x, z) = exp(−γ‖x − z‖²)."""
    coef, mistakes = np.zeros(len(X)), 0
    for _ in range(passes):
        before = mistakes
        for i, x in enumerate(X):
            sv = np.flatnonzero(coef)
            f = np.exp(-gamma * ((X[sv] - x) ** 2).sum(axis=1)) @ coef[sv]
            if (f >= 0) != (y[i] == 1):
                coef[i] += 1.0 if y[i] == 1 else -1.0
                mistakes += 1
        if mistakes == before:
            break
    return coef, mistakes
