"""Least squares by the normal equations (XᵀX + alpha·I)w = Xᵀy, refined from the rows where digits were lost (Björck 1987):

    r = y − b − Xw,    g = Xᵀr − alpha·w,    w ← w + (XᵀX + alpha·I)⁻¹ g,    b ← b + Σr/n

Well-conditioned systems need no refinement and no second pass over the rows.

The columns are first brought to length one (`scale`), so that what counts is how they depend on each other and not the
units in which they are measured. The matrix squares the condition number; where that costs too many digits, the rows
are factored instead (TSQR, Demmel et al. 2012): the triangular factors of two stretches of rows are stacked and
factored again, which is a fold.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.inputs import as_regression_target
from assay.numerics import Array, Floats

EPS = float(np.finfo(np.float64).eps)
WELL_CONDITIONED = 1e2  # below, the normal equations alone give twelve digits
TOO_ILL_FOR_GRAM = 1e5  # above, squaring the condition number leaves too few digits to refine with
CLOSE = 1e-10  # normal equations off by more than this, relative to their scale, are refined
CORRECTIONS = 4


class NormalSystem(NamedTuple):
    """min_{w, b} Σ (y − b − w·x)² + alpha·‖w‖².

    n: weight of the rows; mean (d,), target_mean; S = XᵀX, c = Xᵀy, yy = yᵀy about the means, or about zero where no
    intercept is fitted. x is counted from `shift` and y from `target_shift`: the means, or zero.
    """

    n: float
    mean: Floats
    target_mean: float
    S: Floats
    c: Floats
    yy: float
    alpha: float
    intercept: bool

    @property
    def matrix(self) -> Floats:
        """S + alpha·I."""
        return self.S + self.alpha * np.eye(len(self.S)) if self.alpha else self.S

    @property
    def shift(self) -> Floats:
        return self.mean if self.intercept else np.zeros_like(self.mean)

    @property
    def target_shift(self) -> float:
        return self.target_mean if self.intercept else 0.0

    def off_by(self, g: Floats) -> float:
        """max_j |g_j| / (√(‖x_j‖² + alpha)·‖y‖) of a gradient in w and, last, in b (whose column has length √n)."""
        lengths = np.append(np.sqrt(self.S.diagonal() + self.alpha), np.sqrt(self.n))[: len(g)] * (
            np.sqrt(self.yy) or 1.0
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.max(np.where(g == 0, 0.0, np.abs(g) / lengths)))

    def raw_lengths(self) -> Floats:
        """The lengths of the columns, about zero."""
        squares = self.S.diagonal() + (self.n * self.mean**2 if self.intercept else 0.0)
        out: Floats = np.sqrt(squares)
        return out

    def magnification(self) -> float:
        """By how much rounding of the values counts for more once their means are taken off."""
        live = self.S.diagonal() > 0
        return float(np.sqrt(np.sum(self.raw_lengths()[live] ** 2 / self.S.diagonal()[live])))

    def rounding(self, w: Floats, b: float) -> float:
        """What rounding in the residuals of (w, b) may put the normal equations off by."""
        target = np.sqrt(self.yy + (self.n * self.target_mean**2 if self.intercept else 0.0))
        size = np.abs(w) @ self.raw_lengths() + np.sqrt(self.n) * abs(b) + target
        return 64 * EPS * float(size) / float(np.sqrt(self.yy) or 1.0)


class RowPasses(NamedTuple):
    """The rows, where they can be read again."""

    engine: Engine
    rows: Rows


class LeastSquaresFit(NamedTuple):
    """Coefficients, residual sum of squares, how far the normal equations are off, and what it took."""

    coef: Floats
    intercept: float
    squares: float
    off: float
    rounds: int
    converged: bool


def solve(system: NormalSystem, passes: RowPasses | None, tile: int) -> tuple[SingularFactor, LeastSquaresFit]:
    """The solution and the factor it was found with; of several solutions the shortest. Without `passes` unrefined."""
    factor, start = factor_of_gram(system), None
    if passes is not None and (factor.dependent or factor.condition > TOO_ILL_FOR_GRAM):
        factor, start = factor_of_rows(system, passes)
    w = factor.least_norm(factor.solve(system.c) if start is None else start)
    b, rounds = 0.0, 1
    squares = max(system.yy - float(w @ (2 * system.c - system.S @ w)), 0.0)
    g = system.c - system.matrix @ w
    if passes is not None and (start is not None or digits_lost(system, factor, squares, g)):
        w, b, squares, g, rounds = refine(system, passes, factor, w, tile)
    intercept = b + system.target_mean - float(system.mean @ w) if system.intercept else 0.0
    return factor, LeastSquaresFit(w, intercept, squares, system.off_by(g), rounds, True)


def digits_lost(system: NormalSystem, factor: SingularFactor, squares: float, g: Floats) -> bool:
    """Whether digits were lost: to the condition number, or in a sum of squares that is almost nothing."""
    return factor.condition > WELL_CONDITIONED or squares < 1e-6 * system.yy or system.off_by(g) > CLOSE


class Residual(NamedTuple):
    """Σwr, Σwr(x − shift) (d,) and Σwr² of r = y − target_shift − b − (x − shift)·w."""

    total: float
    slope: Floats
    squares: float


def absorb_residual(shift: Floats, target_shift: float, b: float, coef: Floats, tile: int, block: Block) -> Residual:
    """The residuals of one block, tile by tile."""
    assert block.y is not None
    y = as_regression_target(block.y, block.start)
    slope, total, squares = np.zeros(len(coef)), 0.0, 0.0
    for a in range(0, len(y), tile):
        x: Array = np.subtract(block.X[a : a + tile], shift, dtype=np.float64)
        r = (y[a : a + tile] - target_shift) - b - x @ coef
        weighted = r if block.w is None else r * block.w[a : a + tile]
        slope += weighted @ x
        total += float(weighted.sum())
        squares += float(weighted @ r)
    return Residual(total, slope, squares)


def merge_residuals(a: Residual, b: Residual) -> Residual:
    """The residuals of both stretches of rows together."""
    return Residual(a.total + b.total, a.slope + b.slope, a.squares + b.squares)


class Refined(NamedTuple):
    """w and b about the shift, Σr², the gradient that is left in w and b, and the number of solutions tried."""

    w: Floats
    b: float
    squares: float
    g: Floats
    rounds: int


def refine(system: NormalSystem, passes: RowPasses, factor: SingularFactor, w: Floats, tile: int) -> Refined:
    """Correct w by the factor as long as that helps, or until corrections move no coefficient's thirteenth digit."""
    b, last, best = 0.0, np.inf, None
    enough = 1e-13 * np.sqrt(system.yy) / factor.condition
    for rounds in range(1, CORRECTIONS + 2):
        absorb = partial(absorb_residual, system.shift, system.target_shift, b, w, tile)
        residual = fold(passes.engine, passes.rows.blocks(), absorb, merge_residuals)
        assert residual is not None
        slope = residual.slope - system.alpha * w
        total = residual.total if system.intercept else 0.0
        step = (factor.V.T @ (factor.scale * slope)) / factor.s
        size = float(np.sqrt(step @ step + total**2 / system.n))  # by how much the correction moves the predictions
        if best is not None and not size < last:
            break
        g = np.append(slope, total) if system.intercept else slope
        best = Refined(w, b, residual.squares, g, rounds)
        if size <= enough or size > last / 4:
            break
        last = size
        w = factor.least_norm(w + factor.solve(slope))
        b += total / system.n
    assert best is not None
    return best


