"""The best split of a sorted column: stretches of 64 rows are passed over where a bound is below the best split.

The rows of a node lie in the sorted lists of its columns. An item is row · 2 | label, the label being that of one of two classes. Codes are
looked up only where a column has rows of equal value (`tied`), and where a split is kept.

Rows of two classes, each counted once: the score is convex in the numbers of both classes that go to the left. Along a stretch these stay
within a rectangle, whose corners bound it.

Numbers: with z the sum of y − mean over the x rows on the left of n, Σ (y − mean) = T and |T − z| ≤ |z| + |T| (the mean is a whole number, so T is not quite 0):

    Z_L² / x + Z_R² / (n − x)  =  z² / x + (T − z)² / (n − x) + const  ≤  (|z| + |T|)² (1 / x + 1 / (n − x)) + const,

greatest where |z| is and at an end of the stretch. Of a node of few rows the bound of each split is taken, its second factor looked up.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.families.trees.loops.arrays import ENTROPY, GINI, HALF, LOW32, NONE_MISSING, ZERO
from assay.families.trees.loops.candidates import SLACK, beats, greatest, keep
from assay.families.trees.loops.numbers import numbers_scan
from assay.families.trees.loops.two_words import score_words
from assay.families.trees.loops.worth import score_sums

STRETCH = 64  # splits that one bound is for
FEW = 192  # rows of a node all of whose splits are scored
SORTED = 8  # rows of a node whose lists are made when they are asked for: most columns are not
TINY = 16  # rows of a node whose splits are scored one by one
MARGIN = 2.0**-40  # of a score: more than a rounding, and than what counts as equal


@jit(inline="always")
def code_at(table, base, items, i):  # type: ignore[no-untyped-def]
    """The code of an item; base: where its column's codes begin."""
    return np.int64(table.codes[base + (np.int64(items[i]) >> 1)])


@inner
def list_few(table, lists, entries, a, b, f):  # type: ignore[no-untyped-def]
    """Make the list of column f for the few rows entries[a : b], by insertion."""
    items, first, base = lists.items, f * lists.rows, f * table.n
    for i in range(a, b):
        e = entries[i]
        r = np.int64(e >> HALF)
        code = np.int64(table.codes[base + r])
        j = first + i - 1
        while j >= first + a and code_at(table, base, items, j) > code:
            items[j + 1] = items[j]
            j -= 1
        items[j + 1] = np.uint32((r << 1) | (np.int64(e) & 1))


@inner
def there_in_items(table, lists, first, m, f):  # type: ignore[no-untyped-def]
    """(How many of items[first : first + m] have a value, whether the column varies.)"""
    if lists.tied[f] == 0 and table.missing[f] < 0:
        return m, True
    items, base = lists.items, f * table.n
    last = code_at(table, base, items, first + m - 1)
    if code_at(table, base, items, first) == last:
        return m, False
    stop = m
    if last == table.missing[f]:
        while code_at(table, base, items, first + stop - 1) == last:
            stop -= 1
    return stop, True


@inner
def bar_ties(table, lists, f, first, a, b, stop, worth):  # type: ignore[no-untyped-def]
    """worth[i − a]: −∞ where the items a ≤ i < b of column f is no split, the next item having the same value."""
    if lists.tied[f] == 0:
        return
    items, base = lists.items, f * table.n
    code = code_at(table, base, items, first + a)
    for i in range(a, min(b, stop - 1)):
        after = code_at(table, base, items, first + i + 1)
        worth[i - a] = worth[i - a] if code != after else -np.inf
        code = after


@inner
def keep_listed(table, lists, f, first, a, b, stop, left, best, scratch, found):  # type: ignore[no-untyped-def]
    """Keep the first of the splits after the items a ≤ i < b that is worth `best`, up to rounding; False where there is none. left: where
    missing values go."""
    items, base, enough = lists.items, f * table.n, best - SLACK * abs(best)
    for i in range(a, b):
        if scratch.worth[i - a] >= enough:
            code = code_at(table, base, items, first + i)
            after = code_at(table, base, items, first + i + 1) if i + 1 < stop else table.missing[f]
            keep(found, scratch.worth[i - a], f, code, after, left)
            return True
    return False


