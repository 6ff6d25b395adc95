"""Folds over the rows of a rectangle classifier: the box of each class, whole-number weights, and what rectangles make of the rows."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.engines.fingerprint import join, leaf_of
from assay.errors import DataError
from assay.inputs import refuse_non_finite
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats

NO_WEIGHTS = np.empty(0)
FEW = 1 << 20  # comparisons that NumPy makes before the compiled loops are loaded
BITS = 61  # of the sum of all whole-number weights; rounding up adds less than one more
FACTOR_BITS = 30  # of a class's factor, so that times a weight of few digits it is still exact


class Boxes(NamedTuple):
    """low, high (K, d): the box of each class's rows of positive weight; their number and weight (K,); the rows' fingerprint."""

    low: Floats
    high: Floats
    rows: Array
    weight: Floats
    mark: bytes


class WholeWeights(NamedTuple):
    """Weights as whole numbers: w·factor_k·2^shift to the nearest, and at least 1 where a weight is positive."""

    labels: Labels
    factor: Floats
    shift: int

    def codes(self, y: Array) -> Array:
        return np.ascontiguousarray(self.labels.encode(y), dtype=np.int64)

    def weigh(self, codes: Array, w: Array | None) -> tuple[Array, bool]:
        """(m,) whole numbers, and whether any of them is rounded."""
        exact = np.ldexp(self.factor[codes] if w is None else w * self.factor[codes], self.shift)
        whole = np.where(exact > 0, np.maximum(np.rint(exact), 1), 0).astype(np.int64)
        return whole, bool(np.any(whole != exact))


class RectangleCoverage(NamedTuple):
    """Of each rectangle (R,) what it is the first of its class to cover: weight and number of the rows of its class and of others."""

    won: Array
    lost: Array
    won_rows: Array
    lost_rows: Array


class RectangleConfusion(NamedTuple):
    """cells (K, K): the weight of the rows of class k (column) answered with class l (row); whether weights are rounded."""

    covered: RectangleCoverage
    cells: Array
    rounded: bool


def boxes_of(engine: Engine, rows: Rows, labels: Labels) -> Boxes:
    """One fold: the box of each class, and the rows' fingerprint."""
    found = fold(engine, rows.blocks(), partial(_absorb_boxes, labels, rows.names), _merge_boxes)
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return found._replace(
        low=found.low + 0.0, high=found.high + 0.0
    )  # no −0, whose place among zeros is that of its row


def _absorb_boxes(labels: Labels, names: Any, block: Block) -> Boxes:
    from assay.families.rectangles.loops import bound_classes

    assert block.y is not None
    K, d = len(labels.classes), block.X.shape[1]
    codes = np.ascontiguousarray(labels.encode(block.y), dtype=np.int64)
    low, high, count, weight = np.full((K, d), np.inf), np.full((K, d), -np.inf), np.zeros(K, np.int64), np.zeros(K)
    w = NO_WEIGHTS if block.w is None else block.w
    if not bound_classes(block.X, codes, w, low, high, count, weight):
        refuse_non_finite(block.X, block.start, names)
    return Boxes(low, high, count, weight, leaf_of(block.X, codes, block.w))


def _merge_boxes(a: Boxes, b: Boxes) -> Boxes:
    with np.errstate(over="ignore"):
        return Boxes(
            np.minimum(a.low, b.low),
            np.maximum(a.high, b.high),
            a.rows + b.rows,
            a.weight + b.weight,
            join(a.mark, b.mark),
        )


def few_digits(factor: Floats) -> Floats:
    """The factors of the classes to 30 binary digits."""
    part, power = np.frexp(factor)
    rounded: Floats = np.ldexp(np.rint(np.ldexp(part, FACTOR_BITS)), power - FACTOR_BITS)
    return rounded


def shift_for(total: float) -> int:
    """The power of two that makes weights of this sum as large as whole numbers of 61 digits allow."""
    return BITS - int(np.frexp(total)[1])


