"""Columns that a split heeds (labels, groups, moments): one value a row, none missing, as codes where that is wanted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.errors import DataError
from assay.numerics import Array


class Named(NamedTuple):
    """Codes 0 … K − 1 of the rows, and what they stand for."""

    codes: Array
    names: Array


def codes_of(values: Any, n: int, what: str) -> Named | None:
    """Values as codes; None for a regression's numbers. Whole numbers close together need no sorting."""
    a = column_of(values, n, what)
    if what == "label" and a.dtype.kind == "f":
        return None
    if a.dtype.kind in "iub":
        low, high = int(a.min()), int(a.max())
        if high - low < 4 * n:
            counts = np.bincount(a.astype(np.int64) - low)
            table = np.cumsum(counts > 0) - 1
            names = np.flatnonzero(counts) + low
            return Named(table[a.astype(np.int64) - low], names.astype(a.dtype))
    names, codes = np.unique(a if a.dtype.kind != "O" else a.astype(str), return_inverse=True)
    return Named(codes.reshape(-1).astype(np.int64), names)


def column_of(values: Any, n: int, what: str) -> Array:
    """One value a row, none of them missing."""
    a = np.asarray(values)
    if a.shape != (n,):
        raise DataError(f"There are {n} rows, but the {what} values have the shape {a.shape}: give one a row.")
    if a.dtype.kind == "O":
        missing = np.array([v is None or v != v for v in a.tolist()], dtype=bool)
    elif a.dtype.kind in "fcmM":
        missing = np.isnan(a) if a.dtype.kind in "fc" else np.isnat(a)
    else:
        return a
    if missing.any():
        first = int(np.argmax(missing))
        raise DataError(
            f"{int(missing.sum())} of {n} {what} values are missing (the first in row {first}): fill them in or leave those rows out."
        )
    return a
