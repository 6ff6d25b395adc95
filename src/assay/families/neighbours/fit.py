"""The k nearest rows that answer: how many, whose votes count how much, and what is claimed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from assay.certify import Claim
from assay.engines import Rows
from assay.engines.derived import row_keys
from assay.errors import ParameterError
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import Choice, Range, attribute, check_params, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Step, some_of
from assay.families.neighbours.claims import claims_of
from assay.families.neighbours.kept_rows import NeighboursBase
from assay.families.neighbours.leave_one_out import LeaveOneOutCurve, most_neighbours
from assay.families.neighbours.neighbourhood import Neighbourhood
from assay.families.neighbours.refusals import check_number
from assay.numerics import Array, Floats
from assay.store import Record

PAIRS = 3e11  # rows · rows · (columns + 16) up to which a comparison tries brute force: a minute or so
MANY_ROWS = 20_000  # from which some of them tell the number of neighbours as well as all
FEW_COLUMNS = 6  # in so few columns a tree finds neighbours among any number of rows

RULE = param("of n_neighbors='auto': the least leave-one-out error, or the most neighbours within one standard error of it", default="best", check=Choice(("best", "one-se")))  # fmt: skip
VALIDATION_ROWS = param("of n_neighbors='auto': rows that are left out in turn, drawn evenly; None: all", default=None, check=Range(int, low=2, words=(None,)))  # fmt: skip


class NeighboursModel(NeighboursBase):
    """Answer from the k nearest rows. Subclasses turn the neighbours' targets into an answer."""

    layout: ClassVar[Layout] = {
        **NeighboursBase.layout,
        "n_neighbors_": Fact(int, low=1, doc="the neighbours that answer: n_neighbors, or what 'auto' chose"),
        "leave_one_out_": Tensor(("T",), low=0, optional=True, doc="of n_neighbors='auto': the leave-one-out error of 1, 2, … neighbours; else None"),
    }  # fmt: skip

    n_neighbors: int | str = attribute()
    weights: Any = attribute()
    rule: str = attribute()
    validation_rows: int | None = attribute()

    n_neighbors_: int = attribute()
    leave_one_out_: Floats | None = attribute()

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

    def _leave_one_out(self, hood: Neighbourhood, Z: Floats, own: Array | None) -> Floats:
        """The answers to mapped rows of the fit, each without one vote of its own (None: to any mapped rows): (m, K) votes of the classes, or
        (m, 1) numbers."""
        raise NotImplementedError

    # --- learning ---------------------------------------------------------------------------------------------------

    def _settle(self, rows: Rows) -> None:
        if self.n_neighbors == "auto":
            self._choose(self.neighbourhood(), rows)
        else:
            self.n_neighbors_, self.leave_one_out_ = int(self.n_neighbors), None

    def _check_enough(self) -> None:
        self.neighbourhood().check(self.n_neighbors_)

    def _make_claims(self) -> tuple[Claim, ...]:
        return claims_of(self) if self.n_neighbors_ <= self.neighbourhood().total else ()

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

    def _votes(self) -> Any:
        """How votes count: alike (False), by distance (True), or by a function."""
        return self.weights if callable(self.weights) else self.weights == "distance"

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

    # --- file -------------------------------------------------------------------------------------------------------

    _not_sent: ClassVar[tuple[str, ...]] = ("_hood", "_curves_found", "_vote_kinds")

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        self.leave_one_out_ = getattr(self, "leave_one_out_", None)
        check_number(self)
