"""Growing a tree depth first, the same text for every kind of target.

What a node becomes depends on its rows, its depth, its bounds and its key alone, never on the order in which nodes are grown: so a part
of a tree can be grown anywhere.

The rows of a node of a long table are all over its columns: each code is a line of far memory of its own. Once a node is small enough for
the codes of its rows to fit near the core, they are copied there; its entries count rows from 0 until its last leaf is done.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import config
from numba.extending import overload

from assay.compiled.decorator import inner, jit
from assay.compiled.mixing import child_key
from assay.compiled.simd.memory import data_pointer
from assay.families.trees.loops.absolute import MedianTargets
from assay.families.trees.loops.arrays import (
    HALF,
    LOW32,
    ONE,
    ZERO,
    CodedColumns,
    found_pointers,
    grown_pointers,
    lists_pointers,
    scratch_pointers,
    table_pointers,
)
from assay.families.trees.loops.kinds import cost, gain, target_pointers, total, weight
from assay.families.trees.loops.several import SeveralTargets
from assay.families.trees.loops.sorted_search import SORTED
from assay.families.trees.loops.splitting import find_split, mark_sides, narrow, part, part_lists, written
from assay.families.trees.loops.two_words import TwoClassTargets
from assay.families.trees.loops.worth import ClassTargets, NumberTargets


class GatheredNode(NamedTuple):
    """Room for the rows of a node. rows: at most so many are brought near (0: never), least: and at least so many."""

    codes: Any  # (d · rows,) as the table's
    home: Any  # (rows,) uint64: their numbers in the table
    target: Any  # with room for so many rows
    rows: int
    least: int


@jit(inline="always")
def near_table(t, codes, n):  # type: ignore[no-untyped-def]
    """The same columns, of n rows whose codes lie together."""
    return CodedColumns(
        codes, n, t.d, t.shift, t.buckets, t.missing, t.levels, t.values, t.first, t.trend, False, t.binned
    )


@inner
def bring_near(table, entries, a, b, codes, home):  # type: ignore[no-untyped-def]
    """Copy the codes of entries[a : b], whose rows are numbered from 0 on; home[i]: the number that row i had."""
    m, far, n = b - a, table.codes, table.n
    for i in range(m):
        e = entries[a + i]
        home[i] = e >> HALF
        entries[a + i] = (np.uint64(i) << HALF) | (e & LOW32)
    for f in range(table.d):
        first, own = f * n, f * m
        for i in range(m):
            codes[own + i] = far[first + np.int64(home[i])]


@inner
def bring_back(entries, a, b, home):  # type: ignore[no-untyped-def]
    """Give the rows of entries[a : b] their former numbers."""
    for i in range(a, b):
        e = entries[i]
        entries[i] = (home[np.int64(e >> HALF)] << HALF) | (e & LOW32)


@inner
def _copy(values, home, m, own):  # type: ignore[no-untyped-def]
    for i in range(m):
        own[i] = values[np.int64(home[i])]


@jit
def _two(target, home, m, own):  # type: ignore[no-untyped-def]
    """The entries say all."""


@jit
def _classes(target, home, m, own):  # type: ignore[no-untyped-def]
    if target.weighted:
        _copy(target.weight, home, m, own.weight)


@jit
def _numbers(target, home, m, own):  # type: ignore[no-untyped-def]
    _copy(target.value, home, m, own.value)
    _copy(target.plain, home, m, own.plain)
    if target.weighted:
        _copy(target.weight, home, m, own.weight)


TEXTS = {
    TwoClassTargets: _two,
    ClassTargets: _classes,
    NumberTargets: _numbers,
    MedianTargets: _numbers,
    SeveralTargets: _two,  # of which no node is brought near
}


def target_near(target, home, m, own):  # type: ignore[no-untyped-def]
    """Copy what a target knows of the rows home[:m]."""
    TEXTS[type(target)](target, home, m, own)


if not config.DISABLE_JIT:

    @overload(target_near)
    def _target_near(target, home, m, own):  # type: ignore[no-untyped-def]
        text = TEXTS[target.instance_class]
        return lambda target, home, m, own: text(target, home, m, own)


LATER = 3  # which child has more rows is known when the left one is there


@jit
def grow(
    target,
    table,
    rules,
    trends,
    entries,
    begin,
    end,
    others,
    spare,
    key,
    depth,
    lists,
    found,
    scratch,
    stack,
    keys,
    bounds,
    near,
    out,
):  # type: ignore[no-untyped-def]
    """Grow a tree from entries[begin : end]; (number of its nodes, of its splits by categories). stack (S, 6), keys (S,), bounds (S, 2):
    room for the nodes still to do; found.score[1:3]: the bounds of the first one. `others` go along: entries that
    the tree does not learn from."""
    along, channels = others.shape[0], out.sums.shape[1]
    target_, table_, lists_ = (
        target_pointers(target),
        table_pointers(table),
        None if lists is None else lists_pointers(lists),
    )
    found_, scratch_, out_ = found_pointers(found), scratch_pointers(scratch), grown_pointers(out)
    entries_, others_, spare_ = data_pointer(entries), data_pointer(others), data_pointer(spare)
    stack_, keys_, bounds_ = data_pointer(stack), data_pointer(keys), data_pointer(bounds)
    own_target, own_codes, home = target_pointers(near.target), data_pointer(near.codes), data_pointer(near.home)
    here, rows_of, nearest, near_first, near_last = table_, target_, -ONE, ZERO, ZERO
    nodes, sets, waiting = ZERO, ZERO, ONE
    stack_[0], stack_[1], stack_[2], stack_[3], stack_[4], stack_[5] = begin, end, depth, -1, 0, along
    keys_[0] = key
    bounds_[0], bounds_[1] = found_.score[1], found_.score[2]
    while waiting > 0:
        waiting -= 1
        top = 6 * waiting
        a, b, level, parent = stack_[top], stack_[top + 1], stack_[top + 2], stack_[top + 3]
        c, d = stack_[top + 4], stack_[top + 5]
        own = keys_[waiting]
        if waiting < nearest:
            bring_back(entries_, near_first, near_last, home)
            here, rows_of, nearest = table_, target_, -ONE
        if nearest < 0 and near.least <= b - a <= near.rows:
            bring_near(table_, entries_, a, b, own_codes, home)
            target_near(target_, home, b - a, own_target)
            here, rows_of, nearest = near_table(table_, own_codes, b - a), own_target, waiting
            near_first, near_last = a, b
        node = nodes
        nodes += 1
        if parent >= 0:
            out_.right[parent] = node
        n, alike = total(rows_of, entries_, a, b, out_.sums, node * channels)
        if parent < 0 and node > 0 and out_.missing[node - 1] == LATER:  # a left child follows its parent
            out_.missing[node - 1] = 1 if 2 * n > out_.rows[node - 1] else 0
        out_.rows[node], out_.start[node], out_.other[node] = n, a, c
        out_.feature[node], out_.right[node], out_.missing[node], out_.cut[node], out_.gain[node] = -1, -1, 0, 0.0, 0.0
        if trends:
            found_.score[1], found_.score[2] = bounds_[2 * waiting], bounds_[2 * waiting + 1]
            out_.bounds[2 * node], out_.bounds[2 * node + 1] = found_.score[1], found_.score[2]
        if alike or level >= rules.max_depth or n < rules.min_split or n < 2 * rules.min_leaf:
            continue
        find_split(rows_of, here, rules, entries_, a, b, n, out_.sums, node * channels, own, lists_, found_, scratch_)
        if found_.place[0] < 0:
            continue
        own_cost = cost(rows_of, rules, entries_, a, b, scratch_.number)
        won = gain(rows_of, rules, found_.score[0], own_cost, n, out_.sums, node * channels)
        if rules.min_gain > 0.0 and won * weight(rows_of, n, out_.sums, node * channels) < rules.min_gain:
            continue
        middle = part(here, found_, entries_, spare_, a, b)
        if lists is not None:  # noqa: SIM102 - known when this is compiled, so that forests do not wait for what they do not use
            if max(middle - a, b - middle) > SORTED:
                mark_sides(lists_, entries_, a, middle, b)
                part_lists(here, lists_, scratch_.order, ZERO, here.d, lists_.spare, a, b)
        many_left = np.int64(LATER)
        if trends or here.missing[found_.place[0]] >= 0:
            left_n, _ = total(rows_of, entries_, a, middle, scratch_.sums, 0)
            many_left = ONE if 2 * left_n > n else ZERO
        sets = written(here, found_, out_, node, sets, many_left)
        out_.gain[node] = won
        if trends:
            order, sums = scratch_.number, scratch_.sums
            narrow(
                here, found_, rows_of, entries_, a, middle, b, order, out_, node, sums, channels, bounds_, 2 * waiting
            )
        between = c
        if d > c:
            found_.place[3] = out_.missing[node]
            between = part(table_, found_, others_, spare_, c, d)
        stack_[top], stack_[top + 1], stack_[top + 2], stack_[top + 3] = middle, b, level + 1, node
        stack_[top + 4], stack_[top + 5] = between, d
        keys_[waiting] = child_key(own, False)
        stack_[top + 6], stack_[top + 7], stack_[top + 8], stack_[top + 9] = a, middle, level + 1, -1
        stack_[top + 10], stack_[top + 11] = c, between
        keys_[waiting + 1] = child_key(own, True)
        waiting += 2
    if nearest >= 0:
        bring_back(entries_, near_first, near_last, home)
    return nodes, sets
