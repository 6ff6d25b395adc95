"""Factors of XᵀX + alpha·I: from the matrix itself, or from a QR factorisation of the rows.

The columns are first brought to length one (`scale`), so that what counts is how they depend on each other and not the
units in which they are measured. The matrix squares the condition number; where that costs too many digits, the rows
are factored instead (TSQR, Demmel et al. 2012): the triangular factors of two stretches of rows are stacked and
factored again, which is a fold.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block, fold
from assay.inputs import as_regression_target
from assay.numerics import Floats
from assay.solvers.system import EPS, Passes, System


class Factor(NamedTuple):
    """X·diag(scale) = U·diag(s)·Vᵀ with the penalty's rows appended; V (d, r), s (r,) in falling order.

    `scale` (d,) is one over the columns' lengths, zero for a column that never varies; directions with s ≤ cut·s_max
    are taken for rounding and left out.
    """

    V: Floats
    s: Floats
    scale: Floats
    cut: float

    @property
    def root(self) -> Floats:
        """W (d, r) with Wᵀ(XᵀX + alpha·I)W = I, so that WWᵀ inverts the matrix on its range."""
        return np.ascontiguousarray(self.V * self.scale[:, None] / self.s)

    @property
    def condition(self) -> float:
        """The largest over the smallest singular value, of the directions that are there."""
        return float(self.s[0] / self.s[-1]) if len(self.s) else 1.0

    @property
    def lengths(self) -> Floats:
        """The columns' lengths, one over `scale`."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    @property
    def dependent(self) -> bool:
        """Whether columns that vary depend on each other."""
        return len(self.s) < int(np.count_nonzero(self.scale))

    def solve(self, g: Floats) -> Floats:
        """(XᵀX + alpha·I)⁺ g."""
        out: Floats = self.scale * (self.V @ ((self.V.T @ (self.scale * g)) / self.s**2))
        return out

    def least_norm(self, w: Floats) -> Floats:
        """The shortest of all solutions that fit as well as w: its part in the span of the rows."""
        if len(self.s) == len(w):
            return w
        Q = np.linalg.qr(self.V * self.lengths[:, None])[0]
        out: Floats = Q @ (Q.T @ w)
        return out

    def singular_values(self) -> Floats:
        """The singular values (d,) in the columns' own units."""
        out = np.zeros(len(self.scale))
        out[: len(self.s)] = np.linalg.svd(self.V * self.lengths[:, None] * self.s, compute_uv=False)
        return out


def _scale(diagonal: Floats) -> Floats:
    length = np.sqrt(diagonal)
    return np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)


def _cut(system: System, method: float) -> float:
    """Directions relatively shorter than this are rounding: of the method, or of the values it was given."""
    return min(max(method, 4 * EPS * system.magnification()), 1e-4)


def factor_of_gram(system: System) -> Factor:
    """The factor by eigenvalues of the matrix; good to a condition number of some 10⁷."""
    A = system.matrix
    scale = _scale(A.diagonal())
    live = np.flatnonzero(scale)
    lam, V = np.linalg.eigh(A[np.ix_(live, live)] * np.outer(scale[live], scale[live]))
    lam, V = lam[::-1], V[:, ::-1]
    cut = _cut(system, float(np.sqrt(8 * len(A) * EPS)))
    keep = lam > cut**2 * (lam[0] if len(lam) else 0.0)
    whole = np.zeros((len(A), int(keep.sum())))
    whole[live] = V[:, keep]
    return Factor(whole, np.sqrt(lam[keep]), scale, cut)


def factor_of_rows(system: System, passes: Passes) -> tuple[Factor, Floats]:
    """The factor by QR of the rows, good to a condition number of some 10¹⁴, and the solution w that comes with it."""
    scale = _scale(system.matrix.diagonal())
    absorb = partial(absorb_triangle, system.shift, scale, system.target_shift, system.intercept)
    R = fold(passes.engine, passes.rows.blocks(), absorb, merge_triangles)
    assert R is not None
    R = R[int(system.intercept) :, int(system.intercept) :]
    penalty = np.diag(np.sqrt(system.alpha) * scale)
    stacked = np.concatenate([R[:, :-1], penalty]) if system.alpha > 0 else R[:, :-1]
    target = np.zeros(len(stacked))
    target[: len(R)] = R[:, -1]
    U, s, Vt = np.linalg.svd(stacked, full_matrices=False)
    cut = _cut(system, 8 * len(scale) * EPS)
    r = int((s > cut * s[0]).sum()) if len(s) and s[0] > 0 else 0
    factor = Factor(np.ascontiguousarray(Vt[:r].T), s[:r], scale, cut)
    return factor, scale * (factor.V @ ((U[:, :r].T @ target) / s[:r]))


def absorb_triangle(shift: Floats, scale: Floats, target_shift: float, intercept: bool, block: Block) -> Floats:
    """R of the QR factorisation of √w·[1, (x − shift)·scale, y − target_shift]; without intercept, no first column."""
    assert block.y is not None
    m, d = block.X.shape
    first = int(intercept)
    A = np.ones((m, d + 1 + first))
    np.subtract(block.X, shift, out=A[:, first : d + first])
    A[:, first : d + first] *= scale
    A[:, -1] = as_regression_target(block.y, block.start) - target_shift
    if block.w is not None:
        A *= np.sqrt(block.w)[:, None]
    return _triangle(A)


def merge_triangles(a: Floats, b: Floats) -> Floats:
    """R of both stretches of rows together."""
    return _triangle(np.concatenate([a, b]))


def _triangle(A: Floats) -> Floats:
    return np.asarray(np.linalg.qr(A, mode="r"))
