"""Kernel functions in NumPy and float64: the definition that everything faster must agree with.

linear        x·z                          rbf           exp(−γ ‖x − z‖₂²)
affine        1 + x·z                      laplacian     exp(−γ ‖x − z‖₁)
poly          (γ x·z + coef0)^degree       sigmoid       tanh(γ x·z + coef0), not positive semidefinite in general
precomputed   the rows *are* the values K(x, x_i) for the rows x_i of the fit
own           a function of yours: f(X, Z) → (n, m)

`resolve` makes one of a user's words: which γ "scale", "auto" and "median" are, and whether a given matrix or function is a kernel.

Polynomial kernels about a centre c, for machines whose coefficients add up to zero: K(x, z) − K(x, c) − K(c, z) + K(c, c).
That is the product of φ(x) − φ(c) and φ(z) − φ(c), so the machine is the same but for its intercept. Of rows far from zero, powers of x·z agree in
all digits but the last, and the difference has to be taken before the power is:

    γ x·z + coef0 = A + a + b + g,      A = γ c·c + coef0,  a = γ c·(x − c),  b = γ c·(z − c),  g = γ (x − c)·(z − c)
    K = (A + a + b + g)^p − (A + a)^p − (A + b)^p + A^p = Σ_q (p over q) A^(p − q) k_q,      k_q = (a + b + g)^q − a^q − b^q
    k_1 = g,   k_q = (a + b + g) k_(q−1) + (b + g) a^(q−1) + (a + g) b^(q−1)                 sums without differences
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from assay.errors import DataError, ModelFileError, ParameterError
from assay.numerics import Array, Floats

FAR_POWERS = 4.0  # times how far rows are from each other: from there on powers are taken about their mean
MOST_EXACT = 1 << 13  # numbers of rows whose values are found without rounding
MOST_DEGREE = 16  # of powers taken about a centre: each costs a pass over the values
KERNELS = ("linear", "affine", "poly", "rbf", "laplacian", "sigmoid", "precomputed")
KERNEL_WORDS = {
    "rbf": "RBF",
    "poly": "polynomial",
    "laplacian": "Laplacian",
    "sigmoid": "sigmoid",
    "linear": "linear kernel",
    "affine": "affine kernel",
}
AT_A_TIME = 1 << 22  # numbers of one step of the Laplacian kernel

Own = Callable[[Floats, Floats], Any]
SAMPLE = 1000  # rows whose pairs the median is taken of
TRIED = 200  # rows on which a function of the user's is tried
SYMMETRIC = 1e-8  # of the greatest entry: more asymmetry than that is no rounding
NEGATIVE = 1e-8  # of the greatest eigenvalue: less than −that is no rounding
FAR = 32.0  # times how far rows are from each other: from there on products are taken about their mean
COARSE = 1e-11  # of a value of the kernel: rounding of its exponent from which distances are taken column by column
EPS = float(np.finfo(np.float64).eps)
ROWS_AT_A_TIME = 2048  # rows of a matrix compared with their columns at a time


def is_power(kernel: Kernel) -> bool:
    """Whether the kernel is a polynomial that can be taken about a centre."""
    return kernel.name == "poly" and kernel.degree == int(kernel.degree) and kernel.degree <= MOST_DEGREE


def powers_about(kernel: Kernel, off: Floats, other: Floats) -> Floats:
    """K about the centre of all rows whose differences from it are `off` (n, d) and `other` (m, d): (n, m)."""
    c = _centre(kernel)
    a, b = kernel.gamma * (off @ c), kernel.gamma * (other @ c)
    return _powers(kernel, _constant(kernel, off), a[:, None], b[None, :], kernel.gamma * (off @ other.T))


def squares_about(kernel: Kernel, off: Floats) -> Floats:
    """The same of each row with itself: (n,)."""
    a = kernel.gamma * (off @ _centre(kernel))
    return _powers(kernel, _constant(kernel, off), a, a, kernel.gamma * np.einsum("ij,ij->i", off, off))


def centre_values(kernel: Kernel, off: Floats) -> Floats:
    """K(x, c) − K(c, c) of each row: what an intercept loses by the centre, a coefficient."""
    a, A, p = kernel.gamma * (off @ _centre(kernel)), _constant(kernel, off), int(kernel.degree)
    total = np.zeros_like(a)
    for q in range(1, p + 1):
        total = total + math.comb(p, q) * A ** (p - q) * a**q
    return total


def exact_centre_values(kernel: Kernel, Z: Floats) -> Array | None:
    """The same of rows counted from zero, by the formula and without rounding: K(z, c) is far greater than what is left of its sum with coefficients
    that add up to zero. None where rows are too many for it."""
    if Z.size > MOST_EXACT or not np.isfinite(Z).all():
        return None
    c, gamma, coef0 = exact(_centre(kernel)), Fraction(kernel.gamma), Fraction(kernel.coef0)
    power, own = int(kernel.degree), gamma * sum((v * v for v in c), Fraction(0)) + coef0
    at = [gamma * sum((u * v for u, v in zip(row, c)), Fraction(0)) + coef0 for row in map(exact, Z)]
    return np.array([value**power - own**power for value in at], dtype=object)


def exact(numbers: Floats) -> Array:
    """Floats as the fractions that they are."""
    return np.array([Fraction(value) for value in numbers.ravel().tolist()], dtype=object).reshape(numbers.shape)


def in_long(values: Array) -> Floats:
    """Fractions in extended precision, rounded once or twice."""
    high = [float(value) for value in values]
    low = [float(Fraction(value) - Fraction(part)) if math.isfinite(part) else 0.0 for value, part in zip(values, high)]
    return np.array(high, dtype=np.longdouble) + np.array(low, dtype=np.longdouble)


def largest_powers(kernel: Kernel, length: Floats, other: Floats) -> Floats:
    """What the sums of `powers_about` are at most for rows so far from the centre, each term by its size: (n, m)."""
    c = _centre(kernel)
    far = math.sqrt(float(c @ c))
    A = kernel.gamma * far * far + abs(kernel.coef0)
    a, b = kernel.gamma * far * length, kernel.gamma * far * other
    return _powers(kernel, A, a[:, None], b[None, :], kernel.gamma * np.outer(length, other))


def _centre(kernel: Kernel) -> Floats:
    assert kernel.centre is not None
    return kernel.centre


def _constant(kernel: Kernel, off: Floats) -> Any:
    """A, in the precision of the rows."""
    c = _centre(kernel).astype(off.dtype)
    return kernel.gamma * (c @ c) + kernel.coef0


def _powers(kernel: Kernel, A: Any, a: Floats, b: Floats, g: Floats) -> Floats:
    """Σ_q (p over q) A^(p − q) k_q."""
    p = int(kernel.degree)
    k, whole, of_a, of_b = g, a + b + g, b + g, a + g
    total = p * A ** (p - 1) * k if p else np.zeros_like(g)
    for q in range(2, p + 1):
        k = whole * k + of_a * a ** (q - 1) + of_b * b ** (q - 1)
        total = total + math.comb(p, q) * A ** (p - q) * k
    return total


@dataclass(frozen=True)
class Kernel:
    """A kernel function with its numbers. `centre` (d,): rows are counted from there, which rbf and laplacian do not notice but their digits do;
    nor do machines with a linear or polynomial kernel whose coefficients add up to zero, but for their intercept. `by_differences`: rbf and laplacian take
    distances column by column, as products of these rows would lose the digits in which they differ."""

    name: str
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 0.0
    own: Own | None = None
    centre: Floats | None = None
    by_differences: bool = False

    @property
    def normed(self) -> bool:
        """Whether K(x, x) = 1 for every row."""
        return self.name in ("rbf", "laplacian")

    def block(self, X: Array, Z: Array) -> Floats:
        """K(x_i, z_j) for all rows x_i and z_j: (n, m). Of "precomputed" X are values already, and Z are row numbers of the fit."""
        with np.errstate(over="ignore", invalid="ignore"):
            K = self._block(X, Z)
        if not np.isfinite(K).all():
            self._refuse(K)
        return K

    def _block(self, X: Array, Z: Array) -> Floats:
        if self.name == "precomputed":
            given: Floats = np.asarray(X, dtype=np.float64)[:, np.asarray(Z, dtype=np.int64)]
            return given
        X, Z = np.asarray(X, dtype=np.float64), np.asarray(Z, dtype=np.float64)
        if self.own is not None:
            return self._of_own(X, Z)
        if self.name == "laplacian":
            return np.exp(-self.gamma * _distances(X, Z, np.abs))
        if self.by_differences:
            apart: Floats = np.exp(-self.gamma * _distances(X, Z, np.square))
            return apart
        if self.centre is not None:
            X, Z = X - self.centre, Z - self.centre
        if self.name == "rbf":
            far = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", Z, Z)[None, :] - 2.0 * (X @ Z.T)
            near: Floats = np.exp(-self.gamma * np.maximum(far, 0.0))
            return near
        return self._of_rows(X, Z)

    def extended(self, X: Floats, Z: Floats) -> Floats:
        """`block` of rows in extended precision, distances by differences."""
        if self.normed:
            values: Floats = np.exp(-self.gamma * _distances(X, Z, np.square if self.name == "rbf" else np.abs))
            return values
        X, Z = (X, Z) if self.centre is None else (X - self.centre, Z - self.centre)
        return self._of_rows(X, Z)

    def _of_rows(self, X: Floats, Z: Floats) -> Floats:
        """Of rows as they are counted, from zero or from the centre."""
        return powers_about(self, X, Z) if self.is_about_centre else self._of_product(X @ Z.T)

    @property
    def is_about_centre(self) -> bool:
        """Whether values are those of a polynomial less its values with the centre."""
        return self.name == "poly" and self.centre is not None

    def _of_product(self, P: Floats) -> Floats:
        if self.name == "affine":
            return 1.0 + P
        if self.name == "poly":
            powers: Floats = np.power(self.gamma * P + self.coef0, self.degree)
            return powers
        if self.name == "sigmoid":
            return np.tanh(self.gamma * P + self.coef0)
        return P

    def _of_own(self, X: Floats, Z: Floats) -> Floats:
        assert self.own is not None
        K = np.asarray(self.own(X, Z), dtype=np.float64)
        if K.shape != (len(X), len(Z)):
            raise DataError(
                f"The kernel function returned an array of shape {K.shape} for {len(X)} and {len(Z)} rows: it must return one value a "
                f"pair, shape ({len(X)}, {len(Z)})."
            )
        return K

    def diagonal(self, X: Array) -> Floats:
        """K(x_i, x_i) of every row; of "precomputed" X is the square matrix of the fit."""
        if self.normed:
            return np.ones(len(X))
        if self.name == "precomputed":
            return np.asarray(X, dtype=np.float64).diagonal().copy()
        X = np.asarray(X, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.own is not None:
                some = [self._of_own(X[i : i + 64], X[i : i + 64]).diagonal() for i in range(0, len(X), 64)]
                found: Floats = np.concatenate([np.empty(0), *some])
            else:
                X = X if self.centre is None else X - self.centre
                squares = np.einsum("ij,ij->i", X, X)
                found = squares_about(self, X) if self.is_about_centre else self._of_product(squares)
        if not np.isfinite(found).all():
            self._refuse(found)
        return found

    def _refuse(self, K: Floats) -> None:
        if self.own is not None:
            raise DataError(
                "The kernel function returned NaN or infinity: it must return a finite number for every pair of rows."
            )
        if self.name == "poly" and np.isnan(K).any() and self.degree != int(self.degree):
            raise DataError(
                f"A negative number to the power degree={self.degree:g} is no real number: use a whole degree, or a coef0 large enough."
            )
        if self.name == "precomputed":
            raise DataError("The precomputed kernel holds NaN or infinity: every value must be a finite number.")
        raise DataError(
            f"Values of the {self.name} kernel overflow float64: divide the columns by a constant (or standardise them), or lower gamma."
        )

    def words(self) -> str:
        """The formula with its numbers.

        >>> Kernel("rbf", gamma=0.5).words()
        'exp(-0.5 |x - z|^2)'
        """
        g, c = f"{self.gamma:.6g}", f"{self.coef0:.6g}"
        return {
            "linear": "x.z",
            "affine": "1 + x.z",
            "poly": f"({g} x.z + {c})^{self.degree:g}",
            "rbf": f"exp(-{g} |x - z|^2)",
            "laplacian": f"exp(-{g} |x - z|_1)",
            "sigmoid": f"tanh({g} x.z + {c})",
            "precomputed": "the given matrix",
        }.get(self.name, "a function of the user")


def _distances(X: Floats, Z: Floats, of_one: Callable[[Floats], Floats]) -> Floats:
    """Σ_k |x_k − z_k| or its squares for all pairs."""
    far = np.empty((len(X), len(Z)), dtype=X.dtype)
    step = max(1, AT_A_TIME // max(1, Z.size))
    for i in range(0, len(X), step):
        far[i : i + step] = of_one(X[i : i + step, None, :] - Z[None, :, :]).sum(axis=2)
    return far


def has_formula(kernel: Kernel) -> bool:
    """Whether values follow from the numbers of the kernel, not from what the user gave."""
    return kernel.own is None and kernel.name != "precomputed"


def far_centre(X: Floats, w: Floats | None = None, far: float = FAR, constant: float = 0.0) -> Floats | None:
    """The mean of rows that are much farther from zero than from each other, so that their products (plus a constant) would differ in their
    last digits alone; None where they are not."""
    scale = math.ldexp(1.0, math.frexp(float(np.abs(X).max(initial=0.0)))[1])
    Z = X / scale
    mean = np.clip(np.average(Z, axis=0, weights=w), Z.min(axis=0), Z.max(axis=0)) if len(Z) else np.zeros(0)
    apart = float(np.average(((Z - mean) ** 2).sum(axis=1), weights=w)) if len(Z) else math.inf
    return mean * scale if float(mean @ mean) + constant / scale / scale > far * far * apart else None


def needs_differences(kernel: Kernel, X: Floats) -> bool:
    """Whether distances of these rows by products, |x|² + |z|² − 2 x·z about the centre, or of rows that γ was multiplied into, are too coarse
    for the kernel."""
    if not kernel.normed:
        return False
    with np.errstate(over="ignore"):
        off = X if kernel.centre is None else X - kernel.centre
        reach = 2.0 * np.einsum("ij,ij->i", off, off) if kernel.name == "rbf" else np.abs(off).sum(axis=1)
        wide = kernel.gamma * float(reach.max(initial=0.0))
    return not (X.shape[1] + 8) * EPS * wide <= COARSE


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
    for i in range(0, len(K), ROWS_AT_A_TIME):
        off = np.abs(K[i : i + ROWS_AT_A_TIME] - K[:, i : i + ROWS_AT_A_TIME].T)
        if off.max(initial=0.0) > SYMMETRIC * top:
            row, column = np.unravel_index(int(off.argmax()), off.shape)
            a, b = K[i + row, column], K[column, i + row]
            raise DataError(
                f"The precomputed kernel is not symmetric: K[{i + row}, {column}] = {a:g}, K[{column}, {i + row}] = {b:g}. "
                "Give (K + K.T) / 2 if that is what you mean."
            )


def refuse_own_kernel(model: Any) -> None:
    """Raise where a fitted model that is to become a file has a kernel function of the user's."""
    if callable(model._fitted_with["kernel"]):
        raise ModelFileError(
            f"This {type(model).__name__} was fitted with a kernel function of yours, and a model file holds data, no code. Use one of "
            "the named kernels, or kernel='precomputed' with the matrix of your function's values."
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
