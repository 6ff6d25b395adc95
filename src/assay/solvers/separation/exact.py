"""Whether the hulls of a few rows meet, decided in whole numbers: phase 1 of the simplex method without fractions.

    find α ≥ 0 with M α = e:   a column (e_side, s·x) a row,   e = (1, 1, 0, …, 0);   through the origin (1, s·x), e = (1, 0, …)

U = D·B⁻¹ is kept in whole numbers (D the basis' determinant; Edmonds' integer pivoting), beginning with one artificial
column an equation. Where no column can enter and artificial ones remain, their sum of rows y of U has y·M ≤ 0 and y·e > 0:
a hyperplane that separates the rows.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import NamedTuple

import numpy as np

from assay.numerics import Array, Floats

MOST_PIVOTS = 2000


class Decision(NamedTuple):
    """Either rows `at` that meet, at most as many as equations; or w (d,) and b, rounded, of a hyperplane that separates."""

    at: list[int] | None
    w: Floats
    b: float


def decide(X: Floats, sides: Array, through_origin: bool, hint: Array) -> Decision | None:
    """Decide for rows X (m, d); rows where `hint` holds are tried first. None where it takes too long."""
    used = np.flatnonzero(X.any(axis=0))
    coordinates = [as_integers(X[:, j] * sides) for j in used]
    heads = [[1] * len(X)] if through_origin else [[int(s == side) for s in sides] for side in (1, -1)]
    columns = list(zip(*heads, *coordinates))
    order = [*np.flatnonzero(hint).tolist(), *np.flatnonzero(~hint).tolist()]
    return _simplex(columns, order, len(heads), X, used, sides)


def _simplex(
    columns: list[tuple[int, ...]], order: list[int], heads: int, X: Floats, used: Array, sides: Array
) -> Decision | None:
    n = len(columns[0])
    U = [[int(i == k) for k in range(n)] + [int(i < heads)] for i in range(n)]  # the last column is D·B⁻¹e
    D, basis = 1, [-1] * n
    for _ in range(MOST_PIVOTS):
        artificial = [row for row, j in zip(U, basis) if j < 0]
        y = [sum(column) for column in zip(*artificial)] if artificial else [0] * (n + 1)
        if y[-1] == 0:
            return Decision([j for j, row in zip(basis, U) if j >= 0 and row[-1] > 0], np.zeros(X.shape[1]), 0.0)
        enter = next((j for j in order if j not in basis and _dot(y, columns[j]) > 0), None)
        if enter is None:
            return _separator(y, heads, X, used, columns, sides)
        c = [_dot(row, columns[enter]) for row in U]
        leave = min(
            (i for i in range(n) if c[i] > 0), key=lambda i: (Fraction(U[i][-1], c[i]), basis[i])
        )  # artificial columns, −1, first
        p, top = c[leave], U[leave]
        for i in range(n):
            if i != leave:
                q = c[i]
                U[i] = [(p * a - q * b) // D for a, b in zip(U[i], top)]
        D, basis[leave] = p, enter
    return None


def _dot(a: list[int], b: tuple[int, ...]) -> int:
    return sum(p * q for p, q in zip(a, b) if q)


def _separator(
    y: list[int], heads: int, X: Floats, used: Array, columns: list[tuple[int, ...]], sides: Array
) -> Decision:
    """w = −y on the coordinates, in the user's units, and b halfway between the sides."""
    w = [Fraction(0)] * X.shape[1]
    for k, j in enumerate(used):
        i = int(np.flatnonzero(X[:, j])[0])
        factor = Fraction(columns[i][heads + k]) / Fraction(float(X[i, j] * sides[i]))
        w[j] = -y[heads + k] * factor
    b = Fraction(y[1] - y[0], 2) if heads == 2 else Fraction(0)
    size = max((abs(v) for v in w), default=Fraction(1))
    return Decision(None, np.array([float(v / size) for v in w]), float(b / size))


# Proofs about floating-point numbers, which are rationals with a power of two below: elimination without fractions.
#
# T ← (p·T_ij − T_ik·T_kj) / p′          p the pivot, p′ the one before (Bareiss, 1968): every division leaves no remainder

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
