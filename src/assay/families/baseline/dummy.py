"""The constant hypothesis under the names by which scikit-learn knows it, with its strategies. Shape: one fold."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Block, Engine, Rows, targets_of
from assay.errors import DataError, ParameterError
from assay.estimator.layout import Layout, Tensor
from assay.estimator.params import N_JOBS, Choice, Free, Range, attribute, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.baseline.estimators import TOLERANCE, Baseline, BaselineRegressor, TargetMoments
from assay.inputs import as_regression_target
from assay.inputs.labels import plain_labels
from assay.numerics import Array, Floats

DRAWN = ("stratified", "uniform")


class DummyClassifier(Baseline):
    """The baseline under scikit-learn's name: a constant class, or classes drawn without a look at the row. Shape: one fold.

        h(x) = argmax_k N_k  ("prior", "most_frequent"),  a given class ("constant"), or drawn with p_k = N_k / N or 1/K

    Certificate
    -----------
    The shares of the classes are as stated: no constant answer is wrong on less of the weight of the rows than the most frequent class. What is
    answered, or drawn, has the probabilities of the strategy.

    See Also
    --------
    Baseline : the same without strategies.
    DummyRegressor : the same for a number.

    Examples
    --------
    >>> model = DummyClassifier(strategy="most_frequent").fit([[1], [2], [3]], ["ham", "spam", "ham"])
    >>> model.predict([[9]]).tolist(), model.predict_proba([[9]]).tolist()
    (['ham'], [[1.0, 0.0]])
    """

    title = "Baseline by a strategy"
    name = "dummy-classifier"
    strategy: str = param("what is answered: the most frequent class, with all shares as probabilities ('prior') or all of it; a class that is given; or one that is drawn", default="prior", check=Choice(("most_frequent", "prior", "stratified", "uniform", "constant")))  # fmt: skip
    random_state: int | None = param("seed of the draws of 'stratified' and 'uniform'; None: 0", default=None, check=Range(int, low=0, words=(None,)))  # fmt: skip
    constant: Any = param("the class that strategy='constant' answers", default=None, check=Free("one of the classes", words=(None,), check=lambda given: np.ndim(given) == 0))  # fmt: skip
    n_jobs: int | None = N_JOBS

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Where somebody names it: the baseline is there."""
        return SearchSpace(categories="native", when_named=True) if kind == "classifier" else None

    def _finish(self, state: Any) -> None:
        super()._finish(state)
        if self.strategy == "constant" and self.constant not in self.classes_.tolist():
            raise ParameterError(
                f"DummyClassifier: constant={self.constant!r} is none of the classes {self.classes_.tolist()}: give one of them."
            )

    def _shares(self) -> Floats:
        """p(k) of every answer."""
        K = len(self.classes_)
        if self.strategy == "uniform":
            return np.full(K, 1.0 / K)
        if self.strategy in ("prior", "stratified"):
            return self.class_prior_
        at = self.classes_.tolist().index(self.constant) if self.strategy == "constant" else self.class_prior_.argmax()
        return np.asarray(np.eye(K)[int(at)])

    def _make_claims(self) -> tuple[Claim, ...]:
        what = "drawn with" if self.strategy in DRAWN else "given with"
        return (
            *super()._make_claims(),
            Claim(
                name="answer",
                statement=f"strategy={self.strategy!r}: answers are {what} these probabilities of the classes, whatever the row",
                holds=True,
                check="constant_probabilities",
                witness={
                    "classes": plain_labels(self.classes_),
                    "strategy": self.strategy,
                    "constant": None if self.constant is None else np.asarray(self.constant).item(),
                    "probabilities": self._shares(),
                    "tolerance": TOLERANCE,
                },
            ),
        )

    def _proba_block(self, block: Block) -> Array:
        if self.strategy == "stratified":  # the class that is drawn is sure, as in scikit-learn
            return np.eye(len(self.classes_))[self._drawn(block)]
        return np.tile(self._shares(), (len(block.X), 1))

    def _log_proba_block(self, block: Block) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._proba_block(block)))

    def _predict_block(self, block: Block) -> Array:
        if self.strategy in DRAWN:
            return np.asarray(self.classes_[self._drawn(block)])
        return np.repeat(self.classes_[[int(self._shares().argmax())]], len(block.X))

    def _drawn(self, block: Block) -> Array:
        rng = np.random.default_rng([self.random_state or 0, block.start])
        shares = self._shares()
        return np.asarray(rng.choice(len(shares), len(block.X), p=shares / shares.sum()))


