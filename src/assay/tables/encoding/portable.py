"""An encoding as plain data and back: what a model file holds of it, and what a file must hold before it is believed."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import DataError, ModelFileError
from assay.numerics import Array
from assay.tables.description.schema import Schema
from assay.tables.encoding.encode import Encoding, Wants
from assay.tables.encoding.expand import Groups
from assay.tables.encoding.statistics import Statistics
from assay.tables.encoding.words import BUCKETS

VERSION = "assay.encoding/1"
MOST = 1 << 53


def to_data(encoding: Encoding) -> dict[str, Any]:
    """{"schema": VERSION, "table": the schema, "wants": …, "statistics": …}."""
    s = encoding.statistics
    words = np.flatnonzero(s.documents)
    return {
        "schema": VERSION,
        "table": encoding.schema.to_data(),
        "wants": encoding.wants._asdict(),
        "statistics": {
            "n": s.n,
            "present": s.present.tolist(),
            "mean": s.mean.tolist(),
            "m2": s.m2.tolist(),
            "levels": [counts.tolist() for counts in s.levels],
            "words": [words.tolist(), s.documents[words].tolist()],
        },
    }


def from_data(data: Any) -> Encoding:
    """The encoding of `to_data`; raises `ModelFileError` unless everything in it fits together."""
    try:
        if data["schema"] != VERSION:
            raise ModelFileError(f"The model file's encoding is {data['schema']!r}; this version reads {VERSION!r}.")
        schema = Schema.from_data(data["table"])
        _has(data, "schema", "table", "wants", "statistics")
        wants = _wants(data["wants"])
        return Encoding(schema, wants, _statistics(data["statistics"], Groups.of(schema)))
    except (ArithmeticError, AttributeError, DataError, LookupError, MemoryError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"The model file's encoding cannot be used: {error}") from None


def _has(data: Any, *keys: str) -> None:
    if not isinstance(data, dict) or set(data) != set(keys):
        raise ValueError(f"it has not the entries {', '.join(keys)}")


def _wants(data: Any) -> Wants:
    _has(data, *Wants._fields)
    wants = Wants(**data)
    if wants.categories not in ("one-hot", "reference", "native", "codes"):
        raise ValueError(f"categories as {wants.categories!r}")
    if not all(isinstance(flag, bool) for flag in wants[1:]):
        raise ValueError("needs that are neither true nor false")
    return wants


def _statistics(data: Any, groups: Groups) -> Statistics:
    _has(data, "n", "present", "mean", "m2", "levels", "words")
    n, a = data["n"], len(groups.number_names())
    if type(n) is not int or not 1 <= n <= MOST:
        raise ValueError(f"statistics of {n!r} rows")
    count = _whole(data["present"], a, n)
    mean, m2 = (_finite(data[key], a) for key in ("mean", "m2"))
    expected = [len(c.levels or ()) + 2 for c in groups.categories]
    if not isinstance(data["levels"], list) or len(data["levels"]) != len(expected) or (m2 < 0).any():
        raise ValueError("its statistics do not fit its columns")
    levels = tuple(_whole(counts, width, n) for counts, width in zip(data["levels"], expected))
    if any(int(counts.sum()) != n for counts in levels):  # every row has one category, another one, or none
        raise ValueError(f"category counts that do not add up to {n} rows")
    return Statistics(n, count, mean, m2, levels, _documents(data["words"], BUCKETS * len(groups.texts), n))


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
