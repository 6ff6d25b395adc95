"""Rows of numbers in JSON, arrays or objects, read in place. Whatever is not that ends the reading: a slower parser sees to the whole."""

from __future__ import annotations

import numpy as np
from numba import njit

from assay.loops.cells import MINUS, NINE, NOUGHT, REFUSED, ZERO, read_number
from assay.loops.decimals import ONE

FOUR = np.uint64(4)
POINT, COMMA, COLON, OPEN, CLOSE = np.uint8(46), 44, 58, 91, 93
NULL, TRUE, FALSE = (np.frombuffer(word, np.uint8) for word in (b"null", b"true", b"false"))


@njit(inline="always")
def _space(text, i):  # type: ignore[no-untyped-def]
    """The place of the next byte that is no white space."""
    while text[i] == 32 or text[i] == 10 or text[i] == 13 or text[i] == 9:
        i += ONE
    return i


@njit(inline="always")
def _is(text, i, word, a, b):  # type: ignore[no-untyped-def]
    """Whether word[a:b] stands at i; the zero behind the text is in no word."""
    while a < b:
        if text[i] != word[a]:
            return False
        i, a = i + ONE, a + ONE
    return True


@njit(inline="always")
def _digit(c):  # type: ignore[no-untyped-def]
    return c >= NOUGHT and c <= NINE


@njit(inline="always")
def _number(text, i):  # type: ignore[no-untyped-def]
    """(the number at i, the place behind it), where JSON allows it as it is written; else NaN."""
    first = i + ONE if text[i] == MINUS else i
    good = _digit(text[first]) and not (text[first] == NOUGHT and _digit(text[first + ONE]))
    point = first
    while _digit(text[point]):
        point += ONE
    good = good and (text[point] != POINT or _digit(text[point + ONE]))
    x, behind = read_number(text, i, POINT)
    return x if good and abs(x) < np.inf else np.nan, behind


@njit(nogil=True, cache=True)
def read_rows(text, size, keys, ends, truths, opening, closing, out):  # type: ignore[no-untyped-def]
    """The number of rows put into `out`, or REFUSED.

    `text` (bytes, uint8) ends with two zeros behind its `size`. `keys[ends_j−1 : ends_j]` is what stands before the value j, empty in arrays;
    truths_j: the value j is true or false. null is NaN.
    """
    d = out.shape[1]
    i = _space(text, ZERO)
    if text[i] != OPEN:
        return REFUSED
    row = 0
    while True:
        i = _space(text, i + ONE)
        if row == len(out) or text[i] != opening:
            return REFUSED
        start = ZERO
        for j in range(d):
            i = _space(text, i + ONE)
            if ends[j] > start:
                if not _is(text, i, keys, start, ends[j]):
                    return REFUSED
                i = _space(text, i + ends[j] - start)
                start = ends[j]
                if text[i] != COLON:
                    return REFUSED
                i = _space(text, i + ONE)
            if text[i] == NULL[0]:
                if not _is(text, i, NULL, ZERO, FOUR):
                    return REFUSED
                out[row, j], i = np.nan, i + FOUR
            elif truths[j]:
                true, false = _is(text, i, TRUE, ZERO, FOUR), _is(text, i, FALSE, ZERO, FOUR + ONE)
                if not true and not false:
                    return REFUSED
                out[row, j], i = 1.0 if true else 0.0, i + FOUR if true else i + FOUR + ONE
            else:
                x, i = _number(text, i)
                if x != x:
                    return REFUSED
                out[row, j] = x
            i = _space(text, i)
            if text[i] != (COMMA if j < d - 1 else closing):
                return REFUSED
        row += 1
        i = _space(text, i + ONE)
        if text[i] == CLOSE:
            break
        if text[i] != COMMA:
            return REFUSED
    i = _space(text, i + ONE)
    return row if i == np.uint64(size) else REFUSED
