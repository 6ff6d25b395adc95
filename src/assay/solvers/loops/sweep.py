"""One pass over a block: losses, their gradient and, where wanted, their Hessian, at the weights w.

    z = (x − p)·w + b        g = Σ ℓ'(z)·(x − p, 1)        H = Σ ℓ''(z)·(x − p, 1)(x − p, 1)ᵀ

w (P,) holds b behind the d weights, then zeros. Only rows with curvature enter the products of H: for hinge losses
these are few. H may be taken from one row in s alone, s times over: a Newton step does not need more, and of 500 000×50 the
products of all rows take twice as long as everything else.

A few rows at a time lie in a buffer that stays in the first-level cache: T (m, P), its row k is (x − p, 1, 0, …). P is the number of columns + 1,
padded to a multiple of eight, so that every loop over a row is whole vectors. A tile is filled from a dense block or from compressed sparse rows; what
follows does not know which. All sums are taken in a fixed order, whatever the width of the machine's registers.

The losses of one score z where the truth is t (±1, or a number for regression), chosen by an integer code; value, slope and curvature side by side:

    log            log(1 + e^(−tz))
    hinge          max(0, 1 − tz); its slope is that of the smooth hinge of width h: (1 − tz)²/2h on 0 < 1 − tz < h
    squared hinge  max(0, 1 − tz)²
    squared        ½(z − t)²
    huber          ½(z − t)² where |z − t| ≤ h, else h|z − t| − ½h²
    perceptron     max(0, −tz); score 0 counts as a mistake of t = −1 (sgn 0 = 1)
    tube           max(0, |z − t| − h), and the square of it
    pinball        max(h(t − z), (1 − h)(z − t))

`tile_losses` treats a tile of rows: for each the weighted slope r = c·ℓ'(z) and curvature q = c·ℓ''(z); into `sums` it adds Σcℓ, Σc·(smooth ℓ) and
Σc|ℓ'|, and lowers the least margin tz.
"""

from __future__ import annotations

import numpy as np
from numba import config

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.memory import prefetch_rows
from assay.compiled.simd.rows import CHUNKS, add_chunk, add_chunks, dot_row, shift_lanes
from assay.compiled.simd.scalars import exp_of_negative, multiply_add
from assay.compiled.simd.vectors import LANE
from assay.statistics.loops import add_square

LOG, HINGE, SQUARED_HINGE, SQUARED, HUBER, PERCEPTRON, TUBE, SQUARED_TUBE, PINBALL = range(9)
LOSS, SMOOTH, SLOPES, LEAST = range(4)  # the places of `sums`
NUMBERS = 1 << 14  # of a tile: half a first-level cache
MOST_ROWS = 32
SCATTER, LOW = 0x9E3779B1, 0xFFFFFFFF  # a multiplicative hash of 32 bits


@inner
def _log_tile(z, t, c, start, m, r, q, room):  # type: ignore[no-untyped-def]
    """Slope and curvature of the log loss; room_k = e^(−|t z|)."""
    weighted = c.shape[0] > 0
    for k in range(m):
        e = exp_of_negative(-abs(z[k]))
        share = 1.0 / (1.0 + e)
        wrong = e * share if t[start + k] * z[k] >= 0.0 else share
        room[k] = e
        r[k] = -t[start + k] * wrong
        q[k] = e * share * share
    if weighted:
        for k in range(m):
            r[k] *= c[start + k]
            q[k] *= c[start + k]


@inner
def _log_sum(z, t, c, start, m, room):  # type: ignore[no-untyped-def]
    """Σ c·log(1 + e^(−tz)): of equal weights, one logarithm of the product (1 + e)(1 + e)… = 1 + s ≤ 2^m.

    s is kept rather than the product: where all losses are small, the 1 would hide their digits.
    """
    total = 0.0
    if c.shape[0] > 0:
        for k in range(m):
            total = multiply_add(c[start + k], np.log1p(room[k]) + max(0.0, -t[start + k] * z[k]), total)
        return total
    s = 0.0
    for k in range(m):
        s = multiply_add(s, 1.0 + room[k], room[k])
        total += max(0.0, -t[start + k] * z[k])
    return total + np.log1p(s)


@inner
def _other(code, h, z, t):  # type: ignore[no-untyped-def]
    """(value, smooth value, slope, curvature) of one row."""
    if code == HINGE:
        a = 1.0 - t * z
        if a <= 0.0:
            return 0.0, 0.0, 0.0, 0.0
        if a >= h:
            return a, a - 0.5 * h, -t, 0.0
        return a, 0.5 * a * a / h, -t * a / h, 1.0 / h
    if code == SQUARED_HINGE:
        a = 1.0 - t * z
        if a <= 0.0:
            return 0.0, 0.0, 0.0, 0.0
        return a * a, a * a, -2.0 * t * a, 2.0
    if code == SQUARED:
        a = z - t
        return 0.5 * a * a, 0.5 * a * a, a, 1.0
    if code == HUBER:
        a = z - t
        if abs(a) <= h:
            return 0.5 * a * a, 0.5 * a * a, a, 1.0
        value = h * abs(a) - 0.5 * h * h
        return value, value, h if a > 0.0 else -h, 0.0
    if code in (TUBE, SQUARED_TUBE):
        a = abs(z - t) - h
        if a <= 0.0:
            return 0.0, 0.0, 0.0, 0.0
        sign = 1.0 if z > t else -1.0
        if code == TUBE:
            return a, a, sign, 0.0
        return a * a, a * a, 2.0 * sign * a, 2.0
    if code == PINBALL:
        a = z - t
        value = max(-h * a, (1.0 - h) * a)
        return value, value, 1.0 - h if a > 0.0 else -h if a < 0.0 else 0.0, 0.0
    mistake = t * z < 0.0 or (z == 0.0 and t < 0.0)
    return max(0.0, -t * z), max(0.0, -t * z), -t if mistake else 0.0, 0.0


