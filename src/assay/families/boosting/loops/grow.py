"""One tree of a stage, leaf by leaf: the leaf whose split gains most is split next.

Several threads grow it together, each with rows of its own, which it keeps sorted by leaf (stable, so in rising order). A split is made so: each thread
parts its rows and counts the smaller child; then each joins some columns, subtracts them from the parent's and scans them; then all know the best
split of both children. Two barriers a split. Sums are whole numbers, so neither the threads nor their shares change a bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.boosting import BINS, TOGETHER, add_eight, add_pair
from assay.compiled.simd.memory import barrier, data_pointer, keep_alive, prefetch_at
from assay.families.boosting.loops.scan import (
    BITS,
    CODE,
    COLUMN,
    FIELDS,
    GRADIENT,
    MISSING,
    NONE,
    ROOM,
    SET,
    WORD,
    ScanRoom,
    answer,
    scan_column,
    shrunk,
    worth_of,
)

AHEAD_OF_COUNTS = 32  # rows that are asked for before their turn
AHEAD = 24
TINY = 1e-12  # of a node's worth: a gain that rounding may feign


@inner
def count_rows(codes, d, rows, a, b, columns, used, words, sums, at):  # type: ignore[no-untyped-def]
    """Add the words of rows[a:b] to the bins of some columns (`used` of them; all: eight at a time), which begin at bin `at`. All arrays are addresses."""
    whole = d - d % TOGETHER
    for i in range(a, b):
        if i + AHEAD_OF_COUNTS < b:
            q = np.int64(rows[i + AHEAD_OF_COUNTS])
            prefetch_at(codes, q * d)
            prefetch_at(codes, q * d + d - 1)
            prefetch_at(words, 2 * q)
        r = np.int64(rows[i])
        base = r * d
        if used == d:
            for j in range(0, whole, TOGETHER):
                add_eight(sums, 2 * (at + BINS * j), codes, base + j, words, 2 * r)
            for j in range(whole, d):
                add_pair(sums, 2 * (at + BINS * j + np.int64(codes[base + j])), words, 2 * r)
        else:
            for k in range(used):
                j = columns[k]
                add_pair(sums, 2 * (at + BINS * j + np.int64(codes[base + j])), words, 2 * r)


@inner
def clear(sums, at, bins):  # type: ignore[no-untyped-def]
    """All bins from `at` on nothing."""
    for b in range(2 * at, 2 * (at + bins)):
        sums[b] = 0


@inner
def join(parts, ranks, bins, turn, a, b, sums, at):  # type: ignore[no-untyped-def]
    """The bins a … b − 1 of what each thread has counted of its first (turn 0) or second node, added up into `sums` from bin `at` on."""
    for k in range(2 * a, 2 * b):
        sums[2 * at + k] = 0
    for rank in range(ranks):
        base = 2 * (2 * rank + turn) * bins
        for k in range(2 * a, 2 * b):
            sums[2 * at + k] += parts[base + k]


@inner
def subtract(sums, whole, part, a, b):  # type: ignore[no-untyped-def]
    """From the bins a … b − 1 of one node take those of its child."""
    for k in range(2 * a, 2 * b):
        sums[2 * whole + k] -= sums[2 * part + k]


class BinnedColumns(NamedTuple):
    """Codes twice, row by row and column by column; `buckets` (d,): a column's codes; `missing` (d,): its code of a missing value or −1;
    `by_set` (d,): 1 for categories; `trend` (d,); `groups` (g, d): columns that may meet on a way, 1 each; no group: all may."""

    by_row: Any  # (n, d) uint8
    by_column: Any  # (d, n) uint8
    buckets: Any
    missing: Any
    by_set: Any
    trend: Any
    groups: Any


class GrowthRules(NamedTuple):
    """most: leaves; deepest: splits on a way; least: rows of a leaf; gain: least gain of a split, in units of the scores."""

    most: int
    deepest: int
    least: int
    gain: float
    slots: int  # histograms that are kept


class StageRoom(NamedTuple):
    """Room that stages share. order, rows, spare (n,) uint32: each thread's own between begin[rank] and begin[rank + 1], `order` as a stage begins; parts (ranks · 2 · bins, 2): what a thread
    counts; sums (slots · bins, 2); scores (2, ranks), splits (2, ranks, FIELDS): the best of each thread's columns; flags: of the barrier."""

    order: Any
    rows: Any
    spare: Any
    begin: Any
    parts: Any
    sums: Any
    scores: Any
    splits: Any
    flags: Any


