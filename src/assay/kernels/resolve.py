"""From a user's words to a kernel function: which γ "scale", "auto" and "median" are, and whether a given matrix or function is a kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from assay.errors import DataError, ParameterError
from assay.kernels.kernel import KERNELS, Kernel
from assay.numerics import Array, Floats

SAMPLE = 1000  # rows whose pairs the median is taken of
TRIED = 200  # rows on which a function of the user's is tried
SYMMETRIC = 1e-8  # of the greatest entry: more asymmetry than that is no rounding
NEGATIVE = 1e-8  # of the greatest eigenvalue: less than −that is no rounding
AT_A_TIME = 2048  # rows of a matrix compared with their columns at a time


def resolve(kernel: Any, gamma: Any, degree: float, coef0: float, X: Array, w: Floats | None = None) -> Kernel:
    """The kernel function that the parameters mean for the rows X (n, d) with weights w. γ counts a row of weight 2 as two rows.

    gamma: a number > 0, "scale" (1 / (d · variance of all entries)), "auto" (1 / d), "median" (rbf: 1 / (2 m²), laplacian: 1 / m,
    with m the median distance between different rows; of at most 1000 rows, evenly drawn).
    """
    if callable(kernel):
        return Kernel("own", own=kernel)
    if kernel not in KERNELS:
        raise ParameterError(f"kernel={kernel!r} is not known: use one of {', '.join(KERNELS)}, or a function f(X, Z).")
    if kernel in ("linear", "affine", "precomputed"):
        return Kernel(kernel)
    there = X if w is None else X[w > 0]
    v = None if w is None else w[w > 0]
    number = _gamma(gamma, kernel, there, v)
    centre = None
    if kernel in ("rbf", "laplacian"):  # rows far from 0 would lose the digits in which they differ
        centre = np.average(there, axis=0, weights=v)
        centre = centre if np.isfinite(centre).all() else None
    return Kernel(kernel, number, float(degree), float(coef0), centre=centre)


def _gamma(gamma: Any, kernel: str, X: Array, w: Floats | None) -> float:
    d = max(1, int(X.shape[1]))
    if gamma == "auto":
        return 1.0 / d
    if gamma == "scale":
        return _from_spread(X, w, d)
    if gamma == "median":
        return _from_median(kernel, X, w, d)
    if not (isinstance(gamma, int | float | np.number) and not isinstance(gamma, bool) and 0 < gamma < math.inf):
        raise ParameterError(f"gamma={gamma!r} is not possible: give a number > 0, 'scale', 'auto' or 'median'.")
    return float(gamma)


def _from_spread(X: Array, w: Floats | None, d: int) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.average(X, axis=0, weights=w).mean()
        variance = float(np.average((np.asarray(X, dtype=np.float64) - mean) ** 2, axis=0, weights=w).mean())
    if not math.isfinite(variance):
        raise DataError(
            "The variance of the columns overflows float64: divide the columns by a constant (or standardise them)."
        )
    found: float = 1.0 / (d * variance) if variance > 0 else 1.0
    return found if math.isfinite(found) else 1.0


def _from_median(kernel: str, X: Array, w: Floats | None, d: int) -> float:
    pick = np.unique(np.linspace(0, len(X) - 1, SAMPLE).astype(np.int64)) if len(X) > SAMPLE else np.arange(len(X))
    Z = np.asarray(X[pick], dtype=np.float64)
    v = np.ones(len(Z)) if w is None else w[pick]
    i, j = np.triu_indices(len(Z), 1)
    far = np.empty(len(i))
    for first in range(0, len(i), 1 << 17):
        part = slice(first, first + (1 << 17))
        gap = np.abs(Z[i[part]] - Z[j[part]])
        far[part] = gap.sum(axis=1) if kernel == "laplacian" else np.sqrt((gap * gap).sum(axis=1))
    apart = (far > 0) & np.isfinite(far)
    if not apart.any():
        return 1.0 / d
    far, mass = far[apart], (v[i] * v[j])[apart]
    order = np.argsort(far, kind="stable")
    up = np.cumsum(mass[order])
    median = float(far[order][np.searchsorted(up, 0.5 * up[-1])])
    found = 1.0 / median if kernel == "laplacian" else 1.0 / (2.0 * median * median)
    return found if 0 < found < math.inf else 1.0 / d


def check_precomputed(K: Array) -> None:
    """Raise unless K is the square symmetric matrix of a fit."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise DataError(
            f"A precomputed kernel must be the square matrix K(x_i, x_j) of the rows of the fit, and this one has shape {K.shape}."
        )
    if not np.isfinite(K).all():
        raise DataError("The precomputed kernel holds NaN or infinity: every value must be a finite number.")
    top = float(np.abs(K).max(initial=0.0))
    for i in range(0, len(K), AT_A_TIME):
        off = np.abs(K[i : i + AT_A_TIME] - K[:, i : i + AT_A_TIME].T)
        if off.max(initial=0.0) > SYMMETRIC * top:
            row, column = np.unravel_index(int(off.argmax()), off.shape)
            a, b = K[i + row, column], K[column, i + row]
            raise DataError(
                f"The precomputed kernel is not symmetric: K[{i + row}, {column}] = {a:g}, K[{column}, {i + row}] = {b:g}. "
                "Give (K + K.T) / 2 if that is what you mean."
            )


def check_own_kernel(kernel: Kernel, X: Array) -> None:
    """Raise unless a user's function is symmetric and, on some rows, positive semidefinite."""
    pick = np.unique(np.linspace(0, len(X) - 1, TRIED).astype(np.int64))
    K = kernel.block(X[pick], X[pick])
    top = float(np.abs(K).max(initial=0.0))
    off = np.abs(K - K.T)
    if off.max(initial=0.0) > SYMMETRIC * top:
        i, j = np.unravel_index(int(off.argmax()), off.shape)
        raise DataError(
            f"The kernel function is not symmetric: K(x, z) = {K[i, j]:g} but K(z, x) = {K[j, i]:g} for rows {pick[i]} and {pick[j]}."
        )
    least = float(np.linalg.eigvalsh(0.5 * (K + K.T))[0])
    if least < -NEGATIVE * max(top, float(np.trace(K))):
        raise DataError(
            f"The kernel function is not positive semidefinite: on {len(pick)} of the rows its matrix has an eigenvalue of {least:.3g}. No "
            "feature space has such products, and neither margin nor duality mean anything there."
        )
