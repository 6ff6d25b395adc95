"""The best split of a sorted column where rows of two classes are counted, each once.

The score is convex in the numbers of both classes that go to the left. Along a stretch of 64 rows these stay within a rectangle,
whose corners bound it: a stretch whose bound is below the best split is passed over.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import inner, jit
from assay.loops.tree.candidates import beats, greatest
from assay.loops.tree.listed import FEW, MARGIN, STRETCH, TINY, bar_ties, keep_listed, there_in_items
from assay.loops.tree.shapes import ENTROPY, HALF, LOW32, NONE_MISSING, ZERO
from assay.loops.tree.two_words import score_words

ONE_ROW = np.uint64(1 << 32)
LABEL = np.uint64(1)


@inner
def _score_items(target, table, rules, lists, f, first, a, b, stop, run, n, s, scratch):  # type: ignore[no-untyped-def]
    """worth[i − a] of the splits after the items a ≤ i < b, with `run` before them; the greatest."""
    items, running = lists.items, scratch.running
    for i in range(b - a):
        run += ONE_ROW | (np.uint64(items[first + a + i]) & LABEL)
        running[i] = run
    score_words(running, scratch.worth, b - a, n, s, rules.criterion, target.xlogx, rules.min_leaf)
    bar_ties(table, lists, f, first, a, b, stop, scratch.worth)
    return greatest(scratch, b - a)


@inner(error_model="numpy")
def _score_tiny(target, table, rules, lists, f, first, stop, run, n, s, worth):  # type: ignore[no-untyped-def]
    """As `_score_items` of all items, without room for what lies between: the same operations."""
    items, least, x, best = lists.items, rules.min_leaf, target.xlogx, -np.inf
    nl, sl = np.int64(run >> HALF), np.int64(run & LOW32)
    fn, fs = np.float64(n), np.float64(s)
    entropy = rules.criterion == ENTROPY
    for i in range(stop):
        nl += 1
        sl += np.int64(items[first + i]) & 1
        if entropy:
            nr, sr = n - nl, s - sl
            w = x[sl] + x[nl - sl] - x[nl] + (x[sr] + x[nr - sr] - x[nr])
        else:
            a, b = np.float64(nl), np.float64(sl)
            c, d = fn - a, fs - b
            w = (b * b * c + d * d * a) / (a * c)
        worth[i] = w if (nl >= least) & (n - nl >= least) else -np.inf
    bar_ties(table, lists, f, first, ZERO, stop, stop, worth)
    for i in range(stop):
        best = max(best, worth[i])
    return best


@inner
def _count_stretches(items, first, stop, run, starts):  # type: ignore[no-untyped-def]
    """starts[q]: rows · 2³² | positives before stretch q, and after the last; the number of stretches."""
    whole = stop // STRETCH
    at = first
    for q in range(whole):
        starts[q] = run
        positives = np.uint32(0)
        for i in range(STRETCH):
            positives += items[at + i] & np.uint32(1)
        run += np.uint64(STRETCH << 32) + np.uint64(positives)
        at += STRETCH
    count = whole
    if whole * STRETCH < stop:
        starts[count] = run
        for i in range(whole * STRETCH, stop):
            run += ONE_ROW | (np.uint64(items[first + i]) & LABEL)
        count += 1
    starts[count] = run
    return count


@jit(inline="always")
def _both(x, p, q, s, t):  # type: ignore[no-untyped-def]
    """The entropy's score where p of s positives and q of t others go to the left."""
    return x[p] + x[q] - x[p + q] + (x[s - p] + x[t - q] - x[s + t - p - q])


@jit(inline="always")
def _squares(p, q, s, t):  # type: ignore[no-untyped-def]
    """As `_both`, Gini's."""
    return p * p / max(p + q, 1.0) + (s - p) * (s - p) / max(s + t - p - q, 1.0)


