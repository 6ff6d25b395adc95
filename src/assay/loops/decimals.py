"""Decimal digits to the nearest float64: w · 10^q, correctly rounded or known not to be (Eisel and Lemire; Lemire 2021).

w < 2^53 and |q| ≤ 22:  w · 10^q or w / 10^−q is one exact operation, correctly rounded by the processor (Clinger 1990)
else:                   w times the first 128 bits of 5^q; where these do not decide the rounding, the answer is UNDECIDED
"""

from __future__ import annotations

import numpy as np
from numba import njit

FARTHEST = 100  # exponents beyond are left to others
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
EXACT = np.uint64(1 << 53)
HALF, LOWER = np.uint64(32), np.uint64(0xFFFFFFFF)
ONE = np.uint64(1)


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


@njit(inline="always")
def _times(a, b):  # type: ignore[no-untyped-def]
    """The upper and lower 64 bits of a · b."""
    a0, a1, b0, b1 = a & LOWER, a >> HALF, b & LOWER, b >> HALF
    p00, p01, p10, p11 = a0 * b0, a0 * b1, a1 * b0, a1 * b1
    middle = (p00 >> HALF) + (p01 & LOWER) + (p10 & LOWER)
    return p11 + (p01 >> HALF) + (p10 >> HALF) + (middle >> HALF), (middle << HALF) | (p00 & LOWER)


@njit(nogil=True, cache=True)
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
