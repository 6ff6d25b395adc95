"""Random numbers of a node: a stream that depends on the node's key alone, whoever grows it and when."""

from __future__ import annotations

import numpy as np

from assay.compiled.decorator import jit

STEP = np.uint64(0x9E3779B97F4A7C15)
LEFT = np.uint64(0xA0761D6478BD642F)
RIGHT = np.uint64(0xE7037ED1A0B428DB)
A = np.uint64(0xBF58476D1CE4E5B9)
B = np.uint64(0x94D049BB133111EB)


@jit(inline="always")
def mixed(z):  # type: ignore[no-untyped-def]
    """splitmix64's scrambling of a word."""
    z = (z ^ (z >> np.uint64(30))) * A
    z = (z ^ (z >> np.uint64(27))) * B
    return z ^ (z >> np.uint64(31))


@jit(inline="always")
def below(word, n):  # type: ignore[no-untyped-def]
    """A number 0 … n − 1 (n < 2³²) of a random word."""
    return np.int64(((word >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@jit(inline="always")
def unit(word):  # type: ignore[no-untyped-def]
    """A number 0 ≤ u < 1 of a random word."""
    return np.float64(np.int64(word >> np.uint64(11))) * 2.0**-53


@jit(inline="always")
def child_key(key, left):  # type: ignore[no-untyped-def]
    """The key of a child."""
    return mixed(key + (LEFT if left else RIGHT))
