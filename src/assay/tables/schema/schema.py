"""The schema of a table: what each column is, found in one pass, shown, overridden, stored with a model, held to later.

The rules stand in `kinds.py`, the pass over the rows in `survey.py`, the enforcement at predict time in `compatible.py`. As plain JSON
a schema goes into files; what comes back is checked in full: it may come out of a damaged or forged file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from assay.errors import DataError, ModelFileError, ParameterError, SchemaError, nearest
from assay.tables.schema.kinds import (
    KINDS,
    MOST_LEVELS,
    MOST_WORDS,
    TEXTUAL,
    USED,
    Kind,
    Task,
    are_classes,
    is_plain_word,
)
from assay.tables.written.writing import Writing, writing_from_data

if TYPE_CHECKING:
    from assay.tables.sources.source import Source


VERSION = "assay.schema/1"
ROLES = ("weight", "group", "time")


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
    counts: Mapping[str, int] | None = None  # rows a category or truth value; of a number only if it is a class target
    words: tuple[str, ...] | None = (
        None  # of texts the most frequent words, of strings stretches of letters: by these their hashed columns are called
    )


@dataclass(frozen=True)
class Schema:
    """What a table holds: the features in the order of the table, the target, and columns with another role."""

    columns: tuple[Column, ...]
    n_rows: int
    target: Column | None = None
    roles: Mapping[str, str] = field(default_factory=dict, hash=False)  # {"weight": "w", "group": "patient"}
    written: Mapping[str, Writing] = field(default_factory=dict, hash=False)  # how text columns write numbers and dates

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
        return to_data(self)

    @classmethod
    def from_data(cls, data: Any) -> Schema:
        """The schema of `to_data`; everything is checked, for a file may hold anything."""
        return from_data(data)

    def __str__(self) -> str:
        from assay.tables.schema.text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from assay.tables.schema.text import as_html

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
    from assay.tables.schema.survey import survey

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


def to_data(schema: Schema) -> dict[str, Any]:
    """The schema as plain JSON."""
    return {
        "schema": VERSION,
        "n_rows": schema.n_rows,
        "columns": [_column_data(column) for column in schema.columns],
        "target": None if schema.target is None else _column_data(schema.target),
        "roles": dict(schema.roles),
        **({"written": {name: how.to_data() for name, how in schema.written.items()}} if schema.written else {}),
    }


def _column_data(column: Column) -> dict[str, Any]:
    data = {field.name: getattr(column, field.name) for field in fields(column)}
    data["levels"] = None if column.levels is None else list(column.levels)
    data["counts"] = None if column.counts is None else dict(column.counts)
    words = data.pop("words")
    return data if words is None else {**data, "words": list(words)}


def from_data(data: Any) -> Schema:
    """The schema that `to_data` wrote."""
    _is(isinstance(data, Mapping), "it is no object")
    _is(data.get("schema") == VERSION, f"its version is {data.get('schema')!r}, and this Assay reads {VERSION!r}")
    _has_keys({**data, "written": None}, {"schema", "n_rows", "columns", "target", "roles", "written"}, "it")
    n_rows = _whole(data["n_rows"], "n_rows")
    _is(isinstance(data["columns"], list), "columns is no list")
    columns = tuple(_column(each, n_rows) for each in data["columns"])
    target = None if data["target"] is None else _column(data["target"], n_rows)
    roles = data["roles"]
    _is(isinstance(roles, Mapping), "roles is no object")
    for role, name in roles.items():
        _is(role in ROLES and isinstance(name, str), f"the role {role!r} is unknown or names no column")
    names = [column.name for column in columns] + ([target.name] if target else []) + list(roles.values())
    _is(len(set(names)) == len(names), "two columns have the same name")
    written = data.get("written", {})
    _is(isinstance(written, Mapping) and set(written) <= set(names), "it says how columns are written that it has not")
    return Schema(columns, n_rows, target, dict(roles), {n: writing_from_data(how, n) for n, how in written.items()})


def _column(data: Any, n_rows: int) -> Column:
    _is(isinstance(data, Mapping), "a column is no object")
    _has_keys({**data, "words": data.get("words")}, {field.name for field in fields(Column)}, "a column")
    name = data["name"]
    for key in ("name", "kind", "type", "why"):
        _is(isinstance(data[key], str), f"{key} of the column {name!r} is no text")
    for key in ("about", "whole", "with_time"):
        _is(isinstance(data[key], bool), f"{key} of the column {name!r} is neither true nor false")
    _is(data["kind"] in KINDS, f"the column {name!r} is of the unknown kind {data['kind']!r}")
    missing, distinct = (_whole(data[key], f"{key} of {name!r}") for key in ("missing", "distinct"))
    _is(missing <= n_rows, f"the column {name!r} misses {missing} of {n_rows} values")
    _is(data["about"] or distinct <= n_rows, f"the column {name!r} has {distinct} different values in {n_rows} rows")
    levels = _levels(data["levels"], data["kind"], name)
    low, high = _range(data["low"], data["high"], name)
    checked = {
        "levels": levels,
        "low": low,
        "high": high,
        "counts": _counts(data["counts"], levels, n_rows, name),
        "words": _words(data.get("words"), data["kind"], name),
    }
    return Column(**{**data, **checked})


def _levels(levels: Any, kind: str, name: str) -> tuple[str, ...] | None:
    if kind != "category":
        _is(levels is None, f"the column {name!r} has levels, but is no category")
        return None
    _is(isinstance(levels, list) and len(levels) <= MOST_LEVELS, f"the levels of {name!r} are no list, or too many")
    _is(all(isinstance(level, str) for level in levels), f"a level of {name!r} is no text")
    _is(all(a < b for a, b in pairwise(levels)), f"the levels of {name!r} are not in order, or repeat")
    return tuple(levels)


def _counts(counts: Any, levels: tuple[str, ...] | None, n_rows: int, name: str) -> dict[str, int] | None:
    if counts is None:
        return None
    _is(isinstance(counts, Mapping), f"the counts of {name!r} are no object")
    _is(levels is None or tuple(counts) == levels, f"the counts of {name!r} are not those of its levels")
    found = {str(level): _whole(count, f"a count of {name!r}") for level, count in counts.items()}
    _is(sum(found.values()) <= n_rows, f"the counts of {name!r} are more than the {n_rows} rows")
    return found


def _words(words: Any, kind: str, name: str) -> tuple[str, ...] | None:
    if words is None:
        return None
    _is(kind in TEXTUAL, f"the column {name!r} has words, but is no text")
    _is(isinstance(words, list) and len(words) <= MOST_WORDS, f"the words of {name!r} are no list, or too many")
    _is(all(isinstance(w, str) and is_plain_word(w) for w in words), f"a word of {name!r} is none")
    _is(len(set(words)) == len(words), f"the words of {name!r} repeat")
    return tuple(words)


def _range(low: Any, high: Any, name: str) -> tuple[float | None, float | None]:
    if low is None and high is None:
        return None, None
    for end in (low, high):
        number = isinstance(end, int | float) and not isinstance(end, bool)
        _is(number and abs(end) <= sys.float_info.max, f"the range of {name!r} is not two finite numbers")
    _is(low <= high, f"the range of {name!r} goes from {low} to {high}")
    return float(low), float(high)


def _whole(value: Any, what: str) -> int:
    _is(isinstance(value, int) and not isinstance(value, bool) and value >= 0, f"{what} is {value!r}, not a count")
    return int(value)


def _has_keys(data: Mapping[str, Any], wanted: set[str], what: str) -> None:
    _is(set(data) == wanted, f"{what} has not the entries {', '.join(sorted(wanted))}")


def _is(right: bool, wrong: str) -> None:
    if not right:
        raise ModelFileError(
            f"The stored schema cannot be used: {wrong}. The file is damaged, or written by another version."
        )
