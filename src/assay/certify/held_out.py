"""Claims about the error on rows that the fit never saw."""

from __future__ import annotations

import numpy as np

from assay.certify.claim import Claim
from assay.certify.intervals import clopper_pearson, hoeffding


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
