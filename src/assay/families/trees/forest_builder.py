"""Growing the trees of a forest: independent tasks, each from (seed, tree) alone; and judging each row by the trees that did not see it.

The rows that a tree did not see (out-of-bag) are brought to its leaves as soon as it is grown: by their codes, while these are at hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from math import frexp, ldexp, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.compiled.simd.gathers import NODES
from assay.engines import Engine, Part, Rows
from assay.engines.engine import Threads
from assay.errors import DataError, ParameterError, warn
from assay.estimator.regressor import r2_score
from assay.families.trees.claims import forest_evidence_of
from assay.families.trees.codes import Bins
from assay.families.trees.fit_tree import pruned
from assay.families.trees.forest_trees import own_oob_score
from assay.families.trees.grow import NONE, RowSample, entries_of, grow_from, leaf_values
from assay.families.trees.loops.arrays import CodedColumns, NodeArrays
from assay.families.trees.loops.packed import leaves_of, pack_nodes
from assay.families.trees.loops.walk import add_leaves_at, leaf_of_codes, mean_loss, spread_of_loss
from assay.families.trees.nodes import LEAF, TreeNodes, join_trees, split_trees, tree_of
from assay.families.trees.predict import (
    NARROW_COLUMNS,
    NARROW_CUTS,
    NARROW_NODES,
    WIDE_COLUMNS,
    WIDE_CUTS,
    TreePredictor,
    keep_members,
)
from assay.families.trees.several import losses_of, shares_of
from assay.families.trees.several import mean_loss as several_mean_loss
from assay.families.trees.training_data import EXACT_BELOW, TrainingData, prepare, single_tree
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.model import Forest

MOST_BYTES = 1 << 31  # of codes, so that their places fit 32 bits
GROUP, LEAST, ENOUGH = 20, 60, 1000  # trees added at a time, at least, at most where their number is "auto"
LOOKS = 10  # points of the curve of a forest whose size is given
WINDOW, TINY = 3, 0.1  # looks that are compared with as many before; standard errors of the loss that are no gain
MOST_TIMES = 32_768  # draws of a row on average, so that none is ever drawn 65 536 times
NOTHING = np.zeros(0, dtype=np.uint32)
OF_DRAWS = ("random_state", "bootstrap", "max_samples", "class_weight")  # by which the rows of a tree are drawn
OF_BAG = ("oob_loss_", "oob_error_of_loss_", "oob_rows_", "oob_score_", "oob_curve_", "oob_decision_function_", "oob_prediction_")  # fmt: skip


class ForestFit(NamedTuple):
    """A forest in the making."""

    builder: ForestBuilder
    bag: OutOfBag
    trees: list[TreeNodes]


def learn(model: Any, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
    """Fit a forest on rows."""
    forest = prepare_forest(model, engine, rows, afresh, classes)
    for _ in grow_forest(model, engine, rows, forest):
        pass
    training_data, bag = forest.builder.training_data, forest.bag
    vars(model).update(forest_evidence_of(model, forest.builder, bag.judged, afresh))
    trees = join_trees(forest.trees)
    model._keep_trees(trees, training_data)
    target = training_data.inputs.target
    told = model.criterion != "absolute_error" and not training_data.inputs.table.trend.any() and target.targets == 1
    model.gain_ = None if told else trees.gain
    model.weight_, model.rows_ = training_data.total, training_data.survey.n
    model._out_of_bag = bag
    model._counted = training_data.counted
    keep_members(model, bag, training_data)
    _keep_out_of_bag(model, bag, len(forest.trees))
    model._provenance = {"fingerprint": training_data.survey.mark.hex()}
    model._state_claims()


def prepare_forest(model: Forest, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> ForestFit:
    """All that trees are grown from, and the trees of the fit before."""
    labels = model._labels(engine, rows, afresh, classes)
    training_data = prepare(model, engine, rows, labels, samples_asked, EXACT_BELOW, shared=True)
    if not afresh and model._provenance.get("fingerprint") != training_data.survey.mark.hex():
        raise DataError(
            f"{type(model).__name__}: warm_start adds trees that are grown from the same rows as those before, and these are others: "
            "fit with warm_start=False."
        )
    sample = RowSample(model._seed(), training_data.draws, bool(model.bootstrap), training_data.counted)
    out_of_bag = training_data.draws is not None and bool(model.oob_score)
    if model.quantiles and training_data.inputs.target.targets > 1:
        raise ParameterError(
            f"{type(model).__name__}: quantiles=True keeps one target, and y has {training_data.inputs.target.targets}: fit a model for each."
        )
    builder = ForestBuilder(
        training_data, sample, model.max_leaf_nodes, float(model.ccp_alpha), out_of_bag, bool(model.quantiles)
    )
    return ForestFit(builder, _bag_of(model, builder, afresh), [] if afresh else split_trees(model._trees))


def grow_forest(model: Forest, engine: Engine, rows: Rows, forest: ForestFit) -> Iterator[tuple[int, TreeNodes]]:
    """Grow the trees one after another; (how many there are, the last)."""
    have, auto = len(forest.trees), model.n_estimators == "auto"
    sizes = _sizes(model, have, forest.builder.out_of_bag)
    if forest.builder.out_of_bag and forest.bag.judged < have and _draws_are_known(model):
        for number in range(have):
            forest.bag.add(_drawn_again(model, engine, rows, forest, number), number, None if auto else sizes[0])
    for target in sizes:
        for grown_tree in grow_trees(engine, rows, forest.builder, len(forest.trees), target):
            forest.bag.add(grown_tree, len(forest.trees), None if auto else target)
            forest.trees.append(grown_tree.tree)
            yield len(forest.trees), grown_tree.tree
        if forest.bag.flat():
            break


def _sizes(model: Forest, have: int, out_of_bag: bool) -> list[int]:
    """The numbers of trees after which to look whether that is enough."""
    name = type(model).__name__
    if model.n_estimators != "auto":
        if int(model.n_estimators) < have:
            raise ParameterError(
                f"{name}: n_estimators={model.n_estimators} is less than the {have} trees of the fit before (warm_start): give at "
                f"least {have}, or fit with warm_start=False."
            )
        if have and int(model.n_estimators) == have:
            warn("Warm-start fitting without increasing n_estimators does not fit new trees.", UserWarning)
        return [int(model.n_estimators)]
    if not out_of_bag:
        raise ParameterError(
            f"{name}: n_estimators='auto' looks at the rows that trees did not see: it needs oob_score=True and bootstrap=True or "
            "max_samples."
        )
    return list(range(max(have + GROUP, LEAST), ENOUGH + 1, GROUP))


def _bag_of(model: Forest, builder: ForestBuilder, afresh: bool) -> OutOfBag:
    """How rows were judged by the trees of the fits before, where all of these did; else nothing yet."""
    before = None if afresh else vars(model).get("_out_of_bag")
    if before is None or before.judged < len(model.nodes_):
        return OutOfBag(builder, model.n_estimators == "auto")
    bag: OutOfBag = deepcopy(before)  # a fit that fails leaves it as it was
    bag.auto, bag.looks = model.n_estimators == "auto", builder.out_of_bag
    return bag


def _draws_are_known(model: Forest) -> bool:
    """Whether the rows that the trees of the fits before saw can be drawn again: by the settings of all of them, and now."""
    before = model._fitted_with
    return bool(getattr(model, "alike_", False)) and all(
        repr(before.get(name)) == repr(getattr(model, name, None)) for name in OF_DRAWS
    )


def _drawn_again(model: Forest, engine: Engine, rows: Rows, forest: ForestFit, number: int) -> GrownTree:
    """A tree of a fit before with the rows that it did not see: these are drawn, and brought to its leaves, again."""
    times = forest.builder.sample.times(number, forest.builder.training_data.survey.n)
    leaf = np.concatenate(list(engine.map(_RowsOfTable(model._predictor, number), rows.blocks())))
    unseen = np.flatnonzero(times == 0).astype(np.uint32)
    return GrownTree(forest.trees[number], unseen, leaf[unseen], NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True)
class _RowsOfTable:
    """The rows of the table where a tree brings the rows of a block."""

    predictor: TreePredictor
    number: int

    def __call__(self, part: Part) -> Array:
        return self.predictor.leaves(part.load().X, self.number).astype(np.uint32)


def _keep_out_of_bag(model: Any, bag: OutOfBag, trees: int) -> None:
    """Keep what the rows that trees did not see say; nothing of fewer trees than the forest has."""
    for name in OF_BAG:
        vars(model).pop(name, None)
    loss, error, rows = bag.loss() if bag.looks and bag.judged == trees else (0.0, 0.0, 0)
    if not rows:
        return
    model.oob_loss_, model.oob_error_of_loss_, model.oob_rows_ = loss, error, rows
    model.oob_score_ = own_oob_score(model, bag) if callable(model.oob_score) else bag.score(loss)
    curve = np.array(bag.curve, dtype=np.float64).reshape(-1, 2)
    curve = curve[np.isfinite(curve[:, 1])]  # the first trees may have seen every row
    if len(curve):
        model.oob_curve_ = curve
    answers = bag.answers()
    if not bag.classes:
        model.oob_prediction_ = answers[:, 0] if bag.targets == 1 else answers
    elif bag.of_targets is None:
        model.oob_decision_function_ = answers
    else:  # as scikit-learn has it, where all targets have as many classes
        each = [answers[:, own] for own in bag.of_targets.columns()]
        model.oob_decision_function_ = np.stack(each, axis=2) if len({e.shape[1] for e in each}) == 1 else each


def samples_asked(model: Any, n: int) -> int | None:
    """The rows drawn for each tree that `max_samples` and `bootstrap` mean, of n rows that count; None: every row once."""
    asked, replace = model.max_samples, bool(model.bootstrap)
    if asked is None and not replace:
        return None
    name = type(model).__name__
    whole = isinstance(asked, int | np.integer)
    m = n if asked is None else int(asked) if whole else max(1, round(float(asked) * n))
    if m > n and not replace:
        raise ParameterError(
            f"{name}: max_samples={asked} asks for {m} of {n} rows without replacement: give at most {n}, or bootstrap=True."
        )
    if m > MOST_TIMES * n:
        raise ParameterError(
            f"{name}: max_samples={asked} would draw each row {m // n} times: give at most {MOST_TIMES * n}."
        )
    return m


class ForestBuilder(NamedTuple):
    """What all trees of a forest share."""

    training_data: TrainingData
    sample: RowSample
    max_leaf_nodes: int | None
    ccp_alpha: float
    out_of_bag: bool  # say where the rows that a tree did not see end
    members: bool  # say which rows are in which leaf


class GrownTree(NamedTuple):
    """A tree of a forest; `out_of_bag`: the rows that it did not see, `leaf`: their rows of its table; `rows`, `times`: those it saw, in the
    order of its leaves, `held`: how many are in each leaf."""

    tree: TreeNodes
    out_of_bag: Array
    leaf: Array
    rows: Array
    times: Array
    held: Array


def grow_trees(engine: Engine, rows: Rows, builder: ForestBuilder, first: int, last: int) -> Iterator[GrownTree]:
    """Trees first … last − 1, in their order."""
    if builder.training_data.recipe is None:
        return engine.map_with(grow_one, builder, range(first, last))
    return (_grow_by_level(engine, rows, builder, number) for number in range(first, last))


def grow_one(builder: ForestBuilder, number: int) -> GrownTree:
    """Tree `number` of a forest."""
    inputs, sample = builder.training_data.inputs, builder.sample
    times = sample.times(number, inputs.table.n)
    entries = entries_of(inputs, times)
    walked = can_walk(inputs.table)
    out_of_bag = np.flatnonzero(times == 0).astype(np.uint32) if builder.out_of_bag else NOTHING
    others = NONE if walked else out_of_bag.astype(np.uint64) << np.uint64(32)
    grown = grow_from(inputs, entries, sample.key(number), others=others)
    if builder.max_leaf_nodes is not None or builder.ccp_alpha > 0:
        grown = pruned(grown, builder.training_data, builder.max_leaf_nodes, builder.ccp_alpha)
    tree = tree_of(grown, leaf_values(inputs, grown, entries))
    leaf = rows = counts = held = NOTHING
    if walked:
        leaf = walked_leaves(inputs.table, grown, tree, out_of_bag)
    elif builder.out_of_bag:
        out_of_bag = (others >> np.uint64(32)).astype(np.uint32)
        start = grown.other[grown.feature == LEAF]
        leaf = np.repeat(tree.leaf, np.diff(np.append(start, len(others))))
    if builder.members:
        rows = (entries >> np.uint64(32)).astype(np.uint32)
        counts = ((entries >> np.uint64(16)) & np.uint64(0xFFFF)).astype(np.uint32)
        start = grown.start[grown.feature == LEAF]
        held = np.diff(np.append(start, len(entries))).astype(np.uint32)
    return GrownTree(tree, out_of_bag, leaf, rows, counts, held)


def can_walk(table: CodedColumns) -> bool:
    """Whether rows find their leaves by comparing codes alone, of a byte or two: nothing is missing, no category is asked for."""
    codes = table.codes
    small = codes.itemsize <= 2 and 4 <= codes.nbytes < MOST_BYTES and table.d <= WIDE_COLUMNS
    return small and not bool(table.levels.any()) and bool((table.missing < 0).all())


def walked_leaves(table: CodedColumns, grown: NodeArrays, tree: TreeNodes, rows: Array) -> Array:
    """The row of the tree's table where each of the rows of `table` ends, whose numbers rise; as `can_walk` allows."""
    feature, nodes = grown.feature, len(grown.feature)
    cuts = grown.code[np.flatnonzero(feature != LEAF)] + 1
    narrow = table.codes.itemsize == 1 and table.d <= NARROW_COLUMNS and nodes <= NARROW_NODES
    words = np.zeros(nodes + 1 if narrow else (nodes + 1, 2), dtype=np.uint32)
    places = np.zeros(nodes + 1, dtype=np.uint32)
    most = 1 + (NARROW_CUTS if narrow else WIDE_CUTS)
    number = np.arange(len(cuts), dtype=np.int32)
    pack_nodes(
        feature,
        np.array([nodes]),
        np.zeros(1, np.int64),
        number,
        cuts.astype(np.uint16),
        tree.leaf,
        most,
        words,
        places,
    )
    padded = np.zeros(-(-len(rows) // NODES) * NODES, dtype=np.uint32)
    padded[: len(rows)] = rows
    leaves = np.empty(len(padded), dtype=np.uint32)
    leaves_of(words.reshape(-1), not narrow, table.codes, padded, places, leaves)
    return leaves[: len(rows)]


def _grow_by_level(engine: Engine, rows: Rows, builder: ForestBuilder, number: int) -> GrownTree:
    """A tree whose rows stay where they are; the rows that it did not see are brought to their leaves by one more pass."""
    training_data, sample = builder.training_data, builder.sample
    if builder.members:
        raise ParameterError(
            "quantiles=True keeps every row of every tree, but the rows are more than memory is meant to hold: draw fewer for each tree "
            "(max_samples), or fit without quantiles."
        )
    grown, entries = single_tree(engine, rows, training_data, sample, number, Threads(1))
    grown = pruned(grown, training_data, builder.max_leaf_nodes, builder.ccp_alpha)
    tree = tree_of(grown, leaf_values(training_data.inputs, grown, entries))
    out_of_bag = leaf = NOTHING
    if builder.out_of_bag:
        assert training_data.recipe is not None
        times = sample.times(number, training_data.survey.n)
        leaves = _LeavesOfBlock(training_data.recipe.bins, times, grown, tree)
        pieces = list(engine.map(leaves, rows.blocks()))
        out_of_bag, leaf = np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])
    return GrownTree(tree, out_of_bag, leaf, NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True)
