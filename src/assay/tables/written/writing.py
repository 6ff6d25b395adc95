"""The way in which a column of text writes numbers or dates: 12.179,35, (1,234), 09.02.2021. A model keeps it and reads later tables so.

Reading depends on the text and its writing alone, so blocks, engines and files change nothing, and each number is the
float64 nearest to its digits, as that of a plain table is.

*Numbers*: signs, currencies, per cent, thousands apart, a decimal point or comma.

    -1.234,50   (1,234)   12 179,35   12'179.35   $1,234,567   EUR 12   1.234,50 €   12,34,567   45.1 %   120-   12,–

A currency and a per cent sign are left out: 45.1 % is 45.1. Numbers in parentheses, and with a minus behind, are negative.

*Dates*: 09.02.2021, 2/9/21 5:10 PM, 2021-02-09T10:00, 9 Feb 2021, Feb 9, 2021. Two digits are a year from 1970 to 2069. Months have English, German,
French, Spanish or Italian names, whole or cut to three letters or more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from assay.errors import ModelFileError, ParameterError
from assay.numerics import Array
from assay.tables.arrow_columns import NotOfKind, as_numbers, as_text, text_array

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
DECIMALS = (".", ",")
THOUSANDS = (".", ",", " ", "'")
SEPARATOR = {".": r"\.", ",": ",", " ": "[ \u00a0\u2009\u202f]", "'": "['\u2019]", "": ""}
ZERO = "\x01"  # stands for a leading zero in the shape of a text
DIGIT = f"[0-9{ZERO}]"
BLANK = "[ \t\u00a0\u2009\u202f]*"
MONEY = (
    r"(?:(?:US|CA|AU|NZ|HK|R|C|A)?\$|[€£¥₹₽₺₩₪฿]|EUR|Euro|USD|CHF|GBP|INR|JPY|CNY|SEK|NOK|DKK|PLN|CZK|HUF|BRL|AUD|CAD|"
    r"Rs\.?|Fr\.?|SFr\.?|kr\.?|zł|Kč|Ft)"
)
SIGN = "[-+\u2212]"
DASHES = "[-\u2013\u2014]{0,2}"  # 12,– is 12
BEHIND = "[-\u2212]?"
WrittenKind = Literal["number", "date"]
MOST_ODD = 50  # different texts of a column that stand for no value
LONGEST_ODD = 60
UNSAID = ("-", "--", "–", "—", ".", "*", "")  # missing among numbers, as everybody writes it
TYPES = {"number": pa.float64(), "date": pa.timestamp("us")}


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


@cache
def number_pattern(decimal: str, thousands: str) -> str:
    """The regular expression of numbers so written: in Python's words and in RE2's, for texts and for their shapes."""
    apart, point = SEPARATOR[thousands], SEPARATOR[decimal]
    groups = [rf"[1-9]{DIGIT}{{0,2}}(?:{apart}{DIGIT}{{3}})+"] if thousands else []
    if thousands == ",":  # lakhs and crores: 12,34,567
        groups.append(rf"[1-9]{DIGIT}?(?:,{DIGIT}{{2}})+,{DIGIT}{{3}}")
    whole = "|".join([*groups, f"{DIGIT}+"])
    number = rf"(?P<number>(?:(?:{whole})(?:{point}{DIGIT}+)?|{point}{DIGIT}+)(?:[eE][-+]?{DIGIT}+)?)"
    before = rf"(?P<open>\(?){BLANK}(?P<sign>{SIGN}?){BLANK}(?:{MONEY}{BLANK})?(?P<inner>{SIGN}?)"
    behind = rf"(?:{point}{DASHES})?{BLANK}(?:%|{MONEY})?{BLANK}(?P<minus>{BEHIND}){BLANK}(?P<close>\)?)"
    return f"^{before}{number}{behind}$"


def plain_pattern(decimal: str) -> str:
    """The regular expression of numbers without anything but a sign, a decimal point and an exponent."""
    return rf"{SIGN}?{DIGIT}+({SEPARATOR[decimal]}{DIGIT}+)?([eE][-+]?{DIGIT}+)?"


def read_numbers(text: Any, decimal: str, thousands: str) -> Any:
    """The numbers of trimmed Arrow text; missing where one is not so written."""
    parts = compute.extract_regex(text, pattern=number_pattern(decimal, thousands).replace(ZERO, ""))
    digits = _field(parts, "number")
    if thousands:
        digits = compute.replace_substring_regex(digits, pattern=SEPARATOR[thousands], replacement="")
    if decimal == ",":
        digits = compute.replace_substring(digits, pattern=",", replacement=".")
    signs = [compute.is_in(_field(parts, name), value_set=_minus()) for name in ("sign", "inner", "minus")]
    opened, closed = (compute.not_equal(_field(parts, name), "") for name in ("open", "close"))
    count = sum_of([*signs, opened])
    whole = compute.and_(compute.equal(opened, closed), compute.less_equal(count, 1))
    values = compute.if_else(whole, digits, pa.scalar(None, digits.type)).cast(pa.float64())
    return compute.if_else(compute.equal(count, 1), compute.negate(values), values)


@cache  # made when first needed: Arrow loads pandas for it
def _minus() -> Any:
    return pa.array(["-", "\u2212"], pa.large_string())


def sum_of(masks: list[Any]) -> Any:
    """How many of some masks are true, value by value."""
    total = masks[0].cast(pa.int8())
    for mask in masks[1:]:
        total = compute.add(total, mask.cast(pa.int8()))
    return total


def _field(parts: Any, name: str) -> Any:
    return compute.struct_field(parts, name)


@dataclass(frozen=True)
class Writing:
    """How the values of a column are written."""

    kind: WrittenKind
    decimal: str = "."
    thousands: str = ""
    order: str = ""  # of dates: one of ORDERS
    missing: tuple[str, ...] = ()  # texts that could not be read in the table of the fit: missing values
    example: str = ""

    @property
    def type(self) -> Any:
        """The Arrow type of what is read."""
        return TYPES[self.kind]

    @property
    def pattern(self) -> str:
        """The regular expression of texts so written."""
        return FORMS[self.order] if self.kind == "date" else number_pattern(self.decimal, self.thousands)

    def __str__(self) -> str:
        """An example before and after.

        >>> str(Writing("number", ",", ".", example="12.179,35"))
        '12.179,35 → 12179.35'
        """
        return f"{self.example} → {self.shown(self.example)}"

    def shown(self, text: str) -> str:
        """A text as it is read."""
        value = self.readable(text_array([text]))[0].as_py()
        if value is None:
            return "missing"
        if self.kind == "number":
            return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
        return str(value.isoformat(" ", "minutes") if value.hour or value.minute else value.date().isoformat())

    def readable(self, column: Any) -> Any:
        """The values of a column of text; missing where they cannot be read."""
        text = trimmed(column)
        if self.kind == "number":
            return read_numbers(text, self.decimal, self.thousands)
        return read_dates(text, self.order)

    def read(self, column: Any, start: int) -> Any:
        """The values of a column of text of which the first has row number `start`; `NotOfKind` for one that cannot be read."""
        text = trimmed(column)
        found = self.readable(text)
        if found.null_count == text.null_count:
            return found
        lost = compute.and_(compute.is_valid(text), compute.is_null(found))
        known = text_array([*self.missing, *UNSAID])
        unknown = compute.and_(lost, compute.invert(compute.is_in(text, value_set=known)))
        first = compute.index(unknown, True).as_py()
        if first >= 0:
            raise NotOfKind(text[first].as_py(), start + first)
        return found

    def to_data(self) -> dict[str, Any]:
        """The writing as plain JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"missing": list(self.missing)}


