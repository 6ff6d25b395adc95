"""Forests once more in plain Python: the rows of each tree are drawn again, walk down its arrays one by one, and are added up without rounding.

Out of the bag each row is judged by the trees that did not see it; where rounding decides between two classes, either is as good.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.closed_forms import SAME, class_factor
from fuzz.splitmix import times_drawn
from scipy.stats import binomtest

Problem = tuple[str, str]
LEAF = -1
COUNTED = Fraction(2) ** -50  # of the greatest weight: weights are counted in whole units of less than this
EPS = float(np.finfo(np.float64).eps)
LIGHT = Fraction(2) ** -30  # of the greatest weight: of a leaf that weighs less, units leave too few digits
TIED = 1e-9


@dataclass(frozen=True, eq=False)
class Node:
    """A leaf with its row of the table, which leaves alike share, or a split with its children."""

    row: int = -1
    column: int = -1
    cut: float = 0.0
    levels: frozenset[int] | None = None
    known: int = 0
    missing_left: bool = False
    left: Node | None = None
    right: Node | None = None

    def leaf_of(self, x: list[float]) -> Node:
        """The leaf at which a row of numbers ends."""
        node = self
        while node.left is not None and node.right is not None:
            node = node.left if node._goes_left(x[node.column]) else node.right
        return node

    def _goes_left(self, value: float) -> bool:
        if self.levels is not None:
            return int(value) in self.levels if 0 <= value < self.known else self.missing_left
        return self.missing_left if math.isnan(value) else value <= self.cut


def trees_of(model: Any, claim: Any) -> list[Node]:
    """The trees, from arrays in which a node is followed by its left subtree and that by its right one."""
    feature, cut = model.feature_.tolist(), iter(model.cut_.tolist())
    missing, leaf, at = iter(model.missing_left_.tolist()), iter(model.leaf_.tolist()), iter(range(len(feature)))

    def grown() -> Node:
        column = feature[next(at)]
        if column == LEAF:
            return Node(row=int(next(leaf)))
        threshold, to_left = next(cut), bool(next(missing))
        by_set = column < LEAF
        column = -2 - column if by_set else column
        levels, known = _levels(model, claim, column, int(threshold)) if by_set else (None, 0)
        left = grown()
        return Node(-1, column, threshold, levels, known, to_left, left, grown())

    trees = [grown() for _ in model.nodes_]
    assert next(at, None) is None
    return trees


def _levels(model: Any, claim: Any, column: int, number: int) -> tuple[frozenset[int], int]:
    """The categories of a column that a set sends to the left, and how many the column has."""
    known = np.asarray(claim.witness["levels"]).tolist()
    first, words = sum(known[:column]), [int(word) for word in model.sets_[number]]
    codes = model.category_code_.tolist()[first : first + known[column]]
    return frozenset(level for level, code in enumerate(codes) if words[code >> 6] >> (code & 63) & 1), known[column]


@dataclass(frozen=True, eq=False)
class Grown:
    """A forest, the rows of its fit, their weights (with the classes' factors) and how often each tree saw each of them."""

    trees: list[Node]
    X: list[list[float]]
    y: np.ndarray
    w: list[Fraction]
    seen: list[list[int]]

    @classmethod
    def of(cls, case: Case, model: Any, claim: Any) -> Grown:
        table, factor, trees = case.table, class_factor(case, model), trees_of(model, claim)
        w = np.ones(len(table.y)) if table.w is None else table.w.astype(float)
        w = w if factor is None else w * np.asarray(factor)[np.searchsorted(model.classes_, table.y)]
        live = np.flatnonzero(w > 0)
        seed, draws = int(model.random_state or 0), getattr(model, "draws_", None)
        times = [
            [1] * len(live) if draws is None else times_drawn(seed, k, len(live), int(draws), bool(model.bootstrap))
            for k in range(len(trees))
        ]
        X = table.dense[live].tolist()
        return cls(trees, X, table.y[live], [Fraction(float(v)) for v in w[live]], times)


# --- leaves ----------------------------------------------------------------------------------------------------------


def forest_leaves(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """Each leaf holds the weight of each class, or the mean, of the rows that its tree drew; all trees together give the answer."""
    claim = claims["forest_leaves"]
    if not claim.holds:
        return
    forest = Grown.of(case, model, claim)
    for k in claim.witness["trees"]:
        rows: dict[Node, list[int]] = {}
        for i, times in enumerate(forest.seen[k]):
            if times:
                rows.setdefault(forest.trees[k].leaf_of(forest.X[i]), []).append(i)
        for leaf, inside in rows.items() if model.monotonic_cst is None else ():
            yield from _leaf(model, forest, k, leaf.row, inside)
    yield from _answers(model, forest)


def _leaf(model: Any, forest: Grown, k: int, leaf: int, inside: list[int]) -> Iterator[Problem]:
    held, heaviest = model.table_[leaf], max(forest.w)
    weights = [forest.w[i] * forest.seen[k][i] for i in inside]
    total, counted = sum(weights, Fraction(0)), sum(forest.seen[k][i] for i in inside) * heaviest * COUNTED
    slack = Fraction(SAME) * total + counted
    if hasattr(model, "classes_"):
        of = [
            sum((v for i, v in zip(inside, weights) if forest.y[i] == label), Fraction(0)) for label in model.classes_
        ]
        if any(abs(Fraction(float(stated)) - due) > slack for stated, due in zip(held, of)):
            yield "forest_leaves: a leaf weighs other than its rows", f"tree {k}: {held} and {[float(v) for v in of]}"
    elif abs(Fraction(float(held[1])) - total) > slack:
        yield "forest_leaves: a leaf weighs other than its rows", f"tree {k}: {held[1]!r} and {float(total)!r}"
    elif total > LIGHT * heaviest:
        yield from _value(model, k, float(held[0]), [Fraction(float(forest.y[i])) for i in inside], weights, forest.y)


def _value(
    model: Any, k: int, stated: float, y: list[Fraction], weights: list[Fraction], whole: Any
) -> Iterator[Problem]:
    """The mean; of absolute errors a number with no more than half of the weight on either side."""
    # sums are counted from the mean of all targets, whose rounding they keep
    near = Fraction(SAME) * max(map(abs, y)) + Fraction(4 * EPS * float(max(map(abs, whole))))
    if model.criterion == "absolute_error":
        half = sum(weights, Fraction(0)) * (Fraction(1, 2) + Fraction(SAME))
        lower = sum((v for t, v in zip(y, weights) if t < Fraction(stated) - near), Fraction(0))
        upper = sum((v for t, v in zip(y, weights) if t > Fraction(stated) + near), Fraction(0))
        if max(lower, upper) > half:
            yield "forest_leaves: a leaf has another median than its rows", f"tree {k}: {stated!r}"
        return
    mean = sum((t * v for t, v in zip(y, weights)), Fraction(0)) / sum(weights, Fraction(0))
    if abs(Fraction(stated) - mean) > near:
        yield "forest_leaves: a leaf has another mean than its rows", f"tree {k}: {stated!r} and {float(mean)!r}"


def leaf_answers(model: Any, majority: bool) -> list[list[Fraction]]:
    """What each leaf adds to an answer: the number, the classes' shares, or a vote for the class of the greatest one."""
    if not hasattr(model, "classes_"):
        return [[Fraction(float(row[0]))] for row in model.table_]
    if majority:
        return [[Fraction(int(k == int(np.argmax(row)))) for k in range(len(row))] for row in model.table_]
    weights = [[Fraction(float(v)) for v in row] for row in model.table_]
    return [[v / sum(row, Fraction(0)) for v in row] for row in weights]


def _mean(answers: list[list[Fraction]]) -> list[Fraction]:
    return [sum(column, Fraction(0)) / len(answers) for column in zip(*answers)]


def _answers(model: Any, forest: Grown) -> Iterator[Problem]:
    """Votes: the mean of what all trees answer."""
    leaves = leaf_answers(model, getattr(model, "voting", "") == "majority")
    X = np.array(forest.X)
    told = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)[:, None]
    size = max(1.0 if hasattr(model, "classes_") else 0.0, float(np.abs(model.table_[:, 0]).max()))
    for x, answer in zip(forest.X, told):
        due = _mean([leaves[tree.leaf_of(x).row] for tree in forest.trees])
        if any(abs(Fraction(float(a)) - b) > Fraction(SAME) * Fraction(size) for a, b in zip(answer, due)):
            yield "forest_leaves: the forest answers other than its trees", f"{answer} and {[float(v) for v in due]}"
            return


# --- out of the bag --------------------------------------------------------------------------------------------------


def out_of_bag(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """Rows, errors and their interval, each row judged by the trees that did not draw it."""
    claim = claims["out_of_bag"]
    if not claim.holds:
        return
    forest, leaves = Grown.of(case, model, claim), leaf_answers(model, False)
    lost, w = [], []
    for i, x in enumerate(forest.X):
        judges = [tree for k, tree in enumerate(forest.trees) if not forest.seen[k][i]]
        if judges:
            lost.append(_lost(model, forest.y[i], _mean([leaves[tree.leaf_of(x).row] for tree in judges])))
            w.append(forest.w[i] / max(forest.w))
    if claim.witness["rows"] != len(lost):
        yield "out_of_bag: other rows are judged", f"{claim.witness['rows']} stated, {len(lost)} counted"
        return
    yield from _error(case, model, claim, lost, w)


def _lost(model: Any, target: Any, answer: list[Fraction]) -> tuple[Fraction, Fraction]:
    """The least and the greatest loss that rounding allows a row."""
    if not hasattr(model, "classes_"):
        return ((answer[0] - Fraction(float(target))) ** 2,) * 2
    best, own = max(answer), answer[int(np.searchsorted(model.classes_, target))]
    tied = sum(v >= best - Fraction(TIED) for v in answer) > 1
    return Fraction(int(own < best - Fraction(TIED))), Fraction(int(own < best or tied))


def _error(
    case: Case, model: Any, claim: Any, lost: list[tuple[Fraction, Fraction]], w: list[Fraction]
) -> Iterator[Problem]:
    total = sum(w, Fraction(0))
    low, high = (float(sum((each[end] * v for each, v in zip(lost, w)), Fraction(0)) / total) for end in (0, 1))
    far = 0.0 if case.classifies else float(np.abs(case.table.y).max())
    near = SAME * high + 2 * math.sqrt(high) * 8 * EPS * far + (1e-14 * far) ** 2 if not case.classifies else 1e-9
    if not low - near <= claim.value <= high + near:
        yield "out_of_bag: another error", f"{claim.value!r}, by judging again {low!r} to {high!r}"
    elif low == high or not claim.witness["weighted"]:
        yield from _interval(case, claim, [float(each[0]) for each in lost], [float(v) for v in w], near)


def _interval(case: Case, claim: Any, lost: list[float], w: list[float], near: float) -> Iterator[Problem]:
    """Clopper and Pearson's of a count, else the normal one of a mean."""
    n, confidence = len(lost), float(claim.witness["confidence"])
    if case.classifies and not claim.witness["weighted"]:
        interval = binomtest(round(claim.value * n), n).proportion_ci(confidence, method="exact")
        due, near = (float(interval.low), float(interval.high)), 1e-6
    else:
        mean = math.fsum(v * t for v, t in zip(w, lost)) / math.fsum(w)
        size = max(lost) or 1.0
        varies = math.fsum(v * ((t - mean) / size) ** 2 for v, t in zip(w, lost)) / math.fsum(w)
        error = size * math.sqrt(varies * math.fsum(v * v for v in w)) / math.fsum(w)
        reach, near = NormalDist().inv_cdf((1 + confidence) / 2) * error, near + SAME * (mean + error)
        due = max(0.0, mean - reach), min(1.0, mean + reach) if case.classifies else mean + reach
    stated = [float(end) for end in claim.witness["interval"]]
    if any(abs(a - b) > near for a, b in zip(stated, due)) or claim.bound != stated[1]:
        yield "out_of_bag: another interval", f"{stated} stated, found {list(due)}"
