"""Classes with normal densities: what quadratic and linear discriminant analysis share. Shape: one fold.

    log p(x, k) = log π_k − ½ log|Σ_k| − ½ ‖A_k (x − μ_k)‖² + const        A_kᵀA_k = Σ_k⁻¹

The statistics are the classes' weights, means and scatter matrices; priors, covariances and what cures a singular one are made from them in
`_finish`. Covariances are maximum likelihood, structured, shrunk:

    full       Σ_k = S_k / N_k
    tied       Σ   = Σ_k S_k / N                 one covariance for all classes
    diagonal   the diagonal of it                isotropic   its mean variance times I

`unbiased` divides by N_k − 1 (tied: N − K) instead. Shrinkage and `reg_param` pull towards a multiple of I. A singular common covariance
gets the least ridge that cures it; singular covariances of classes are pulled towards the common one (`pooling.py`).

Where all classes share a covariance the score is linear in x. `fold_…` turns the learnt arrays into one matrix of weights about a centre c,
once a model; `…_scores` then costs one matrix product a tile whose results stay in cache. NumPy and BLAS only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Block, Engine, Rows
from assay.errors import DataError, ModelFileError, ParameterError
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.one_fold import OneFold
from assay.estimator.params import Free, Range, attribute, param
from assay.families.discriminant.claims import Boundary, boundary, coverage_of, normal_claims
from assay.families.discriminant.covariances import class_covariances, estimated_covariances, shrinkage_amounts
from assay.families.discriminant.pooling import (
    SLACK,
    LeftOut,
    candidates,
    common_ridge,
    factored,
    least_error,
    leave_one_out_errors,
    pooled,
)
from assay.inputs.labels import Labels, class_multipliers
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats, WhiteningFactor, safe_log, whitener
from assay.statistics.scatter import ClassScatter, absorb_scatter, merge_scatter
from assay.store import Record

TILE = 1 << 15  # numbers of whitened rows at a time: a quarter of a megabyte
ROUNDING = 2.0**-52
LEAST = 1e-290  # the inverse of a variance below this overflows
LEAST_SUM = 1e-307  # a sum of squares below this has lost digits
SMALL = 1e-9  # rows are centred before a linear score where rounding could otherwise move it by more


def _are_priors(value: Any) -> bool:
    try:
        priors = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return priors.ndim == 1 and bool(np.all(np.isfinite(priors)) and np.all(priors >= 0) and priors.sum() > 0)


CLASS_PROBABILITIES = Free("numbers, one a class (priors must be non-negative)", words=(None,), check=_are_priors)
PRIORS = param("probabilities of the classes; None: their shares of the rows", default=None, check=CLASS_PROBABILITIES)
SHRINKAGE = param("pull covariances towards a multiple of I; 'auto': by Ledoit and Wolf", default=None, check=Range(low=0, high=1, words=(None, "auto")))  # fmt: skip
STORE_COVARIANCE = param("accepted for scikit-learn's sake: covariance_ is always there", default=False)
TOL = param("eigenvalues of the correlations up to tol² count as zero", default=1e-4, check=Range(low=0, high=1))
COVARIANCE_ESTIMATOR = param("an object whose fit(X) sets covariance_, in place of maximum likelihood; its covariances are taken as they are", default=None, check=Free("an object with fit, and covariance_ after it", words=(None,), check=lambda given: hasattr(given, "fit")))  # fmt: skip
UNBIASED = param("divide by N_k − 1 (one covariance for all: N − K) instead of N_k (N)", default=False)


def state_layout(*, groups: str | int) -> dict[str, Tensor]:
    """The learnt arrays; `groups` is the number of covariances."""
    return {
        "priors_": Tensor(("K",), low=0, high=1, doc="the probability π of each class"),
        "whiten_": Tensor((groups, "d", "d"), doc="of each covariance a matrix A with AᵀA = Σ⁻¹"),
        "log_det_": Tensor((groups,), doc="the logarithm of the determinant of each covariance"),
        "rank_": Tensor((groups,), dtype="<i8", most="d", low=0, doc="the rank of each covariance before anything was added"),
        "added_": Tensor((groups, "d"), low=0, doc="what was added to the variance of each column to cure a singular covariance; mostly zeros"),
        "estimated_": Tensor(("K", "d", "d"), optional=True, doc="the covariance of each class that covariance_estimator gave"),
        "state.class_count": Tensor(("K",), low=0),
        "state.mean": Tensor(("K", "d")),
        "state.scatter": Tensor(("K", "d", "d")),
        "state.third": Tensor(("K", "d", "d"), optional=True),
        "state.fourth": Tensor(("K", "d", "d"), optional=True),
    }  # fmt: skip


POOLED: Layout = {
    "pooled_share_": Fact(float, low=0, optional=True, doc="how far singular covariances were pulled towards the common one, at most 1; None: none is singular"),
    "pooled_errors_": Tensor(("s",), low=0, high=1 + 1e-9, optional=True, doc="the leave-one-out error of the shares 1, 1/4, 1/16, … among which that was chosen"),
}  # fmt: skip


class NormalClassifier(OneFold, Classifier):
    """Bayes' rule with estimated normal densities. Subclasses set by `_tied` whether the classes share a covariance."""

    scores_are_log_joint = True
    statistics = ClassScatter
    _merge = staticmethod(merge_scatter)

    # in the order of the constructors, which type checkers read from here
    solver: str = attribute()
    shrinkage: Any = attribute()
    priors: Any = attribute()
    n_components: int | None = attribute()
    store_covariance: bool = attribute()
    tol: float = attribute()
    covariance_estimator: Any = attribute()
    reg_param: float = attribute(default=0.0)
    covariance: str = attribute()
    unbiased: bool = attribute()
    class_weight: Any = attribute()

    means_: Floats = attribute("the mean of each class, of shape (n_classes, n_features)")
    priors_: Floats = attribute()
    covariance_: Floats = attribute("the covariance of each class, of shape (n_classes, n_features, n_features), or the common one, of shape (n_features, n_features)")  # fmt: skip
    whiten_: Floats = attribute()
    log_det_: Floats = attribute()
    rank_: Array = attribute()
    added_: Floats = attribute()
    pooled_share_: float | None = attribute(default=None)
    pooled_errors_: Floats | None = attribute(default=None)
    estimated_: Floats | None = attribute(default=None)

    @property
    def _tied(self) -> bool:
        raise NotImplementedError

    # --- fitting ----------------------------------------------------------------------------------------------------

    def _absorber(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Callable[[Block], Any]:
        labels = self._classes_of(engine, rows, afresh, classes)
        return partial(absorb_scatter, labels, rows.names, self.shrinkage == "auto")

    def _folded_by(self) -> Any:
        return self.shrinkage == "auto"

    def _finish(self, state: ClassScatter) -> None:
        self._refuse_overflow(state)
        n = self._class_weights(state)
        self.means_, self.priors_ = state.mean, self._class_priors(n)
        self.covariance_ = self._covariances(state, n)
        self._factor(self.covariance_ if self.covariance_.ndim == 3 else self.covariance_[None], state)
        if "pooled_share_" in self.layout:
            self.pooled_share_ = self.pooled_errors_ = None
        if not self._tied and np.any((self.rank_ < state.mean.shape[1]) & (state.class_count > 0)):
            self._pool(state, 1.0)
        self._derive()

    def _finish_on(self, state: ClassScatter, engine: Engine, rows: Rows | None) -> None:
        self.estimated_ = None if self.covariance_estimator is None else self._estimated(rows)
        self._finish(state)
        if self.estimated_ is None and self.pooled_share_ is not None and rows is not None:
            self._choose_share(state, engine, rows)
            self._derive()

    def _estimated(self, rows: Rows | None) -> Floats:
        """The covariances that an estimator of the user's gives."""
        if self.shrinkage is not None:
            raise ParameterError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
            )
        if rows is None:
            raise ParameterError(
                "covariance_estimator needs all rows of a class at once: use fit in place of partial_fit."
            )
        return estimated_covariances(self.covariance_estimator, rows, Labels.of(self.classes_))

    def _choose_share(self, state: ClassScatter, engine: Engine, rows: Rows) -> None:
        """The share of least leave-one-out error; without the rows it stays 1, at which all classes have the common covariance."""
        n = self._class_weights(state)
        C = self._covariances(state, n)
        tried = list(candidates(C, n, _spread(state), float(self.tol)))
        self.pooled_errors_ = leave_one_out_errors(engine, rows, self._left_out(state, n), tried)
        self._pool(state, least_error(tried, self.pooled_errors_))

    def _left_out(self, state: ClassScatter, n: Floats) -> LeftOut:
        amounts = shrinkage_amounts(state.class_count, state.scatter, state.fourth, self.shrinkage)
        kept = (1 - amounts) * (1 - float(self.reg_param)) * (correction(n, False) if self.unbiased else 1.0)
        given = None if self.priors is None else safe_log(self.priors_)
        labels = Labels.of(self.classes_)
        return LeftOut(labels, state.mean, state.class_count, n, kept, given, self.covariance)

    def _pool(self, state: ClassScatter, share: float) -> None:
        """Pull the covariances towards the common one; `rank_` stays that of the classes' own."""
        n, unit = self._class_weights(state), _spread(state)
        C = self._covariances(state, n)
        ridge = common_ridge(C, n, unit, float(self.tol))
        self.pooled_share_, self.covariance_ = share, pooled(C, n, share)
        factors = factored(self.covariance_, ridge, unit, float(self.tol) / SLACK)
        self._whiten_by(factors)
        self.added_ = np.array([ridge + f.added for f in factors])

    def _refuse_overflow(self, state: ClassScatter) -> None:
        with np.errstate(over="ignore"):
            total = state.class_count.sum()
        if not (np.isfinite(total) and np.isfinite(state.scatter).all()):
            refuse_heavy(total)
        with np.errstate(over="ignore", invalid="ignore"):
            variance = _variances(state)
            far = ~np.isfinite(variance) | ~np.isfinite(np.abs(state.mean).max(axis=0) * total)
            close = (variance > 0) & ((variance < LEAST) | (variance * total < LEAST_SUM))
        self._refuse_column(far, "values so far apart that their squares overflow", "divide")
        self._refuse_column(close, "values so close that their (weighted) squares underflow", "multiply")

    def _refuse_column(self, wrong: Array, what: str, remedy: str) -> None:
        if wrong.any():
            j, names = int(np.flatnonzero(wrong)[0]), self._column_names()
            raise DataError(
                f"Column {j if names is None else repr(names[j])} holds {what} float64. Rescale it ({remedy} by a constant)."
            )

    def _class_weights(self, state: ClassScatter) -> Floats:
        """N_k: the weight of each class's rows, times its class weight."""
        return state.class_count * class_multipliers(self.class_weight, self.classes_, state.class_count)

    def _class_priors(self, n: Floats) -> Floats:
        if n.sum() <= 0:
            raise ParameterError(f"class_weight={self.class_weight!r} leaves no class with any weight.")
        if self.priors is None:
            return np.asarray(n / n.sum())
        given = np.asarray(self.priors, dtype=np.float64)
        if len(given) != len(n):
            raise ParameterError(
                f"{type(self).__name__}: priors has {len(given)} values where there are {len(n)} classes, "
                f"{self.classes_[:10].tolist()}: give one a class."
            )
        if abs(given.sum() - 1) > 1e-5:
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=2)
        given = np.where(n > 0, given, 0.0)  # a class without rows has no density: it cannot be predicted yet
        if given.sum() <= 0:
            raise ParameterError(f"priors={self.priors!r} are zero for every class that has rows.")
        return np.asarray(given / given.sum())

    def _covariances(self, state: ClassScatter, n: Floats) -> Floats:
        """One covariance a class (K, d, d), or the common one (1, d, d)."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            C = self.estimated_
            if C is None:
                C = class_covariances(state.class_count, state.scatter, state.fourth, self.shrinkage)
            if self._tied:
                C = tied(C, n / n.sum() if self._pools_rows else self.priors_)
            if self.unbiased:
                C = C * correction(n, self._tied)[:, None, None]
            C = structured(C, self.covariance)
            if self.reg_param:
                C = (1 - self.reg_param) * C + self.reg_param * np.eye(C.shape[1])
        return C

    @property
    def _pools_rows(self) -> bool:
        """Whether a common covariance weighs the classes by their rows (else by their priors)."""
        return True

    def _factor(self, covariances: Floats, state: ClassScatter) -> None:
        unit = _spread(state)
        empty = np.zeros(len(covariances), dtype=bool) if self._tied else state.class_count <= 0
        factors = [
            whitener(np.diag(unit * unit) if nothing else C, unit, float(self.tol))
            for C, nothing in zip(covariances, empty)
        ]
        self._whiten_by(factors)
        self.rank_ = np.array([0 if nothing else f.rank for f, nothing in zip(factors, empty)], dtype=np.int64)
        self.added_ = np.array([f.added for f in factors])

    def _whiten_by(self, factors: list[WhiteningFactor]) -> None:
        self.whiten_ = np.array([f.whiten for f in factors])
        self.log_det_ = np.array([f.log_det for f in factors])

    def _make_claims(self) -> tuple[Claim, ...]:
        n = self._class_weights(self._state)
        recipe = {
            "covariance": self.covariance,
            "tied": len(self.whiten_) == 1,
            "pools_rows": self._pools_rows,
            "unbiased": bool(self.unbiased),
            "reg_param": float(self.reg_param),
            "shrinkage": self.shrinkage if isinstance(self.shrinkage, str | None) else float(self.shrinkage),
            "priors_given": self.priors is not None,
            "multipliers": class_multipliers(self.class_weight, self.classes_, self._state.class_count).tolist(),
        }
        if self.pooled_share_ is not None:
            recipe["pooled_share"] = float(self.pooled_share_)
        if self.estimated_ is not None:
            recipe["estimated"] = self.estimated_
        return normal_claims(self, n, recipe)

    def _coverage_of(self, claims: tuple[Claim, ...]) -> Coverage:
        return coverage_of(self)

    def to_record(self) -> Record:
        """The fitted model as plain data; of an estimator of the user's there are its covariances."""
        record = super().to_record()
        return replace(record, params={**record.params, "covariance_estimator": None})

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        K = len(self.classes_)
        if len(self.whiten_) != (1 if self._tied else K):
            raise ModelFileError(f"The model file holds {len(self.whiten_)} covariances for {K} classes.")
        self.means_ = self._state.mean
        if self.pooled_share_ is not None and (self._tied or not 0 < self.pooled_share_ <= 1):
            raise ModelFileError(f"The model file pulls covariances by a share of {self.pooled_share_!r}.")
        try:
            n = self._class_weights(self._state)
            C = self._covariances(self._state, n)
            self.covariance_ = C if self.pooled_share_ is None else pooled(C, n, self.pooled_share_)
            with np.errstate(over="ignore", invalid="ignore"):
                self._derive()
        except ParameterError as error:
            raise ModelFileError(f"The model file's statistics do not fit its hyper-parameters: {error}") from None

    def complexity(self) -> float:
        """K·d means, the free numbers of each covariance, and K − 1 priors where they are learnt.

        A covariance has d(d + 1)/2, diagonal d, isotropic 1; where a share r of it is given (`reg_param`, `shrinkage`), only
        the share 1 − r of these is free; a share of the common covariance is counted once.
        """
        self._check_fitted()
        (K, d), groups, of_fit = self.means_.shape, len(self.whiten_), self._fitted_with
        each = {"diagonal": d, "isotropic": 1}.get(of_fit["covariance"], d * (d + 1) / 2)
        shrinkage = of_fit["shrinkage"]
        given = 0.0 if isinstance(shrinkage, str | None) else float(shrinkage)
        free = (1.0 - of_fit.get("reg_param", 0.0)) * (1.0 - given)
        share = self.pooled_share_ or 0.0
        covariances = groups * (1.0 - share) + share  # of what is pooled there is one
        return float(K * d + covariances * each * free + (K - 1 if of_fit["priors"] is None else 0))

    # --- answering --------------------------------------------------------------------------------------------------

    def _derive(self) -> None:
        """What scores need, made once, about the centre of the classes."""
        same = np.all(self.means_ == self.means_[0], axis=0)  # rounding must not tell of a column that never varies
        self._center = np.where(same, self.means_[0], self.priors_ @ self.means_)
        shift = self.means_ - self._center
        fold = fold_linear if len(self.whiten_) == 1 else fold_quadratic
        self._weights, self._constant = fold(safe_log(self.priors_), shift, self.whiten_, self.log_det_)

    def _scores(self, X: Array) -> Floats:
        score = linear_scores if len(self.whiten_) == 1 else quadratic_scores
        return score(X, self._center, self._weights, self._constant)

    def decision_function(self, X: Any) -> Array:
        """Two classes: the log-odds of `classes_[1]` (n,). More: each class's log density up to a constant of the row."""
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        return Z[:, 1] - Z[:, 0] if Z.shape[1] == 2 else Z

    def boundary(self) -> Boundary:
        """b̃, w, M of the boundary b̃ − wᵀx + xᵀMx = 0 between two classes (lecture notes 000, section 4.2).

        The form is twice the log-odds of C₁ = `classes_[0]` against C₂ = `classes_[1]`: positive where C₁ is chosen.
        """
        self._check_fitted()
        if len(self.classes_) != 2:
            raise ParameterError(
                f"boundary() is the boundary between two classes; this model has {len(self.classes_)}. "
                "Fit on two of them, or compare columns of decision_function."
            )
        return boundary(self.priors_, self.means_, self.whiten_, self.log_det_)


