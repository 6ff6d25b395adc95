"""A warning as data: how bad, what was found, what to do about it, which columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assay.assess.score import plain
from assay.numerics import Array

Severity = Literal["high", "medium", "low"]
RANK = {"high": 0, "medium": 1, "low": 2}
Columns = Mapping[str, Array]  # one array a column of the table, before any encoding


@dataclass(frozen=True)
class Worry:
    """`high`: the numbers shown may be wrong. `medium`: they may not hold on new rows. `low`: worth knowing."""

    severity: Severity
    title: str
    detail: str
    what_to_do: str
    columns: tuple[str, ...] = ()

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)


def names(columns: tuple[str, ...] | list[str], most: int = 6) -> str:
    """Some column names in a sentence.

    >>> names(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(repr(c) for c in columns[:most])
    return shown + (f" and {len(columns) - most} more" if len(columns) > most else "")


def evenly(n: int, most: int) -> slice:
    """Rows spread evenly over a long table, at most so many: what is plain to see shows on them as well."""
    return slice(None, None, max(1, -(-n // most)))
