"""How far an error rate counted on rows that the fit never saw can be from the true one, and claims about it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.certify.claim import Claim
from assay.errors import DataError


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


def held_out_error(errors: int, n: int, *, fraction: float, seed: int, confidence: float = 0.95) -> Claim:
    """The error rate on held-out rows with its exact interval; the witness names the split, so that it can be redone."""
    low, high = clopper_pearson(errors, n, confidence)
    slack = hoeffding(n, confidence)
    return Claim(
        name="held-out error",
        statement=(
            f"{errors} of {n} held-out rows wrong; true error in [{low:.4f}, {high:.4f}] with {confidence:.0%} confidence "
            f"(Clopper-Pearson), within {slack:.4f} of the rate (Hoeffding); rows independent and alike"
        ),
        holds=True,
        check="held_out_error",
        value=errors / n,
        bound=high,
        kind="estimate",
        witness={
            "errors": errors,
            "rows": n,
            "confidence": confidence,
            "interval": np.array([low, high]),
            "hoeffding": slack,
            "fraction": fraction,
            "seed": seed,
        },
    )


def held_out_loss(loss: float, error: float, n: int, *, fraction: float, seed: int, confidence: float = 0.95) -> Claim:
    """The mean squared error on held-out rows; `error` is its standard error s/√n, s the deviation of the squared errors."""
    if n < 2:
        raise DataError(
            f"The error on {n} held-out row(s) has no interval: give more rows, or hold out a larger share."
        )
    low, high = normal_interval(loss, error, confidence)
    return Claim(
        name="held-out squared error",
        statement=(
            f"mean squared error {loss:.6g} on {n} held-out rows, standard error {error:.3g}; true one in "
            f"[{low:.6g}, {high:.6g}] with about {confidence:.0%} confidence (normal approximation); rows independent and alike"
        ),
        holds=True,
        check="held_out_loss",
        value=loss,
        bound=high,
        kind="estimate",
        witness={
            "loss": loss,
            "standard_error": error,
            "rows": n,
            "confidence": confidence,
            "interval": np.array([low, high]),
            "fraction": fraction,
            "seed": seed,
        },
    )
