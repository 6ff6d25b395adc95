"""What all models of nearest neighbours share: the rows they keep, the metric, the number of neighbours, and who is near.

A fit keeps rows that are in memory, and of rows that are read as a stream or lie on a cluster only where they are: those answer part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from assay.certify import Claim
from assay.engines import ArrayRows, Block, Engine, Rows, engine_for, fold
from assay.engines.derived import row_keys
from assay.engines.engine import Threads, one_thread_blas
from assay.engines.rows import cut
from assay.errors import ParameterError
from assay.estimator.estimator import Estimator
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import Choice, ChoiceOrFunction, Range, attribute, check_params, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Step, some_of
from assay.families.neighbours.claims import COVERAGE, claims_of
from assay.families.neighbours.leave_one_out import LeaveOneOutCurve, most_neighbours
from assay.families.neighbours.metrics import (  # fmt: skip
    NORMS,
    POWERS,
    Geometry,
    check_metric,
    fitted_geometry,
    own_metric,
    plain_geometry,
    power_of,
)
from assay.families.neighbours.named_metrics import NamedMetric
from assay.families.neighbours.neighbourhood import Neighbourhood, neighbourhood_in_memory, neighbourhood_in_parts
from assay.families.neighbours.refusals import check_mode, check_parts, check_rows, refuse_functions, whole_number
from assay.inputs import refuse_non_finite, refuse_overflow
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats
from assay.statistics.targets import TargetSurvey, merge_surveys, some, survey_block, survey_missing
from assay.store import Record

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


AT_A_TIME = 1 << 14  # queries whose lists are held at a time
PAIRS = 3e11  # rows · rows · (columns + 16) up to which a comparison tries brute force: a minute or so
MANY_ROWS = 20_000  # from which some of them tell the number of neighbours as well as all
FEW_COLUMNS = 6  # in so few columns a tree finds neighbours among any number of rows

ALGORITHM = param("how neighbours are found; all find the same, 'auto' measures which is faster", default="auto", check=Choice(("auto", "kd_tree", "ball_tree", "brute")))  # fmt: skip
LEAF_SIZE = param("accepted for scikit-learn's sake: leaves hold 16 rows at most", default=30, check=Range(int, low=1))
WEIGHTS = param("every neighbour counts alike (None: too), or in inverse proportion to its distance, or as a function of the distances says", default="uniform", says={"distance": "weighted"}, check=ChoiceOrFunction(("uniform", "distance"), "a function of an array of distances (m, k) that gives the weight of each", words=(None,)))  # fmt: skip
RULE = param("of n_neighbors='auto': the least leave-one-out error, or the most neighbours within one standard error of it", default="best", check=Choice(("best", "one-se")))  # fmt: skip
VALIDATION_ROWS = param("of n_neighbors='auto': rows that are left out in turn, drawn evenly; None: all", default=None, check=Range(int, low=2, words=(None,)))  # fmt: skip
GEOMETRY_LAYOUT: Layout = {
    "rows_": Tensor(("n", "d"), finite=False, doc="the rows of the fit, among which neighbours are found"),
    "weights_": Tensor(("n",), low=0, optional=True, doc="the votes of each row; None where all are 1"),
    "map_": Tensor(("d", "r"), optional=True, doc="the matrix L of a metric ‖Lᵀ(x − z)‖, such as a Mahalanobis or learned one; None for other metrics"),
    "centre_": Tensor(("d",), optional=True, doc="the point that is taken from rows before `map_`; None where there is none"),
    "scale_": Fact(float, low=0, doc="a power of two that columns are taken times, so that no distance overflows"),
}  # fmt: skip


class NeighboursModel(Estimator):
    """Keep the rows, answer from the nearest. Subclasses turn the neighbours' targets into an answer."""

    takes_sparse = fills_sparse = fills_whole = True
    coverage = COVERAGE
    layout: ClassVar[Layout] = {
        **GEOMETRY_LAYOUT,
        "n_neighbors_": Fact(int, low=1, doc="the neighbours that answer: n_neighbors, or what 'auto' chose"),
        "leave_one_out_": Tensor(("T",), low=0, optional=True, doc="of n_neighbors='auto': the leave-one-out error of 1, 2, … neighbours; else None"),
    }  # fmt: skip

    n_neighbors: int | str = attribute()
    weights: Any = attribute()
    algorithm: str = attribute()
    leaf_size: int = attribute()
    metric: Any = attribute()
    p: float = attribute()
    metric_params: Any = attribute()
    rule: str = attribute()
    validation_rows: int | None = attribute()

    rows_: Floats = attribute()
    weights_: Floats | None = attribute()
    map_: Floats | None = attribute()
    centre_: Floats | None = attribute()
    scale_: float = attribute()
    n_neighbors_: int = attribute()
    leave_one_out_: Floats | None = attribute()

    _remote_rows: Rows | None = attribute(default=None)  # the rows of the fit where they are not in memory
    _hood: Neighbourhood | None = attribute(default=None)
    _vote_kinds: tuple[bool, ...] = attribute(default=())  # the ways of counting whose curves are found together
    _curves_found: Mapping[bool, LeaveOneOutCurve] = attribute(default=MappingProxyType({}))
    step_word = "look"

    # --- taking part in a comparison --------------------------------------------------------------------------------

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """The number of neighbours by leave-one-out; all alike, or the nearer the more."""
        if cls._kind != kind:
            return None
        unfit = None
        if features.columns > FEW_COLUMNS and features.rows**2 * (features.columns + 16) > PAIRS:
            unfit = "so many rows would be compared with each other for too long"
        left_out = {} if features.rows < MANY_ROWS else {"validation_rows": 5000}
        search = tuple({"n_neighbors": "auto", "weights": weights, **left_out} for weights in ("uniform", "distance"))
        rough = {} if left_out else {"validation_rows": 2000}
        return SearchSpace(search=search, scaled=True, unfit=unfit, rough=rough, cost=8.0)

    def complexity(self) -> float:
        """n/k: the regions of about k rows each that have an answer of their own."""
        self._check_fitted()
        return max(float(len(getattr(self, "classes_", (0, 0))) - 1), self.neighbourhood().total / self.n_neighbors_)

    @property
    def effective_metric_(self) -> Any:
        """The metric that was used: its name, or a function of yours."""
        return self.metric

    @property
    def n_samples_fit_(self) -> int:
        """The number of rows of the fit."""
        return self._rows_of_fit()

    # --- learning ---------------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        check_metric(self, rows.n_columns)
        labels = self._labels(engine, rows, afresh, classes)
        if not afresh and self._holds_rows():
            rows = self._with_more(rows)
            engine = engine_for(rows, self.n_jobs)
        absorb = survey_missing if self.metric == "nan_euclidean" else survey_block
        survey = some(fold(engine, rows.blocks(), partial(absorb, labels, rows.names), merge_surveys))
        self._keep_rows(rows, survey)
        self._keep_target(survey)
        self._keep_geometry(self._geometry_for(engine, rows, survey))
        self._provenance = {"fingerprint": survey.mark.hex()}
        hood = self.neighbourhood()
        if self.n_neighbors == "auto":
            self._choose(hood, rows)
        else:
            self.n_neighbors_, self.leave_one_out_ = int(self.n_neighbors), None
        if afresh and classes is None:  # else more rows may come
            self._check_enough()
        self._claims_made = None

    def _check_enough(self) -> None:
        """Raise where the rows of the fit cannot answer."""
        self.neighbourhood().check(self.n_neighbors_)

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels | None:
        return None

    def _keep_target(self, survey: TargetSurvey) -> None:
        """Keep what neighbours answer."""

    def _target(self) -> Array:
        """The target of the rows of the fit as it was given."""
        raise NotImplementedError

    def _keep_rows(self, rows: Rows, survey: TargetSurvey) -> None:
        self._remote_rows, self._hood = None, None
        self.weights_ = survey.w
        if rows.resident:
            self.rows_ = np.array(rows.X, dtype=np.float64, order="C")  # a copy: the fit must not change with its input
        else:
            self._remote_rows = rows
            self.__dict__.pop("rows_", None)

    def _holds_rows(self) -> bool:
        return self._remote_rows is not None or "rows_" in vars(self)

    def _with_more(self, rows: Rows) -> Rows:
        """The rows of the fit and these, in memory."""
        old, new = self._rows_in_memory(), rows.in_memory()
        y = None if new.y is None else np.concatenate([self._target(), new.y])
        weights = [self.weights_, new.w]
        w = None
        if any(v is not None for v in weights):
            w = np.concatenate([np.ones(n) if v is None else v for v, n in zip(weights, (len(old), len(new.X)))])
        return ArrayRows(np.concatenate([old, np.asarray(new.X, dtype=np.float64)]), y, w, like=new)

    def _rows_in_memory(self) -> Floats:
        if self._remote_rows is None:
            return self.rows_
        return np.asarray(self._remote_rows.in_memory().X, dtype=np.float64)

    def _geometry_for(self, engine: Engine, rows: Rows, survey: TargetSurvey) -> Geometry:
        known = plain_geometry(self, rows.n_columns, survey.low, survey.high)
        known = fitted_geometry(self, engine, rows) if known is None else known
        if isinstance(known.own, NamedMetric) and rows.resident:
            known.own.check(self.rows_, fit=True)
        return known

    def _keep_geometry(self, geometry: Geometry) -> None:
        self.map_, self.centre_, self.scale_ = geometry.map, geometry.centre, geometry.scale

    def _geometry(self) -> Geometry:
        own = own_metric(self)
        if own is not None:
            return Geometry(1.0, own=own)
        norm = power_of(self) if self.metric in POWERS else NORMS.get(self.metric, 2.0)
        return Geometry(norm, self.map_, self.centre_, self.metric == "cosine", self.scale_)

    def _make_claims(self) -> tuple[Claim, ...]:
        return claims_of(self) if self.n_neighbors_ <= self.neighbourhood().total else ()

    def _training_rows(self) -> Rows:
        """The rows of the fit, wherever they are."""
        if self._remote_rows is not None:
            return self._remote_rows
        return ArrayRows(self.rows_, self._codes_or_numbers(), self.weights_)

    def _engine(self) -> Engine:
        """Where the rows of the fit are read."""
        return engine_for(self._training_rows(), self.n_jobs) if self._remote_rows is not None else Threads(self.n_jobs)

    def _leave_one_out(self, hood: Neighbourhood, Z: Floats, own: Array | None) -> Floats:
        """The answers to mapped rows of the fit, each without one vote of its own (None: to any mapped rows): (m, K) votes of the classes, or
        (m, 1) numbers."""
        raise NotImplementedError

    # --- the number of neighbours, by leave-one-out -------------------------------------------------------------------

    def _choose(self, hood: Neighbourhood, rows: Rows) -> None:
        """n_neighbors="auto"."""
        hood.check(2)
        if callable(self.weights):
            raise ParameterError(
                "n_neighbors='auto' cannot go with a function as weights, which may depend on how many neighbours there are: give a number of "
                "neighbours, or weights='uniform' or 'distance'."
            )
        ways = self._vote_kinds or (self.weights == "distance",)
        found = self._curves(hood, rows, ways, most_neighbours(hood.total), self._validated(hood))
        self._curves_found = dict(zip(ways, found))
        self._choose_by(self._curves_found)

    def _choose_by(self, found: Mapping[bool, LeaveOneOutCurve]) -> None:
        """The number of neighbours that the curve of this way of counting chooses."""
        curve = found[self.weights == "distance"]
        self.leave_one_out_ = curve.loss
        self.n_neighbors_ = curve.best(self.rule == "one-se")

    def _validated(self, hood: Neighbourhood) -> Array | None:
        """The rows that are left out in turn; None: all."""
        n = self._rows_of_fit()
        if self.validation_rows is None or self.validation_rows >= n:
            return None
        return np.sort(np.argpartition(row_keys(0, n, 0), self.validation_rows)[: self.validation_rows])

    def _curves(
        self, hood: Neighbourhood, rows: Rows, ways: tuple[bool, ...], k: int, chosen: Array | None
    ) -> list[LeaveOneOutCurve]:
        """The leave-one-out loss of 1, 2, …, k neighbours, for each way of counting votes."""
        raise NotImplementedError

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings, bit for bit as `fit` makes it; those that differ in how votes count alone share all neighbours."""
        models = [type(self)(**{**self.get_params(), **changed}) for changed in settings]
        alike: dict[str, list[Self]] = {}
        for model in models:
            alike.setdefault(model._searched_by(), []).append(model)
        fitted: dict[str, Self] = {}
        for model in models:
            key = model._searched_by()
            if key in fitted and model.n_neighbors == "auto":
                yield fitted[key]._finished_with(model)
                continue
            model._vote_kinds = tuple(sorted({other.weights == "distance" for other in alike[key]}))
            model._fit(X, None, None)
            del model._vote_kinds
            fitted[key] = model._with_search()  # whoever gets the model may change it
            yield model

    def _with_search(self) -> Self:
        """A copy that knows what was searched already, which a file or another process does not get."""
        model = copy(self)
        model._hood, model._curves_found = self._hood, self._curves_found
        return model

    def _searched_by(self) -> str:
        """All hyper-parameters but those that are read once the neighbours are known."""
        return repr({k: v for k, v in sorted(self.get_params().items()) if k not in ("weights", "rule")})

    def _finished_with(self, settings: Self) -> Self:
        """A model of the same neighbours that counts votes in another way, or chooses by another rule."""
        check_params(settings)
        model = self._with_search()
        model.set_params(**settings.get_params())
        model._choose_by(self._curves_found)
        model._claims_made = None
        model._fitted_with = model.get_params()
        return model

    # --- answering --------------------------------------------------------------------------------------------------

    def neighbourhood(self) -> Neighbourhood:
        self._check_fitted()
        if self._remote_rows is not None:
            engine = engine_for(self._remote_rows, self.n_jobs)
            n = len(self._codes_or_numbers())
            return neighbourhood_in_parts(self._remote_rows, n, self.weights_, engine, self._geometry(), self.algorithm)
        if self._hood is None:
            w = getattr(self, "weights_", None)
            self._hood = neighbourhood_in_memory(self.rows_, w, self._geometry(), Threads(self.n_jobs), self.algorithm)
        return self._hood

    def _votes(self) -> Any:
        """How votes count: alike (False), by distance (True), or by a function."""
        return self.weights if callable(self.weights) else self.weights == "distance"

    def _answer(self, X: Any, answer: Callable[..., Array]) -> Array:
        """Without X the rows of the fit, each left out in turn."""
        if X is not None:
            return super()._answer(X, answer)
        pieces = (piece for block, _ in self._query_blocks(None) for piece in cut(block, AT_A_TIME))
        return np.concatenate([answer(p, np.arange(p.start, p.start + len(p.X))) for p in pieces])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _codes_or_numbers(self) -> Array:
        raise NotImplementedError

    def _rows_of_fit(self) -> int:
        return len(self._codes_or_numbers())

    def _usual_neighbors(self) -> int:
        self._check_fitted()
        return self.n_neighbors_

    def _query_blocks(self, X: Any) -> Iterator[tuple[Block, Array | None]]:
        if X is None:
            rows: Rows = ArrayRows(self._rows_in_memory())
            for part in rows.blocks():
                block = part.load()
                yield block, np.arange(block.start, block.start + len(block.X))
            return
        rows = self._rows_to_answer(X)
        for part in engine_for(rows, self.n_jobs).open(rows).blocks():
            yield part.load(), None

    def _answers(self, X: Any, answer: Callable[[Block], Array]) -> Iterator[Array]:
        """One block after another, for the search itself uses all threads; a cluster answers blocks side by side where it has the rows."""
        rows = self._rows_to_answer(X)
        engine = engine_for(rows, self.n_jobs)
        if self._remote_rows is None and not engine.shares_memory:
            yield from super()._answers(X, answer)
            return
        if self._hood is not None and engine.shares_memory:
            self._hood.search.use(engine.threads(self.n_jobs))  # type: ignore[union-attr]
        for part in engine.open(rows).blocks():
            with one_thread_blas():
                answered = [answer(piece) for piece in cut(part.load(), AT_A_TIME)]
            yield answered[0] if len(answered) == 1 else np.concatenate(answered)

    def _metric_steps(self, fit: Callable[[], Any]) -> list[dict[str, Any]]:
        """The states of the fit before any query."""
        fit()
        return []

    def steps(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, query: Any = None, every: int | None = None
    ) -> Iterator[Step]:
        """A learned metric turning, the leave-one-out error of each number of neighbours, and then one query (by default the first row, left out):
        nodes of the tree looked at or left out, the neighbours so far, and the answer."""
        from assay.families.neighbours.steps import steps_of

        return some_of(steps_of(self, X, y, sample_weight, query), every)

    # --- neighbours themselves ----------------------------------------------------------------------------------------

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest rows of the fit to each row of X: distances and row numbers, (m, k) each, by (distance, row number).

        Without X the queries are the rows of the fit, none of which is its own neighbour.
        """
        hood = self.neighbourhood()
        k = self._usual_neighbors() if n_neighbors is None else whole_number(n_neighbors)
        check_rows(k, hood.size - (X is None))
        found = []
        for block, own in self._query_blocks(X):
            for piece in cut(block, AT_A_TIME):
                mine = None if own is None else own[piece.start - block.start :][: len(piece.X)]
                found.append(hood.nearest(self._mapped(piece), k, mine))
        r, rows = (np.concatenate(parts) for parts in zip(*found)) if found else hood.nearest(np.empty((0, 1)), k)
        return (hood.geometry.distances(r, hood.columns), rows) if return_distance else rows

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = True
    ) -> Any:
        """The rows of the fit up to a distance of each row of X: an array of distances and one of row numbers for each, by
        (distance, row number). `sort_results` is accepted for scikit-learn's sake: results are always sorted."""
        hood = self.neighbourhood()
        start, rows, far = self._within(X, radius)
        ends = list(pairwise(start.tolist()))
        distances, numbers = np.empty(len(ends), dtype=object), np.empty(len(ends), dtype=object)
        for i, (a, b) in enumerate(ends):
            distances[i], numbers[i] = hood.geometry.distances(far[a:b], hood.columns), rows[a:b]
        return (distances, numbers) if return_distance else numbers

    def _within(self, X: Any, radius: float | None) -> tuple[Array, Array, Floats]:
        hood = self.neighbourhood()
        radius = getattr(self, "radius", 1.0) if radius is None else radius
        if not (isinstance(radius, float | int | np.number) and radius >= 0):
            raise ParameterError(f"radius={radius!r} is not possible: it must be a number ≥ 0.")
        most = hood.geometry.reduced(float(radius), hood.columns)
        starts, rows, far, held = [np.zeros(1, dtype=np.int64)], [], [], 0
        for block, own in self._query_blocks(X):
            for piece in cut(block, AT_A_TIME):
                start, near, r = hood.within(self._mapped(piece), np.full(len(piece.X), most))
                if own is not None:
                    query = np.repeat(np.arange(len(piece.X)), np.diff(start))
                    others = near != own[piece.start - block.start :][: len(piece.X)][query]
                    near, r = near[others], r[others]
                    start = np.concatenate([[0], np.cumsum(np.bincount(query[others], minlength=len(piece.X)))])
                starts.append(start[1:] + held)
                held += len(near)
                rows.append(near)
                far.append(r)
        if not rows:
            return starts[0], np.empty(0, dtype=np.int64), np.empty(0)
        return np.concatenate(starts), np.concatenate(rows), np.concatenate(far)

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> csr_matrix:
        """The nearest rows as a sparse matrix (m, n): ones, or distances with mode="distance"."""
        check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        m, k = rows.shape
        values = np.ones(m * k) if mode == "connectivity" else distances.ravel()
        return self._graph(values, rows.ravel(), np.arange(0, m * k + 1, k))

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity"
    ) -> csr_matrix:
        """The rows up to a distance as a sparse matrix (m, n): ones, or distances with mode="distance"."""
        check_mode(mode)
        hood = self.neighbourhood()
        start, rows, far = self._within(X, radius)
        values = np.ones(len(rows)) if mode == "connectivity" else hood.geometry.distances(far, hood.columns)
        return self._graph(values, rows, start)

    def _graph(self, values: Floats, rows: Array, start: Array) -> csr_matrix:
        from scipy.sparse import csr_matrix

        return csr_matrix((values, rows, start), shape=(len(start) - 1, self._rows_of_fit()))

    def _queries(self, block: Block) -> Floats:
        return self._mapped(block, self._column_names())

    def _mapped(self, block: Block, names: Any = None) -> Floats:
        if not np.isfinite(block.X).all():
            refuse_non_finite(block.X, block.start, names, nan=self.metric != "nan_euclidean")
        own = self.neighbourhood().geometry.own
        if isinstance(own, NamedMetric):
            own.check(block.X, fit=False)
        with np.errstate(over="ignore", invalid="ignore"):
            Z = self.neighbourhood().geometry.rows(block.X)
        if self.map_ is not None and not np.isfinite(Z).all():  # what is mapped beyond all numbers is near to nothing
            refuse_overflow(block.X, block.start, names)
        return Z

    # --- file -------------------------------------------------------------------------------------------------------

    def to_record(self) -> Record:
        """The fitted model as plain data."""
        self._check_fitted()
        refuse_functions(self)
        return super().to_record()

    def _part(self, name: str) -> Any:
        return self._rows_in_memory() if name == "rows_" else super()._part(name)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_hood", "_curves_found", "_vote_kinds")}

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        for name in ("weights_", "map_", "centre_", "leave_one_out_"):
            if name not in vars(self):
                setattr(self, name, None)
        check_parts(self)
