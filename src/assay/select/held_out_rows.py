"""Which rows of a table a stated split holds out: by row number, by the values of a group column, or the latest ones.

A split is {"fraction", "seed"}, with "group": COLUMN (rows of one group lie on one side) or "time": COLUMN (the latest rows).
It can be made again at any time from the table alone, which is how `verify` finds the rows that a fit never saw.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.engines import Rows
from assay.engines.split import held_out_mask
from assay.errors import DataError
from assay.numerics import Array
from assay.tables.one_column import group_codes, moments
from assay.tables.source import Source


def held_out_rows(source: Source, table: Rows, split: Mapping[str, Any]) -> Array:
    """(n,): true for the rows held out."""
    fraction, seed = float(split["fraction"]), int(split["seed"])
    if split.get("time") is not None:
        return latest(moments(source, str(split["time"])), fraction)
    if split.get("group") is not None:
        codes, names = group_codes(source, str(split["group"]))
        return groups_held_out(names, fraction, seed)[codes]
    return held_out_mask(0, count_rows(table), fraction, seed)


def count_rows(table: Rows) -> int:
    """The rows of a table, read through where its source does not say."""
    if table.n_rows is not None:
        return int(table.n_rows)
    return sum(len(b.X if b.y is None else b.y) for b in (part.load() for part in table.targets()))


def groups_held_out(names: list[str], fraction: float, seed: int) -> Array:
    """Of each group whether it is held out, by a hash of its name: the same whatever the order of the rows."""
    marks = [int(held_out_mask(zlib.crc32(name.encode()), 1, fraction, seed)[0]) for name in names]
    return np.array(marks, dtype=bool)


def latest(times: Array, fraction: float) -> Array:
    """The latest rows, about a share `fraction`; rows of the same moment lie on one side."""
    if np.isnan(times).any():
        at = int(np.flatnonzero(np.isnan(times))[0])
        raise DataError(f"The time is missing in row {at} (counted from 0): every row needs one to be put in order.")
    ordered = np.sort(times)
    cut = ordered[min(len(times) - 1, int(np.ceil(len(times) * (1.0 - fraction))))]
    late: Array = times >= cut
    return late
