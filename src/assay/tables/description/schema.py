"""The schema of a table: what each column is, found in one pass, shown, overridden, stored with a model, held to later.

The rules stand in `kinds.py`, the pass over the rows in `survey.py`, the enforcement at predict time in `same.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.errors import DataError, ParameterError, SchemaError, nearest
from assay.tables.description.kinds import USED, Kind, Task, are_classes

if TYPE_CHECKING:
    from assay.tables.sources.source import Source


@dataclass(frozen=True)
class Column:
    """One column: its kind, why it is taken for that, and what it held."""

    name: str
    kind: Kind
    type: str  # Arrow's name of the type as found
    missing: int  # rows without a value
    distinct: int  # exact up to a cap, beyond it an estimate (then `about` is True)
    about: bool
    levels: tuple[str, ...] | None  # sorted categories, at most MOST_LEVELS by count: the rest is "other"
    low: float | None  # of numbers; of dates in seconds since 1970
    high: float | None
    why: str
    whole: bool = False  # numbers that are all whole
    with_time: bool = False  # dates that have a time of day
    counts: Mapping[str, int] | None = (
        None  # rows a category or truth value; of a number only where it is a class target
    )
    words: tuple[str, ...] | None = None  # of texts: the most frequent words, by which their hashed columns are called


@dataclass(frozen=True)
class Schema:
    """What a table holds: the features in the order of the table, the target, and columns with another role."""

    columns: tuple[Column, ...]
    n_rows: int
    target: Column | None = None
    roles: Mapping[str, str] = field(default_factory=dict, hash=False)  # {"weight": "w", "group": "patient"}

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that a model learns from."""
        return tuple(column for column in self.columns if column.kind in USED)

    def __getitem__(self, name: str) -> Column:
        """The feature or target of this name."""
        known = {column.name: column for column in (*self.columns, *([self.target] if self.target else []))}
        if name not in known:
            raise SchemaError(f"The schema has no column {name!r}. {nearest(name, known)}")
        return known[name]

    def to_data(self) -> dict[str, Any]:
        """The schema as plain JSON, with its version."""
        from assay.tables.description.schema_data import to_data

        return to_data(self)

    @classmethod
    def from_data(cls, data: Any) -> Schema:
        """The schema of `to_data`; everything is checked, for a file may hold anything."""
        from assay.tables.description.schema_data import from_data

        return from_data(data)

    def __str__(self) -> str:
        from assay.tables.description.schema_text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from assay.tables.description.schema_text import as_html

        return as_html(self)


def infer(
    source: Source,
    *,
    target: str | None = None,
    weight: str | None = None,
    group: str | None = None,
    time: str | None = None,
    features: Iterable[str] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Schema:
    """The schema of a source, from one pass over its rows in bounded memory.

    `weight`, `group` and `time` name columns that are no features. `features`: the columns to look at (default: all the
    others). `kinds` overrides what is found: {"zip": "category", "notes": "ignored"}.
    """
    from assay.tables.description.survey import survey

    roles = {role: name for role, name in (("weight", weight), ("group", group), ("time", time)) if name is not None}
    return survey(source, target, roles, features, dict(kinds or {}))


def task_of(schema: Schema, task: str | None = None) -> tuple[Task, str]:
    """(task, why): text, truth values and few whole numbers are classes; the rest is a regression. `task` overrides."""
    column = schema.target
    if column is None:
        raise ParameterError("The schema has no target: infer it with target='column'.")
    if task is not None and task not in ("classification", "regression"):
        raise ParameterError(f"task={task!r} is not possible: it is 'classification' or 'regression'.")
    if column.kind in ("date", "ignored"):
        raise DataError(
            f"The target {column.name!r} holds {column.type}, which is neither classes nor numbers. Derive a number from it (days since "
            "a date), or name another target."
        )
    number = column.kind == "number" or (column.kind == "constant" and column.low is not None)
    if task == "regression":
        if not number:
            raise ParameterError(
                f"The target {column.name!r} is no number ({column.type}), so that regression is not possible."
            )
        return "regression", "as you asked"
    if task == "classification":
        return "classification", "as you asked"
    if not number:
        return "classification", "the target is text or true/false"
    classes, why = are_classes(column.distinct, column.whole, schema.n_rows - column.missing)
    return ("classification" if classes else "regression"), why
