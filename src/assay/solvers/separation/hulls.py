"""The nearest points of two convex hulls, or of one hull and the origin, for few points (Wolfe 1976; two groups after Gilbert).

    min ½‖v‖²,  v = Σ_i α_i p_i,   α ≥ 0,   Σ_{i in g} α_i = 1 for each group g

With p = s·x and a group a side, v joins the hulls of the two sides; with one group it is the hull's point nearest to zero.
A face is a set of active points whose columns (e_g, p) are independent, M = QR. The least v on its affine hull has
M α = Q u with the shortest u for which Q_E u = 1 (Q_E the first rows of Q, those of the e_g): u = Q_Eᵀ(Q_E Q_Eᵀ)⁻¹1.
Nothing is squared, and d + 2 active points give v = 0 to rounding. Each round lengthens no v and visits no face twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.engines.engine import scipy_linalg
from assay.numerics import Array, Floats

EPS = float(np.finfo(np.float64).eps)
DEPENDENT = 1e-13  # a column this near to the others' span is taken to be in it
TOUCHING = 64 * EPS  # a v this short against the points is zero but for rounding
REFRESH = 50  # changes of the factor after which it is made anew
ROUNDS = 100_000
MOST_ACTIVE = 1500  # active points with which the search ends without an answer


class Nearest(NamedTuple):
    """Weights (m,), v = Aᵀ·weights (more accurately so than by that sum), and whether v is zero but for rounding."""

    weights: Floats
    v: Floats
    meets: bool


class _Face:
    """The active points in order, their weights, and M = QR."""

    def __init__(self, A: Floats, group: Array, groups: int) -> None:
        self.A, self.group, self.groups = A, group, groups
        self.active: list[int] = []
        self.alpha, self.v, self.level = np.zeros(0), np.zeros(0), np.zeros(0)
        self.changes = 0

    def column(self, j: int) -> Floats:
        e = np.zeros(self.groups)
        e[self.group[j]] = 1.0
        return np.concatenate([e, self.A[j]])

    def begin(self, active: list[int], alpha: Floats) -> None:
        self.active, self.alpha = list(active), np.array(alpha, dtype=np.float64)
        self.refresh()

    def refresh(self) -> None:
        self.Q, self.R = np.linalg.qr(np.array([self.column(j) for j in self.active]).T)
        self.changes = 0

    def independent(self) -> bool:
        """Whether the columns are independent beyond rounding."""
        return len(self.R) == len(self.active) and bool(np.abs(np.diag(self.R)).min() > DEPENDENT)

    def push(self, j: int) -> bool:
        """Make a point active with weight 0; False where it lies in the affine hull of the others."""
        if len(self.active) == len(self.Q):
            return False
        c = self.column(j)
        r = self.Q.T @ c
        rest = c - self.Q @ r
        again = self.Q.T @ rest  # twice is enough (Kahan)
        rest -= self.Q @ again
        left = float(np.linalg.norm(rest))
        if left <= DEPENDENT * float(np.linalg.norm(c)):
            return False
        a = len(self.active)
        R = np.zeros((a + 1, a + 1))
        R[:a, :a], R[:a, a], R[a, a] = self.R, r + again, left
        self.Q, self.R = np.column_stack([self.Q, rest / left]), R
        self.active.append(j)
        self.alpha = np.append(self.alpha, 0.0)
        self.changes += 1
        return True

    def drop(self, k: int) -> None:
        self.active.pop(k)
        self.alpha = np.delete(self.alpha, k)
        self.changes += 1
        if self.changes > REFRESH:
            self.refresh()
            return
        Q, R = scipy_linalg().qr_delete(self.Q, self.R, k, 1, "col", check_finite=False)
        a = len(self.active)
        self.Q, self.R = np.ascontiguousarray(Q[:, :a]), R[:a]

    def least(self) -> tuple[Floats, Floats, Floats]:
        """The weights of the shortest v on the affine hull, that v, and the levels t with p·v = t_g for active p.

        (−t, v) = (QQᵀ − I)(λ, 0) is what the columns leave of λ = (Q_E Q_Eᵀ)⁻¹1. Taken out twice, it is orthogonal to them
        to rounding of its own size, however short it is.
        """
        QE = self.Q[: self.groups]
        lam = np.linalg.solve(QE @ QE.T, np.ones(self.groups))
        u = QE.T @ lam
        weights: Floats = scipy_linalg().solve_triangular(self.R, u, check_finite=False)
        left = self.Q @ u
        left[: self.groups] -= lam
        left -= self.Q @ (self.Q.T @ left)
        return weights, left[self.groups :], -left[: self.groups]

    def settle(self) -> None:
        """Go to the least v of the face, dropping points whose weight would turn negative on the way."""
        while True:
            target, v, level = self.least()
            bad = np.flatnonzero(target <= 0.0)
            if len(bad) == 0:
                self.alpha, self.v, self.level = target, v, level
                return
            step = self.alpha[bad] / np.maximum(self.alpha[bad] - target[bad], 1e-300)
            k = int(bad[np.argmin(step)])
            theta = min(1.0, float(step.min()))
            self.alpha = np.maximum(self.alpha + theta * (target - self.alpha), 0.0)
            self.drop(k)


def _first(A: Floats, group: Array, groups: int) -> list[int]:
    """A point of each group to begin with: the least along the way from the origin to the middle of the groups."""
    middle = sum(A[group == g].mean(axis=0) for g in range(groups))
    along = A @ middle
    return [int(np.flatnonzero(group == g)[np.argmin(along[group == g])]) for g in range(groups)]


def nearest_points(A: Floats, group: Array, groups: int, start: Floats | None = None, tol: float = 1e-10) -> Nearest:
    """Solve for points A (m, u) with their groups (m,), from the weights `start` (whose points must be independent).

    Ends where no point is below its group's active ones, along v, by more than tol·‖v‖² or by rounding.
    """
    length = float(np.sqrt((A * A).sum(axis=1).max()))
    if length == 0.0:
        weights = np.zeros(len(A))
        weights[[int(np.flatnonzero(group == g)[0]) for g in range(groups)]] = 1.0
        return Nearest(weights, np.zeros(A.shape[1]), True)
    A = A * 2.0 ** -np.frexp(length)[1]
    face = _Face(A, group, groups)
    if start is not None and start.any():
        active = np.flatnonzero(start > 0)
        face.begin(active.tolist(), start[active])
    if not face.active or not face.independent():
        face.begin(_first(A, group, groups), np.ones(groups))
    meets = _descend(face, tol)
    weights = np.zeros(len(A))
    weights[face.active] = face.alpha
    return Nearest(weights, face.v * 2.0 ** np.frexp(length)[1], meets)


def _descend(face: _Face, tol: float) -> bool:
    """Add the point furthest below, settle, repeat. True where v came to nothing."""
    A, group = face.A, face.group
    face.settle()
    refused: set[int] = set()
    for _ in range(ROUNDS):
        if len(face.active) > MOST_ACTIVE:
            return False
        v = face.v
        squared = float(v @ v)
        if squared <= TOUCHING**2:
            return True
        below = A @ v
        below -= face.level[group]
        below[list(refused)] = 0.0
        j = int(np.argmin(below))
        if below[j] >= -max(tol * squared, 8 * EPS * np.sqrt(squared)):
            return False
        before, least = (list(face.active), face.alpha.copy()), (face.v, face.level)
        if not face.push(j):
            refused.add(j)
            continue
        face.settle()
        if float(face.v @ face.v) >= squared:  # rounding: the point did not help
            face.begin(*before)
            face.v, face.level = least
            refused.add(j)
    return False
