"""How sure maximum-likelihood coefficients are: the inverse of the loss's Hessian is their covariance, for many rows.

se(w_j)² = (H⁻¹)_jj,    z_j = w_j / se(w_j)  is standard normal where w_j is zero
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from assay.engines import Block
from assay.errors import ParameterError
from assay.estimator.docstrings import attribute
from assay.estimator.estimator import Estimator
from assay.families.linear.problem import PosedProblem
from assay.numerics import Array, Floats
from assay.solvers.boxed import boxed_gap
from assay.solvers.iterate import Iterate
from assay.solvers.newton import newton_step
from assay.solvers.preconditioner import root_of_inverse, rounding_of
from assay.solvers.problem import Evaluation, Problem, rows_times
from assay.solvers.softmax_problem import SoftmaxProblem


class Likelihood(Estimator):
    """Standard errors, tests and intervals of an unpenalised fit for two classes."""

    coef_: Floats = attribute()
    intercept_: Floats = attribute()
    covariance_: Floats = attribute()

    def _covariance(self) -> Floats:
        self._check_fitted()
        found: Floats | None = getattr(self, "covariance_", None)
        if found is None:
            raise ParameterError(
                f"{type(self).__name__}: standard errors belong to a maximum-likelihood fit of two classes that exists: fit with "
                "C=float('inf') (a penalty pulls the coefficients towards zero), on classes that are not separable."
            )
        return found

    @property
    def std_errors_(self) -> Floats:
        """Standard errors of `coef_`, of shape (1, d); NaN where dependent columns leave a coefficient undetermined."""
        out: Floats = np.sqrt(np.diag(self._covariance())[:-1])[None, :]
        return np.where(out > 0, out, np.nan)

    @property
    def intercept_std_error_(self) -> float:
        """Standard error of `intercept_`; NaN where none is fitted."""
        value = float(np.sqrt(self._covariance()[-1, -1]))
        return value if self._fitted_with["fit_intercept"] else float("nan")

    @property
    def z_values_(self) -> Floats:
        """coef_ / std_errors_: the statistic of the test that a coefficient is zero, (1, d)."""
        out: Floats = self.coef_ / self.std_errors_
        return out

    @property
    def p_values_(self) -> Floats:
        """The probability of so large a z by chance, were the coefficient zero (two-sided), (1, d)."""
        return _p(self.z_values_)

    def conf_int(self, level: float = 0.95) -> Floats:
        """Confidence intervals (d, 2) of `coef_`."""
        half = _quantile(level) * self.std_errors_[0]
        return np.stack([self.coef_[0] - half, self.coef_[0] + half], axis=1)

    def summary(self, level: float = 0.95) -> str:
        """A table of coefficients with standard error, z, p and interval."""
        se = np.append(self.intercept_std_error_, self.std_errors_[0])
        coef = np.append(self.intercept_[0], self.coef_[0])
        names = ["intercept", *(self._column_names() or [f"x{j}" for j in range(len(coef) - 1)])]
        first = 0 if self._fitted_with["fit_intercept"] else 1
        return coefficient_table(names[first:], coef[first:], se[first:], level)


def coefficient_table(names: list[str], coef: Floats, se: Floats, level: float) -> str:
    """One line a coefficient."""
    z, half = coef / se, _quantile(level) * se
    wide = max(len(n) for n in names)
    lines = [f"{'':<{wide}} {'coef':>12} {'std err':>11} {'z':>9} {'p':>9}   {level:.0%} interval"]
    for name, c, e, v, p, h in zip(names, coef, se, z, _p(z), half):
        lines.append(f"{name:<{wide}} {c:>12.5g} {e:>11.4g} {v:>9.3f} {p:>9.2g}   [{c - h:.5g}, {c + h:.5g}]")
    return "\n".join(lines)


def _p(z: Any) -> Floats:
    from scipy.special import ndtr

    return np.asarray(2 * ndtr(-np.abs(z)))


def _quantile(level: float) -> float:
    if not isinstance(level, float | int | np.number) or not 0 < level < 1:
        raise ParameterError(f"level={level!r} is not possible: it must be a number in (0, 1), such as 0.95.")
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def pseudo_inverse(H: Array) -> Floats:
    """H⁺ of a Hessian, in the columns' own scale: directions without curvature have no variance to state, and give zero."""
    d = np.sqrt(np.diag(H))
    unit = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)
    values, V = np.linalg.eigh(H * unit * unit[:, None])
    live = values > 1e-13 * len(H) * values[-1]
    R = unit[:, None] * V[:, live] / np.sqrt(values[live])
    out: Floats = R @ R.T
    return out


# Fits without a penalty: the witness of their gap, the covariance of their weights, and whether a minimum exists at all.

FLAT = 1e-6  # a curvature below this, where the columns' products have 1, makes one ask whether the weights run away


def with_step(problem: Problem, evaluation: Evaluation, at: Iterate) -> Iterate:
    """The answer of any solver with Newton's next step and the gap that it proves; `look` is that with the Hessian there."""
    if at.step is not None:
        return at
    v = newton_step(problem, evaluation, at.w)
    return at._replace(step=v, gap=boxed_gap(problem, at.w, v))


def runs_away(posed: PosedProblem, evaluation: Evaluation) -> bool:
    """Whether some direction is nearly flat: along it the weights may grow for ever.

    The least eigenvalue of H against G = Σ c x̃x̃ᵀ: where rows lie ever further on their side, their curvature vanishes.
    """
    problem = posed.problem
    assert isinstance(problem, Problem)
    assert posed.gram is not None
    assert evaluation.hessian is not None
    root = root_of_inverse(posed.gram, rounding_of(problem, float(sum(problem.reach.weights))), problem.intercept)
    values = np.linalg.eigvalsh(root.T @ evaluation.hessian @ root)
    rank = int((np.abs(root).sum(axis=0) > 0).sum())
    return bool(rank > 0 and values[len(values) - rank] < FLAT)


def covariance_about_zero(problem: Problem, evaluation: Evaluation) -> Floats:
    """The inverse of the loss's Hessian, (d + 1, d + 1), for the weights (w, b) of the user's coordinates."""
    H, d = evaluation.hessian, len(problem.centre)
    assert H is not None
    size = d + 1 if problem.intercept else d
    T = np.eye(d + 1)
    T[d, :d] = -problem.centre
    covariance = np.zeros((d + 1, d + 1))
    covariance[:size, :size] = pseudo_inverse(H[:size, :size])
    out: Floats = T @ covariance @ T.T
    return out


def least_class_margin(problem: SoftmaxProblem, W: Floats) -> float:
    """min_i z_{i,y_i} − max_{k ≠ y_i} z_ik over the rows of positive weight: above zero, W separates all classes."""
    return problem.fold(partial(_absorb_least, W, problem.centre), min)


def _absorb_least(W: Floats, centre: Floats, block: Block) -> float:
    assert block.y is not None
    z = np.stack([rows_times(block.X, w, centre) for w in W], axis=1)
    own = np.asarray(block.y, dtype=np.int64)[:, None] == np.arange(len(W))
    margins = z[own] - np.where(own, -np.inf, z).max(axis=1)
    return float(np.min(margins if block.w is None else margins[block.w > 0], initial=np.inf))
