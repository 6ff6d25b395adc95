"""A few rows at a time in a buffer that stays in the first-level cache: T (m, P), its row k is (x − p, 1, 0, …).

P is the number of columns + 1, padded to a multiple of eight, so that every loop over a row is whole vectors. A tile is
filled from a dense block or from compressed sparse rows; what follows does not know which. All sums are taken
in a fixed order, whatever the width of the machine's registers.
"""

from __future__ import annotations

from numba import config

from assay.compiled import jit
from assay.compiled.simd.products import CHUNKS, add_chunk, add_chunks, dot_row
from assay.compiled.simd.rows import shift_lanes
from assay.compiled.simd.vectors import LANE
from assay.loops.prefetch import prefetch_rows

NUMBERS = 1 << 14  # of a tile: half a first-level cache
MOST_ROWS = 32


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

    @jit
    def dot_tile(T, m, w, z):  # type: ignore[no-untyped-def]
        """z_k = T_k·w for the first m rows of T (M, P), w (P,)."""
        for k in range(m):
            z[k] = dot_row(T, k, w)

    @jit
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


@jit
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
