"""How often a column has a value in each class, and the sum of these values: the statistics of coins and counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.hypotheses.densities.part import Part
from assay.numerics import Floats

NO_WEIGHTS = np.empty(0)


class Sums(NamedTuple):
    """n (K, c): weight of the values present; total (K, c): their weighted sum."""

    n: Floats
    total: Floats


class Found(NamedTuple):
    """The sums of a block, with the least and largest value and Σ (x − ⌊x⌋), which is zero where all are whole.

    An infinite value makes `rest` NaN.
    """

    sums: Sums
    low: float
    high: float
    rest: float
    columns: tuple[Floats, Floats, Floats]


def absorb_sums(part: Part) -> Found:
    """One pass over the values present of rows with positive weight."""
    from assay.loops.counts import add_present

    c = part.X.shape[1]
    n, total = np.zeros((part.K, c)), np.zeros((part.K, c))
    low, high, rest = np.full(c, np.inf), np.full(c, -np.inf), np.zeros(c)
    w = NO_WEIGHTS if part.w is None else part.w
    add_present(part.X, part.codes, w, n, total, low, high, rest)
    summary = (float(low.min(initial=np.inf)), float(high.max(initial=-np.inf)), float(rest.sum()))
    return Found(Sums(n, total), *summary, (low, high, rest))


def merge_sums(a: Sums, b: Sums) -> Sums:
    """The sums of both together."""
    return Sums(a.n + b.n, a.total + b.total)
