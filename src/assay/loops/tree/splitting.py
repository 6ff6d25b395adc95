"""The best split of a node among the columns that it tries."""

from __future__ import annotations

import numpy as np

from assay.compiled import inner
from assay.compiled.simd.memory import prefetch_at
from assay.loops.tree.candidates import SLACK
from assay.loops.tree.dice import STEP, below, mixed
from assay.loops.tree.kinds import ceiling, listed, search
from assay.loops.tree.listed import SORTED, list_few
from assay.loops.tree.shapes import HALF, ZERO

NEAR = 1024  # rows of a node whose codes of a few columns fit a core's cache


@inner
def best_of(target, table, rules, entries, a, b, n, sums, at, f, k, width, word, lists, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on the columns f[k : k + width]; columns that lie sorted are gone through as they lie."""
    if lists is None:
        search(target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch)
        return
    most = ceiling(target, rules, entries, a, b, n, sums, at, scratch)
    for j in range(k, k + width):
        c = f[j]
        if table.levels[c] > 0:
            search(target, table, rules, entries, a, b, n, sums, at, f, j, 1, word, found, scratch)
            ceiling(target, rules, entries, a, b, n, sums, at, scratch)  # the search had the room
        else:
            if b - a <= SORTED:
                list_few(table, lists, entries, a, b, c)
            listed(target, table, rules, lists, a, b - a, n, sums, at, c, found, scratch)
        best = found.score[0]
        if best > -np.inf and (b - a == 2 or most <= best + 0.5 * SLACK * abs(best)):
            return  # every column that tells two rows apart does so equally well; and nothing beats the ceiling


@inner
def _ask_ahead(table, entries, a, b, f, k, width):  # type: ignore[no-untyped-def]
    """Start to load the codes of a small node in the columns f[k : k + width]: its rows lie far apart."""
    codes, n = table.codes, table.n
    for j in range(k, k + width):
        first = f[j] * n
        for i in range(a, b):
            prefetch_at(codes, first + np.int64(entries[i] >> HALF))


@inner
def find_split(target, table, rules, entries, a, b, n, sums, at, key, lists, found, scratch):  # type: ignore[no-untyped-def]
    """The best split of a node among `max_features` columns drawn by its key (more, until one varies)."""
    d, order, word = table.d, scratch.order, key
    found.score[0] = -np.inf
    found.place[0] = -1
    asked = rules.max_features
    if asked >= d:
        best_of(target, table, rules, entries, a, b, n, sums, at, order, ZERO, d, word, lists, found, scratch)
        return
    drawn, varies = ZERO, False
    while drawn < d and (drawn < asked or not varies):
        width = min(4, asked - drawn) if drawn < asked and b - a > 2 else 1
        for j in range(drawn, drawn + width):
            key += STEP
            other = j + below(mixed(key), d - j)
            scratch.swaps[j] = other
            order[j], order[other] = order[other], order[j]
        if table.far and b - a < NEAR:
            _ask_ahead(table, entries, a, b, order, drawn, width)
        varies |= search(target, table, rules, entries, a, b, n, sums, at, order, drawn, width, word, found, scratch)
        drawn += width
        if b - a == 2 and found.place[0] >= 0:
            break  # two rows can be parted in one way only: no other column does it better
    for j in range(drawn - 1, -1, -1):
        other = scratch.swaps[j]
        order[j], order[other] = order[other], order[j]
