"""Whether the hulls of a few rows meet, decided in whole numbers: phase 1 of the simplex method without fractions.

    find α ≥ 0 with M α = e:   a column (e_side, s·x) a row,   e = (1, 1, 0, …, 0);   through the origin (1, s·x), e = (1, 0, …)

U = D·B⁻¹ is kept in whole numbers (D the basis' determinant; Edmonds' integer pivoting), beginning with one artificial
column an equation. Where no column can enter and artificial ones remain, their sum of rows y of U has y·M ≤ 0 and y·e > 0:
a hyperplane that separates the rows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from assay.exact import as_integers
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
