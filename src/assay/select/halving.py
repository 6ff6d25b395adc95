"""Successive halving: try all on few rows, go on with the better ones on more (Jamieson & Talwalkar 2016).

`budget.py` runs the rungs; here is who goes on from one to the next. A candidate that is within one standard error of the last one
kept is kept too: few rows must not decide what they cannot tell apart.
"""

from __future__ import annotations

import math

import numpy as np

from assay.numerics import Floats


def kept(risks: Floats, errors: Floats, keep: float) -> list[int]:
    """Who goes on: the best ⌈keep·m⌉ of the m that did not fail, and all up to one standard error above the last of them.

    >>> kept(np.array([0.1, 0.2, 0.21, 0.5]), np.full(4, 0.02), 0.5)
    [0, 1, 2]
    """
    order = np.lexsort((np.arange(len(risks)), risks))[: int(np.isfinite(risks).sum())]
    if not len(order):
        return []
    last = order[math.ceil(keep * len(order)) - 1]
    limit = risks[last] + np.nan_to_num(errors[last], nan=0.0)
    return [int(j) for j in order if risks[j] <= limit]
