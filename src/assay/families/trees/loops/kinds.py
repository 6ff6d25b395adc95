"""What growing a tree needs to know of a target, chosen by Numba from the type of the target, at compile time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config
from numba.extending import overload

from assay.compiled.decorator import jit
from assay.compiled.simd.memory import data_pointer
from assay.families.trees.loops.absolute import MedianTargets, absolute_cost, medians_gain, medians_search
from assay.families.trees.loops.arrays import ZERO
from assay.families.trees.loops.classes import classes_counted, classes_scan, classes_search
from assay.families.trees.loops.numbers import numbers_counted, numbers_search, numbers_total
from assay.families.trees.loops.several import (
    SeveralTargets,
    several_cost,
    several_gain,
    several_search,
    several_total,
)
from assay.families.trees.loops.sorted_search import numbers_ceiling, numbers_listed, two_ceiling, two_listed, unpacked
from assay.families.trees.loops.two_classes import two_counted, two_gain, two_search, two_total
from assay.families.trees.loops.two_words import TwoClassTargets
from assay.families.trees.loops.worth import (
    ClassTargets,
    NumberTargets,
    classes_gain,
    classes_total,
    numbers_gain,
)


@jit(inline="always")
def _two_pointers(target):  # type: ignore[no-untyped-def]
    return TwoClassTargets(data_pointer(target.xlogx))


@jit(inline="always")
def _classes_pointers(target):  # type: ignore[no-untyped-def]
    return ClassTargets(
        data_pointer(target.weight), target.weighted, data_pointer(target.xlogx), target.length, target.count
    )


@jit(inline="always")
def _numbers_pointers(t):  # type: ignore[no-untyped-def]
    return NumberTargets(
        data_pointer(t.value), data_pointer(t.weight), data_pointer(t.plain), t.weighted, t.unit, t.offset, t.factor
    )


@jit
def _two_total(target, entries, a, b, sums, at):  # type: ignore[no-untyped-def]
    return two_total(entries, a, b, sums, at)


@jit
def _no_cost(target, rules, entries, a, b, order):  # type: ignore[no-untyped-def]
    return 0.0


@jit
def _medians_cost(target, rules, entries, a, b, order):  # type: ignore[no-untyped-def]
    return absolute_cost(target, entries, a, b, order)[0]


@jit(inline="always")
def _medians_pointers(t):  # type: ignore[no-untyped-def]
    return MedianTargets(
        data_pointer(t.value),
        data_pointer(t.weight),
        data_pointer(t.plain),
        t.weighted,
        t.unit,
        t.offset,
        t.factor,
        t.stride,
        t.first,
    )


@jit(inline="always")
def _several_pointers(t):  # type: ignore[no-untyped-def]
    return SeveralTargets(
        data_pointer(t.value),
        data_pointer(t.weight),
        data_pointer(t.kind),
        t.weighted,
        t.classes,
        t.targets,
        t.channels,
        data_pointer(t.scale),
        data_pointer(t.real),
        data_pointer(t.offset),
        t.factor,
    )


@jit
def _no_lists(target, table, rules, lists, a, m, n, sums, at, f, found, scratch):  # type: ignore[no-untyped-def]
    """Medians, and the splits of several targets, are found node by node, never from lists."""


@jit
def _no_ceiling(target, rules, entries, a, b, n, sums, at, scratch):  # type: ignore[no-untyped-def]
    return np.inf


@jit
def _classes_listed(target, table, rules, lists, a, m, n, sums, at, f, found, scratch):  # type: ignore[no-untyped-def]
    unpacked(table, lists, f * lists.rows + a, m, f, scratch)
    classes_scan(target, table, rules, scratch.other, ZERO, m, lists.entry, n, sums, at, f, found, scratch)


@jit
def _never_counted(target, table, rules, n, sums, at, f, counts, first, found, scratch):  # type: ignore[no-untyped-def]
    """Medians do not follow from counts, and several targets are never counted."""
    return False


@jit(inline="always")
def _no_answer(target, entries, a, b, order, sums, at):  # type: ignore[no-untyped-def]
    return 0.0


@jit(inline="always")
def _mean_answer(target, entries, a, b, order, sums, at):  # type: ignore[no-untyped-def]
    return np.float64(sums[at + 1]) / np.float64(sums[at])


@jit
def _median_answer(target, entries, a, b, order, sums, at):  # type: ignore[no-untyped-def]
    return absolute_cost(target, entries, a, b, order)[1]


@jit(inline="always")
def _two_weight(target, n, sums, at):  # type: ignore[no-untyped-def]
    return np.float64(n)


@jit
def _classes_weight(target, n, sums, at):  # type: ignore[no-untyped-def]
    W = 0
    for k in range(target.count):
        W += sums[at + k]
    return np.float64(W)


@jit(inline="always")
def _numbers_weight(target, n, sums, at):  # type: ignore[no-untyped-def]
    return np.float64(sums[at])


TEXTS: dict[type, tuple[Any, ...]] = {
    TwoClassTargets: (
        _two_pointers,
        _two_total,
        two_search,
        two_gain,
        _no_cost,
        _no_answer,
        _two_weight,
        two_listed,
        two_counted,
        two_ceiling,
    ),
    ClassTargets: (
        _classes_pointers,
        classes_total,
        classes_search,
        classes_gain,
        _no_cost,
        _no_answer,
        _classes_weight,
        _classes_listed,
        classes_counted,
        _no_ceiling,
    ),
    NumberTargets: (
        _numbers_pointers,
        numbers_total,
        numbers_search,
        numbers_gain,
        _no_cost,
        _mean_answer,
        _numbers_weight,
        numbers_listed,
        numbers_counted,
        numbers_ceiling,
    ),
    MedianTargets: (
        _medians_pointers,
        numbers_total,
        medians_search,
        medians_gain,
        _medians_cost,
        _median_answer,
        _numbers_weight,
        _no_lists,
        _never_counted,
        _no_ceiling,
    ),
    SeveralTargets: (
        _several_pointers,
        several_total,
        several_search,
        several_gain,
        several_cost,
        _no_answer,
        _numbers_weight,
        _no_lists,
        _never_counted,
        _no_ceiling,
    ),
}


def target_pointers(target):  # type: ignore[no-untyped-def]
    """The target's arrays as addresses."""
    return TEXTS[type(target)][0](target)


