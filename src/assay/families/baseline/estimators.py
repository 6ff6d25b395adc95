"""The constant hypothesis: what a model must beat before its columns are worth anything. Shape: one fold.

    classes:  h(x) = argmax_k N_k,   p(k | x) = N_k / N        the least zero-one risk (and log loss) of all constants
    a number: h(x) = 1/N Σ w_i y_i                             the least mean square of all constants

Both read the target alone; the columns may hold anything but infinities.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Block, Engine, Rows, fingerprint
from assay.errors import DataError, ModelFileError
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.one_fold import OneFold
from assay.estimator.params import N_JOBS, attribute
from assay.estimator.regressor import Regressor
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.inputs import as_regression_target, refuse_non_finite
from assay.inputs.labels import Labels, plain_labels
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats, safe_log
from assay.statistics.scatter import ClassMoments, absorb_moments, merge_moments
from assay.store import Record

TOLERANCE = 1e-8
SHARES_OFF = 1e-6


class ClassCounts(NamedTuple):
    """class_count (K,): the weight of the rows of each class; the rows' fingerprint."""

    class_count: Floats
    mark: bytes = b""


class TargetMoments(NamedTuple):
    """n, mean and m2 = Σ w (y − mean)² of the target, (1, 1) each; the rows' fingerprint."""

    n: Floats
    mean: Floats
    m2: Floats
    mark: bytes = b""


def _absorb_classes(labels: Labels, names: Any, block: Block) -> ClassCounts:
    assert block.y is not None
    refuse_non_finite(block.X, block.start, names, nan=False)
    codes = labels.encode(block.y)
    counts = np.bincount(codes, weights=block.w, minlength=len(labels.classes)).astype(np.float64)
    return ClassCounts(counts, fingerprint.leaf_of(block.X, codes, block.w))


def _merge_classes(a: ClassCounts, b: ClassCounts) -> ClassCounts:
    with np.errstate(over="ignore"):
        return ClassCounts(a.class_count + b.class_count, fingerprint.join(a.mark, b.mark))


def _absorb_number(names: Any, block: Block) -> TargetMoments:
    assert block.y is not None
    refuse_non_finite(block.X, block.start, names, nan=False)
    y = as_regression_target(block.y, block.start)
    moments = absorb_moments(y[:, None], np.zeros(len(y), dtype=np.int64), block.w, 1)[0]
    return TargetMoments(*moments, fingerprint.leaf_of(block.X, y, block.w))


def _merge_numbers(a: TargetMoments, b: TargetMoments) -> TargetMoments:
    with np.errstate(over="ignore", invalid="ignore"):
        moments = merge_moments(ClassMoments(*a[:3]), ClassMoments(*b[:3]))
    return TargetMoments(*moments, fingerprint.join(a.mark, b.mark))