@inner(error_model="numpy")
def _bound(starts, count, n, s, criterion, x, bound):  # type: ignore[no-untyped-def]
    """bound[q]: no split within stretch q has a greater score, but for rounding; the place of the greatest."""
    t = n - s
    if criterion == ENTROPY:
        for q in range(count):
            p0, p1 = np.int64(starts[q] & LOW32), np.int64(starts[q + 1] & LOW32)
            q0, q1 = np.int64(starts[q] >> HALF) - p0, np.int64(starts[q + 1] >> HALF) - p1
            bound[q] = max(
                max(_both(x, p0, q0, s, t), _both(x, p1, q1, s, t)), max(_both(x, p0, q1, s, t), _both(x, p1, q0, s, t))
            )
    else:
        fs, ft = np.float64(s), np.float64(t)
        for q in range(count):
            p0, p1 = np.float64(starts[q] & LOW32), np.float64(starts[q + 1] & LOW32)
            q0, q1 = np.float64(starts[q] >> HALF) - p0, np.float64(starts[q + 1] >> HALF) - p1
            bound[q] = max(
                max(_squares(p0, q0, fs, ft), _squares(p1, q1, fs, ft)),
                max(_squares(p0, q1, fs, ft), _squares(p1, q0, fs, ft)),
            )
    first = ZERO
    for q in range(count):
        first = q if bound[q] > bound[first] else first
    return first


@inner
def _by_stretches(target, table, rules, lists, f, first, stop, run, left, n, s, found, scratch):  # type: ignore[no-untyped-def]
    """As scoring all splits: the stretch with the greatest bound first, then those that may hold one as good."""
    starts, bound, A = scratch.items, scratch.real, scratch.reach
    count = _count_stretches(lists.items, first, stop, run, starts)
    highest = _bound(starts, count, n, s, rules.criterion, target.xlogx, bound)
    scale = target.xlogx[n] if rules.criterion == ENTROPY else 0.0
    best, least = -np.inf, found.score[0]
    for k in range(count + 1):
        q = k - 1 if k > 0 else highest
        if k > 0:
            if q == highest:
                continue
            bound[A + q] = -np.inf
        if bound[q] >= least - MARGIN * (abs(least) + scale):
            a = q * STRETCH
            b = min(stop, a + STRETCH)
            top = _score_items(target, table, rules, lists, f, first, a, b, stop, starts[q], n, s, scratch)
            bound[A + q] = top
            best = max(best, top)
            least = max(least, top)
        elif k == 0:
            return
    if beats(best, found):
        q, enough = ZERO, best - MARGIN * (abs(best) + scale)
        while True:
            if bound[A + q] >= enough:
                a = q * STRETCH
                b = min(stop, a + STRETCH)
                _score_items(target, table, rules, lists, f, first, a, b, stop, starts[q], n, s, scratch)
                if keep_listed(table, lists, f, first, a, b, stop, left, best, scratch, found):
                    return
            q += 1


@inner
def two_listed(target, table, rules, lists, a, m, n, sums, at, f, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on column f of a node whose m rows lie sorted in its list from a on."""
    first, s = f * lists.rows + a, sums[at + 1]
    stop, varies = there_in_items(table, lists, first, m, f)
    if not varies:
        return
    gone = np.uint64(0)
    for i in range(stop, m):
        gone += ONE_ROW | (np.uint64(lists.items[first + i]) & LABEL)
    for left in range(1 + (stop < m)):
        run = gone if left else np.uint64(0)
        side = left if stop < m else NONE_MISSING
        if m > FEW:
            _by_stretches(target, table, rules, lists, f, first, stop, run, side, n, s, found, scratch)
            continue
        if stop <= TINY:
            best = _score_tiny(target, table, rules, lists, f, first, stop, run, n, s, scratch.worth)
        else:
            best = _score_items(target, table, rules, lists, f, first, ZERO, stop, stop, run, n, s, scratch)
        if beats(best, found):
            keep_listed(table, lists, f, first, ZERO, stop, stop, side, best, scratch, found)


@inner
def two_ceiling(target, rules, entries, a, b, n, sums, at, scratch):  # type: ignore[no-untyped-def]
    """The score of a split that parts the classes: none has a better one."""
    return 0.0 if rules.criterion == ENTROPY else np.float64(sums[at + 1])
