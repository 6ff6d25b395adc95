"""Where the boxes of a k-d tree are: less a centre, times a power of two, so that float32 neither overflows nor loses what is near the centre.

The centre is the middle of each column's values, not of its range: float32 has the most digits near zero, and one outlier must not take them from
all the others.

For the norm p, boxes and rows are compared by squares first, and the limit is turned into one of these:

    Σ t_j² ≤ (Σ |t_j|^p)^{2/p} · blow,   blow = 1 for p ≤ 2,  d^{1 − 2/p} for p > 2
    Σ |t_j|^p ≤ r   where   Σ t_j² ≤ r^{2/p} · shrunk,   shrunk = d^{1 − 2/p} for p < 2,  1 for p ≥ 2
"""

from __future__ import annotations

import math

import numpy as np

from assay.loops.neighbours.kdtree_nodes import Scale
from assay.numerics import Array, Floats

ENOUGH = 1024  # leaves of which the middle is found
TURNED = 1e-9  # allowance for powers and their roots
HUGE = 2.0**1000
LEAST = (
    2.0**-900
)  # far more than d errors of 2⁻¹⁰⁷⁴, and no denormal number, with which processors take a hundred times as long


def scale_of(low: Floats, high: Floats, norm: float) -> Scale:
    """low, high (leaves, d): the least and greatest values of the leaves."""
    d = low.shape[1]
    some = low[:: max(1, len(low) // ENOUGH)]
    centre = np.sort(some, axis=0)[len(some) // 2]
    size = float(max((0.5 * high - 0.5 * centre).max(), (0.5 * centre - 0.5 * low).max()))
    half = 0.25 if size > HUGE else 1.0
    rest = math.ldexp(1.0, max(-1000, min(1000, -math.frexp(size)[1]))) / half if size > 0 else 1.0
    grow = 1 + (d + 8) * 2.0**-22
    floor = (d + 4) * 2.0**-126
    p, turn, blow, shrunk = norm, 1.0, 1.0, 1.0
    if norm not in (1.0, 2.0, math.inf):
        turn, factor = 1.0 / norm, float(d) ** (1.0 - 2.0 / norm)
        blow, shrunk = max(1.0, factor) * (1 + TURNED), min(1.0, factor) * (1 - TURNED)
    return Scale(centre, half, rest, grow, floor, LEAST, p, turn, blow, shrunk)


def outwards(low: Floats, high: Floats, scale: Scale) -> tuple[Array, Array]:
    """The boxes in float32, none of them smaller than before."""
    below = _below((low * scale.half - scale.centre * scale.half) * scale.rest)
    return below, -_below(-((high * scale.half - scale.centre * scale.half) * scale.rest))


def _below(t: Floats) -> Array:
    return (t - (np.abs(t) * 2.0**-23 + 2.0**-148)).astype(np.float32)