class _Constant(OneFold):
    """What both share: no hyper-parameters, any columns, and no promise to scikit-learn of a good score."""

    takes_missing = True
    takes_sparse = True
    takes_categories = True
    n_jobs: int | None = N_JOBS

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Always, as it stands."""
        return SearchSpace(categories="native") if cls._kind == kind else None

    def _folded_by(self) -> Any:
        return ()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        (tags.classifier_tags or tags.regressor_tags).poor_score = True
        return tags


class Baseline(_Constant, Classifier):
    """Always the most frequent class, with the classes' shares as probabilities. Shape: one fold.

        h(x) = argmax_k N_k,     p(k | x) = N_k / N        (of classes equally frequent the first)

    Certificate
    -----------
    No other constant answer is wrong on less of the weight of the rows.

    See Also
    --------
    BaselineRegressor : the same for a number.

    Examples
    --------
    >>> model = Baseline().fit([[1], [2], [3]], ["ham", "spam", "ham"])
    >>> model.predict([[9]]).tolist(), model.predict_proba([[9]]).round(3).tolist()
    (['ham'], [[0.667, 0.333]])
    """

    title = "Baseline"
    name = "baseline"
    scores_are_log_joint = True
    is_calibrated = True
    statistics = ClassCounts
    coverage = Coverage(proof={"constant_class": "class_prior_"}, nothing="state.class_count")
    layout: ClassVar[Layout] = {
        "class_prior_": Tensor(("K",), low=0, high=1, doc="the share of each class, which is the answer's probability for every row"),
        "state.class_count": Tensor(("K",), low=0),
    }  # fmt: skip
    _merge = staticmethod(_merge_classes)

    class_prior_: Floats = attribute()

    def _absorber(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Callable[[Block], Any]:
        return partial(_absorb_classes, self._classes_of(engine, rows, afresh, classes), rows.names)

    def _finish(self, state: ClassCounts) -> None:
        with np.errstate(over="ignore"):
            total = state.class_count.sum()
        if not np.isfinite(total):
            refuse_heavy(total)
        self.class_prior_ = state.class_count / total

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        if not abs(self.class_prior_.sum() - 1.0) <= SHARES_OFF:
            raise ModelFileError(
                f"The model file's shares of the classes add up to {self.class_prior_.sum():.6g}, which must be 1."
            )

    def _make_claims(self) -> tuple[Claim, ...]:
        answer = plain_labels(self.classes_)[int(self.class_prior_.argmax())]
        error = 1.0 - float(self.class_prior_.max())
        return (
            Claim(
                name="best constant",
                statement=f"always answering {answer!r} is wrong on a share of {error:.6g} of the rows (weighted), and no other "
                "constant is wrong on less; the classes' shares are the constant probabilities of least log loss",
                holds=bool(np.isfinite(self.class_prior_).all()),
                check="constant_class",
                value=error,
                bound=TOLERANCE,
                witness={
                    "classes": plain_labels(self.classes_),
                    "answer": answer,
                    "shares": self.class_prior_,
                    "tolerance": TOLERANCE,
                },
            ),
        )

    def _scores(self, X: Array) -> Floats:
        return np.tile(safe_log(self.class_prior_), (len(X), 1))

    def complexity(self) -> float:
        """K − 1: the shares add up to one."""
        self._check_fitted()
        return float(len(self.classes_) - 1)


class BaselineRegressor(_Constant, Regressor):
    """Always the mean of the target. Shape: one fold.

        h(x) = ȳ = 1/N Σ w_i y_i

    Certificate
    -----------
    No other constant answer has a smaller mean square error on the rows.

    See Also
    --------
    Baseline : the same for classes.

    Examples
    --------
    >>> BaselineRegressor().fit([[1], [2], [3]], [1.0, 2.0, 6.0]).predict([[9]])
    array([3.])
    """

    title = "Baseline"
    name = "baseline-regressor"
    statistics = TargetMoments
    coverage = Coverage(proof={"constant_number": "mean_ sigma2_"}, nothing="state.n state.mean state.m2")
    layout: ClassVar[Layout] = {
        "mean_": Tensor((1,), doc="the mean of the target, the answer for every row"),
        "sigma2_": Fact(float, low=0, doc="the mean square error of that answer"),
        "state.n": Tensor((1, 1), low=0),
        "state.mean": Tensor((1, 1)),
        "state.m2": Tensor((1, 1), low=0),
    }
    _merge = staticmethod(_merge_numbers)

    mean_: Floats = attribute()
    sigma2_: float = attribute()

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # type: ignore[override]  # no classes
        """Absorb more rows, as if they had been there from the start."""
        return self._fit(X, y, sample_weight, afresh=False)

    def _absorber(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Callable[[Block], Any]:
        return partial(_absorb_number, rows.names)

    def _check_statistics(self, state: TargetMoments, whole: bool) -> None:
        refuse_heavy(state.n)
        if not state.n[0, 0] > 0:
            raise DataError("All sample weights are zero: give some rows a positive weight.")
        if not (np.isfinite(state.m2).all() and np.isfinite(state.mean).all()):
            raise DataError("y holds values so large that their squares overflow float64. Rescale it.")

    def _finish(self, state: TargetMoments) -> None:
        self.mean_ = state.mean[0].copy()
        self.sigma2_ = float(state.m2[0, 0] / state.n[0, 0])

    def _make_claims(self) -> tuple[Claim, ...]:
        return (
            Claim(
                name="best constant",
                statement=f"always answering the mean, {self.mean_[0]:.6g}, has a mean square error of {self.sigma2_:.6g}, and no other "
                "constant has less",
                holds=bool(np.isfinite(self.mean_).all()),
                check="constant_number",
                value=self.sigma2_,
                bound=TOLERANCE,
                witness={"mean": self.mean_, "tolerance": TOLERANCE},
            ),
        )

    def _values(self, X: Array) -> Floats:
        return np.repeat(self.mean_, len(X))

    def complexity(self) -> float:
        """One: the mean."""
        self._check_fitted()
        return 1.0