@jit
def tile_losses(code, h, z, t, c, start, m, r, q, room, sums):  # type: ignore[no-untyped-def]
    """Slopes r and curvatures q of the rows start … start + m of t with scores z (m,); c (n,) weights, or (0,) for ones."""
    if code == LOG:
        _log_tile(z, t, c, start, m, r, q, room)
        loss = _log_sum(z, t, c, start, m, room)
        sums[LOSS] += loss
        sums[SMOOTH] += loss
        for k in range(m):
            if c.shape[0] == 0 or c[start + k] > 0.0:
                sums[LEAST] = min(sums[LEAST], t[start + k] * z[k])
        return
    for k in range(m):
        value, smooth, slope, bend = _other(code, h, z[k], t[start + k])
        weight = c[start + k] if c.shape[0] > 0 else 1.0
        r[k] = weight * slope
        q[k] = weight * bend
        sums[LOSS] += weight * value
        sums[SMOOTH] += weight * smooth
        sums[SLOPES] += abs(r[k])
        if weight > 0.0:
            sums[LEAST] = min(sums[LEAST], t[start + k] * z[k])


def padded(columns: int) -> int:
    """The width of a tile for rows of `columns` numbers and the constant 1.

    >>> padded(50), padded(7)
    (56, 8)
    """
    return -(-(columns + 1) // LANE) * LANE


def tile_height(width: int) -> int:
    """Rows a tile: it fits the first-level cache, or, for very wide rows, at least four are taken together.

    >>> tile_height(56), tile_height(5000)
    (32, 4)
    """
    return max(4, min(MOST_ROWS, NUMBERS // width))


if config.DISABLE_JIT:

    def dot_tile(T, m, w, z):  # type: ignore[no-untyped-def]
        """As below."""
        z[:m] = T[:m] @ w

    def add_tile(T, m, r, g):  # type: ignore[no-untyped-def]
        """As below."""
        g += r[:m] @ T[:m]

else:

    @inner
    def dot_tile(T, m, w, z):  # type: ignore[no-untyped-def]
        """z_k = T_k·w for the first m rows of T (M, P), w (P,)."""
        for k in range(m):
            z[k] = dot_row(T, k, w)

    @inner
    def add_tile(T, m, r, g):  # type: ignore[no-untyped-def]
        """g += Σ_{k < m} r_k T_k, g (P,), m ≥ 1."""
        P = T.shape[1]
        j = 0
        while P - j >= CHUNKS * LANE:
            add_chunks(T, m, r, g, j)
            j += CHUNKS * LANE
        while j < P:
            add_chunk(T, m, r, g, j)
            j += LANE


@inner
def fill_tile(X, data, indices, indptr, start, stop, p, T):  # type: ignore[no-untyped-def]
    """T_k = (x − p, 1) for the rows start + k < stop of X (m, d), or of sparse rows where X is (0, d).

    T (M, P): what lies behind column d + 1 is zero already and stays so.
    """
    d = p.shape[0]
    if X.shape[0] == 0:
        for i in range(start, stop):
            k = i - start
            for j in range(d):
                T[k, j] = -p[j]
            for e in range(indptr[i], indptr[i + 1]):
                T[k, indices[e]] += data[e]
            T[k, d] = 1.0
        return
    flat = X.reshape(-1)
    line = 64 // X.itemsize
    for i in range(start, stop):
        prefetch_rows(flat, (i + MOST_ROWS) * d, d, line)
        k = i - start
        for j in range(shift_lanes(X, i, p, 1.0, T, k), d):
            T[k, j] = X[i, j] - p[j]
        T[k, d] = 1.0


@jit
def sweep(code, h, X, data, indices, indptr, t, c, w, p, every, first, T, S, g, H, sums):  # type: ignore[no-untyped-def]
    """Add the block to g (P,), H (P, P; (0, 0): not wanted; upper triangle) and sums (4,).

    `first` is the number of the block's first row; one row of each group of `every` enters H, now here and now there within it, so that no period of the rows meets
    that of the groups. X (m, d) or (0, d) with sparse rows; t (m,), c (m,) or (0,); T (M, P) and S (M, P) are room, zeroed.
    """
    n, M, P = t.shape[0], T.shape[0], T.shape[1]
    z, r, q, room = np.empty(M), np.empty(M), np.empty(M), np.empty(M)
    flat = X.reshape(-1)
    with_hessian = H.shape[0] > 0
    held = 0
    for start in range(0, n, M):
        m = min(M, n - start)
        fill_tile(X, data, indices, indptr, start, start + m, p, T)
        dot_tile(T, m, w, z)
        tile_losses(code, h, z, t, c, start, m, r, q, room, sums)
        add_tile(T, m, r, g)
        if with_hessian:
            low = first + start
            for group in range(low // every, (low + m - 1) // every + 1):
                k = group * every + (((group * SCATTER) & LOW) >> 16) % every - low
                if 0 <= k < m and q[k] > 0.0:
                    root = np.sqrt(every * q[k])
                    for j in range(P):
                        S[held, j] = root * T[k, j]
                    held += 1
                    if held == M:
                        add_square(S, M, H, flat, flat.shape[0])
                        held = 0
    if held > 0:
        add_square(S, held, H, flat, flat.shape[0])
