"""What all neighbours share: the rows that are kept, the metric, and who is near.

A fit keeps rows that are in memory, and of rows that are read as a stream or lie on a cluster only where they are: those answer part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from assay.certify import Certificate
from assay.engines import ArrayRows, Block, Engine, Rows, engine_for, fold
from assay.engines.derived import MOST_FILLED
from assay.engines.engine import Threads, one_thread_blas
from assay.engines.rows import cut
from assay.errors import DataTypeError, ParameterError, TooLargeError
from assay.estimator.estimator import Estimator
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import Choice, ChoiceOrFunction, Range, attribute, param
from assay.families.neighbours.claims import COVERAGE
from assay.families.neighbours.metrics import (
    NORMS,
    POWERS,
    Geometry,
    check_metric,
    fitted_geometry,
    metric_of,
    own_metric,
    plain_geometry,
    power_of,
)
from assay.families.neighbours.named_metrics import ABSENT, NamedMetric, refuse_unlisted
from assay.families.neighbours.neighbourhood import Neighbourhood, neighbourhood_in_memory, neighbourhood_in_parts
from assay.families.neighbours.refusals import check_mode, check_parts, check_rows, refuse_functions, whole_number
from assay.inputs import refuse_non_finite, refuse_overflow
from assay.inputs.labels import Labels
from assay.inputs.rows import is_sparse
from assay.numerics import Array, Floats
from assay.statistics.targets import TargetSurvey, merge_surveys, some, survey_block, survey_missing
from assay.store import Record

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

AT_A_TIME = 1 << 14  # queries whose lists are held at a time

ALGORITHM = param("how neighbours are found; all find the same, 'auto' measures which is faster", default="auto", check=Choice(("auto", "kd_tree", "ball_tree", "brute")))  # fmt: skip
LEAF_SIZE = param("accepted for scikit-learn's sake: leaves hold 16 rows at most", default=30, check=Range(int, low=1))
WEIGHTS = param("every neighbour counts alike (None: too), or in inverse proportion to its distance, or as a function of the distances says", default="uniform", says={"distance": "weighted"}, check=ChoiceOrFunction(("uniform", "distance"), "a function of an array of distances (m, k) that gives the weight of each", words=(None,)))  # fmt: skip
GEOMETRY_LAYOUT: Layout = {
    "rows_": Tensor(("n", "d"), finite=False, doc="the rows of the fit, among which neighbours are found"),
    "weights_": Tensor(("n",), low=0, optional=True, doc="the votes of each row; None where all are 1"),
    "map_": Tensor(("d", "r"), optional=True, doc="the matrix L of a metric ‖Lᵀ(x − z)‖, such as a Mahalanobis or learned one; None for other metrics"),
    "centre_": Tensor(("d",), optional=True, doc="the point that is taken from rows before `map_`; None where there is none"),
    "scale_": Fact(float, low=0, doc="a power of two that columns are taken times, so that no distance overflows"),
}  # fmt: skip


class NeighboursBase(Estimator):
    """Keep the rows, list the nearest of them. Subclasses say what is kept of the target."""

    takes_sparse = fills_sparse = fills_whole = True
    coverage = COVERAGE
    layout: ClassVar[Layout] = GEOMETRY_LAYOUT
    algorithm: str = attribute()
    leaf_size: int = attribute()
    metric: Any = attribute()
    p: float = attribute()
    metric_params: Any = attribute()

    rows_: Floats = attribute()
    weights_: Floats | None = attribute()
    map_: Floats | None = attribute()
    centre_: Floats | None = attribute()
    scale_: float = attribute()

    _remote_rows: Rows | None = attribute(default=None)  # the rows of the fit where they are not in memory
    _hood: Neighbourhood | None = attribute(default=None)

    @property
    def effective_metric_(self) -> Any:
        """The metric that was used: its name, or a function of yours."""
        return metric_of(self)

    @property
    def effective_metric_params_(self) -> dict[str, Any]:
        """The parameters of the metric, `p` of a Minkowski distance included."""
        metric, given = metric_of(self), dict(self.metric_params or {})
        return {"p": power_of(self), **given} if isinstance(metric, str) and metric in POWERS else given

    @property
    def n_samples_fit_(self) -> int:
        """The number of rows of the fit."""
        return self._rows_of_fit()

    # --- learning ---------------------------------------------------------------------------------------------------

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any, afresh: bool, classes: Any) -> Self:
        return super()._fit_rows(self._as_kept(rows_behind(X)), y, sample_weight, afresh, classes)

    def _as_kept(self, X: Any) -> Any:
        """Distances that a sparse graph lists become a table, in which those that it does not list are ABSENT."""
        return as_distances(X) if is_sparse(X) and metric_of(self) == "precomputed" else X

    def _rows_to_answer(self, X: Any) -> Rows:
        return super()._rows_to_answer(self._as_kept(X))

    @property
    def certificate_(self) -> Certificate:
        """What is proved about this fit; `certificate_.verify(X, y)` re-checks it."""
        made = super().certificate_
        if metric_of(self) != "precomputed":
            return made
        return replace(made, verifier=lambda X, y, w: made.verify(self._as_kept(X), y, w))

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        check_metric(self, rows.n_columns)
        labels = self._labels(engine, rows, afresh, classes)
        if not afresh and self._holds_rows():
            rows = self._with_more(rows)
            engine = engine_for(rows, self.n_jobs)
        absorb = survey_missing if metric_of(self) == "nan_euclidean" else survey_block
        survey = some(fold(engine, rows.blocks(), partial(absorb, labels, rows.names), merge_surveys))
        self._keep_rows(rows, survey)
        self._keep_target(survey)
        self._keep_geometry(self._geometry_for(engine, rows, survey))
        self._provenance = {"fingerprint": survey.mark.hex()}
        self._settle(rows)
        if afresh and classes is None:  # else more rows may come
            self._check_enough()
        self._claims_made = None

    def _settle(self, rows: Rows) -> None:
        """Learn what takes neighbours."""

    def _check_enough(self) -> None:
        """Raise where the rows of the fit cannot answer."""

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
        norm = power_of(self) if metric_of(self) in POWERS else NORMS.get(metric_of(self), 2.0)
        return Geometry(norm, self.map_, self.centre_, metric_of(self) == "cosine", self.scale_)

    def _training_rows(self) -> Rows:
        """The rows of the fit, wherever they are."""
        if self._remote_rows is not None:
            return self._remote_rows
        return ArrayRows(self.rows_, self._codes_or_numbers(), self.weights_)

    def _engine(self) -> Engine:
        """Where the rows of the fit are read."""
        return engine_for(self._training_rows(), self.n_jobs) if self._remote_rows is not None else Threads(self.n_jobs)

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

    def _answer(self, X: Any, answer: Callable[..., Array]) -> Array:
        """Without X the rows of the fit, each left out in turn."""
        if X is not None:
            return super()._answer(X, answer)
        pieces = (piece for block, _ in self._query_blocks(None) for piece in cut(block, AT_A_TIME))
        return np.concatenate([answer(p, np.arange(p.start, p.start + len(p.X))) for p in pieces])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = metric_of(self) == "nan_euclidean"
        tags.input_tags.pairwise = metric_of(self) == "precomputed"
        return tags

    def _codes_or_numbers(self) -> Array:
        raise NotImplementedError

    def _rows_of_fit(self) -> int:
        return len(self._codes_or_numbers())

    def _usual_neighbors(self) -> Any:
        self._check_fitted()
        return getattr(self, "n_neighbors_", getattr(self, "n_neighbors", None))

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

    # --- neighbours themselves ----------------------------------------------------------------------------------------

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest rows of the fit to each row of X: distances and row numbers, (m, k) each, by (distance, row number).

        Without X the queries are the rows of the fit, none of which is its own neighbour.
        """
        hood = self.neighbourhood()
        k = whole_number(self._usual_neighbors() if n_neighbors is None else n_neighbors)
        check_rows(k, hood.size - (X is None))
        if X is None and metric_of(self) == "precomputed":
            refuse_unlisted(k + 1, self._rows_in_memory())
        found = []
        for block, own in self._query_blocks(X):
            for piece in cut(block, AT_A_TIME):
                mine = None if own is None else own[piece.start - block.start :][: len(piece.X)]
                found.append(hood.nearest(self._mapped(piece), k, mine))
        r, rows = (np.concatenate(parts) for parts in zip(*found)) if found else hood.nearest(np.empty((0, 1)), k)
        return (hood.geometry.distances(r, hood.columns), rows) if return_distance else rows

    def radius_neighbors(
        self, X: Any = None, radius: Any = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """The rows of the fit up to a distance of each row of X (one radius for all, or one each): an array of distances and one of row
        numbers for each, in the order of the row numbers, or with `sort_results` by (distance, row number).

        Without X the queries are the rows of the fit, none of which is its own neighbour.
        """
        if sort_results and not return_distance and metric_of(self) != "precomputed":
            raise ParameterError("return_distance must be True if sort_results is True.")
        hood = self.neighbourhood()
        start, rows, far = self._within(X, radius, sort_results)
        ends = list(pairwise(start.tolist()))
        distances, numbers = np.empty(len(ends), dtype=object), np.empty(len(ends), dtype=object)
        for i, (a, b) in enumerate(ends):
            distances[i], numbers[i] = hood.geometry.distances(far[a:b], hood.columns), rows[a:b]
        return (distances, numbers) if return_distance else numbers

    def _within(self, X: Any, radius: Any, by_distance: bool) -> tuple[Array, Array, Floats]:
        hood = self.neighbourhood()
        most = hood.reduced_radius(getattr(self, "radius", 1.0) if radius is None else radius)
        starts, rows, far, held = [np.zeros(1, dtype=np.int64)], [], [], 0
        for block, own in self._query_blocks(X):
            for piece in cut(block, AT_A_TIME):
                start, near, r = hood.within(self._mapped(piece), radius_of(most, piece))
                if own is not None:
                    query = np.repeat(np.arange(len(piece.X)), np.diff(start))
                    others = near != own[piece.start - block.start :][: len(piece.X)][query]
                    near, r = near[others], r[others]
                    start = np.concatenate([[0], np.cumsum(np.bincount(query[others], minlength=len(piece.X)))])
                if not by_distance:
                    order = np.lexsort((near, np.repeat(np.arange(len(piece.X)), np.diff(start))))
                    near, r = near[order], r[order]
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
        self, X: Any = None, radius: Any = None, mode: str = "connectivity", sort_results: bool = False
    ) -> csr_matrix:
        """The rows up to a distance as a sparse matrix (m, n): ones, or distances with mode="distance"."""
        check_mode(mode)
        hood = self.neighbourhood()
        start, rows, far = self._within(X, radius, sort_results)
        values = np.ones(len(rows)) if mode == "connectivity" else hood.geometry.distances(far, hood.columns)
        return self._graph(values, rows, start)

    def _graph(self, values: Floats, rows: Array, start: Array) -> csr_matrix:
        from scipy.sparse import csr_matrix

        return csr_matrix((values, rows, start), shape=(len(start) - 1, self._rows_of_fit()))

    def _queries(self, block: Block) -> Floats:
        return self._mapped(block, self._column_names())

    def _mapped(self, block: Block, names: Any = None) -> Floats:
        if not np.isfinite(block.X).all():
            refuse_non_finite(block.X, block.start, names, nan=metric_of(self) != "nan_euclidean")
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
        return {k: v for k, v in vars(self).items() if k not in self._not_sent}

    _not_sent: ClassVar[tuple[str, ...]] = ("_hood",)  # what another process, or a file, does not get

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        for name in ("weights_", "map_", "centre_"):
            if name not in vars(self):
                setattr(self, name, None)
        check_parts(self)


