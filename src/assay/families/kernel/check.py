"""Values of kernel functions for the checkers: by their formulas, in plain NumPy and float64, a bounded part at a time.

A witness names the kernel: `kernel`, `gamma`, `degree`, `coef0`; a function of the user's is there as `own`. Of "precomputed" the rows X
are the values themselves, and Z are numbers of columns.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from assay.certify.rows import Array, Floats

AT_A_TIME = 1 << 22  # values in memory at a time
TILE = 1 << 16  # of differences: they stay in the processor's cache
WIDE = 64  # columns from which distances are taken from products, where that loses nothing
LOST = 1e-10  # of a kernel value: what rounding of a product may cost
SAMPLE = 400  # rows on which a given kernel is tried
NEGATIVE = 1e-8  # of the trace: an eigenvalue below minus that is no rounding
FAR = 16.0  # times the mean square of their differences: from there on polynomials of rows are taken about their mean
MOST_DEGREE = 16  # of such a polynomial
MOST_EXACT = 1 << 16  # numbers of support rows and problems whose intercepts are moved without rounding
EPS = float(np.finfo(np.float64).eps)


def kernel_values(witness: dict[str, Any], X: Array, Z: Array, dtype: Any = np.float64) -> Floats:
    """K(x_i, z_j) of all rows: (n, m), in a precision of `dtype`."""
    name = witness["kernel"]
    if name == "precomputed":
        columns = np.asarray(Z)
        if columns.dtype.kind not in "iu" or columns.min(initial=0) < 0 or columns.max(initial=-1) >= X.shape[1]:
            raise ValueError("the kernel matrix has no such columns")
        return np.asarray(X, dtype=np.float64)[:, columns]
    X, Z = np.asarray(X, dtype=dtype), np.asarray(Z, dtype=dtype)
    if X.ndim != 2 or Z.ndim != 2 or X.shape[1] != Z.shape[1]:
        raise ValueError(f"rows of shape {X.shape} and {Z.shape} have no kernel values")
    if name == "own":
        return _own(witness["own"], X, Z)
    if name in ("rbf", "laplacian"):
        gamma = _gamma(witness)
        values: Floats = np.exp(-gamma * _far(X, Z, gamma, name == "laplacian"))
        return values
    return _of_product(witness, X @ Z.T)


def _gamma(witness: dict[str, Any]) -> float:
    gamma = float(witness["gamma"])
    if not 0 < gamma < np.inf:
        raise ValueError(f"gamma = {gamma:g} is not possible")
    return gamma


def _of_product(witness: dict[str, Any], P: Floats, shift: float | None = None) -> Floats:
    """What a kernel makes of x·z; `shift`: in place of its constant."""
    name = witness["kernel"]
    if name in ("linear", "affine"):
        return P + float(name == "affine")
    gamma, degree, coef0 = _gamma(witness), float(witness["degree"]), float(witness["coef0"])
    t = gamma * P + (coef0 if shift is None else shift)
    if name == "poly":
        powers: Floats = np.power(t, degree)
        return powers
    if name == "sigmoid":
        return np.tanh(t) if shift is None else t
    raise ValueError(f"there is no kernel {name!r}")


def bounded_sums(
    witness: dict[str, Any],
    X: Array,
    Z: Array,
    coef: Floats,
    dtype: Any = np.float64,
    centre: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Σ_j coef_pj K(x_i, z_j), and what rounding may have done to each at most: (n, p) both. `centre`: of a polynomial less its values with the
    centre, from which the rows are counted."""
    sums, off = np.empty((len(X), len(coef)), dtype=dtype), np.empty((len(X), len(coef)))
    step = max(1, AT_A_TIME // max(1, len(Z)))
    coef = coef.astype(dtype, copy=False)
    for i in range(0, len(X), step):
        part = slice(i, i + step)
        K = kernel_values(witness, X[part], Z, dtype) if centre is None else _about_centre(witness, X[part], Z, centre)
        size = np.abs(coef).astype(np.float64)
        sums[part], off[part] = K @ coef.T, _off(witness, K, X[part], Z, size, dtype, centre)
    return sums, off


def far_power(witness: dict[str, Any], Z: Floats) -> Floats | None:
    """The mean of support rows, where a polynomial of them is nearly the same for all and rounding would leave little of what tells them apart."""
    if witness["kernel"] != "poly" or not len(Z) or float(witness["degree"]) not in range(MOST_DEGREE + 1):
        return None
    centre = np.clip((Z / len(Z)).sum(axis=0), Z.min(axis=0), Z.max(axis=0))
    with np.errstate(over="ignore", invalid="ignore"):
        apart = float(((Z - centre) ** 2).sum(axis=1).mean())
        constant = float(centre @ centre) + abs(float(witness["coef0"])) / _gamma(witness)
    return centre if FAR * apart < constant < math.inf else None


def _about_centre(witness: dict[str, Any], X: Floats, Z: Floats, centre: Floats) -> Floats:
    """(A + s)^p − (A + a)^p − (A + b)^p + A^p by powers of A: s = a + b + g, and the first two terms without what cancels in them."""
    gamma, c = _gamma(witness), centre.astype(X.dtype)
    A, a, b = gamma * (c @ c) + float(witness["coef0"]), gamma * (X @ c)[:, None], gamma * (Z @ c)[None, :]
    return _in_powers(int(witness["degree"]), A, a, b, gamma * (X @ Z.T), -1.0)


def _in_powers(p: int, A: Any, a: Floats, b: Floats, g: Floats, sign: float) -> Floats:
    """Σ_q (p over q) A^(p − q) ((a + b + g)^q ± a^q ± b^q); with the sign + what the terms are at most, all of them positive."""
    s = a + b + g
    total = p * A ** (p - 1) * g if p else np.zeros_like(g)
    for q in range(2, p + 1):
        term = 2.0 * a * b + g * (2.0 * (a + b) + g) if q == 2 else s**q + sign * (a**q + b**q)
        total = total + math.comb(p, q) * A ** (p - q) * term
    return total


def centre_values(witness: dict[str, Any], Z: Floats, centre: Floats) -> Floats:
    """K(z, c) − K(c, c) of rows counted from the centre."""
    gamma, p, c = _gamma(witness), int(witness["degree"]), centre.astype(Z.dtype)
    A, b = gamma * (c @ c) + float(witness["coef0"]), gamma * (Z @ c)
    return np.asarray(sum((math.comb(p, q) * A ** (p - q) * b**q for q in range(1, p + 1)), np.zeros_like(b)))


def moved_exactly(witness: dict[str, Any], Z: Floats, beta: Floats, centre: Floats) -> Floats | None:
    """Σ_j β_pj (K(z_j, c) − K(c, c)) by the formula in rational numbers, in extended precision at the end; None of many rows."""
    if Z.size * len(beta) > MOST_EXACT:
        return None
    gamma, coef0, p = Fraction(_gamma(witness)), Fraction(float(witness["coef0"])), int(witness["degree"])
    c = [Fraction(v) for v in centre.tolist()]
    at = [gamma * sum(Fraction(v) * u for v, u in zip(row, c)) + coef0 for row in [*Z.tolist(), centre.tolist()]]
    values = [v**p - at[-1] ** p for v in at[:-1]]
    sums = [sum((Fraction(b) * v for b, v in zip(row, values)), Fraction(0)) for row in beta.tolist()]
    return np.array([np.longdouble(float(v)) + np.longdouble(float(v - Fraction(float(v)))) for v in sums])


def _off(
    witness: dict[str, Any], K: Floats, X: Array, Z: Array, size: Floats, dtype: Any, centre: Floats | None = None
) -> Floats:
    """Σ_j |coef_pj| times what K(x_i, z_j) and its place in the sum are off by: products by their d columns, √m for a sum of m terms
    (whose roundings are as often up as down), distances by their columns; t exp(−t) is at most 1."""
    name, eps, summed = witness["kernel"], float(np.finfo(dtype).eps), 4.0 * (1.0 + math.sqrt(len(Z)))
    if name in ("own", "precomputed"):
        given: Floats = EPS * summed * (np.abs(K) @ size.T)
        return given
    d = X.shape[1]
    if name in ("rbf", "laplacian"):
        lost = LOST if d > WIDE and dtype == np.float64 else 0.0
        return np.broadcast_to((eps * (summed + d + 4) + lost) * size.sum(axis=1), (len(X), len(size)))
    length, other = (np.sqrt((np.asarray(A, dtype=np.float64) ** 2).sum(axis=1)) for A in (X, Z))
    degree = max(1.0, float(witness["degree"])) if name == "poly" else 1.0
    if centre is not None:
        gamma, far = _gamma(witness), math.sqrt(float(centre @ centre))
        A, a, b = gamma * far * far + abs(float(witness["coef0"])), gamma * far * length, gamma * far * other
        most = _in_powers(int(degree), A, a[:, None], b[None, :], gamma * np.outer(length, other), 1.0)
        about: Floats = eps * ((d + 4) * (degree + 1.0) + summed) * (most @ size.T)
        return about
    largest = _of_product(witness, np.outer(length, other), abs(float(witness["coef0"])))
    total: Floats = eps * ((d + 2) * degree + summed) * (largest @ size.T)
    return total


def kernel_sums(witness: dict[str, Any], X: Array, Z: Array, coef: Floats, centre: Floats | None = None) -> Floats:
    """Σ_j coef_pj K(x_i, z_j): (n, p), some rows at a time."""
    return bounded_sums(witness, X, Z, coef, np.float64, centre)[0]


def is_positive(witness: dict[str, Any]) -> bool | None:
    """Whether the formula is positive semidefinite for all rows; None where that depends on what was given."""
    name = witness["kernel"]
    if name in ("own", "precomputed"):
        return None
    if name == "poly":
        return float(witness["degree"]) in range(1025) and float(witness["coef0"]) >= 0
    return bool(name != "sigmoid")


def negative_share(witness: dict[str, Any], X: Array, numbers: Array) -> float:
    """The least eigenvalue of the kernel matrix of some of the rows, as a share of its trace; `numbers` are their columns (precomputed)."""
    pick = np.unique(np.linspace(0, len(X) - 1, SAMPLE).astype(np.int64))
    K = kernel_values(witness, X[pick], numbers[pick] if witness["kernel"] == "precomputed" else X[pick])
    if not np.isfinite(K).all():
        return -np.inf
    trace = float(np.abs(np.trace(K)))
    return float(np.linalg.eigvalsh(0.5 * (K + K.T))[0]) / (trace or 1.0)


def _own(function: Any, X: Floats, Z: Floats) -> Floats:
    if not callable(function):
        raise ValueError("the witness holds no kernel function")
    K = np.asarray(function(X, Z), dtype=np.float64)
    if K.shape != (len(X), len(Z)):
        raise ValueError(f"the kernel function returned shape {K.shape}")
    return K


def _far(X: Floats, Z: Floats, gamma: float, city: bool) -> Floats:
    """Σ_j |x_j − z_j| or Σ_j (x_j − z_j)²."""
    if X.shape[1] > WIDE and not city and X.dtype == np.float64:
        by_products = _far_by_products(X, Z, gamma)
        if by_products is not None:
            return by_products
    far = np.zeros((len(X), len(Z)), dtype=X.dtype)
    step = max(1, TILE // max(1, len(Z)))
    columns = np.ascontiguousarray(Z.T)
    for i in range(0, len(X), step):
        part = far[i : i + step]
        gap = np.empty_like(part)
        for j in range(X.shape[1]):
            np.subtract(X[i : i + step, j, None], columns[j], out=gap)
            part += np.abs(gap, out=gap) if city else np.multiply(gap, gap, out=gap)
    return far


def _far_by_products(X: Floats, Z: Floats, gamma: float) -> Floats | None:
    """‖x‖² + ‖z‖² − 2 x·z about the mean of Z, unless rounding could show in the kernel."""
    centre = Z.mean(axis=0) if len(Z) else np.zeros(Z.shape[1])
    A, B = X - centre, Z - centre
    a, b = (A * A).sum(axis=1), (B * B).sum(axis=1)
    rounding = 4 * (X.shape[1] + 4) * EPS * (a.max(initial=0.0) + b.max(initial=0.0) + EPS * (X**2).max(initial=0.0))
    if not gamma * rounding <= LOST:
        return None
    far: Floats = np.maximum(a[:, None] + b[None, :] - 2.0 * (A @ B.T), 0.0)
    return far
