"""Which rows of a table a stated split holds out: by row number, by the values of a group column, or the latest ones.

A split is {"fraction", "seed"}, with "group": COLUMN (rows of one group lie on one side) or "time": COLUMN (the latest rows), and with
"sample": N where so many of the other rows were learnt from.
It can be made again at any time from the table alone, which is how `verify` finds the rows that a fit never saw.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.engines import Rows, targets_of
from assay.engines.derived import held_out_mask, keys_of, unit_interval
from assay.errors import DataError, ParameterError
from assay.numerics import Array
from assay.tables.sources.source import Source
from assay.tables.table_rows import group_codes, moments


def held_out_rows(source: Source, table: Rows, split: Mapping[str, Any]) -> Array:
    """(n,): true for the rows held out; with a sample 1 for these, 0 for those to learn from, and 2 for those that are in neither part."""
    sample = split.get("sample")
    mask = _held_out(source, table, split)
    return mask if sample is None else sampled(mask, int(sample), int(split["seed"]))


def sampled(mask: Array, sample: int, seed: int) -> Array:
    """Of the rows that are not held out so many to learn from, by a hash of their numbers; the others get a 2."""
    sides: Array = mask.astype(np.int8)
    rows = np.flatnonzero(~mask)
    if sample < len(rows):
        keys = keys_of(rows.astype(np.uint64), (seed + 4) % (1 << 64))
        sides[rows[np.argpartition(keys, sample)[sample:]]] = 2
    return sides


def _held_out(source: Source, table: Rows, split: Mapping[str, Any]) -> Array:
    fraction, seed = float(split["fraction"]), int(split["seed"])
    if split.get("time") is not None and split.get("group") is not None:
        raise ParameterError("Rows are held out by group or by time, not by both: leave one of them out.")
    if split.get("time") is not None:
        return latest(moments(source, str(split["time"])), fraction)
    if split.get("group") is not None:
        codes, names = group_codes(source, str(split["group"]))
        return groups_held_out(names, fraction, seed)[codes]
    return held_out_mask(0, count_rows(table), fraction, seed)


def rows_of_fit(table: Rows, held_out: Array | None) -> tuple[Array | None, Array | None]:
    """Masks of the rows of a fit and of those held out; None: all, and none. Rows of weight 0 are in neither, as good as absent."""
    w = targets_of(table)[1] if table.has_weight else None
    counts = None if w is None or (w > 0).all() else w > 0
    if held_out is None:
        return counts, None
    learnt, tested = held_out == 0, held_out == 1
    return (learnt, tested) if counts is None else (learnt & counts, tested & counts)


def count_rows(table: Rows) -> int:
    """The rows of a table, read through where its source does not say."""
    if table.n_rows is not None:
        return int(table.n_rows)
    return sum(len(b.X if b.y is None else b.y) for b in (part.load() for part in table.targets()))


def groups_held_out(names: list[str], fraction: float, seed: int) -> Array:
    """Of each group whether it is held out, by a hash of its name: the same whatever the order of the rows.

    Of few groups the hash may choose none, or all: then the first in its order is held out alone, or the last one kept.
    """
    if len(names) < 2:
        raise DataError(
            f"All rows are of one group, {names[0]!r}: rows of a group stay together, so none can be held out."
        )
    place = unit_interval(keys_of(np.array([zlib.crc32(name.encode()) for name in names], dtype=np.uint64), seed))
    marks: Array = place < fraction
    if not marks.any():
        marks[np.argmin(place)] = True
    elif marks.all():
        marks[np.argmax(place)] = False
    return marks


def latest(times: Array, fraction: float) -> Array:
    """The latest rows, as near to a share `fraction` as can be; rows of the same moment lie on one side."""
    if np.isnan(times).any():
        at = int(np.flatnonzero(np.isnan(times))[0])
        raise DataError(f"The time is missing in row {at} (counted from 0): every row needs one to be put in order.")
    moments, counts = np.unique(times, return_counts=True)
    if len(moments) < 2:
        raise DataError("All rows are of the same moment: none of them is later than the others and can be held out.")
    later = np.cumsum(counts[::-1])[::-1][1:]  # rows of each moment but the first, and of those after it
    late: Array = times >= moments[1 + int(np.argmin(np.abs(later - fraction * len(times))))]
    return late
