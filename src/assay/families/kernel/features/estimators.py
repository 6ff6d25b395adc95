"""Kernel models for tables of any length: linear models in approximate kernel features, and the features alone, to be put before any linear model.

Rows of a file or a cluster are mapped where they are read, so that what is fitted on them runs there too. A pass over n rows mapped to m
features costs about n·m·(m + d + 50) operations, 10 s a fit for a million rows and m = 100; so a comparison tries the rbf kernel at
landmarks, with ever weaker penalties.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from assay.engines import Block, Engine, FilledRows, Rows, engine_for
from assay.engines.engine import one_thread_blas
from assay.errors import DataError, not_fitted
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Layout
from assay.estimator.output import as_asked, set_output
from assay.estimator.params import (
    CLASS_WEIGHT,
    N_JOBS,
    Choice,
    Range,
    Seed,
    Transformer,
    attribute,
    check_params,
    param,
)
from assay.estimator.regressor import Regressor
from assay.estimator.routing import get_metadata_routing, set_fit_request
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.transformer import names_out
from assay.families.kernel.features.fit import KernelFeaturesModel, in_memory_if_few, layout_with
from assay.families.kernel.features.maps import (
    COEF0,
    DEGREE,
    GAMMA,
    KERNEL,
    KERNEL_NAMES,
    N_COMPONENTS,
    SEED,
    SHIFT_INVARIANT,
    KernelMap,
    MapError,
    MapSpec,
    learn,
    mapped_rows,
)
from assay.families.least_squares.estimators import Ridge
from assay.families.linear.fit import LinearClassifier
from assay.families.linear.linear_svc import LinearSVC
from assay.families.linear.logistic import LogisticRegression
from assay.inputs import as_rows, check_features
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats

FEW, MANY = (
    2_000,
    20_000,
)  # rows between which more landmarks are tried as well: of fewer rows 100 are a good part, of more they cost
LONG = 200_000  # rows from which one setting must do: with so many, settings hardly differ
MOST_ROWS = 3_000_000  # beyond, fits take minutes
TOO_LONG = "so many rows would be mapped to features for minutes"


class KernelFeaturesClassifier(KernelFeaturesModel, Classifier):
    """Logistic regression or a linear SVM in features φ with φ(x)·φ(z) ≈ K(x, z). Shape: repeated fold.

        min_{w, b}  ½‖w‖² + C Σ_i c_i ℓ(t_i (w·φ(x_i) + b)),      ℓ(m) = log(1 + e^−m),  max(0, 1 − m)  or  max(0, 1 − m)²

    What a kernel machine would do, at the price of a linear model: rows may be streamed or lie on a cluster. `loss="logistic"` has
    probabilities; "hinge" and "squared_hinge" are support vector machines. `approximation_error_` says how far φ(x)·φ(z) is from K.

    Certificate
    -----------
    The objective in the features is at most a share of tol above the least value there is, by a dual bound; how far φ(x)·φ(z) is
    from K(x, z) on pairs of rows (estimate).

    See Also
    --------
    SVC : the kernel itself, for tables of some ten thousand rows.
    Nystroem : the features of landmarks alone.
    RandomFourier : the features of random waves alone.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> KernelFeaturesClassifier(gamma=1.0, C=10.0).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """

    title = "Kernel features"
    name = "kernel-features"
    scores_are_log_joint = True
    step_word = "iteration"
    layout: ClassVar[Layout] = layout_with(LogisticRegression, LinearSVC)
    features: str = param("how kernels become features: kernels at landmarks, or random waves", default="nystroem", kw_only=False, check=Choice(("nystroem", "fourier")))  # fmt: skip
    kernel: str = KERNEL
    gamma: float | str = GAMMA
    degree: int = DEGREE
    coef0: float = COEF0
    n_components: int = N_COMPONENTS
    loss: str = param("what a row costs by its score; only 'logistic' has probabilities", default="logistic", check=Choice(("logistic", "hinge", "squared_hinge")))  # fmt: skip
    C: float = param("cost of a row; one over the strength of the penalty", default=1.0, check=Range(low=0, open_low=True, high=math.inf, open_high=True))  # fmt: skip
    tol: float = param("relative duality gap at which the fit is done", default=1e-6, check=Range(low=0, high=1))
    random_state: int = SEED
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS

    intercept_: Floats = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """The rbf kernel with ever weaker penalties."""
        return classifier_search_space(features) if kind == "classifier" else None

    def _linear(self) -> LinearClassifier:
        shared = {"C": self.C, "tol": self.tol, "class_weight": self.class_weight, "n_jobs": self.n_jobs}
        return LogisticRegression(**shared) if self.loss == "logistic" else LinearSVC(loss=self.loss, **shared)

    def _labels(self, engine: Engine, rows: Rows, classes: Any) -> Labels | None:
        return self._classes_of(engine, rows, True, classes)

    # --- answering --------------------------------------------------------------------------------------------------

    def _checked_scores(self, block: Block) -> Floats:
        self._refuse_non_finite(block)
        return super()._checked_scores(block)

    def _scores(self, X: Array) -> Floats:
        Z = self._map.scores(X, self.feature_coef_, self.intercept_)
        return np.concatenate([np.zeros_like(Z), Z], axis=1) if Z.shape[1] == 1 else Z

    def decision_function(self, X: Any) -> Floats:
        """w·φ(x) + b: (n,) for two classes (positive: the greater class), (n, K) for more."""
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        return Z[:, 1] - Z[:, 0] if len(self.classes_) == 2 else Z

    def _why_no_probabilities(self) -> str | None:
        loss = getattr(self, "_fitted_with", {}).get("loss", self.loss)
        return None if loss == "logistic" else "only loss='logistic' has probabilities"


class KernelFeaturesRegressor(KernelFeaturesModel, Regressor):
    """Ridge regression in features φ with φ(x)·φ(z) ≈ K(x, z). Shape: one fold, after one for the map.

        min_{w, b}  Σ_k (y_k − b − w·φ(x_k))² + alpha·‖w‖²

    What kernel ridge regression would do, at the price of a linear model. `approximation_error_` says how far φ(x)·φ(z) is from K.

    Certificate
    -----------
    The normal equations in the features hold to rounding; rank, condition number and σ² are as stated; how far φ(x)·φ(z) is from
    K(x, z) on pairs of rows (estimate).

    See Also
    --------
    SVR : the kernel itself, with a tube in which errors cost nothing.
    Ridge : the same for the columns as they are.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> KernelFeaturesRegressor(gamma=1.0, alpha=1e-6).fit(X, [0.0, 1.0, 0.0, 1.0]).predict(X).round(3)
    array([0., 1., 0., 1.])
    """

    title = "Kernel features"
    name = "features-regressor"
    step_word = "block"
    layout: ClassVar[Layout] = layout_with(Ridge)
    features: str = param("how kernels become features: kernels at landmarks, or random waves", default="nystroem", kw_only=False, check=Choice(("nystroem", "fourier")))  # fmt: skip
    kernel: str = KERNEL
    gamma: float | str = GAMMA
    degree: int = DEGREE
    coef0: float = COEF0
    n_components: int = N_COMPONENTS
    alpha: float = param("strength of the penalty on the length of the weights", default=1.0, check=Range(low=0, open_low=True, high=math.inf, open_high=True))  # fmt: skip
    random_state: int = SEED
    n_jobs: int | None = N_JOBS

    intercept_: float = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """The rbf kernel with ever weaker penalties."""
        return regressor_search_space(features) if kind == "regressor" else None

    def _linear(self) -> Ridge:
        return Ridge(alpha=self.alpha, n_jobs=self.n_jobs)

    def _predict_block(self, block: Block) -> Array:
        self._refuse_non_finite(block)
        return super()._predict_block(block)

    def _values(self, X: Array) -> Floats:
        return self._map.scores(X, self.feature_coef_[None, :], np.array([self.intercept_], dtype=np.float64))[:, 0]


class KernelTransformer(Transformer):
    """What both transformers share. Subclasses define the features."""

    set_output = set_output
    get_metadata_routing, set_fit_request = get_metadata_routing, set_fit_request

    _features: ClassVar[str]
    takes_sparse = True

    n_jobs: int | None = attribute()
    random_state: int | None = attribute()
    n_features_in_: int = attribute("the number of columns of the rows of the fit")
    feature_names_in_: Array = attribute("the names of the columns, where the rows of the fit had names; of shape (n_features,)")  # fmt: skip
    gamma_: float = attribute("the γ of the kernel that was used")
    approximation_error_: MapError = attribute("how far φ(x)·φ(z) is from K(x, z): `rms`, `max`, `trace`, and the `rows` whose pairs were compared")  # fmt: skip
    _map: KernelMap = attribute()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the map from rows X (or `assay.rows`); y is ignored, and of a weight only whether it is zero and what it adds to γ."""
        check_params(self)
        self._learn(self._filled(as_rows(X, None, sample_weight, sparse=True)))
        return self

    def _filled(self, rows: Rows) -> Rows:
        """Sparse rows with all their zeros, block by block."""
        return FilledRows(rows, type(self).__name__) if rows.sparse else rows

    def _learn(self, rows: Rows) -> None:
        if rows.categories is not None:
            raise DataError(
                f"{type(self).__name__} takes numbers, and some columns hold text: leave them out or encode them as numbers."
            )
        map_spec = MapSpec.of(self, self._features)
        engine = engine_for(rows, self.n_jobs)
        with one_thread_blas():
            learnt = learn(engine, engine.open(rows), map_spec)
        assert learnt.error is not None  # it was not marked
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("__")]:
            delattr(self, name)
        self.n_features_in_, self._map = rows.n_columns, learnt.map
        if rows.names is not None:
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        self.gamma_, self.approximation_error_ = float(learnt.map.kernel.gamma), learnt.error
        for name, part in learnt.map.parts().items():
            setattr(self, f"{name}_", part)

    def transform(self, X: Any) -> Any:
        """φ(x) of each row: an array (n, m); of `assay.rows` again rows, mapped as they are read."""
        if not hasattr(self, "n_features_in_"):
            raise not_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        rows = as_rows(X, sparse=True).fitted_to(None if names is None else tuple(names), None)
        check_features(self, rows)
        rows = self._filled(rows)
        mapped = mapped_rows(rows, self._map, tuple(self.get_feature_names_out()))
        if isinstance(X, Rows):
            return mapped
        engine = engine_for(rows, self.n_jobs)
        with one_thread_blas():
            near = in_memory_if_few(engine, mapped, most=None).in_memory()
        if not len(near.X):
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return as_asked(self, X, near.X)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """`fit`, then `transform` of the same rows."""
        return self.fit(X, y, sample_weight).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """ "nystroem0", "nystroem1", …; `input_features` must be the columns of the fit, where given."""
        return names_out(self, getattr(getattr(self, "_map", None), "width", 0), input_features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.target_tags.required = None, False
        return tags


class Nystroem(KernelTransformer):
    """Kernels at landmarks: φ(x) = K(x, L) K(L, L)^{−1/2} but for a rotation, exact on the landmarks L (Williams and Seeger 2001).

    The landmarks are distinct rows of the fit, drawn by a hash of their contents. The features come in falling order of spread.
    `approximation_error_`: root mean square and greatest |K(x, z) − φ(x)·φ(z)| over pairs of other rows, and the mean of
    K(x, x) − |φ(x)|², which is never negative.

    Certificate
    -----------
    None: `approximation_error_` says how far φ(x)·φ(z) is from K(x, z) on pairs of rows.

    See Also
    --------
    RandomFourier : random waves instead of landmarks.
    KernelFeaturesClassifier : features and a linear classifier in one.

    Examples
    --------
    >>> F = Nystroem(gamma=1.0, n_components=3).fit_transform([[0.0], [1.0], [2.0]])
    >>> (F @ F.T).round(4).tolist()
    [[1.0, 0.3679, 0.0183], [0.3679, 1.0, 0.3679], [0.0183, 0.3679, 1.0]]
    """

    _features = "nystroem"
    kernel: str = param("the kernel K(x, z): exp(−γ‖x − z‖²), exp(−γ‖x − z‖₁), (γ x·z + coef0)^degree, x·z or 1 + x·z", default="rbf", kw_only=False, check=Choice((*KERNEL_NAMES, "polynomial")))  # fmt: skip
    gamma: float | str | None = param("γ of the kernel; None and 'auto': 1 / d, 'scale': 1 / (d · variance of all entries), 'median': by the median distance between rows", default=None, check=replace(GAMMA, words=(None, "scale", "auto", "median")))  # fmt: skip
    degree: int = DEGREE
    coef0: float = COEF0
    n_components: int = N_COMPONENTS
    random_state: int = SEED
    n_jobs: int | None = N_JOBS

    landmarks_: Floats = attribute("the l rows of the fit at which kernels are evaluated, of shape (l, n_features)")
    map_: Floats = attribute("the matrix that turns kernels at the landmarks into features, of shape (l, n_components)")


class Waves(KernelTransformer):
    """What random waves have in common, whatever their kernel."""

    _features = "fourier"
    frequencies_: Floats = attribute("the frequency ω of each wave, of shape (n_features, n_components)")
    offset_: Floats = attribute("the phase of each wave, of shape (n_components,)")
    centre_: Floats = attribute("the point from which rows are counted, which the kernel does not notice but digits do; of shape (n_features,)")  # fmt: skip


class RandomFourier(Waves):
    """Random waves: φ(x)·φ(z) is the mean of cos ω·(x − z) over drawn frequencies ω, whose expectation is K(x, z) (Rahimi and Recht 2007).

    Frequencies of the rbf kernel are normal, those of the Laplacian kernel Cauchy. The error falls with one over the root of n_components,
    whatever the rows are.

    Certificate
    -----------
    None: `approximation_error_` says how far φ(x)·φ(z) is from K(x, z) on pairs of rows.

    See Also
    --------
    Nystroem : landmarks instead of random waves.
    RBFSampler : the Gaussian kernel alone, with scikit-learn's parameters.
    KernelFeaturesClassifier : features and a linear classifier in one.

    Examples
    --------
    >>> F = RandomFourier(gamma=0.5, n_components=4000).fit_transform([[0.0], [1.0]])
    >>> float(round(F[0] @ F[0], 6)), bool(abs(F[0] @ F[1] - 0.6065) < 0.05)
    (1.0, True)
    """

    kernel: str = param("the kernel K(x, z): exp(−γ‖x − z‖²) or exp(−γ‖x − z‖₁)", default="rbf", check=Choice(SHIFT_INVARIANT))  # fmt: skip
    gamma: float | str = GAMMA
    n_components: int = N_COMPONENTS
    random_state: int = SEED
    n_jobs: int | None = N_JOBS


class RBFSampler(Waves):
    """Random waves of the Gaussian kernel: `RandomFourier` with the name and the parameters that scikit-learn's users know.

        φ(x)_j = √(2/m) cos(ω_j·x + b_j),    φ(x)·φ(z) ≈ exp(−γ‖x − z‖²)

    Certificate
    -----------
    None: `approximation_error_` says how far φ(x)·φ(z) is from K(x, z) on pairs of rows.

    See Also
    --------
    RandomFourier : also for the Laplacian kernel.
    Nystroem : landmarks instead of random waves.

    Examples
    --------
    >>> F = RBFSampler(gamma=0.5, n_components=4000).fit_transform([[0.0], [1.0]])
    >>> bool(abs(F[0] @ F[1] - 0.6065) < 0.05)
    True
    """

    kernel: ClassVar[str] = "rbf"
    gamma: float | str = param("γ of the kernel; 'scale': 1 / (d · variance of all entries)", default=1.0, check=replace(GAMMA, words=("scale",)))  # fmt: skip
    n_components: int = N_COMPONENTS
    random_state: int | None = param("seed of the frequencies; None: 0", default=None, check=Seed(high=1 << 63, words=(None,)))  # fmt: skip
    n_jobs: int | None = N_JOBS

    @property
    def random_weights_(self) -> Floats:
        """The frequency ω of each wave, (n_features, n_components)."""
        if not hasattr(self, "n_features_in_"):
            raise not_fitted(self)
        return self.frequencies_

    @property
    def random_offset_(self) -> Floats:
        """The phase of each wave for rows that are counted from zero, between 0 and 2π: (n_components,)."""
        if not hasattr(self, "n_features_in_"):
            raise not_fitted(self)
        offset: Floats = np.mod(self.offset_ - self.centre_ @ self.frequencies_, 2.0 * math.pi)
        return offset


def unfit(features: TableTraits) -> str | None:
    """Why a table cannot be used, or None."""
    return TOO_LONG if features.rows > MOST_ROWS else None


def _settings(rows: int) -> list[tuple[int, float]]:
    """(landmarks, power of ten of one over the penalty), from simple to complex."""
    if rows > LONG:
        return [(100, 1.0)]
    more = [(300, 1.0)] if FEW <= rows <= MANY else []
    return [(100, 0.0), (100, 1.0), (100, 2.0), *more]


def classifier_search_space(features: TableTraits) -> SearchSpace:
    """C from strong penalties to weak ones."""
    search = tuple({"n_components": m, "C": 10.0**power} for m, power in _settings(features.rows))
    return SearchSpace(search=search, scaled=True, rough={"tol": 1e-2}, unfit=unfit(features), cost=4.0)


def regressor_search_space(features: TableTraits) -> SearchSpace:
    """alpha from strong penalties to weak ones."""
    search = tuple({"n_components": m, "alpha": 10.0**-power} for m, power in _settings(features.rows))
    return SearchSpace(search=search, scaled=True, unfit=unfit(features), cost=4.0)
