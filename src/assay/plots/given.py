"""The numbers a caller hands to a figure: one-dimensional, of equal length, and told apart from what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.errors import DataError, ParameterError
from assay.numerics import Floats

Interval = tuple[Any, Any]


def numbers(values: Any, name: str, n: int | None = None) -> Floats:
    """A column of numbers; NaN is allowed and drawn as a gap."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be numbers, got {values!r:.60}.") from None
    if found.ndim != 1 or not len(found):
        raise DataError(f"{name} must be a list of numbers, got shape {found.shape}.")
    if n is not None and len(found) != n:
        raise DataError(f"{name} has {len(found)} numbers where {n} are needed, one for each.")
    return found


def scores_of(values: Any, y: Any, name: str = "scores") -> Floats:
    """A score a row, all finite; of probabilities (n, 2) those of the second class."""
    found = np.asarray(values)
    if found.ndim == 2 and found.shape[1] == 2:
        values = found[:, 1]
    scores = numbers(values, name, len(np.asarray(y)))
    if not np.isfinite(scores).all():
        raise DataError(f"{name} holds values that are missing or infinite: leave their rows out.")
    return scores


def pair(interval: Interval | None, name: str, n: int) -> tuple[Floats, Floats] | None:
    """Lower and upper ends, or None."""
    if interval is None:
        return None
    if len(interval) != 2:
        raise ParameterError(f"{name} must be (lows, highs), got {len(interval)} parts.")
    return numbers(interval[0], f"{name}[0]", n), numbers(interval[1], f"{name}[1]", n)


def words(names: Sequence[Any], n: int, name: str = "names") -> list[str]:
    """As many names as there are values."""
    found = [str(v) for v in names]
    if len(found) != n:
        raise DataError(f"{name} has {len(found)} entries where {n} are needed, one for each.")
    return found
