"""How many neighbours: the choice by leave-one-out, and settings that share what was searched for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from assay.engines import Rows
from assay.engines.split import row_keys
from assay.hypotheses.neighbours.leave_one_out import Curve, most_neighbours
from assay.hypotheses.neighbours.neighbourhood import Neighbourhood
from assay.learner import Learner, attribute
from assay.numerics import Array, Floats
from assay.params import check_params


class Choosing(Learner):
    """n_neighbors="auto" of a model that can say its leave-one-out losses (`_curves`)."""

    n_neighbors: int | str = attribute()
    weights: str = attribute()
    rule: str = attribute()
    validation_rows: int | None = attribute()
    n_neighbors_: int = attribute()
    leave_one_out_: Floats | None = attribute()
    _hood: Neighbourhood | None = attribute()
    _made: Any = attribute()  # claims, None: still to be made

    def _rows_of_fit(self) -> int:
        raise NotImplementedError

    def _choose(self, hood: Neighbourhood, rows: Rows) -> None:
        """n_neighbors="auto"."""
        hood.check(2)
        ways = self._ways or (self.weights == "distance",)
        found = self._curves(hood, rows, ways, most_neighbours(hood.total), self._validated(hood))
        self._found = dict(zip(ways, found))
        self._take(self._found)

    _ways: tuple[bool, ...] = attribute(default=())  # the ways of counting whose curves are found together
    _found: Mapping[bool, Curve] = attribute(default=MappingProxyType({}))

    def _take(self, found: Mapping[bool, Curve]) -> None:
        """The number of neighbours that the curve of this way of counting chooses."""
        curve = found[self.weights == "distance"]
        self.leave_one_out_ = curve.loss
        self.n_neighbors_ = curve.best(self.rule == "one-se")

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings, bit for bit as `fit` makes it; those that differ in how votes count alone share all neighbours."""
        models = [type(self)(**{**self.get_params(), **changed}) for changed in settings]
        asked: dict[str, list[Self]] = {}
        for model in models:
            asked.setdefault(model._asked_by(), []).append(model)
        fitted: dict[str, Self] = {}
        for model in models:
            key = model._asked_by()
            if key in fitted and model.n_neighbors == "auto":
                yield fitted[key]._finished_with(model)
                continue
            model._ways = tuple(sorted({other.weights == "distance" for other in asked[key]}))
            model._fit(X, None, None)
            del model._ways
            fitted[key] = model._again()  # whoever gets the model may change it
            yield model

    def _again(self) -> Self:
        """A copy that knows what was searched already, which a file or another process does not get."""
        model = copy(self)
        model._hood, model._found = self._hood, self._found
        return model

    def _asked_by(self) -> str:
        """All hyper-parameters but those that are read once the neighbours are known."""
        return repr({k: v for k, v in sorted(self.get_params().items()) if k not in ("weights", "rule")})

    def _finished_with(self, settings: Self) -> Self:
        """A model of the same neighbours that counts votes in another way, or chooses by another rule."""
        check_params(settings)
        model = self._again()
        model.set_params(**settings.get_params())
        model._take(self._found)
        model._made = None
        model._fitted_with = model.get_params()
        return model

    def _validated(self, hood: Neighbourhood) -> Array | None:
        """The rows that are left out in turn; None: all."""
        n = self._rows_of_fit()
        if self.validation_rows is None or self.validation_rows >= n:
            return None
        return np.sort(np.argpartition(row_keys(0, n, 0), self.validation_rows)[: self.validation_rows])

    def _curves(
        self, hood: Neighbourhood, rows: Rows, ways: tuple[bool, ...], k: int, chosen: Array | None
    ) -> list[Curve]:
        """The leave-one-out loss of 1, 2, …, k neighbours, for each way of counting votes."""
        raise NotImplementedError
