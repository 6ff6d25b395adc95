"""The columns that a model expects, in the order of its numbers, and how a value of each becomes a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assay.numerics import Array

NAN = float("nan")
PLAIN: dict[str, Any] = {"number": float | None, "boolean": bool | None, "category": str | None}
DATATYPES = {"number": "FP64", "boolean": "BOOL", "category": "BYTES", "date": "BYTES", "text": "BYTES"}


def plain_name(name: str) -> bool:
    """Whether JSON writes a name as it is: only then can it be a field of a type."""
    return all(c >= " " and c not in '"\\' for c in name)


class NotPlain(Exception):
    """Values that have to be read the long way: as a table whose columns are of any type."""


@dataclass(frozen=True)
class Expected:
    """One column. `unknown` is the number of a category that the fit never saw."""

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    unknown: float = NAN

    @cached_property
    def codes(self) -> Mapping[str | None, float]:
        """The number of each category; of a missing value NaN."""
        return {None: NAN, **{level: float(code) for code, level in enumerate(self.levels)}}

    def numbers(self, values: Sequence[Any]) -> Any:
        """Values of the kinds in PLAIN as numbers."""
        if self.kind == "category":
            codes, unknown = self.codes, self.unknown
            return [codes.get(value, unknown) for value in values]
        return values


def expected_columns(model: Any) -> tuple[Expected, ...]:
    """The columns of a model: those of its schema, of its names, or x0, x1, … as the tables of arrays are called."""
    encoding = getattr(model, "encoding_", None)
    if encoding is not None:
        used = encoding.schema.used
        return tuple(Expected(c.name, c.kind, tuple(c.levels or ()), -1.0) for c in used)
    names = model._column_names() or tuple(f"x{j}" for j in range(model.n_features_in_))
    kinds = zip(names, model._levels())
    return tuple(Expected(n, "number") if found is None else Expected(n, "category", found) for n, found in kinds)


def matrix(columns: Sequence[Expected], values: Iterable[Sequence[Any]], n: int) -> Array:
    """Columns of plain values as numbers (n, d)."""
    X = np.empty((n, len(columns)))
    for j, (column, given) in enumerate(zip(columns, values)):
        X[:, j] = column.numbers(given)  # NumPy makes NaN of None
    return X
