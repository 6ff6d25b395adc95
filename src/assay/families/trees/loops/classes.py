"""The best split of a node where rows of more than two classes are counted or weighed."""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inlined, inner, jit
from assay.compiled.mixing import mixed
from assay.families.trees.loops.arrays import BUCKETS, ENTROPY, FEW_ROWS, HALF, LOW16, LOW32, NONE_MISSING, ONE, ZERO
from assay.families.trees.loops.candidates import (
    beats,
    first_best,
    greatest,
    keep,
    keep_item,
    more_than_one,
    sorted_node,
    there_in_list,
)
from assay.families.trees.loops.classes_small import (
    FEW,
    MOST,
    classes_by_category,
    classes_by_counts,
    classes_by_random_threshold,
    classes_occupied,
)
from assay.families.trees.loops.classes_worth import score_classes, term_of, times_of, weight_of


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
