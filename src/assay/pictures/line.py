"""A straight line within a picture."""

from __future__ import annotations

import numpy as np

from assay.numerics import Floats


def segment(b: float, w: Floats, xs: tuple[float, float], ys: tuple[float, float]) -> Floats | None:
    """The part (2, 2) of the line b + w₁x + w₂y = 0 within a rectangle, its upper right end last; None where it has none.

    >>> segment(-1.0, np.array([1.0, 1.0]), (0.0, 2.0), (0.0, 2.0)).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    found = []
    if w[1] != 0:
        found += [(x, -(b + w[0] * x) / w[1]) for x in xs]
    if w[0] != 0:
        found += [(-(b + w[1] * y) / w[0], y) for y in ys]
    slack = 1e-9 * max(xs[1] - xs[0], ys[1] - ys[0])
    inside = sorted(
        {p for p in found if xs[0] - slack <= p[0] <= xs[1] + slack and ys[0] - slack <= p[1] <= ys[1] + slack}
    )
    return np.array([inside[0], inside[-1]]) if len(inside) >= 2 else None
