"""Targets as whole numbers, so that sums are exact: in whatever order and wherever rows are added up, a tree is the same.

A weight w becomes W = round(w / u) with u a power of two so small that all of them together just fit 62 bits; a weighted number
w (y − offset) likewise. What is lost is less than 2⁻⁴⁰ of the greatest, for up to four million rows, and nothing at all where the
numbers are whole or short binary fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, ldexp
from typing import Any, NamedTuple

import numpy as np

from assay.errors import DataError
from assay.families.trees.loops.absolute import MedianTargets
from assay.families.trees.loops.arrays import ABSOLUTE, ENTROPY, GINI, POISSON
from assay.families.trees.loops.several import SeveralTargets
from assay.families.trees.loops.two_words import TwoClassTargets
from assay.families.trees.loops.worth import ClassTargets, NumberTargets
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats

BITS = 61
LEAST = -1074  # exponent of the least power of two
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


class ValuePowers(NamedTuple):
    """Exponents of the powers of two that bring weights and numbers to at most one, so that no product of them is lost however great or
    small they are; and of what a whole value of such products is worth."""

    weight: int
    number: int
    unit: int

    def whole(self, x: Floats, w: Floats | None) -> Array:
        """The whole values of numbers x with weights w."""
        x = np.clip(_scaled(x, self.number), -1.0, 1.0)  # rows that do not count may hold anything
        return _whole(x if w is None else _scaled(w, self.weight) * x, 2.0**self.unit)


PLAIN = ValuePowers(0, 0, 0)


def _scaled(x: Floats, power: int) -> Floats:
    """x / 2**power, in two steps: the power itself may be no number."""
    half = power // 2
    with np.errstate(over="ignore"):
        out: Floats = x * 2.0**-half * 2.0 ** (half - power)
    return out


def _powers(top: float, heaviest: float | None, weight_unit: float, draws: int) -> tuple[ValuePowers, float]:
    """The powers of numbers up to `top` with weights up to `heaviest` (None: one each), and the unit of their means."""
    (m, number), (v, weight) = frexp(top), (1.0, 0) if heaviest is None else frexp(heaviest)
    down = weight + number - frexp(weight_unit)[1] + 1  # from products to means
    mean = max(frexp(m * v)[1] + int(draws).bit_length() - BITS + down, LEAST)
    return ValuePowers(weight, number, mean - down), ldexp(1.0, mean)


@dataclass(frozen=True)
class Target:
    """What the loops add up. `weight_unit`: what one of the whole weights is worth, `mean_unit`: a whole value for a whole weight."""

    loops: Any  # TwoClasses, Classes or Numbers
    labels: Array  # (n,) uint16: classes; zeros where the target is a number
    channels: int
    criterion: int
    classes: int  # of all targets; 0: numbers
    weight_unit: float = 1.0
    mean_unit: float = 1.0
    offset: float = 0.0
    plain_unit: float = 1.0
    value_powers: ValuePowers = PLAIN
    targets: int = 1
    each: tuple[Target, ...] = ()  # of several numbers how each is scaled

    @property
    def two(self) -> bool:
        """Whether an entry's label holds its draws of the second class."""
        return isinstance(self.loops, TwoClassTargets)

    @property
    def weight(self) -> Array:
        """Whole weights of the rows; empty where all are one."""
        return NONE if self.two else self.loops.weight

    def weights(self, sums: Array, rows: Array) -> Floats:
        """The weight of each node from its sums (N, C)."""
        if isinstance(self.loops, NumberTargets | MedianTargets | SeveralTargets):
            total: Floats = sums[:, 0] * self.weight_unit
            return total
        whole: Floats = sums.sum(axis=1) * self.weight_unit
        return whole


def _unit(greatest: float, draws: int) -> float:
    """The least power of two u such that `draws` numbers up to `greatest` stay below 2**BITS when counted in u."""
    return ldexp(1.0, max(frexp(greatest)[1] + int(draws).bit_length() - BITS, LEAST))


def _whole(x: Floats, unit: float) -> Array:
    """x in units; rows of weight zero may hold anything, and are cut to what fits."""
    with np.errstate(over="ignore"):
        return np.rint(np.clip(x / unit, -(2.0**62), 2.0**62)).astype(np.int64)


def _xlogx(n: int) -> Floats:
    x = np.arange(min(n, TABLED) + 1, dtype=np.float64)
    x[1:] *= np.log(x[1:])
    return x


