"""A number with its interval, and how exact that interval is."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

import numpy as np

from assay.certify.intervals import Interval, clopper_pearson
from assay.errors import DataError, ParameterError

Kind = Literal["exact", "approximate"]
Better = Literal["low", "high"]


@dataclass(frozen=True)
class Score:
    """low ≤ true value ≤ high. `exact`: with at least the stated confidence for any number n of independent rows.

    `approximate`: with about that confidence where rows are many (normal, DeLong, bootstrap).
    """

    name: str
    value: float
    low: float
    high: float
    kind: Kind
    better: Better
    n: int

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)

    def __str__(self) -> str:
        return f"{self.name} {self.value:.4g} [{self.low:.4g}, {self.high:.4g}]{' about' if self.kind == 'approximate' else ''}"


def plain(record: Any) -> Any:
    """A record as dicts, lists and plain values; JSON has no infinity and no NaN, they become None.

    >>> plain(Score("R²", 0.0, float("-inf"), 1.0, "approximate", "high", 1))["low"] is None
    True
    """
    if is_dataclass(record):
        return {field.name: plain(getattr(record, field.name)) for field in fields(record)}
    if isinstance(record, dict):
        return {key: plain(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [plain(value) for value in record]
    if isinstance(record, np.generic | np.ndarray):
        return plain(record.tolist())
    return None if isinstance(record, float) and not math.isfinite(record) else record


def score(name: str, value: float, within: Interval, kind: Kind, better: Better, n: int) -> Score:
    """A score of plain numbers; rounding may not push the value out of its own interval."""
    value = float(value)
    return Score(name, value, min(float(within.low), value), max(float(within.high), value), kind, better, int(n))


def proportion(name: str, count: int, n: int, confidence: float = 0.95, better: Better = "low") -> Score:
    """count of n rows, with the exact interval of Clopper and Pearson. Of no rows nothing is known: [0, 1].

    >>> str(proportion("error", 1, 20))
    'error 0.05 [0.001265, 0.2487]'
    """
    if n == 0:
        return Score(name, float("nan"), 0.0, 1.0, "exact", better, 0)
    return score(name, count / n, clopper_pearson(int(count), int(n), confidence), "exact", better, n)


def check_confidence(confidence: float) -> float:
    """A confidence strictly between 0 and 1."""
    if not (isinstance(confidence, int | float) and 0 < confidence < 1):
        raise ParameterError(f"confidence={confidence!r} is not possible: give a number between 0 and 1, such as 0.95.")
    return float(confidence)


def same_length(**columns: Any) -> int:
    """The number of rows that all columns have; an error names the ones that differ, or that there are none."""
    lengths = {name: len(np.asarray(column)) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise DataError(
            "These must have one entry a row, but " + ", ".join(f"{k} has {n}" for k, n in lengths.items()) + "."
        )
    n = next(iter(lengths.values()))
    if n == 0:
        raise DataError("There are no rows to judge on: give more rows, or hold out a larger share.")
    return n
