"""Where the losses lie: the risk of every class, and of every group that a column makes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from assay.assess.score import (
    Score,
    bounded_mean,
    check_confidence,
    mean_interval,
    plain,
    proportion,
    same_length,
    score,
)
from assay.errors import DataError, ParameterError
from assay.numerics import Array

SMALL = 30  # rows: fewer make a group's risk little more than a guess
FEW = 10  # a column of numbers with more values than this is cut into bins


@dataclass(frozen=True)
class GroupRisk:
    """The risk of one group of rows; `small` where it has too few rows to say much."""

    group: str
    risk: Score
    small: bool

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)


def mean_loss(name: str, losses: Any, confidence: float = 0.95, greatest: float | None = None) -> Score:
    """The mean of losses ≥ 0: exact where all are 0 or 1, or where the `greatest` possible is given; else Student's t."""
    x = np.asarray(losses, dtype=np.float64)
    n = len(x)
    if ((x == 0) | (x == 1)).all() and greatest in (None, 1, 1.0):
        return proportion(name, int(x.sum()), n, confidence)
    if greatest is not None:
        return score(name, x.mean(), bounded_mean(x, 0.0, greatest, confidence), "exact", "low", n)
    return score(name, x.mean(), mean_interval(x, confidence, 0.0), "approximate", "low", n)


def risk_by_group(
    losses: Any,
    column: Any,
    *,
    bins: int = 5,
    most: int = 30,
    greatest: float | None = None,
    confidence: float = 0.95,
) -> list[GroupRisk]:
    """The mean loss of each value of `column` (of each of `bins` equal-count ranges, where it is numbers of many values).

    Worst first. Values beyond the `most` frequent count together as 'other', rows without a value as 'missing'. Of many
    groups one looks bad by chance: each interval holds by itself, not all of them together.

    >>> [(g.group, g.risk.value) for g in risk_by_group([0, 1, 1, 1], ["a", "a", "b", "b"])]
    [('b', 1.0), ('a', 0.5)]
    """
    confidence = check_confidence(confidence)
    same_length(losses=losses, column=column)
    if bins < 1 or most < 1:
        raise ParameterError(f"bins={bins!r}, most={most!r}: both must be at least 1.")
    x = np.asarray(losses, dtype=np.float64)
    if np.isnan(x).any():
        raise DataError(f"The loss of row {int(np.flatnonzero(np.isnan(x))[0])} is NaN: every row needs a loss.")
    names, codes = groups_of(np.asarray(column), bins, most)
    found = [(name, x[codes == k]) for k, name in enumerate(names)]
    risks = [GroupRisk(g, mean_loss(g, v, confidence, greatest), len(v) < SMALL) for g, v in found if len(v)]
    return sorted(risks, key=lambda g: -g.risk.value)


def groups_of(column: Array, bins: int = 5, most: int = 30) -> tuple[list[str], Array]:
    """Names of the groups that a column makes, and the group of each row."""
    missing = is_missing(column)
    present = column[~missing]
    if column.dtype.kind in "fiu" and len(np.unique(present)) > FEW:
        names, inside = _ranges(present.astype(np.float64), bins)
    else:
        names, inside = _values(present.astype(str), most)
    codes = np.full(len(column), len(names))
    codes[~missing] = inside
    return [*names, "missing"], codes


def is_missing(column: Array) -> Array:
    """Which entries are NaN or None."""
    if column.dtype.kind == "O":
        return np.fromiter((v is None or v != v for v in column), dtype=bool, count=len(column))
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)


def _ranges(x: Array, bins: int) -> tuple[list[str], Array]:
    cuts = np.unique(np.quantile(x, np.arange(1, bins) / bins))
    ends = [f"{c:.4g}" for c in cuts]
    names = [f"≤ {ends[0]}", *(f"{a} – {b}" for a, b in pairwise(ends)), f"> {ends[-1]}"] if ends else ["all"]
    return names, np.searchsorted(cuts, x, side="left")


def _values(x: Array, most: int) -> tuple[list[str], Array]:
    values, codes, counts = np.unique(x, return_inverse=True, return_counts=True)
    if len(values) <= most:
        return values.tolist(), codes
    kept = np.argsort(-counts, kind="stable")[:most]
    place = np.full(len(values), most)
    place[kept] = np.arange(most)
    return [*values[kept].tolist(), "other"], place[codes]
