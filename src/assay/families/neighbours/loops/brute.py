"""Brute force: every row compared with every query, and what becomes of the rows that are near enough.

*What is kept*: the k nearest of a query, all of them, or their number. The k nearest are a heap with the farthest on top, so that a row is kept in log₂ k
steps whatever k is; `rise` puts them in order at the end. Rows come in the order of their numbers: once there are k, one that is as far as the farthest
of them comes too late.

*In float64* (`compare`): 32 rows at a time and column after column. Rows are laid out anew for a block of queries, tile[group, column, lane]. Distances
only grow from column to column: a group of rows that are all beyond the limit after some columns is done with.

*In float32* (`rule_out`): products of queries and rows that never leave the registers; what is written is a bit a pair, whether it may be near. Rows lie
in panels of 32, column by column, queries in groups of ASKED. A library's product of 64 columns spends a fifth of its time on copies of its operands,
and what it writes must be read again. The vector types are spelt out because LLVM does not find this by itself. Pairs that are not ruled out are compared
in float64 (`scan`): as sums are taken in the order of the columns, each addition waits for the one before; so four pairs are compared side by side.

*Why no neighbour is ever ruled out.* Let x be a row, q a query, c any centre and s a power of two; X = s (x − c) and Y = s (q − c) in real numbers; a and b these numbers in
float32, those below 2⁻¹⁰⁰ as 0; A = |a|² and B = |b|²; u = 2⁻²⁴; G the product a·b in float32, added in whatever order. ρ is the
limit: a row is of interest where its reduced distance r in float64, added in the order of the columns, is ≤ ρ. Claim: such a row has

    G − ½ λ A ≥ β    in float32,     β = ½ (λ B − (1 + 2⁻¹⁵) g²) − η,    g = s √(ρ + d 2⁻¹⁰⁷⁴) (1 + (d + 8) 2⁻⁵²) + 2u √B + √d 2⁻⁹⁸

with λ = 1 − (d + 16) u (1 + 2⁻³), η = (d + 16) 2⁻¹¹⁰, for d ≤ 2²⁰ and |a_j|, |b_j| ≤ 2⁵⁰. So rows that have not are left out unseen.

1. *Law.* A term (x_j − q_j)² of r has the rounding 2⁻⁵³ of the difference twice and that of the square once, may lose 2⁻¹⁰⁷⁴, and d − 1 additions
   follow: r ≥ (1 − (d + 2) 2⁻⁵³) |x − q|² − d 2⁻¹⁰⁷⁴. As s (x − q) = X − Y, r ≤ ρ gives
   |X − Y| ≤ s √(ρ + d 2⁻¹⁰⁷⁴) (1 + (d + 3) 2⁻⁵³), and the rest of the factor in g covers the rounding of this product.
2. *Rounding to float32.* a_j comes of X_j by a float64 subtraction, an exact scaling and a rounding to float32, or is 0:
   |a − X| ≤ u (1 + 2⁻²⁰) √A + √d 2⁻⁹⁹, alike for b. So |a − b| ≤ g + 1.01 u √A, and because (y + z)² ≤ (1 + τ) y² + (1 + 1/τ) z², with
   τ = 2⁻¹⁶: |a − b|² ≤ (1 + 2⁻¹⁶) g² + 2⁻³¹ A.
3. *Product.* |G − a·b| ≤ γ Σ|a_j b_j| + d 2⁻¹²⁵ with γ = d u / (1 − d u) ≤ d u (1 + 2⁻³), for any order of summation, with or without fused
   operations and numbers below 2⁻¹²⁶; and Σ|a_j b_j| ≤ √A √B ≤ ½ (A + B). No product exceeds 2¹⁰⁰, so nothing overflows.
4. *Together*, from |a − b|² = A − 2 a·b + B:  G ≥ ½ (1 − γ − 2⁻³¹) A + ½ (1 − γ) B − ½ (1 + 2⁻¹⁶) g² − d 2⁻¹²⁵.
   Rounding ½ λ A and β to float32 and subtracting in float32 costs at most 2 u (A + B) + u g² and a few 2⁻¹²⁵, as |G| ≤ 0.6 (A + B); the
   float64 sums A and B are closer than that by far. λ leaves 8 u (A + B) for it, the factor 1 + 2⁻¹⁵ leaves 2⁻¹⁷ g², η the rest.

Where ρ is infinite, β is −∞ and every row is looked at; where it is negative, none.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inlined, jit
from assay.compiled.simd.memory import data_pointer, keep_alive, prefetch_at
from assay.compiled.simd.neighbours import (
    ASKED,
    CHEBYSHEV,
    EUCLIDEAN,
    HAMMING,
    MANHATTAN,
    PANEL,
    POWER,
    may_be_near,
    near_chebyshev,
    near_euclidean,
    near_hamming,
    near_manhattan,
)
from assay.compiled.simd.scalars import lowest_bit

NEAREST, ALL, COUNT = 0, 1, 2
NO_ROW = 0x7FFFFFFFFFFFFFFF
ONE = np.uint64(1)
COLUMNS = 32  # after which one looks whether all rows at hand are too far already
U = 2.0**-24
WIDEST = 1 << 20  # columns for which the bound holds
LARGEST, LEAST = 2.0**50, 2.0**-100  # that a number may be as float32
AHEAD = 8  # pairs that are asked for before they are compared
SOME = 128  # of their columns that are asked for: then it is clear what comes next


class NeighbourHeap(NamedTuple):
    """limit (m,): reduced distances above it are of no interest. `what` = NEAREST: r and row (m, k) are heaps; ALL: r, row and query (room,)
    in the order found, used[0] of them; COUNT: used (m,)."""

    what: int
    k: int
    limit: Any
    r: Any
    row: Any
    query: Any
    used: Any


@inlined
def kept_pointers(kept):  # type: ignore[no-untyped-def]
    """The same with addresses for arrays."""
    r, row, query = data_pointer(kept.r), data_pointer(kept.row), data_pointer(kept.query)
    return NeighbourHeap(kept.what, kept.k, data_pointer(kept.limit), r, row, query, data_pointer(kept.used))


@inlined
def _before(r, row, s, other):  # type: ignore[no-untyped-def]
    return r < s or (r == s and row < other)


@inlined
def _sink(r, row, far, index, at, size):  # type: ignore[no-untyped-def]
    """Put (r, row) in the place of the top of the heap far, index [at : at + size]."""
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _before(far[at + child], index[at + child], far[at + child + 1], index[at + child + 1]):
            child += 1
        if not _before(r, row, far[at + child], index[at + child]):
            break
        far[at + i] = far[at + child]
        index[at + i] = index[at + child]
        i = child
    far[at + i] = r
    index[at + i] = row


@inlined
def enter(r, row, far, index, at, k):  # type: ignore[no-untyped-def]
    """Keep (r, row) in a heap of k if it is nearer than its top."""
    if _before(r, row, far[at], index[at]):
        _sink(r, row, far, index, at, k)


@inlined
def keep(r, row, i, kept):  # type: ignore[no-untyped-def]
    """A row that is within the limit of query i; all arrays are addresses."""
    if kept.what == NEAREST:
        at = i * kept.k
        enter(r, row, kept.r, kept.row, at, kept.k)
        if kept.r[at] <= kept.limit[i] and kept.row[at] != NO_ROW:
            kept.limit[i] = np.nextafter(kept.r[at], -np.inf)
    elif kept.what == ALL:
        at = kept.used[0]
        kept.r[at] = r
        kept.row[at] = row
        kept.query[at] = i
        kept.used[0] = at + 1
    else:
        kept.used[i] += 1


@jit
def clear(r, row):  # type: ignore[no-untyped-def]
    """Heaps without a row: all at infinity, with a number above all."""
    for i in range(r.shape[0]):
        for j in range(r.shape[1]):
            r[i, j] = np.inf
            row[i, j] = NO_ROW


@jit
def rise(r, row):  # type: ignore[no-untyped-def]
    """Heaps (m, k) in the order of (r, row)."""
    far, index, k = data_pointer(r), data_pointer(row), r.shape[1]
    for i in range(r.shape[0]):
        at = i * k
        for size in range(k - 1, 0, -1):
            last, number = far[at + size], index[at + size]
            far[at + size] = far[at]
            index[at + size] = index[at]
            _sink(last, number, far, index, at, size)


def kind_of(norm: float) -> int:
    """The code of a norm.

    >>> kind_of(2.0), kind_of(math.inf), kind_of(3.0)
    (2, 3, 4)
    """
    return {0.0: HAMMING, 1.0: MANHATTAN, 2.0: EUCLIDEAN, math.inf: CHEBYSHEV}.get(norm, POWER)


@inlined
def _powers(tile, at, q, first, d, p, limit, r):  # type: ignore[no-untyped-def]
    """The same for Σ |x − q|^p, by the C library's pow."""
    mask = np.uint64(0)
    for k in range(PANEL):
        total = r[k]
        for j in range(first, first + d):
            total += abs(tile[at + PANEL * j + k] - q[j]) ** p
        r[k] = total
        if total <= limit:
            mask |= ONE << np.uint64(k)
    return mask


