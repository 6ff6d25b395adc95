"""How sure maximum-likelihood coefficients are: the inverse of the loss's Hessian is their covariance, for many rows.

se(w_j)² = (H⁻¹)_jj,    z_j = w_j / se(w_j)  is standard normal where w_j is zero
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import ParameterError
from assay.learner import Learner, attribute
from assay.numerics import Array, Floats


class Likelihood(Learner):
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
