"""Quadratic and linear discriminant analysis: Bayes' rule with normal classes. Shape: one fold.

Lecture notes 000, section 4: priors N_k/N, means μ_k and covariances Σ_k (1/N_k) are estimated from the rows, and the
class of largest p(x|k) π_k is chosen. Unequal covariances give a quadratic boundary, equal ones a linear one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from assay.certify import Claim
from assay.engines import Block
from assay.errors import ParameterError
from assay.estimator.layout import Layout, Tensor
from assay.estimator.output import as_asked, set_output
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Range, attribute, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.discriminant.claims import COVERAGE
from assay.families.discriminant.fit import (
    CLASS_PROBABILITIES,
    COVARIANCE_ESTIMATOR,
    POOLED,
    PRIORS,
    SHRINKAGE,
    STORE_COVARIANCE,
    TOL,
    UNBIASED,
    NormalClassifier,
    state_layout,
)
from assay.inputs import refuse_non_finite
from assay.numerics import Array, Floats
from assay.statistics.scatter import ClassScatter

MOST_COLUMNS = 2000
DIRECTIONS = 1e-6  # what rounding may turn a direction by


def too_wide(features: TableTraits) -> str | None:
    """Why a covariance of these columns is out of reach."""
    many = features.columns > MOST_COLUMNS
    return f"a covariance of {features.columns} columns has a number for each pair of them" if many else None


class QuadraticDiscriminantAnalysis(NormalClassifier):
    """One normal density a class; the boundary is quadratic. Shape: one fold.

        log p(k | x) = log π_k − ½ log|Σ_k| − ½ (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k) + const

    `covariance`: 'full', one a class; 'tied', one for all; 'diagonal' and 'isotropic', one a class of that form.
    Where the covariance of a class is singular, all are pulled towards the common one (Friedman, 1989) by the share of least
    leave-one-out error, and the certificate says so; after `partial_fit`, whose earlier rows are gone, all the way. `solver` is
    accepted for scikit-learn's sake: there is one way here.

    Certificate
    -----------
    Priors, means and covariances are the closed-form estimates of the rows; where a covariance is singular, which one, its rank
    and what was added.

    See Also
    --------
    LinearDiscriminantAnalysis : one covariance for all classes, and a linear boundary.
    GaussianNB : columns that are independent given the class.

    Examples
    --------
    >>> X = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> model = QuadraticDiscriminantAnalysis().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> model.predict([[-0.8, -1]]).tolist(), model.means_.tolist()
    (['a'], [[-2.0, -1.3333333333333333], [2.0, 1.3333333333333333]])
    """

    title = "Quadratic discriminant"
    name = "qda"
    solver: str = param("accepted for scikit-learn's sake; the answer is the same", default="svd", check=Choice(("svd", "eigen")))  # fmt: skip
    shrinkage: float | str | None = SHRINKAGE
    priors: Any = PRIORS
    reg_param: float = param("regularisation r: (1 − r)·Σ_k + r·I takes the place of each covariance Σ_k", default=0.0, check=Range(low=0, high=1))  # fmt: skip
    store_covariance: bool = STORE_COVARIANCE
    tol: float = TOL
    covariance_estimator: Any = COVARIANCE_ESTIMATOR
    covariance: str = param("the form of the covariances: one a class, one for all, uncorrelated columns, or round", default="full", check=Choice(("full", "tied", "diagonal", "isotropic")))  # fmt: skip
    unbiased: bool = UNBIASED
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS
    coverage = COVERAGE
    layout: ClassVar[Layout] = {**state_layout(groups="G"), **POOLED}

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Covariances ever further from I; no column the sum of others, which would make them singular."""
        if kind != "classifier":
            return None
        return SearchSpace(
            search=tuple({"reg_param": share} for share in (0.5, 0.1, 0.01, 0.0)),
            categories="reference",
            scaled=True,
            unfit=too_wide(features),
        )

    @classmethod
    def from_moments(cls, means: Any, covariances: Any, priors: Any = None, *, classes: Any = None) -> Self:
        """The MAP classifier of given means (K, d), covariances (K, d, d), or one (d, d) for all, and priors (K,); nothing is estimated.

        `classes` are their labels (default 0, 1, …, in ascending order), `priors` None takes all for equally likely. The model is fitted on
        2d points a class, μ_k ± √d·L_k e_j with L_k L_kᵀ = Σ_k, whose mean and covariance are exactly these: its certificate is about them.

        >>> model = QuadraticDiscriminantAnalysis.from_moments([[0.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
        >>> model.predict([[0.9, 5.0], [1.1, 5.0]]).tolist()
        [0, 1]
        """
        M = np.asarray(means, dtype=np.float64)
        if M.ndim != 2 or not np.isfinite(M).all():
            raise ParameterError(f"means must be finite numbers of shape (classes, columns), got shape {M.shape}.")
        K, d = M.shape
        S = np.asarray(covariances, dtype=np.float64)
        S = np.repeat(S[None], K, axis=0) if S.shape == (d, d) else S
        if S.shape != (K, d, d) or not np.allclose(S, S.transpose(0, 2, 1)):
            raise ParameterError(
                f"covariances must be symmetric, of shape {(K, d, d)} or {(d, d)}; got shape {S.shape}."
            )
        try:
            L = np.linalg.cholesky(S)
        except np.linalg.LinAlgError:
            raise ParameterError("Every covariance must be positive definite: one has no inverse.") from None
        shares = np.full(K, 1.0 / K) if priors is None else np.asarray(priors, dtype=np.float64)
        if shares.shape != (K,):
            raise ParameterError(f"priors must be {K} numbers, one a class, got shape {shares.shape}.")
        labels = np.arange(K) if classes is None else np.asarray(classes)
        if labels.shape != (K,) or len(np.unique(labels)) != K:
            raise ParameterError(f"classes must be {K} different labels, got {classes!r}.")
        order = np.argsort(labels)
        steps = np.sqrt(d) * np.concatenate([L, -L], axis=2).transpose(0, 2, 1)
        points = (M[:, None] + steps).reshape(-1, d)
        return cls(priors=shares[order].tolist()).fit(points, np.repeat(labels, 2 * d))

    @property
    def _tied(self) -> bool:
        return self.covariance == "tied"

    @property
    def rotations_(self) -> list[Floats]:
        """The principal axes of each class, as columns, by falling variance: an array (d, r) a class."""
        return [V for _, V in self._axes()]

    @property
    def scalings_(self) -> list[Floats]:
        """The variance of each class along its principal axes: an array (r,) a class."""
        return [v for v, _ in self._axes()]

    def _axes(self) -> list[tuple[Floats, Floats]]:
        self._check_fitted()
        found = [np.linalg.eigh(C) for C in self.covariance_]
        axes = [(lam[::-1], V[:, ::-1]) for lam, V in found]
        return axes * (len(self.classes_) if self._tied else 1)


