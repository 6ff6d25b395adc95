"""Dates as people write them: 09.02.2021, 2/9/21 5:10 PM, 2021-02-09T10:00, 9 Feb 2021, Feb 9, 2021.

Two digits are a year from 1970 to 2069. Months have English, German, French, Spanish or Italian names, whole or cut to three letters or more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from assay.numerics import Array
from assay.tables.arrow_columns import as_numbers

YEAR = r"(?P<year>\d{4}|\d{2})"
TIME = r"(?:[T ,] *(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d{1,6})?))?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?: ?Uhr|Z)?)?"
NAME = "(?P<name>[A-Za-zÀ-ÖØ-öø-ÿ]{3,10})"
FORMS = {
    "dmy": rf"^(?P<day>\d{{1,2}})(?:\. ?(?P<month>\d{{1,2}})\. ?|/(?P<m2>\d{{1,2}})/|-(?P<m3>\d{{1,2}})-){YEAR}{TIME}$",
    "mdy": rf"^(?P<month>\d{{1,2}})(?:\. ?(?P<day>\d{{1,2}})\. ?|/(?P<d2>\d{{1,2}})/|-(?P<d3>\d{{1,2}})-){YEAR}{TIME}$",
    "ymd": rf"^(?P<year>\d{{4}})(?:-(?P<month>\d{{1,2}})-|/(?P<m2>\d{{1,2}})/|\.(?P<m3>\d{{1,2}})\.)(?P<day>\d{{1,2}}){TIME}$",
    "d month y": rf"^(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?[ -]?{NAME}\.?,?[ -]{YEAR}{TIME}$",
    "month d y": rf"^{NAME}\.? ?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? {YEAR}{TIME}$",
}
ORDERS = tuple(FORMS)
NAMES = """january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"""
PIVOT = 70  # 70 is 1970, 69 is 2069
DAY = 86_400_000_000  # microseconds


def _months() -> dict[str, int]:
    """{name in small letters: month}, with the beginnings of three letters or more that mean one month alone."""
    found: dict[str, set[int]] = {}
    for line in NAMES.splitlines():
        for month, name in enumerate(line.split(), 1):
            for end in range(3, len(name) + 1):
                found.setdefault(name[:end], set()).add(month)
    return {name: months.pop() for name, months in found.items() if len(months) == 1}


MONTHS = _months()


def read_dates(text: Any, order: str) -> Any:
    """The moments of trimmed Arrow text as timestamps; missing where one is not so written, or no day of the calendar."""
    parts = compute.extract_regex(text, pattern=FORMS[order])
    names = [field.name for field in parts.type]
    year = _number(parts, "year")
    year += np.where(_lengths(parts, "year") == 2, np.where(year < PIVOT, 2000, 1900), 0)
    month = _named_month(parts) if "name" in names else _first(parts, [n for n in names if n in ("month", "m2", "m3")])
    day = _first(parts, [n for n in names if n in ("day", "d2", "d3")])
    moment, good = _moments(year, month, day)
    time, good_time = _times(parts)
    there = good & good_time & ~np.isnan(year)
    return pa.array(moment + time, pa.int64(), mask=~there).cast(pa.timestamp("us"))


def _number(parts: Any, name: str) -> Array:
    """A part as a float; NaN where it is not there."""
    field = compute.struct_field(parts, name)
    given = compute.if_else(compute.equal(field, ""), pa.scalar(None, field.type), field)
    return as_numbers(_chunked(given.cast(pa.float64()))).copy()


def _chunked(array: Any) -> Any:
    return pa.chunked_array([array])


def _lengths(parts: Any, name: str) -> Array:
    field = compute.struct_field(parts, name)
    return as_numbers(_chunked(compute.fill_null(compute.binary_length(field), 0)))


def _first(parts: Any, names: list[str]) -> Array:
    """The one of several parts that is there."""
    found = _number(parts, names[0])
    for name in names[1:]:
        other = _number(parts, name)
        found = np.where(np.isnan(found), other, found)
    return found


def _named_month(parts: Any) -> Array:
    names = compute.utf8_lower(compute.struct_field(parts, "name"))
    places = compute.index_in(names, value_set=pa.array(list(MONTHS), pa.large_string()))
    numbers = compute.take(pa.array(list(MONTHS.values()), pa.float64()), places)
    return as_numbers(_chunked(numbers))


def _moments(year: Array, month: Array, day: Array) -> tuple[Array, Array]:
    """(microseconds since 1970 at midnight, whether that is a day of the calendar)."""
    known = ~(np.isnan(year) | np.isnan(month) | np.isnan(day))
    known &= (np.nan_to_num(month) >= 1) & (np.nan_to_num(month) <= 12) & (np.nan_to_num(day) >= 1)
    y, m, d = (np.where(known, x, low).astype(np.int64) for x, low in ((year, 1970), (month, 1), (day, 1)))
    first = ((y - 1970) * 12 + m - 1).astype("datetime64[M]")
    date = first.astype("datetime64[D]") + (d - 1)
    known &= date < (first + 1).astype("datetime64[D]")
    return date.astype(np.int64) * DAY, known


def _times(parts: Any) -> tuple[Array, Array]:
    """(microseconds since midnight, whether that is a time of day); without a time 0."""
    hour, minute, second = (np.nan_to_num(_number(parts, name)) for name in ("hour", "minute", "second"))
    half = compute.utf8_lower(compute.struct_field(parts, "half"))
    late, early = (as_numbers(_chunked(compute.fill_null(compute.equal(half, x), False))) == 1 for x in ("p", "a"))
    good = (hour < 24) & (minute < 60) & (second < 61) & (~(late | early) | ((hour >= 1) & (hour <= 12)))
    hour = np.where(late & (hour < 12), hour + 12, np.where(early & (hour == 12), 0, hour))
    return np.round((hour * 3600 + minute * 60 + second) * 1e6).astype(np.int64), good
