"""The exact leave-one-out error of every number of neighbours in one pass over the rows, and what it says of the best possible error.

Each row is answered by its nearest 1, 2, …, k of the others: one list of k neighbours a row serves all of them.

As rows grow without end, the error e of the nearest neighbour and the Bayes error R* of K classes satisfy (Cover and Hart 1967)

    R* ≤ e ≤ R*(2 − K/(K − 1)·R*),   hence   (K − 1)/K · (1 − √(1 − K/(K − 1)·e)) ≤ R* ≤ e
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.engines.rows import Rows
from assay.errors import DataError
from assay.families.neighbours.neighbourhood import Neighbourhood
from assay.numerics import Array, Floats

FAR = 240  # binary digits: fourth powers of numbers up to 2 to that, either way, are numbers
LEAST = 1e-280  # squared errors of less have lost digits
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

    sums, total, unit = np.zeros((2, len(ways), k)), 0.0, _unit_of(y)
    y = y / unit
    for own, X in queries(rows, chosen):
        r, near, w = hood.listed(hood.geometry.rows(X), k, own)
        weight, one = _own_weights(hood, own), np.zeros((2, len(ways), k))
        for way, by_distance in enumerate(ways):
            factor = hood.factors(r, w, by_distance)
            squared_errors(y[near], factor, w, y[own], weight, one[0, way], one[1, way])
        sums += one
        total += float(weight.sum())
    loss, square = sums / total
    with np.errstate(over="ignore"):
        size = np.float64(unit) * unit
        if not LEAST < size * max(1.0, loss.max()) < np.inf:
            raise DataError(
                "Squares of the target leave the range of float64, so errors cannot be compared: bring it nearer to 1."
            )
        return [
            LeaveOneOutCurve(a * size, np.sqrt(np.maximum(b - a**2, 0.0)) * size, total) for a, b in zip(loss, square)
        ]


def _unit_of(y: Floats) -> float:
    """1, or the power of two next to the greatest |y| where fourth powers of errors would not be numbers."""
    exponent = math.frexp(float(np.abs(y).max(initial=0.0)))[1]
    return math.ldexp(1.0, exponent) if abs(exponent) > FAR else 1.0


def least_bayes_error(e: float, K: int) -> float:
    """The least Bayes error of K classes where the nearest neighbour errs at rate e; past (K − 1)/K, worse than guessing, nothing: 0.

    >>> round(least_bayes_error(0.0445, 2), 4)
    0.0228
    """
    top = (K - 1) / K
    return 0.0 if e >= top else top * (1 - math.sqrt(1 - e / top))


def _own_weights(hood: Neighbourhood, own: Array) -> Floats:
    return np.ones(len(own)) if hood.weights is None else hood.weights[own]


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