class GrownNodes(NamedTuple):
    """The nodes in the order in which they came to be, up to 2 · most − 1; left: the left child (the right one follows it), −1: a leaf."""

    left: Any  # (M,) int64
    split: Any  # (M, FIELDS) int64
    gain: Any  # (M,) float64, in units
    sums: Any  # (M, 2) int64
    bounds: Any  # (M, 2) float64
    first: Any  # (ranks, M) int64: where a node's rows begin, of each thread
    count: Any  # (ranks, M) int64


@inner
def _part(column, side, rows, spare, a, b):  # type: ignore[no-untyped-def]
    """Part rows[a:b] by side[code], stably; where the right ones begin."""
    left, right = a, 0
    for i in range(a, b):
        if i + AHEAD < b:
            prefetch_at(column, np.int64(rows[i + AHEAD]))
        r = rows[i]
        goes = np.int64(side[column[r]])
        rows[left] = r
        spare[a + right] = r
        left += goes
        right += 1 - goes
    for k in range(right):
        rows[left + k] = spare[a + k]
    return left


@inner
def _sides(split, missing, side):  # type: ignore[no-untyped-def]
    """side[code]: 1 where a code goes to the left."""
    for c in range(256):
        side[c] = (split[BITS + (c >> 6)] >> (c & 63)) & 1 if split[SET] else c <= split[CODE]
    if missing >= 0:
        side[missing] = split[MISSING]


@inner
def _allowed(groups, count, d, path, column):  # type: ignore[no-untyped-def]
    """Whether a column may be asked on a way through the groups that are still open (`path`)."""
    for k in range(count):
        if path[k] and groups[k * d + column]:
            return True
    return count == 0


