"""The best split of a node on one column, from its sums by code.

    gain  =  S(G_L)² / (H_L + l2)  +  S(G_R)² / (H_R + l2)  −  S(G)² / (H + l2),      S(G) = sign(G) max(|G| − l1, 0)

All in whole units of gradient and Hessian. Categories stand in the order of G / (H + smooth), which is that of their best answers; those of a
node go left up to a place of that order; rare ones stay on the right, or each would be told apart by its own target. Missing values go to the side where they gain more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inner
from assay.compiled.simd.boosting import newton_scores
from assay.compiled.simd.vectors import LANE

NONE = -np.inf
ROOM = 256 + 2 * LANE
# a split: column, last code on the left (of categories: how many of the order), missing to the left, by categories, ΣG and word of the left, set of 256 bits
COLUMN, CODE, MISSING, SET, GRADIENT, WORD, BITS, FIELDS = 0, 1, 2, 3, 4, 5, 6, 10


class ScanRules(NamedTuple):
    """When a split is admissible, in whole units (`least`: rows of a side, `light`: Hessian of a side)."""

    shift: int
    least: float
    light: float
    l1: float
    l2: float
    smooth: float  # Hessian that categories are smoothed with
    rare: float  # rows of a category below which it stays on the right
    category_l2: float
    bounded: bool  # some column has a trend, so that answers have bounds


class ScanRoom(NamedTuple):
    """Room of one thread, (ROOM,) each: running sums and words (int64), scores (float64), `order` (int64)."""

    gradient: Any
    word: Any
    worth: Any
    order: Any


@inner
def shrunk(g, l1):  # type: ignore[no-untyped-def]
    """S(g)."""
    return max(g - l1, 0.0) + min(g + l1, 0.0)


@inner
def answer(g, h, l1, l2, low, high):  # type: ignore[no-untyped-def]
    """The best answer of rows with such sums, within its bounds."""
    return min(max(-shrunk(g, l1) / (h + l2), low), high)


@inner
def worth_of(g, h, l1, l2, value):  # type: ignore[no-untyped-def]
    """Twice what the second-order loss falls by when rows answer so."""
    return -(2.0 * g * value + (h + l2) * value * value + 2.0 * l1 * abs(value))


@inner
def _score_bounded(room, count, G, H, C, rules, l2, trend, low, high):  # type: ignore[no-untyped-def]
    l1, least, light, mask = rules.l1, rules.least, rules.light, (1 << rules.shift) - 1
    worth, best = room.worth, NONE
    for b in range(count):
        w = room.word[b]
        g, h, c = np.float64(room.gradient[b]), np.float64(w & mask), np.float64(w >> rules.shift)
        worth[b] = NONE
        if c >= least and C - c >= least and h >= light and H - h >= light:
            left, right = answer(g, h, l1, l2, low, high), answer(G - g, H - h, l1, l2, low, high)
            if trend * (right - left) >= 0.0:
                worth[b] = worth_of(g, h, l1, l2, left) + worth_of(G - g, H - h, l1, l2, right)
                best = max(best, worth[b])
    return best


@inner
def _run_up(sums, at, count, g, w, room):  # type: ignore[no-untyped-def]
    """Sums up to each code, beginning with g and w."""
    for b in range(count):
        g += sums[2 * (at + b)]
        w += sums[2 * (at + b) + 1]
        room.gradient[b], room.word[b] = g, w


@inner
def _run_through(sums, at, order, count, g, w, room):  # type: ignore[no-untyped-def]
    """Sums up to each place of an order of codes."""
    for k in range(count):
        b = at + order[k]
        g += sums[2 * b]
        w += sums[2 * b + 1]
        room.gradient[k], room.word[k] = g, w


@inner
def _order_categories(sums, at, codes, rules, room):  # type: ignore[no-untyped-def]
    """room.order: the categories that the node has and that are not rare, by G / (H + smooth); how many."""
    mask, count = (1 << rules.shift) - 1, 0
    order, key = room.order, room.worth
    for b in range(codes):
        w = sums[2 * (at + b) + 1]
        if w >> rules.shift > 0 and w >> rules.shift >= rules.rare:
            value = np.float64(sums[2 * (at + b)]) / (np.float64(w & mask) + rules.smooth)
            k = count
            while k > 0 and key[k - 1] > value:
                key[k], order[k] = key[k - 1], order[k - 1]
                k -= 1
            key[k], order[k] = value, b
            count += 1
    return count


@inner
def scan_column(sums, first, codes, missing, by_set, trend, G, W, low, high, rules, room, column, score, best):  # type: ignore[no-untyped-def]
    """The greater of `score` and that of the best split on a column whose bins begin at `first`; `best` receives that split."""
    mask = (1 << rules.shift) - 1
    total, H, C = np.float64(G), np.float64(W & mask), np.float64(W >> rules.shift)
    lost_g, lost_w = 0, 0
    if missing >= 0:
        lost_g, lost_w = sums[2 * (first + missing)], sums[2 * (first + missing) + 1]
    count = _order_categories(sums, first, codes, rules, room) if by_set else codes
    l2 = rules.l2 + rules.category_l2 if by_set else rules.l2
    lacking = lost_w >> rules.shift > 0
    for side in range(2 if lacking else 1):
        g, w = (lost_g, lost_w) if side else (0, 0)
        if by_set:
            _run_through(sums, first, room.order, count, g, w, room)
        else:
            _run_up(sums, first, count, g, w, room)
        if rules.bounded:
            found = _score_bounded(room, count, total, H, C, rules, l2, trend, low, high)
        else:
            for b in range(count, count + LANE):
                room.word[b] = 0
            found = newton_scores(
                room.gradient,
                room.word,
                room.worth,
                count,
                total,
                H,
                C,
                rules.l1,
                l2,
                rules.least,
                rules.light,
                rules.shift,
            )
        if found > score:
            at, score = 0, found
            while room.worth[at] != found:
                at += 1
            _write(
                sums, first, room.order, by_set, column, at, g, w, side, lacking, W >> rules.shift, rules.shift, best
            )
    return score


@inner
def _write(sums, first, order, by_set, column, at, g, w, side, lacking, rows, shift, best):  # type: ignore[no-untyped-def]
    """A split as whole numbers; where the node has no missing values, those of new rows go with the most rows."""
    best[COLUMN], best[CODE], best[SET] = column, at, by_set
    for k in range(4):
        best[BITS + k] = 0
    for k in range(at + 1):
        b = order[k] if by_set else k
        g += sums[2 * (first + b)]
        w += sums[2 * (first + b) + 1]
        if by_set:
            best[BITS + (b >> 6)] |= 1 << (b & 63)
    best[GRADIENT], best[WORD] = g, w
    best[MISSING] = side if lacking else (2 * (w >> shift) >= rows)
