"""Coins: (size, mass) → 5c, 10c, 25c, 50c, made from the specifications of real coins, plus wear and measuring.

A coin of wear u in [0, 1) has lost u·0.5 % of its diameter and u·3 % of its mass; most coins are little worn (u is the square
of a uniform number). The size was read off a photograph, the mass off kitchen scales, so the 5c and the 25c overlap a little.
"""

from __future__ import annotations

from random import Random

from assay.datasets.dataset import about_normal, as_csv

SPECIFICATIONS = {
    "5c": (21.20, 3.95),
    "10c": (18.03, 1.75),
    "25c": (23.88, 4.40),
    "50c": (27.13, 6.90),
}  # mm, g (Canada)
PURSE = {"5c": 380, "10c": 360, "25c": 400, "50c": 60}
SIZE_ERROR, MASS_ERROR = 1.1, 0.25
SEED = 1967


def make(seed: int = SEED) -> str:
    """The text of coins.csv."""
    random = Random(seed)
    purse = [coin for coin, n in PURSE.items() for _ in range(n)]
    order = sorted(range(len(purse)), key=[random.random() for _ in purse].__getitem__)
    return as_csv(("size_mm", "mass_g", "coin"), (_measure(purse[i], random) for i in order))


def _measure(coin: str, random: Random) -> tuple[str, str, str]:
    size, mass = SPECIFICATIONS[coin]
    u = random.random()
    wear = u * u
    seen = size * (1 - 0.005 * wear) + SIZE_ERROR * about_normal(random)
    weighed = mass * (1 - 0.03 * wear) + MASS_ERROR * about_normal(random)
    return f"{seen:.2f}", f"{weighed:.2f}", coin