def rows_behind(X: Any) -> Any:
    """The rows that a fitted model of neighbours, or a tree, holds; anything else as it is."""
    if hasattr(X, "_rows_in_memory"):
        return X._rows_in_memory()
    if type(X).__name__.startswith(("BallTree", "KDTree")) and hasattr(X, "get_arrays"):  # scikit-learn's
        return np.asarray(X.data)
    return X


def as_distances(graph: Any) -> Floats:
    """The distances that a sparse graph lists, zeros among them, as a table."""
    if graph.format not in ("csr", "csc", "coo", "lil"):
        raise DataTypeError(
            f"Sparse matrix in {graph.format!r} format is not supported due to its handling of explicit zeros: give X.tocsr()."
        )
    if 8.0 * graph.shape[0] * graph.shape[1] > MOST_FILLED:
        raise TooLargeError(
            f"A graph of {graph.shape[0]} × {graph.shape[1]} distances is filled in for metric='precomputed', and takes more than {MOST_FILLED / 1e9:g} GB: "
            "take fewer rows, or give the rows themselves in place of their distances."
        )
    listed = graph.tocoo()
    table = np.full(graph.shape, ABSENT)
    table[listed.row, listed.col] = listed.data
    return table


def radius_of(most: Floats, piece: Block) -> Floats:
    """The radius of each query of a piece: the same for all, or those given for its rows."""
    if most.ndim == 0:
        return np.full(len(piece.X), most)
    if piece.start + len(piece.X) > len(most):
        raise ParameterError(
            f"radius holds {len(most)} numbers, and there are more queries: give one for all, or one each."
        )
    return most[piece.start : piece.start + len(piece.X)]
