"""The best split, or a random one, of a node where rows of more than two classes are counted or weighed.

Categories are ordered by their shares of each class in turn: the best of these splits is found, not of all. In a small node one goes through the
categories, or the cells of a column, that it holds. By Gini, where rows are counted, a cell has a place for each class, up to a multiple of eight:
going on by a cell moves all classes at once.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined, inner, jit
from assay.compiled.mixing import mixed
from assay.compiled.simd.memory import cast_pointer
from assay.compiled.simd.trees import clear, gini_of_squares, squares_after
from assay.families.trees.loops.arrays import BUCKETS, ENTROPY, FEW_ROWS, HALF, LOW16, LOW32, NONE_MISSING, ONE, ZERO
from assay.families.trees.loops.candidates import (
    RAISED,
    beats,
    first_best,
    greatest,
    keep,
    keep_cell,
    keep_item,
    keep_sides,
    marked,
    missing_cell,
    more_than_one,
    rank_by,
    sorted_node,
    there_in_list,
)
from assay.families.trees.loops.draws import keep_random_threshold, random_threshold
from assay.families.trees.loops.worth import score_classes, term_of, times_of, weight_of


@inlined
def _counted(own, entries, a, b, cut, gone, K, n, least, scratch):  # type: ignore[no-untyped-def]
    """What the split is worth to Gini where rows are counted; scratch.whole: the counts of the node's classes."""
    cells, lanes = scratch.cells, (K + 7) & -8
    for i in range(b - a):
        e = entries[a + i]
        there = (np.int64(own[i]) <= cut) | (np.int64(own[i]) == gone)
        cells[np.int64(e & LOW16)] += np.uint64(times_of(e)) if there else np.uint64(0)
    clear(scratch.left, 0, lanes)
    left, lefts, rights = squares_after(cells, 0, scratch.left, scratch.whole, lanes)
    clear(cells, 0, lanes)
    right = np.float64(n) - left
    return lefts / left + rights / right if left >= least and right >= least else -np.inf


@inner
def _weighed(target, rules, own, entries, a, b, cut, gone, W, n, sums, at, scratch):  # type: ignore[no-untyped-def]
    """What the split is worth."""
    left_of, A = scratch.sums, scratch.reach
    for k in range(target.count):
        left_of[k] = 0
    n_left = 0
    for i in range(b - a):
        if np.int64(own[i]) <= cut or np.int64(own[i]) == gone:
            e = entries[a + i]
            n_left += times_of(e)
            left_of[np.int64(e & LOW16)] += weight_of(target, e)
    w, lefts, rights = 0, 0.0, 0.0
    for k in range(target.count):
        w += left_of[k]
        lefts += term_of(target, rules.criterion, left_of[k])
        rights += term_of(target, rules.criterion, sums[at + k] - left_of[k])
    scratch.number[0] = n_left
    scratch.real[0], scratch.real[A], scratch.real[2 * A] = np.float64(w), lefts, rights
    score_classes(target, rules, W, n, scratch, ONE)
    return scratch.worth[0]


