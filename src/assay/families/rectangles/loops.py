"""Rows and axis-aligned rectangles: boxes of classes, signed depth, what rectangles win and lose, and better ones.

Better rectangles are sought on a sheet of whole numbers: one column at a time, or the best of two columns by branch and bound. A sheet holds for each row
its slot in every column, R (d, m), and its gain g (m,): its weight, negative for other classes. The even slots are the values of rows of the class, the
odd ones the gaps between them. Gains are whole numbers: sums are exact.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import inner, jit

TINY = float(np.finfo(np.float64).tiny)  # the depth of a row on a side, which is inside
LOWEST = float(np.finfo(np.float64).min) / 2  # the depth in no rectangle at all
# the parts of a climb's state: its gain, the place in the order of columns, columns since the last that gave something
GAIN, AT, IDLE = 0, 1, 2


@jit
def bound_classes(X, codes, w, low, high, count, weight):  # type: ignore[no-untyped-def]
    """low_kj, high_kj, count_k, weight_k of the rows of positive weight of class k; False where a value is not finite.

    X (m, d), codes (m,), w (m,) or empty; low, high (K, d) begin at ±∞, count and weight (K,) at 0.
    """
    weighted = w.shape[0] > 0
    finite = True
    for i in range(X.shape[0]):
        wi = w[i] if weighted else 1.0
        k = codes[i]
        if wi > 0.0:
            count[k] += 1
            weight[k] += wi
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            finite &= np.isfinite(x)
            if wi > 0.0:
                low[k, j] = min(low[k, j], x)
                high[k, j] = max(high[k, j], x)
    return finite


@jit
def signed_depths(X, lower, upper, unit, place, Z):  # type: ignore[no-untyped-def]
    """Z_ip <- max over the rectangles r of place p of min_j min(x − lower, upper − x) / unit; NaN for rows that are not finite.

    X (m, d), lower, upper (R, d), unit (d,), place (R,), Z (m, P). The sign is exact: > 0 inside or on a side, < 0 outside.
    """
    R, d = lower.shape
    left, right, z = np.empty((R, d)), np.empty((R, d)), np.empty(d)
    for r in range(R):
        for j in range(d):
            left[r, j], right[r, j] = lower[r, j] / unit[j], upper[r, j] / unit[j]
    for i in range(X.shape[0]):
        finite = True
        for j in range(d):
            x = np.float64(X[i, j])
            finite &= np.isfinite(x)
            z[j] = x / unit[j]
        Z[i] = LOWEST if finite else np.nan
        for r in range(R if finite else 0):
            depth, inside = np.inf, True
            for j in range(d):
                x = np.float64(X[i, j])
                inside &= lower[r, j] <= x <= upper[r, j]
                depth = min(depth, z[j] - left[r, j], right[r, j] - z[j])
            depth = max(depth, TINY) if inside else max(min(depth, -TINY), LOWEST)
            Z[i, place[r]] = max(Z[i, place[r]], depth)


@jit
def count_covered(X, codes, u, lower, upper, owner, won, lost, won_rows, lost_rows):  # type: ignore[no-untyped-def]
    """Weight and number of the rows that each rectangle is the first of its class to cover: of its class, and of others.

    codes, u (m,), lower, upper (R, d), owner (R,) in order; the sums (R,) are added to. Rows of weight 0 are no rows.
    """
    R, d = lower.shape
    for i in range(X.shape[0]):
        if u[i] == 0:
            continue
        done = -1  # the class whose rectangles have covered the row already
        for r in range(R):
            if owner[r] == done:
                continue
            j = 0
            while j < d and lower[r, j] <= X[i, j] <= upper[r, j]:
                j += 1
            if j < d:
                continue
            done = owner[r]
            if codes[i] == owner[r]:
                won[r] += u[i]
                won_rows[r] += 1
            else:
                lost[r] += u[i]
                lost_rows[r] += 1


@jit
def count_answers(codes, u, answers, cells):  # type: ignore[no-untyped-def]
    """cells_lk += the weight of the rows of class k that are answered with class l."""
    for i in range(codes.shape[0]):
        cells[answers[i], codes[i]] += u[i]


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