class LinearDiscriminantAnalysis(NormalClassifier):
    """Normal densities with one covariance for all classes; the boundary is linear. Shape: one fold.

        log p(k | x) = log π_k + μ_kᵀ Σ⁻¹ x − ½ μ_kᵀ Σ⁻¹ μ_k + const

    `covariance` is the form of the common covariance: 'tied' (any), 'diagonal' or 'isotropic'. `transform` projects on
    the directions that part the classes best (Fisher, 1936). The solvers are scikit-learn's words and differ as there only
    in how given `priors` count: 'svd' pools the classes' scatter by their rows, 'lsqr' and 'eigen' by the priors.

    Certificate
    -----------
    Priors, means and covariances are the closed-form estimates of the rows; where a covariance is singular, which one, its rank
    and what was added.

    See Also
    --------
    QuadraticDiscriminantAnalysis : a covariance for each class.
    LogisticRegression : a linear boundary without normal densities.

    Examples
    --------
    >>> X = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> model = LinearDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1]]).tolist(), model.boundary().M.tolist()
    ([1], [[0.0, 0.0], [0.0, 0.0]])
    """

    title = "Linear discriminant"
    name = "lda"
    solver: str = param(
        "how given priors count in the common covariance: 'svd' weighs classes by their rows, the others by their priors",
        default="svd",
        kw_only=False,
        check=Choice(("svd", "lsqr", "eigen")),
    )
    shrinkage: float | str | None = param("pull covariances towards a multiple of I; 'auto': by Ledoit and Wolf", default=None, kw_only=False, check=Range(low=0, high=1, words=(None, "auto")))  # fmt: skip
    priors: Any = param("probabilities of the classes; None: their shares of the rows", default=None, kw_only=False, check=CLASS_PROBABILITIES)  # fmt: skip
    n_components: int | None = param("directions that transform keeps; None: all", default=None, kw_only=False, check=Range(int, low=1, words=(None,)))  # fmt: skip
    store_covariance: bool = param("accepted for scikit-learn's sake: covariance_ is always there", default=False, kw_only=False)  # fmt: skip
    tol: float = param("eigenvalues of the correlations up to tol² count as zero", default=1e-4, kw_only=False, check=Range(low=0, high=1))  # fmt: skip
    covariance_estimator: Any = replace(COVARIANCE_ESTIMATOR, kw_only=False)
    covariance: str = param("the form of the common covariance: any, uncorrelated columns, or round", default="tied", check=Choice(("tied", "diagonal", "isotropic")))  # fmt: skip
    unbiased: bool = UNBIASED
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS
    coverage = COVERAGE
    layout: ClassVar[Layout] = {
        **state_layout(groups=1),
        "scalings_": Tensor(("d", "r"), doc="the directions that part the classes best, one a column, for transform"),
        "explained_variance_ratio_": Tensor(("q",), low=0, high=1 + 1e-9, doc="the share of the variance between classes along each direction"),
    }  # fmt: skip

    coef_: Floats = attribute("the weights of the linear scores: one row for two classes, else one a class; of shape (m, n_features)")  # fmt: skip
    intercept_: Floats = attribute("the constant of each row of `coef_`, of shape (m,)")
    xbar_: Floats = attribute("the mean of all rows, from which transform counts, of shape (n_features,)")
    scalings_: Floats = attribute()
    explained_variance_ratio_: Floats = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """As it stands: no column may be the sum of others, which would make the covariance singular."""
        if kind != "classifier":
            return None
        return SearchSpace(categories="reference", unfit=too_wide(features))

    @property
    def _tied(self) -> bool:
        return True

    @property
    def _pools_rows(self) -> bool:
        return self.solver == "svd"

    def _covariances(self, state: ClassScatter, n: Floats) -> Floats:
        C: Floats = super()._covariances(state, n)[0]
        return C

    def _finish(self, state: ClassScatter) -> None:
        super()._finish(state)
        self._find_directions()

    def _derive(self) -> None:
        super()._derive()
        self.xbar_ = self._center
        coef, intercept = self._weights.T, self._constant - self._center @ self._weights
        if len(coef) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    def _find_directions(self) -> None:
        """The axes of the class means in whitened space, weighted by √π_k, by falling spread."""
        most = min(len(self.classes_) - 1, self.n_features_in_)
        if self.n_components is not None and self.n_components > most:
            raise ParameterError(
                f"n_components cannot be larger than min(n_features, n_classes - 1) = {most}, but it is {self.n_components}."
            )
        A = self.whiten_[0]
        between = np.sqrt(self.priors_)[:, None] * ((self.means_ - self.xbar_) @ A.T)
        _, s, Vt = np.linalg.svd(between, full_matrices=False)
        total = float((s * s).sum())
        kept = self.n_components or most
        self.explained_variance_ratio_ = (s * s / total if total > 0 else np.zeros_like(s))[:kept]
        rank = int((s > self.tol * s[0]).sum())
        self.scalings_ = np.ascontiguousarray(A.T @ Vt[:rank].T)

    def _make_claims(self) -> tuple[Claim, ...]:
        self._check_directions()
        return super()._make_claims()

    def _check_directions(self) -> None:
        """Raise unless `scalings_` are directions Aᵀv of whitened space with vᵀv = 1 that part the means as much as any.

        The claims tie A, means and priors to the rows; this ties `transform` to these. Axes of equal spread may be turned.
        """
        A, S = self.whiten_[0], self.scalings_
        unit = 1 / np.sqrt(np.maximum(np.einsum("ij,ij->j", A, A), np.finfo(np.float64).tiny))
        V = np.linalg.solve((A * unit).T, S * unit[:, None])
        between = np.sqrt(self.priors_)[:, None] * ((self.means_ - self.xbar_) @ A.T)
        s = np.linalg.svd(between, compute_uv=False)[: S.shape[1]]
        along = (between @ V).T @ (between @ V)
        most = float(s[0] ** 2) if len(s) else 0.0
        good = np.allclose(V.T @ V, np.eye(S.shape[1]), atol=DIRECTIONS) and np.allclose(
            along, np.diag(s * s), atol=DIRECTIONS * most
        )
        if not good:
            raise ValueError("scalings_ are not the directions that part the classes best")

    set_output = set_output

    def transform(self, X: Any) -> Any:
        """The rows along the directions that part the classes best: (X − xbar_) @ scalings_."""
        return as_asked(self, X, self._answer(X, self._transform_block))

    def _transform_block(self, block: Block) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            projected: Array = (block.X - self.xbar_) @ self.scalings_[:, : self._n_features_out]
        if not np.isfinite(projected).all():
            refuse_non_finite(block.X, block.start, self._column_names())
        return projected

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, then transform the same rows."""
        return self.fit(X, y, sample_weight).transform(X)

    @property
    def _n_features_out(self) -> int:
        return min(int(self.scalings_.shape[1]), len(self.explained_variance_ratio_))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns of `transform`, as scikit-learn makes them."""
        self._check_fitted()
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{i}" for i in range(self._n_features_out)], dtype=object)


__all__ = ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]
