"""Numbers for made tables that are the same on every machine and in every version.

Only `random.Random.random`, which Python promises to keep, and sums and products of floats are used: no libm, no NumPy.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from random import Random


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
