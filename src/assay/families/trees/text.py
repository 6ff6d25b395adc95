"""Trees and forests explained: as text, drawn with lines or as one rule a leaf, their splits in words ("petal width ≤ 0.8", "colour in {red, blue}"); the
way of rows down trees, what each column adds to an answer, and trees as shapes to draw.

The answer of a tree is that of its root, changed at every step of the way (Saabas 2014):

    h(x) = v(root) + Σ_steps [ v(child) − v(node) ],   a step counted for the column that its node asks for
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Block
from assay.errors import DataError, ParameterError
from assay.estimator.params import defaults
from assay.families.trees.importance import columns_of, node_gains, node_values, parents_of
from assay.families.trees.nodes import LEAF, join_trees, split_trees
from assay.families.trees.several import refuse_several
from assay.families.trees.shap import shap_base
from assay.families.trees.survey import category_codes
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.model import DecisionTree, Forest, TreeModel

MOST_NAMED = 6  # categories that are listed
# what a tree of a forest knows of the columns as the forest does
SHARED = (
    "n_features_in_",
    "feature_names_in_",
    "_categories",
    "classes_",
    "target_classes_",
    "class_of_",
    "category_code_",
    "missing_columns_",
)


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
    refuse_several(model, "to_text")
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
    refuse_several(model, "rules")
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


@dataclass(frozen=True)
class PathStep:
    """A question on the way of a row: `before` and `after` are the classes' shares (or the mean) at the node and at the child it went to."""

    node: int
    column: int
    question: str
    value: Any
    answer: bool
    gain: float | None
    before: Floats
    after: Floats


@dataclass(frozen=True)
class PathOfRow:
    """The steps of a row from the root to its leaf, and what the leaf says."""

    steps: tuple[PathStep, ...]
    leaf: int
    answer: Any
    weight: float
    _lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self._lines)


def tree_of_forest(forest: Forest, number: int) -> DecisionTree:
    """A tree of a forest as a decision tree of its own."""
    from assay.families.trees.estimators import DecisionTreeClassifier, DecisionTreeRegressor

    if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < len(forest.nodes_):
        raise ParameterError(
            f"There is no tree {number!r}: the forest has {len(forest.nodes_)}, 0 to {len(forest.nodes_) - 1}."
        )
    cls = DecisionTreeClassifier if forest._kind == "classifier" else DecisionTreeRegressor
    same = {k: v for k, v in forest._fitted_with.items() if k in defaults(cls)}
    alone: Any = cls(**{**same, "splitter": "random" if forest.random_splits else "best"})
    alone._forget()
    for name in SHARED:
        if name in vars(forest):
            vars(alone)[name] = vars(forest)[name]
    one = split_trees(forest._trees)[number]
    used, leaf = np.unique(one.leaf, return_inverse=True)
    alone._keep_parts(join_trees([one._replace(table=forest.table_[used], leaf=leaf.astype(np.uint32))]))
    if one.gain is not None:
        alone.gain_ = one.gain.copy()
    alone.weight_, alone.rows_ = float(alone._leaf_weights()[alone.leaf_].sum()), forest.rows_
    alone._fitted_with = alone.get_params()
    return alone  # type: ignore[no-any-return]


def shape_of(model: DecisionTree) -> TreeShape:
    """A single tree as arrays."""
    refuse_several(model, "tree_shape")
    ask, found, ends = Questions(model), node_values(model), model._predictor.ends
    split = np.flatnonzero(model.feature_ != LEAF)
    left, right = np.full((2, len(ends)), -1, dtype=np.int64)
    left[split], right[split] = split + 1, ends[split + 1]
    classes = model._kind == "classifier"
    return TreeShape(
        left,
        right,
        columns_of(model.feature_),
        np.where(model.feature_ > LEAF, ask.cut, np.nan),
        found.answer * found.weight[:, None] if classes else found.answer,
        found.weight,
        names=model._names_in_words(),
        classes=model.classes_.tolist() if classes else None,
        tests=[ask.test(i) if f != LEAF else "" for i, f in enumerate(model.feature_.tolist())],
    )


