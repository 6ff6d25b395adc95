"""Columns of Arrow as NumPy arrays: what their types mean to a model, and how their values become numbers, codes, seconds or labels.

Missing values become NaN. Text that has to be numbers, truth values or dates is read as such, or its first value that is none is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.types as types

from assay.errors import DataError, SchemaError
from assay.numerics import Array

Family = Literal["number", "boolean", "date", "dictionary", "text", "nothing", "other"]
TILE = 1024
LONGEST_FIXED_LABEL = 64
KIND_NAMES = {"number": "a number", "boolean": "true or false", "date": "a date such as 2024-03-31"}
TRUTHS = {"true": 1.0, "yes": 1.0, "t": 1.0, "y": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "f": 0.0, "n": 0.0, "0": 0.0}


def family_of(dtype: Any) -> Family:
    """What values of an Arrow type are."""
    if types.is_dictionary(dtype):
        return "dictionary" if is_text(dtype) else family_of(dtype.value_type)
    if types.is_boolean(dtype):
        return "boolean"
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
        return "number"
    if types.is_date(dtype) or types.is_timestamp(dtype):
        return "date"
    return "text" if is_text(dtype) else "nothing" if types.is_null(dtype) else "other"


def is_text(dtype: Any) -> bool:
    """Text, or a dictionary of text or whole numbers (which is how frames store categories)."""
    if types.is_dictionary(dtype):
        return is_text(dtype.value_type) or bool(types.is_integer(dtype.value_type))
    return bool(types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype))


def is_number(dtype: Any) -> bool:
    """Whole numbers, floats, decimals, truth values, and columns that hold nothing but missing values."""
    if types.is_dictionary(dtype):
        return is_number(dtype.value_type) and not is_text(dtype)
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return any(test(dtype) for test in tests)


def kind_of(name: str, dtype: Any) -> Literal["number", "text"]:
    """The kind of a feature column, or an error that says what to do with it."""
    if is_number(dtype):
        return "number"
    if is_text(dtype):
        return "text"
    if types.is_temporal(dtype):
        hint = "Derive numbers from it (days since a date, month, hour)"
    elif types.is_binary(dtype) or types.is_large_binary(dtype):
        hint = "If it is text that is not UTF-8, convert the file: iconv -f cp1252 -t utf-8 old.csv > new.csv. Else store it as text"
    else:
        hint = "Flatten it into columns of numbers or text"
    raise DataError(
        f"Column {name!r} holds {dtype}, which is neither numbers nor text. {hint}, or leave it out (features=[…], --features in the shell)."
    )


def as_numbers(column: Any) -> Array:
    """A chunked column as floats or whole numbers; missing values become NaN."""
    dtype = column.type
    if types.is_dictionary(dtype):
        column = column.cast(dtype.value_type)
    if types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    plain = types.is_integer(column.type) or types.is_float32(column.type) or types.is_float64(column.type)
    if not plain or (column.null_count and types.is_integer(column.type)):
        column = column.cast(pa.float64(), safe=False)
    if column.null_count:
        column = compute.fill_null(column, pa.scalar(float("nan"), column.type))
    pieces = [_view(chunk) for chunk in column.chunks]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _view(array: Any) -> Array:
    """The numbers of an Arrow array without missing values, in place. (Arrow's own `to_numpy` would import pandas.)"""
    letter = "f" if types.is_floating(array.type) else "i" if types.is_signed_integer(array.type) else "u"
    dtype = np.dtype(f"{letter}{array.type.bit_width // 8}")
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def as_text(column: Any) -> Any:
    """A column of text, a dictionary, or whole numbers as Arrow text."""
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.large_string())


def without_nan(column: Any) -> Any:
    """A column whose NaN, if it holds floats, is missing: as text it would be a word."""
    if types.is_dictionary(column.type) and types.is_floating(column.type.value_type):
        column = column.cast(column.type.value_type)
    if not types.is_floating(column.type):
        return column
    return compute.if_else(compute.is_nan(column), pa.scalar(None, column.type), column)


def text_array(values: Sequence[str]) -> pa.LargeStringArray:
    """Texts as Arrow has them. (`pa.array` would import pandas to see whether it is given some of it: 0.2 s.)"""
    data = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return pa.Array.from_buffers(pa.large_string(), len(data), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(data))])


def as_codes(column: Any, levels: tuple[str, ...], unlisted: float = np.nan) -> Array:
    """Text as positions in `levels`; NaN where missing, `unlisted` where not listed."""
    text = as_text(without_nan(column))
    codes = compute.index_in(text, value_set=text_array(levels)).cast(pa.float64())
    codes = compute.fill_null(codes, unlisted)
    if text.null_count:
        codes = compute.if_else(compute.is_null(text), pa.scalar(float("nan")), codes)
    return as_numbers(codes)


