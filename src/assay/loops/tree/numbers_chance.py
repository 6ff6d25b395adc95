"""A random split of a node of numbers."""

from __future__ import annotations

import numpy as np

from assay.compiled import inlined
from assay.compiled.simd.memory import cast_pointer
from assay.loops.tree.candidates import beats
from assay.loops.tree.chance import keep_random_threshold, random_threshold
from assay.loops.tree.numbers_worth import score_sums, squared_is_all, times_of
from assay.loops.tree.shapes import ONE


@inlined
def _squared_of_sum(W, Z, g, h):  # type: ignore[no-untyped-def]
    """As `squared_of_sums`, of one split between sides that both weigh something; −∞ where one does not."""
    a, b, c, d = W + g, Z + h, W - g, Z - h
    return (b * b * c + d * d * a) / (a * c) if a > 0.0 and c > 0.0 else -np.inf


@inlined
def numbers_by_random_threshold(target, table, rules, entries, a, b, f, n, tot, at, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by one random split of column f; z and w of the rows lie in scratch.signed and scratch.weight. Says whether the
    column varies."""
    own, w, z = cast_pointer(scratch.items, table.codes), scratch.weight, scratch.signed
    cut, high, threshold, left = random_threshold(table, entries, a, b, f, word, own)
    if cut < 0:
        return False
    gone = table.missing[f] if left == 1 else np.int64(-1)
    c, W, Z = 0, 0, 0
    for i in range(b - a):
        there = (np.int64(own[i]) <= cut) | (np.int64(own[i]) == gone)
        W += w[i] if there else 0
        Z += z[i] if there else 0
    if target.weighted:
        for i in range(b - a):
            c += times_of(entries[a + i]) if (np.int64(own[i]) <= cut) | (np.int64(own[i]) == gone) else 0
    else:
        c = W
    g, h = np.float64(2 * W - tot[at]), np.float64(2 * Z - tot[at + 1])
    if squared_is_all(rules, table.trend[f]):
        if c < rules.min_leaf or n - c < rules.min_leaf:
            return True
        worth = _squared_of_sum(0.5 * np.float64(tot[at]), 0.5 * np.float64(tot[at + 1]), 0.5 * g, 0.5 * h)
    else:
        scratch.number[0], scratch.real[0], scratch.real[scratch.reach] = c, g, h
        score_sums(target, rules, tot, at, n, table.trend[f], found, scratch, ONE)
        worth = scratch.worth[0]
    if beats(worth, found):
        keep_random_threshold(table, found, worth, f, cut, high, threshold, left)
    return True