@dataclass(frozen=True)
class TargetScaling:
    """How targets and weights become whole numbers, block by block: the same ones as for all rows together.

    A row's numbers are, of two counted classes, (draws, draws of the second); of more classes (weight of each …, draws); of numbers
    (draws, weight, value). One more orders the rows by target and is not added up.
    """

    kind: str  # "two", "classes", "numbers"
    labels: Labels | None
    multipliers: Floats | None
    weighted: bool
    criterion: int
    classes: int
    weight_unit: float
    mean_unit: float
    offset: float
    unit: float
    plain_unit: float
    value_powers: ValuePowers
    factor: float
    xlogx: Floats

    @property
    def channels(self) -> int:
        """Numbers of a row that are added up."""
        return {"two": 2, "classes": self.classes + 1, "numbers": 3}[self.kind]

    @property
    def draws(self) -> int:
        """Which of a row's numbers are its draws."""
        return self.classes if self.kind == "classes" else 0

    @classmethod
    def of(cls, target: Target, labels: Labels | None, multipliers: Floats | None) -> TargetScaling:
        """The recipe by which this target was made."""
        loops = target.loops
        kind = "two" if target.two else "classes" if isinstance(loops, ClassTargets) else "numbers"
        plain = kind == "numbers"
        return cls(
            kind,
            labels,
            multipliers,
            not target.two and bool(loops.weighted),
            target.criterion,
            target.classes,
            target.weight_unit,
            target.mean_unit,
            target.offset,
            loops.unit if plain else 1.0,
            target.plain_unit,
            target.value_powers,
            loops.factor if plain else 1.0,
            np.zeros(1) if plain else loops.xlogx,
        )

    def numbers(self, y: Array | None, w: Array | None, times: Array | None) -> Array:
        """The whole numbers (m, channels + 1) of a block's rows."""
        assert y is not None
        n = len(y)
        t = np.ones(n, np.int64) if times is None else times.astype(np.int64)
        codes = None if self.labels is None else self.labels.encode(y)
        if self.multipliers is not None:
            assert codes is not None
            w = self.multipliers[codes] if w is None else w * self.multipliers[codes]
        weight = _whole(w, self.weight_unit) if self.weighted and w is not None else np.ones(n, np.int64)
        t = np.where(weight > 0, t, 0)
        out = np.zeros((n, self.channels + 1), np.int64)
        out[:, self.draws] = t
        if self.kind == "two":
            assert codes is not None
            out[:, 1] = t * codes
        elif self.kind == "classes":
            assert codes is not None
            out[np.arange(n), codes] = t * weight
        else:
            out[:, 1] = t * weight
            out[:, 2] = t * self._values(y, codes, w, weight)
        out[:, -1] = _whole(y.astype(np.float64) - self.offset, self.plain_unit) if codes is None else codes
        return out

    def _values(self, y: Array, codes: Array | None, w: Array | None, weight: Array) -> Array:
        if codes is not None:
            ones: Array = weight * (codes == 1)
            return ones
        x = y.astype(np.float64) - self.offset
        return self.value_powers.whole(x, w if self.weighted else None)

    def sums(self, whole: Array) -> Array:
        """The sums that a node keeps, of the sum of its rows' numbers."""
        if self.kind == "two":
            return np.array([whole[0] - whole[1], whole[1]])
        return whole[:-1].copy() if self.kind == "classes" else whole[1:].copy()

    def target(self, numbers: Array) -> Target:
        """The target of rows with these numbers."""
        t = np.maximum(numbers[:, self.draws], 1)
        labels = np.zeros(len(numbers), np.uint16)
        loops: Any
        if self.kind == "two":
            loops, labels = TwoClassTargets(self.xlogx), numbers[:, -1].astype(np.uint16)
        elif self.kind == "classes":
            labels = numbers[:, -1].astype(np.uint16)
            weight = numbers[np.arange(len(numbers)), labels] // t if self.weighted else NONE
            loops = ClassTargets(weight, self.weighted, self.xlogx, len(self.xlogx), self.classes)
        else:
            value = numbers[:, 2] // t
            weight = numbers[:, 1] // t if self.weighted else NONE
            loops = NumberTargets(
                value, weight, numbers[:, -1].copy(), self.weighted, self.unit, self.offset, self.factor
            )
        channels = self.classes if self.kind == "classes" else 2
        return Target(
            loops, labels, channels, self.criterion, self.classes, self.weight_unit, self.mean_unit, self.offset
        )


