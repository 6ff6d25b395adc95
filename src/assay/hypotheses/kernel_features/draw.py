"""Some distinct rows of a table, drawn by hashes of their contents. A fold.

The rows of the least hashes are a draw without repetition in which every distinct row has the same chance. It does not depend on the
order of the rows, on how often a row is repeated or what it weighs, nor on the engine.

A row is hashed as float32 first, so that single and double precision draw alike; rows that agree so far are told apart by all digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.engines.contents import content_keys
from assay.numerics import Array, Floats


class Draw(NamedTuple):
    """Rows (k, d) in rising order of (key, fine): the hashes in float32 and float64. `weight` (k,) is that of all equal rows together."""

    rows: Floats
    key: Array
    fine: Array
    weight: Floats


def draw(X: Array, w: Array | None, most: int, seed: int) -> Draw:
    """The `most` distinct rows of positive weight with the least hashes."""
    X, weight = (X, np.ones(len(X))) if w is None else (X[w > 0], w[w > 0])
    key = content_keys(X, seed, np.float32)
    if len(X) > 2 * most:
        least = np.unique(key)[:most]
        near = key <= least[-1]
        X, weight, key = X[near], weight[near], key[near]
    rows = X.astype(np.float64) + 0.0  # no negative zeros
    return _first(Draw(rows, key, content_keys(rows, seed, np.float64), weight), most)


def merge_draws(a: Draw, b: Draw, most: int) -> Draw:
    """The draw of both stretches of rows together."""
    both = Draw(*(np.concatenate(pair) for pair in zip(a, b, strict=True)))
    return _first(both, most)


def _first(all_: Draw, most: int) -> Draw:
    """The first `most` in the order of keys, equal rows joined."""
    order = np.lexsort((all_.fine, all_.key))
    rows, key, fine, weight = (a[order] for a in all_)
    new = np.ones(len(key), dtype=bool)
    new[1:] = (key[1:] != key[:-1]) | (fine[1:] != fine[:-1])
    at = np.flatnonzero(new)
    if len(at):
        weight = np.add.reduceat(weight, at)
    at = at[:most]
    return Draw(rows[at], key[at], fine[at], weight[:most])
