"""What a column of a file is to a model: numbers, text (categories), or neither."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.types as types

from assay.engines import Block
from assay.errors import DataError, SchemaError, nearest
from assay.inputs import Levels
from assay.numerics import Array
from assay.tables.sources.source import Reading

Kind = Literal["number", "text"]
INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")


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


def kind_of(name: str, dtype: Any) -> Kind:
    """The kind of a feature column, or an error that says what to do with it."""
    if is_number(dtype):
        return "number"
    if is_text(dtype):
        return "text"
    if types.is_temporal(dtype):
        hint = "Derive numbers from it (days since a date, month, hour)"
    elif types.is_binary(dtype) or types.is_large_binary(dtype):
        hint = "If it is text that is not UTF-8, convert the file: iconv -f latin1 -t utf-8 old.csv > new.csv. Else store it as text"
    else:
        hint = "Flatten it into columns of numbers or text"
    raise DataError(
        f"Column {name!r} holds {dtype}, which is neither numbers nor text. {hint}, or leave it out (features=[…], --features in the shell)."
    )


def check_known(wanted: Iterable[str], known: Mapping[str, Any], what: str, where: str) -> None:
    """Raise for the first wanted column that a file does not have, with the nearest name that it has."""
    for name in wanted:
        if name not in known:
            raise SchemaError(f"{where} has no column {name!r} ({what}). {nearest(name, known)}")


def refuse_repeats(names: list[str], where: str) -> None:
    """Raise where two columns share a name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SchemaError(f"{where} has two columns named {name!r}: rename one of them.")
        seen.add(name)


def feature_names(types_by_name: Mapping[str, pa.DataType], beside: Iterable[str | None]) -> tuple[str, ...]:
    """All columns but the target, the weights and the row labels that pandas wrote."""
    left_out = set(beside)
    return tuple(n for n in types_by_name if n not in left_out and not INDEX_OF_PANDAS.fullmatch(n))


# How the columns of a file become a block: numbers as they are, text as codes of its categories, missing as NaN.

TILE = 1024
LONGEST_FIXED_LABEL = 64


@dataclass(frozen=True)
class ColumnPlan:
    """Which columns are read, and as what. `levels[j]` are the categories of feature j (None: numbers)."""

    features: tuple[str, ...]
    levels: Levels
    target: str | None
    weight: str | None
    single: bool = False  # float32, where every feature is
    text_target: bool = False

    def columns(self) -> dict[str, Reading]:
        reading: dict[str, Reading] = {
            name: "number" if levels is None else "text" for name, levels in zip(self.features, self.levels)
        }
        return {**reading, **roles(self.target, self.weight, self.text_target)}

    def block(self, batches: list[Any], start: int) -> Block:
        """The block of some Arrow batches, of which the first row has the number `start`."""
        table = pa.Table.from_batches(batches)
        dtype = np.float32 if self.single else np.float64
        columns = [
            as_numbers(table[name]) if levels is None else as_codes(table[name], levels)
            for name, levels in zip(self.features, self.levels)
        ]
        return Block(
            interleave(columns, table.num_rows, dtype),
            None if self.target is None else as_target(table[self.target], self.target, start, self.text_target),
            None if self.weight is None else as_weight(table[self.weight], self.weight, start),
            start,
        )


def roles(target: str | None, weight: str | None, text_target: bool) -> dict[str, Reading]:
    """How the target and the weights are read."""
    reading: dict[str, Reading] = {}
    if target is not None:
        reading[target] = "text" if text_target else "as it is"
    if weight is not None:
        reading[weight] = "number"
    return reading


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


def as_codes(column: Any, levels: tuple[str, ...]) -> Array:
    """Text as positions in `levels`; missing and unknown values become NaN."""
    codes = compute.index_in(as_text(column), value_set=pa.array(levels, pa.large_string()))
    return as_numbers(codes.cast(pa.float64()))


def as_target(column: Any, name: str, start: int, text: bool = False) -> Array:
    """Numbers stay numbers, truth values stay so, text and dictionaries become text labels; none may be missing."""
    if types.is_floating(column.type):
        missing = compute.is_null(column, nan_is_null=True)
    else:
        missing = compute.is_null(column)
    first = compute.index(missing, True).as_py()
    if first >= 0:
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
