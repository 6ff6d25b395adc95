"""The best split, or a random one, of a node where rows of two classes are counted: weight and positives share one word.

Of a split the criterion's score is what it leaves to be maximised when constants of the node are dropped:

    Gini      s_L² / n_L + s_R² / n_R                        (s: positives, n: rows)
    entropy   Σ over sides  s log s + (n − s) log (n − s) − n log n

Which columns may hold a better split than the one found is told from the counts of their buckets alone (`upper_bounds`).
Gini's score of a split is a convex function of what lies to the left, (n, s): rows and positives. A split within a bucket leaves to the left what
the buckets before hold, and some rows of the bucket: its (n, s) lies between four corners, where none of the bucket's rows, all of them,
only its positives, or only its negatives are on the left. So no split scores more than the best of the corners of all buckets. Scores are compared
without a division:

    s² / n + (S − s)² / (N − n) > best    where    s² (N − n) + (S − s)² n > best · n (N − n)

Most columns of a wide table turn out to hold nothing better and need not be sorted.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined, inner, jit
from assay.compiled.mixing import mixed
from assay.compiled.simd.memory import cast_pointer, prefetch_at
from assay.compiled.simd.trees import corners_above
from assay.families.trees.loops.arrays import AHEAD, BITS_A_NAT, ENTROPY, FEW_ROWS, HALF, LOW32, NONE_MISSING, ONE, ZERO
from assay.families.trees.loops.candidates import (
    FEW_TO_MARK,
    RAISED,
    SLACK,
    beats,
    keep,
    keep_item,
    more_than_one,
    sorted_node,
)
from assay.families.trees.loops.draws import keep_random_threshold, random_threshold
from assay.families.trees.loops.two_words import (
    best_categories,
    by_occupied,
    count_categories,
    score_words,
    word_of,
    worth_of_word,
)

LEAST = 96  # rows of a node below which sorting a column takes no longer
EVERY = 15  # columns, as bits
MARGIN = 2.0**-40  # of a score: more than rounding, and than what makes one split better than another


@inlined
def two_by_random_threshold(table, rules, entries, a, b, f, n, s, xlogx, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by one random split of column f; says whether the column varies."""
    own = cast_pointer(scratch.items, table.codes)
    cut, high, threshold, left = random_threshold(table, entries, a, b, f, word, own)
    if cut < 0:
        return False
    gone = table.missing[f] if left == 1 else np.int64(-1)
    run = np.uint64(0)
    for i in range(b - a):
        run += word_of(entries[a + i]) if (np.int64(own[i]) <= cut) | (np.int64(own[i]) == gone) else np.uint64(0)
    worth = worth_of_word(run, n, s, rules.criterion, xlogx, rules.min_leaf)
    if beats(worth, found):
        keep_random_threshold(table, found, worth, f, cut, high, threshold, left)
    return True


@inlined
def two_total(entries, a, b, sums, at):  # type: ignore[no-untyped-def]
    """Draws of a node's rows; sums (2,) receives those of each class."""
    total = np.uint64(0)
    for i in range(a, b):
        total += word_of(entries[i])
    positives = np.int64(total & LOW32)
    n = np.int64(total >> HALF)
    sums[at] = n - positives
    sums[at + 1] = positives
    return n, positives == 0 or positives == n


@jit(inline="always")
def _count_four(table, f, k, entries, a, b, hist):  # type: ignore[no-untyped-def]
    """hist[bucket · 4 + j] += word for the four columns f[k + j]."""
    codes, shift, n = table.codes, table.shift, table.n
    f0, f1, f2, f3 = f[k] * n, f[k + 1] * n, f[k + 2] * n, f[k + 3] * n
    s0, s1, s2, s3 = shift[f[k]], shift[f[k + 1]], shift[f[k + 2]], shift[f[k + 3]]
    for i in range(a, b):
        e = entries[i]
        r = np.int64(e >> HALF)
        v = word_of(e)
        hist[(np.int64(codes[f0 + r]) >> s0) * 4] += v
        hist[(np.int64(codes[f1 + r]) >> s1) * 4 + 1] += v
        hist[(np.int64(codes[f2 + r]) >> s2) * 4 + 2] += v
        hist[(np.int64(codes[f3 + r]) >> s3) * 4 + 3] += v