def _spread(state: ClassScatter) -> Floats:
    """The standard deviation of each column over all rows, as the unit of columns that do not vary within a class."""
    spread = np.sqrt(_variances(state))
    noise = 8 * np.finfo(np.float64).eps * np.abs(_centre(state))
    return np.where(spread > noise, spread, 1.0)


def _centre(state: ClassScatter) -> Floats:
    n = state.class_count
    out: Floats = (n / n.sum()) @ state.mean
    return out


def _variances(state: ClassScatter) -> Floats:
    """The variance of each column over all rows."""
    n = state.class_count
    within = np.diagonal(state.scatter, axis1=1, axis2=2).sum(axis=0) / n.sum()
    out: Floats = within + (n / n.sum()) @ (state.mean - _centre(state)) ** 2
    return out


def structured(C: Floats, structure: str) -> Floats:
    """C (G, d, d) with only what its structure keeps: the diagonal, or the mean of that."""
    if structure not in ("diagonal", "isotropic"):
        return C
    d = C.shape[1]
    variance = np.diagonal(C, axis1=1, axis2=2)
    if structure == "isotropic":
        variance = np.repeat(variance.mean(axis=1, keepdims=True), d, axis=1)
    out = np.zeros_like(C)
    out[:, np.arange(d), np.arange(d)] = variance
    return out


