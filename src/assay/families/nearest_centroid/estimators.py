"""The class whose centroid is nearest (Rocchio 1971), drawn towards the common one where asked (Tibshirani and others 2002). Shape: one fold."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Block, Engine, Rows, fingerprint
from assay.engines.derived import FilledRows
from assay.errors import DataError, ModelFileError, ParameterError, warn
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Layout, Tensor
from assay.estimator.one_fold import OneFold
from assay.estimator.params import N_JOBS, AvailableIf, Choice, Free, Range, attribute, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.inputs import refuse_non_finite, refuse_overflow
from assay.inputs.labels import Labels, plain_labels
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats, safe_log
from assay.statistics.scatter import ClassMoments, absorb_moments, merge_moments
from assay.store import Record

TOLERANCE = 1e-8
NO_SPREAD = (
    "All features have zero variance. Division by zero. (Every row has the same values: no column tells classes apart.)"
)
NO_MEDIANS = (
    "metric='manhattan' takes medians, which need all rows at once: fit them together, or use metric='euclidean'."
)


class CentroidStatistics(NamedTuple):
    """class_count (K,): the weight of each class; mean and m2 = Σ w (x − mean)² of its columns, (K, d) each; the rows' fingerprint."""

    class_count: Floats
    mean: Floats
    m2: Floats
    mark: bytes = b""

    @property
    def moments(self) -> ClassMoments:
        return ClassMoments(np.repeat(self.class_count[:, None], self.mean.shape[1], axis=1), self.mean, self.m2)


def _absorb(labels: Labels, names: Any, block: Block) -> CentroidStatistics:
    assert block.y is not None
    codes = labels.encode(block.y)
    X = np.ascontiguousarray(block.X)
    moments, weight, hashes = absorb_moments(X, codes, block.w, len(labels.classes))
    if not (np.isfinite(moments.m2).all() and np.isfinite(moments.mean).all()):
        refuse_non_finite(X, block.start, names)
        refuse_heavy(block.w)
        refuse_overflow(X, block.start, names)
    return CentroidStatistics(weight, moments.mean, moments.m2, fingerprint.leaf(hashes, X, codes, block.w))


def _merge(a: CentroidStatistics, b: CentroidStatistics) -> CentroidStatistics:
    with np.errstate(over="ignore", invalid="ignore"):
        both = merge_moments(a.moments, b.moments)
        return CentroidStatistics(a.class_count + b.class_count, both.mean, both.m2, fingerprint.join(a.mark, b.mark))


def _are_shares(value: Any) -> bool:
    return np.ndim(value) == 1 and len(value) > 0 and all(isinstance(v, int | float | np.number) for v in value)


def of_euclidean(method: Callable[..., Any]) -> Any:
    """A method that there is under metric="euclidean" alone."""
    return AvailableIf(method, lambda model: model.metric == "euclidean", lambda model: model._why_no_probabilities())


