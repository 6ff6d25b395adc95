"""One pass over a block: losses, their gradient and, where wanted, their Hessian, at the weights w.

    z = (x − p)·w + b        g = Σ ℓ'(z)·(x − p, 1)        H = Σ ℓ''(z)·(x − p, 1)(x − p, 1)ᵀ

w (P,) holds b behind the d weights, then zeros. Only rows with curvature enter the products of H: for hinge losses
these are few. H may be taken from one row in s alone, s times over: a Newton step does not need more, and of 500 000×50 the
products of all rows take twice as long as everything else.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import jit
from assay.loops.losses import tile_losses
from assay.loops.products import add_square
from assay.loops.tiles import add_tile, dot_tile, fill_tile

SCATTER, LOW = 0x9E3779B1, 0xFFFFFFFF  # a multiplicative hash of 32 bits


@jit
def sweep(code, h, X, data, indices, indptr, t, c, w, p, every, first, T, S, g, H, sums):  # type: ignore[no-untyped-def]
    """Add the block to g (P,), H (P, P; (0, 0): not wanted; upper triangle) and sums (4,).

    `first` is the number of the block's first row; one row of each group of `every` enters H, now here and now there within it, so that no period of the rows meets
    that of the groups. X (m, d) or (0, d) with sparse rows; t (m,), c (m,) or (0,); T (M, P) and S (M, P) are room, zeroed.
    """
    n, M, P = t.shape[0], T.shape[0], T.shape[1]
    z, r, q, room = np.empty(M), np.empty(M), np.empty(M), np.empty(M)
    flat = X.reshape(-1)
    wants = H.shape[0] > 0
    held = 0
    for start in range(0, n, M):
        m = min(M, n - start)
        fill_tile(X, data, indices, indptr, start, start + m, p, T)
        dot_tile(T, m, w, z)
        tile_losses(code, h, z, t, c, start, m, r, q, room, sums)
        add_tile(T, m, r, g)
        if wants:
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
