"""A subtree's rows numbered anew while it is grown, so that what it reads of them lies together.

The rows of a node of a long table are all over its columns: each code is a line of far memory of its own. Once a node is small enough for
the codes of its rows to fit near the core, they are copied there; its entries count rows from 0 until its last leaf is done.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import config
from numba.extending import overload

from assay.compiled import inner, jit
from assay.loops.tree.shapes import HALF, LOW32, Table


class Near(NamedTuple):
    """Room for the rows of a node. rows: at most so many are brought near (0: never), least: and at least so many."""

    codes: Any  # (d · rows,) as the table's
    home: Any  # (rows,) uint64: their numbers in the table
    target: Any  # with room for so many rows
    rows: int
    least: int


@jit(inline="always")
def near_table(t, codes, n):  # type: ignore[no-untyped-def]
    """The same columns, of n rows whose codes lie together."""
    return Table(codes, n, t.d, t.shift, t.buckets, t.missing, t.levels, t.values, t.first, t.trend, False, t.binned)


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


TEXTS = {"TwoClasses": _two, "Classes": _classes, "Numbers": _numbers, "Medians": _numbers}


def target_near(target, home, m, own):  # type: ignore[no-untyped-def]
    """Copy what a target knows of the rows home[:m]."""
    TEXTS[type(target).__name__](target, home, m, own)


if not config.DISABLE_JIT:

    @overload(target_near)
    def _target_near(target, home, m, own):  # type: ignore[no-untyped-def]
        text = TEXTS[target.instance_class.__name__]
        return lambda target, home, m, own: text(target, home, m, own)
