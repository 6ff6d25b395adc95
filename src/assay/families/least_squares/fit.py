"""What linear and ridge regression share: the fold, the solvers, the answers. Shape: one fold (`solver="gd"`: a fold an iteration).

The fold adds up the scatter matrix of columns and target; its normal equations are solved, and, where their condition
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
from assay.engines import Block, Engine, Rows, fold
from assay.engines.engine import Threads, one_thread_blas
from assay.errors import ConvergenceWarning, DataError, ModelFileError, ParameterError, as_seen_by_sklearn
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.one_fold import OneFold
from assay.estimator.params import attribute
from assay.estimator.regressor import Regressor
from assay.estimator.shown import Shown
from assay.estimator.steps import Measure, Step, answering, measures, shown_of, some_of
from assay.families.least_squares import gradient_descent as gd
from assay.families.least_squares.claims import COVERAGE, TOLERANCE, LeastSquaresEvidence, claims_of
from assay.families.least_squares.nonnegative import solve_nonnegative
from assay.families.least_squares.normal_equations import (
    LeastSquaresFit,
    NormalSystem,
    RowPasses,
    SingularFactor,
    solve,
)
from assay.families.least_squares.targets import CHANGED, claims_of_each, of_each, passes_of
from assay.numerics import Array, Floats, near_zero
from assay.statistics.gram import Gram, absorb_gram, merge_gram, tile_rows
from assay.statistics.targets import penalties_of
from assay.store import Record

MAX_ITER = 10_000  # iterations of solver="gd" where max_iter is None
LEAST, LARGEST = 2.0**-400, 2.0**400  # sums of squares beyond leave no room to multiply and divide by them
LAYOUT: Layout = {
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


class LeastSquares(OneFold, Regressor):
    """What linear and ridge regression share."""

    statistics = Gram
    coverage = COVERAGE
    layout = LAYOUT
    takes_sparse = fills_sparse = multi_output = True
    _merge = staticmethod(merge_gram)

    alpha: Any = attribute()
    positive: bool = attribute(default=False)
    fit_intercept: bool = attribute()
    tol: float = attribute()
    solver: str = attribute()
    eta: float | str = attribute()
    max_iter: int | None = attribute()
    init: Any = attribute()
    random_state: Any = attribute()
    coef_: Floats = attribute()
    sigma2_: Any = attribute()  # these three of several targets are arrays
    off_by_: Any = attribute()
    n_iter_: Any = attribute()
    intercept_ = Shown(lambda model, kept: np.float64(kept) if isinstance(kept, float) else kept)
    _columns_off: Floats | None = attribute(default=None)

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

    def _system(self, g: Gram, alpha: float | None = None) -> NormalSystem:
        """The sums about the means, or about zero where no intercept is fitted; `alpha`: of one of several targets."""
        if alpha is None:
            alpha = float(penalties_of(self.alpha, 1)[0])
        n, mean, target = float(g.n[0]), g.mean, float(g.target_mean[0])
        if not n > 0:
            raise DataError("All sample weights are zero: give some rows a positive weight.")
        S, c, yy = g.scatter, g.cross, float(g.target_scatter[0])
        if not self.fit_intercept:
            S, c, yy = S + np.outer(n * mean, mean), c + n * target * mean, yy + n * target**2
        return NormalSystem(n, mean, target, S, c, yy, alpha, bool(self.fit_intercept))

    def _check_statistics(self, state: Gram, whole: bool) -> None:
        super()._check_statistics(state, whole)
        refuse_scales(state, self._column_names())

    def _solve(self, g: Gram, passes: RowPasses | None) -> None:
        if g.cross.ndim == 2:
            return self._solve_each(g, passes)
        system = self._system(g)
        factor, fit = self._solution(system, passes)
        self.coef_, self.intercept_ = fit.coef, float(fit.intercept)
        self.sigma2_, self.off_by_ = fit.squares / system.n, min(fit.off, 1e300)
        self.n_iter_, self.converged_ = fit.rounds, fit.converged
        self._keep(system, factor)
        return None

    def _solve_each(self, g: Gram, passes: RowPasses | None) -> None:
        """Several targets, one after the other; what is kept of the factor is that of the least penalty."""
        systems = self._systems(g)
        found = [self._solution(system, passes_of(passes, t)) for t, system in enumerate(systems)]
        fits = [fit for _, fit in found]
        self.coef_ = np.stack([fit.coef for fit in fits])
        self.intercept_ = np.array([float(fit.intercept) for fit in fits])
        self.sigma2_ = np.array([fit.squares / system.n for fit, system in zip(fits, systems)])
        self.off_by_ = np.array([min(fit.off, 1e300) for fit in fits])
        self.n_iter_ = np.array([fit.rounds for fit in fits], dtype=np.int64)
        self.converged_ = all(fit.converged for fit in fits)
        least = int(np.argmin([system.alpha for system in systems]))
        self._keep(systems[least], found[least][0])

    def _systems(self, g: Gram) -> list[NormalSystem]:
        alphas = penalties_of(self.alpha, len(g.cross))
        return [self._system(one, float(alpha)) for one, alpha in zip(of_each(g), alphas)]

    def _solution(self, system: NormalSystem, passes: RowPasses | None) -> tuple[SingularFactor, LeastSquaresFit]:
        if self.positive:
            factor, fit = solve_nonnegative(system, passes, tile_rows(len(system.c)))
        else:
            factor, fit = solve(system, passes, tile_rows(len(system.c)))
        if self.solver == "gd":
            fit = self._descend(system, passes)
        if not np.isfinite(fit.coef).all():
            raise DataError("The coefficients overflow float64: bring the columns and y to similar scales.")
        return factor, fit

    def _keep(self, system: NormalSystem, factor: SingularFactor) -> None:
        self.rank_, self.condition_ = len(factor.s), max(1.0, factor.condition)
        self.inverse_root_, self.cut_ = factor.root, factor.cut
        self.singular_ = (
            factor.singular_values()
            if system.alpha == 0
            else np.sqrt(np.maximum(np.linalg.eigvalsh(system.S)[::-1], 0.0))
        )

    def _make_claims(self) -> tuple[Claim, ...]:
        exact = self.solver != "gd"
        coefs, *of_fits = (np.atleast_1d(a) for a in (self.coef_, self.intercept_, self.sigma2_, self.off_by_))
        evidence = [
            LeastSquaresEvidence(
                coef,
                float(b),
                self.inverse_root_,
                self.condition_,
                self.cut_,
                float(sigma2),
                float(off),
                TOLERANCE if exact else float(self.tol),
                self._columns_off,
            )
            for coef, b, sigma2, off in zip(np.atleast_2d(coefs), *of_fits)
        ]
        shortest, positive = exact and not self.positive, bool(self.positive)
        if np.ndim(self.coef_) == 2:
            systems = self._systems(self._state)
            return claims_of_each(systems, evidence, shortest=shortest, positive=positive)
        return claims_of(self._system(self._state), evidence[0], shortest=shortest, positive=positive)

    def _layout(self) -> Layout:
        return LAYOUT if np.ndim(self.coef_) == 1 else {**LAYOUT, **CHANGED}

    @classmethod
    def layout_of(cls, record: Record) -> Layout:
        """With several targets there are weights for each."""
        return LAYOUT if record.arrays.get("coef_", np.empty(0)).ndim != 2 else {**LAYOUT, **CHANGED}

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        if self.rank_ != self.inverse_root_.shape[1]:
            raise ModelFileError(
                f"The model file says rank {self.rank_}, its inverse root has {self.inverse_root_.shape[1]}."
            )

    def complexity(self) -> float:
        """The rank of the columns, or with a penalty tr S(S + alpha·I)⁻¹, which is less; and one for the intercept."""
        self._check_fitted()
        alpha = self._fitted_with.get("alpha", 0.0)
        squares, T = self.singular_**2, len(np.atleast_2d(self.coef_))
        weights = [
            float(self.rank_) if a == 0 else float((squares / (squares + a)).sum()) for a in penalties_of(alpha, T)
        ]
        return float(sum(weights)) + T * float(self._fitted_with["fit_intercept"])

    # --- gradient descent -------------------------------------------------------------------------------------------

    def _descend(self, system: NormalSystem, passes: RowPasses | None) -> LeastSquaresFit:
        reached = deque(self._iterates(system, passes), maxlen=1)
        if not reached:
            raise ParameterError(f"{type(self).__name__}: init={self.init!r} is so large that its error overflows.")
        last = reached[0]
        if not last.off <= self.tol:
            self._warn(last, gd.stable_step(system))
        fit = gd.as_fit(last, system.alpha, self.tol)
        return fit if passes is None else gd.measured(fit, system, passes, tile_rows(len(system.c)))

    def _iterates(self, system: NormalSystem, passes: RowPasses | None) -> Iterator[gd.Descent]:
        """w⁽⁰⁾, w⁽¹⁾, … until the normal equations hold to `tol`, or for `max_iter` steps."""
        size = len(system.c) + 1
        drawn = self.init is None or isinstance(self.init, str)
        start = near_zero(size, self.random_state) if drawn else self._given_start(size)
        if not self.fit_intercept:
            start[0] = 0.0
        if passes is None:
            slope = partial(gd.slope_of_sums, *gd.sums_about_zero(system))
        else:
            slope = partial(gd.slope_of_rows, passes, tile_rows(size))
        eta = gd.stable_step(system) if self.eta == "auto" else float(self.eta)
        return gd.until(gd.descend(slope, system, start, eta), self.tol, self.max_iter or MAX_ITER)

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
        return some_of(_descent_steps(self, X, y, sample_weight), every)

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
        coef = self.coef_.T
        out = np.empty((len(X), *coef.shape[1:]))
        tile = len(X) if X.dtype == np.float64 else tile_rows(X.shape[1])
        for a in range(0, len(X), max(1, tile)):
            np.dot(X[a : a + tile].astype(np.float64, copy=False), coef, out=out[a : a + tile])
        out += self.intercept_
        return out


def refuse_scales(g: Gram, names: Any) -> None:
    """Raise where sums of squares are so large or so small that products of them would overflow or underflow."""
    n, target = float(g.n[0]), g.target_scatter
    squares = g.scatter.diagonal()
    with np.errstate(over="ignore"):
        whole, target_whole = squares + n * g.mean**2, target + n * g.target_mean**2
    if n > 0 and not LEAST <= n <= LARGEST:
        raise DataError(f"The weights add up to {n:.3g}: multiply them by a constant that brings them to about 1.")
    for what, bad, how, remedy in (
        ("y holds values", ~(target_whole <= LARGEST), "large", "divide"),
        ("y holds values that differ by", (target > 0) & (target < LEAST), "little", "multiply"),
        (None, ~(whole <= LARGEST), "large", "divide"),
        (None, (squares > 0) & (squares < LEAST), "little", "multiply"),
    ):
        if np.any(bad):
            raise DataError(
                f"{what or _column_of(bad, how, names)} so {how} that products of their squares, times the weights, would "
                f"{'overflow' if how == 'large' else 'underflow'} float64. Rescale ({remedy} by a constant)."
            )


def _column_of(bad: Any, how: str, names: Any) -> str:
    j = int(np.argmax(bad))
    return f"Column {j if names is None else names[j]!r} holds values{' that differ by' if how == 'little' else ''}"


def _descent_steps(model: LeastSquares, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """w⁽⁰⁾, w⁽¹⁾, …; step 0 is the start."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine = Threads(1)
    with one_thread_blas():
        state = fold(engine, rows.blocks(), partial(absorb_gram, rows.names), merge_gram)
        assert state is not None
        fresh._check_statistics(state, True)
        for at in fresh._iterates(fresh._system(state), RowPasses(engine, rows)):
            learnt = {"coef_": at.w[1:], "intercept_": float(at.w[0])}
            progress = measures(
                Measure("normal equations off by", at.off, fresh.tol, f"{at.off:.3g}, done at {fresh.tol:g}", "log"),
                Measure("error", at.error, None, f"E(w) = {at.error:.6g}"),
            )
            yield Step(at.t, rows.n_rows or 0, {"w": at.w, "E": at.error, **learnt}, progress, answering(fresh, learnt))
