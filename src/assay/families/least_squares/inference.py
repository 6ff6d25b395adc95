"""How sure least-squares coefficients are, where the errors are independent, normal and of equal variance.

With W the inverse root of the scatter matrix (WWᵀ = S⁻¹), p the number of parameters and s² = Σr²/(n − p):

    se(w_j)² = s²·‖W_j‖²,    se(b)² = s²·(1/n + ‖Wᵀx̄‖²),    ŷ(x) ± t·s·√(1 + 1/n + ‖Wᵀ(x − x̄)‖²)

A coefficient that dependent columns leave undetermined has no standard error (NaN).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.engines import Block
from assay.errors import DataError, ParameterError
from assay.estimator.docstrings import attribute
from assay.estimator.estimator import Estimator
from assay.numerics import Array, Floats
from assay.statistics.gram import Gram


class Inference(Estimator):
    """Standard errors, tests and intervals of a fitted `LinearRegression`."""

    fit_intercept: bool = attribute()
    coef_: Floats = attribute()
    intercept_: float = attribute()
    sigma2_: float = attribute()
    rank_: int = attribute()
    inverse_root_: Floats = attribute()
    _state: Gram = attribute()

    @property
    def degrees_of_freedom_(self) -> float:
        """n − p: the weight of the rows less the parameters fitted."""
        self._check_fitted()
        return float(self._state.n[0]) - self.rank_ - bool(self._fitted_with["fit_intercept"])

    @property
    def residual_variance_(self) -> float:
        """s² = Σr²/(n − p), the unbiased estimate of σ²; NaN where no degrees of freedom are left."""
        left = self.degrees_of_freedom_
        return self.sigma2_ * float(self._state.n[0]) / left if left > 0 else float("nan")

    @property
    def std_errors_(self) -> Floats:
        """Standard errors of `coef_`, (d,)."""
        s2 = self.residual_variance_
        out: Floats = np.sqrt(s2 * (self.inverse_root_**2).sum(axis=1))
        out[~self._determined()] = np.nan
        return out

    @property
    def intercept_std_error_(self) -> float:
        """Standard error of `intercept_`; NaN where none is fitted."""
        self._check_fitted()
        if not self._fitted_with["fit_intercept"]:
            return float("nan")
        at = self._state.mean @ self.inverse_root_
        return float(np.sqrt(self.residual_variance_ * (1 / float(self._state.n[0]) + at @ at)))

    def _determined(self) -> Array:
        """Which coefficients are the same in every solution: those whose axis lies in the span of the rows."""
        d = len(self.coef_)
        if self.rank_ == d:
            return np.ones(d, dtype=bool)
        lengths = np.sqrt(self._state.scatter.diagonal())
        if not self._fitted_with["fit_intercept"]:
            lengths = np.sqrt(lengths**2 + float(self._state.n[0]) * self._state.mean**2)
        Q = np.linalg.qr(self.inverse_root_ * lengths[:, None])[0]
        return np.asarray((Q**2).sum(axis=1) > 1 - 1e-9)

    @property
    def t_values_(self) -> Floats:
        """coef_ / std_errors_: the statistic of the test that a coefficient is zero, (d,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            out: Floats = self.coef_ / self.std_errors_
        return out

    @property
    def p_values_(self) -> Floats:
        """The probability of so large a t by chance, were the coefficient zero (two-sided), (d,)."""
        return np.asarray(self._p(self.t_values_))

    def _p(self, t: Any) -> Any:
        from scipy.special import stdtr

        return 2 * stdtr(self.degrees_of_freedom_, -np.abs(t))

    def _t(self, level: float) -> float:
        if not isinstance(level, float | int | np.number) or not 0 < level < 1:
            raise ParameterError(f"level={level!r} is not possible: it must be a number in (0, 1), such as 0.95.")
        from scipy.special import stdtrit

        left = self.degrees_of_freedom_
        return float(stdtrit(left, (1 + level) / 2)) if left > 0 else float("nan")

    def conf_int(self, level: float = 0.95) -> Floats:
        """Confidence intervals (d, 2) of `coef_`."""
        half = self._t(level) * self.std_errors_
        return np.stack([self.coef_ - half, self.coef_ + half], axis=1)

    def summary(self, level: float = 0.95) -> str:
        """A table of coefficients with standard error, t, p and interval."""
        self._check_fitted()
        names = ["intercept"] if self._fitted_with["fit_intercept"] else []
        names += list(self._column_names() or [f"x{j}" for j in range(len(self.coef_))])
        first = int(self._fitted_with["fit_intercept"])
        coef = np.append(self.intercept_, self.coef_)[1 - first :]
        se = np.append(self.intercept_std_error_, self.std_errors_)[1 - first :]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = coef / se
        p, half = self._p(t), self._t(level) * se
        wide = max(len(n) for n in names)
        head = f"{'':<{wide}} {'coef':>12} {'std err':>11} {'t':>9} {'p':>9}   {level:.0%} interval"
        lines = [
            f"{name:<{wide}} {c:>12.5g} {e:>11.4g} {tv:>9.3f} {pv:>9.2g}   [{c - h:.5g}, {c + h:.5g}]"
            for name, c, e, tv, pv, h in zip(names, coef, se, t, p, half)
        ]
        left = self.degrees_of_freedom_
        foot = f"s = {np.sqrt(self.residual_variance_):.5g} on {left:g} degrees of freedom, rank {self.rank_} of {len(self.coef_)}"
        return "\n".join([head, *lines, foot])

    def predict_interval(self, X: Any, level: float = 0.95) -> Floats:
        """For each row the interval (n, 2) in which a new observation falls with probability `level`."""
        t = self._t(level)
        half = self._answer(X, self._half_width)
        if not np.isfinite(t):
            raise DataError(
                "No degrees of freedom are left to estimate the variance: more rows than parameters are needed."
            )
        middle = self.predict(X)
        return np.stack([middle - t * half, middle + t * half], axis=1)

    def _half_width(self, block: Block) -> Floats:
        """s·√(1 + 1/n + ‖Wᵀ(x − x̄)‖²) of each row."""
        x = block.X - self._state.mean if self._fitted_with["fit_intercept"] else block.X.astype(np.float64)
        spread = ((x @ self.inverse_root_) ** 2).sum(axis=1)
        if self._fitted_with["fit_intercept"]:
            spread += 1 / float(self._state.n[0])
        out: Floats = np.sqrt(max(self.residual_variance_, 0.0) * (1 + spread))
        return out
