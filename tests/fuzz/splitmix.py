"""splitmix64 in whole numbers of Python: what fits draw by hashes is drawn again here, without a line of theirs."""

from __future__ import annotations

import struct

import numpy as np

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
STREAM = 0xD1342543DE82EF95


def mixed(word: int) -> int:
    """The word scrambled, one to one."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & WORD
    return word ^ (word >> 31)


def key(number: int, seed: int) -> int:
    """The word of a number in the stream of a seed."""
    return mixed((number + seed * STREAM + 1) * GOLDEN & WORD)


def below(word: int, n: int) -> int:
    """A number 0 … n − 1 by the upper half of a word."""
    return (word >> 32) * n >> 32


def content_key(row: np.ndarray, seed: int, code: str) -> int:
    """The word of a row's numbers as they are in 32 bits (`code` "f") or 64 ("d"); −0 is 0."""
    word = seed & WORD
    for j, value in enumerate(row):
        with np.errstate(over="ignore"):
            number = float(np.float32(value)) if code == "f" else float(value)
        bits = int.from_bytes(struct.pack(f"<{code}", number + 0.0), "little")
        word = key(word ^ bits, j)
    return word


def times_drawn(seed: int, tree: int, n: int, draws: int, replace: bool) -> list[int]:
    """How often a tree of a forest was given each of n rows."""
    start, times = mixed((seed * GOLDEN + (tree + 1) * STREAM) & WORD), [0] * n
    if replace:
        for number in range(1, draws + 1):
            times[below(mixed((start + number * GOLDEN) & WORD), n)] += 1
        return times
    left = draws
    for i in range(n):
        if below(mixed((start + (i + 1) * GOLDEN) & WORD), n - i) < left:
            times[i], left = 1, left - 1
    return times


def forgotten(seed: int, mistakes: int, kept: int) -> int:
    """Which of the rows within a budget goes at a mistake."""
    return below(mixed((mixed((seed + GOLDEN) & WORD) + mistakes * GOLDEN) & WORD), kept)
