"""The tables that are made rather than collected, the same on every machine and in every version.

Only `random.Random.random`, which Python promises to keep, and sums and products of floats are used: no libm, no NumPy.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from random import Random

SPECIFICATIONS = {
    "5c": (21.20, 3.95),
    "10c": (18.03, 1.75),
    "25c": (23.88, 4.40),
    "50c": (27.13, 6.90),
}  # mm, g (Canada)
PURSE = {"5c": 380, "10c": 360, "25c": 400, "50c": 60}
SIZE_ERROR, MASS_ERROR = 1.1, 0.25
COINS_SEED = 1967
SOFTNESS, COLOUR = (0.35, 0.75), (0.40, 0.85)
PAPAYAS_SEED = 2002


def coins(seed: int = COINS_SEED) -> str:
    """The text of coins.csv: (size, mass) → 5c, 10c, 25c, 50c, from the specifications of real coins, plus wear and measuring.

    A coin of wear u in [0, 1) has lost u·0.5 % of its diameter and u·3 % of its mass; most coins are little worn (u is the square
    of a uniform number). The size was read off a photograph, the mass off kitchen scales, so the 5c and the 25c overlap a little.
    """
    random = Random(seed)
    purse = [coin for coin, n in PURSE.items() for _ in range(n)]
    order = sorted(range(len(purse)), key=[random.random() for _ in purse].__getitem__)
    return as_csv(("size_mm", "mass_g", "coin"), (_measure(purse[i], random) for i in order))


def _measure(coin: str, random: Random) -> tuple[str, str, str]:
    size, mass = SPECIFICATIONS[coin]
    u = random.random()
    wear = u * u
    measured = size * (1 - 0.005 * wear) + SIZE_ERROR * about_normal(random)
    weighed = mass * (1 - 0.03 * wear) + MASS_ERROR * about_normal(random)
    return f"{measured:.2f}", f"{weighed:.2f}", coin


def papayas(seed: int = PAPAYAS_SEED) -> str:
    """The text of papayas.csv: (softness, colour) → tasty or not. The tasty ones are those inside a rectangle, without exception."""
    random = Random(seed)
    rows = []
    for _ in range(400):
        softness, colour = round(random.random(), 3), round(random.random(), 3)
        inside = SOFTNESS[0] <= softness <= SOFTNESS[1] and COLOUR[0] <= colour <= COLOUR[1]
        rows.append((f"{softness:.3f}", f"{colour:.3f}", "tasty" if inside else "not tasty"))
    return as_csv(("softness", "colour", "taste"), rows)


def about_normal(random: Random) -> float:
    """Nearly standard normal: the sum of twelve uniform numbers less six (Irwin and Hall)."""
    return sum(random.random() for _ in range(12)) - 6.0


def as_csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """The text of a CSV file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
