"""An encoding as plain data and back: what a model file holds of it, and what a file must hold before it is believed."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import DataError, ModelFileError
from assay.numerics import Array
from assay.tables.encoding.encode import Encoding, Wants
from assay.tables.encoding.expand import Groups
from assay.tables.encoding.statistics import Statistics
from assay.tables.encoding.words import BUCKETS
from assay.tables.schema import Schema

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
        wants = _wants(data["wants"])
        return Encoding(schema, wants, _statistics(data["statistics"], Groups.of(schema)))
    except (ArithmeticError, AttributeError, DataError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"The model file's encoding cannot be used: {error}") from None


def _wants(data: Any) -> Wants:
    wants = Wants(**data)
    if wants.categories not in ("one-hot", "reference", "native", "codes"):
        raise ValueError(f"categories as {wants.categories!r}")
    if not all(isinstance(flag, bool) for flag in wants[1:]):
        raise ValueError("needs that are neither true nor false")
    return wants


def _statistics(data: Any, groups: Groups) -> Statistics:
    a = len(groups.number_names())
    count = _whole(data["present"], a)
    mean, m2 = (_finite(data[key], a) for key in ("mean", "m2"))
    expected = [len(c.levels or ()) + 2 for c in groups.categories]
    if len(data["levels"]) != len(expected) or (m2 < 0).any():
        raise ValueError("its statistics do not fit its columns")
    levels = tuple(_whole(counts, width) for counts, width in zip(data["levels"], expected))
    n = data["n"]
    if not isinstance(n, int) or not 1 <= n <= MOST or (len(count) and count.max() > n):
        raise ValueError(f"statistics of {n!r} rows")
    documents = np.zeros(BUCKETS * len(groups.texts), dtype=np.int64)
    places, counts = data["words"]
    where = _whole(places, len(places))
    if len(where) and where.max() >= len(documents):
        raise ValueError("words beyond its columns")
    documents[where] = _whole(counts, len(where))
    return Statistics(n, count, mean, m2, levels, documents)


def _whole(values: Any, length: int) -> Array:
    array = np.array(values, dtype=np.float64).reshape(-1)
    if len(array) != length or not np.all((array >= 0) & (array <= MOST) & (array == np.floor(array))):
        raise ValueError("counts that are no counts")
    return array.astype(np.int64)


def _finite(values: Any, length: int) -> Array:
    array = np.array(values, dtype=np.float64).reshape(-1)
    if len(array) != length or not np.isfinite(array).all():
        raise ValueError("statistics that are not finite")
    return array
