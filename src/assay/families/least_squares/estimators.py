"""Least squares: linear regression and ridge regression.

    min_{w, b}  Σ_k (y_k − b − w·x_k)² + alpha·‖w‖²

How sure the coefficients are, where the errors are independent, normal and of equal variance: with W the inverse root of the
scatter matrix (WWᵀ = S⁻¹), p the number of parameters and s² = Σr²/(n − p),

    se(w_j)² = s²·‖W_j‖²,    se(b)² = s²·(1/n + ‖Wᵀx̄‖²),    ŷ(x) ± t·s·√(1 + 1/n + ‖Wᵀ(x − x̄)‖²)

A coefficient that dependent columns leave undetermined has no standard error (NaN).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.errors import DataError, ParameterError
from assay.estimator.params import N_JOBS, Choice, Free, Penalties, Range, Seed, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.least_squares.fit import LeastSquares
from assay.numerics import Array, Floats

FIT_INTERCEPT = param("fit b as well; otherwise b = 0", default=True)
POSITIVE = param("whether weights below zero are forbidden", default=False)
COPY_X = param("accepted for scikit-learn's sake; X is never changed", default=True)
TOL = param("solver='gd' stops where the normal equations are off by at most this, relative to their scale", default=1e-6, check=Range(low=0, high=1))  # fmt: skip
EXACT = ("normal", "auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")
SOLVER = param("'gd': gradient descent as in the lecture notes; any other name, scikit-learn's too: normal equations, refined, which are exact", default="normal", check=Choice((*EXACT, "gd")))  # fmt: skip
ETA = param("learning speed of solver='gd': times the gradient of the sum over the rows, E = ½ Σ (…)²; 'auto': as large as is safe", default="auto", check=Range(low=0, open_low=True, words=("auto",)))  # fmt: skip
MAX_ITER = param("most iterations of solver='gd'", default=10_000, check=Range(int, low=1, words=(None,)))
INIT = param("first weights (b, w_1, …, w_d) of solver='gd'; None or 'random': drawn close to zero", default=None, check=Free("d + 1 numbers", words=(None, "random")))  # fmt: skip
RANDOM_STATE = param("seed of the first weights of solver='gd'", default=0, check=Seed())


class LinearRegression(LeastSquares):
    """Least squares with normal errors. Shape: one fold.

        h(x) = b + w·x,    w = (XᵀX)⁺Xᵀy about the means,    σ² = 1/p Σ_k (y_k − h(x_k))²

    Where columns depend on each other, w is the shortest of all solutions. `std_errors_`, `t_values_`, `p_values_`,
    `conf_int`, `summary` and `predict_interval` suppose independent normal errors of equal variance; a row of weight n
    counts as n rows.

    Certificate
    -----------
    The normal equations hold to rounding, so that w and b are a minimum; rank, condition number and σ² are as stated; where
    columns depend on each other, w is the shortest solution.

    See Also
    --------
    Ridge : with a penalty on the length of w.
    ERM : other losses and penalties.

    Examples
    --------
    The oaks of Wisconsin, age against diameter:

    >>> age = [97, 93, 88, 81, 75, 57, 52, 45, 28, 15, 12, 11]
    >>> dbh = [12.5, 12.5, 8.0, 9.5, 16.5, 11.0, 10.5, 9.0, 6.0, 1.5, 1.0, 1.0]
    >>> oaks = LinearRegression().fit([[a] for a in age], dbh)
    >>> print(f"DBH = {oaks.intercept_:.4f} + {oaks.coef_[0]:.4f} age, sigma^2 = {oaks.sigma2_:.4f}")
    DBH = 1.2854 + 0.1278 age, sigma^2 = 7.1136
    """

    title = "Linear regression"
    name = "linear-regression"
    fit_intercept: bool = FIT_INTERCEPT
    copy_X: bool = COPY_X
    tol: float = TOL
    n_jobs: int | None = N_JOBS
    positive: bool = POSITIVE
    solver: str = SOLVER
    eta: float | str = ETA
    max_iter: int | None = MAX_ITER
    init: Any = INIT
    random_state: Any = RANDOM_STATE
    alpha = 0.0

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """As it stands: no column may be the sum of others, or several w fit equally well."""
        if kind != "regressor":
            return None
        return SearchSpace(categories="reference")

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        if self.positive and self.solver == "gd":
            raise ParameterError(
                "LinearRegression: solver='gd' fits weights of either sign: take another solver, or positive=False."
            )
        super()._learn(engine, rows, afresh, classes)

    # --- how sure the coefficients are ------------------------------------------------------------------------------

    @property
    def degrees_of_freedom_(self) -> float:
        """n − p: the weight of the rows less the parameters fitted."""
        self._check_fitted()
        if np.ndim(self.coef_) == 2 or self._fitted_with["positive"]:
            raise DataError(
                "Standard errors, p-values and intervals are those of one target with weights of either sign: fit one "
                "column of y at a time, with positive=False."
            )
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

    def log_likelihood(self, X: Any = None, y: Any = None, sigma2: float | None = None) -> float:
        """log L(w, σ²) = −½ Σ (log 2πσ² + (y − w·x̃)²/σ²): of the rows of the fit, or of others; σ² is the maximum-likelihood `sigma2_`
        unless another is given. No other w has a greater one on the rows of the fit, whatever σ² is.

        >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.1, 1.9, 3.2])
        >>> round(model.log_likelihood(), 4)
        3.437
        """
        self._check_fitted()
        variance = self.sigma2_ if sigma2 is None else float(sigma2)
        if not variance > 0:
            raise ParameterError(f"sigma2={variance!r} is no variance of a density: it must be > 0.")
        if X is None:
            n, squares = float(self._state.n[0]), self.sigma2_ * float(self._state.n[0])
        else:
            residuals = np.asarray(y, dtype=np.float64) - self.predict(X)
            n, squares = float(len(residuals)), float(residuals @ residuals)
        return float(-0.5 * (n * np.log(2 * np.pi * variance) + squares / variance))

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


class Ridge(LeastSquares):
    """Least squares with a penalty on the length of w. Shape: one fold.

        min_{w, b}  Σ_k (y_k − b − w·x_k)² + alpha·‖w‖²

    The intercept b is not penalised. `rank_` and `condition_` are those of XᵀX + alpha·I, which is what is solved with.

    Certificate
    -----------
    The normal equations with the penalty hold to rounding, so that w and b are the minimum; rank, condition number and σ² are as
    stated.

    See Also
    --------
    LinearRegression : without penalty, with standard errors.
    KernelFeaturesRegressor : the same in the features of a kernel.

    Examples
    --------
    >>> Ridge(alpha=2.0).fit([[-1.0], [0.0], [1.0]], [-2.0, 0.0, 2.0]).coef_
    array([1.])
    """

    title = "Ridge regression"
    name = "ridge"
    alpha: Any = param("strength of the penalty on the length of the weights; of several targets also one each", default=1.0, kw_only=False, check=Penalties(low=0, open_high=True))  # fmt: skip
    fit_intercept: bool = FIT_INTERCEPT
    copy_X: bool = COPY_X
    max_iter: int | None = MAX_ITER
    tol: float = TOL
    solver: str = SOLVER
    eta: float | str = ETA
    init: Any = INIT
    random_state: Any = RANDOM_STATE
    n_jobs: int | None = N_JOBS
    positive: bool = POSITIVE

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever weaker penalties, which weigh all columns alike."""
        if kind != "regressor":
            return None
        return SearchSpace(
            search=tuple({"alpha": 10.0**power} for power in range(3, -4, -1)),
            scaled=True,
        )

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        if self.positive and self.solver not in ("auto", "lbfgs", "normal"):
            raise ParameterError(
                f"Ridge: solver={self.solver!r} does not support positive fitting. Please set the solver to 'auto' or 'lbfgs', or set positive=False."
            )
        if self.solver == "lbfgs" and not self.positive:
            raise ParameterError(
                "Ridge: 'lbfgs' solver can be used only when positive=True. Please use another solver, such as 'auto'."
            )
        super()._learn(engine, rows, afresh, classes)

    @property
    def solver_(self) -> str:
        """The name of the solver that was used; 'auto' is 'normal'."""
        self._check_fitted()
        name = str(self._fitted_with["solver"])
        return "normal" if name == "auto" else name

    def _refused(self, *arguments: Any, **options: Any) -> Any:
        """Refused: see the message."""
        raise ParameterError(
            "Ridge: the penalty pulls the coefficients towards zero, so that the usual intervals, standard errors and p-values do "
            "not hold for it. Use LinearRegression for those."
        )

    conf_int = summary = predict_interval = _refused


def line(x: Any, y: Any) -> tuple[float, float]:
    """The least-squares line (w0, w1) through points in the plane: w1 = cov(y, x)/var(x), w0 = ȳ − w1·x̄.

    >>> line([0.0, 1.0, 2.0], [1.0, 3.0, 5.0])
    (1.0, 2.0)
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or not len(x):
        raise DataError(f"x and y must be two lists of equally many numbers, not of shapes {x.shape} and {y.shape}.")
    dx, dy = x - x.mean(), y - y.mean()
    variance = float(dx @ dx)
    if variance == 0:
        raise DataError("All x are equal: there is no line y = w0 + w1·x through them that is best.")
    w1 = float(dx @ dy) / variance
    return float(y.mean() - w1 * x.mean()), w1