def total(target, entries, a, b, sums, at):  # type: ignore[no-untyped-def]
    """(draws, whether the targets are all alike) of a node; sums[at:] receives its sums."""
    return TEXTS[type(target)][1](target, entries, a, b, sums, at)


def search(target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on the columns f[k : k + width]; whether any of them varies."""
    text = TEXTS[type(target)][2]
    return text(target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch)


def gain(target, rules, score, cost, n, sums, at):  # type: ignore[no-untyped-def]
    """u(C) − (p_L u(C_L) + p_R u(C_R)) of a split with that score."""
    return TEXTS[type(target)][3](target, rules, score, cost, n, sums, at)


def cost(target, rules, entries, a, b, order):  # type: ignore[no-untyped-def]
    """Σ w |y − median| of a node, where the criterion is that."""
    return TEXTS[type(target)][4](target, rules, entries, a, b, order)


def answer(target, entries, a, b, order, sums, at):  # type: ignore[no-untyped-def]
    """What the rows entries[a : b] would be answered with, where columns may have trends: their mean, in the units of their sums, or their median."""
    return TEXTS[type(target)][5](target, entries, a, b, order, sums, at)


def weight(target, n, sums, at):  # type: ignore[no-untyped-def]
    """The weight of a node's rows, in the units of its sums."""
    return TEXTS[type(target)][6](target, n, sums, at)


def listed(target, table, rules, lists, a, m, n, sums, at, f, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on column f of a node whose m rows lie sorted in its list from a on."""
    text = TEXTS[type(target)][7]
    return text(target, table, rules, lists, a, m, n, sums, at, f, found, scratch)


def ceiling(target, rules, entries, a, b, n, sums, at, scratch):  # type: ignore[no-untyped-def]
    """A score that no split of a node exceeds, whatever the column, but for rounding; what `listed` needs of the node besides."""
    return TEXTS[type(target)][9](target, rules, entries, a, b, n, sums, at, scratch)


def counted(target, table, rules, n, sums, at, f, counts, first, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on column f of a node whose codes are counted."""
    text = TEXTS[type(target)][8]
    return text(target, table, rules, n, sums, at, f, counts, first, found, scratch)


def _texts(target: Any) -> tuple[Any, ...]:
    return TEXTS[target.instance_class]


if not config.DISABLE_JIT:

    @overload(target_pointers)
    def _bare(target):  # type: ignore[no-untyped-def]
        text = _texts(target)[0]
        return lambda target: text(target)

    @overload(total)
    def _total(target, entries, a, b, sums, at):  # type: ignore[no-untyped-def]
        text = _texts(target)[1]
        return lambda target, entries, a, b, sums, at: text(target, entries, a, b, sums, at)

    @overload(search)
    def _search(target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch):  # type: ignore[no-untyped-def]
        text = _texts(target)[2]
        return lambda target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch: text(
            target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch
        )

    @overload(gain)
    def _gain(target, rules, score, cost, n, sums, at):  # type: ignore[no-untyped-def]
        text = _texts(target)[3]
        return lambda target, rules, score, cost, n, sums, at: text(target, rules, score, cost, n, sums, at)

    @overload(cost)
    def _cost(target, rules, entries, a, b, order):  # type: ignore[no-untyped-def]
        text = _texts(target)[4]
        return lambda target, rules, entries, a, b, order: text(target, rules, entries, a, b, order)

    @overload(answer)
    def _answer(target, entries, a, b, order, sums, at):  # type: ignore[no-untyped-def]
        text = _texts(target)[5]
        return lambda target, entries, a, b, order, sums, at: text(target, entries, a, b, order, sums, at)

    @overload(weight)
    def _weight(target, n, sums, at):  # type: ignore[no-untyped-def]
        text = _texts(target)[6]
        return lambda target, n, sums, at: text(target, n, sums, at)

    @overload(listed)
    def _listed(target, table, rules, lists, a, m, n, sums, at, f, found, scratch):  # type: ignore[no-untyped-def]
        text = _texts(target)[7]
        return lambda target, table, rules, lists, a, m, n, sums, at, f, found, scratch: text(
            target, table, rules, lists, a, m, n, sums, at, f, found, scratch
        )

    @overload(ceiling)
    def _ceiling(target, rules, entries, a, b, n, sums, at, scratch):  # type: ignore[no-untyped-def]
        text = _texts(target)[9]
        return lambda target, rules, entries, a, b, n, sums, at, scratch: text(
            target, rules, entries, a, b, n, sums, at, scratch
        )

    @overload(counted)
    def _counted(target, table, rules, n, sums, at, f, counts, first, found, scratch):  # type: ignore[no-untyped-def]
        text = _texts(target)[8]
        return lambda target, table, rules, n, sums, at, f, counts, first, found, scratch: text(
            target, table, rules, n, sums, at, f, counts, first, found, scratch
        )
