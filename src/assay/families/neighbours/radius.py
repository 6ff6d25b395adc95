"""The class or the mean of all rows up to a distance (Fix and Hodges 1951; Parzen 1962: a window of fixed width)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.errors import DataError, DataTypeError, warn
from assay.estimator.classifier import Classifier
from assay.estimator.layout import Layout, Tensor
from assay.estimator.params import N_JOBS, Free, Range, attribute, param
from assay.estimator.regressor import Regressor
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Step, some_of
from assay.families.neighbours.claims import RADIUS_COVERAGE, radius_claims_of
from assay.families.neighbours.kept_rows import ALGORITHM, LEAF_SIZE, WEIGHTS, NeighboursBase
from assay.families.neighbours.metrics import METRIC, METRIC_PARAMS, P
from assay.families.neighbours.neighbourhood import Neighbourhood, asked, nearer_more
from assay.inputs.labels import Labels
from assay.inputs.refusals import refuse_absent, refuse_unlisted
from assay.numerics import Array, Floats, safe_log
from assay.statistics.targets import TargetSurvey


@dataclass(frozen=True)
class OutlierLabel(Free):
    """A label of any kind."""

    def accepts(self, value: Any) -> bool:
        return True


LISTED_AT_A_TIME = 1 << 23  # rows within the radius of some queries, at most
WIDTHS = (2.0, 1.0, 0.5, 0.25)  # of a search: shares of the distance that rows of columns of deviation 1 usually have

RADIUS = param("distance up to which rows answer", default=1.0, says="radius={}", kw_only=False, check=Range(low=0))  # fmt: skip


class Within(NamedTuple):
    """The rows that answer queries: those of query i at start[i] … start[i + 1] − 1, by (distance, number); what the vote of each counts."""

    start: Array
    rows: Array
    votes: Floats

    @property
    def query(self) -> Array:
        """The query of each row."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


