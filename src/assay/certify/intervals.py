"""How far an error rate counted on held-out rows can be from the true one."""

from __future__ import annotations

import math
from typing import NamedTuple


class Interval(NamedTuple):
    """low ≤ true rate ≤ high with the stated confidence."""

    low: float
    high: float


def clopper_pearson(errors: float, n: float, confidence: float = 0.95) -> Interval:
    """The exact interval for a binomial rate: each end is where the tail beyond the count has probability (1 − confidence)/2.
    Counts need not be whole, where n is what a number of rows is worth.

    >>> low, high = clopper_pearson(0, 100)
    >>> round(low, 4), round(high, 4)
    (0.0, 0.0362)
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = 0.0 if errors == 0 else float(betaincinv(errors, n - errors + 1, tail))
    high = 1.0 if errors == n else float(betaincinv(errors + 1, n - errors, 1 - tail))
    return Interval(low, high)


def hoeffding(n: int, confidence: float = 0.95) -> float:
    """t with P(|rate counted − true rate| ≥ t) ≤ 1 − confidence for n independent rows: 2·exp(−2nt²) = 1 − confidence.

    >>> round(hoeffding(100), 4)
    0.1358
    """
    return math.sqrt(math.log(2 / (1 - confidence)) / (2 * n))


def normal_interval(mean: float, error: float, confidence: float = 0.95) -> Interval:
    """mean ± z·error for a mean of numbers that cannot be negative: an estimate that is good for many rows.

    >>> low, high = normal_interval(10.0, 1.0)
    >>> round(low, 2), round(high, 2)
    (8.04, 11.96)
    """
    from statistics import NormalDist

    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return Interval(max(0.0, mean - z * error), mean + z * error)
