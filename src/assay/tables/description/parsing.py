"""Text that has to be numbers, truth values or dates: read as such, or the first value that is none."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as compute

from assay.tables.description.kinds import Kind
from assay.tables.plan import as_text

WANTED: dict[Kind, str] = {"number": "a number", "boolean": "true or false", "date": "a date such as 2024-03-31"}


TRUTHS = {"true": 1.0, "yes": 1.0, "t": 1.0, "y": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "f": 0.0, "n": 0.0, "0": 0.0}


class NotOfKind(Exception):
    """A value cannot be read as the kind that is wanted."""

    def __init__(self, value: str, row: int) -> None:
        super().__init__(value, row)
        self.value, self.row = value[:60], row

    @property
    def told(self) -> str:
        return f"{self.value!r} in row {self.row} (counted from 0, without the header)"


def parsed(column: Any, kind: Kind, start: int) -> Any:
    """A column of text as numbers, truth values or timestamps; `start` is the number of its first row."""
    text = as_text(column)
    if kind == "boolean":
        return _truths(text, start)
    wanted = pa.float64() if kind == "number" else pa.timestamp("us")
    try:
        return text.cast(wanted)
    except pa.ArrowInvalid:
        bad = next(row for row, value in enumerate(text) if not _can(value, wanted))
        raise NotOfKind(text[bad].as_py(), start + bad) from None


def _can(value: Any, wanted: Any) -> bool:
    try:
        value.cast(wanted)
    except pa.ArrowInvalid:
        return False
    return True


def _truths(text: Any, start: int) -> Any:
    words = compute.utf8_lower(compute.utf8_trim_whitespace(text))
    places = compute.index_in(words, value_set=pa.array(list(TRUTHS), pa.large_string()))
    strange = compute.index(compute.and_(compute.is_null(places), compute.is_valid(text)), True).as_py()
    if strange >= 0:
        raise NotOfKind(text[strange].as_py(), start + strange)
    return compute.take(pa.array([bool(truth) for truth in TRUTHS.values()]), places)
