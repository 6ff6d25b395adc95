"""What the nearest neighbour's error says of the best possible one (Cover and Hart 1967).

As rows grow without end, the error e of the nearest neighbour and the Bayes error R* of K classes satisfy

    R* ≤ e ≤ R*(2 − K/(K − 1)·R*),   hence   (K − 1)/K · (1 − √(1 − K/(K − 1)·e)) ≤ R* ≤ e
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np

from assay.engines.rows import Rows
from assay.engines.split import row_keys
from assay.estimator.docstrings import attribute
from assay.estimator.estimator import Estimator
from assay.estimator.params import check_params
from assay.families.neighbours.neighbourhood import Neighbourhood
from assay.numerics import Array, Floats


def least_bayes_error(e: float, K: int) -> float:
    """The least Bayes error of K classes where the nearest neighbour errs at rate e; past (K − 1)/K, worse than guessing, nothing: 0.

    >>> round(least_bayes_error(0.0445, 2), 4)
    0.0228
    """
    top = (K - 1) / K
    return 0.0 if e >= top else top * (1 - math.sqrt(1 - e / top))


# The number of neighbours, by the exact leave-one-out error of every number in one pass over the rows.
#
# Each row is answered by its nearest 1, 2, …, k of the others: one list of k neighbours a row serves all of them.

AT_A_TIME = 1 << 13  # rows that are answered at a time


class LeaveOneOutCurve(NamedTuple):
    """loss (k,): the mean loss with 1, 2, …, k neighbours; deviation (k,): of the rows' losses; rows: the weight of all."""

    loss: Floats
    deviation: Floats
    rows: float

    def best(self, within_one_error: bool) -> int:
        """The number of neighbours of least loss, of equal ones the greatest; or the greatest within one standard error of it."""
        least = int(np.flatnonzero(self.loss == self.loss.min())[-1])
        if not within_one_error:
            return least + 1
        allowed = self.loss[least] + self.deviation[least] / math.sqrt(self.rows)
        return int(np.flatnonzero(self.loss <= allowed)[-1]) + 1


def most_neighbours(total: float) -> int:
    """The greatest number that is tried: √n, at least 30 and at most 100, of which there must be so many others.

    >>> most_neighbours(10), most_neighbours(150), most_neighbours(10_000), most_neighbours(1e6)
    (9, 30, 100, 100)
    """
    return int(max(1, min(total - 1, 100, max(30, math.isqrt(int(total))))))


def queries(rows: Rows, chosen: Array | None) -> Iterator[tuple[Array, Floats]]:
    """Numbers and values of the rows that are answered, a piece at a time; `chosen`: only these."""
    for part in rows.blocks():
        block = part.load()
        at = (
            np.arange(len(block.X))
            if chosen is None
            else chosen[_there(chosen, block.start, len(block.X))] - block.start
        )
        if block.w is not None:
            at = at[block.w[at] > 0]
        for a in range(0, len(at), AT_A_TIME):
            piece = at[a : a + AT_A_TIME]
            yield piece + block.start, block.X[piece]


def _there(chosen: Array, start: int, length: int) -> slice:
    return slice(*np.searchsorted(chosen, [start, start + length]).tolist())


def class_curves(
    hood: Neighbourhood,
    rows: Rows,
    codes: Array,
    class_factor: Floats,
    ways: tuple[bool, ...],
    k: int,
    chosen: Array | None,
) -> list[LeaveOneOutCurve]:
    """Zero-one loss, rows weighed as their classes are, where votes count in inverse proportion to their distance, or all alike: a curve for
    each of the `ways`."""
    from assay.families.neighbours.loops.leave_one_out import wrong_classes

    wrong, total, K = np.zeros((len(ways), k)), 0.0, len(class_factor)
    for own, X in queries(rows, chosen):
        r, near, w = hood.listed(hood.geometry.rows(X), k, own)
        weight, one, named = _own_weights(hood, own) * class_factor[codes[own]], np.zeros((len(ways), k)), codes[near]
        for way, by_distance in enumerate(ways):
            factor = hood.factors(r, w, by_distance) * class_factor[named]
            wrong_classes(r, named, factor, w, codes[own], weight, K, one[way])
        wrong += one
        total += float(weight.sum())
    total = total or 1.0  # where all classes weigh nothing, no number is better than another
    return [LeaveOneOutCurve(loss, np.sqrt(np.maximum(loss * (1 - loss), 0.0)), total) for loss in wrong / total]


def number_curves(
    hood: Neighbourhood, rows: Rows, y: Floats, ways: tuple[bool, ...], k: int, chosen: Array | None
) -> list[LeaveOneOutCurve]:
    """Squared error, as `class_curves`."""
    from assay.families.neighbours.loops.leave_one_out import squared_errors

    sums, total = np.zeros((2, len(ways), k)), 0.0
    for own, X in queries(rows, chosen):
        r, near, w = hood.listed(hood.geometry.rows(X), k, own)
        weight, one = _own_weights(hood, own), np.zeros((2, len(ways), k))
        for way, by_distance in enumerate(ways):
            factor = hood.factors(r, w, by_distance)
            squared_errors(y[near], factor, w, y[own], weight, one[0, way], one[1, way])
        sums += one
        total += float(weight.sum())
    loss, square = sums / total
    return [LeaveOneOutCurve(a, np.sqrt(np.maximum(b - a**2, 0.0)), total) for a, b in zip(loss, square)]


def _own_weights(hood: Neighbourhood, own: Array) -> Floats:
    return np.ones(len(own)) if hood.weights is None else hood.weights[own]


# How many neighbours: the choice by leave-one-out, and settings that share what was searched for it.


class ChoosesNeighbors(Estimator):
    """n_neighbors="auto" of a model that can say its leave-one-out losses (`_curves`)."""

    n_neighbors: int | str = attribute()
    weights: str = attribute()
    rule: str = attribute()
    validation_rows: int | None = attribute()
    n_neighbors_: int = attribute()
    leave_one_out_: Floats | None = attribute()
    _hood: Neighbourhood | None = attribute()

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
    _found: Mapping[bool, LeaveOneOutCurve] = attribute(default=MappingProxyType({}))

    def _take(self, found: Mapping[bool, LeaveOneOutCurve]) -> None:
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
        model._claims_made = None
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
    ) -> list[LeaveOneOutCurve]:
        """The leave-one-out loss of 1, 2, …, k neighbours, for each way of counting votes."""
        raise NotImplementedError
