"""Classes with normal densities: what quadratic and linear discriminant analysis share. Shape: one fold.

    log p(x, k) = log π_k − ½ log|Σ_k| − ½ ‖A_k (x − μ_k)‖² + const        A_kᵀA_k = Σ_k⁻¹

The statistics are the classes' weights, means and scatter matrices (scatter.py); priors, covariances and what cures a
singular one are made from them in `_finish`. Where all classes share a covariance the score is linear in x.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.errors import DataError, ModelFileError, ParameterError
from assay.hypotheses.boundary import Boundary, boundary
from assay.hypotheses.covariances import class_covariances, correction, structured, tied
from assay.hypotheses.heavy_weights import refuse_heavy
from assay.hypotheses.normal_claims import normal_claims
from assay.hypotheses.normal_scores import fold_linear, fold_quadratic, linear_scores, quadratic_scores
from assay.hypotheses.one_fold import OneFoldClassifier
from assay.hypotheses.scatter import ClassScatter, absorb_scatter, merge_scatter
from assay.labels import class_multipliers
from assay.learner import Tensor, attribute
from assay.numerics import Array, Floats, safe_log, whitener
from assay.params import Free, Range, param
from assay.store import Record


def _are_priors(value: Any) -> bool:
    try:
        priors = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return priors.ndim == 1 and bool(np.all(np.isfinite(priors)) and np.all(priors >= 0) and priors.sum() > 0)


CLASS_PROBABILITIES = Free("a list of non-negative numbers, one a class", words=(None,), check=_are_priors)
PRIORS = param("probabilities of the classes; None: their shares of the rows", default=None, check=CLASS_PROBABILITIES)
SHRINKAGE = param("pull covariances towards a multiple of I; 'auto': by Ledoit and Wolf", default=None, check=Range(low=0, high=1, words=(None, "auto")))  # fmt: skip
STORE_COVARIANCE = param("accepted for scikit-learn's sake: covariance_ is always there", default=False)
TOL = param("eigenvalues of the correlations up to tol² count as zero", default=1e-4, check=Range(low=0))
UNBIASED = param("divide by N_k − 1 (one covariance for all: N − K) instead of N_k (N)", default=False)


def state_layout(*, groups: str | int) -> dict[str, Tensor]:
    """The learnt arrays; `groups` is the number of covariances."""
    return {
        "priors_": Tensor(("K",), low=0, high=1, doc="the probability π of each class"),
        "whiten_": Tensor((groups, "d", "d"), doc="of each covariance a matrix A with AᵀA = Σ⁻¹"),
        "log_det_": Tensor((groups,), doc="the logarithm of the determinant of each covariance"),
        "rank_": Tensor((groups,), dtype="<i8", low=0, doc="the rank of each covariance before anything was added"),
        "added_": Tensor((groups, "d"), low=0, doc="what was added to the variance of each column to cure a singular covariance; mostly zeros"),
        "state.class_count": Tensor(("K",), low=0),
        "state.mean": Tensor(("K", "d")),
        "state.scatter": Tensor(("K", "d", "d")),
        "state.third": Tensor(("K", "d", "d"), optional=True),
        "state.fourth": Tensor(("K", "d", "d"), optional=True),
    }  # fmt: skip


class NormalClassifier(OneFoldClassifier):
    """Bayes' rule with estimated normal densities. Subclasses say with `_tied` whether the classes share a covariance."""

    statistics = ClassScatter
    _merge = staticmethod(merge_scatter)

    # in the order of the constructors, which type checkers read from here
    solver: str = attribute()
    shrinkage: Any = attribute()
    priors: Any = attribute()
    n_components: int | None = attribute()
    store_covariance: bool = attribute()
    tol: float = attribute()
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
        self.means_ = state.mean
        self.priors_ = self._class_priors(n)
        self.covariance_ = self._covariances(state, n)
        self._factor(self.covariance_ if self.covariance_.ndim == 3 else self.covariance_[None], state)
        self._derive()

    def _refuse_overflow(self, state: ClassScatter) -> None:
        with np.errstate(over="ignore"):
            total = state.class_count.sum()
        if not (np.isfinite(total) and np.isfinite(state.scatter).all()):
            refuse_heavy(total)
        far = ~(np.isfinite(state.mean).all(axis=0) & np.isfinite(state.scatter).all(axis=(0, 2)))
        if far.any():
            j = int(np.flatnonzero(far)[0])
            names = self._column_names()
            raise DataError(
                f"Column {j if names is None else repr(names[j])} holds values so far apart that their squares overflow "
                "float64. Rescale it (divide by a constant)."
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
        self.whiten_ = np.array([f.whiten for f in factors])
        self.log_det_ = np.array([f.log_det for f in factors])
        self.rank_ = np.array([0 if nothing else f.rank for f, nothing in zip(factors, empty)], dtype=np.int64)
        self.added_ = np.array([f.added for f in factors])

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
        return normal_claims(self, n, recipe)

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        K = len(self.classes_)
        if len(self.whiten_) != (1 if self._tied else K):
            raise ModelFileError(f"The model file holds {len(self.whiten_)} covariances for {K} classes.")
        self.means_ = self._state.mean
        try:
            self.covariance_ = self._covariances(self._state, self._class_weights(self._state))
            with np.errstate(over="ignore", invalid="ignore"):
                self._derive()
        except ParameterError as error:
            raise ModelFileError(f"The model file's statistics do not fit its hyper-parameters: {error}") from None

    def complexity(self) -> float:
        """K·d means, the free numbers of each covariance, and K − 1 priors where they are learnt.

        A covariance has d(d + 1)/2, diagonal d, isotropic 1; where a share r of it is given (`reg_param`, `shrinkage`), only
        the share 1 − r of these is free.
        """
        self._check_fitted()
        (K, d), groups, of_fit = self.means_.shape, len(self.whiten_), self._fitted_with
        each = {"diagonal": d, "isotropic": 1}.get(of_fit["covariance"], d * (d + 1) / 2)
        shrinkage = of_fit["shrinkage"]
        given = 0.0 if isinstance(shrinkage, str | None) else float(shrinkage)
        free = (1.0 - of_fit.get("reg_param", 0.0)) * (1.0 - given)
        return float(K * d + groups * each * free + (K - 1 if of_fit["priors"] is None else 0))

    # --- answering --------------------------------------------------------------------------------------------------

    def _derive(self) -> None:
        """What scores need, made once, about the centre of the classes."""
        self._center = self.priors_ @ self.means_
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
        odds: Array = Z[:, 1] - Z[:, 0]
        return odds if Z.shape[1] == 2 else Z

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
    n = state.class_count
    N = n.sum()
    center = (n @ state.mean) / N
    within = np.diagonal(state.scatter, axis1=1, axis2=2).sum(axis=0)
    with np.errstate(over="ignore"):
        spread = np.sqrt((within + n @ (state.mean - center) ** 2) / N)
    noise = 8 * np.finfo(np.float64).eps * np.abs(center)
    return np.where((spread > noise) & np.isfinite(spread), spread, 1.0)