@inner
def unpacked(table, lists, first, m, f, scratch):  # type: ignore[no-untyped-def]
    """scratch.other: the items as code · 2³² | row, as `sorting` leaves them."""
    items, base = lists.items, f * table.n
    for i in range(m):
        r = np.int64(items[first + i]) >> 1
        scratch.other[i] = np.uint64((np.int64(table.codes[base + r]) << 32) | r)


@inner
def _score_items(target, table, rules, lists, f, first, a, b, stop, x, Z, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """worth[i − a] of the splits after the items a ≤ i < b, with x rows and the sum Z before them; the greatest."""
    items, real, number, A, value = lists.items, scratch.real, scratch.number, scratch.reach, target.value
    W_all, Z_all = sums[at], sums[at + 1]
    for i in range(b - a):
        Z += value[np.int64(items[first + a + i]) >> 1]
        real[A + i] = np.float64(2 * Z - Z_all)
    for i in range(b - a):
        number[i] = x + i + 1
        real[i] = np.float64(2 * (x + i + 1) - W_all)
    score_sums(target, rules, sums, at, n, ZERO, found, scratch, b - a)
    bar_ties(table, lists, f, first, a, b, stop, scratch.worth)
    return greatest(scratch, b - a)


@inner(error_model="numpy")
def _score_tiny(target, table, rules, lists, f, first, stop, x, Z, n, sums, at, worth):  # type: ignore[no-untyped-def]
    """As `_score_items` of all items, without room for what lies between: the same operations."""
    items, value, least = lists.items, target.value, rules.min_leaf
    W_all, Z_all = sums[at], sums[at + 1]
    W, half, best = 0.5 * np.float64(W_all), 0.5 * np.float64(Z_all), -np.inf
    for i in range(stop):
        Z += value[np.int64(items[first + i]) >> 1]
        left = x + i + 1
        g, h = 0.5 * np.float64(2 * left - W_all), 0.5 * np.float64(2 * Z - Z_all)
        a, b, c, d = W + g, half + h, W - g, half - h
        w = (b * b * c + d * d * a) / (a * c)
        worth[i] = w if (left >= least) & (n - left >= least) & (c > 0.0) else -np.inf
    bar_ties(table, lists, f, first, ZERO, stop, stop, worth)
    for i in range(stop):
        best = max(best, worth[i])
    return best


@inner(error_model="numpy")
def _bound(items, value, first, stop, x, z, n, mean, T, starts, bound, base):  # type: ignore[no-untyped-def]
    """bound[base + q]: no split within stretch q has a greater score, but for const and rounding; starts[q]: z before it. (Number of
    stretches, place of the greatest bound.)"""
    count, highest, all_rows = (stop + STRETCH - 1) // STRETCH, ZERO, np.float64(n)
    for q in range(count):
        starts[q] = z
        a = q * STRETCH
        b = min(stop, a + STRETCH)
        low = high = z + value[np.int64(items[first + a]) >> 1] - mean
        for i in range(first + a, first + b):
            z += value[np.int64(items[i]) >> 1] - mean
            low = min(low, z)
            high = max(high, z)
        most = np.float64(max(high, -low) + T)
        begin, end = np.float64(x + a + 1), np.float64(min(x + b, n - 1))
        ends = max(all_rows / (begin * (all_rows - begin)), all_rows / (end * (all_rows - end)))
        bound[base + q] = most * most * ends
        highest = q if bound[base + q] > bound[base + highest] else highest
    return count, highest


@inner
def _may_beat(items, value, first, stop, x, Z, found, scratch):  # type: ignore[no-untyped-def]
    """Whether a split after one of the items may beat the one found."""
    least, A = found.score[0], scratch.reach
    if not least > -np.inf:
        return True
    mean, T, const = scratch.sums[0], scratch.sums[1], scratch.real[3 * A]
    z, signed, share, worth = Z - mean * x, scratch.signed, 2 * A + x + 1, scratch.worth
    for i in range(stop):
        z += value[np.int64(items[first + i]) >> 1] - mean
        signed[i] = z
    for i in range(stop):
        most = np.float64(abs(signed[i]) + T)
        worth[i] = most * most * scratch.real[share + i]
    return greatest(scratch, stop) + const >= least - MARGIN * (abs(least) + abs(const))


@inner
def _by_stretches(target, table, rules, lists, f, first, stop, x, Z, left, n, sums, at, found, scratch):  # type: ignore[no-untyped-def]
    """As scoring all splits: the stretch with the greatest bound first, then those that may hold one as good. x, Z: the rows on the left
    before the first item, and their sum."""
    starts, bound, A = scratch.signed, scratch.real, scratch.reach
    mean = sums[at + 1] // n
    T = sums[at + 1] - mean * n
    const = np.float64(mean) * np.float64(sums[at + 1] + T)
    count, highest = _bound(
        lists.items, target.value, first, stop, x, Z - mean * x, n, mean, abs(T), starts, bound, 2 * A
    )
    best, least = -np.inf, found.score[0]
    for k in range(count + 1):
        q = k - 1 if k > 0 else highest
        if k > 0:
            if q == highest:
                continue
            bound[3 * A + q] = -np.inf
        if bound[2 * A + q] + const >= least - MARGIN * (abs(least) + abs(const)):
            a = q * STRETCH
            b, Z0 = min(stop, a + STRETCH), starts[q] + mean * (x + a)
            top = _score_items(
                target, table, rules, lists, f, first, a, b, stop, x + a, Z0, n, sums, at, found, scratch
            )
            bound[3 * A + q] = top
            best = max(best, top)
            least = max(least, top)
        elif k == 0:
            return
    if beats(best, found):
        for q in range(count):
            if bound[3 * A + q] >= best - MARGIN * abs(best):
                a = q * STRETCH
                b, Z0 = min(stop, a + STRETCH), starts[q] + mean * (x + a)
                _score_items(target, table, rules, lists, f, first, a, b, stop, x + a, Z0, n, sums, at, found, scratch)
                if keep_listed(table, lists, f, first, a, b, stop, left, best, scratch, found):
                    return


@inner
def numbers_listed(target, table, rules, lists, start, m, n, sums, at, f, found, scratch):  # type: ignore[no-untyped-def]
    """Improve `found` by the best split on column f of a node whose m rows lie sorted in its list from `start` on."""
    first = f * lists.rows + start
    if target.weighted or rules.criterion != GINI or table.trend[f] != 0 or rules.min_leaf_weight > 0.0:
        unpacked(table, lists, first, m, f, scratch)
        numbers_scan(target, table, rules, scratch.other, ZERO, m, lists.entry, n, sums, at, f, found, scratch)
        return
    stop, varies = there_in_items(table, lists, first, m, f)
    if not varies:
        return
    gone = ZERO
    for i in range(stop, m):
        gone += target.value[np.int64(lists.items[first + i]) >> 1]
    for left in range(1 + (stop < m)):
        x, Z = (m - stop, gone) if left else (ZERO, ZERO)
        side = left if stop < m else NONE_MISSING
        if m > FEW:
            _by_stretches(target, table, rules, lists, f, first, stop, x, Z, side, n, sums, at, found, scratch)
            continue
        if not _may_beat(lists.items, target.value, first, stop, x, Z, found, scratch):
            continue
        if stop <= TINY:
            best = _score_tiny(target, table, rules, lists, f, first, stop, x, Z, n, sums, at, scratch.worth)
        else:
            best = _score_items(
                target, table, rules, lists, f, first, ZERO, stop, stop, x, Z, n, sums, at, found, scratch
            )
        if beats(best, found):
            keep_listed(table, lists, f, first, ZERO, stop, stop, side, best, scratch, found)


@inner(error_model="numpy")
def numbers_ceiling(target, rules, entries, a, b, n, sums, at, scratch):  # type: ignore[no-untyped-def]
    """The best score of all orders, which is that of the order by y, of a node of a few rows; else infinity. And, of a node whose splits are
    all scored, what `_may_beat` reads: the mean, T, const and 1 / x + 1 / (n − x)."""
    m = b - a
    if m > FEW or target.weighted or rules.criterion != GINI:
        return np.inf
    A, real = scratch.reach, scratch.real
    mean = sums[at + 1] // n
    T = sums[at + 1] - mean * n
    const = np.float64(mean) * np.float64(sums[at + 1] + T)
    scratch.sums[0], scratch.sums[1], real[3 * A] = mean, abs(T), const
    all_rows = np.float64(n)
    for x in range(1, m + 1):
        left = np.float64(x)
        real[2 * A + x] = all_rows / (left * (all_rows - left)) if x < m else 0.0
    if m > SORTED:
        return np.inf
    y = scratch.signed
    for i in range(m):
        v = target.value[np.int64(entries[a + i] >> HALF)] - mean
        j = i - 1
        while j >= 0 and y[j] > v:
            y[j + 1] = y[j]
            j -= 1
        y[j + 1] = v
    z, best = ZERO, 0.0
    for i in range(m - 1):
        z += y[i]
        left, right, x = np.float64(z), np.float64(T - z), np.float64(i + 1)
        best = max(best, left * left / x + right * right / (all_rows - x))
    return best + const


ONE_ROW = np.uint64(1 << 32)
LABEL = np.uint64(1)


@inner
def _score_class_items(target, table, rules, lists, f, first, a, b, stop, run, n, s, scratch):  # type: ignore[no-untyped-def]
    """worth[i − a] of the splits after the items a ≤ i < b, with `run` before them; the greatest."""
    items, running = lists.items, scratch.running
    for i in range(b - a):
        run += ONE_ROW | (np.uint64(items[first + a + i]) & LABEL)
        running[i] = run
    score_words(running, scratch.worth, b - a, n, s, rules.criterion, target.xlogx, rules.min_leaf)
    bar_ties(table, lists, f, first, a, b, stop, scratch.worth)
    return greatest(scratch, b - a)


@inner(error_model="numpy")
def _score_few_classes(target, table, rules, lists, f, first, stop, run, n, s, worth):  # type: ignore[no-untyped-def]
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
def _class_bound(starts, count, n, s, criterion, x, bound):  # type: ignore[no-untyped-def]
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
def _classes_by_stretches(target, table, rules, lists, f, first, stop, run, left, n, s, found, scratch):  # type: ignore[no-untyped-def]
    """As scoring all splits: the stretch with the greatest bound first, then those that may hold one as good."""
    starts, bound, A = scratch.items, scratch.real, scratch.reach
    count = _count_stretches(lists.items, first, stop, run, starts)
    highest = _class_bound(starts, count, n, s, rules.criterion, target.xlogx, bound)
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
            top = _score_class_items(target, table, rules, lists, f, first, a, b, stop, starts[q], n, s, scratch)
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
                _score_class_items(target, table, rules, lists, f, first, a, b, stop, starts[q], n, s, scratch)
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
            _classes_by_stretches(target, table, rules, lists, f, first, stop, run, side, n, s, found, scratch)
            continue
        if stop <= TINY:
            best = _score_few_classes(target, table, rules, lists, f, first, stop, run, n, s, scratch.worth)
        else:
            best = _score_class_items(target, table, rules, lists, f, first, ZERO, stop, stop, run, n, s, scratch)
        if beats(best, found):
            keep_listed(table, lists, f, first, ZERO, stop, stop, side, best, scratch, found)


@inner
def two_ceiling(target, rules, entries, a, b, n, sums, at, scratch):  # type: ignore[no-untyped-def]
    """The score of a split that parts the classes: none has a better one."""
    return 0.0 if rules.criterion == ENTROPY else np.float64(sums[at + 1])
