"""Level by level: the codes of many nodes counted in one pass over the rows, and the best split of a node from its counts."""

from __future__ import annotations

import numpy as np

from assay.compiled import jit
from assay.compiled.simd.memory import data_pointer
from assay.loops.tree.dice import STEP, below, mixed
from assay.loops.tree.kinds import counted, target_pointers
from assay.loops.tree.shapes import found_pointers, scratch_pointers, table_pointers


@jit
def route(codes, feature, cut, left, right, missing, lost, sets, node):  # type: ignore[no-untyped-def]
    """node[i]: the node of the top of a tree where row i ends; codes (d, m), feature −1: not split (yet)."""
    for i in range(codes.shape[1]):
        at = 0
        while feature[at] != -1:
            f = feature[at]
            if f >= 0:
                c = np.int64(codes[f, i])
                goes = missing[at] == 1 if c == lost[f] else c <= cut[at]
            else:
                c = np.int64(codes[-2 - f, i])
                goes = (sets[cut[at], c >> 6] >> np.uint64(c & 63)) & np.uint64(1) != 0
            at = left[at] if goes else right[at]
        node[i] = at


@jit
def count_codes(codes, numbers, slot, counts):  # type: ignore[no-untyped-def]
    """counts[slot[i], j, code] += numbers[i] for every column j; slot −1: the row is in none of the nodes. The last number of a row
    is left out."""
    C = counts.shape[3]
    for j in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            if slot[i] >= 0:
                row = counts[slot[i], j, codes[j, i]]
                for c in range(C):
                    row[c] += numbers[i, c]


@jit
def best_counted(target, table, rules, n, sums, counts, key, found, scratch):  # type: ignore[no-untyped-def]
    """The best split of a node among `max_features` columns drawn by its key (more, until one varies). counts (d, 256, C)."""
    t, b, r, s, c = (
        target_pointers(target),
        table_pointers(table),
        found_pointers(found),
        scratch_pointers(scratch),
        data_pointer(counts),
    )
    d, order = table.d, scratch.order
    wide = counts.shape[1] * counts.shape[2]
    found.score[0] = -np.inf
    found.place[0] = -1
    total = data_pointer(sums)
    drawn, varies = 0, False
    for j in range(d):
        order[j] = j
    while drawn < d and (drawn < rules.max_features or not varies):
        if rules.max_features < d:
            key += STEP
            other = drawn + below(mixed(key), d - drawn)
            order[drawn], order[other] = order[other], order[drawn]
        f = order[drawn]
        varies |= counted(t, b, rules, n, total, 0, f, c, f * wide, r, s)
        drawn += 1
    for j in range(d):
        order[j] = j
