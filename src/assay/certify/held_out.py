"""Claims about the error on rows that the fit never saw."""

from __future__ import annotations

import numpy as np

from assay.certify.claim import Claim
from assay.certify.intervals import clopper_pearson, hoeffding, normal_interval
from assay.errors import DataError


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