class _LeavesOfBlock:
    """(rows, their rows of the tree's table) of a block's rows that a tree did not see."""

    bins: Bins
    times: Array
    grown: NodeArrays
    tree: TreeNodes

    def __call__(self, part: Part) -> tuple[Array, Array]:
        block = part.load()
        out_of_bag = np.flatnonzero(self.times[block.start : block.start + len(block.X)] == 0).astype(np.uint32)
        codes = self.bins.codes(block.X)
        return out_of_bag + np.uint32(block.start), _leaves(codes, self.bins.missing, self.grown, self.tree, out_of_bag)


def _leaves(codes: Array, lost: Array, grown: NodeArrays, tree: TreeNodes, rows: Array) -> Array:
    """The row of the tree's table where each of the rows ends."""
    node = np.empty(len(rows), dtype=np.int64)
    leaf_of_codes(codes, rows, grown.feature, grown.code, grown.right, grown.missing, lost, grown.sets, node)
    number = np.cumsum(tree.feature == LEAF) - 1
    leaves: Array = tree.leaf[number[node]]
    return leaves


class OutOfBag:
    """Sums of the answers of the trees that did not see a row; `looks`: whether trees say which these are, `judged`: how many did."""

    def __init__(self, builder: ForestBuilder, auto: bool) -> None:
        training_data, self.looks = builder.training_data, builder.out_of_bag
        target = training_data.inputs.target
        n = len(target.labels)
        self.classes, self.targets, self.of_targets = target.classes, target.targets, training_data.classes
        self.truth = training_data.truth
        self.weight = training_data.ratios
        self.sums = np.zeros((n, self.classes or self.targets))
        self.count = np.zeros(n, dtype=np.int64)
        self.auto = auto
        self.curve: list[tuple[int, float]] = []
        self.members: list[tuple[Array, Array, Array]] = []
        self.trees = self.judged = 0

    def add(self, grown_tree: GrownTree, number: int, of: int | None = None) -> None:
        """Add the answers of one more tree."""
        self.trees = number + 1
        self.judged += self.looks
        if len(grown_tree.rows):
            self.members.append((grown_tree.rows, grown_tree.times, grown_tree.held))
        if not len(grown_tree.out_of_bag):
            return
        table = grown_tree.tree.table
        answers = shares_of(table, self.of_targets) if self.classes else table[:, :-1]
        add_leaves_at(np.ascontiguousarray(answers), grown_tree.leaf, grown_tree.out_of_bag, self.sums, self.count)
        if of is not None and self.trees % max(1, of // LOOKS) == 0:
            self.curve.append((self.trees, self._mean()[2]))

    def answers(self) -> Floats:
        """The mean answer for each row; NaN of rows that every tree saw."""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = self.sums / self.count[:, None]
        return mean

    def loss(self) -> tuple[float, float, int]:
        """(mean loss, its standard error, rows) of the rows that some tree did not see: zero-one, or squared. Of several targets a row is right
        where all are, and squares are their means."""
        if self.targets > 1:
            return several_mean_loss(losses_of(self.of_targets, self.answers(), self.truth), self._judged_weight())
        W, squares, mean, rows = self._mean()
        if not rows:
            return float("nan"), float("nan"), 0
        unit = ldexp(1.0, min(-frexp(mean)[1], 1000))  # the square of a loss may be no number
        spread = spread_of_loss(self.sums, self.count, self.truth, self.weight, self.classes, mean, unit)
        return mean, sqrt(spread / W * squares) / W / unit, rows

    def score(self, loss: float) -> float:
        """The accuracy, or R², that a mean loss means."""
        if self.classes:
            return 1.0 - loss
        there = (self.count > 0) & (self.weight > 0)
        y, w = self.truth[there], self.weight[there]
        if self.targets > 1:
            return float(np.mean([r2_score(t, said, w) for t, said in zip(y.T, self.answers()[there].T)]))
        spread = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
        return 1.0 - loss / spread if spread > 0 else float(loss == 0)

    def _judged_weight(self) -> Floats:
        return np.where(self.count > 0, self.weight, 0.0)

    def _mean(self) -> tuple[float, float, float, int]:
        """(Σ w, Σ w², mean loss: NaN where there are no rows, rows)."""
        if self.targets > 1:
            w, (mean, _, rows) = self._judged_weight(), self.loss()
            return float(w.sum()), float((w * w).sum()), mean, rows
        W, squares, mean, rows = mean_loss(self.sums, self.count, self.truth, self.weight, self.classes)
        return W, squares, mean if rows else float("nan"), rows

    def flat(self) -> bool:
        """Whether more trees no longer help; asked after each group of trees of a forest of size "auto"."""
        if not self.auto:
            return False
        now, error, _ = self.loss()
        self.curve.append((self.trees, now))
        if len(self.curve) < 2 * WINDOW:
            return False
        late = [loss for _, loss in self.curve[-WINDOW:]]
        early = [loss for _, loss in self.curve[-2 * WINDOW : -WINDOW]]
        return sum(early) / WINDOW - sum(late) / WINDOW <= TINY * error
