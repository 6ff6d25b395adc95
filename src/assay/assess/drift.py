"""Columns that are not distributed as they were: between the rows a model was fitted on and those it is asked about.

    numbers      D = max |F₁ − F₂|, p of Kolmogorov and Smirnov          texts   chi², size ½ Σ |p_v − q_v|

A column is named where p, by Holm over all columns, is below 0.1 % *and* the size is at least 0.1: in big tables every
difference is significant and few matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.assess.groups import is_missing
from assay.assess.paired import holm
from assay.assess.score import plain
from assay.assess.worry import Columns, Worry, evenly, names
from assay.errors import SchemaError
from assay.numerics import Array

LEVEL = 0.001
SIZE = 0.1
LARGE = 0.3
MOST = 100_000  # rows of each table that are looked at


@dataclass(frozen=True)
class Drift:
    """How far a column has moved: `size` between 0 and 1, p corrected for the number of columns; `missing` is the change of the share without value."""

    column: str
    test: str
    size: float
    p: float
    missing: float

    @property
    def moved(self) -> bool:
        return self.p < LEVEL and max(self.size, abs(self.missing)) >= SIZE

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return {**plain(self), "moved": self.moved}


def drift(before: Columns, after: Columns) -> list[Drift]:
    """The change of every column that both tables have, greatest first."""
    shared = [c for c in before if c in after]
    if not shared:
        raise SchemaError("The two tables have no column in common: nothing can be compared.")
    columns = [(c, np.asarray(before[c]), np.asarray(after[c])) for c in shared]
    found = [_column(c, a[evenly(len(a), MOST)], b[evenly(len(b), MOST)]) for c, a, b in columns]
    adjusted = holm([d.p for d in found])
    corrected = [Drift(d.column, d.test, d.size, float(p), d.missing) for d, p in zip(found, adjusted)]
    return sorted(corrected, key=lambda d: -max(d.size, abs(d.missing)))


def _column(name: str, a: Array, b: Array) -> Drift:
    gone_a, gone_b = is_missing(a), is_missing(b)
    missing = float(gone_b.mean() - gone_a.mean()) if len(a) and len(b) else 0.0
    numbers = a.dtype.kind in "fiu" and b.dtype.kind in "fiu"
    size, p = _kolmogorov(a[~gone_a], b[~gone_b]) if numbers else _chi2(a[~gone_a].astype(str), b[~gone_b].astype(str))
    _, p_missing = _chi2(gone_a.astype(str), gone_b.astype(str))
    p = min(1.0, 2 * min(p, p_missing)) if gone_a.any() or gone_b.any() else p
    return Drift(name, "Kolmogorov–Smirnov" if numbers else "chi²", size, p, missing)


def _kolmogorov(a: Array, b: Array) -> tuple[float, float]:
    from scipy.special import kolmogorov

    if not len(a) or not len(b):
        return 0.0, 1.0
    a, b = np.sort(a), np.sort(b)
    at = np.concatenate([a, b])
    gap = np.searchsorted(a, at, side="right") / len(a) - np.searchsorted(b, at, side="right") / len(b)
    size = float(np.abs(gap).max())
    return size, float(kolmogorov(math.sqrt(len(a) * len(b) / (len(a) + len(b))) * size))


def _chi2(a: Array, b: Array) -> tuple[float, float]:
    """Values expected fewer than five times in a table are counted together, as the test asks for."""
    from scipy.special import chdtrc

    if not len(a) or not len(b):
        return 0.0, 1.0
    _, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    K = int(codes.max()) + 1
    table = np.stack([np.bincount(codes[: len(a)], minlength=K), np.bincount(codes[len(a) :], minlength=K)])
    size = 0.5 * float(np.abs(table[0] / len(a) - table[1] / len(b)).sum())
    rare = table.sum(axis=0) * min(len(a), len(b)) / (len(a) + len(b)) < 5
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)]) if rare.any() else table
    expected = table.sum(axis=1)[:, None] * table.sum(axis=0) / table.sum()
    return size, float(chdtrc(table.shape[1] - 1, ((table - expected) ** 2 / expected).sum())) if table.shape[
        1
    ] > 1 else 1.0


def drift_worries(before: Columns, after: Columns) -> list[Worry]:
    """The columns that moved, as one worry."""
    moved = [d for d in drift(before, after) if d.moved]
    if not moved:
        return []
    worst = moved[0]
    return [
        Worry(
            "high" if max(worst.size, abs(worst.missing)) >= LARGE else "medium",
            "columns that have drifted",
            f"{names([d.column for d in moved])}: not distributed as in the training rows; most of all {worst.column!r} "
            f"({worst.test}, distance {worst.size:.2f}, missing {worst.missing:+.1%}). The measured error may not hold here.",
            "Look at what changed; fit again on recent rows if it is to stay.",
            tuple(d.column for d in moved),
        )
    ]
