"""What the columns of a text file hold, guessed from its first megabytes.

The rules, for a column's values in the first megabytes (quotes around a value change nothing):
- missing: an empty cell, a blank, ?, NA, N/A, #N/A, n/a, NaN, nan, null, NULL, None, <NA> and their kin, in every column;
  in a column that holds numbers otherwise also -, --, . and *;
- numbers: 12, -1.5, 2e3, inf; with a decimal comma (1,5) where the file is not cut at commas and more columns then are numbers;
- truth values: true and false in any case. Yes and no are text, that is a category of two values;
- dates: ISO 8601 (2026-01-31, 2026-01-31 10:00:00, with T or a zone); any other spelling of a date is text;
- text: everything else, also a column of which a single value is no number. Numbers with separators between thousands are text
  too, with a note.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as arrow_csv
import pyarrow.types as types

MISSING = (
    *("", " ", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
MISSING_AMONG_NUMBERS = ("-", "--", ".", "*")
NUMBER = r"^\s*-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
THOUSANDS = r"^\s*[+-]?\d{1,3}([,.' \x{a0}\x{202f}]\d{3})+([.,]\d+)?\s*$"


class ColumnGuess(NamedTuple):
    """Arrow types by column, the decimal point, the spellings of missing values beyond the usual, and notes for the user."""

    types: dict[str, Any]
    decimal_point: str
    missing_numbers: tuple[str, ...]
    notes: list[str]


Parse = Callable[[Any], Any]


def guess(parse: Parse, delimiter: str) -> ColumnGuess:
    """The guess for a sample; `parse(convert options)` gives the sample's table."""
    table, point, notes = parse(options()), ".", []
    if delimiter != "," and any(map(types.is_string, table.schema.types)):
        with_comma = parse(options(decimal_point=","))
        if _numbers(with_comma) > _numbers(table):
            table, point = with_comma, ","
            notes.append("Numbers are read with a decimal comma: 1,5 is one and a half.")
    found, spellings = dict(zip(table.column_names, table.schema.types)), set()
    for name, dtype in found.items():
        if types.is_string(dtype):
            missing, note = _among_numbers(name, table[name], point)
            if missing:
                found[name] = pa.float64()
                spellings |= missing
            notes += [note] if note else []
    return ColumnGuess(found, point, tuple(sorted(spellings)), notes)


def options(
    column_types: dict[str, Any] | None = None,
    include: list[str] | None = None,
    decimal_point: str = ".",
    missing_numbers: tuple[str, ...] = (),
) -> Any:
    """How cells become values. With `missing_numbers`, text is left as it is: see `without_missing`."""
    return arrow_csv.ConvertOptions(
        column_types=column_types,
        include_columns=include,
        null_values=[*MISSING, *missing_numbers],
        strings_can_be_null=not missing_numbers,
        decimal_point=decimal_point,
    )


def without_missing(table: Any) -> Any:
    """Text columns with the usual spellings of missing values turned into missing values."""
    usual = pa.array(MISSING)
    for j, dtype in enumerate(table.schema.types):
        if types.is_string(dtype):
            column = table.column(j)
            kept = compute.if_else(compute.is_in(column, value_set=usual), pa.scalar(None, dtype), column)
            table = table.set_column(j, table.field(j), kept)
    return table


def _numbers(table: Any) -> int:
    return sum(bool(types.is_floating(t) or types.is_integer(t)) for t in table.schema.types)


def _among_numbers(name: str, column: Any, point: str) -> tuple[set[str], str]:
    """For text among which numbers are: (the spellings that only stand for missing numbers, or none; a note)."""
    column = column.drop_null()
    number = compute.match_substring_regex(column, NUMBER.replace(r"\.", r"[,]") if point == "," else NUMBER)
    others = column.filter(compute.invert(number))
    if not len(others) or (len(others) == len(column) and not _thousands(others)):  # none: numbers beside odd blanks
        return set(), ""
    missing = set(compute.unique(others.slice(0, 1 << 12)).to_pylist())
    if (
        missing <= set(MISSING_AMONG_NUMBERS)
        and compute.all(compute.is_in(others, pa.array(MISSING_AMONG_NUMBERS))).as_py()
    ):
        return missing, ""
    value = others[0].as_py()
    if _thousands(others):
        return set(), (
            f"Column {name!r} is read as text: it holds numbers with separators between thousands, such as {value!r}. "
            "Write them without to have numbers: 1234, not 1,234."
        )
    return set(), ""


def _thousands(values: Any) -> bool:
    return bool(compute.all(compute.match_substring_regex(values, THOUSANDS)).as_py())