def class_target(codes: Array, K: int, w: Floats | None, criterion: str, draws: int, trends: bool) -> Target:
    """Classes 0 … K − 1 with weights w (None: one each), of which at most `draws` are added up."""
    code = CRITERIA[criterion]
    labels = codes.astype(np.uint16)
    if w is None and K <= 2 and not trends and draws < TABLED:
        return Target(TwoClassTargets(_xlogx(draws) if code == ENTROPY else np.zeros(1)), labels, 2, code, 2)
    unit = 1.0 if w is None else _unit(float(w.max()), draws)
    weight = NONE if w is None else _whole(w, unit)
    if K <= 2:
        value = codes.astype(np.int64) if w is None else weight * (codes == 1)
        loops = NumberTargets(value, weight, codes.astype(np.int64), w is not None, 1.0, 0.0, 2.0)
        return Target(loops, np.zeros(len(codes), np.uint16), 2, code, 2, unit)
    table = _xlogx(draws) if code == ENTROPY and w is None else np.zeros(1)
    return Target(ClassTargets(weight, w is not None, table, len(table), K), labels, K, code, K, unit)


def number_target(y: Floats, w: Floats | None, criterion: str, draws: int, low: float, high: float) -> Target:
    """Numbers between low and high with weights w (None: one each); rows too light to count may lie outside."""
    code = CRITERIA[criterion]
    heaviest = None if w is None else float(w.max())
    weight_unit = 1.0 if heaviest is None else _unit(heaviest, draws)
    weight = NONE if w is None else _whole(w, weight_unit)
    if w is not None and np.any((weight == 0) & (w > 0)):
        low, high = float(y[weight > 0].min()), float(y[weight > 0].max())
    if code == POISSON and not 0 <= low <= high > 0:
        what = (
            "Some value(s) of y are negative which is not allowed for Poisson regression"
            if low < 0
            else "Sum of y is not strictly positive which is necessary for Poisson regression"
        )
        raise DataError(f"{what}. criterion='poisson' needs a target that is nowhere negative and somewhere positive.")
    offset = 0.0 if code == POISSON else _offset(low, high)
    x, top = y - offset, max(abs(low - offset), abs(high - offset))
    powers, mean_unit = _powers(top, heaviest, weight_unit, draws)
    plain_unit = _unit(top, 1)
    unit = plain_unit if code == ABSOLUTE else mean_unit
    kind = MedianTargets if code == ABSOLUTE else NumberTargets
    loops = kind(powers.whole(x, w), weight, _whole(x, plain_unit), w is not None, unit, offset, 1.0)
    return Target(loops, np.zeros(len(y), np.uint16), 2, code, 0, weight_unit, mean_unit, offset, plain_unit, powers)


def several_classes(codes: Array, sizes: Array, w: Floats | None, criterion: str, draws: int) -> Target:
    """Classes of T targets, codes (n, T) of each its own; sizes (T,): how many each has."""
    T, C = len(sizes), int(sizes.sum())
    unit = 1.0 if w is None else _unit(float(w.max()), draws)
    loops = SeveralTargets(
        np.ascontiguousarray(codes + (np.cumsum(sizes) - sizes)).reshape(-1),
        NONE if w is None else _whole(w, unit),
        _kinds(codes),
        w is not None,
        True,
        T,
        C,
        np.ones(C),
        np.ones(C),
        np.zeros(T),
        1.0 / T,
    )
    return Target(loops, np.zeros(len(codes), np.uint16), C + 1, CRITERIA[criterion], C, unit, targets=T)


def several_numbers(y: Floats, w: Floats | None, criterion: str, draws: int, low: Floats, high: Floats) -> Target:
    """T numbers y (n, T) of each row, each scaled as one of its own."""
    T = y.shape[1]
    each = tuple(number_target(y[:, t], w, criterion, draws, float(low[t]), float(high[t])) for t in range(T))
    first, absolute = each[0], each[0].criterion == ABSOLUTE
    real = np.array([own.loops.unit for own in each])
    size = 1.0 if first.criterion in (ABSOLUTE, POISSON) else float(real.max())
    loops = SeveralTargets(
        np.stack([own.loops.plain if absolute else own.loops.value for own in each], axis=1).reshape(-1),
        first.loops.weight,
        _kinds(np.stack([own.loops.plain for own in each], axis=1)),
        w is not None,
        False,
        T,
        T,
        real / size,
        real,
        np.array([own.offset for own in each]),
        size * size / T,
    )
    return Target(
        loops,
        first.labels,
        T + 1,
        first.criterion,
        0,
        first.weight_unit,
        plain_unit=first.plain_unit,
        targets=T,
        each=each,
    )


def _kinds(targets: Array) -> Array:
    """Equal numbers for rows that are equal in all targets."""
    return np.unique(targets, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _offset(low: float, high: float) -> float:
    """A number amid those far from zero, of which little is then lost; a whole one where that is as good, since whole numbers stay whole."""
    middle, apart = 0.5 * low + 0.5 * high, high - low
    if abs(middle) <= 8 * apart:
        return 0.0
    whole = float(np.rint(middle))
    return whole if abs(whole - middle) <= 2 * apart else middle
