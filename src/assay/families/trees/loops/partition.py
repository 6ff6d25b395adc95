"""What a split does: rows go to its sides, and the node is written down."""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.memory import prefetch_at
from assay.families.trees.loops.arrays import AHEAD, HALF, NONE_MISSING
from assay.families.trees.loops.kinds import mean


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
def narrow(table, found, target, out, node, left_sums, channels, bounds, top):  # type: ignore[no-untyped-def]
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