class RadiusModel(NeighboursBase):
    """Answer from all rows up to a distance. Subclasses turn their targets into an answer."""

    coverage = RADIUS_COVERAGE
    step_word = "look"
    radius: float = attribute()
    weights: Any = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever narrower windows; where one is empty, the most frequent class."""
        if cls._kind != kind:
            return None
        usual = float(np.sqrt(2.0 * features.columns))
        more = {"outlier_label": "most_frequent"} if kind == "classifier" else {}
        search = tuple({"radius": round(share * usual, 4), **more} for share in WIDTHS)
        return SearchSpace(search=search, scaled=True, when_named=True, cost=8.0)

    def complexity(self) -> float:
        """n over the rows that usually answer, by the fit's own."""
        self._check_fitted()
        some = np.linspace(0, self._rows_of_fit() - 1, min(64, self._rows_of_fit())).astype(np.int64)
        found = self.radius_neighbors(self._rows_in_memory()[some], self.radius, return_distance=False)
        return self._rows_of_fit() / max(1.0, float(np.mean([len(one) for one in found])))

    def _settle(self, rows: Rows) -> None:
        self.neighbourhood()  # ready to be asked

    @property
    def kneighbors(self) -> NoReturn:  # type: ignore[override]
        """There is none."""
        raise AttributeError(
            f"{type(self).__name__} lists the neighbours within a radius: use radius_neighbors, or NearestNeighbors."
        )

    @property
    def kneighbors_graph(self) -> NoReturn:  # type: ignore[override]
        """There is none."""
        raise AttributeError(f"{type(self).__name__} has no k: use radius_neighbors_graph, or NearestNeighbors.")

    def _make_claims(self) -> tuple[Claim, ...]:
        return radius_claims_of(self)

    def _found(self, hood: Neighbourhood, Z: Floats, own: Array | None = None) -> Within:
        """Who answers mapped queries; `own` (m,): they are these rows of the fit, and each leaves one vote of its own out."""
        start, rows, r = hood.within(Z, np.full(len(Z), hood.reduced_radius(self.radius)))
        w = np.ones(len(rows)) if hood.weights is None else hood.weights[rows]
        if own is not None:
            w = np.where(rows == own[np.repeat(np.arange(len(Z)), np.diff(start))], np.maximum(w - 1.0, 0.0), w)
            kept = w > 0
            start = np.concatenate([[0], np.cumsum(kept)])[start]
            rows, r, w = rows[kept], r[kept], w[kept]
        if self.weights in (None, "uniform"):
            return Within(start, rows, w)
        distance, factor = hood.geometry.distances(r, hood.columns), np.empty(len(rows))
        for a, b in pairwise(start.tolist()):
            factor[a:b] = self._factor(distance[a:b])
        return Within(start, rows, w * factor)

    def _factor(self, distance: Floats) -> Floats:
        """What votes at these distances, the least first, count: in inverse proportion, relative to the nearest; or by a function of the user's."""
        if not len(distance):
            return distance
        if callable(self.weights):
            factor: Floats = asked(self.weights, distance[None])[0]
            return np.asarray(np.isinf(factor), dtype=np.float64) if np.isinf(factor).any() else factor
        return np.asarray(nearer_more(distance[None], np.ones((1, len(distance)), dtype=bool))[0])

    def _leave_one_out(self, hood: Neighbourhood, Z: Floats, own: Array | None) -> Floats:
        """The answers to mapped rows of the fit, each without one vote of its own (None: to any mapped rows): (m, K) votes of the classes, or
        (m, 1) numbers, NaN where no row is near enough."""
        few = max(1, LISTED_AT_A_TIME // max(1, hood.size))
        pieces = [slice(a, a + few) for a in range(0, max(1, len(Z)), few)]
        return np.concatenate(
            [self._answers_of(self._found(hood, Z[p], None if own is None else own[p])) for p in pieces]
        )

    def _answers_of(self, found: Within) -> Floats:
        raise NotImplementedError

    def steps(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, query: Any = None, every: int | None = None
    ) -> Iterator[Step]:
        """One query (by default the first row, left out): the rows looked at piece by piece, those near enough so far, and the answer."""
        from assay.families.neighbours.steps import steps_within

        return some_of(steps_within(self, X, y, sample_weight, query), every)


class RadiusNeighborsClassifier(RadiusModel, Classifier):
    """The class of most votes among all rows up to a distance. Shape: pairwise blocks.

        h(x) = argmax_c Σ_{d(x, x_i) ≤ radius} v_i [y_i = c],     v_i = w_i,  or w_i / d(x, x_i) with weights="distance"

    Of classes with equally many votes the lowest wins. A row of weight w has w votes. Metrics are those of `KNeighborsClassifier`, but for
    "learned". Where no row is near enough, `outlier_label` is the answer, with its probability of one where it is one of the classes; without
    one such queries are refused.

    Certificate
    -----------
    Of rows drawn from the fit, each left out, just these rows are within the radius, and give just these votes.

    See Also
    --------
    KNeighborsClassifier : the k nearest rows, however far.
    RadiusNeighborsRegressor : the same for a number.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [8.0], [9.0]], ["low"] * 3 + ["high"] * 2
    >>> model = RadiusNeighborsClassifier(radius=1.5, outlier_label="none").fit(X, y)
    >>> model.predict([[1.4], [8.2], [5.0]]).tolist()
    ['low', 'high', 'none']
    """

    title = "Neighbours within a radius"
    name = "radius-neighbors"
    least_classes = 1
    radius: float = RADIUS
    weights: Any = WEIGHTS
    algorithm: str = ALGORITHM
    leaf_size: int = LEAF_SIZE
    p: float = P
    metric: Any = METRIC
    outlier_label: Any = param("the answer where no row is near enough: a label, or 'most_frequent'; None: such queries are refused", default=None, check=OutlierLabel("a label", words=(None,)))  # fmt: skip
    metric_params: Any = METRIC_PARAMS
    n_jobs: int | None = N_JOBS
    layout: ClassVar[Layout] = {
        **NeighboursBase.layout,
        "codes_": Tensor(("n",), dtype="<i8", index="K", low=0, doc="the class of each row of the fit, as a place in `classes_`"),
    }  # fmt: skip
    codes_: Array = attribute()

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows, as if they had been there from the start.

        `classes` lists every class that can ever occur; the first call needs it, later calls may repeat it.
        """
        refuse_unlisted(self, classes)
        return self._fit(X, y, sample_weight, afresh=False, classes=classes)

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels:
        found = self._classes_of(engine, rows, afresh, classes)
        self._check_outlier_label()
        return found

    def _check_outlier_label(self) -> None:
        label = self.outlier_label
        if label is None or label == "most_frequent":
            return
        if np.ndim(label) != 0:
            raise DataTypeError(
                f"The outlier_label of classes {self.classes_[:10].tolist()} is supposed to be a scalar, got {label!r}."
            )
        if (np.asarray(label).dtype.kind in "OUST") != (self.classes_.dtype.kind in "OUST"):
            raise DataTypeError(
                f"The dtype of outlier_label {label!r} is inconsistent with classes {self.classes_[:10].tolist()} in y: give a label of their kind."
            )

    def _keep_target(self, survey: TargetSurvey) -> None:
        self.codes_ = survey.y
        refuse_absent(self.classes_, self._counts(survey.w), False)

    def _counts(self, w: Floats | None) -> Floats:
        return np.bincount(self.codes_, weights=w, minlength=len(self.classes_)).astype(np.float64)

    def _target(self) -> Array:
        return self.classes_[self.codes_]

    def _codes_or_numbers(self) -> Array:
        return self.codes_

    @property
    def outlier_label_(self) -> Any:
        """The answer where no row is near enough; None: there is none."""
        if isinstance(self.outlier_label, str) and self.outlier_label == "most_frequent":
            return self.classes_[self._counts(self.weights_).argmax()]
        return self.outlier_label

    def _answers_of(self, found: Within) -> Floats:
        m, K = len(found.start) - 1, len(self.classes_)
        place = found.query * K + self.codes_[found.rows]
        return np.bincount(place, weights=found.votes, minlength=m * K).reshape(m, K).astype(np.float64)

    def _votes_for(self, block: Block, own: Array | None) -> tuple[Floats, Array]:
        """Votes (m, K), and the queries that get none."""
        total = self._leave_one_out(self.neighbourhood(), self._queries(block), own)
        empty = np.flatnonzero(~(total > 0).any(axis=1))
        if len(empty) and self.outlier_label_ is None:
            raise DataError(
                f"No neighbors found for test samples {(empty[:10] + block.start).tolist()}, you can try using larger radius, giving a label for outliers (outlier_label, a class or "
                "a label of their own), or considering removing them from your dataset."
            )
        if len(empty) and not np.isin(self.outlier_label_, self.classes_):
            warn(
                f"Outlier label {self.outlier_label_} is not in training classes. All class probabilities of outliers will be assigned with 0.",
                UserWarning,
            )
        return total, empty

    def _predict_block(self, block: Block, own: Array | None = None) -> Array:
        total, empty = self._votes_for(block, own)
        labels: Array = self.classes_[total.argmax(axis=1)]
        if len(empty):
            labels = labels.astype(np.result_type(labels, np.asarray(self.outlier_label_)))
            labels[empty] = self.outlier_label_
        return labels

    def _proba_block(self, block: Block, own: Array | None = None) -> Array:
        total, empty = self._votes_for(block, own)
        votes = total.sum(axis=1, keepdims=True)
        shares: Array = np.divide(total, votes, out=np.zeros_like(total), where=votes > 0)
        if len(empty):
            shares[empty] = self.classes_ == self.outlier_label_
        return shares

    def _scored_block(self, block: Block) -> Array:
        shares = self._proba_block(block)
        return np.column_stack([shares.argmax(axis=1), safe_log(shares)])


class RadiusNeighborsRegressor(RadiusModel, Regressor):
    """The mean of the numbers of all rows up to a distance. Shape: pairwise blocks.

        h(x) = Σ_{d(x, x_i) ≤ radius} v_i y_i / Σ v_i,     v_i = w_i,  or w_i / d(x, x_i) with weights="distance"

    Metrics are those of `KNeighborsRegressor`. Where no row is near enough the answer is NaN, with a warning.

    Certificate
    -----------
    Of rows drawn from the fit, each left out, just these rows are within the radius, and give just these answers.

    See Also
    --------
    KNeighborsRegressor : the k nearest rows, however far.
    RadiusNeighborsClassifier : the same for classes.

    Examples
    --------
    >>> model = RadiusNeighborsRegressor(radius=1.2).fit([[0.0], [1.0], [5.0]], [0.0, 1.0, 9.0])
    >>> model.predict([[0.4], [4.0]])
    array([0.5, 9. ])
    """

    title = "Neighbours within a radius"
    name = "radius-neighbors-regressor"
    radius: float = RADIUS
    weights: Any = WEIGHTS
    algorithm: str = ALGORITHM
    leaf_size: int = LEAF_SIZE
    p: float = P
    metric: Any = METRIC
    metric_params: Any = METRIC_PARAMS
    n_jobs: int | None = N_JOBS
    layout: ClassVar[Layout] = {
        **NeighboursBase.layout,
        "y_": Tensor(("n",), doc="the targets of the rows of the fit"),
    }
    y_: Floats = attribute()

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows, as if they had been there from the start."""
        return self._fit(X, y, sample_weight, afresh=False)

    def _keep_target(self, survey: TargetSurvey) -> None:
        self.y_ = survey.y

    def _target(self) -> Array:
        return self.y_

    def _codes_or_numbers(self) -> Array:
        return self.y_

    def _leave_one_out(self, hood: Neighbourhood, Z: Floats, own: Array | None) -> Floats:
        found = self._found(hood, Z, own)
        votes, total = (
            np.bincount(found.query, weights=one, minlength=len(Z))
            for one in (found.votes, found.votes * self.y_[found.rows])
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(total / votes)[:, None]

    def _predict_block(self, block: Block, own: Array | None = None) -> Array:
        answers = self._leave_one_out(self.neighbourhood(), self._queries(block), own)[:, 0]
        if np.isnan(answers).any():
            warn("One or more samples have no neighbors within specified radius; predicting NaN.", UserWarning)
        return answers
