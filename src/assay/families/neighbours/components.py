"""A linear map under which rows of a class are each other's neighbours, to be put before any model (Goldberger and others 2004)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Self

import numpy as np

from assay.engines import Rows
from assay.engines.engine import Threads, one_thread_blas
from assay.errors import ConvergenceWarning, DataError, ParameterError, as_seen_by_sklearn, not_fitted, warn
from assay.estimator.params import N_JOBS, Free, Range, Seed, Transformer, attribute, check_params, drawn_seed, param
from assay.estimator.transformer import names_out
from assay.families.neighbours.metric_learning import Ascent, slope_of, sorted_rows
from assay.families.neighbours.metrics import mapped_by, signed
from assay.inputs import as_rows, check_features, refuse_non_finite
from assay.inputs.labels import Labels, distinct
from assay.inputs.refusals import refuse_extreme
from assay.numerics import Array, Floats

STARTS = ("auto", "pca", "lda", "identity", "random")
FLAT = 1e-12  # of the greatest: less variance within classes is no spread but rounding


def _is_matrix(value: Any) -> bool:
    return np.ndim(value) == 2 and np.asarray(value).dtype.kind in "fiub"


class NeighborhoodComponentsAnalysis(Transformer):
    """The linear map that makes soft neighbours name the classes best, L-BFGS climbing from a start (Goldberger and others 2004).

        x ↦ A x,     p_ij ∝ exp(−‖A x_i − A x_j‖²) over j ≠ i,     A maximises Σ_i Σ_{j: y_j = y_i} p_ij

    `components_` are the rows of A. `KNeighborsClassifier(metric="learned")` learns the same within a model, from a start that it chooses by trial, with
    a certificate and a file.

    Certificate
    -----------
    None: `objective_` is the mean chance that soft neighbours name a row rightly, before and after each step.

    See Also
    --------
    KNeighborsClassifier : with metric="learned", the map and the neighbours in one.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]], [1, 0, 1, 0]
    >>> analysis = NeighborhoodComponentsAnalysis(init="identity").fit(X, y)
    >>> Z = analysis.transform(X)
    >>> bool(abs(Z[0] - Z[2]).max() < abs(Z[0] - Z[1]).max()), bool(analysis.objective_[-1] > 0.9)
    (True, True)
    """

    n_components: int | None = param("columns of the mapped rows; None: as many as there are", default=None, kw_only=False, check=Range(int, low=1, words=(None,)))  # fmt: skip
    init: Any = param("where the climb starts: the identity, principal ('pca') or discriminant ('lda') directions, random numbers, or a matrix; 'auto': 'lda' where there are classes enough, else 'pca' where there are rows enough, else the identity", default="auto", check=Free("a matrix (n_components, n_features)", words=STARTS, check=_is_matrix))  # fmt: skip
    warm_start: bool = param("start from the components of the last fit", default=False)
    max_iter: int = param("steps of L-BFGS at most", default=50, check=Range(int, low=1))
    tol: float = param("the climb ends where the gradient times the map is no longer than this", default=1e-5, check=Range(low=0))  # fmt: skip
    callback: Any = param("a function that is called after each step with the components, flat, and the number of the step", default=None, check=Free("a function of two arguments", words=(None,), check=callable))  # fmt: skip
    verbose: int = param("print how the climb goes, from 1 on", default=0, check=Range(int, low=0))
    random_state: int | None = param("seed of init='random'; None: 0", default=None, check=Seed(words=(None,)))
    n_jobs: int | None = N_JOBS

    n_features_in_: int = attribute("the number of columns of the rows of the fit")
    feature_names_in_: Array = attribute("the names of the columns, where the rows of the fit had names; of shape (n_features,)")  # fmt: skip
    components_: Floats = attribute("the map A that was learnt, of shape (n_components, n_features)")
    objective_: Floats = attribute("the mean chance that soft neighbours name a row rightly, itself left out, before and after each step; of shape (n_iter_ + 1,)")  # fmt: skip
    n_iter_: int = attribute("the steps that were taken")
    converged_: bool = attribute("whether the climb ended before max_iter, or where the slope is tol at most")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the map from rows X and labels y (or from `assay.rows`)."""
        check_params(self)
        rows = as_rows(X, y).in_memory()
        if rows.y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None: give fit(X, y).")
        Z = np.ascontiguousarray(rows.X, dtype=np.float64)
        refuse_non_finite(Z, 0, rows.names)
        if len(Z) < 2:
            raise DataError(f"Found array with {len(Z)} sample(s) (shape={Z.shape}) while a minimum of 2 is required.")
        codes = Labels.of(distinct(rows.y)).encode(rows.y)
        start = self._start(Z, codes)
        began = perf_counter()
        with one_thread_blas(), np.errstate(over="ignore", invalid="ignore"):
            self._climb(rows, Z, codes, start)
        self.n_features_in_ = rows.n_columns
        self.__dict__.pop("feature_names_in_", None)
        if rows.names is not None:
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        if self.verbose:
            if not self.converged_:
                warn(
                    f"{self._tag} NCA did not converge in {self.n_iter_} steps: raise max_iter or tol.",
                    as_seen_by_sklearn(ConvergenceWarning),
                )
            print(f"{self._tag} Training took {perf_counter() - began:8.2f}s.")
        return self

    @property
    def _tag(self) -> str:
        return f"[{type(self).__name__}]"

    def _climb(self, rows: Rows, Z: Floats, codes: Array, start: Floats) -> None:
        """Set what is learnt."""
        if self.verbose:
            header = f"{'Iteration':>10} {'Objective Value':>20} {'Time(s)':>10}"
            print(*(f"{self._tag}{line}" for line in ("", f" {header}", f" {'-' * len(header)}")), sep="\n")
        history: list[float] = []
        ascent, began = Ascent(sorted_rows(Z, codes, None), False, Threads(self.n_jobs)), perf_counter()
        for place in ascent.climb(np.ascontiguousarray(start.T), self.max_iter, float(self.tol)):
            if not np.isfinite(place.value):
                refuse_extreme(rows, None)
            if history and self.callback is not None:
                self.callback(place.w.T.ravel(), len(history) - 1)
            if self.verbose:
                print(f"{self._tag} {len(history):>10} {-place.value * len(Z):>20.6e} {perf_counter() - began:>10.2f}")
            history.append(-place.value)
        self.components_, self.objective_ = np.ascontiguousarray(place.w.T), np.array(history)
        self.n_iter_ = len(history) - 1
        self.converged_ = bool(self.n_iter_ < self.max_iter or slope_of(place) <= self.tol)

    def _start(self, Z: Floats, codes: Array) -> Floats:
        """The map from which the climb starts, (n_components, n_features)."""
        (n, d), wanted = Z.shape, self.n_components
        if wanted is not None and wanted > d:
            raise ParameterError(
                f"The preferred dimensionality of the projected space `n_components` ({wanted}) cannot be greater than the given data dimensionality ({d})!"
            )
        if self.warm_start and hasattr(self, "components_"):
            if self.components_.shape[1] != d:
                raise ParameterError(
                    f"The new inputs dimensionality ({d}) does not match the input dimensionality of the previously learned transformation "
                    f"({self.components_.shape[1]})."
                )
            return self.components_
        if not isinstance(self.init, str):
            return self._given(d)
        r, init = wanted or d, self.init
        if init == "auto":
            classes = len(np.unique(codes))
            init = "lda" if r <= min(d, classes - 1) else "pca" if r < min(d, n) else "identity"
        if init == "identity":
            return np.eye(r, d)
        if init == "random":
            return np.random.default_rng(drawn_seed(self.random_state) or 0).standard_normal((r, d))
        if init == "pca":
            with self._told("Finding principal components"):
                return principal(Z, r)
        most = min(d, len(np.unique(codes)) - 1)
        if r > most:
            raise ParameterError(
                f"init='lda' has {most} discriminant directions of these classes and columns, and n_components is {r}: give n_components={max(1, most)}, or "
                "another init."
            )
        with self._told("Finding most discriminative components"):
            return discriminative(Z, codes, r)

    def _given(self, d: int) -> Floats:
        start, wanted = np.array(self.init, dtype=np.float64), self.n_components
        refuse_non_finite(start)
        if start.shape[1] != d:
            raise ParameterError(
                f"The input dimensionality ({start.shape[1]}) of the given linear transformation `init` must match the dimensionality of the given inputs `X` ({d})."
            )
        if len(start) > d:
            raise ParameterError(
                f"The output dimensionality ({len(start)}) of the given linear transformation `init` cannot be greater than its input dimensionality ({d})."
            )
        if wanted is not None and wanted != len(start):
            raise ParameterError(
                f"The preferred dimensionality of the projected space `n_components` ({wanted}) does not match the output dimensionality of the given linear "
                f"transformation `init` ({len(start)})!"
            )
        return start

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        began = perf_counter()
        yield
        if self.verbose:
            print(f"{what}... done in {perf_counter() - began:5.2f}s")

    def transform(self, X: Any) -> Floats:
        """A x of each row, (n, n_components)."""
        if not hasattr(self, "n_features_in_"):
            raise not_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        rows = as_rows(X).fitted_to(None if names is None else tuple(names), None)
        check_features(self, rows)
        Z = np.ascontiguousarray(rows.in_memory().X, dtype=np.float64)
        if not len(Z):
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        refuse_non_finite(Z, 0, rows.names)
        return mapped_by(Z, self.components_.T)

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """`fit`, then `transform` of the same rows."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """ "neighborhoodcomponentsanalysis0", …; `input_features` must be the columns of the fit, where given."""
        return names_out(self, len(getattr(self, "components_", ())), input_features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = None
        return tags


def principal(Z: Floats, r: int) -> Floats:
    """The r directions of most variance, (r, d), the greatest entry of each positive."""
    centred = Z - Z.mean(axis=0)
    return signed(np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :r]).T


def discriminative(Z: Floats, codes: Array, r: int) -> Floats:
    """The r directions in which the means of the classes differ most, in units of the deviations within them, (r, d)."""
    classes, counts = np.unique(codes, return_counts=True)
    means = np.array([Z[codes == k].mean(axis=0) for k in classes])
    rest = Z - means[np.searchsorted(classes, codes)]
    values, vectors = np.linalg.eigh(rest.T @ rest / max(1, len(Z) - len(classes)))
    kept = values > FLAT * max(values[-1], 1e-300)
    white = vectors[:, kept] / np.sqrt(values[kept]) if kept.any() else np.eye(Z.shape[1])
    apart = (means - Z.mean(axis=0)) @ white
    leading = np.linalg.eigh((counts[:, None] * apart).T @ apart)[1][:, ::-1][:, :r]
    return signed(white @ leading).T
