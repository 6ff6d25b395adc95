"""Least squares: linear regression and ridge regression. Shape: one fold (`solver="gd"`: a fold an iteration).

    min_{w, b}  Σ_k (y_k − b − w·x_k)² + alpha·‖w‖²

The fold gathers the scatter matrix of columns and target; its normal equations are solved, and, where their condition
asks for it, refined from the rows themselves. Rows that come later (`partial_fit`) are absorbed into the same
statistics; the earlier rows are not there any more, so refinement is left out then.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Self

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.errors import ConvergenceWarning, DataError, ModelFileError, ParameterError, as_seen_by_sklearn
from assay.estimator.docstrings import attribute
from assay.estimator.layout import Fact, Tensor
from assay.estimator.one_fold import OneFold
from assay.estimator.params import N_JOBS, Choice, Free, Range, param
from assay.estimator.regressor import Regressor
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Step, shown_of, some_of
from assay.families.least_squares import gradient_descent as gd
from assay.families.least_squares.claims import TOLERANCE, LeastSquaresEvidence, claims_of
from assay.families.least_squares.fit import LeastSquaresFit, NormalSystem, RowPasses, solve
from assay.families.least_squares.inference import Inference
from assay.numerics import Array, Floats
from assay.statistics.gram import Gram, absorb_gram, merge_gram, tile_rows
from assay.store import Record

FIT_INTERCEPT = param("fit b as well; otherwise b = 0", default=True)
COPY_X = param("accepted for scikit-learn's sake; X is never changed", default=True)
TOL = param("solver='gd' stops where the normal equations are off by at most this, relative to their scale", default=1e-6, check=Range(low=0))  # fmt: skip
SOLVER = param("normal equations, or gradient descent as in the lecture notes", default="normal", check=Choice(("normal", "gd")))  # fmt: skip
ETA = param("learning speed of solver='gd'; 'auto': as large as is safe", default="auto", check=Range(low=0, open_low=True, words=("auto",)))  # fmt: skip
MAX_ITER = param("most iterations of solver='gd'", default=10_000, check=Range(int, low=1))
INIT = param("first weights (b, w_1, …, w_d) of solver='gd'; None: random, close to zero", default=None, check=Free("d + 1 numbers", words=(None,)))  # fmt: skip
RANDOM_STATE = param("seed of the first weights of solver='gd'", default=0, check=Range(int, low=0))
_LAYOUT: dict[str, Tensor | Fact] = {
    "coef_": Tensor(("d",), doc="the weight w of each column"),
    "intercept_": Fact(float, doc="the constant b; 0 with fit_intercept=False"),
    "sigma2_": Fact(float, low=0, doc="the mean square of the residuals, the maximum-likelihood estimate of their variance"),
    "rank_": Fact(int, low=0, doc="the rank of the system that was solved"),
    "condition_": Fact(float, low=1, doc="the condition number of the system, with columns of length one"),
    "singular_": Tensor(("d",), low=0, doc="the singular values of the columns, about their means where an intercept is fitted"),
    "inverse_root_": Tensor(("d", "r"), doc="a matrix whose product with its transpose is the (pseudo-)inverse of the system"),
    "cut_": Fact(float, low=0, doc="eigenvalues below this count as zero"),
    "off_by_": Fact(float, low=0, doc="how far the normal equations are from holding, relative to their scale"),
    "n_iter_": Fact(int, low=1, doc="the refinements of the solution, or the steps of solver='gd'"),
    "converged_": Fact(bool, doc="whether the solution is as accurate as was asked for"),
    "state.n": Tensor((1,), low=0),
    "state.mean": Tensor(("d",)),
    "state.scatter": Tensor(("d", "d")),
    "state.cross": Tensor(("d",)),
    "state.target_mean": Tensor((1,)),
    "state.target_scatter": Tensor((1,), low=0),
}  # fmt: skip

TOO_WIDE = "the words of a text are thousands of columns, and the normal equations have a number for each pair of them"


class LeastSquares(OneFold, Regressor):
    """What linear and ridge regression share."""

    statistics = Gram
    layout = _LAYOUT
    _merge = staticmethod(merge_gram)

    alpha: float = attribute()
    fit_intercept: bool = attribute()
    tol: float = attribute()
    solver: str = attribute()
    eta: float | str = attribute()
    max_iter: int = attribute()
    init: Any = attribute()
    random_state: int = attribute()
    coef_: Floats = attribute()
    intercept_: float = attribute()

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # type: ignore[override]  # no classes
        """Absorb more rows, as if they had been there from the start (but without refinement from the rows)."""
        return self._fit(X, y, sample_weight, afresh=False)

    def _absorber(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Callable[[Block], Any]:
        return partial(absorb_gram, rows.names)

    def _folded_by(self) -> Any:
        return ()  # what refines the solution reads the rows again, in `_finish_on`

    def _finish_on(self, state: Gram, engine: Engine, rows: Rows | None) -> None:
        self._solve(state, None if rows is None else RowPasses(engine, rows))

    def _finish(self, state: Gram) -> None:
        self._solve(state, None)

    def _system(self, g: Gram) -> NormalSystem:
        """The sums about the means, or about zero where no intercept is fitted."""
        n, mean, target = float(g.n[0]), g.mean, float(g.target_mean[0])
        if not n > 0:
            raise DataError("All sample weights are zero: give some rows a positive weight.")
        S, c, yy = g.scatter, g.cross, float(g.target_scatter[0])
        if not self.fit_intercept:
            S, c, yy = S + np.outer(n * mean, mean), c + n * target * mean, yy + n * target**2
        return NormalSystem(n, mean, target, S, c, yy, float(self.alpha), bool(self.fit_intercept))

    def _solve(self, g: Gram, passes: RowPasses | None) -> None:
        system = self._system(g)
        factor, fit = solve(system, passes, tile_rows(len(g.mean)))
        if self.solver == "gd":
            fit = self._descend(system, passes)
        self.coef_, self.intercept_ = fit.coef, float(fit.intercept)
        self.sigma2_ = fit.squares / system.n
        self.rank_, self.condition_ = len(factor.s), max(1.0, factor.condition)
        self.inverse_root_ = factor.root
        self.singular_ = (
            factor.singular_values()
            if self.alpha == 0
            else np.sqrt(np.maximum(np.linalg.eigvalsh(system.S)[::-1], 0.0))
        )
        self.n_iter_, self.converged_ = fit.rounds, fit.converged
        self.cut_, self.off_by_ = factor.cut, min(fit.off, 1e300)

    def _make_claims(self) -> tuple[Claim, ...]:
        exact = self.solver == "normal"
        evidence = LeastSquaresEvidence(
            self.coef_,
            self.intercept_,
            self.inverse_root_,
            self.condition_,
            self.cut_,
            self.sigma2_,
            self.off_by_,
            TOLERANCE if exact else float(self.tol),
        )
        return claims_of(self._system(self._state), evidence, shortest=exact)

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        if self.rank_ != self.inverse_root_.shape[1]:
            raise ModelFileError(
                f"The model file says rank {self.rank_}, its inverse root has {self.inverse_root_.shape[1]}."
            )

    def complexity(self) -> float:
        """The rank of the columns, or with a penalty tr S(S + alpha·I)⁻¹, which is less; and one for the intercept."""
        self._check_fitted()
        alpha = float(self._fitted_with.get("alpha", 0.0))
        squares = self.singular_**2
        weights = float(self.rank_) if alpha == 0 else float((squares / (squares + alpha)).sum())
        return weights + float(self._fitted_with["fit_intercept"])

    # --- gradient descent -------------------------------------------------------------------------------------------

    def _descend(self, system: NormalSystem, passes: RowPasses | None) -> LeastSquaresFit:
        reached = deque(self._iterates(system, passes), maxlen=1)
        if not reached:
            raise ParameterError(f"{type(self).__name__}: init={self.init!r} is so large that its error overflows.")
        last = reached[0]
        if not last.off <= self.tol:
            self._warn(last, gd.stable_step(system))
        return gd.as_fit(last, float(self.alpha), self.tol)

    def _iterates(self, system: NormalSystem, passes: RowPasses | None) -> Iterator[gd.Descent]:
        """w⁽⁰⁾, w⁽¹⁾, … until the normal equations hold to `tol`, or for `max_iter` steps."""
        size = len(system.c) + 1
        start = gd.small_start(size, self.random_state) if self.init is None else self._given_start(size)
        if not self.fit_intercept:
            start[0] = 0.0
        if passes is None:
            slope = partial(gd.slope_of_sums, *gd.sums_about_zero(system))
        else:
            slope = partial(gd.slope_of_rows, passes, tile_rows(size))
        eta = gd.stable_step(system) if self.eta == "auto" else float(self.eta)
        return gd.until(gd.descend(slope, system, start, eta), self.tol, self.max_iter)

    def _given_start(self, size: int) -> Floats:
        try:
            start = np.array(self.init, dtype=np.float64)
        except (TypeError, ValueError):
            start = np.empty(0)
        if start.shape != (size,) or not np.isfinite(start).all():
            raise ParameterError(
                f"{type(self).__name__}: init={self.init!r} must be {size} finite numbers: b, w_1, …, w_{size - 1}."
            )
        return start

    def _warn(self, last: gd.Descent, safe: float) -> None:
        eta = "it is as large as is safe" if self.eta == "auto" else f"descent diverges beyond {2 * safe:.3g} here"
        warnings.warn(
            f"{type(self).__name__}: gradient descent stopped after {last.t} iterations with the normal equations off by "
            f"{last.off:.3g} (tol={self.tol:g}). Check eta ({eta}), raise max_iter, bring the columns to mean 0 and "
            "variance 1, or use solver='normal', which is exact.",
            as_seen_by_sklearn(ConvergenceWarning),
            stacklevel=7,
        )

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """What the algorithm passes through.

        For `solver="normal"` the estimates after the first `every`, 2·`every`, … rows. For `solver="gd"` the weights
        `w` (b first) and the error `E` at every `every`-th iteration and at the last.
        """
        if self.solver != "gd":
            return super().steps(X, y, sample_weight, every=every)
        from assay.families.least_squares.steps import descent_steps

        return some_of(descent_steps(self, X, y, sample_weight), every)

    @classmethod
    def step_word_of(cls, params: Mapping[str, Any]) -> str:
        """A block of rows; solver="gd": an iteration."""
        return "iteration" if params.get("solver") == "gd" else cls.step_word

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """One a block of rows; of solver="gd" the start and the iterations of the fit, once they are known."""
        if self.solver != "gd":
            return super().n_steps(rows, every)
        return 1 + shown_of(self.n_iter_, every) if hasattr(self, "n_iter_") else None

    # --- answering --------------------------------------------------------------------------------------------------

    def _values(self, X: Array) -> Floats:
        out = np.empty(len(X))
        tile = len(X) if X.dtype == np.float64 else tile_rows(X.shape[1])
        for a in range(0, len(X), max(1, tile)):
            np.dot(X[a : a + tile].astype(np.float64, copy=False), self.coef_, out=out[a : a + tile])
        out += self.intercept_
        return out


class LinearRegression(Inference, LeastSquares):
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

    name = "linear-regression"
    fit_intercept: bool = FIT_INTERCEPT
    copy_X: bool = COPY_X
    tol: float = TOL
    n_jobs: int | None = N_JOBS
    positive: bool = param("not supported: coefficients of either sign are fitted", default=False)
    solver: str = SOLVER
    eta: float | str = ETA
    max_iter: int = MAX_ITER
    init: Any = INIT
    random_state: int = RANDOM_STATE
    alpha = 0.0

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """As it stands: no column may be the sum of others, or several w fit equally well."""
        if kind != "regressor":
            return None
        return SearchSpace(categories="reference", unfit=TOO_WIDE if features.text else None)

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        if self.positive:
            raise ParameterError(
                "LinearRegression: positive=True is not supported: coefficients of either sign are fitted. Use positive=False."
            )
        super()._learn(engine, rows, afresh, classes)


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

    name = "ridge"
    alpha: float = param("strength of the penalty on the length of the weights", default=1.0, kw_only=False, check=Range(low=0))  # fmt: skip
    fit_intercept: bool = FIT_INTERCEPT
    copy_X: bool = COPY_X
    max_iter: int = MAX_ITER
    tol: float = TOL
    solver: str = SOLVER
    eta: float | str = ETA
    init: Any = INIT
    random_state: int = RANDOM_STATE
    n_jobs: int | None = N_JOBS

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever weaker penalties, which weigh all columns alike."""
        if kind != "regressor":
            return None
        return SearchSpace(
            search=tuple({"alpha": 10.0**power} for power in range(3, -4, -1)),
            scaled=True,
            unfit=TOO_WIDE if features.text else None,
        )

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