@inlined
def _more(kind, p, tile, at, q, first, d, limit, r):  # type: ignore[no-untyped-def]
    if kind == EUCLIDEAN:
        return near_euclidean(tile, at, q, first, d, limit, r)
    if kind == MANHATTAN:
        return near_manhattan(tile, at, q, first, d, limit, r)
    if kind == CHEBYSHEV:
        return near_chebyshev(tile, at, q, first, d, limit, r)
    if kind == HAMMING:
        return near_hamming(tile, at, q, first, d, limit, r)
    return _powers(tile, at, q, first, d, p, limit, r)


@jit
def lay_out(Z, first, stop, tile):  # type: ignore[no-untyped-def]
    """tile (groups, d, 32): the rows first … stop − 1 of Z; the last group is filled with the last row."""
    for g in range((stop - first + PANEL - 1) // PANEL):
        for k in range(PANEL):
            i = min(first + g * PANEL + k, stop - 1)
            for j in range(Z.shape[1]):
                tile[g, j, k] = Z[i, j]


@jit
def compare(tile, first, stop, Q, kind, p, without, kept):  # type: ignore[no-untyped-def]
    """Keep of the rows first … stop − 1, laid out in `tile`, those within the limits of the queries Q (m, d)."""
    d = Q.shape[1]
    total = np.empty(PANEL)
    rows, r, into = data_pointer(tile), data_pointer(total), kept_pointers(kept)
    for g in range((stop - first + PANEL - 1) // PANEL):
        for i in range(Q.shape[0]):
            q = data_pointer(Q[i])
            for k in range(PANEL):
                r[k] = 0.0
            mask, j = ONE, 0
            while j < d and mask != 0:
                many = min(COLUMNS, d - j)
                mask = _more(kind, p, rows, g * PANEL * d, q, j, many, into.limit[i], r)
                j += many
            while mask != 0:
                k = lowest_bit(mask)
                mask &= mask - ONE
                row = first + g * PANEL + k
                if row < stop and row != without[i] and r[k] <= into.limit[i]:
                    keep(r[k], row, i, into)
    keep_alive((total,))


@jit
def rule_out(a, b, alpha, beta, first, stop, out):  # type: ignore[no-untyped-def]
    """out (queries, stop − first) uint32: bit k of [i, p] is 0 where row k of panel first + p of a (panels, d, PANEL) is too far from query i
    of b (groups, d, ASKED)."""
    d, step = a.shape[1], stop - first
    rows, queries, to = (data_pointer(a), data_pointer(alpha)), (data_pointer(b), data_pointer(beta)), data_pointer(out)
    for g in range(b.shape[0]):
        for p in range(step):
            i = g * ASKED
            may_be_near(rows, (first + p) * PANEL, queries, i, d, to, i * step + p, step)


@inlined
def _lambda(d):  # type: ignore[no-untyped-def]
    return 1.0 - (d + 16) * U * 1.125


@inlined
def cut(limit, B, s, d):  # type: ignore[no-untyped-def]
    """β of a query: rows with less are farther than the limit."""
    if not limit < np.inf:
        return np.float32(-np.inf)
    if limit < 0.0:
        return np.float32(np.inf)
    g = s * math.sqrt(limit + d * 5e-324) * (1.0 + (d + 8) * 2.0**-52)
    g += 2.0 * U * math.sqrt(B) + math.sqrt(d) * 2.0**-98
    beta = 0.5 * (_lambda(d) * B - (1.0 + 2.0**-15) * g * g) - (d + 16) * 2.0**-110
    return np.float32(beta) if beta > -1e38 else np.float32(-np.inf)


@jit
def narrow(Z, centre, s, a, A):  # type: ignore[no-untyped-def]
    """a (groups, d, lanes) = s (Z − centre) in float32, row i in lane i mod lanes of a group; A = |a|² of each row. Returns the greatest
    |Z − centre|: where s times it is above LARGEST, a is of no use."""
    greatest, lanes = 0.0, a.shape[2]
    for i in range(Z.shape[0]):
        total, g, k = 0.0, i // lanes, i % lanes
        for j in range(Z.shape[1]):
            t = Z[i, j] - centre[j]
            greatest = max(greatest, abs(t))
            t *= s
            x = np.float32(t if LEAST <= abs(t) <= LARGEST else 0.0)
            a[g, j, k] = x
            total += np.float64(x) * np.float64(x)
        A[i] = total
    return greatest


@jit
def halves(A, d, alpha):  # type: ignore[no-untyped-def]
    """alpha = ½ λ A in float32."""
    for i in range(A.shape[0]):
        alpha[i] = np.float32(0.5 * _lambda(d) * A[i])


@jit
def cuts(limit, B, s, d, beta):  # type: ignore[no-untyped-def]
    """beta: β of each query."""
    for i in range(limit.shape[0]):
        beta[i] = cut(limit[i], B[i], s, d)


@inlined
def _candidates(bits, step, first, stop, without, m, row, query):  # type: ignore[no-untyped-def]
    """row, query [:count]: the pairs whose bits are set. Returns count."""
    count = 0
    for i in range(m):
        for p in range(step):
            mask = np.uint64(bits[i * step + p])
            while mask != 0:
                row[count] = first + p * PANEL + lowest_bit(mask)
                query[count] = i
                mask &= mask - ONE
                count += row[count] < stop and row[count] != without[i]
    return count


@inlined
def _compare(z, q, d, row, query, last, p, kept):  # type: ignore[no-untyped-def]
    """Keep of the pairs p … p + 3, none after `last`, those within their limits."""
    p1, p2, p3 = min(p + 1, last), min(p + 2, last), min(p + 3, last)
    z0, z1, z2, z3 = row[p] * d, row[p1] * d, row[p2] * d, row[p3] * d
    q0, q1, q2, q3 = query[p] * d, query[p1] * d, query[p2] * d, query[p3] * d
    limit = max(max(kept.limit[query[p]], kept.limit[query[p1]]), max(kept.limit[query[p2]], kept.limit[query[p3]]))
    r0 = r1 = r2 = r3 = 0.0
    j = 0
    while j < d:
        stop = min(j + COLUMNS, d)
        for c in range(j, stop):
            t0, t1 = z[z0 + c] - q[q0 + c], z[z1 + c] - q[q1 + c]
            t2, t3 = z[z2 + c] - q[q2 + c], z[z3 + c] - q[q3 + c]
            r0 += t0 * t0
            r1 += t1 * t1
            r2 += t2 * t2
            r3 += t3 * t3
        if min(min(r0, r1), min(r2, r3)) > limit:
            return
        j = stop
    for i in range(min(4, last - p + 1)):
        r = (r0 if i == 0 else r1) if i < 2 else (r2 if i == 2 else r3)
        if r <= kept.limit[query[p + i]]:
            keep(r, row[p + i], query[p + i], kept)


@jit
def scan(bits, first, stop, Z, Q, without, row, query, kept):  # type: ignore[no-untyped-def]
    """Keep of the rows first … stop − 1 of Z, of which bits (≥ m, panels) rule some out, those within the limits of the queries Q (m, d).
    Returns how many pairs were compared; row and query: room for all of them and one more."""
    d = Q.shape[1]
    rows, queries, z, q, into = (
        data_pointer(row),
        data_pointer(query),
        data_pointer(Z),
        data_pointer(Q),
        kept_pointers(kept),
    )
    count = _candidates(data_pointer(bits), bits.shape[1], first, stop, without, Q.shape[0], rows, queries)
    for p in range(0, count, 4):
        for ahead in range(p + AHEAD, min(p + AHEAD + 4, count)):
            for j in range(0, min(d, SOME), 8):
                prefetch_at(z, rows[ahead] * d + j)
        _compare(z, q, d, rows, queries, count - 1, p, into)
    return count