def trimmed(column: Any) -> Any:
    """A column of text in one piece, without blanks around its values."""
    text = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return compute.utf8_trim_whitespace(as_text(text))


def writing_from_data(data: Any, name: str) -> Writing:
    """The writing that `to_data` made; everything is checked, for a file may hold anything."""
    _is(isinstance(data, Mapping) and set(data) == {field.name for field in fields(Writing)}, name)
    missing = data["missing"]
    _is(data["kind"] in get_args(WrittenKind) and data["decimal"] in DECIMALS, name)
    _is(data["thousands"] in ("", *THOUSANDS) and data["thousands"] != data["decimal"], name)
    _is(data["order"] in (ORDERS if data["kind"] == "date" else ("",)), name)
    _is(isinstance(missing, list) and len(missing) <= MOST_ODD, name)
    _is(all(isinstance(text, str) and len(text) <= LONGEST_ODD for text in (*missing, data["example"])), name)
    found = Writing(**{**data, "missing": tuple(missing)})
    _is(re.match(found.pattern, found.example) is not None, name)
    return found


def _is(right: bool, name: str) -> None:
    if not right:
        raise ModelFileError(
            f"The stored schema cannot be used: how the column {name!r} is written makes no sense. The file is damaged, or written "
            "by another version."
        )


@dataclass(frozen=True)
class WritingOptions:
    """What the user says about how numbers and dates are written; None: to be found."""

    decimal: str | None = None
    thousands: str | None = None
    day_first: bool | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, *DECIMALS):
            raise ParameterError(f"decimal={self.decimal!r} is not possible: it is '.' or ','.")
        if self.thousands not in (None, "", *THOUSANDS):
            raise ParameterError(
                f"thousands={self.thousands!r} is not possible: it is '.', ',', ' ' or an apostrophe, or '' for none."
            )
        if self.thousands and self.thousands == self.decimal:
            raise ParameterError(f"decimal and thousands cannot both be {self.decimal!r}.")
        if self.day_first not in (None, True, False):
            raise ParameterError(f"day_first={self.day_first!r} is not possible: it is True or False.")

    @property
    def point(self) -> str | None:
        """The decimal sign that follows from what was said."""
        implied = {".": ",", ",": "."}.get(self.thousands or "")
        return self.decimal or implied
