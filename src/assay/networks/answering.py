"""Outputs of many rows, a few at a time, so that what is computed on the way stays near the processor.

A product of matrices may round otherwise where it has other numbers of rows. Blocks of rows begin at multiples of AT_A_TIME, so rows are cut at the same
places wherever they are answered.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.engines.rows import SMALLEST_BLOCK
from assay.networks.plain import outputs
from assay.networks.shape import Layer
from assay.numerics import Array, Floats

AT_A_TIME = SMALLEST_BLOCK


def outputs_of(layers: Sequence[Layer], activation: str, X: Array) -> Floats:
    """f(x) of every row: (n, outputs)."""
    n = len(X)
    if n <= AT_A_TIME:
        return outputs(layers, activation, X)
    F = np.empty((n, layers[-1].weights.shape[1]))
    for first in range(0, n, AT_A_TIME):
        F[first : first + AT_A_TIME] = outputs(layers, activation, X[first : first + AT_A_TIME])
    return F
