"""An encoding as plain data, as it goes into a model file; nothing of such a file is believed before it is checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import DataError, ModelFileError
from assay.numerics import Array
from assay.tables.encoding.columns import ColumnGroups, EncodingStatistics
from assay.tables.encoding.components import components_from_data, components_to_data
from assay.tables.encoding.encoding import Encoding, EncodingSpec
from assay.tables.encoding.strings import string_from_data, string_to_data
from assay.tables.encoding.words import BUCKETS
from assay.tables.schema.schema import Schema

VERSION, WITH_COMPONENTS = "assay.encoding/1", "assay.encoding/2"
FIRST_WANTS = ("categories", "scaled", "missing", "sparse")  # what files of the first version say of a model's needs
MOST_ROWS = 1 << 53


def to_data(encoding: Encoding) -> dict[str, Any]:
    """{"schema": the version, "table": the schema, "wants": …, "statistics": …}; the oldest version that says all."""
    s = encoding.statistics
    words = np.flatnonzero(s.documents)
    more = {
        "texts": [components_to_data(text) for text in s.texts],
        "strings": [string_to_data(values) for values in s.strings],
    }
    wants = encoding.encoding_spec._asdict()
    if not (s.texts or s.strings):
        more, wants = {}, {name: wants[name] for name in FIRST_WANTS}
    return {
        "schema": WITH_COMPONENTS if more else VERSION,
        "table": encoding.schema.to_data(),
        "wants": wants,
        "statistics": {
            "n": s.n,
            "present": s.present.tolist(),
            "mean": s.mean.tolist(),
            "m2": s.m2.tolist(),
            "levels": [counts.tolist() for counts in s.levels],
            "words": [words.tolist(), s.documents[words].tolist()],
            **more,
        },
    }


def from_data(data: Any) -> Encoding:
    """The encoding of `to_data`; raises `ModelFileError` unless everything in it fits together."""
    try:
        if data["schema"] not in (VERSION, WITH_COMPONENTS):
            raise ModelFileError(
                f"The model file's encoding is {data['schema']!r}; this version reads {VERSION!r} and {WITH_COMPONENTS!r}."
            )
        schema = Schema.from_data(data["table"])
        _has(data, "schema", "table", "wants", "statistics")
        second = data["schema"] == WITH_COMPONENTS
        encoding_spec = _encoding_spec(data["wants"], EncodingSpec._fields if second else FIRST_WANTS)
        groups, found = ColumnGroups.of(schema), dict(data["statistics"])
        texts, strings = (found.pop(name) if second else [] for name in ("texts", "strings"))
        statistics = _statistics(found, groups)
        if second:
            due = len(groups.texts) if encoding_spec.components else 0
            statistics = statistics._replace(
                texts=tuple(components_from_data(text) for text in _so_many(texts, due)),
                strings=tuple(string_from_data(each, statistics.n) for each in _so_many(strings, len(groups.strings))),
            )
        elif groups.strings:
            raise ValueError("strings without their values")
        return Encoding(schema, encoding_spec, statistics)
    except (ArithmeticError, AttributeError, DataError, LookupError, MemoryError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"The model file's encoding cannot be used: {error}") from None


def _has(data: Any, *keys: str) -> None:
    if not isinstance(data, dict) or set(data) != set(keys):
        raise ValueError(f"it has not the entries {', '.join(keys)}")


def _so_many(items: Any, due: int) -> list[Any]:
    if not isinstance(items, list) or len(items) != due:
        raise ValueError("statistics that do not fit its columns of text")
    return items


def _encoding_spec(data: Any, fields: tuple[str, ...]) -> EncodingSpec:
    _has(data, *fields)
    encoding_spec = EncodingSpec(**data)
    if encoding_spec.categories not in ("one-hot", "reference", "native", "codes"):
        raise ValueError(f"categories as {encoding_spec.categories!r}")
    if encoding_spec.target not in ("", "classes", "number"):
        raise ValueError(f"a target of {encoding_spec.target!r}")
    if not all(isinstance(flag, bool) for flag in encoding_spec[1:4]):
        raise ValueError("needs that are neither true nor false")
    return encoding_spec


def _statistics(data: Any, groups: ColumnGroups) -> EncodingStatistics:
    _has(data, "n", "present", "mean", "m2", "levels", "words")
    n, a = data["n"], len(groups.number_names())
    if type(n) is not int or not 1 <= n <= MOST_ROWS:
        raise ValueError(f"statistics of {n!r} rows")
    count = _whole(data["present"], a, n)
    mean, m2 = (_finite(data[key], a) for key in ("mean", "m2"))
    expected = [len(c.levels or ()) + 2 for c in groups.categories]
    if not isinstance(data["levels"], list) or len(data["levels"]) != len(expected) or (m2 < 0).any():
        raise ValueError("its statistics do not fit its columns")
    levels = tuple(_whole(counts, width, n) for counts, width in zip(data["levels"], expected))
    if any(int(counts.sum()) != n for counts in levels):  # every row has one category, another one, or none
        raise ValueError(f"category counts that do not add up to {n} rows")
    return EncodingStatistics(n, count, mean, m2, levels, _documents(data["words"], BUCKETS * len(groups.texts), n))


def _documents(words: Any, width: int, n: int) -> Array:
    """Of each hashed word the rows that have it, from the places and counts of those that occur."""
    if not isinstance(words, list) or len(words) != 2 or not isinstance(words[0], list):
        raise ValueError("words without their counts")
    places, counts = (_whole(values, len(words[0]), most) for values, most in zip(words, (width - 1, n)))
    if (np.diff(places) <= 0).any() or (counts == 0).any():
        raise ValueError("words out of order, or that never occur")
    documents = np.zeros(width, dtype=np.int64)
    documents[places] = counts
    return documents


def _whole(values: Any, length: int, most: int) -> Array:
    """Counts from 0 to `most`."""
    if not isinstance(values, list) or len(values) != length or not all(type(v) is int for v in values):
        raise ValueError("counts that are no counts")
    if any(not 0 <= v <= most for v in values):
        raise ValueError(f"counts that are not between 0 and {most}")
    return np.array(values, dtype=np.int64)


def _finite(values: Any, length: int) -> Array:
    if not isinstance(values, list) or len(values) != length or not all(type(v) in (int, float) for v in values):
        raise ValueError("statistics that are no numbers")
    array = np.array(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("statistics that are not finite")
    return array
