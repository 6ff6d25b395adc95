"""What the nearest neighbour's error says of the best possible one (Cover and Hart 1967).

As rows grow without end, the error e of the nearest neighbour and the Bayes error R* of K classes satisfy

    R* ≤ e ≤ R*(2 − K/(K − 1)·R*),   hence   (K − 1)/K · (1 − √(1 − K/(K − 1)·e)) ≤ R* ≤ e
"""

from __future__ import annotations

import math


def least_bayes_error(e: float, K: int) -> float:
    """The least Bayes error of K classes where the nearest neighbour errs at rate e; past (K − 1)/K, worse than guessing, nothing: 0.

    >>> round(least_bayes_error(0.0445, 2), 4)
    0.0228
    """
    top = (K - 1) / K
    return 0.0 if e >= top else top * (1 - math.sqrt(1 - e / top))