@inner
def _count_far(table, f, k, entries, a, b, hist):  # type: ignore[no-untyped-def]
    """As `_count_four`, where codes have to be asked for ahead."""
    codes, n = table.codes, table.n
    f0, f1, f2, f3 = f[k] * n, f[k + 1] * n, f[k + 2] * n, f[k + 3] * n
    for first in range(a, b, AHEAD):
        for i in range(first + AHEAD, min(b, first + 2 * AHEAD)):
            r = np.int64(entries[i] >> HALF)
            prefetch_at(codes, f0 + r)
            prefetch_at(codes, f1 + r)
            prefetch_at(codes, f2 + r)
            prefetch_at(codes, f3 + r)
        _count_four(table, f, k, entries, first, min(b, first + AHEAD), hist)


@jit(inline="always")
def _count_one(table, f, j, entries, a, b, hist):  # type: ignore[no-untyped-def]
    """hist[bucket · 4 + j] += word for column f."""
    codes, first, shift = table.codes, f * table.n, table.shift[f]
    for i in range(a, b):
        e = entries[i]
        hist[(np.int64(codes[first + np.int64(e >> HALF)]) >> shift) * 4 + j] += word_of(e)


@inner
def _by_buckets(table, rules, entries, a, b, f, k, width, n, s, xlogx, found, scratch):  # type: ignore[no-untyped-def]
    """The columns f[k : k + width], at most four, counted into buckets. Says whether any of them varies."""
    hist = scratch.hist
    used = ZERO
    for j in range(width):
        used = max(used, table.buckets[f[k + j]])
    for i in range(4 * used + 4):
        hist[i] = 0
    if width == 4:
        if table.far:
            _count_far(table, f, k, entries, a, b, hist)
        else:
            _count_four(table, f, k, entries, a, b, hist)
    else:
        for j in range(width):
            _count_one(table, f[k + j], j, entries, a, b, hist)
    return _best_bucket(table, rules, f, k, width, used, n, s, xlogx, found, scratch)


@inner
def _best_bucket(table, rules, f, k, width, used, n, s, xlogx, found, scratch):  # type: ignore[no-untyped-def]
    """The best split after a bucket of the columns counted in scratch.hist; of equal ones the first column's, whatever is counted together."""
    hist, own = scratch.hist, width
    lost, varies = False, False
    for j in range(width):
        lost = lost or _gone(table, f[k + j], j, hist) != 0
    for left in range(1 + lost):
        _run_four(table, f, k, width, used, left, hist, scratch.running)
        best = score_words(scratch.running, scratch.worth, 4 * used, n, s, rules.criterion, xlogx, rules.min_leaf)
        varies = varies or best > -np.inf
        if beats(best, found):
            own = _keep_bucket(table, f, k, width, left, best, hist, scratch.worth, own, found)
        elif left and own < width and best >= found.score[0] - SLACK * abs(found.score[0]):
            own = _keep_bucket(table, f, k, own, left, best, hist, scratch.worth, own, found)
    for j in range(width):
        varies = varies or more_than_one(hist, j, 4, used + 1)
    return varies


@jit(inline="always")
def _gone(table, f, j, hist):  # type: ignore[no-untyped-def]
    """The word of a column's missing values."""
    code = table.missing[f]
    return hist[4 * (code >> table.shift[f]) + j] if code >= 0 else np.uint64(0)


@jit(inline="always")
def _run_four(table, f, k, width, used, left, hist, running):  # type: ignore[no-untyped-def]
    """running: what the splits after each bucket put to the left, with the missing values where `left` says so."""
    zero = np.uint64(0)
    c0 = _gone(table, f[k], 0, hist) if left else zero
    c1 = _gone(table, f[k + 1], 1, hist) if left and width > 1 else zero
    c2 = _gone(table, f[k + 2], 2, hist) if left and width > 2 else zero
    c3 = _gone(table, f[k + 3], 3, hist) if left and width > 3 else zero
    run_up(hist, used, c0, c1, c2, c3, running)


