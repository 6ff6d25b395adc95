"""Numbers as people write them: signs, currencies, per cent, thousands apart, a decimal point or comma.

    -1.234,50   (1,234)   12 179,35   12'179.35   $1,234,567   EUR 12   1.234,50 €   12,34,567   45.1 %   120-   12,–

A currency and a per cent sign are left out: 45.1 % is 45.1. Numbers in parentheses, and with a minus behind, are negative.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute

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
