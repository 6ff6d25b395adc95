"""Better rectangles on a sheet of whole numbers: one column at a time, or the best of two columns by branch and bound.

A sheet holds for each row its slot in every column, R (d, m), and its gain g (m,): its weight, negative for other classes. The even
slots are the values of rows of the class, the odd ones the gaps between them. Gains are whole numbers: sums are exact.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit

# the parts of a climb's state: its gain, the place in the order of columns, columns since the last that gave something
GAIN, AT, IDLE = 0, 1, 2


@jit
def best_run(sums, n):  # type: ignore[no-untyped-def]
    """First and last place of the run of greatest sum among sums[:n], and that sum; of equal ones the first to end, and the shortest.

    Kadane's algorithm as a difference of running sums, whose branches a processor can foretell.
    """
    best, first, last = sums[0], 0, 0
    total, least, start = np.int64(0), np.int64(0), 0
    for s in range(n):
        if total <= least:  # a run does better to begin here than before
            least, start = total, s
        total += sums[s]
        if total - least > best:
            best, first, last = total - least, start, s
    return first, last, best


@jit
def count_outside(R, low, high, outside):  # type: ignore[no-untyped-def]
    """outside_i <- the number of columns in which row i lies outside low_j … high_j."""
    outside[:] = 0
    for j in range(R.shape[0]):
        a, b = low[j], high[j]
        for i in range(R.shape[1]):
            outside[i] += R[j, i] < a or R[j, i] > b


@jit
def shrink(R, g, low, high, outside):  # type: ignore[no-untyped-def]
    """low, high <- the box of the rows of positive gain inside; whether it changed. Nothing is done where there are none."""
    changed = False
    for j in range(R.shape[0]):
        a, b = high[j] + 1, low[j] - 1
        for i in range(R.shape[1]):
            if outside[i] == 0 and g[i] > 0:
                a, b = min(a, R[j, i]), max(b, R[j, i])
        if a <= b and (a != low[j] or b != high[j]):
            low[j], high[j], changed = a, b, True
    return changed


@jit
def gain_of(g, outside):  # type: ignore[no-untyped-def]
    """Σ g of the rows inside."""
    total = np.int64(0)
    for i in range(g.shape[0]):
        if outside[i] == 0:
            total += g[i]
    return total


@inner
def _find_near(outside, near):  # type: ignore[no-untyped-def]
    """near[:n] <- the rows outside at most one interval, the only ones that a step of one column can count; n."""
    n = 0
    for i in range(outside.shape[0]):
        near[n] = i
        n += outside[i] <= 1
    return n


@jit
def climb(R, g, slots, low, high, order, state, most):  # type: ignore[no-untyped-def]
    """Give one column after the other its best interval, the others held, until none can do better or `most` have: how many did.

    A column's step is exact: rows inside all other intervals add up to one sum a slot, and the best run of slots is the best
    interval. At the end the box shrinks to the rows of the class that it holds; where that moves a side, the columns
    are tried again. low, high, order (d,); state: gain, place in the order, columns since the last improvement.
    """
    d, m = R.shape
    outside, sums, near = np.empty(m, np.int32), np.empty(slots.max(), np.int64), np.empty(m, np.int32)
    count_outside(R, low, high, outside)
    n = _find_near(outside, near)
    state[GAIN] = gain_of(g, outside)
    done = 0
    while done < most:
        if state[IDLE] >= d:
            if not shrink(R, g, low, high, outside):
                break
            count_outside(R, low, high, outside)
            n = _find_near(outside, near)
            state[GAIN] = gain_of(g, outside)
            state[IDLE] = 0
        j = order[state[AT]]
        state[AT] = (state[AT] + 1) % d
        a, b = low[j], high[j]
        sums[: slots[j]] = 0
        for t in range(n):
            i = near[t]
            r = R[j, i]
            if outside[i] == (r < a or r > b):
                sums[r] += g[i]
        first, last, gain = best_run(sums, slots[j])
        if gain <= state[GAIN]:
            state[IDLE] += 1
            continue
        for i in range(m):
            outside[i] += (R[j, i] < first or R[j, i] > last) - np.int32(R[j, i] < a or R[j, i] > b)
        n = _find_near(outside, near)
        low[j], high[j], state[GAIN], state[IDLE] = first, last, gain, 0
        done += 1
    return done


@inner
def _bound(x, y, g, a0, a1, b0, b1):  # type: ignore[no-untyped-def]
    """What no rectangle gains more than whose lower limit in y lies in a0 … a1 and whose upper one in b0 … b1.

    Rows that all of these rectangles have between their limits count as they are, rows that only some have where they are positive;
    the best run of x for these numbers is the bound: a difference of running sums, from before a value to behind another. x (m,) in order.
    """
    best, total, least = np.int64(0), np.int64(0), np.int64(0)
    m = x.shape[0]
    for i in range(m):
        if i == 0 or x[i] != x[i - 1]:
            least = min(least, total)
        some = (a0 <= y[i]) & (y[i] <= b1)
        every = (a1 <= y[i]) & (y[i] <= b0)
        total += max(g[i], 0) * some + min(g[i], 0) * every
        if i == m - 1 or x[i] != x[i + 1]:
            best = max(best, total - least)
    return best


@jit
def next_better(x, y, g, stack, state):  # type: ignore[no-untyped-def]
    """Slots (lower, upper) of y between which some run of x gains more than state[0], which becomes that gain; (−1, −1): there are none.

    Branch and bound: the sets of rectangles a0 … a1, b0 … b1 (even slots) on the stack are halved until their bound is no more than
    state[0], or they are a single pair of limits, whose bound is its gain. state: the gain to beat, sets on the stack, sets bounded.
    """
    while state[1] > 0:
        state[1] -= 1
        a0, a1, b0, b1 = stack[state[1]]
        state[2] += 1
        bound = _bound(x, y, g, a0, a1, b0, b1)
        if bound <= state[0]:
            continue
        if a0 == a1 and b0 == b1:
            state[0] = bound
            return a0, b0
        if a1 - a0 >= b1 - b0:
            middle = (a0 + a1) // 4 * 2
            _push(stack, state, a0, middle, b0, b1)
            _push(stack, state, middle + 2, a1, max(b0, middle + 2), b1)
        else:
            middle = (b0 + b1) // 4 * 2
            _push(stack, state, a0, min(a1, middle), b0, middle)
            _push(stack, state, a0, a1, middle + 2, b1)
    return -1, -1


@inner
def _push(stack, state, a0, a1, b0, b1):  # type: ignore[no-untyped-def]
    if a0 <= a1 and b0 <= b1:
        stack[state[1], 0], stack[state[1], 1], stack[state[1], 2], stack[state[1], 3] = a0, a1, b0, b1
        state[1] += 1