class NearestCentroid(OneFold, Classifier):
    """The class whose centroid is nearest. Shape: one fold.

        h(x) = argmin_k d(x, c_k),     c_k = the mean of the rows of class k (metric="euclidean"), or the median of each column ("manhattan")

    With `shrink_threshold` Δ each centroid is drawn towards the mean m of all rows: c_k = m + m_k (s + s₀) · sign(d_k) max(|d_k| − Δ, 0),
    d_k = (c_k − m) / (m_k (s + s₀)), where s is the deviation of a column within classes, s₀ their median, m_k = √(1/n_k − 1/n). Unless the
    classes are taken for equally likely (`priors`), h(x) = argmax_k 2 log π_k − d(x/s, c_k/s)², which are the scores of
    `decision_function`, and whose softmax are the probabilities.

    Certificate
    -----------
    Centroids, deviations, spread and priors are those of the rows, formed again from their definition.

    See Also
    --------
    KNeighborsClassifier : the class of the nearest rows.
    LinearDiscriminantAnalysis : distances by the covariance of the rows.

    Examples
    --------
    >>> X = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> model = NearestCentroid().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> model.predict([[-0.8, -1]]).tolist(), model.centroids_[1].round(3).tolist()
    (['a'], [2.0, 1.333])
    """

    title = "Nearest centroid"
    name = "nearest-centroid"
    metric: str = param("the distance: means are centroids of 'euclidean', medians of 'manhattan'", default="euclidean", kw_only=False, check=Choice(("euclidean", "manhattan")))  # fmt: skip
    shrink_threshold: float | None = param("by how many deviations centroids are drawn to the mean of all rows; None: not at all", default=None, says="drawn by {}", check=Range(low=0, open_low=True, words=(None,)))  # fmt: skip
    priors: Any = param("probabilities of the classes: 'uniform', 'empirical' (their shares of the rows), or numbers", default="uniform", check=Free("an array of probabilities", words=("uniform", "empirical"), check=_are_shares))  # fmt: skip
    n_jobs: int | None = N_JOBS

    takes_sparse = fills_sparse = True
    scores_are_log_joint = True
    statistics = CentroidStatistics
    coverage = Coverage(
        proof={"nearest_centroid": "centroids_ deviations_ within_class_std_dev_ class_prior_"},
        nothing="state.class_count state.mean state.m2",
    )
    layout: ClassVar[Layout] = {
        "centroids_": Tensor(("K", "d"), doc="the centroid of each class"),
        "deviations_": Tensor(("K", "d"), doc="how many deviations d_k each centroid is from the mean of all rows, after shrinkage"),
        "within_class_std_dev_": Tensor(("d",), low=0, doc="the deviation s of each column about the centroids of the classes"),
        "class_prior_": Tensor(("K",), low=0, high=1, doc="the probability of each class"),
        "state.class_count": Tensor(("K",), low=0),
        "state.mean": Tensor(("K", "d")),
        "state.m2": Tensor(("K", "d"), low=0),
    }  # fmt: skip
    _merge = staticmethod(_merge)

    centroids_: Floats = attribute()
    deviations_: Floats = attribute()
    within_class_std_dev_: Floats = attribute()
    class_prior_: Floats = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Centroids ever less drawn together."""
        if kind != "classifier":
            return None
        search = tuple({"shrink_threshold": drawn} for drawn in (2.0, 1.0, 0.5, None))
        return SearchSpace(search=search, scaled=True, when_named=True)

    def complexity(self) -> float:
        """The numbers by which centroids differ from the mean of all rows."""
        self._check_fitted()
        return float(max(len(self.classes_) - 1, int(np.count_nonzero(self.deviations_))))

    # --- learning ---------------------------------------------------------------------------------------------------

    partial_fit = AvailableIf(OneFold.partial_fit, lambda model: model.metric == "euclidean", lambda model: NO_MEDIANS)

    def _absorber(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Callable[[Block], Any]:
        return partial(_absorb, self._classes_of(engine, rows, afresh, classes), rows.names)

    def _folded_by(self) -> Any:
        return ()

    def _finish(self, state: CentroidStatistics) -> None:
        if self.metric == "manhattan":
            raise DataError(NO_MEDIANS)
        self._finish_about(state, state.mean)

    def _finish_on(self, state: CentroidStatistics, engine: Engine, rows: Rows | None) -> None:
        if self.metric == "euclidean":
            self._finish(state)
        else:
            assert rows is not None  # there is no partial_fit
            self._finish_about(state, self._medians(state, rows))

    def _medians(self, state: CentroidStatistics, rows: Rows) -> Floats:
        kept = rows.whole(type(self).__name__) if isinstance(rows, FilledRows) else rows.in_memory()
        codes, centres = Labels.of(self.classes_).encode(kept.y), state.mean.copy()
        for k in np.flatnonzero(state.class_count > 0):
            mine = codes == k
            X, w = (
                np.asarray(kept.X[mine], dtype=np.float64),
                np.ones(int(mine.sum())) if kept.w is None else kept.w[mine],
            )
            for j in range(X.shape[1]):
                centres[k, j] = median(X[:, j], w)
        return centres

    def _finish_about(self, state: CentroidStatistics, centres: Floats) -> None:
        """Everything else, from the statistics and the centroids before they are drawn together."""
        n, K = state.class_count, len(state.class_count)
        there, total = n > 0, float(n.sum())
        if (np.ptp(state.mean[there], axis=0) == 0).all() and not state.m2.any():
            raise DataError(NO_SPREAD)
        self.class_prior_ = self._priors(n)
        squares = (state.m2 + n[:, None] * (state.mean - centres) ** 2)[there].sum(axis=0)
        self.within_class_std_dev_ = np.sqrt(squares / (total - K)) if total > K else np.zeros(len(squares))
        if (self.within_class_std_dev_ == 0).any():
            warn(
                "self.within_class_std_dev_ has at least 1 zero standard deviation. Inputs within the same classes for at least 1 feature are identical.",
                UserWarning,
            )
        middle = (n / total) @ np.where(there[:, None], state.mean, 0.0)
        spread = self.within_class_std_dev_ + np.median(self.within_class_std_dev_)
        unit = np.sqrt(np.maximum(np.divide(1.0, n, out=np.zeros(K), where=there) - 1.0 / total, 0.0))[:, None] * spread
        away = np.where(there[:, None], centres - middle, 0.0)
        self.deviations_ = np.divide(away, unit, out=np.zeros_like(away), where=unit > 0)
        self.centroids_ = np.where(there[:, None], centres, middle)
        if self.shrink_threshold is not None:
            left = np.maximum(np.abs(self.deviations_) - self.shrink_threshold, 0.0)
            self.deviations_ = np.sign(self.deviations_) * left
            self.centroids_ = middle + unit * self.deviations_

    def _priors(self, n: Floats) -> Floats:
        if isinstance(self.priors, str):
            shares = n if self.priors == "empirical" else (n > 0).astype(np.float64)
            return np.asarray(shares / shares.sum())
        given = np.asarray(self.priors, dtype=np.float64)
        if given.shape != n.shape:
            raise ParameterError(
                f"priors holds {given.size} numbers, and there are {len(n)} classes: give one for each."
            )
        if not (given >= 0).all() or not 0 < given.sum() < np.inf:
            raise ParameterError(f"priors must be non-negative, with a sum above zero; they are {given.tolist()}.")
        if not np.isclose(given.sum(), 1.0):
            warn("The priors do not sum to 1. Normalizing such that it sums to one.", UserWarning)
            given = given / given.sum()
        return given

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        if not abs(self.class_prior_.sum() - 1.0) < 1e-4:
            raise ModelFileError("The model file's probabilities of the classes do not add up to one.")

    def _make_claims(self) -> tuple[Claim, ...]:
        drawn = self.shrink_threshold
        kind = "means" if self.metric == "euclidean" else "medians of the columns"
        return (
            Claim(
                name="centroids",
                statement=f"the centroids are the {kind} of the rows of each class"
                + ("" if drawn is None else f", drawn towards the mean of all rows by {drawn:g} deviations")
                + "; deviations within classes, and the probabilities of the classes, are those of the rows",
                holds=True,
                check="nearest_centroid",
                value=float(self._state.class_count.sum()),
                bound=TOLERANCE,
                witness={
                    "classes": plain_labels(self.classes_),
                    "metric": self.metric,
                    "drawn": 0.0 if drawn is None else float(drawn),
                    "centroids": self.centroids_,
                    "deviations": self.deviations_,
                    "spread": self.within_class_std_dev_,
                    "priors": self.class_prior_,
                    "priors_are": self.priors if isinstance(self.priors, str) else "given",
                    "tolerance": TOLERANCE,
                },
            ),
        )

    # --- answering --------------------------------------------------------------------------------------------------

    def _scores(self, X: Array) -> Floats:
        """2 log π_k − d(x/s, c_k/s)², columns that do not vary within classes as they are."""
        s = np.where(self.within_class_std_dev_ > 0, self.within_class_std_dev_, 1.0)
        far = self._far(np.asarray(X, dtype=np.float64) / s, self.centroids_ / s)
        return np.asarray(2.0 * safe_log(self.class_prior_) - (far if self.metric == "euclidean" else far**2))

    def _far(self, X: Floats, C: Floats) -> Floats:
        """Squares of Euclidean distances, or Manhattan distances, added up in the order of the columns."""
        total = np.zeros((len(X), len(C)))
        for j in range(X.shape[1]):
            t = X[:, j, None] - C[:, j]
            total += t * t if self.metric == "euclidean" else np.abs(t)
        return total

    def _predict_block(self, block: Block) -> Array:
        if not np.isclose(self.class_prior_, 1.0 / len(self.classes_)).all():
            return super()._predict_block(block)
        with np.errstate(over="ignore", invalid="ignore"):
            far = self._far(np.asarray(block.X, dtype=np.float64), self.centroids_)
        if not np.isfinite(far).all():
            refuse_non_finite(block.X, block.start, self._column_names())
            refuse_overflow(block.X, block.start, self._column_names())
        labels: Array = self.classes_[far.argmin(axis=1)]
        return labels

    def _why_no_probabilities(self) -> str | None:
        return (
            None
            if self.metric == "euclidean"
            else "distances by metric='manhattan' are no log-densities of a normal class"
        )

    def _decision_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        return Z[:, 1] - Z[:, 0] if Z.shape[1] == 2 else Z

    @of_euclidean
    def decision_function(self, X: Any) -> Array:
        """Two classes: the score of `classes_[1]` less that of the other (n,). More: a score for each class (n, K)."""
        return self._answer(X, self._decision_block)


def median(x: Floats, w: Floats) -> float:
    """The median of weighted numbers; where half of the weight is on either side, halfway between.

    >>> median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0])), median(np.array([1.0, 2.0]), np.ones(2))
    (2.0, 1.5)
    """
    order = np.argsort(x, kind="stable")
    order = order[w[order] > 0]
    x, below = x[order], np.cumsum(w[order])
    half = 0.5 * below[-1]
    at = int(np.searchsorted(below, half))
    return float(0.5 * x[at] + 0.5 * x[at + 1]) if below[at] == half else float(x[at])
