"""The perceptron's passes over rows: visits that correct the weights, the sum over all mistakes, and the final evaluation.

Two classes have one weight vector (m = 1), s = b + w·x, and the class 1 is answered where s ≥ 0; K > 2 classes have one
each (m = K), and the greatest score wins, the lowest class of several. `A` holds dense rows (n, d) or a `Csr`.
Each loop is written out in one function: a call that passes arrays counts references, and that would cost more than a row
(measured for 50 columns: 63 → 9 ns a row). The kind of rows is chosen where a loop is compiled: loops are written once for both.

    score = (b + Σ_{j ≥ e} x_j w_j, in order) + Σ of eight lanes,    e = 8·⌊d/8⌋,  lane l: Σ x_j w_j over j < e, j ≡ l mod 8,
    where the lanes are added in halves: (l, l + 4), then (l, l + 2), then (l, l + 1)

Products are rounded before they are added (no fused multiply-add) and the order is fixed, so that every machine gets the
same bits, and so does a checker in plain NumPy. A sparse row is summed in order, from b on. All sums are in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.compiled.mixing import mix_rows
from assay.compiled.simd.rows import row_add, row_ask, row_score, row_square
from assay.numerics import Array

AHEAD = 16  # rows that memory is asked for in advance
TILE = 32  # rows that are hashed and then measured while they are in the first-level cache
ON, AGAIN, LEAVE = 0, 1, 2  # after a mistake: go on; begin again with the first row; leave the block


class Csr(NamedTuple):
    """Sparse rows: row i has data[a:b] in the columns indices[a:b], a, b = indptr[i], indptr[i + 1]."""

    data: Array
    indices: Array
    indptr: Array


class OnlineWeights(NamedTuple):
    """Weights under way: w (m, d), b (m,); and for the average u (m, d), ub (m,), else (0, 0) and (0,).

    sums: Σ step, Σ step², NaN where a score was not finite. counts: visits, mistakes, voters. voters (V, m, d + 1), bias
    first, the last of them the present weights, and votes (V,), the visits that each survived; (0, …) where none are kept.
    """

    w: Array
    b: Array
    u: Array
    ub: Array
    sums: Array
    counts: Array
    voters: Array
    votes: Array


class LabelledRows(NamedTuple):
    """Rows A, dense or CSR, with codes (n,) of their classes and steps (n,), or (0,) where every step is that of the rule."""

    A: Any
    codes: Array
    steps: Array


class VisitRule(NamedTuple):
    """The step eta; `zero`: a score of 0 is a mistake for either class; x̃ = (one, x); `after` a mistake: ON, AGAIN or LEAVE; no more than `most`
    mistakes in all."""

    eta: float
    zero: bool
    one: float
    after: int
    most: int


@inner
def _elect(w, b, counts, voters, votes):  # type: ignore[no-untyped-def]
    """The present weights become one more voter."""
    v = counts[2]
    counts[2] += 1
    voters[v, :, 0] = b
    voters[v, :, 1:] = w
    votes[v] = 1


@jit
def visit_two(rows, draws, at, rule, online):  # type: ignore[no-untyped-def]
    """Visit rows in order, or those of `draws` where it is not empty, and correct w, b at each mistake. Two classes.

    `at`: the first visit; online: an `Online`, where u += (visits before)·(correction), since Σ_t w_t = T·w_T − u. Returns the visit to go on
    with: the number of visits if all were made; less where the mistakes or the room for voters ended before; −1 after LEAVE.
    """
    A, codes, steps = rows
    eta, zero, one, after, most = rule
    w, b, u, ub, sums, counts, voters, votes = online
    drawn, voting, averaging = draws.shape[0] > 0, votes.shape[0] > 0, u.shape[0] > 0
    n = draws.shape[0] if drawn else codes.shape[0]
    t = at
    while True:
        first, wrong, bad = t, False, 0.0
        t = n
        # Nothing is written until there is a mistake, so that scores of several rows are under way; and there are two loops,
        # since choosing the row in a single one costs more than its score (20 instead of 8 ns for 50 columns).
        if drawn:
            for e in range(first, n):
                row_ask(A, draws[min(e + AHEAD, n - 1)])
                s = row_score(A, draws[e], w, b, 0)
                bad += s - s
                if (s >= 0.0) != (codes[draws[e]] == 1) or (zero and s == 0.0):
                    t, wrong = e, True
                    break
        else:
            for e in range(first, n):
                row_ask(A, e + AHEAD)
                s = row_score(A, e, w, b, 0)
                bad += s - s
                if (s >= 0.0) != (codes[e] == 1) or (zero and s == 0.0):
                    t, wrong = e, True
                    break
        sums[2] += bad
        counts[0] += t - first
        if voting:
            votes[counts[2] - 1] += t - first
        if not wrong or counts[1] >= most or (voting and counts[2] == votes.shape[0]):
            return t
        i = draws[t] if drawn else t
        step = steps[i] if steps.shape[0] > 0 else eta
        c = step if codes[i] == 1 else -step
        row_add(A, i, c, w, 0)
        b[0] += c * one
        if averaging:
            c *= np.float64(counts[0])
            row_add(A, i, c, u, 0)
            ub[0] += c * one
        sums[0] += step
        sums[1] += step * step
        counts[1] += 1
        counts[0] += 1
        if voting:
            _elect(w, b, counts, voters, votes)
        if after == LEAVE:
            return -1
        t = 0 if after == AGAIN else t + 1


@jit
def visit_many(rows, draws, at, rule, online):  # type: ignore[no-untyped-def]
    """As `visit_two` for K > 2 classes: at a mistake w_y += step·x̃ for the right class y, w_ŷ −= step·x̃ for the winner ŷ."""
    A, codes, steps = rows
    eta, zero, one, after, most = rule
    w, b, u, ub, sums, counts, voters, votes = online
    drawn, voting, averaging = draws.shape[0] > 0, votes.shape[0] > 0, u.shape[0] > 0
    n = draws.shape[0] if drawn else codes.shape[0]
    t = at
    while True:
        first, i, rival, wrong, bad = t, 0, -1, False, 0.0
        while t < n:
            i = draws[t] if drawn else t
            row_ask(A, draws[min(t + AHEAD, n - 1)] if drawn else t + AHEAD)
            own = row_score(A, i, w, b, codes[i])
            best, rival = -np.inf, -1
            for k in range(w.shape[0]):
                if k != codes[i]:
                    s = row_score(A, i, w, b, k)
                    if s > best or rival < 0:
                        best, rival = s, k
            bad += (own - own) + (best - best)
            wrong = best > own or (best == own and (zero or rival < codes[i]))
            if wrong:
                break
            t += 1
        sums[2] += bad
        counts[0] += t - first
        if voting:
            votes[counts[2] - 1] += t - first
        if not wrong or counts[1] >= most or (voting and counts[2] == votes.shape[0]):
            return t
        step = steps[i] if steps.shape[0] > 0 else eta
        for sign in (1.0, -1.0):
            k = codes[i] if sign > 0 else rival
            c = sign * step
            row_add(A, i, c, w, k)
            b[k] += c * one
            if averaging:
                c *= np.float64(counts[0])
                row_add(A, i, c, u, k)
                ub[k] += c * one
        sums[0] += step
        sums[1] += step * step
        counts[1] += 1
        counts[0] += 1
        if voting:
            _elect(w, b, counts, voters, votes)
        if after == LEAVE:
            return -1
        t = 0 if after == AGAIN else t + 1


@inner
def _next_of_two(A, codes, at, zero, w, b):  # type: ignore[no-untyped-def]
    """(the first mistake from row `at` on, else n; NaN where a score on the way is not finite, else 0)."""
    bad = 0.0
    for i in range(at, codes.shape[0]):
        row_ask(A, i + AHEAD)
        s = row_score(A, i, w, b, 0)
        bad += s - s
        if (s >= 0.0) != (codes[i] == 1) or (zero and s == 0.0):
            return i, bad
    return codes.shape[0], bad


@inner
def _rival(A, i, code, w, b):  # type: ignore[no-untyped-def]
    """(the best of the other classes, the lowest of several; how far the right one is ahead of it)."""
    own = row_score(A, i, w, b, code)
    best, rival = -np.inf, -1
    for k in range(w.shape[0]):
        if k != code:
            s = row_score(A, i, w, b, k)
            if s > best or rival < 0:
                best, rival = s, k
    return rival, own - best


@inner
def _next_of_many(A, codes, at, zero, w, b):  # type: ignore[no-untyped-def]
    bad = 0.0
    for i in range(at, codes.shape[0]):
        row_ask(A, i + AHEAD)
        rival, margin = _rival(A, i, codes[i], w, b)
        bad += margin - margin
        if margin < 0.0 or (margin == 0.0 and (zero or rival < codes[i])):
            return i, bad
    return codes.shape[0], bad


@jit
def gather(rows, rule, w, b, G, g, sums, counts):  # type: ignore[no-untyped-def]
    """Sum the corrections of the mistakes of w, b: G (m, d) += Σ ± step·x, g (m,) the same of the ones.

    No more than `rule.most` mistakes are looked for. G (0, 0): they are only counted. sums and counts as in `Online`.
    """
    A, codes, steps = rows
    eta, zero, one, _, most = rule
    n, two, i = codes.shape[0], w.shape[0] == 1, 0
    counts[0] += n
    while counts[1] < most:
        i, bad = _next_of_two(A, codes, i, zero, w, b) if two else _next_of_many(A, codes, i, zero, w, b)
        sums[2] += bad
        if i == n:
            break
        counts[1] += 1
        if G.shape[0] > 0:
            step = steps[i] if steps.shape[0] > 0 else eta
            sums[0] += step
            c = -step if two and codes[i] == 0 else step
            row_add(A, i, c, G, 0 if two else codes[i])
            g[0 if two else codes[i]] += c * one
            if not two:
                rival = _rival(A, i, codes[i], w, b)[0]
                row_add(A, i, -step, G, rival)
                g[rival] -= step * one
        i += 1


@inner
def _measure_rows(A, codes, weights, one, w, b, first, stop, out):  # type: ignore[no-untyped-def]
    two, weighted = w.shape[0] == 1, weights.shape[0] > 0
    top, least, n, total, mistakes, lost, bad = out[0], out[1], out[2], out[3], out[4], out[5], out[6]
    for i in range(first, stop):
        weight = weights[i] if weighted else 1.0
        if weight > 0.0:
            if two:
                s = row_score(A, i, w, b, 0)
                margin = s if codes[i] == 1 else -s
                wrong = (s >= 0.0) != (codes[i] == 1)
            else:
                rival, margin = _rival(A, i, codes[i], w, b)
                wrong = margin < 0.0 or (margin == 0.0 and rival < codes[i])
            square = row_square(A, i) + one
            top, least = max(top, square), min(least, margin)
            n += 1.0
            total += weight
            mistakes += 1.0 if wrong else 0.0
            lost += weight if wrong else 0.0
            bad += (margin - margin) + (square - square)
    out[0], out[1], out[2], out[3], out[4], out[5], out[6] = top, least, n, total, mistakes, lost, bad


@jit
def measure(A, codes, weights, one, w, b, out):  # type: ignore[no-untyped-def]
    """What w, b make of the rows of positive weight.

    out: max ‖x̃‖², least margin, rows, their weight, mistakes, their weight; NaN where something is not finite.
    """
    _measure_rows(A, codes, weights, one, w, b, 0, codes.shape[0], out)


@jit
def measure_and_hash(A, U, shift, codes, weights, one, w, b, out, h):  # type: ignore[no-untyped-def]
    """As `measure` for dense rows with bits U, and the hashes h (d,) of their columns, in one pass."""
    n = codes.shape[0]
    for first in range(0, n, TILE):
        stop = min(n, first + TILE)
        for i in range(stop, min(n, stop + TILE)):
            row_ask(A, i)
        mix_rows(U[first:stop], shift, first, h)
        _measure_rows(A, codes, weights, one, w, b, first, stop, out)