def tied(C: Floats, share: Floats) -> Floats:
    """Σ_k share_k C_k, (1, d, d)."""
    out: Floats = np.einsum("k,kij->ij", share, C)[None]
    return out


def correction(n: Floats, is_tied: bool) -> Floats:
    """The factor (G,) from 1/N_k to 1/(N_k − 1), or from 1/N to 1/(N − K); one where there are too few rows for it."""
    if is_tied:
        n, parameters = np.array([n.sum()]), int((n > 0).sum())
    else:
        parameters = 1
    return np.where(n > parameters, n / np.where(n > parameters, n - parameters, 1.0), 1.0)


def fold_linear(log_prior: Floats, shift: Floats, whiten: Floats, log_det: Floats) -> tuple[Floats, Floats]:
    """Weights AᵀA(μ_k − c) as columns (d, K) and constants log π_k − ½‖A(μ_k − c)‖² (K,); shift (K, d) is μ_k − c."""
    Z = shift @ whiten[0].T
    return np.ascontiguousarray((Z @ whiten[0]).T), log_prior - 0.5 * np.einsum("ij,ij->i", Z, Z)


def fold_quadratic(log_prior: Floats, shift: Floats, whiten: Floats, log_det: Floats) -> tuple[Floats, Floats]:
    """Weights [A_kᵀ; −(μ_k − c)ᵀA_kᵀ] of all classes side by side (d + 1, K·d), so that a row (x − c, 1) times them is
    A_k(x − μ_k), and constants log π_k − ½ log|Σ_k| (K,).
    """
    K, d = shift.shape
    Z = np.einsum("kij,kj->ki", whiten, shift)
    return np.vstack([whiten.reshape(K * d, d).T, -Z.reshape(1, K * d)]), log_prior - 0.5 * log_det


