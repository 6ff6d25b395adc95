"""Which rows a tree of a forest saw, drawn again: splitmix64 (Steele, Lea and Flood 2014) of (seed, tree, number of the draw)."""

from __future__ import annotations

import numpy as np

from assay.certify.draws import GOLDEN, WORD, mixed
from assay.certify.rows import Array

TREE = 0xD1342543DE82EF95
AT_ONCE = 1 << 22  # draws


def _words(seed: int, tree: int, first: int, count: int) -> Array:
    """The words of the draws first … first + count − 1 of a tree."""
    start = np.array([(seed * int(GOLDEN) + (tree + 1) * TREE) & WORD], dtype=np.uint64)
    with np.errstate(over="ignore"):
        numbers = np.arange(first + 1, first + count + 1, dtype=np.uint64)
        return mixed(mixed(start) + numbers * GOLDEN)


def _below(words: Array, n: Array | int) -> Array:
    """Numbers 0 … n − 1 of random words."""
    with np.errstate(over="ignore"):
        return (((words >> np.uint64(32)) * np.asarray(n, dtype=np.uint64)) >> np.uint64(32)).astype(np.int64)


def times_drawn(seed: int, tree: int, n: int, draws: int | None, replace: bool, counted: Array | None = None) -> Array:
    """How often each of n rows was drawn, of the `counted` ones (None: of all); once each where nothing is drawn (None)."""
    if draws is None:
        return np.ones(n, dtype=np.int64)
    if counted is not None and len(counted) < n:
        times = np.zeros(n, dtype=np.int64)
        times[counted] = times_drawn(seed, tree, len(counted), draws, replace)
        return times
    times = np.zeros(n, dtype=np.int64)
    if replace:
        for a in range(0, draws, AT_ONCE):
            times += np.bincount(_below(_words(seed, tree, a, min(AT_ONCE, draws - a)), n), minlength=n)
        return times
    left, drawn = draws, []
    for i, number in enumerate(_below(_words(seed, tree, 0, n), np.arange(n, 0, -1)).tolist()):
        if number < left:
            drawn.append(i)
            left -= 1
    times[drawn] = 1
    return times
