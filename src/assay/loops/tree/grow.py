"""Growing a tree depth first, the same text for every kind of target.

What a node becomes depends on its rows, its depth, its bounds and its key alone, never on the order in which nodes are grown:
so a part of a tree can be grown anywhere.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from assay.loops.tree.bare import bare
from assay.loops.tree.candidates import SLACK
from assay.loops.tree.dice import STEP, below, child_key, mixed
from assay.loops.tree.kinds import bare_target, ceiling, cost, gain, listed, mean, search, total, weight
from assay.loops.tree.listed import SORTED, list_few
from assay.loops.tree.shapes import (
    HALF,
    NONE_MISSING,
    ONE,
    ZERO,
    bare_found,
    bare_grown,
    bare_lists,
    bare_scratch,
    bare_table,
)

LATER = 3  # which child has more rows is known when the left one is there


@njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
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


@njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
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


@njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def mark_sides(lists, entries, a, middle, b):  # type: ignore[no-untyped-def]
    """lists.side[row]: 1 for the rows of the left child, 0 for those of the right one."""
    for i in range(a, b):
        lists.side[np.int64(entries[i] >> HALF)] = i < middle


@njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
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
        varies |= search(target, table, rules, entries, a, b, n, sums, at, order, drawn, width, word, found, scratch)
        drawn += width
        if b - a == 2 and found.place[0] >= 0:
            break  # two rows can be parted in one way only: no other column does it better
    for j in range(drawn - 1, -1, -1):
        other = scratch.swaps[j]
        order[j], order[other] = order[other], order[j]


@njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
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
        for i in range(a, b):
            e = entries[i]
            c = np.int64(codes[first + np.int64(e >> HALF)])
            side = np.int64((c <= cut) | (c == gone))
            entries[left] = e
            spare[right] = e
            left += side
            right += 1 - side
    for i in range(right):
        entries[left + i] = spare[i]
    return left


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
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


@njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _write(table, found, out, node, sets, many_left):  # type: ignore[no-untyped-def]
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


@njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _narrow(table, found, target, out, node, left_sums, channels, bounds, top):  # type: ignore[no-untyped-def]
    """bounds[top:]: of the right child, then of the left one, where the split's column has a trend."""
    low, high = found.score[1], found.score[2]
    for child in range(2):
        bounds[top + 2 * child], bounds[top + 2 * child + 1] = low, high
    trend = table.trend[found.place[0]] if found.place[4] == 0 else 0
    if trend == 0:
        return
    left = min(max(mean(target, left_sums, 0), low), high)
    for c in range(channels):
        left_sums[c] = out.sums[node * channels + c] - left_sums[c]
    right = min(max(mean(target, left_sums, 0), low), high)
    middle = 0.5 * (left + right)
    bounds[top + (0 if trend > 0 else 1)] = middle
    bounds[top + (3 if trend > 0 else 2)] = middle


@njit(nogil=True, cache=True)
def grow(
    target,
    table,
    rules,
    trends,
    entries,
    begin,
    end,
    others,
    spare,
    key,
    depth,
    lists,
    found,
    scratch,
    stack,
    keys,
    bounds,
    out,
):  # type: ignore[no-untyped-def]
    """Grow a tree from entries[begin : end]; (number of its nodes, of its splits by categories). stack (S, 6), keys (S,), bounds (S, 2):
    room for the nodes still to do; found.score[1:3]: the bounds of the first one. `others` go along: entries that
    the tree does not learn from."""
    along, channels = others.shape[0], out.sums.shape[1]
    target_, table_, lists_ = bare_target(target), bare_table(table), None if lists is None else bare_lists(lists)
    found_, scratch_, out_ = bare_found(found), bare_scratch(scratch), bare_grown(out)
    entries_, others_, spare_ = bare(entries), bare(others), bare(spare)
    stack_, keys_, bounds_ = bare(stack), bare(keys), bare(bounds)
    nodes, sets, waiting = ZERO, ZERO, ONE
    stack_[0], stack_[1], stack_[2], stack_[3], stack_[4], stack_[5] = begin, end, depth, -1, 0, along
    keys_[0] = key
    bounds_[0], bounds_[1] = found_.score[1], found_.score[2]
    while waiting > 0:
        waiting -= 1
        top = 6 * waiting
        a, b, level, parent = stack_[top], stack_[top + 1], stack_[top + 2], stack_[top + 3]
        c, d = stack_[top + 4], stack_[top + 5]
        own = keys_[waiting]
        node = nodes
        nodes += 1
        if parent >= 0:
            out_.right[parent] = node
        n, alike = total(target_, entries_, a, b, out_.sums, node * channels)
        if parent < 0 and node > 0 and out_.missing[node - 1] == LATER:  # a left child follows its parent
            out_.missing[node - 1] = 1 if 2 * n >= out_.rows[node - 1] else 0
        out_.rows[node], out_.start[node], out_.other[node] = n, a, c
        out_.feature[node], out_.right[node], out_.missing[node], out_.cut[node], out_.gain[node] = -1, -1, 0, 0.0, 0.0
        if trends:
            found_.score[1], found_.score[2] = bounds_[2 * waiting], bounds_[2 * waiting + 1]
            out_.bounds[2 * node], out_.bounds[2 * node + 1] = found_.score[1], found_.score[2]
        if alike or level >= rules.max_depth or n < rules.min_split or n < 2 * rules.min_leaf:
            continue
        find_split(target_, table_, rules, entries_, a, b, n, out_.sums, node * channels, own, lists_, found_, scratch_)
        if found_.place[0] < 0:
            continue
        own_cost = cost(target_, rules, entries_, a, b, scratch_.number)
        won = gain(target_, rules, found_.score[0], own_cost, n, out_.sums, node * channels)
        if rules.min_gain > 0.0 and won * weight(target_, n, out_.sums, node * channels) < rules.min_gain:
            continue
        middle = part(table_, found_, entries_, spare_, a, b)
        if lists is not None:  # known when this is compiled, so that forests do not wait for what they do not use
            if max(middle - a, b - middle) > SORTED:
                mark_sides(lists_, entries_, a, middle, b)
                part_lists(table_, lists_, scratch_.order, ZERO, table_.d, lists_.spare, a, b)
        many_left = np.int64(LATER)
        if trends or table_.missing[found_.place[0]] >= 0:
            left_n, _ = total(target_, entries_, a, middle, scratch_.sums, 0)
            many_left = ONE if 2 * left_n >= n else ZERO
        sets = _write(table_, found_, out_, node, sets, many_left)
        out_.gain[node] = won
        if trends:
            _narrow(table_, found_, target_, out_, node, scratch_.sums, channels, bounds_, 2 * waiting)
        between = c
        if d > c:
            found_.place[3] = out_.missing[node]
            between = part(table_, found_, others_, spare_, c, d)
        stack_[top], stack_[top + 1], stack_[top + 2], stack_[top + 3] = middle, b, level + 1, node
        stack_[top + 4], stack_[top + 5] = between, d
        keys_[waiting] = child_key(own, False)
        stack_[top + 6], stack_[top + 7], stack_[top + 8], stack_[top + 9] = a, middle, level + 1, -1
        stack_[top + 10], stack_[top + 11] = c, between
        keys_[waiting + 1] = child_key(own, True)
        waiting += 2
    return nodes, sets