def linear_scores(X: Array, center: Floats, weights: Floats, constant: Floats) -> Floats:
    """wᵀ_k(x − c) + constant_k: the class's log density without what all classes share."""
    n, d = X.shape
    Z = np.empty((n, weights.shape[1]))
    step = max(16, 2 * TILE // d)
    far = ROUNDING * float((np.abs(center) @ np.abs(weights)).max()) > SMALL
    for a in range(0, n, step):
        x = X[a : a + step]
        np.matmul(x - center if far else x, weights, out=Z[a : a + step])
    Z += constant if far else constant - center @ weights
    return Z


def quadratic_scores(X: Array, center: Floats, weights: Floats, constant: Floats) -> Floats:
    """constant_k − ½ ‖A_k(x − μ_k)‖², all classes by one product a tile."""
    n, d = X.shape
    K = len(constant)
    Z = np.empty((n, K))
    step = max(1, min(n, max(16, TILE // (K * d))))
    u, t = np.ones((step, d + 1)), np.empty((step, K * d))
    for a in range(0, n, step):
        x = X[a : a + step]
        m = len(x)
        np.subtract(x, center, out=u[:m, :d])
        rows = np.matmul(u[:m], weights, out=t[:m]).reshape(m, K, d)
        np.vecdot(rows, rows, out=Z[a : a + step])
    Z *= -0.5
    Z += constant
    return Z
