"""What a column of a file is to a model: numbers, text (categories), or neither."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import pyarrow as pa
import pyarrow.types as types

from assay.errors import DataError, SchemaError, nearest

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
