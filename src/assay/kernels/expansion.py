"""Functions f_p(z) = Σ_i β_pi K(x_i, z) + b_p: what kernel machines answer with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.kernels.kernel import Kernel
from assay.numerics import Array, Floats

AT_A_TIME = 1 << 21  # values of the kernel in memory at a time


@dataclass(frozen=True)
class Expansion:
    """`rows` (m, d) float64 (of "precomputed": their numbers (m,)), `coef` (p, m), `intercept` (p,)."""

    kernel: Kernel
    rows: Array
    coef: Floats
    intercept: Floats

    def values(self, Z: Array) -> Floats:
        """(n, p) in float64."""
        found = np.empty((len(Z), len(self.coef)))
        step = max(1, AT_A_TIME // max(1, len(self.rows)))
        for i in range(0, len(Z), step):
            found[i : i + step] = self.kernel.block(Z[i : i + step], self.rows) @ self.coef.T
        return found + self.intercept
