"""Least squares in the feature space of a kernel, with the penalty of ridge regression: one linear system of the rows (Saunders, Gammerman and Vovk 1998)."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Engine, Rows
from assay.errors import ModelFileError, ParameterError, warn
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import N_JOBS, Free, Penalties, Range, attribute, param
from assay.estimator.regressor import Regressor
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.shown import Shown
from assay.estimator.steps import Measure, Step, answering, measures, shown_of, some_of
from assay.families.kernel.expansion import Expansion
from assay.families.kernel.functions import EPS, KERNEL_WORDS, Kernel, needs_differences, refuse_own_kernel, resolve
from assay.families.kernel.ridge.claims import kernel_ridge_claims
from assay.families.kernel.svm.dual import EXTENDED, DualProblem, extended_values, value_errors
from assay.families.kernel.svm.fit import LINEAR_KERNELS, KernelMachine
from assay.families.kernel.svm.solve import MachineRows, rows_in_memory
from assay.inputs import refuse_non_finite
from assay.numerics import Array, Floats
from assay.statistics.targets import penalties_of
from assay.store import Record

KERNEL_NAMES = ("linear", "affine", "poly", "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "precomputed")
WIDE, LOST = 64, 1.1e-10  # columns from which checkers take distances by products, and what those may lose
STEPS = 10  # of a fit that is watched, about


class KernelRidge(Regressor):
    """Least squares in the feature space of a kernel, penalised by alpha. Shape: pairwise blocks.

        min_f  Σ_i c_i (y_i − f(x_i))² + α ‖f‖²,      f(x) = Σ_i a_i K(x_i, x),      (K + α C⁻¹) a = y

    `kernel`: "linear", "affine" (1 + x·z), "poly" (also "polynomial"), "rbf", "laplacian", "sigmoid", "cosine", "precomputed" (X is the
    matrix of the rows' products), or a function f(x, z) of two rows, with `kernel_params`. There is no intercept. Several targets, and a
    penalty for each, are solved together.

    Certificate
    -----------
    By what is left of the linear system, and α, how far the coefficients are from the exact ones at most.

    See Also
    --------
    Ridge : linear, for tables of any length.
    SVR : few rows answer.
    KernelFeaturesRegressor : approximate kernels, for tables of any length.

    Examples
    --------
    >>> model = KernelRidge(alpha=0.1, kernel="rbf", gamma=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> model.predict([[1.5]]).round(3).tolist()
    [2.647]
    """

    title = "Kernel ridge regression"
    name = "kernel-ridge"
    step_word = "tenth of the rows"
    multi_output = True
    takes_sparse = fills_sparse = fills_whole = True
    slow_rows: ClassVar[int | None] = 1024
    enough_rows: ClassVar[int | None] = 5_000
    alpha: Any = param(
        "strength of the penalty, α; or one for each target",
        default=1,
        kw_only=False,
        check=Penalties(low=0, open_high=True),
    )
    kernel: Any = param("the kernel K(x, z), the product of two rows in feature space", default="linear", says=KERNEL_WORDS, check=Free("a function f(x, z) of two rows", words=KERNEL_NAMES, check=callable))  # fmt: skip
    gamma: Any = param("γ of the kernel; None and 'auto': 1 / d, 'scale': 1 / (d · variance of all entries), 'median': by the median distance between rows", default=None, check=Range(low=0, open_low=True, open_high=True, words=(None, "scale", "auto", "median")))  # fmt: skip
    degree: float = param("the power of kernel='poly'", default=3, check=Range(low=0, open_high=True))
    coef0: float = param("the constant of kernel='poly' and 'sigmoid'", default=1, check=Range(open_low=True, open_high=True))  # fmt: skip
    kernel_params: Any = param("further arguments of a function of yours", default=None, check=Free("a dict of arguments by name", words=(None,), check=lambda value: isinstance(value, dict)))  # fmt: skip
    n_jobs: int | None = N_JOBS
    coverage = Coverage(
        proof={"kernel_ridge": "dual_coef_ X_fit_"},
        nothing="errors_ residuals_ gamma_ one_target_",
        but="coefficients are tied up to the stated share; gamma_ is taken as stated",
    )
    layout: ClassVar[Layout] = {
        "dual_coef_": Tensor(("n", "T"), doc="the coefficients a of the n rows of the fit; of one target (n,)"),
        "X_fit_": Tensor(("n", "c"), doc="the rows of the fit, which answers are made of; without columns (c = 0) for kernel='precomputed'"),
        "errors_": Tensor(("T",), low=0, finite=False, doc="the share by which the coefficients of each target are off at most; inf where nothing bounds it"),
        "residuals_": Tensor(("T",), low=0, doc="what is left of the linear system of each target, as a share of its right side"),
        "gamma_": Fact(float, low=0, doc="the γ of the kernel that was used"),
        "one_target_": Fact(bool, doc="whether y was one column of numbers, not a table of them"),
    }  # fmt: skip
    dual_coef_ = Shown(lambda model, kept: kept[:, 0] if model.one_target_ else kept)
    X_fit_: Floats = attribute()
    errors_: Floats = attribute()
    residuals_: Floats = attribute()
    gamma_: float = attribute()
    one_target_: bool = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """The Gaussian kernel, and ever weaker penalties."""
        if kind != "regressor":
            return None
        search = tuple({"kernel": "rbf", "alpha": alpha} for alpha in (10.0, 1.0, 0.1, 0.01))
        unfit = KernelMachine._unfit(features)
        return SearchSpace(search=search, scaled=True, unfit=unfit, cost=3.0, when_named=True)

    def complexity(self) -> float:
        """The coefficients other than zero."""
        self._check_fitted()
        return float(np.count_nonzero(vars(self)["dual_coef_"]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # --- learning ---------------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        given = self._begun(engine, rows)
        vars(self).update(self._solved(given, len(given.X)))
        self._provenance = {"fingerprint": given.mark.hex()}
        self._state_claims()

    def _begun(self, engine: Engine, rows: Rows) -> MachineRows:
        """The rows of positive weight; the kernel's numbers and rows are set."""
        precomputed = self.kernel == "precomputed"
        kept = rows.in_memory()
        given = rows_in_memory(engine.threads(self.n_jobs), kept, None, precomputed)
        whole = given.X if len(given.X) == given.total else np.require(kept.X, np.float64, ["C_CONTIGUOUS", "ALIGNED"])
        self._fitted_with = self.get_params()
        self.X_fit_ = np.empty((given.total, 0)) if precomputed else whole
        self.one_target_ = given.y.ndim == 1
        gamma = "auto" if self.gamma is None else self.gamma
        self.gamma_ = resolve(self._formula(), gamma, float(self.degree), float(self.coef0), given.X, given.w).gamma
        self._kernel().diagonal(self._prepared(given.X))  # refuses what overflows
        return given

    def _formula(self) -> Any:
        """The name of the kernel as it is computed; or a function of the user's for all pairs of two tables."""
        name = self._fitted_with["kernel"]
        if callable(name):
            return _OfPairs(name, dict(self._fitted_with["kernel_params"] or {}))
        return {"polynomial": "poly", "cosine": "linear"}.get(name, name)

    def _kernel(self) -> Kernel:
        """The kernel function; products of rows far from zero are taken as they are."""
        formula, fitted = self._formula(), self._fitted_with
        if callable(formula):
            return Kernel("own", own=formula)
        kernel = Kernel(formula, self.gamma_, float(fitted["degree"]), float(fitted["coef0"]))
        if not kernel.normed:
            return kernel
        with np.errstate(over="ignore"):
            centre = self.X_fit_.mean(axis=0)
        kernel = replace(kernel, centre=centre if np.isfinite(centre).all() else None)
        return replace(kernel, by_differences=needs_differences(kernel, self.X_fit_))

    def _prepared(self, X: Floats) -> Floats:
        """Rows as the formula takes them: of length 1 for the cosine."""
        return of_length_one(X) if self._fitted_with["kernel"] == "cosine" else X

    def _solved(self, given: MachineRows, first: int) -> dict[str, Any]:
        """What is learnt from the first rows of positive weight."""
        kernel, y = self._kernel(), given.y[:first].astype(np.float64).reshape(first, -1)
        X = given.X[:first, :first] if kernel.name == "precomputed" else self._prepared(given.X[:first])
        scale = np.sqrt(given.weight[:first])
        with np.errstate(over="ignore", invalid="ignore"):
            K = X if kernel.name == "precomputed" else kernel.block(X, X)
            found = solve_penalised(K, y, scale, penalties_of(self._fitted_with["alpha"], y.shape[1]))
            left = left_of(kernel, X, K, y, scale, found, self._fitted_with["alpha"])
        coef = np.zeros((given.total, y.shape[1]))
        coef[given.numbers[:first]] = found
        if not np.isfinite(coef).all():
            raise ParameterError(
                "KernelRidge: the coefficients overflow float64: give a larger alpha, or divide y by a constant."
            )
        return {"dual_coef_": coef, "errors_": left.errors, "residuals_": left.residuals}

    def _make_claims(self) -> tuple[Claim, ...]:
        return kernel_ridge_claims(self)

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The fits to ever more of the rows of positive weight, a tenth of them each time; the last is the fitted model."""
        return some_of(self._steps(X, y, sample_weight), every)

    def _steps(self, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
        fresh, rows = fresh_and_rows(self, X, y, sample_weight)
        from assay.engines.engine import Threads, one_thread_blas

        with one_thread_blas():
            given = fresh._begun(Threads(1), fresh._filled(rows))
            n = len(given.X)
            size = max(1, -(-n // STEPS))
            for number, first in enumerate([*range(size, n, size), n], 1):
                learnt = fresh._solved(given, first)
                vars(fresh).update(learnt)
                told = measures(Measure("rows", float(first), float(n), f"{first} of {n} rows", better="up"))
                state = {name: vars(fresh)[name] for name in fresh.layout}
                yield Step(
                    number, first, {name: getattr(fresh, name) for name in learnt}, told, answering(copy(fresh), state)
                )

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """One a tenth of the rows."""
        return shown_of(-(-rows // max(1, -(-rows // STEPS))), every)

    # --- answering --------------------------------------------------------------------------------------------------

    def _values(self, X: Array) -> Floats:
        if not np.isfinite(X).all():
            refuse_non_finite(X, 0, self._column_names())
        coef, kernel, Z = vars(self)["dual_coef_"], self._kernel(), self._prepared(np.asarray(X, dtype=np.float64))
        if kernel.name in LINEAR_KERNELS:
            weights = np.einsum("nd,nt->dt", self._prepared(self.X_fit_), coef)  # the same bits in every thread
            values: Floats = Z @ weights + (kernel.name == "affine") * coef.sum(axis=0)
        else:
            rows = np.arange(len(coef)) if kernel.name == "precomputed" else self._prepared(self.X_fit_)
            values = Expansion(kernel, rows, np.ascontiguousarray(coef.T), np.zeros(coef.shape[1])).values(Z)
        found: Floats = values[:, 0] if self.one_target_ else values
        return found

    # --- file -------------------------------------------------------------------------------------------------------

    def to_record(self) -> Record:
        """The fitted model as plain data."""
        self._check_fitted()
        refuse_own_kernel(self)
        return super().to_record()

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        n, given = len(self.X_fit_), self.kernel == "precomputed"
        if not n or self.X_fit_.shape[1] != (0 if given else self.n_features_in_):
            raise ModelFileError("The model file's rows do not have the columns of its fit.")
        if given and self.n_features_in_ != n:
            raise ModelFileError("The model file's precomputed kernel was not of its rows.")
        if not self.gamma_ > 0:
            raise ModelFileError("The model file's gamma is not above zero.")
        if self.one_target_ and len(self.errors_) != 1:
            raise ModelFileError("The model file holds several targets where it says one.")


@dataclass(frozen=True)
class _OfPairs:
    """A function of two rows, for all pairs of two tables."""

    function: Any
    arguments: dict[str, Any]

    def __call__(self, X: Floats, Z: Floats) -> Floats:
        return np.array([[self.function(x, z, **self.arguments) for z in Z] for x in X], dtype=np.float64)


def of_length_one(X: Floats) -> Floats:
    """Rows divided by their lengths; rows of zeros as they are."""
    length = np.sqrt(np.einsum("ij,ij->i", X, X))
    unit: Floats = X / np.where(length > 0, length, 1.0)[:, None]
    return unit


def solve_penalised(K: Floats, y: Floats, scale: Floats, alphas: Floats) -> Floats:
    """a (n, T) with (K + α_t / scale²) a_t = y_t, by Cholesky's factor of one matrix a penalty, refined once; least squares where there is none."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

    scaled, due, found = scale[:, None] * K * scale[None, :], y * scale[:, None], np.empty_like(y)
    for alpha in np.unique(alphas):
        mine = np.flatnonzero(alphas == alpha)
        M = scaled.copy()
        M.flat[:: len(M) + 1] += alpha
        try:
            factor = cho_factor(M, lower=True)
            part = cho_solve(factor, due[:, mine])
            part += cho_solve(factor, due[:, mine] - M @ part)
        except LinAlgError:
            warn(
                f"KernelRidge: the kernel matrix with alpha={alpha:g} is singular or not positive definite, so there is no single solution: the "
                "shortest of the least squares is taken. Give a larger alpha.",
                UserWarning,
            )
            part = lstsq(M, due[:, mine])[0]
        found[:, mine] = part
    solution: Floats = found * scale[:, None]
    return solution


class _Left(NamedTuple):
    """errors (T,), residuals (T,): see the layout."""

    errors: Floats
    residuals: Floats


def left_of(kernel: Kernel, X: Floats, K: Floats, y: Floats, scale: Floats, a: Floats, alpha: Any) -> _Left:
    """What is left of the system of each target, rounding included, and how far its coefficients may be from the exact ones.

    With ã = a / scale: (D K D + α) (ã − exact) = D r, and where K is positive semidefinite ‖ã − exact‖ ≤ ‖D r‖ / α.
    """
    n, T = y.shape
    alphas = penalties_of(alpha, T)
    errors, residuals = np.empty(T), np.empty(T)
    problem = DualProblem(kernel, X, np.arange(n), np.ones(n), np.zeros(n), np.ones(n))
    for t in range(T):
        values, eps = extended_values(problem, a[:, t]), EXTENDED
        if values is None:
            values, eps = K @ a[:, t], EPS
        off = value_errors(problem, a[:, t], eps)
        if values.dtype == np.float64:
            size = float(np.abs(a[:, t]).sum())
            off = off + (LOST * size if kernel.normed and X.shape[1] > WIDE else 0.0)
        penalty = alphas[t] * (a[:, t] / scale) / scale
        r = y[:, t] - values - penalty
        off = off + 2.0 * EPS * (np.abs(penalty) + (np.abs(y[:, t]) if eps == EPS else 0.0))
        size = float(np.linalg.norm(scale * (np.abs(r).astype(np.float64) + off)))
        length, due = float(np.linalg.norm(a[:, t] / scale)), float(np.linalg.norm(scale * y[:, t]))
        residuals[t] = size / due if due > 0 else size
        errors[t] = (
            0.0 if length == 0 == due else 2.0 * size / (alphas[t] * length) if alphas[t] * length > 0 else np.inf
        )
    return _Left(errors, residuals)
