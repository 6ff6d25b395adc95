"""The certificate of a linear model in kernel features: the linear model's claims, made of the mapped rows, and how good the map is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from assay.certify import Claim
from assay.hypotheses.kernel_features.learning import MapError
from assay.hypotheses.kernel_features.maps import KernelMap, LandmarkMap

OF_FEATURES = "of the features phi(x): "


def on_features(claim: Claim, learnt: KernelMap) -> Claim:
    """A linear model's claim; the witness says how a checker maps the rows before it checks the claim of them."""
    return replace(
        claim,
        statement=OF_FEATURES + claim.statement,
        check="kernel_features",
        witness={**claim.witness, **map_witness(learnt), "of_features": claim.check},
    )


def map_witness(learnt: KernelMap) -> dict[str, Any]:
    """What the map is."""
    kernel = learnt.kernel
    numbers = np.array([kernel.gamma, kernel.degree, kernel.coef0])
    return {**learnt.parts(), "kernel": kernel.name, "kernel_numbers": numbers.tolist()}


def approximation_claim(learnt: KernelMap, error: MapError, seed: int) -> Claim:
    """How far the map's products are from the kernel, on rows drawn by hash."""
    what = f"phi(x).phi(z) differs from K(x, z) = {learnt.kernel.words()} by {error.rms:.3g} (root mean square), {error.largest:.3g} at most"
    where = f"over all pairs of {error.rows} distinct rows, drawn by a hash of their contents"
    more = ""
    if isinstance(learnt, LandmarkMap):
        many = len(learnt.landmarks)
        more = f"; of K(x, x) the {many} landmarks miss {error.trace:.3g} on average"
    return Claim(
        name="kernel approximation",
        statement=f"{where}, {what}{more}",
        holds=True,
        check="kernel_approximation",
        value=error.rms,
        kind="estimate",
        witness={
            **map_witness(learnt),
            "largest": error.largest,
            "trace": error.trace,
            "rows": error.rows,
            "seed": seed,
        },
    )