@jit
def grow_stage(rank, ranks, table, words, columns, growth, rules, room, nodes, passed):  # type: ignore[no-untyped-def]
    """Grow a tree from the rows of all threads; (nodes, barriers passed), or −1 where another thread has failed.

    words (n, 2): gradients, Hessians and counts, nothing for rows that do not take part; columns: those that may be asked; nodes.sums[0] holds the
    root's sums. Each thread has nodes of its own, which come out the same but for `first` and `count`, of which each has its row.
    """
    d = table.by_row.shape[1]
    M = nodes.left.shape[0]
    bins = d * BINS
    codes, buckets = data_pointer(table.by_row), data_pointer(table.buckets)
    missing, by_set, trend = data_pointer(table.missing), data_pointer(table.by_set), data_pointer(table.trend)
    groups, many = data_pointer(table.groups), table.groups.shape[0]
    rows, spare = data_pointer(room.rows), data_pointer(room.spare)
    parts, sums, flags = data_pointer(room.parts), data_pointer(room.sums), data_pointer(room.flags)
    scores, splits = data_pointer(room.scores), data_pointer(room.splits)
    asked, used, values = data_pointer(columns), columns.shape[0], data_pointer(words)
    split, total, gains, bounds = (
        data_pointer(nodes.split),
        data_pointer(nodes.sums),
        data_pointer(nodes.gain),
        data_pointer(nodes.bounds),
    )
    first, count, left = data_pointer(nodes.first), data_pointer(nodes.count), data_pointer(nodes.left)
    own_first, own_count = rank * M, rank * M
    running, worth, order = np.empty((2, ROOM), np.int64), np.empty(ROOM), np.empty(ROOM, np.int64)
    side = np.empty(256, np.uint8)
    found = np.empty(FIELDS, np.int64)
    depth, slot = np.zeros(M, np.int64), np.full(M, -1, np.int64)
    paths = np.ones((M, max(many, 1)), np.uint8)
    taken = np.zeros(growth.slots, np.uint8)
    scan_room = ScanRoom(
        data_pointer(running[0]),
        data_pointer(running[1]),
        data_pointer(worth),
        data_pointer(order),
    )
    goes, best = data_pointer(side), data_pointer(found)

    for k in range(room.begin[rank], room.begin[rank + 1]):
        rows[k] = room.order[k]
    first[own_first], count[own_count] = room.begin[rank], room.begin[rank + 1] - room.begin[rank]
    left[0], gains[0], bounds[0], bounds[1] = -1, NONE, -np.inf, np.inf
    size, leaves, parent = 1, 1, -1
    new, both = 0, False  # the children to look at: `new` alone is the root
    while True:
        # --- count the smaller child, or both where the parent's counts were given up; the other's are what is left of its parent's
        smaller = new
        if parent >= 0 and total[2 * new + 1] >> rules.shift > total[2 * (new + 1) + 1] >> rules.shift:
            smaller = new + 1
        other = new if smaller == new + 1 else new + 1
        slot[smaller] = _free_slot(taken, slot, gains, left, size)
        if parent >= 0:
            slot[other] = slot[parent]
            slot[parent] = -1
            if both:
                slot[other] = _free_slot(taken, slot, gains, left, size)
        for turn in range(2 if both else 1):  # one call, which is compiled once
            node = other if turn else smaller
            counts, base = parts, (2 * rank + turn) * bins
            if ranks == 1:  # nobody else's have to be added
                counts, base = sums, slot[node] * bins
            for k in range(used):
                clear(counts, base + asked[k] * BINS, buckets[asked[k]] + 1)
            a = first[own_first + node]
            b = a + count[own_count + node]
            count_rows(codes, d, rows, a, b, asked, used, values, counts, base)
        passed = barrier(flags, rank, ranks, passed)
        if passed < 0:
            return 0, passed
        # --- join, subtract and scan the columns of this thread
        for k in range(2):
            scores[k * ranks + rank] = NONE
        for k in range(rank, used, ranks):
            j = asked[k]
            a, b = j * BINS, j * BINS + buckets[j] + 1
            for turn in range((2 if both else 1) if ranks > 1 else 0):
                node = other if turn else smaller
                join(parts, ranks, bins, turn, a, b, sums, slot[node] * bins)
            if parent >= 0 and not both:
                subtract(sums, slot[other] * bins, slot[smaller] * bins, a, b)
            for which in range(2 if parent >= 0 else 1):
                node = new + which
                if depth[node] >= growth.deepest or total[2 * node + 1] >> rules.shift < 2 * growth.least:
                    continue
                if many > 0 and not _allowed(groups, many, d, data_pointer(paths[node]), j):
                    continue
                at = which * ranks + rank
                scores[at] = scan_column(
                    sums,
                    slot[node] * bins + a,
                    buckets[j],
                    missing[j],
                    by_set[j],
                    trend[j],
                    total[2 * node],
                    total[2 * node + 1],
                    bounds[2 * node],
                    bounds[2 * node + 1],
                    rules,
                    scan_room,
                    j,
                    scores[at],
                    best,
                )
                if found[COLUMN] == j and scores[at] > NONE:
                    for f in range(FIELDS):
                        splits[at * FIELDS + f] = found[f]
                    found[COLUMN] = -1
        passed = barrier(flags, rank, ranks, passed)
        if passed < 0:
            return 0, passed
        # --- all threads know the best split of the new nodes
        for which in range(2 if parent >= 0 else 1):
            node = new + which
            _best_of(node, which, ranks, scores, splits, split, total, bounds, gains, rules, growth.gain)
            if gains[node] == NONE and slot[node] >= 0:
                taken[slot[node]] = 0
                slot[node] = -1
        # --- split the leaf that gains most, and leaves that are not looked at any more
        while True:
            parent = -1
            for node in range(size):
                if left[node] < 0 and gains[node] > NONE and (parent < 0 or gains[node] > gains[parent]):
                    parent = node
            if parent < 0 or leaves >= growth.most:
                keep_alive((running, worth, order, side, found, depth, slot, paths, taken))
                return size, passed
            new, size, leaves = size, size + 2, leaves + 1
            j = split[parent * FIELDS + COLUMN]
            _sides(data_pointer(nodes.split[parent]), missing[j], goes)
            a = first[own_first + parent]
            b = a + count[own_count + parent]
            middle = _part(data_pointer(table.by_column[j]), goes, rows, spare, a, b)
            left[parent] = new
            first[own_first + new], first[own_first + new + 1] = a, middle
            count[own_count + new], count[own_count + new + 1] = middle - a, b - middle
            _children(parent, new, j, split, total, bounds, trend, depth, left, gains, rules)
            for k in range(many):
                paths[new, k] = paths[new + 1, k] = paths[parent, k] and groups[k * d + j]
            look = False
            for node in range(new, new + 2):
                if depth[node] < growth.deepest and total[2 * node + 1] >> rules.shift >= 2 * growth.least:
                    look = True
            if look and leaves < growth.most:
                both = slot[parent] < 0
                break
            if slot[parent] >= 0:
                taken[slot[parent]] = 0
                slot[parent] = -1


@inner
def _free_slot(taken, slot, gains, left, size):  # type: ignore[no-untyped-def]
    """Room for a histogram: a free one, or that of the leaf that gains least, which is then counted anew if its turn comes."""
    for k in range(taken.shape[0]):
        if not taken[k]:
            taken[k] = 1
            return k
    worst = -1
    for node in range(size - 2):  # the last two are those that it is for
        if slot[node] >= 0 and left[node] < 0 and (worst < 0 or gains[node] < gains[worst]):
            worst = node
    k = slot[worst]
    slot[worst] = -1
    return k


