"""Trees as text, drawn with lines or as one rule a leaf; their splits in words: "petal width ≤ 0.8", "colour in {red, blue}"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import ParameterError
from assay.families.trees.nodes import LEAF
from assay.families.trees.survey import category_codes
from assay.families.trees.values import node_gains, node_values, parents_of
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.model import TreeModel


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
        self.sets, self.categories, self.levels = model._trees.sets, category_codes(model), model._levels()
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


def rows_in_words(weight: float) -> str:
    """A node's rows; where rows have weights that are no counts, their weight.

    >>> rows_in_words(1.0), rows_in_words(1200.0), rows_in_words(2.5)
    ('1 row', '1,200 rows', 'weight 2.5')
    """
    if weight != np.floor(weight):
        return f"weight {weight:.4g}"
    return "1 row" if weight == 1 else f"{int(weight):,} rows"


def answer_in_words(model: TreeModel, answer: Floats, decimals: int | None) -> str:
    """A class, with its share where it is not the only one; or a number."""
    if model._kind == "regressor":
        return number_in_words(float(answer[0]), decimals)
    best = int(answer.argmax())
    share = float(answer[best])
    return str(model.classes_[best]) if share == 1 else f"{model.classes_[best]} ({share:.2f})"


def tree_text(model: TreeModel, max_depth: int | None, decimals: int | None) -> str:
    """The tree with a line a node, its children below it: first yes, then no."""
    for name, value in (("max_depth", max_depth), ("decimals", decimals)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise ParameterError(f"{name}={value!r} must be a whole number ≥ 0, or None.")
    ask, found, gains = Questions(model, decimals), node_values(model), node_gains(model)
    feature, ends = model.feature_, model._predictor.ends
    lines: list[str] = []
    waiting = [(0, 0, "", "")]  # node, level, what stands before its line and before those of its children
    while waiting:
        node, level, before, below = waiting.pop()
        rows = rows_in_words(float(found.weight[node]))
        if feature[node] == LEAF:
            lines.append(f"{before}{answer_in_words(model, found.answer[node], decimals)}   {rows}")
            continue
        if max_depth is not None and level >= max_depth:
            leaves = (int(ends[node]) - node + 1) // 2
            lines.append(f"{before}… {leaves} leaves   {rows}")
            continue
        gain = "" if gains is None else f", gain {gains[node]:.4g}"
        lines.append(f"{before}{ask.question(node)} ?   {rows}{gain}")
        waiting.append((int(ends[node + 1]), level + 1, f"{below}└─ no:  ", f"{below}   "))
        waiting.append((node + 1, level + 1, f"{below}├─ yes: ", f"{below}│  "))
    return "\n".join(lines)


@dataclass(frozen=True)
class LeafRule:
    """What leads to a leaf, and what it says: `answer` the class or number, `value` the classes' shares (or the number alone)."""

    leaf: int
    conditions: tuple[str, ...]
    answer: Any
    value: Floats
    weight: float

    def __str__(self) -> str:
        said = f"{self.answer:.4g}" if isinstance(self.answer, float) else f"{self.answer}"
        if len(self.value) > 1 and self.value.max() < 1:
            said += f" ({float(self.value.max()):.2f})"
        condition = " and ".join(self.conditions) or "always"
        return f"{condition} → {said}   {rows_in_words(self.weight)}"


@dataclass
class _Region:
    """What is left of a column on the way down."""

    low: float = -np.inf
    high: float = np.inf
    missing: bool = True
    allowed: Array | None = None

    def in_words(self, ask: Questions, j: int) -> str:
        name = ask.column_names[j]
        if self.allowed is not None:
            words = f"{name} {ask.within(j, self.allowed)}"
        elif np.isinf(self.low) and np.isinf(self.high):
            return f"{name} is {'' if self.low > 0 else 'not '}missing"
        else:
            low, high = (number_in_words(v, ask.decimals) for v in (self.low, self.high))
            words = f"{name} ≤ {high}" if np.isinf(self.low) else f"{low} < {name}"
            if not np.isinf(self.low):
                words = f"{name} > {low}" if np.isinf(self.high) else f"{low} < {name} ≤ {high}"
        return f"({words} or missing)" if self.missing and ask.lacking[j] else words


def tree_rules(model: TreeModel, decimals: int | None) -> list[LeafRule]:
    """One rule a leaf, from left to right; the conditions on a column are one."""
    ask, found = Questions(model, decimals), node_values(model)
    parent = parents_of(model.feature_, model._predictor.ends)
    return [
        LeafRule(
            leaf,
            _conditions(ask, parent, leaf),
            model._label_of(found.answer[leaf]),
            found.answer[leaf],
            float(found.weight[leaf]),
        )
        for leaf in np.flatnonzero(model.feature_ == LEAF).tolist()
    ]


def _conditions(ask: Questions, parent: Array, leaf: int) -> tuple[str, ...]:
    way = [leaf]
    while parent[way[-1]] >= 0:
        way.append(int(parent[way[-1]]))
    regions: dict[int, _Region] = {}
    for node, child in zip(way[:0:-1], way[-2::-1]):
        region, yes = regions.setdefault(ask.column(node), _Region()), child == node + 1
        region.missing &= bool(ask.missing_left[node] == yes)
        if ask.feature[node] < LEAF:
            side = ask.lefts(node) == yes
            region.allowed = side if region.allowed is None else region.allowed & side
        elif yes:
            region.high = min(region.high, float(ask.cut[node]))
        else:
            region.low = max(region.low, float(ask.cut[node]))
    return tuple(region.in_words(ask, j) for j, region in regions.items())