@inlined
def classes_by_random_threshold(target, table, rules, entries, a, b, f, squares, W, n, sums, at, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by one random split of column f; `squares`: Gini's squares of counts are all that decides, and scratch.whole holds
    those of the node. Says whether the column varies."""
    own = cast_pointer(scratch.items, table.codes)
    cut, high, threshold, left = random_threshold(table, entries, a, b, f, word, own)
    if cut < 0:
        return False
    gone = table.missing[f] if left == 1 else np.int64(-1)
    if squares:
        worth = _counted(own, entries, a, b, cut, gone, target.count, n, np.float64(rules.min_leaf), scratch)
    else:
        worth = _weighed(target, rules, own, entries, a, b, cut, gone, W, n, sums, at, scratch)
    if beats(worth, found):
        keep_random_threshold(table, found, worth, f, cut, high, threshold, left)
    return True


@inlined
def _run_counted(m, lanes, n, least, scratch):  # type: ignore[no-untyped-def]
    """worth[:m] to Gini of the splits after each of the ranked categories, where rows are counted; scratch.whole: the node's classes."""
    real, A, ranked = scratch.real, scratch.reach, scratch.count
    clear(scratch.left, 0, lanes)
    for i in range(m):
        there, lefts, rights = squares_after(scratch.cells, lanes * ranked[i], scratch.left, scratch.whole, lanes)
        scratch.number[i] = np.int64(there)
        real[i], real[A + i], real[2 * A + i] = there, lefts, rights
    gini_of_squares(real, A, scratch.worth, (m + 7) & -8, np.float64(n), np.float64(least))


@inner
def _run_weighed(target, rules, m, lanes, W, n, sums, at, scratch):  # type: ignore[no-untyped-def]
    """worth[:m] of the splits after each of the ranked categories; scratch.hist: draws of each code."""
    cells, ranked, number, real, A = scratch.cells, scratch.count, scratch.number, scratch.real, scratch.reach
    draws = 0
    for i in range(m):
        draws += np.int64(scratch.hist[ranked[i]])
        number[i] = draws
        real[i] = real[A + i] = real[2 * A + i] = 0.0
    for k in range(target.count):
        whole = sums[at + k]
        if whole == 0:
            continue
        run = 0
        for i in range(m):
            run += np.int64(cells[lanes * ranked[i] + k])
            real[i] += np.float64(run)
            real[A + i] += term_of(target, rules.criterion, run)
            real[2 * A + i] += term_of(target, rules.criterion, whole - run)
    score_classes(target, rules, W, n, scratch, m)


@inner
def _best(target, rules, f, squares, W, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """The best split of column f as its cells count it, which are zero afterwards; says whether it varies."""
    K, cells, ranked, share, A = target.count, scratch.cells, scratch.count, scratch.real, scratch.reach
    lanes, total = (K + 7) & -8, scratch.signed
    m = marked(scratch.flags, scratch.place)
    for i in range(m):
        c, weight = scratch.place[i], 0
        for k in range(K):
            weight += np.int64(cells[lanes * c + k])
        total[i] = max(1, weight)
    for k in range(K if m > 1 else 0):
        if sums[at + k] == 0:
            continue
        for i in range(m):
            c = scratch.place[i]
            share[3 * A + c] = np.float64(np.int64(cells[lanes * c + k])) / np.float64(total[i])
            ranked[i] = c
        rank_by(share, 3 * A, ranked, m)
        if squares:
            _run_counted(m, lanes, n, rules.min_leaf, scratch)
        else:
            _run_weighed(target, rules, m, lanes, W, n, sums, at, scratch)
        best = greatest(scratch, m)
        if beats(best, found):
            i = first_best(scratch.worth, best)
            keep_sides(found, best, f, ranked, i + 1, m, 1 if 2 * scratch.number[i] > n else 0)
    for i in range(m):
        clear(cells, lanes * scratch.place[i], lanes)
    return m > 1


@inner
def classes_by_category(target, table, rules, entries, a, b, f, squares, W, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split of column f; `squares`: Gini's squares of counts are all that decides, and scratch.whole holds those of
    the node. Says whether the column varies."""
    codes, first, lanes = table.codes, f * table.n, (target.count + 7) & -8
    cells, flags, draws = scratch.cells, scratch.flags, scratch.hist
    if squares:
        for i in range(a, b):
            e = entries[i]
            c = np.int64(codes[first + np.int64(e >> HALF)])
            cells[lanes * c + np.int64(e & LOW16)] += np.uint64(times_of(e))
            flags[c] = RAISED
    else:
        for c in range(table.buckets[f] + ONE):
            draws[c] = np.uint64(0)
        for i in range(a, b):
            e = entries[i]
            c = np.int64(codes[first + np.int64(e >> HALF)])
            cells[lanes * c + np.int64(e & LOW16)] += np.uint64(weight_of(target, e))
            draws[c] += np.uint64(times_of(e))
            flags[c] = RAISED
    return _best(target, rules, f, squares, W, n, sums, at, found, scratch)


@inner
def classes_by_counts(target, rules, f, counts, first, W, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """As `classes_by_category`, of a node of which the weight of each class and the draws of each code are added up in
    counts[first + (K + 1) · code + (0 … K)]."""
    K = target.count
    lanes = (K + 7) & -8
    for c in range(256):
        own = first + (K + 1) * c
        scratch.hist[c] = np.uint64(counts[own + K])
        if counts[own + K] > 0:
            scratch.flags[c] = RAISED
            for k in range(K):
                scratch.cells[lanes * c + k] = np.uint64(counts[own + k])
    return _best(target, rules, f, False, W, n, sums, at, found, scratch)


QUARTER = np.uint64(16)
FEW = 24  # rows of a node below which sorting them costs less
MOST = 64  # classes; with more of them a row costs less than a cell


@inlined
def _count_small(codes, first, shift, entries, a, b, lanes, cells, flags):  # type: ignore[no-untyped-def]
    for i in range(a, b):
        e = entries[i]
        c = np.int64(codes[first + np.int64(e >> HALF)]) >> shift
        cells[lanes * c + np.int64(e & LOW16)] += (e >> QUARTER) & LOW16
        flags[c] = RAISED


@inlined
def _run_small(start, stop, lanes, cells, place, left, whole, real, A):  # type: ignore[no-untyped-def]
    """real[i], real[A + i], real[2 A + i]: draws, Σ squares of both sides of the split after place[i]; cell `start` (−1: none) is on the left
    besides."""
    clear(left, 0, lanes)
    if start >= 0:
        squares_after(cells, lanes * start, left, whole, lanes)
    for i in range(stop):
        n, lefts, rights = squares_after(cells, lanes * place[i], left, whole, lanes)
        real[i] = n
        real[A + i] = lefts
        real[2 * A + i] = rights


@inlined
def classes_occupied(table, f, least, entries, a, b, K, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split of column f between its cells; whether the column varies."""
    lanes, shift = (K + 7) & -8, table.shift[f]
    cells, place, left, whole, A = scratch.cells, scratch.place, scratch.left, scratch.whole, scratch.reach
    missing = missing_cell(table, f)
    _count_small(table.codes, f * table.n, shift, entries, a, b, lanes, cells, scratch.flags)
    count = marked(scratch.flags, place)
    if count > 1:
        for k in range(lanes):
            whole[k] = np.float64(sums[at + k]) if k < K else 0.0
        lost = place[count - 1] == missing
        stop = count - 1 if lost else count
        for side in range(2 if lost else 1):
            _run_small(missing if side else np.int64(-1), stop, lanes, cells, place, left, whole, scratch.real, A)
            some = (stop + 7) & -8
            gini_of_squares(scratch.real, A, scratch.worth, some, np.float64(n), np.float64(least))
            keep_cell(found, f, place, stop, shift, table.missing[f], side if lost else NONE_MISSING, scratch.worth)
    for i in range(count):
        clear(cells, lanes * place[i], lanes)
    return count > 1


@inner
def _count(target, table, f, entries, a, b, sums, at, scratch):  # type: ignore[no-untyped-def]
    """hist[256 k + bucket] += weight for the classes there are; hist[256 K + bucket] += draws."""
    codes, first, shift, hist = table.codes, f * table.n, table.shift[f], scratch.sums
    K, used = target.count, table.buckets[f] + 1
    for k in range(K):
        if sums[at + k] > 0:
            for c in range(used):
                hist[BUCKETS * k + c] = 0
    for c in range(used):
        hist[BUCKETS * K + c] = 0
    if target.weighted:
        for i in range(a, b):
            e = entries[i]
            c = np.int64(codes[first + np.int64(e >> HALF)]) >> shift
            hist[BUCKETS * np.int64(e & LOW16) + c] += weight_of(target, e)
            hist[BUCKETS * K + c] += times_of(e)
        return
    for i in range(a, b):
        e = entries[i]
        c = np.int64(codes[first + np.int64(e >> HALF)]) >> shift
        hist[BUCKETS * np.int64(e & LOW16) + c] += times_of(e)
    for k in range(K):
        if sums[at + k] > 0:
            for c in range(used):
                hist[BUCKETS * K + c] += hist[BUCKETS * k + c]


@inner
def _run(target, rules, start, count, sums, at, scratch):  # type: ignore[no-untyped-def]
    """number, real: what the splits after each bucket put to the left; start: a bucket there anyway."""
    hist, number, real, A, K = scratch.sums, scratch.number, scratch.real, scratch.reach, target.count
    n = hist[BUCKETS * K + start] if start >= 0 else 0
    for i in range(count):
        n += hist[BUCKETS * K + i]
        number[i] = n
        real[i] = 0.0
        real[A + i] = 0.0
        real[2 * A + i] = 0.0
    for k in range(K):
        whole = sums[at + k]
        if whole == 0:
            continue
        row, run = BUCKETS * k, 0
        if start >= 0:
            run = hist[row + start]
        for i in range(count):
            run += hist[row + i]
            scratch.signed[i] = run
        if rules.criterion == ENTROPY:
            for i in range(count):
                x = scratch.signed[i]
                real[i] += np.float64(x)
                real[A + i] += term_of(target, ENTROPY, x)
                real[2 * A + i] += term_of(target, ENTROPY, whole - x)
        else:
            top = np.float64(whole)
            for i in range(count):
                x = np.float64(scratch.signed[i])
                real[i] += x
                real[A + i] += x * x
                real[2 * A + i] += (top - x) * (top - x)


@inner
def _by_buckets(target, table, rules, entries, a, b, f, W, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, counted into buckets. Says whether it varies."""
    _count(target, table, f, entries, a, b, sums, at, scratch)
    return _best_bucket(target, table, rules, f, W, n, sums, at, found, scratch)


@inner
def _best_bucket(target, table, rules, f, W, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """The best split after a bucket of the column counted in scratch.sums. Says whether it varies."""
    used, draws = table.buckets[f], BUCKETS * target.count
    missing = table.missing[f] >> table.shift[f] if table.missing[f] >= 0 else -1
    lost = missing >= 0 and scratch.sums[draws + missing] > 0
    varies = False
    for left in range(1 + lost):
        _run(target, rules, missing if left else -ONE, used, sums, at, scratch)
        score_classes(target, rules, W, n, scratch, used)
        best = greatest(scratch, used)
        varies = varies or best > -np.inf
        if beats(best, found):
            i = first_best(scratch.worth, best)
            after = i + 1
            while after < used and scratch.sums[draws + after] == 0:
                after += 1
            shift = table.shift[f]
            keep(
                found,
                best,
                f,
                ((i + 1) << shift) - 1,
                (after << shift) if after < used else table.missing[f],
                left if lost else NONE_MISSING,
            )
    return varies or more_than_one(scratch.sums, draws, 1, used + 1)


@inlined
def _scan(target, table, rules, items, first, stop, m, lookup, base, f, W, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, code by code: sorted items[first : first + m], whose rows are entries lookup[base + …]; the first `stop` have a value.
    A row that moves to the left changes two terms."""
    real, A, criterion = scratch.real, scratch.reach, rules.criterion
    left_of = scratch.sums
    for left in range(1 + (stop < m)):
        n_left, w_left, lefts, rights = 0, 0, 0.0, 0.0
        for k in range(target.count):
            left_of[k] = 0
            rights += term_of(target, criterion, sums[at + k])
        gone = m - stop if left else 0
        for i in range(gone + stop):
            q = stop + i if i < gone else i - gone
            e = lookup[base + np.int64(items[first + q] & LOW32)]
            k, w = np.int64(e & LOW16), weight_of(target, e)
            x, y = left_of[k], sums[at + k] - left_of[k]
            lefts += term_of(target, criterion, x + w) - term_of(target, criterion, x)
            rights += term_of(target, criterion, y - w) - term_of(target, criterion, y)
            left_of[k] = x + w
            n_left += times_of(e)
            w_left += w
            scratch.number[q] = n_left
            real[q] = np.float64(w_left)
            real[A + q] = lefts
            real[2 * A + q] = rights
        if target.weighted:
            _scan_back(target, criterion, items, first, stop, m, gone, lookup, base, scratch)
        score_classes(target, rules, W, n, scratch, stop)
        keep_item(table, f, items, first, stop, left if stop < m else NONE_MISSING, scratch, found)


@inner
def _scan_back(target, criterion, items, first, stop, m, gone, lookup, base, scratch):  # type: ignore[no-untyped-def]
    """The right sides' terms of `_scan`, added up from the right: what is left of a large sum when weights are taken off it is rounding
    where the weights that stay are light."""
    real, A, right_of, rights = scratch.real, scratch.reach, scratch.sums, 0.0
    for k in range(target.count):
        right_of[k] = 0
    for q in range(m - 1, -1, -1):
        if q >= stop and gone > 0:
            continue  # what is missing is on the left
        e = lookup[base + np.int64(items[first + q] & LOW32)]
        k, w = np.int64(e & LOW16), weight_of(target, e)
        if q < stop:
            real[2 * A + q] = rights
        x = right_of[k]
        rights += term_of(target, criterion, x + w) - term_of(target, criterion, x)
        right_of[k] = x + w


@inlined
def _by_sorting(target, table, rules, entries, a, b, f, W, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """Column f, code by code. Says whether it varies."""
    stop, varies = sorted_node(table, entries, a, b, f, scratch)
    if varies:
        _scan(target, table, rules, scratch.other, ZERO, stop, b - a, entries, a, f, W, n, sums, at, found, scratch)
    return varies


@inner
def classes_scan(target, table, rules, items, first, m, lookup, n, sums, at, f, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on column f, whose rows lie sorted in items[first : first + m]."""
    stop, varies = there_in_list(table, items, first, m, f)
    if varies:
        W = 0
        for k in range(target.count):
            W += sums[at + k]
        w = np.float64(W)
        _scan(target, table, rules, items, first, stop, m, lookup, ZERO, f, w, n, sums, at, found, scratch)


@jit(inline="always")
def _is_counted(target, rules):  # type: ignore[no-untyped-def]
    """Whether Gini's squares of counts are all that decides."""
    plain = not target.weighted and not rules.min_leaf_weight > 0.0
    return plain and rules.criterion != ENTROPY and target.count <= MOST


@inner
def classes_search(target, table, rules, entries, a, b, n, sums, at, f, k, width, word, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on the columns f[k : k + width]; says whether any of them varies in the node."""
    W, there = 0, 0
    for c in range(target.count):
        W += sums[at + c]
        there += sums[at + c] > 0
    weight = np.float64(W)
    many = b - a >= max(FEW_ROWS * there, rules.exact_below)
    varies, squares = False, _is_counted(target, rules)
    if squares:
        for c in range((target.count + 7) & -8):
            scratch.whole[c] = np.float64(sums[at + c]) if c < target.count else 0.0
    for j in range(k, k + width):
        c = f[j]
        if table.levels[c] > 0:
            varies |= classes_by_category(
                target, table, rules, entries, a, b, c, squares, weight, n, sums, at, found, scratch
            )
        elif rules.random:
            own = mixed(word + np.uint64(c))
            varies |= classes_by_random_threshold(
                target, table, rules, entries, a, b, c, squares, weight, n, sums, at, own, found, scratch
            )
        elif squares and (many or (table.shift[c] == 0 and b - a >= FEW)):
            varies |= classes_occupied(
                table, c, rules.min_leaf, entries, a, b, target.count, n, sums, at, found, scratch
            )
        elif many:
            varies |= _by_buckets(target, table, rules, entries, a, b, c, weight, n, sums, at, found, scratch)
        else:
            varies |= _by_sorting(target, table, rules, entries, a, b, c, weight, n, sums, at, found, scratch)
    return varies


@inner
def classes_counted(target, table, rules, n, sums, at, f, counts, first, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on column f of a node of which the weight of each class and the draws of each code are added up
    in counts[first + (K + 1) · code + (0 … K)]."""
    K, W = target.count, 0
    for k in range(K):
        W += sums[at + k]
    w = np.float64(W)
    if table.levels[f] > 0:
        return classes_by_counts(target, rules, f, counts, first, w, n, sums, at, found, scratch)
    for k in range(K + 1):
        for c in range(256):
            scratch.sums[BUCKETS * k + c] = counts[first + (K + 1) * c + k]
    return _best_bucket(target, table, rules, f, w, n, sums, at, found, scratch)
