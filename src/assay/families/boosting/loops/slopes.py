"""The log loss of two classes without weights, as most fits need it: value, slope and curvature of each row in one pass.

Σ log(1 + e) is the log of a product: of 512 factors up to two it is a number, and one logarithm is taken of all of them.
"""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import jit
from assay.compiled.simd.scalars import exp_of_negative

FACTORS = 512


@jit
def log_loss_slopes(y, scores, start, slope, curvature):  # type: ignore[no-untyped-def]
    """Fill slope and curvature at the scores + start; the summed loss. y is 0 or 1."""
    n, total, factor = len(y), 0.0, np.empty(FACTORS)
    for a in range(0, n, FACTORS):
        b = min(n, a + FACTORS)
        t, f, s, c = y[a:b], scores[a:b], slope[a:b], curvature[a:b]
        for i in range(b - a):
            z = f[i] + start
            e = exp_of_negative(-abs(z))
            other = e / (1.0 + e)  # of the less likely class
            s[i] = (1.0 - other if z >= 0.0 else other) - t[i]
            c[i] = other * (1.0 - other)
            factor[i] = 1.0 + e
        product, linear = 1.0, 0.0
        for i in range(b - a):
            z = f[i] + start
            product *= factor[i]
            linear += (
                max(z, 0.0) - t[i] * z
            )  # −z where the class is the second and z < 0, z where it is the first and z > 0
        total += linear + np.log(product)
    return total
