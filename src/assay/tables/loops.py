"""The cells of delimited text: numbers read in place, texts found, missing ones marked.

What is no plain number, no missing word, or holds a quote within quotes ends the reading: a slower parser then sees to the whole.
Decimal digits become the nearest float64, w · 10^q, correctly rounded or known not to be (Eisel and Lemire; Lemire 2021):

w < 2^53 and |q| ≤ 22:  w · 10^q or w / 10^−q is one exact operation, correctly rounded by the processor (Clinger 1990)
else:                   w times the first 128 bits of 5^q; where these do not decide the rounding, the answer is NaN
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.compiled.decorator import inner, jit
from assay.numerics import Array

REFUSED = -1
MINUS, PLUS, QUOTE, NINE, NOUGHT = 45, 43, 34, 57, 48
FARTHEST = 100  # exponents beyond are left to others
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
EXACT = np.uint64(1 << 53)
HALF, LOWER = np.uint64(32), np.uint64(0xFFFFFFFF)
ZERO, ONE, TEN = np.uint64(0), np.uint64(1), np.uint64(10)


def _first_bits(q):  # type: ignore[no-untyped-def]
    """The first 128 bits of 5^q, rounded up for q < 0 and down for q ≥ 0."""
    if q >= 0:
        power = 5**q
        return power << (128 - power.bit_length()) if power.bit_length() <= 128 else power >> (power.bit_length() - 128)
    power = 5**-q
    bits = (power - 1).bit_length()
    inverse = (1 << (bits + 127 if q >= -27 else 2 * bits + 128)) // power + 1
    return inverse >> max(0, inverse.bit_length() - 128)


_POWERS = [_first_bits(q) for q in range(-FARTHEST, FARTHEST + 1)]
FIVES = np.array([[power >> 64, power & (2**64 - 1)] for power in _POWERS], np.uint64)
TENS = 10.0 ** np.arange(23)
MIDDLE = 512
TWOS = 2.0 ** (np.arange(2 * MIDDLE) - MIDDLE + 11)


@jit(inline="always")
def _times(a, b):  # type: ignore[no-untyped-def]
    """The upper and lower 64 bits of a · b."""
    a0, a1, b0, b1 = a & LOWER, a >> HALF, b & LOWER, b >> HALF
    p00, p01, p10, p11 = a0 * b0, a0 * b1, a1 * b0, a1 * b1
    middle = (p00 >> HALF) + (p01 & LOWER) + (p10 & LOWER)
    return p11 + (p01 >> HALF) + (p10 >> HALF) + (middle >> HALF), (middle << HALF) | (p00 & LOWER)


@jit
def nearest(w, q):  # type: ignore[no-untyped-def]
    """The float64 nearest to w · 10^q (w > 0, uint64), or NaN where that stays undecided."""
    if q < -FARTHEST or q > FARTHEST:
        return np.nan
    shift = np.uint64(0)
    for step in (32, 16, 8, 4, 2, 1):
        if (w >> np.uint64(64 - step)) == np.uint64(0):
            w = w << np.uint64(step)
            shift += np.uint64(step)
    upper, lower = _times(w, FIVES[q + FARTHEST, 0])
    if (upper & np.uint64(0x1FF)) == np.uint64(0x1FF):  # the next bits may carry
        more, _ = _times(w, FIVES[q + FARTHEST, 1])
        if lower > FULL - more:
            upper += ONE
            lower -= (FULL - more) + ONE
        else:
            lower += more
    if lower == FULL:
        return np.nan
    top = upper >> np.uint64(63)
    m = upper >> (top + np.uint64(9))
    if lower <= ONE and -4 <= q <= 23 and (m & np.uint64(3)) == ONE and (m << (top + np.uint64(9))) == upper:
        m -= ONE  # a tie: to even
    m = (m + (m & ONE)) >> ONE
    return np.float64(m) * TWOS[((217706 * q) >> 16) + np.int64(top) - np.int64(shift) + MIDDLE]


@jit(inline="always")
def _digits(text, i, w):  # type: ignore[no-untyped-def]
    """(the place behind the digits at i, w with them appended)."""
    c = text[i]
    while c >= NOUGHT and c <= NINE:
        w = w * TEN + np.uint64(c - np.uint8(NOUGHT))
        i += ONE
        c = text[i]
    return i, w


@jit(inline="always")
def _value(w, q):  # type: ignore[no-untyped-def]
    if w <= EXACT and -23 < q < 23:
        return np.float64(w) / TENS[-q] if q < 0 else np.float64(w) * TENS[q]
    return nearest(w, q) if w > ZERO else 0.0


@jit(inline="always")
def read_number(text, i, point):  # type: ignore[no-untyped-def]
    """(the number at i, the place behind it): digits with at most one point and an exponent; NaN where it is none of these.

    Beyond nineteen digits that count the value is not found here: NaN.
    """
    negative = text[i] == MINUS
    if negative:
        i += ONE
    first = i
    i, w = _digits(text, i, ZERO)
    has_digits, counted, q = i > first, np.int64(i - first), np.int64(0)
    if w == ZERO and counted <= 19:  # nothing but noughts; twenty digits can come to 2^64, which is 0 here too
        counted = q
    if text[i] == point:
        first = i + ONE
        i = first
        while w == ZERO and text[i] == NOUGHT:
            i += ONE
        counted -= np.int64(i - first)
        i, w = _digits(text, i, w)
        q = -np.int64(i - first)
        has_digits, counted = has_digits or q < 0, counted - q
    if has_digits and (text[i] == 101 or text[i] == 69):
        i += ONE
        down = text[i] == MINUS
        if down or text[i] == PLUS:
            i += ONE
        first = i
        i, x = _digits(text, i, ZERO)
        has_digits = first < i < first + np.uint64(6)
        q += -np.int64(x) if down else np.int64(x)
    if not has_digits or counted > 19:
        return np.nan, i
    found = _value(w, q)
    return -found if negative else found, i


class MissingWords(NamedTuple):
    """Spellings of missing values: the first `n_text` hold everywhere, the others among numbers alone."""

    letters: Array  # (words, longest): uint8
    lengths: Array  # (words,)
    n_text: int


class Cells(NamedTuple):
    """Room for what is read: numbers, where texts start and stop, and which cells are there (numbers first, then texts)."""

    numbers: Array  # (columns of numbers, rows)
    starts: Array  # (columns of text, rows)
    stops: Array
    valid: Array  # (columns, rows)


@jit
def read_cells(text, size, end, point, roles, cells, missing):  # type: ignore[no-untyped-def]
    """The number of rows read into `cells`, or REFUSED. `end` parts cells, `point` is the decimal point.

    `text` (bytes, uint8) ends with two line ends behind its `size` bytes. The column j has the role `roles_j`: k ≥ 0, the numbers of
    row k; −1, unread; −2 − k, the texts of row k.
    """
    i, size, row, last = ZERO, np.uint64(size), 0, len(roles) - 1
    numbers, starts, stops, valid = cells
    while i < size:
        if text[i] == 10 or text[i] == 13:
            i += ONE
            continue
        if row == valid.shape[1]:
            return REFUSED
        for j in range(last + 1):
            k, there = roles[j], False
            if k >= 0:
                x, behind = read_number(text, i, point)
                c = text[behind]
                there = x == x and (c == end or c == 10 or c == 13)
                valid[k, row] = there
                numbers[k, row] = x
            if not there:
                a, b, behind = _cell(text, i, size, end)
                if behind > size:
                    return REFUSED
                if k >= 0 and not _is_missing(text, a, b, missing, len(missing.lengths)):
                    x, after = read_number(text, a, point)
                    if x != x or after != b:
                        return REFUSED
                    valid[k, row] = True
                    numbers[k, row] = x
                elif k < REFUSED:
                    valid[len(numbers) - 2 - k, row] = not _is_missing(text, a, b, missing, missing.n_text)
                    starts[-2 - k, row], stops[-2 - k, row] = np.int64(a), np.int64(b)
            if (text[behind] == end) != (j < last):
                return REFUSED
            i = behind + ONE
        row += 1
    return row


@inner
def _is_missing(text, a, b, missing, count):  # type: ignore[no-untyped-def]
    """Whether text[a:b] is one of the first `count` words."""
    for m in range(count):
        if missing.lengths[m] == np.int64(b - a):
            same = True
            for t in range(missing.lengths[m]):
                same = same and text[a + np.uint64(t)] == missing.letters[m, t]
            if same:
                return True
    return False


@jit(inline="always")
def _cell(text, i, size, end):  # type: ignore[no-untyped-def]
    """(where a cell's characters begin and end, where the cell ends); the last is `size` + 1 for a quote within quotes."""
    a = i
    if text[i] != QUOTE:
        while text[i] != end and text[i] != 10 and text[i] != 13:
            i += ONE
        return a, i, i
    i += ONE
    while text[i] != QUOTE and i < size:
        i += ONE
    behind = text[min(i, size) + ONE]
    return a + ONE, i, i + ONE if i < size and (behind == end or behind == 10 or behind == 13) else size + ONE


@jit
def gather(text, starts, stops, valid, offsets, out):  # type: ignore[no-untyped-def]
    """Copy the texts that are there one behind the other; the text r lies in out[offsets_r : offsets_r+1]."""
    at = 0
    offsets[0] = 0
    for r in range(len(starts)):
        if valid[r]:
            for i in range(starts[r], stops[r]):
                out[at] = text[i]
                at += 1
        offsets[r + 1] = at
