"""The hard-margin SVM as the lecture notes write it: gradient steps on J, projected back on the constraints.

    min J(w) = ½‖w‖²  subject to  y_i (w·x_i + w₀) ≥ 1;        w ← Π(w − η ∇J(w)) = Π((1 − η) w),  w₀ stays before Π

Π is the point of the polyhedron nearest to (w, w₀), a least-distance problem solved as one of non-negative least squares
(Lawson and Hanson, 1974, chapter 23). For few rows; `separation.hard_margin` is the fast way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.errors import DataError, ParameterError
from assay.numerics import Array, Floats

INFEASIBLE = 1e-12


class Step(NamedTuple):
    """w (d,) and w₀ at time t, J(w) there, and the least y(w·x + w₀)."""

    t: int
    w: Floats
    intercept: float
    objective: float
    least: float


def project(point: Floats, A: Floats) -> Floats:
    """The u nearest to `point` with A u ≥ 1.

    With h = 1 − A·point, z ≥ 0 that makes r = (Aᵀz, h·z) − (0, 1) shortest has u = point − r/r_last; r = 0: there is no u.
    """
    from scipy.optimize import nnls

    h = 1.0 - A @ point
    E = np.vstack([A.T, h])
    f = np.append(np.zeros(A.shape[1]), 1.0)
    z, length = nnls(E, f)
    r = E @ z - f
    if length <= INFEASIBLE:
        raise DataError(
            "No hyperplane has every row on its side, so the hard margin has no solution: use a soft margin (a finite C), "
            "or see which rows stand in the way with separability(X, y)."
        )
    u: Floats = point - r[:-1] / r[-1]
    return u


def projected_gradient(X: Floats, s: Array, eta: float = 0.5) -> Iterator[Step]:
    """The states w⁽⁰⁾ = Π(0), w⁽¹⁾, … for separable rows X (n, d) with sides s = ±1. Take as many as you like."""
    if not 0 < eta < 2:
        raise ParameterError(f"eta={eta!r} is not possible: steps on ½‖w‖² converge for 0 < eta < 2.")
    A = np.column_stack([np.ones(len(X)), X]) * s[:, None]
    u, t = np.zeros(A.shape[1]), 0
    while True:
        u = project(u, A)
        w = u[1:].copy()
        yield Step(t, w, float(u[0]), 0.5 * float(w @ w), float((A @ u).min()))
        u = np.append(u[:1], (1 - eta) * w)
        t += 1