def as_kind(column: Any, kind: str, name: str, start: int) -> Array:
    """Numbers, dates in seconds, truth values as 0 and 1; `NotOfKind` for the first value that is something else.

    `start` is the number of the first row.
    """
    if is_text(column.type):
        column = parse_text(column, kind, start)
    if kind == "date":
        return as_seconds(column, name)
    x = as_numbers(column)
    if kind == "boolean":
        odd = np.flatnonzero((x != 0) & (x != 1) & (x == x))
        if len(odd):
            raise NotOfKind(f"{x[odd[0]]:g}", start + int(odd[0]))
    return x


def as_seconds(column: Any, name: str) -> Array:
    """A date or a moment as seconds since 1970."""
    dtype = column.type
    if types.is_null(dtype):
        return np.full(len(column), np.nan)
    try:
        if not types.is_temporal(dtype):
            column = as_text(column)
        elif types.is_time(dtype):
            raise SchemaError(f"Column {name!r} holds times of day, but the model was fitted on dates.")
        moments = column.cast(pa.timestamp("us", getattr(dtype, "tz", None)), safe=False).cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"Column {name!r} should hold dates such as 2024-02-29 or 2024-02-29 18:30:00: {str(error).splitlines()[0]}"
        ) from None
    return as_numbers(moments).astype(np.float64) / 1e6


class NotOfKind(Exception):
    """A value cannot be read as the kind that is wanted."""

    def __init__(self, value: str, row: int) -> None:
        super().__init__(value, row)
        self.value, self.row = value[:60], row

    @property
    def where(self) -> str:
        return f"in row {self.row} (counted from 0, without the header)"

    @property
    def described(self) -> str:
        return f"{self.value!r} {self.where}"


def parse_text(column: Any, kind: str, start: int) -> Any:
    """A column of text as numbers, truth values or timestamps; `start` is the number of its first row."""
    text = as_text(column)
    if kind == "boolean":
        return _truths(text, start)
    dtype = pa.float64() if kind == "number" else pa.timestamp("us")
    try:
        return text.cast(dtype)
    except pa.ArrowInvalid:
        bad = next(row for row, value in enumerate(text) if not _castable(value, dtype))
        raise NotOfKind(text[bad].as_py(), start + bad) from None


def _castable(value: Any, dtype: Any) -> bool:
    try:
        value.cast(dtype)
    except pa.ArrowInvalid:
        return False
    return True


def _truths(text: Any, start: int) -> Any:
    words = compute.utf8_lower(compute.utf8_trim_whitespace(text))
    places = compute.index_in(words, value_set=pa.array(list(TRUTHS), pa.large_string()))
    unknown = compute.index(compute.and_(compute.is_null(places), compute.is_valid(text)), True).as_py()
    if unknown >= 0:
        raise NotOfKind(text[unknown].as_py(), start + unknown)
    return compute.take(pa.array([bool(truth) for truth in TRUTHS.values()]), places)


def as_target(column: Any, name: str, start: int, text: bool = False) -> Array:
    """Numbers stay numbers, truth values stay so, text and dictionaries become text labels; none may be missing."""
    if types.is_floating(column.type):
        missing = compute.is_null(column, nan_is_null=True)
    else:
        missing = compute.is_null(column)
    if compute.any(
        missing
    ).as_py():  # asked first, as to look for a value Arrow loads pandas where there is one (0.2 s)
        first = compute.index(missing, True).as_py()
        raise DataError(
            f"The target {name!r} is missing in row {start + first} (counted from 0, without the header). "
            "Drop the rows without a target."
        )
    if text or is_text(column.type):
        return _labels(as_text(column))
    if kind_of(name, column.type) == "number" and types.is_boolean(column.type):
        return as_numbers(column).astype(bool)
    return as_numbers(column)


def _labels(column: Any) -> Array:
    """Text labels; short ones in an array of fixed width, which sorts and compares without the interpreter."""
    encoded = column.combine_chunks().dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    fixed = max(map(len, distinct), default=0) <= LONGEST_FIXED_LABEL and not any(t.endswith("\0") for t in distinct)
    values = np.array(distinct, dtype=None if fixed and distinct else object)
    labels: Array = values[_view(encoded.indices)]
    return labels


def as_weight(column: Any, name: str, start: int) -> Array:
    """Weights: finite and not negative."""
    w = as_numbers(column).astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if len(bad):
        value = "missing" if np.isnan(w[bad[0]]) else f"{w[bad[0]]:g}"
        raise DataError(
            f"The weight {name!r} is {value} in row {start + int(bad[0])} (counted from 0, without the header): "
            "weights must be finite and ≥ 0."
        )
    return w


def interleave(columns: list[Array], rows: int, dtype: Any) -> Array:
    """Columns as one matrix in C order, tile by tile so that a tile stays in the cache while all columns fill it."""
    X = np.empty((rows, len(columns)), dtype=dtype)
    for a in range(0, rows, TILE):
        for j, column in enumerate(columns):
            X[a : a + TILE, j] = column[a : a + TILE]
    return X


def side_by_side(columns: list[Array], rows: int, dtype: Any) -> Array:
    """Columns as one matrix in Fortran order: each stays in one piece."""
    X = np.empty((rows, len(columns)), dtype=dtype, order="F")
    for j, column in enumerate(columns):
        X[:, j] = column
    return X
