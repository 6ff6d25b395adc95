"""The best split of a node among the columns that it tries, and what it does: rows go to its sides, and the node is written down.

Nodes are split one by one for threads that share the columns of a large one. Level by level, the codes of many nodes are counted in one
pass over the rows, and the best split of a node is found from its counts.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.mixing import STEP, below, mixed
from assay.compiled.simd.memory import data_pointer, prefetch_at
from assay.families.trees.loops.arrays import (
    AHEAD,
    HALF,
    NONE_MISSING,
    ZERO,
    found_pointers,
    grown_pointers,
    lists_pointers,
    scratch_pointers,
    table_pointers,
)
from assay.families.trees.loops.candidates import SLACK
from assay.families.trees.loops.kinds import (
    answer,
    ceiling,
    cost,
    counted,
    gain,
    listed,
    search,
    target_pointers,
    total,
    weight,
)
from assay.families.trees.loops.sorted_search import SORTED, list_few

NEAR = 1024  # rows of a node whose codes of a few columns fit a core's cache


@inner
def part(table, found, entries, spare, a, b):  # type: ignore[no-untyped-def]
    """Bring the rows of the left child before those of the right one, both in their order; the first of the right one."""
    codes, first = table.codes, found.place[0] * table.n
    left, right = a, 0
    if found.place[4]:
        sides = found.sides
        for i in range(a, b):
            e = entries[i]
            side = np.int64(sides[np.int64(codes[first + np.int64(e >> HALF)])])
            entries[left] = e
            spare[right] = e
            left += side
            right += 1 - side
    else:
        cut = found.place[1]
        gone = table.missing[found.place[0]] if found.place[3] == 1 else -1
        far = table.far
        for i in range(a, b):
            e = entries[i]
            if far and i + AHEAD < b:
                prefetch_at(codes, first + np.int64(entries[i + AHEAD] >> HALF))
            c = np.int64(codes[first + np.int64(e >> HALF)])
            side = np.int64((c <= cut) | (c == gone))
            entries[left] = e
            spare[right] = e
            left += side
            right += 1 - side
    for i in range(right):
        entries[left + i] = spare[i]
    return left


@inner
def part_lists(table, lists, f, k, width, spare, a, b):  # type: ignore[no-untyped-def]
    """Bring the rows of the left child before those of the right one in the sorted columns f[k : k + width]; lists.side tells which is
    which."""
    items, side = lists.items, lists.side
    for j in range(k, k + width):
        c = f[j]
        if table.levels[c] > 0:
            continue
        first = c * lists.rows
        left, right = first + a, 0
        for i in range(first + a, first + b):
            x = items[i]
            s = np.int64(side[np.int64(x) >> 1])
            items[left] = x
            spare[right] = x
            left += s
            right += 1 - s
        for i in range(right):
            items[left + i] = spare[i]


@inner
def mark_sides(lists, entries, a, middle, b):  # type: ignore[no-untyped-def]
    """lists.side[row]: 1 for the rows of the left child, 0 for those of the right one."""
    for i in range(a, b):
        lists.side[np.int64(entries[i] >> HALF)] = i < middle


@jit
def _last_below(values, first, cut, after, middle):  # type: ignore[no-untyped-def]
    """The last code whose value is at most `middle`: values[first + cut] <= middle < values[first + after].

    By halves each step is a miss of the cache (of a small node's codes, 14 of them). So the place is guessed as if values
    lay evenly, a few times, and looked for in ever larger steps from there.
    """
    step = 4
    for guess in range(3):
        if after - cut < 64:
            break
        low, high = values[first + cut], values[first + after]
        share = (middle - low) / (high - low)
        between = cut + np.int64((share if share > 0.0 else 0.0) * np.float64(after - cut))  # NaN where they overflow
        between = min(max(between, cut + 1), after - 1)
        if values[first + between] <= middle:
            cut = between
            while guess > 0 and cut + step < after:
                if values[first + cut + step] > middle:
                    after = cut + step
                    break
                cut += step
                step *= 4
        else:
            after = between
            while guess > 0 and after - step > cut:
                if values[first + after - step] <= middle:
                    cut = after - step
                    break
                after -= step
                step *= 4
    while after - cut > 1:
        between = (cut + after) // 2
        if values[first + between] <= middle:
            cut = between
        else:
            after = between
    return cut


@inner
def _threshold(table, found):  # type: ignore[no-untyped-def]
    """(The threshold, the last code below it: of all rows, not of the node's alone.) Halfway between the last value on the left and the
    next one, or the edge halfway between two bins; infinite where only missing values go to the right."""
    f, cut, after = found.place[0], found.place[1], found.place[2]
    values, first = table.values, table.first[f]
    if found.score[3] == found.score[3]:
        return found.score[3], cut
    if after == table.missing[f]:
        return np.inf, after - 1
    if table.binned:
        edge = (cut + after - 1) // 2
        return values[first + edge], edge
    low, high = values[first + cut], values[first + after]
    middle = 0.5 * low + 0.5 * high
    middle = middle if low <= middle < high else low
    return middle, _last_below(values, first, cut, after, middle)


@inner
def written(table, found, out, node, sets, many_left):  # type: ignore[no-untyped-def]
    """Note the split of a node; the number of splits by categories so far. Where nothing was missing, it goes where most rows go."""
    f = found.place[0]
    if found.place[4]:
        out.feature[node] = -2 - f
        out.cut[node] = np.float64(sets)
        out.code[node] = sets
        for word in range(4):
            bits = np.uint64(0)
            for bit in range(64):
                bits |= np.uint64(found.sides[64 * word + bit]) << np.uint64(bit)
            out.sets[4 * sets + word] = bits
        lost = table.missing[f]
        out.missing[node] = found.sides[lost] if lost >= 0 else found.place[3]
        return sets + 1
    out.feature[node] = f
    out.cut[node], found.place[1] = _threshold(table, found)
    out.code[node] = found.place[1]
    out.missing[node] = many_left if found.place[3] == NONE_MISSING else found.place[3]
    return sets


@inner
def narrow(table, found, target, entries, a, middle, b, order, out, node, left_sums, channels, bounds, top):  # type: ignore[no-untyped-def]
    """bounds[top:]: of the right child, then of the left one, whose rows are entries[a : middle], where the split's column has a trend."""
    low, high = found.score[1], found.score[2]
    for child in range(2):
        bounds[top + 2 * child], bounds[top + 2 * child + 1] = low, high
    trend = table.trend[found.place[0]] if found.place[4] == 0 else 0
    if trend == 0:
        return
    left = min(max(answer(target, entries, a, middle, order, left_sums, 0), low), high)
    for c in range(channels):
        left_sums[c] = out.sums[node * channels + c] - left_sums[c]
    right = min(max(answer(target, entries, middle, b, order, left_sums, 0), low), high)
    between = 0.5 * (left + right)
    bounds[top + (0 if trend > 0 else 1)] = between
    bounds[top + (3 if trend > 0 else 2)] = between


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


@jit
def split_part(target, table, rules, entries, begin, end, n, sums, f, k, width, key, lists, found, scratch):  # type: ignore[no-untyped-def]
    """As `best_of`, of a node entries[begin : end] whose sums are known: for several threads, some columns each."""
    best_of(
        target_pointers(target),
        table_pointers(table),
        rules,
        data_pointer(entries),
        begin,
        end,
        n,
        data_pointer(sums),
        0,
        data_pointer(f),
        k,
        width,
        key,
        None if lists is None else lists_pointers(lists),
        found_pointers(found),
        scratch_pointers(scratch),
    )


@jit
def node_total(target, rules, entries, begin, end, sums, order):  # type: ignore[no-untyped-def]
    """(draws, whether all targets are alike, Σ w |y − median| where the criterion is that) of a node; its sums."""
    t, e = target_pointers(target), data_pointer(entries)
    n, alike = total(t, e, begin, end, data_pointer(sums), 0)
    return n, alike, cost(t, rules, e, begin, end, data_pointer(order))


@jit
def node_gain(target, rules, score, own_cost, n, sums):  # type: ignore[no-untyped-def]
    """(what a split with that score gains, the weight of the node in the units of its sums)."""
    t, s = target_pointers(target), data_pointer(sums)
    return gain(t, rules, score, own_cost, n, s, 0), weight(t, n, s, 0)


@jit
def split_node(table, found, entries, spare, begin, end, lists):  # type: ignore[no-untyped-def]
    """Part the entries of a node by the split found; the first of the right child. The sides are marked for its lists."""
    e = data_pointer(entries)
    middle = part(table_pointers(table), found_pointers(found), e, data_pointer(spare), begin, end)
    if lists is not None:
        mark_sides(lists_pointers(lists), e, begin, middle, end)
    return middle


@jit
def split_lists(table, lists, f, k, width, spare, begin, end):  # type: ignore[no-untyped-def]
    """As `part_lists`, for several threads, some columns each."""
    part_lists(table_pointers(table), lists_pointers(lists), data_pointer(f), k, width, data_pointer(spare), begin, end)


@jit
def write_split(table, found, out, many_left):  # type: ignore[no-untyped-def]
    """Note the split found as node 0 of `out`; 1 where it is by categories."""
    return written(table_pointers(table), found_pointers(found), grown_pointers(out), ZERO, ZERO, many_left)


@jit
def child_bounds(target, table, found, entries, begin, middle, end, order, out, left_sums, bounds):  # type: ignore[no-untyped-def]
    """bounds (2, 2): of the right child and of the left one, whose rows are entries[begin : middle], of node 0 of `out`."""
    channels = out.sums.shape[1]
    narrow(
        table_pointers(table),
        found_pointers(found),
        target_pointers(target),
        data_pointer(entries),
        begin,
        middle,
        end,
        data_pointer(order),
        grown_pointers(out),
        ZERO,
        data_pointer(left_sums),
        channels,
        data_pointer(bounds),
        ZERO,
    )


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
