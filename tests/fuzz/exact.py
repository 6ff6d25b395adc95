"""Arithmetic without rounding: every float is a fraction, so small problems of least squares and of sides have exact answers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Vector = list[Fraction]
Matrix = list[Vector]


def exact(array: Any) -> Any:
    """The numbers of an array of one or two axes as fractions."""
    if np.ndim(array) == 0:
        return Fraction(float(array))
    return [exact(part) for part in array]


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((p * q for p, q in zip(a, b)), Fraction(0))


def about_mean(columns: Matrix, w: Vector) -> tuple[Matrix, Vector]:
    """Columns less their weighted means, and the means."""
    n = sum(w, Fraction(0))
    means = [dot(w, column) / n for column in columns]
    return [[value - mean for value in column] for column, mean in zip(columns, means)], means


def solve(A: Matrix, b: Vector) -> tuple[Vector, int]:
    """Some u with A u = b for a symmetric A whose range holds b, and the rank of A, by Gauss–Jordan."""
    rows, d, pivots = [[*row, value] for row, value in zip(A, b)], len(b), []
    for j in range(d):
        at = next((i for i in range(len(pivots), d) if rows[i][j]), None)
        if at is None:
            continue
        k = len(pivots)
        rows[k], rows[at] = rows[at], rows[k]
        rows[k] = [value / rows[k][j] for value in rows[k]]
        for i in range(d):
            if i != k and rows[i][j]:
                rows[i] = [value - rows[i][j] * top for value, top in zip(rows[i], rows[k])]
        pivots.append(j)
    u = [Fraction(0)] * d
    for k, j in enumerate(pivots):
        u[j] = rows[k][d]
    return u, len(pivots)


def on_their_sides(X: np.ndarray, sides: np.ndarray, coef: Any, intercept: float) -> bool:
    """Whether s (w·x + b) > 0 for every row, exactly."""
    w, b = exact(coef), Fraction(float(intercept))
    return all(int(s) * (dot(w, exact(x)) + b) > 0 for x, s in zip(X, sides))


def square_root(value: Fraction) -> float:
    """Its square root as a float, whatever its size; infinite beyond all floats."""
    if value <= 0:
        return 0.0
    shift = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    with np.errstate(over="ignore"):
        return float(np.ldexp(np.sqrt(float(value / Fraction(4) ** shift)), shift))