@inner
def _keep_bucket(table, f, k, width, left, best, hist, worth, own, found):  # type: ignore[no-untyped-def]
    """Keep the first split of the first `width` columns that is worth `best`, up to rounding; of a column's equal ones that is the one whose bucket holds
    rows. The column's place among those counted; `own` where none is."""
    enough = best - SLACK * abs(best)
    for j in range(width):
        c = f[k + j]
        values = table.buckets[c]
        for b in range(values):
            if worth[4 * b + j] >= enough:
                after = b + 1
                while after < values and hist[4 * after + j] == 0:
                    after += 1
                shift = table.shift[c]
                side = left if _gone(table, c, j, hist) != 0 else NONE_MISSING
                keep(
                    found,
                    worth[4 * b + j],
                    c,
                    ((b + 1) << shift) - 1,
                    (after << shift) if after < values else table.missing[c],
                    side,
                )
                return j
    return own


@inner
def _scan(table, rules, items, first, stop, m, lookup, base, f, n, s, xlogx, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, code by code: sorted items[first : first + m], whose rows are entries lookup[base + …]; the first `stop` have a value."""
    running = scratch.running
    gone = np.uint64(0)
    for i in range(stop, m):
        gone += word_of(lookup[base + np.int64(items[first + i] & LOW32)])
    for left in range(1 + (stop < m)):
        run = gone if left else np.uint64(0)
        for i in range(stop):
            run += word_of(lookup[base + np.int64(items[first + i] & LOW32)])
            running[i] = run
        score_words(running, scratch.worth, stop, n, s, rules.criterion, xlogx, rules.min_leaf)
        keep_item(table, f, items, first, stop, left if stop < m else NONE_MISSING, scratch, found)


@inner
def _by_sorting(table, rules, entries, a, b, f, n, s, xlogx, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, code by code. Says whether it varies."""
    stop, varies = sorted_node(table, entries, a, b, f, scratch)
    if varies:
        _scan(table, rules, scratch.other, ZERO, stop, b - a, entries, a, f, n, s, xlogx, found, scratch)
    return varies


@inner
def _by_upper_bounds(table, rules, entries, a, b, f, k, width, n, s, xlogx, found, scratch):  # type: ignore[no-untyped-def]
    """The columns f[k : k + width], at most four, of which nothing is missing: code by code where they may better the split found. Says
    whether any of them varies, or a split was found before."""
    hist, used = scratch.hist, ZERO
    for j in range(width):
        used = max(used, table.buckets[f[k + j]])
    for i in range(4 * used + 4):
        hist[i] = 0
    if width == 4:
        _count_four(table, f, k, entries, a, b, hist)
    else:
        for j in range(width):
            _count_one(table, f[k + j], j, entries, a, b, hist)
    zero = np.uint64(0)
    run_up(hist, used + 1, zero, zero, zero, zero, scratch.running)  # the last bucket is empty
    best, possible = found.score[0], EVERY
    if best > -np.inf:
        possible = upper_bounds(hist, scratch.running, used, n, s, best)
    if possible & (possible - 1):  # of several columns, a split between buckets of one may rule out another
        between = score_words(scratch.running, scratch.worth, 4 * used, n, s, rules.criterion, xlogx, rules.min_leaf)
        if max(best, between) == -np.inf:
            possible = EVERY
        elif between > best:
            possible = upper_bounds(hist, scratch.running, used, n, s, between)
    varies = best > -np.inf
    for j in range(width):
        if (possible >> j) & 1:
            varies |= _by_sorting(table, rules, entries, a, b, f[k + j], n, s, xlogx, found, scratch)
    return varies


@jit(inline="always")
def _in_cells(table, f):  # type: ignore[no-untyped-def]
    """Whether a column is one of numbers, each code of which has a cell of its own."""
    return table.levels[f] == 0 and table.shift[f] == 0


@jit(inline="always")
def _has_upper_bounds(table, f):  # type: ignore[no-untyped-def]
    """Whether a column's codes share buckets, and none of its values is missing."""
    return table.levels[f] == 0 and table.shift[f] > 0 and table.missing[f] < 0


@inner
def two_search(target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on the columns f[k : k + width]; says whether any of them varies in the node."""
    s, xlogx = sums[at + 1], target.xlogx
    varies, many = False, b - a >= max(FEW_ROWS, rules.exact_below)
    gini = rules.criterion != ENTROPY
    j = k
    while j < k + width:
        c = f[j]
        if table.levels[c] > 0:
            count_categories(table, c, entries, a, b, scratch.cells, scratch.flags)
            varies |= best_categories(rules, c, n, s, xlogx, found, scratch)
        elif rules.random:
            own = mixed(word + np.uint64(c))
            varies |= two_by_random_threshold(table, rules, entries, a, b, c, n, s, xlogx, own, found, scratch)
        elif b - a < FEW_TO_MARK and table.shift[c] == 0:
            some = 1
            while some < 4 and j + some < k + width and _in_cells(table, f[j + some]):
                some += 1
            varies |= by_occupied(table, rules, entries, a, b, f, j, some, n, s, xlogx, found, scratch)
            j += some - 1
        elif not many and b - a >= LEAST and gini and _has_upper_bounds(table, c):
            some = 1
            while some < 4 and j + some < k + width and _has_upper_bounds(table, f[j + some]):
                some += 1
            varies |= _by_upper_bounds(table, rules, entries, a, b, f, j, some, n, s, xlogx, found, scratch)
            j += some - 1
        elif not many:
            varies |= _by_sorting(table, rules, entries, a, b, c, n, s, xlogx, found, scratch)
        else:
            some = 1
            while some < 4 and j + some < k + width and table.levels[f[j + some]] == 0:
                some += 1
            varies |= _by_buckets(table, rules, entries, a, b, f, j, some, n, s, xlogx, found, scratch)
            j += some - 1
        j += 1
    return varies


@inner
def two_gain(target, rules, score, cost, n, sums, at):  # type: ignore[no-untyped-def]
    """u(C) − (p_L u(C_L) + p_R u(C_R)) of a split with that score, entropies in bits."""
    s = sums[at + 1]
    if rules.criterion == ENTROPY:
        x = target.xlogx
        return (score - (x[s] + x[n - s] - x[n])) / n * BITS_A_NAT
    return 2.0 * (score - np.float64(s) * np.float64(s) / n) / n


@inner
def two_counted(target, table, rules, n, sums, at, f, counts, first, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on column f of a node of which draws and positives of each code are counted in
    counts[first + 2 · code + (0, 1)]. Says whether it varies."""
    of_categories = table.levels[f] > 0
    cells = scratch.cells if of_categories else scratch.hist
    for c in range(256):
        cells[4 * c] = (np.uint64(counts[first + 2 * c]) << HALF) | np.uint64(counts[first + 2 * c + 1])
        cells[4 * c + 1] = cells[4 * c + 2] = cells[4 * c + 3] = np.uint64(0)
        if of_categories and cells[4 * c] != 0:
            scratch.flags[c] = RAISED
    if of_categories:
        return best_categories(rules, f, n, sums[at + 1], target.xlogx, found, scratch)
    order = scratch.swaps
    order[0] = f
    return _best_bucket(table, rules, order, ZERO, ONE, table.buckets[f], n, sums[at + 1], target.xlogx, found, scratch)


@inlined
def run_up(hist, used, c0, c1, c2, c3, running):  # type: ignore[no-untyped-def]
    """running: c and what the first `used` buckets of four columns up to each hold."""
    for b in range(used):
        c0 += hist[4 * b]
        c1 += hist[4 * b + 1]
        c2 += hist[4 * b + 2]
        c3 += hist[4 * b + 3]
        running[4 * b] = c0
        running[4 * b + 1] = c1
        running[4 * b + 2] = c2
        running[4 * b + 3] = c3


@inlined
def upper_bounds(hist, running, used, n, s, best):  # type: ignore[no-untyped-def]
    """Bit j is set where column j, counted in every fourth cell from j on, may hold a split that scores as much as `best`, which is
    finite."""
    count = (4 * used + 7) & -8
    above = corners_above(hist, running, count, np.float64(n), np.float64(s), best - MARGIN * abs(best))
    return (above | (above >> 4)) & EVERY
