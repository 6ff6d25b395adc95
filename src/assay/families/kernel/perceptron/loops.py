"""The kernel perceptron's visits of a chunk of rows whose scores, and kernel values among each other, are known.

Scores S (m, B): two classes have m = 1 and answer class 1 where s ≥ 0; K > 2 classes have m = K, and the greatest score wins, the lowest
class of several. At a mistake of row r every S_k gets its new coefficient times the kernel's values G (B, B) of row r.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import jit
from assay.compiled.mixing import STEP, below, mixed


@jit(inline="always")
def _rival(S, r, code, zero):  # type: ignore[no-untyped-def]
    """The class that wins against the right one at row r, or −1 where there is none; `zero`: a tie is a mistake for either class."""
    if S.shape[0] == 1:
        s = S[0, r]
        return 1 - code if (s >= 0.0) != (code == 1) or (zero and s == 0.0) else -1
    best, rival = -np.inf, -1
    for k in range(S.shape[0]):
        if k != code and (S[k, r] > best or rival < 0):
            best, rival = S[k, r], k
    own = S[code, r]
    return rival if best > own or (best == own and (zero or rival < code)) else -1


@jit
def first_mistake(S, codes, zero, at, end):  # type: ignore[no-untyped-def]
    """(the first row at … end − 1 on the wrong side, or `end`; the class that wins there)."""
    for r in range(at, end):
        rival = _rival(S, r, codes[r], zero)
        if rival >= 0:
            return r, rival
    return end, -1


@jit
def closest(S, codes, at, end):  # type: ignore[no-untyped-def]
    """How near a visit of rows at … end − 1 came to another outcome: the least |s|, or the least distance between the right class, the best
    other one and, where that wins, the next. Two scores of exactly 0 are those of classes without coefficients, and certain."""
    least = np.inf
    for r in range(at, end):
        if S.shape[0] == 1:
            least = min(least, abs(S[0, r]))
            continue
        own, best, next_best = S[codes[r], r], -np.inf, -np.inf
        for k in range(S.shape[0]):
            if k != codes[r]:
                s = S[k, r]
                best, next_best = max(best, s), max(next_best, min(best, s))
        if own != 0.0 or best != 0.0:
            least = min(least, abs(own - best))
        if best >= own and (best != 0.0 or next_best != 0.0):
            least = min(least, best - next_best)
    return least


@jit
def drawn(seed, count, n):  # type: ignore[no-untyped-def]
    """Which of n kept rows goes at mistake number `count`."""
    return below(mixed(mixed(np.uint64(seed) + STEP) + np.uint64(count) * STEP), n)


@jit
def visit(S, G, codes, steps, zero, scores, rivals):  # type: ignore[no-untyped-def]
    """Visit the rows in order. scores (m, B): those at each visit; rivals (B,): the class that won wrongly, or −1. S ends up to date."""
    two = S.shape[0] == 1
    for r in range(S.shape[1]):
        scores[:, r] = S[:, r]
        rival = _rival(S, r, codes[r], zero)
        rivals[r] = rival
        if rival >= 0:
            if two:
                S[0] += (steps[r] if codes[r] == 1 else -steps[r]) * G[r]
            else:
                S[codes[r]] += steps[r] * G[r]
                S[rival] -= steps[r] * G[r]


class ChunkRows(NamedTuple):
    """Scores S and kernel values G of a chunk, codes and steps (B,), the numbers of its rows, and places (B,): where in `kept` each of them is, or −1."""

    S: Any
    G: Any
    codes: Any
    steps: Any
    rows: Any
    places: Any


class KeptRows(NamedTuple):
    """kept (b,): numbers of the kept rows; coef (m, b); K (b, B): their kernel values with the chunk."""

    kept: Any
    coef: Any
    K: Any


class VisitLog(NamedTuple):
    """Scores (m, B) at each visit, rivals (B,): the class that won wrongly, or −1; gone (B,): the row that had to go, or −1."""

    scores: Any
    rivals: Any
    gone: Any


@jit
def visit_within(chunk, budget, size, zero, seed, count, log):  # type: ignore[no-untyped-def]
    """As `visit`, with room for len(kept) rows, `size` of them taken: where all are, a row drawn at random makes room for a new one. count: the
    mistakes before. Returns (mistakes, size) after."""
    S, G, codes, steps, rows, places = chunk
    kept, coef, K = budget
    scores, rivals, gone = log
    two = S.shape[0] == 1
    owner = np.full(kept.shape[0], -1)  # the row of the chunk at each place
    for r in range(places.shape[0]):
        if places[r] >= 0:
            owner[places[r]] = r
    for r in range(S.shape[1]):
        scores[:, r] = S[:, r]
        rival = _rival(S, r, codes[r], zero)
        rivals[r], gone[r] = rival, -1
        if rival < 0:
            continue
        place = places[r]
        if place < 0:
            place = size
            if size == kept.shape[0]:
                place = drawn(seed, count, size)
                gone[r] = kept[place]
                for k in range(S.shape[0]):
                    S[k] -= coef[k, place] * K[place]
                if owner[place] >= 0:
                    places[owner[place]] = -1
            else:
                size += 1
            kept[place], places[r], owner[place] = rows[r], place, r
            K[place] = G[r]
            coef[:, place] = 0.0
        count += 1
        if two:
            c = steps[r] if codes[r] == 1 else -steps[r]
            coef[0, place] += c
            S[0] += c * G[r]
        else:
            coef[codes[r], place] += steps[r]
            coef[rival, place] -= steps[r]
            S[codes[r]] += steps[r] * G[r]
            S[rival] -= steps[r] * G[r]
    return count, size