class SingularFactor(NamedTuple):
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
        """The shortest of all solutions that fit as well as w.

        What is taken off changes no fitted value: directions without length in columns of length one, in the columns' own units.
        """
        if not self.dependent:
            return w  # zero where a column never varies
        live = np.flatnonzero(self.scale)
        if 2 * len(self.s) < len(live):  # many more columns than rows: their span is the smaller one
            Q = np.linalg.qr(self.V * self.lengths[:, None])[0]
            inside: Floats = Q @ (Q.T @ w)
            return inside
        null = np.linalg.qr(self.V[live], mode="complete")[0][:, len(self.s) :] * self.scale[live, None]
        null /= np.abs(null).max(axis=0)
        out = w.copy()
        for _ in range(2):
            out[live] -= null @ np.linalg.lstsq(null, out[live], rcond=EPS)[0]
        return out

    def singular_values(self) -> Floats:
        """The singular values (d,) in the columns' own units."""
        out = np.zeros(len(self.scale))
        out[: len(self.s)] = np.linalg.svd(self.V * self.lengths[:, None] * self.s, compute_uv=False)
        return out


def _scale(diagonal: Floats) -> Floats:
    length = np.sqrt(diagonal)
    return np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)


def _cut(system: NormalSystem, method: float) -> float:
    """Directions relatively shorter than this are rounding: of the method, or of the values it was given."""
    return min(max(method, 4 * EPS * system.magnification()), 1e-4)


def factor_of_gram(system: NormalSystem) -> SingularFactor:
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
    return SingularFactor(whole, np.sqrt(lam[keep]), scale, cut)


def factor_of_rows(system: NormalSystem, passes: RowPasses) -> tuple[SingularFactor, Floats]:
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
    factor = SingularFactor(np.ascontiguousarray(Vt[:r].T), s[:r], scale, cut)
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
