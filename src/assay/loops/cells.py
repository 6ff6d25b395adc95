"""The cells of delimited text: numbers read in place, texts found, missing ones marked.

`text` (bytes, uint8) ends with two line ends. The column j has the role `roles_j`: k ≥ 0, the numbers of row k of `numbers`;
−1, unread; −2 − k, the texts of row k of `starts` and `stops`. What is no plain number, no missing word, or holds a quote within
quotes ends the reading: a slower parser then sees to the whole.
"""

from __future__ import annotations

import numpy as np

from assay.compiled import jit
from assay.loops.decimals import EXACT, ONE, TENS, nearest

ZERO, TEN = np.uint64(0), np.uint64(10)
MINUS, PLUS, QUOTE, NINE, NOUGHT = 45, 43, 34, 57, 48
REFUSED = -1


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
    seen, counted, q = i > first, np.int64(i - first), np.int64(0)
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
        seen, counted = seen or q < 0, counted - q
    if seen and (text[i] == 101 or text[i] == 69):
        i += ONE
        down = text[i] == MINUS
        if down or text[i] == PLUS:
            i += ONE
        first = i
        i, x = _digits(text, i, ZERO)
        seen = first < i < first + np.uint64(6)
        q += -np.int64(x) if down else np.int64(x)
    if not seen or counted > 19:
        return np.nan, i
    found = _value(w, q)
    return -found if negative else found, i


@jit
def is_word(text, a, b, words, lengths, count):  # type: ignore[no-untyped-def]
    """Whether text[a:b] is one of the first `count` words."""
    for m in range(count):
        if lengths[m] == np.int64(b - a):
            same = True
            for t in range(lengths[m]):
                same = same and text[a + np.uint64(t)] == words[m, t]
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
def read_cells(text, size, end, point, roles, numbers, starts, stops, valid, words, lengths, n_text_words):  # type: ignore[no-untyped-def]
    """The number of rows read, or REFUSED. `end` parts cells, `point` is the decimal point.

    `valid` (numbers first, then texts) says which cells are there. `words[:n_text_words]` are missing everywhere, the others among
    numbers alone.
    """
    i, size, row, last = ZERO, np.uint64(size), 0, len(roles) - 1
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
                if k >= 0 and not is_word(text, a, b, words, lengths, len(words)):
                    x, after = read_number(text, a, point)
                    if x != x or after != b:
                        return REFUSED
                    valid[k, row] = True
                    numbers[k, row] = x
                elif k < REFUSED:
                    valid[len(numbers) - 2 - k, row] = not is_word(text, a, b, words, lengths, n_text_words)
                    starts[-2 - k, row], stops[-2 - k, row] = np.int64(a), np.int64(b)
            if (text[behind] == end) != (j < last):
                return REFUSED
            i = behind + ONE
        row += 1
    return row


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