def nodes_passed(model: TreeModel, X: Any) -> Any:
    """(n, N) sparse: 1 where a row passes a node, of all nodes of all trees."""
    from scipy.sparse import csr_matrix

    leaves = model._answer(X, model._nodes_block)
    nodes, begin = _ancestors(model, leaves.reshape(-1))
    rows = begin[:: leaves.shape[1]]
    return csr_matrix((np.ones(len(nodes), dtype=np.int64), nodes, rows), shape=(len(leaves), len(model.feature_)))


def path_of_row(model: TreeModel, x: Any) -> PathOfRow:
    """The way of one row down a single tree."""
    model._check_fitted()
    refuse_several(model, "explain_path")
    given = x if np.ndim(x) != 1 else [x]
    rows = model._rows_to_answer(given).in_memory()
    X = rows.X
    if len(X) != 1:
        raise DataError(f"The path of one row was asked for, but {len(X)} were given: give one, such as X[:1].")
    leaf = int(model.apply(given)[0])
    nodes, _ = _ancestors(model, np.array([leaf]))
    ask, found, gains = Questions(model), node_values(model), node_gains(model)
    steps = tuple(
        PathStep(
            node=int(node),
            column=ask.column(node),
            question=ask.question(node),
            value=ask.value(node, float(X[0, ask.column(node)])),
            answer=bool(child == node + 1),
            gain=None if gains is None else float(gains[node]),
            before=found.answer[node],
            after=found.answer[child],
        )
        for node, child in zip(nodes[:-1].tolist(), nodes[1:].tolist())
    )
    lines = [f"all rows: {answer_in_words(model, found.answer[0], None)}   {rows_in_words(float(found.weight[0]))}"]
    for step, child in zip(steps, nodes[1:].tolist()):
        is_number = isinstance(step.value, float)
        value = "missing" if step.value is None else f"{step.value:.4g}" if is_number else f"{step.value}"
        gain = "" if step.gain is None else f", gain {step.gain:.4g}"
        said = f"{answer_in_words(model, step.after, None)}   {rows_in_words(float(found.weight[child]))}{gain}"
        lines.append(f"{step.question} ? {'yes' if step.answer else 'no'} ({value}) → {said}")
    return PathOfRow(steps, leaf, model._label_of(found.answer[leaf]), float(found.weight[leaf]), tuple(lines))


def _ancestors(model: TreeModel, leaves: Array) -> tuple[Array, Array]:
    """The nodes on the way to each of some leaves (of all nodes), first to last, one way after another; and where each begins."""
    predictor = model._predictor
    depth = predictor.depths[leaves]
    begin = np.concatenate([[0], np.cumsum(depth + 1)])
    nodes = np.empty(begin[-1], dtype=np.int64)
    parent = parents_of(model.feature_, predictor.ends)
    at, where = leaves.copy(), begin[:-1].copy()
    while len(at):
        nodes[where + predictor.depths[at]] = at
        at = parent[at]
        there = at >= 0
        at, where = at[there], where[there]
    return nodes, begin


class Changes(NamedTuple):
    """Of each node but the first ones: its parent, the column that its parent asks for, and how its answer differs, (N, K)."""

    parent: Array
    column: Array
    change: Floats


def contributions_of(model: TreeModel, X: Any) -> tuple[Any, Array]:
    """(bias, contributions) of the mean over trees: (K,), (n, d, K) of classes; a number, (n, d) of numbers."""
    model._check_fitted()
    refuse_several(model, "contributions")
    values = node_values(model).answer
    parent = parents_of(model.feature_, model._predictor.ends)
    steps = Changes(parent, columns_of(model.feature_)[parent], np.ascontiguousarray(values - values[parent]))
    found = model._answer(X, partial(_contributions_block, model, steps))
    return shap_base(model), found if model._kind == "classifier" else found[:, :, 0]


def _contributions_block(model: TreeModel, steps: Changes, block: Block) -> Array:
    from assay.families.trees.loops.walk import add_contributions

    out = np.zeros((*block.X.shape, steps.change.shape[1]))
    for leaves in model._nodes_block(block).T:
        add_contributions(np.ascontiguousarray(leaves), *steps, out)
    out /= len(model.nodes_)
    return out
