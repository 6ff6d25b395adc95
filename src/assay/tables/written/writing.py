"""The way in which a column of text writes numbers or dates: 12.179,35, (1,234), 09.02.2021. A model keeps it and reads later tables so.

Reading depends on the text and its writing alone, so blocks, engines and files change nothing, and each number is the
float64 nearest to its digits, as that of a plain table is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.compute as compute

from assay.errors import ModelFileError, ParameterError
from assay.tables.arrow_columns import NotOfKind, as_text, text_array
from assay.tables.written.dates import FORMS, ORDERS, read_dates
from assay.tables.written.numbers import DECIMALS, THOUSANDS, number_pattern, read_numbers

WrittenKind = Literal["number", "date"]
MOST_ODD = 50  # different texts of a column that stand for no value
LONGEST_ODD = 60
UNSAID = ("-", "--", "–", "—", ".", "*", "")  # missing among numbers, as everybody writes it
TYPES = {"number": pa.float64(), "date": pa.timestamp("us")}


@dataclass(frozen=True)
class Writing:
    """How the values of a column are written."""

    kind: WrittenKind
    decimal: str = "."
    thousands: str = ""
    order: str = ""  # of dates: one of ORDERS
    missing: tuple[str, ...] = ()  # texts that could not be read in the table of the fit: missing values
    example: str = ""

    @property
    def type(self) -> Any:
        """The Arrow type of what is read."""
        return TYPES[self.kind]

    @property
    def pattern(self) -> str:
        """The regular expression of texts so written."""
        return FORMS[self.order] if self.kind == "date" else number_pattern(self.decimal, self.thousands)

    def __str__(self) -> str:
        """An example before and after.

        >>> str(Writing("number", ",", ".", example="12.179,35"))
        '12.179,35 → 12179.35'
        """
        return f"{self.example} → {self.shown(self.example)}"

    def shown(self, text: str) -> str:
        """A text as it is read."""
        value = self.readable(text_array([text]))[0].as_py()
        if value is None:
            return "missing"
        if self.kind == "number":
            return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
        return str(value.isoformat(" ", "minutes") if value.hour or value.minute else value.date().isoformat())

    def readable(self, column: Any) -> Any:
        """The values of a column of text; missing where they cannot be read."""
        text = trimmed(column)
        if self.kind == "number":
            return read_numbers(text, self.decimal, self.thousands)
        return read_dates(text, self.order)

    def read(self, column: Any, start: int) -> Any:
        """The values of a column of text of which the first has row number `start`; `NotOfKind` for one that cannot be read."""
        text = trimmed(column)
        found = self.readable(text)
        if found.null_count == text.null_count:
            return found
        lost = compute.and_(compute.is_valid(text), compute.is_null(found))
        known = text_array([*self.missing, *UNSAID])
        unknown = compute.and_(lost, compute.invert(compute.is_in(text, value_set=known)))
        first = compute.index(unknown, True).as_py()
        if first >= 0:
            raise NotOfKind(text[first].as_py(), start + first)
        return found

    def to_data(self) -> dict[str, Any]:
        """The writing as plain JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"missing": list(self.missing)}


def trimmed(column: Any) -> Any:
    """A column of text in one piece, without blanks around its values."""
    text = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return compute.utf8_trim_whitespace(as_text(text))


def writing_from_data(data: Any, name: str) -> Writing:
    """The writing that `to_data` made; everything is checked, for a file may hold anything."""
    _is(isinstance(data, Mapping) and set(data) == {field.name for field in fields(Writing)}, name)
    missing = data["missing"]
    _is(data["kind"] in get_args(WrittenKind) and data["decimal"] in DECIMALS, name)
    _is(data["thousands"] in ("", *THOUSANDS) and data["thousands"] != data["decimal"], name)
    _is(data["order"] in (ORDERS if data["kind"] == "date" else ("",)), name)
    _is(isinstance(missing, list) and len(missing) <= MOST_ODD, name)
    _is(all(isinstance(text, str) and len(text) <= LONGEST_ODD for text in (*missing, data["example"])), name)
    found = Writing(**{**data, "missing": tuple(missing)})
    _is(re.match(found.pattern, found.example) is not None, name)
    return found


def _is(right: bool, name: str) -> None:
    if not right:
        raise ModelFileError(
            f"The stored schema cannot be used: how the column {name!r} is written makes no sense. The file is damaged, or written "
            "by another version."
        )


@dataclass(frozen=True)
class WritingOptions:
    """What the user says about how numbers and dates are written; None: to be found."""

    decimal: str | None = None
    thousands: str | None = None
    day_first: bool | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, *DECIMALS):
            raise ParameterError(f"decimal={self.decimal!r} is not possible: it is '.' or ','.")
        if self.thousands not in (None, "", *THOUSANDS):
            raise ParameterError(
                f"thousands={self.thousands!r} is not possible: it is '.', ',', ' ' or an apostrophe, or '' for none."
            )
        if self.thousands and self.thousands == self.decimal:
            raise ParameterError(f"decimal and thousands cannot both be {self.decimal!r}.")
        if self.day_first not in (None, True, False):
            raise ParameterError(f"day_first={self.day_first!r} is not possible: it is True or False.")

    @property
    def point(self) -> str | None:
        """The decimal sign that follows from what was said."""
        implied = {".": ",", ",": "."}.get(self.thousands or "")
        return self.decimal or implied
