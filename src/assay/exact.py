"""Proofs about floating-point numbers, which are rationals with a power of two below: elimination without fractions.

T ← (p·T_ij − T_ik·T_kj) / p′          p the pivot, p′ the one before (Bareiss, 1968): every division leaves no remainder
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import NamedTuple

import numpy as np

from assay.numerics import Array, Floats

EPS = float(np.finfo(np.float64).eps)
LARGEST = 102  # rows up to which rational arithmetic takes a few seconds


class Echelon(NamedTuple):
    """The matrix with zeros below its pivots, and the pivots' columns: as many as its rank."""

    rows: list[list[int]]
    pivots: list[int]


def as_integers(values: Floats) -> list[int]:
    """Finite floats times the one positive number that makes them whole and free of common factors.

    >>> as_integers(np.array([0.5, -0.75, 0.0]))
    [2, -3, 0]
    """
    ratios = [float(v).as_integer_ratio() for v in values]
    below = max((q for _, q in ratios), default=1)  # all are powers of two
    whole = [p * (below // q) for p, q in ratios]
    common = gcd(*whole) or 1
    return [v // common for v in whole]


def echelon(matrix: list[list[int]], columns: int) -> Echelon:
    """Eliminate below pivots in the first `columns` columns."""
    rows, pivots, before, at = [list(r) for r in matrix], [], 1, 0
    for k in range(columns):
        found = [i for i in range(at, len(rows)) if rows[i][k]]
        if not found:
            continue
        best = min(found, key=lambda i: abs(rows[i][k]))  # any will do; a short one is cheap
        rows[at], rows[best] = rows[best], rows[at]
        top = rows[at]
        p = top[k]
        for i in range(at + 1, len(rows)):
            row = rows[i]
            q = row[k]
            rows[i] = [(p * a - q * b) // before for a, b in zip(row, top)]
        pivots.append(k)
        before, at = p, at + 1
    return Echelon(rows, pivots)


def solve(matrix: list[list[int]]) -> list[Fraction] | None:
    """The one solution x of A x = c for the rows (A | c), or None where there is none or more than one."""
    unknowns = len(matrix[0]) - 1
    rows, pivots = echelon(matrix, unknowns)
    if len(pivots) < unknowns or any(row[-1] for row in rows[unknowns:]):
        return None
    det = rows[unknowns - 1][unknowns - 1]
    x = [0] * unknowns  # times det, which leaves whole numbers (Cramer)
    for i in range(unknowns - 1, -1, -1):
        row = rows[i]
        x[i] = (row[-1] * det - sum(row[j] * x[j] for j in range(i + 1, unknowns))) // row[i]
    return [Fraction(v, det) for v in x]


def meeting_weights(X: Floats, sides: Array, through_origin: bool = False) -> Floats | None:
    """The α ≥ 0 with Σα₊x₊ = Σα₋x₋ and Σα₊ = Σα₋ = 1, rounded, where rows X (a, d) have exactly one such α; else None.

    Through the origin: Σ α s x = 0 and Σα = 1. Proved by an error bound where there are as many rows as equations, else
    in rational arithmetic (None, too, where that would take too long).

    >>> meeting_weights(np.array([[0.0], [4.0], [1.0]]), np.array([1, 1, -1]))
    array([0.75, 0.25, 1.  ])
    """
    heads = np.ones((1, len(X))) if through_origin else np.stack([sides == 1, sides == -1]).astype(np.float64)
    idle = ~X.any(axis=0) if through_origin else (X[:1] == X).all(axis=0)  # equations that hold anyway
    M = np.concatenate([heads, (X * sides[:, None]).T[~idle]])
    e = (np.arange(len(M)) < len(heads)).astype(np.float64)
    sure = surely_positive(M, e)
    if sure is not None:
        return sure
    if len(X) > LARGEST:
        return None
    alpha = solve([[*as_integers(row), 0] if c == 0.0 else [*map(int, row), 1] for row, c in zip(M, e)])
    if alpha is None or min(alpha) < 0:
        return None
    return np.array([float(a) for a in alpha])


def surely_positive(M: Floats, e: Floats) -> Floats | None:
    """α with M α = e to rounding where M (n, n) is regular and its exact solution positive, both proved; else None.

    With R ≈ M⁻¹ and ρ = ‖I − RM‖ < 1:  |α − α̂| ≤ ‖R(e − Mα̂)‖ / (1 − ρ), all with bounds for their own rounding (Rump, 1999).
    """
    if M.shape[0] != M.shape[1]:
        return None
    scale = np.ldexp(1.0, np.clip(-np.frexp(np.abs(M).max(axis=1))[1], -1000, 1000))
    scaled = M * scale[:, None]
    if not (np.isfinite(scaled).all() and np.array_equal(scaled / scale[:, None], M)):
        return None  # not exact
    e = e * scale
    try:
        R = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        return None
    n, size = len(M), np.abs(R)
    rounding = (n + 3) * EPS
    rho = np.abs(np.eye(n) - R @ scaled) + rounding * (size @ np.abs(scaled) + np.eye(n))
    alpha: Floats = R @ e
    left = np.abs(e - scaled @ alpha) + rounding * (np.abs(scaled) @ np.abs(alpha) + np.abs(e))
    norm = float(rho.sum(axis=1).max()) * (1 + rounding)
    if not norm < 0.5:
        return None
    off = 2.0 * float((size @ left).max()) * (1 + rounding)
    return alpha if bool((alpha > off).all()) else None


def value_at(x: Floats, w: Floats, b: float) -> Fraction:
    """w·x + b without rounding."""
    return sum((Fraction(float(a)) * Fraction(float(c)) for a, c in zip(x, w) if a and c), Fraction(float(b)))
