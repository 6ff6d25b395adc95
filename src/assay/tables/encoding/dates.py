"""Dates as numbers: days since 1970, month, day of the week and, where there is a time of day, the hour."""

from __future__ import annotations

import numpy as np

from assay.numerics import Array, Floats

PARTS = ("days", "month", "weekday")
DAY = 86_400.0


def part_names(with_time: bool) -> tuple[str, ...]:
    """The parts that a date column becomes."""
    return (*PARTS, "hour") if with_time else PARTS


def parts(seconds: Array, with_time: bool) -> Floats:
    """(m, parts): of seconds since 1970; NaN stays NaN. Weekdays count from Monday 0, months from January 1.

    >>> parts(np.array([0.0, 31 * DAY + 3600]), with_time=True).tolist()
    [[0.0, 1.0, 3.0, 0.0], [31.041666666666668, 2.0, 6.0, 1.0]]
    """
    seconds = np.asarray(seconds, dtype=np.float64)
    days = seconds / DAY
    whole = np.floor(days)
    known = np.isfinite(whole)
    dated = np.where(known, whole, 0).astype("datetime64[D]")
    month = dated.astype("datetime64[M]").astype(np.int64) % 12 + 1.0
    columns = [days, month, (np.where(known, whole, 0) + 3) % 7]  # 1970 began on a Thursday
    if with_time:
        columns.append(np.floor((seconds - whole * DAY) / 3600))
    out = np.stack(columns, axis=1)
    out[~known] = np.nan
    return out
