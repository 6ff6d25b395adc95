"""Polynomial kernels about a centre c, for machines whose coefficients add up to zero: K(x, z) − K(x, c) − K(c, z) + K(c, c).

That is the product of φ(x) − φ(c) and φ(z) − φ(c), so the machine is the same but for its intercept. Of rows far from zero, powers of x·z agree in
all digits but the last, and the difference has to be taken before the power is:

    γ x·z + coef0 = A + a + b + g,      A = γ c·c + coef0,  a = γ c·(x − c),  b = γ c·(z − c),  g = γ (x − c)·(z − c)
    K = (A + a + b + g)^p − (A + a)^p − (A + b)^p + A^p = Σ_q (p over q) A^(p − q) k_q,      k_q = (a + b + g)^q − a^q − b^q
    k_1 = g,   k_q = (a + b + g) k_(q−1) + (b + g) a^(q−1) + (a + g) b^(q−1)                 sums without differences
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.kernel.functions import Kernel

FAR_POWERS = 4.0  # times how far rows are from each other: from there on powers are taken about their mean
MOST_EXACT = 1 << 13  # numbers of rows whose values are found without rounding
MOST_DEGREE = 16  # of powers taken about a centre: each costs a pass over the values


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
