"""The least-squares problem that solvers work on, given by its sums, and what they hand back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.engines import Engine, Rows
from assay.numerics import Floats

EPS = float(np.finfo(np.float64).eps)


class System(NamedTuple):
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


class Passes(NamedTuple):
    """The rows, where they can be read again."""

    engine: Engine
    rows: Rows


class Fit(NamedTuple):
    """Coefficients, residual sum of squares, how far the normal equations are off, and what it took."""

    coef: Floats
    intercept: float
    squares: float
    off: float
    rounds: int
    converged: bool