@njit(nogil=True, cache=True)
def split_part(target, table, rules, entries, begin, end, n, sums, f, k, width, key, lists, found, scratch):  # type: ignore[no-untyped-def]
    """As `best_of`, of a node entries[begin : end] whose sums are known: for several threads, some columns each."""
    best_of(
        bare_target(target),
        bare_table(table),
        rules,
        bare(entries),
        begin,
        end,
        n,
        bare(sums),
        0,
        bare(f),
        k,
        width,
        key,
        None if lists is None else bare_lists(lists),
        bare_found(found),
        bare_scratch(scratch),
    )


@njit(nogil=True, cache=True)
def node_total(target, rules, entries, begin, end, sums, order):  # type: ignore[no-untyped-def]
    """(draws, whether all targets are alike, Σ w |y − median| where the criterion is that) of a node; its sums."""
    t, e = bare_target(target), bare(entries)
    n, alike = total(t, e, begin, end, bare(sums), 0)
    return n, alike, cost(t, rules, e, begin, end, bare(order))


@njit(nogil=True, cache=True)
def node_gain(target, rules, score, own_cost, n, sums):  # type: ignore[no-untyped-def]
    """(what a split with that score gains, the weight of the node in the units of its sums)."""
    t, s = bare_target(target), bare(sums)
    return gain(t, rules, score, own_cost, n, s, 0), weight(t, n, s, 0)


@njit(nogil=True, cache=True)
def split_node(table, found, entries, spare, begin, end, lists):  # type: ignore[no-untyped-def]
    """Part the entries of a node by the split found; the first of the right child. The sides are marked for its lists."""
    e = bare(entries)
    middle = part(bare_table(table), bare_found(found), e, bare(spare), begin, end)
    if lists is not None:
        mark_sides(bare_lists(lists), e, begin, middle, end)
    return middle


@njit(nogil=True, cache=True)
def split_lists(table, lists, f, k, width, spare, begin, end):  # type: ignore[no-untyped-def]
    """As `part_lists`, for several threads, some columns each."""
    part_lists(bare_table(table), bare_lists(lists), bare(f), k, width, bare(spare), begin, end)


@njit(nogil=True, cache=True)
def write_split(table, found, out, many_left):  # type: ignore[no-untyped-def]
    """Note the split found as node 0 of `out`; 1 where it is by categories."""
    return _write(bare_table(table), bare_found(found), bare_grown(out), ZERO, ZERO, many_left)


@njit(nogil=True, cache=True)
def child_bounds(target, table, found, out, left_sums, bounds):  # type: ignore[no-untyped-def]
    """bounds (2, 2): of the right child and of the left one of node 0 of `out`."""
    channels = out.sums.shape[1]
    _narrow(
        bare_table(table),
        bare_found(found),
        bare_target(target),
        bare_grown(out),
        ZERO,
        bare(left_sums),
        channels,
        bare(bounds),
        ZERO,
    )
