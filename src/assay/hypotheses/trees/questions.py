"""The splits of trees in words: "petal width ≤ 0.8", "colour in {red, blue}", and the way of a value through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.hypotheses.trees.nodes import LEAF
from assay.numerics import Array

if TYPE_CHECKING:
    from assay.hypotheses.trees.model import TreeModel

MOST_NAMED = 6  # categories that are listed


def number_in_words(x: float, decimals: int | None) -> str:
    """Four significant digits, or as many decimals as asked for.

    >>> number_in_words(2.4500000000000006, None), number_in_words(1234567.0, None), number_in_words(2.45, 1)
    ('2.45', '1.235e+06', '2.5')
    """
    return f"{x:.4g}" if decimals is None else f"{x:.{decimals}f}"


def listed(names: list[str]) -> str:
    """Categories in braces, the first few of many.

    >>> listed(["red", "blue"]), listed([f"c{i}" for i in range(9)])
    ('{red, blue}', '{c0, c1, c2, c3, c4, … 4 more}')
    """
    if len(names) > MOST_NAMED:
        names = [*names[: MOST_NAMED - 1], f"… {len(names) - MOST_NAMED + 1} more"]
    return "{" + ", ".join(names) + "}"


class Questions:
    """The questions of a model's nodes; a split's first answer is yes, and yes goes to the left."""

    def __init__(self, model: TreeModel, decimals: int | None = None) -> None:
        self.feature, self.decimals = model.feature_, decimals
        place = np.cumsum(self.feature != LEAF) - 1
        at = np.maximum(place, 0)
        self.cut = model.cut_[at] if len(model.cut_) else np.zeros(len(place))
        self.missing_left = model.missing_left_[at] != 0 if len(model.cut_) else np.zeros(len(place), bool)
        self.sets, self.categories, self.levels = model._trees.sets, model._category_codes(), model._levels()
        self.column_names = model._names_in_words()
        lacking = getattr(model, "missing_columns_", None)
        self.lacking = np.zeros(model.n_features_in_, bool) if lacking is None else lacking != 0

    def column(self, node: int) -> int:
        """The column that a split looks at."""
        f = int(self.feature[node])
        return f if f > LEAF else -2 - f

    def name(self, node: int) -> str:
        """The name of that column."""
        return self.column_names[self.column(node)]

    def lefts(self, node: int) -> Array:
        """Of a split by categories, which of the column's categories go to the left."""
        assert self.categories is not None
        j = self.column(node)
        first = int(self.categories.first[j])
        code = self.categories.code[first : first + int(self.categories.levels[j])].astype(np.int64)
        bits = self.sets[int(self.cut[node])]
        left: Array = (bits[code >> 6] >> (code & 63).astype(np.uint64)) & np.uint64(1) != 0
        return left

    def level_names(self, j: int, which: Array) -> list[str]:
        """The names of some categories of a column."""
        given = self.levels[j]
        return [str(k) if given is None else str(given[k]) for k in np.flatnonzero(which).tolist()]

    def test(self, node: int, yes: bool = True) -> str:
        """What holds of the values that are answered yes (or no), behind the column's name."""
        if self.feature[node] < LEAF:
            words = self.within(self.column(node), self.lefts(node) == yes)
        elif np.isinf(self.cut[node]):
            return "is not missing" if yes else "is missing"
        else:
            words = f"{'≤' if yes else '>'} {number_in_words(float(self.cut[node]), self.decimals)}"
        both = self.lacking[self.column(node)] and self.missing_left[node] == yes
        return f"{words} or missing" if both else words

    def within(self, j: int, allowed: Array) -> str:
        """That a category is one of those allowed, by the shorter of two lists."""
        if 2 * int(allowed.sum()) > len(allowed):
            return f"not in {listed(self.level_names(j, ~allowed))}"
        return f"in {listed(self.level_names(j, allowed))}"

    def question(self, node: int) -> str:
        """The whole question."""
        return f"{self.name(node)} {self.test(node)}"

    def value(self, node: int, x: float) -> Any:
        """What a row has in the column of a split: a number, a category, or None for what is missing."""
        j = self.column(node)
        given = self.levels[j]
        if x != x or (given is not None and not 0 <= x < len(given)):
            return None
        return float(x) if given is None else given[int(x)]
