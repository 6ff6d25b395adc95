"""Targets as whole numbers, so that sums are exact: in whatever order and wherever rows are added up, a tree is the same.

A weight w becomes W = round(w / u) with u a power of two so small that all of them together just fit 62 bits; a weighted number
w (y − offset) likewise. What is lost is less than 2⁻⁴⁰ of the greatest, for up to four million rows, and nothing at all where the
numbers are whole or short binary fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp
from typing import Any

import numpy as np

from assay.loops.tree.classes import Classes
from assay.loops.tree.numbers import Numbers
from assay.loops.tree.shapes import ABSOLUTE, ENTROPY, GINI, POISSON
from assay.loops.tree.two_classes import TwoClasses
from assay.numerics import Array, Floats

BITS = 61
TABLED = 1 << 22  # whole numbers whose x log x is looked up
NONE = np.zeros(0, dtype=np.int64)
CRITERIA = {
    "gini": GINI,
    "entropy": ENTROPY,
    "log_loss": ENTROPY,
    "squared_error": GINI,
    "poisson": POISSON,
    "absolute_error": ABSOLUTE,
}


@dataclass(frozen=True)
class Target:
    """What the loops add up. `weight_unit`, `value_unit`: what one of their whole numbers is worth."""

    loops: Any  # TwoClasses, Classes or Numbers
    labels: Array  # (n,) uint16: classes; zeros where the target is a number
    channels: int
    criterion: int
    classes: int  # 0: a number
    weight_unit: float = 1.0
    value_unit: float = 1.0
    offset: float = 0.0

    @property
    def two(self) -> bool:
        """Whether an entry's label holds its draws of the second class."""
        return isinstance(self.loops, TwoClasses)

    @property
    def weight(self) -> Array:
        """Whole weights of the rows; empty where all are one."""
        return NONE if self.two else self.loops.weight

    def weights(self, sums: Array, rows: Array) -> Floats:
        """The weight of each node from its sums (N, C)."""
        if isinstance(self.loops, Numbers):
            total: Floats = sums[:, 0] * self.weight_unit
            return total
        return sums.sum(axis=1) * self.weight_unit


def _unit(greatest: float, draws: int) -> float:
    """The least power of two u such that `draws` numbers up to `greatest` stay below 2**BITS when counted in u."""
    return float(2.0 ** (frexp(max(greatest, 1e-290))[1] + int(draws).bit_length() - BITS))


def _whole(x: Floats, unit: float) -> Array:
    return np.rint(x / unit).astype(np.int64)


def _xlogx(n: int) -> Floats:
    x = np.arange(min(n, TABLED) + 1, dtype=np.float64)
    x[1:] *= np.log(x[1:])
    return x


def class_target(codes: Array, K: int, w: Floats | None, criterion: str, draws: int, trends: bool) -> Target:
    """Classes 0 … K − 1 with weights w (None: one each), of which at most `draws` are added up."""
    code = CRITERIA[criterion]
    labels = codes.astype(np.uint16)
    if w is None and K <= 2 and not trends and draws < TABLED:
        return Target(TwoClasses(_xlogx(draws) if code == ENTROPY else np.zeros(1)), labels, 2, code, 2)
    unit = 1.0 if w is None else _unit(float(w.max()), draws)
    weight = NONE if w is None else _whole(w, unit)
    if K <= 2:
        value = codes.astype(np.int64) if w is None else weight * (codes == 1)
        loops = Numbers(value, weight, codes.astype(np.int64), w is not None, 1.0, 0.0, 2.0)
        return Target(loops, np.zeros(len(codes), np.uint16), 2, code, 2, unit, unit)
    table = _xlogx(draws) if code == ENTROPY and w is None else np.zeros(1)
    return Target(Classes(weight, w is not None, table, len(table), K), labels, K, code, K, unit, unit)


def number_target(y: Floats, w: Floats | None, criterion: str, draws: int, low: float, high: float) -> Target:
    """Numbers between low and high with weights w (None: one each)."""
    code = CRITERIA[criterion]
    middle = 0.5 * low + 0.5 * high
    offset = float(np.rint(middle)) if code != POISSON and abs(middle) > 8 * (high - low) else 0.0
    if abs(offset) > 2.0**52:
        offset = middle
    x = y - offset
    top = max(abs(low - offset), abs(high - offset))
    weight_unit = 1.0 if w is None else _unit(float(w.max()), draws)
    value_unit = _unit(top * (1.0 if w is None else float(w.max())), draws)
    plain_unit = _unit(top, 1)
    plain = _whole(x, plain_unit)
    value = _whole(x if w is None else w * x, value_unit)
    unit = plain_unit if code == ABSOLUTE else value_unit / weight_unit
    factor = (value_unit / weight_unit) ** 2
    loops = Numbers(value, NONE if w is None else _whole(w, weight_unit), plain, w is not None, unit, offset, factor)
    return Target(loops, np.zeros(len(y), np.uint16), 2, code, 0, weight_unit, value_unit, offset)