def covered_by(
    engine: Engine, rows: Rows, weighing: WholeWeights, lower: Floats, upper: Floats, owner: Array
) -> RectangleCoverage:
    """One fold: what each rectangle covers first."""
    found = fold(engine, rows.blocks(), partial(_absorb_covered, weighing, lower, upper, owner), _add)
    assert found is not None
    return RectangleCoverage(*found)


def _absorb_covered(
    weighing: WholeWeights, lower: Floats, upper: Floats, owner: Array, block: Block
) -> tuple[Array, ...]:
    assert block.y is not None
    codes = weighing.codes(block.y)
    return tuple(_cover(block.X, codes, weighing.weigh(codes, block.w)[0], lower, upper, owner))


def _cover(X: Array, codes: Array, u: Array, lower: Floats, upper: Floats, owner: Array) -> RectangleCoverage:
    from assay.families.rectangles.loops import count_covered

    covered = RectangleCoverage(*np.zeros((4, len(owner)), dtype=np.int64))
    lower, upper, owner = (np.require(a, None, ["C", "A"]) for a in (lower, upper, owner))
    count_covered(X, codes, u, lower, upper, owner, *covered)
    return covered


def _add(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x + y for x, y in zip(a, b))


def answered_by(model: Any, engine: Engine, rows: Rows, weighing: WholeWeights) -> RectangleConfusion:
    """One fold: what the rectangles of a finished model cover, and what it answers."""
    parts = model.lower_, model.upper_, model.unit_, model.owner_
    found = fold(engine, rows.blocks(), partial(_absorb_answers, weighing, model._places(), *parts), _add)
    assert found is not None
    return RectangleConfusion(RectangleCoverage(*found[:4]), found[4], bool(found[5]))


def _absorb_answers(
    weighing: WholeWeights, places: Array, lower: Floats, upper: Floats, unit: Floats, owner: Array, block: Block
) -> tuple[Any, ...]:
    from assay.families.rectangles.loops import count_answers

    assert block.y is not None
    codes = weighing.codes(block.y)
    K = len(weighing.labels.classes)
    u, rounded = weighing.weigh(codes, block.w)
    cells = np.zeros((K, K), dtype=np.int64)
    count_answers(codes, u, class_scores(block.X, lower, upper, unit, owner, places, K).argmax(axis=1), cells)
    return (*_cover(block.X, codes, u, lower, upper, owner), cells, int(rounded))


def class_scores(X: Array, lower: Floats, upper: Floats, unit: Floats, owner: Array, places: Array, K: int) -> Floats:
    """(m, K): the depth of each row in the rectangles of each class; of two classes ± that of the one that has rectangles.

    `places` (P,): the classes that have a problem of their own, in order.
    """
    Z = np.empty((len(X), len(places)))
    lower, upper, unit = (np.require(a, None, ["C", "A"]) for a in (lower, upper, unit))
    if X.size * len(lower) <= FEW and "assay.families.rectangles.loops" not in sys.modules:
        _few_depths(X, lower, upper, unit, np.searchsorted(places, owner), Z)
    else:
        from assay.families.rectangles.loops import signed_depths

        signed_depths(X, lower, upper, unit, np.searchsorted(places, owner), Z)
    if len(places) == K:
        return Z
    return np.concatenate([-Z, Z] if places[0] == 1 else [Z, -Z], axis=1)


def _few_depths(X: Array, lower: Floats, upper: Floats, unit: Floats, place: Array, Z: Floats) -> None:
    """As `families.rectangles.loops.boxes.signed_depths`, without the compiler: for a few rows it would take longer to load than they take."""
    lowest, tiny = float(np.finfo(np.float64).min) / 2, float(np.finfo(np.float64).tiny)
    x = X.astype(np.float64)
    finite = np.isfinite(x).all(axis=1)
    Z[:] = np.where(finite, lowest, np.nan)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        z = x / unit
        for r, p in enumerate(place):
            depth = np.minimum(z - lower[r] / unit, upper[r] / unit - z).min(axis=1)
            inside = ((lower[r] <= x) & (x <= upper[r])).all(axis=1)
            depth = np.where(inside, np.maximum(depth, tiny), np.maximum(np.minimum(depth, -tiny), lowest))
            Z[:, p] = np.where(finite, np.maximum(Z[:, p], depth), np.nan)
