"""A tree as plain arrays, for those who draw it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from assay.numerics import Array


class TreeShape(NamedTuple):
    """A fitted tree as arrays, node 0 the root: rows with x[feature] ≤ threshold go left. A leaf has left = right = −1.

    `value` (nodes, K): the rows of each class at a node (or their shares); of a regression (nodes, 1): the mean. `n` rows a node.
    `tests`: of each node its question behind the column's name, such as "≤ 2.45" or "in {red, blue}", where a threshold does not say it all.
    """

    left: Array
    right: Array
    feature: Array
    threshold: Array
    value: Array
    n: Array
    names: Sequence[str] | None = None
    classes: Sequence[Any] | None = None
    tests: Sequence[str] | None = None
