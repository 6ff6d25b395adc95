"""Trees as text: drawn with lines, or as one rule a leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import ParameterError
from assay.hypotheses.trees.nodes import LEAF
from assay.hypotheses.trees.questions import Questions, number_in_words
from assay.hypotheses.trees.values import node_gains, node_values, parents_of
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.hypotheses.trees.model import TreeModel


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
    feature, ends = model.feature_, model._walker.ends
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
class Rule:
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


def tree_rules(model: TreeModel, decimals: int | None) -> list[Rule]:
    """One rule a leaf, from left to right; the conditions on a column are one."""
    ask, found = Questions(model, decimals), node_values(model)
    parent = parents_of(model.feature_, model._walker.ends)
    return [
        Rule(
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