@inner
def _best_of(node, which, ranks, scores, splits, split, total, bounds, gains, rules, least):  # type: ignore[no-untyped-def]
    """The best of what the threads have found: of equal ones that of the first column, however columns are shared."""
    at = -1
    for rank in range(ranks):
        k = which * ranks + rank
        if scores[k] == NONE:
            continue
        if (
            at < 0
            or scores[k] > scores[at]
            or (scores[k] == scores[at] and splits[k * FIELDS + COLUMN] < splits[at * FIELDS + COLUMN])
        ):
            at = k
    gains[node] = NONE
    if at < 0:
        return
    G = np.float64(total[2 * node])
    H = np.float64(total[2 * node + 1] & ((1 << rules.shift) - 1))
    own = shrunk(G, rules.l1) * shrunk(G, rules.l1) / (H + rules.l2)
    if rules.bounded:
        own = worth_of(
            G, H, rules.l1, rules.l2, answer(G, H, rules.l1, rules.l2, bounds[2 * node], bounds[2 * node + 1])
        )
    gain = scores[at] - own
    if gain > TINY * scores[at] and gain >= least:
        gains[node] = gain
        for f in range(FIELDS):
            split[node * FIELDS + f] = splits[at * FIELDS + f]


@inner
def _children(parent, new, column, split, total, bounds, trend, depth, left, gains, rules):  # type: ignore[no-untyped-def]
    """Sums, depth and bounds of two new leaves. With a trend the mean of their answers parts what either side may answer."""
    s = parent * FIELDS
    total[2 * new], total[2 * new + 1] = split[s + GRADIENT], split[s + WORD]
    total[2 * new + 2], total[2 * new + 3] = (
        total[2 * parent] - split[s + GRADIENT],
        total[2 * parent + 1] - split[s + WORD],
    )
    low, high = bounds[2 * parent], bounds[2 * parent + 1]
    for node in range(new, new + 2):
        depth[node], left[node], gains[node] = depth[parent] + 1, -1, NONE
        bounds[2 * node], bounds[2 * node + 1] = low, high
    if rules.bounded and trend[column] != 0 and not split[s + SET]:
        mask = (1 << rules.shift) - 1
        middle = 0.0
        for node in range(new, new + 2):
            g, h = np.float64(total[2 * node]), np.float64(total[2 * node + 1] & mask)
            middle += 0.5 * answer(g, h, rules.l1, rules.l2, low, high)
        rising = trend[column] > 0
        bounds[2 * new + rising], bounds[2 * (new + 1) + (not rising)] = middle, middle


@jit
def reached(rank, nodes, rows, size, numbers, leaf):  # type: ignore[no-untyped-def]
    """leaf[row]: the number of the leaf of each row of a thread; numbers (M,): those of the leaves."""
    for node in range(size):
        if nodes.left[node] < 0:
            a = nodes.first[rank, node]
            for i in range(a, a + nodes.count[rank, node]):
                leaf[rows[i]] = numbers[node]


@jit
def reached_by_codes(table, nodes, numbers, rows, a, b, leaf):  # type: ignore[no-untyped-def]
    """leaf[row] of rows[a:b] that took no part in the growth: each goes down the tree by its codes."""
    for i in range(a, b):
        r, node = rows[i], 0
        while nodes.left[node] >= 0:
            j = nodes.split[node, COLUMN]
            c = np.int64(table.by_row[r, j])
            if c == table.missing[j]:
                goes = nodes.split[node, MISSING]
            elif nodes.split[node, SET]:
                goes = (nodes.split[node, BITS + (c >> 6)] >> (c & 63)) & 1
            else:
                goes = np.int64(c <= nodes.split[node, CODE])
            node = nodes.left[node] + 1 - goes
        leaf[r] = numbers[node]


@jit
def preorder(left, size, place, number):  # type: ignore[no-untyped-def]
    """place[k]: the node that comes k-th in preorder; number[node]: of a leaf its number among leaves in that order, else −1."""
    stack = np.empty(size + 1, np.int64)
    stack[0], high, count, leaves = 0, 1, 0, 0
    while high > 0:
        high -= 1
        node = stack[high]
        place[count] = node
        count += 1
        number[node] = -1
        if left[node] < 0:
            number[node] = leaves
            leaves += 1
        else:
            stack[high], stack[high + 1] = left[node] + 1, left[node]
            high += 2


@jit
def whole_words(g, h, w, per_gradient, per_hessian, shift, a, b, words, sums):  # type: ignore[no-untyped-def]
    """words[a:b]: gradients, Hessians and counts in whole units; a row of weight 0 is nothing. sums (2,) receives their sums."""
    G, W, one = 0, 0, 1 << shift
    for i in range(a, b):
        there = w[i] > 0.0
        x = np.int64(np.rint(g[i] * per_gradient)) if there else 0
        y = np.int64(np.rint(h[i] * per_hessian)) + one if there else 0
        words[i, 0], words[i, 1] = x, y
        G += x
        W += y
    sums[0], sums[1] = G, W
