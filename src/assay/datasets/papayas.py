"""Papayas: (softness, colour) → tasty or not. The tasty ones are those inside a rectangle, without exception."""

from __future__ import annotations

from random import Random

from assay.datasets.dataset import as_csv

SOFTNESS, COLOUR = (0.35, 0.75), (0.40, 0.85)
SEED = 2002


def make(seed: int = SEED) -> str:
    """The text of papayas.csv."""
    random = Random(seed)
    rows = []
    for _ in range(400):
        softness, colour = round(random.random(), 3), round(random.random(), 3)
        inside = SOFTNESS[0] <= softness <= SOFTNESS[1] and COLOUR[0] <= colour <= COLOUR[1]
        rows.append((f"{softness:.3f}", f"{colour:.3f}", "tasty" if inside else "not tasty"))
    return as_csv(("softness", "colour", "taste"), rows)