class DummyRegressor(BaselineRegressor):
    """The baseline of numbers under scikit-learn's name: the mean, the median, a quantile or a number that is given. Shape: one fold.

        h(x) = c,    c = ȳ,  or the least c with  Σ_{y_i ≤ c} w_i ≥ q·Σ w_i,  or as given

    Certificate
    -----------
    The number is the mean or the quantile of the target; no other constant has a smaller mean square error than the mean.

    See Also
    --------
    BaselineRegressor : the mean alone.
    DummyClassifier : the same for classes.

    Examples
    --------
    >>> DummyRegressor(strategy="median").fit([[1], [2], [3]], [1.0, 2.0, 6.0]).predict([[9]])
    array([2.])
    """

    title = "Baseline by a strategy"
    name = "dummy-regressor"
    coverage = Coverage(
        proof={"constant_number": "mean_ sigma2_", "constant_answer": "constant_"},
        nothing="state.n state.mean state.m2",
    )
    layout: ClassVar[Layout] = {
        **BaselineRegressor.layout,
        "constant_": Tensor((1, 1), doc="the answer for every row"),
    }
    strategy: str = param("what is answered: the mean of the target, its median, a quantile, or a number that is given", default="mean", check=Choice(("mean", "median", "quantile", "constant")))  # fmt: skip
    constant: Any = param("the number that strategy='constant' answers", default=None, check=Range(words=(None,)))
    quantile: float | None = param("the share of the weight at or below the answer of strategy='quantile'", default=None, check=Range(low=0, high=1, words=(None,)))  # fmt: skip
    n_jobs: int | None = N_JOBS

    constant_: Floats = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Where somebody names it: the baseline is there."""
        return SearchSpace(categories="native", when_named=True) if kind == "regressor" else None

    def _finish(self, state: TargetMoments) -> None:
        super()._finish(state)
        if self.strategy in ("median", "quantile"):
            raise DataError(f"DummyRegressor: strategy={self.strategy!r} needs all rows at once: use fit.")
        self.constant_ = np.array([[self._given() if self.strategy == "constant" else float(self.mean_[0])]])

    def _finish_on(self, state: TargetMoments, engine: Engine, rows: Rows | None) -> None:
        q = self._share()
        if q is None or rows is None:
            self._finish(state)
            return
        super()._finish(state)
        target, weights = targets_of(rows)
        y = as_regression_target(target)
        w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
        order = np.argsort(y, kind="stable")
        order = order[w[order] > 0]
        total = np.cumsum(w[order])
        at = min(int(np.searchsorted(total, q * total[-1] * (1.0 - 1e-12))), len(order) - 1)
        middle = float(y[order[at]])
        if at + 1 < len(order) and total[at] <= q * total[-1] * (
            1.0 + 1e-12
        ):  # between two: their mean, as people take it
            middle = 0.5 * (middle + float(y[order[at + 1]]))
        self.constant_ = np.array([[middle]])

    def _share(self) -> float | None:
        if self.strategy == "quantile" and self.quantile is None:
            raise ParameterError("DummyRegressor: strategy='quantile' needs quantile=, a number in [0, 1].")
        return {"median": 0.5, "quantile": self.quantile}.get(self.strategy)

    def _given(self) -> float:
        if self.constant is None:
            raise ParameterError("DummyRegressor: strategy='constant' needs constant=, a number.")
        return float(self.constant)

    def _make_claims(self) -> tuple[Claim, ...]:
        answer, share = float(self.constant_[0, 0]), self._share()
        what = (
            "given" if self.strategy == "constant" else "the mean of" if share is None else f"the quantile {share:g} of"
        )
        return (
            *super()._make_claims(),
            Claim(
                name="answer",
                statement=f"every answer, {answer:.6g}, is {what} the target",
                holds=bool(self.strategy != "constant" or answer == self._given()),
                check="constant_answer",
                value=answer,
                bound=TOLERANCE,
                witness={"answer": answer, "strategy": self.strategy, "share": share, "tolerance": TOLERANCE},
            ),
        )

    def _values(self, X: Array) -> Floats:
        return np.repeat(self.constant_[0], len(X))
