"""Approximate kernel features alone, to be put before any linear model. Shape: one fold.

Rows of a file or a cluster are mapped where they are read, so that what is fitted on them runs there too.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from assay.engines import Rows, engine_for
from assay.engines.blas import one_thread_blas
from assay.errors import DataError, not_fitted
from assay.hypotheses.kernel_features.learning import (
    COEF0,
    DEGREE,
    GAMMA,
    KERNEL_NAMES,
    N_COMPONENTS,
    SEED,
    SHIFT_INVARIANT,
    MapError,
    Wish,
    learn,
    mapped_rows,
)
from assay.hypotheses.kernel_features.maps import KernelMap
from assay.hypotheses.kernel_features.model import brought_near
from assay.inputs import as_rows, check_features
from assay.learner import attribute
from assay.learner.tunable import Tunable
from assay.numerics import Array, Floats
from assay.params import N_JOBS, Choice, check_params, param


class KernelTransformer(Tunable):
    """What both transformers share. Subclasses say which features they make."""

    _kind = "transformer"
    _features: ClassVar[str]

    n_jobs: int | None = attribute()
    random_state: int = attribute()
    n_features_in_: int = attribute("the number of columns of the rows of the fit")
    feature_names_in_: Array = attribute("the names of the columns, where the rows of the fit had names; of shape (n_features,)")  # fmt: skip
    gamma_: float = attribute("the γ of the kernel that was used")
    approximation_error_: MapError = attribute("how far φ(x)·φ(z) is from K(x, z): `rms`, `max`, `trace`, and the `rows` whose pairs were compared")  # fmt: skip
    _map: KernelMap = attribute()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the map from rows X (or `assay.rows`); y is ignored, and of a weight only whether it is zero and what it adds to γ."""
        check_params(self)
        self._learn(as_rows(X, None, sample_weight))
        return self

    def _learn(self, rows: Rows) -> None:
        if rows.categories is not None:
            raise DataError(
                f"{type(self).__name__} takes numbers, and some columns hold text: leave them out or encode them as numbers."
            )
        wish = Wish.of(self, self._features)
        engine = engine_for(rows, self.n_jobs)
        with one_thread_blas():
            learnt = learn(engine, engine.open(rows), wish)
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
        rows = as_rows(X).fitted_to(None if names is None else tuple(names), None)
        check_features(self, rows)
        mapped = mapped_rows(rows, self._map, tuple(self.get_feature_names_out()))
        if isinstance(X, Rows):
            return mapped
        engine = engine_for(rows, self.n_jobs)
        with one_thread_blas():
            near = brought_near(engine, mapped, most=None).in_memory()
        if not len(near.X):
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return near.X

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """`fit`, then `transform` of the same rows."""
        return self.fit(X, y, sample_weight).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """ "nystroem0", "nystroem1", …; `input_features` must be the columns of the fit, where given."""
        if not hasattr(self, "n_features_in_"):
            raise not_fitted(self)
        fitted = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = list(input_features)
            if len(given) != self.n_features_in_:
                raise DataError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), got {len(given)}."
                )
            if fitted is not None and given != list(fitted):
                raise DataError(
                    "input_features is not equal to feature_names_in_: give the names of the columns of the fit."
                )
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{k}" for k in range(self._map.width)], dtype=object)

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
    kernel: str = param("the kernel K(x, z): exp(−γ‖x − z‖²), exp(−γ‖x − z‖₁), (γ x·z + coef0)^degree, x·z or 1 + x·z", default="rbf", kw_only=False, check=Choice(KERNEL_NAMES))  # fmt: skip
    gamma: float | str = GAMMA
    degree: int = DEGREE
    coef0: float = COEF0
    n_components: int = N_COMPONENTS
    random_state: int = SEED
    n_jobs: int | None = N_JOBS

    landmarks_: Floats = attribute("the l rows of the fit at which kernels are evaluated, of shape (l, n_features)")
    map_: Floats = attribute("the matrix that turns kernels at the landmarks into features, of shape (l, n_components)")


class RandomFourier(KernelTransformer):
    """Random waves: φ(x)·φ(z) is the mean of cos ω·(x − z) over drawn frequencies ω, whose expectation is K(x, z) (Rahimi and Recht 2007).

    Frequencies of the rbf kernel are normal, those of the Laplacian kernel Cauchy. The error falls with one over the root of n_components,
    whatever the rows are.

    Certificate
    -----------
    None: `approximation_error_` says how far φ(x)·φ(z) is from K(x, z) on pairs of rows.

    See Also
    --------
    Nystroem : landmarks instead of random waves.
    KernelFeaturesClassifier : features and a linear classifier in one.

    Examples
    --------
    >>> F = RandomFourier(gamma=0.5, n_components=4000).fit_transform([[0.0], [1.0]])
    >>> float(round(F[0] @ F[0], 6)), bool(abs(F[0] @ F[1] - 0.6065) < 0.05)
    (1.0, True)
    """

    _features = "fourier"
    kernel: str = param("the kernel K(x, z): exp(−γ‖x − z‖²) or exp(−γ‖x − z‖₁)", default="rbf", check=Choice(SHIFT_INVARIANT))  # fmt: skip
    gamma: float | str = GAMMA
    n_components: int = N_COMPONENTS
    random_state: int = SEED
    n_jobs: int | None = N_JOBS

    frequencies_: Floats = attribute("the frequency ω of each wave, of shape (n_features, n_components)")
    offset_: Floats = attribute("the phase of each wave, of shape (n_components,)")
    centre_: Floats = attribute("the point from which rows are counted, which the kernel does not notice but digits do; of shape (n_features,)")  # fmt: skip
