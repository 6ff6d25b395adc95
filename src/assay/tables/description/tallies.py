"""What is counted in a column while its rows pass by: one tally a family of Arrow types, each of bounded memory.

Text has a file of its own, `text_tally.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

import numpy as np
import pyarrow.compute as compute
import pyarrow.types as types

from assay.errors import SchemaError
from assay.numerics import Array
from assay.tables.description.distinct import Distinct, hash_numbers
from assay.tables.description.kinds import MOST_CLASSES, Facts, Family, Kind
from assay.tables.description.parsing import WANTED, NotOfKind, parsed
from assay.tables.plan import as_numbers
from assay.tables.table_plan import as_seconds

DAY = 86400


class Tally(ABC):
    """Counts in one column. `cap`: how many different values are counted exactly."""

    family: Family

    def __init__(self, name: str, dtype: Any, cap: int, parse_to: Kind | None = None) -> None:
        self.name, self.type, self.missing = name, str(dtype), 0
        self.distinct = Distinct(cap)
        self._parse_to: Kind | None = parse_to  # what text has to be read as

    def add(self, column: Any, start: int) -> None:
        """The values of some more rows, of which the first has the number `start`."""
        if self._parse_to is not None:
            column = self._parsed(column, self._parse_to, start)
        self._add(column, start)

    def _parsed(self, column: Any, kind: Kind, start: int) -> Any:
        try:
            return parsed(column, kind, start)
        except NotOfKind as error:
            raise SchemaError(
                f"Column {self.name!r} cannot be {kind!r} as you asked: {error.told} is not {WANTED[kind]}. Correct the value, "
                "or choose another kind."
            ) from None

    @abstractmethod
    def _add(self, column: Any, start: int) -> None: ...

    def facts(self, rows: int) -> Facts:
        distinct = min(self.distinct.count, rows - self.missing)  # an estimate may be too high
        known = (rows, self.missing, distinct, self.distinct.about)
        return Facts(self.name, self.family, self.type, *known, **self._more())

    def _more(self) -> dict[str, Any]:
        return {}


class NumberTally(Tally):
    """Range, wholeness, order. `classes`: count the rows of each value too, while these may be classes."""

    family = "number"

    def __init__(self, name: str, dtype: Any, cap: int, parse_to: Kind | None = None, classes: bool = False) -> None:
        super().__init__(name, dtype, cap, parse_to)
        self._low, self._high, self._infinite = np.inf, -np.inf, 0
        self._whole, self._counter, self._first = True, True, 0.0
        self._counts: Counter[float] | None = Counter() if classes else None

    def _add(self, column: Any, start: int) -> None:
        x = as_numbers(column)
        if self._counter:
            self._counter = self._goes_on(x, start)
        if x.dtype.kind == "f":
            x = self._finite(x)
            self._whole = self._whole and _all_whole(x)
        if not len(x):
            return
        self._low, self._high = min(self._low, float(x.min())), max(self._high, float(x.max()))
        self.distinct.add(hash_numbers(x if x.dtype.kind == "f" else x.astype(np.float64)))
        if self._counts is not None:
            values, counts = np.unique(x, return_counts=True)
            self._counts.update(dict(zip(values.tolist(), counts.tolist())))
            if len(self._counts) > MOST_CLASSES or not self._whole:
                self._counts = None

    def _goes_on(self, x: Array, start: int) -> bool:
        """Whether the rows are still counted in order."""
        if start == 0:
            self._first = float(x[0])
        from_here = self._first + start
        ends_right = self._first in (0.0, 1.0) and x[0] == from_here and x[-1] == from_here + len(x) - 1
        return bool(ends_right and np.array_equal(x, np.arange(from_here, from_here + len(x))))

    def _finite(self, x: Array) -> Array:
        if np.isfinite(x.min()) and np.isfinite(x.max()):  # both carry a NaN on
            return x
        missing = np.isnan(x)
        self.missing += int(missing.sum())
        finite = np.isfinite(x)
        self._infinite += int(len(x) - finite.sum() - missing.sum())
        return x[finite]

    def _more(self) -> dict[str, Any]:
        some = self._low <= self._high
        counts = self._counts
        return {
            "low": self._low if some else None,
            "high": self._high if some else None,
            "infinite": self._infinite,
            "whole": some and self._whole and not self._infinite,
            "counter": some and self._counter,
            "counts": None if counts is None else {str(int(v)): counts[v] for v in sorted(counts)},
        }


def _all_whole(x: Array) -> bool:
    few = x[:64]  # most columns of decimals show it at once
    return bool(np.array_equal(few, np.floor(few)) and np.array_equal(x, np.floor(x)))


class BooleanTally(Tally):
    """How often true, how often false."""

    family = "boolean"

    def __init__(self, name: str, dtype: Any, cap: int, parse_to: Kind | None = None) -> None:
        super().__init__(name, dtype, cap, parse_to)
        self._counts = {"false": 0, "true": 0}

    def _add(self, column: Any, start: int) -> None:
        true = compute.sum(column).as_py() or 0
        self.missing += column.null_count
        self._counts["true"] += true
        self._counts["false"] += len(column) - column.null_count - true

    def facts(self, rows: int) -> Facts:
        values = sum(count > 0 for count in self._counts.values())
        return Facts(self.name, self.family, self.type, rows, self.missing, values, counts=self._counts)


class DateTally(Tally):
    """Range in seconds since 1970, and whether there is a time of day."""

    family = "date"

    def __init__(self, name: str, dtype: Any, cap: int, parse_to: Kind | None = None) -> None:
        super().__init__(name, dtype, cap, parse_to)
        self._low, self._high, self._with_time = np.inf, -np.inf, False

    def _add(self, column: Any, start: int) -> None:
        self.missing += column.null_count
        seconds = as_seconds(column.drop_null(), self.name)
        if len(seconds):
            self._low, self._high = min(self._low, float(seconds.min())), max(self._high, float(seconds.max()))
            self._with_time = self._with_time or bool(np.any(seconds % DAY))
            self.distinct.add(hash_numbers(seconds))

    def _more(self) -> dict[str, Any]:
        some = self._low <= self._high
        return {"low": self._low, "high": self._high, "with_time": self._with_time} if some else {}


class EmptyTally(Tally):
    """A column whose type says that it holds nothing, or nothing that can be used."""

    def __init__(self, name: str, dtype: Any, cap: int) -> None:
        super().__init__(name, dtype, cap)
        self.family = "nothing" if types.is_null(dtype) else "other"

    def _add(self, column: Any, start: int) -> None:
        self.missing += column.null_count
