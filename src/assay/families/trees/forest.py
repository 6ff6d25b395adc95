"""Quantile regression forests (Meinshausen 2006): a forest's answer is a mean of targets, and its weights give their whole distribution.

    F(y | x) = Σ_i w_i(x) [y_i ≤ y],   w_i(x) = 1/T Σ_t  (weight of row i in the leaf of x in tree t) / (weight of that leaf)

The weight of a row in a tree is how often it was drawn for it, times its own: so Σ_i w_i(x) y_i is what the forest predicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.errors import DataError, ModelFileError, ParameterError
from assay.estimator.docstrings import attribute
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Step, shown_of, some_of
from assay.families.trees.claims import OF_FORESTS, forest_claims, forest_evidence_of
from assay.families.trees.explain import ExplainedForest
from assay.families.trees.fit import TreeClassifier, TreeRegressor
from assay.families.trees.hyper_parameters import (
    BINS,
    BOOTSTRAP,
    CATEGORICAL_FEATURES,
    CCP_ALPHA,
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_LEAF_NODES,
    MAX_SAMPLES,
    MIN_IMPURITY_DECREASE,
    MIN_SAMPLES_LEAF,
    MIN_SAMPLES_SPLIT,
    MIN_WEIGHT_FRACTION_LEAF,
    MONOTONIC_CST,
    OOB_SCORE,
    RANDOM_STATE,
    TOO_WIDE,
    TREES,
    VERBOSE,
    WARM_START,
)
from assay.families.trees.nodes import TreeNodes, split_trees, together
from assay.numerics import Array, Floats
from assay.store import Record

if TYPE_CHECKING:
    from assay.families.trees.forest_builder import ForestBuilder
    from assay.families.trees.out_of_bag import OutOfBag
    from assay.families.trees.training_data import TrainingData


QUANTILES: Layout = {
    "member_": Tensor(("M",), dtype="<u4", optional=True, doc="with quantiles=True the numbers of the rows in the leaves, leaf after leaf"),
    "member_times_": Tensor(("M",), dtype="|u1", low=1, optional=True, doc="how often each of these rows was drawn for its tree"),
    "member_count_": Tensor(("L",), dtype="<u4", low=1, optional=True, doc="how many rows each leaf holds"),
    "member_target_": Tensor(("n",), optional=True, doc="the targets of the rows of the fit, of which quantiles are taken"),
    "member_weight_": Tensor(("n",), low=0, optional=True, doc="the weights of the rows of the fit; absent where all are 1"),
}  # fmt: skip


MOST_TIMES = 255


class LeafMembers(NamedTuple):
    """Which rows are in which leaf: of each leaf in turn `held` rows, by their places among the targets in order; `times` drawn.

    target, weight (n,): of the rows ordered by target; weight None: one each.
    """

    place: Array
    times: Array
    held: Array
    target: Floats
    weight: Floats | None


def members_of(found: list[tuple[Array, Array, Array]], truth: Floats, weight: Floats | None) -> LeafMembers:
    """What (rows, times, held) of each tree say, for rows with these targets."""
    order = np.argsort(truth, kind="stable")
    place = np.empty(len(order), dtype=np.uint32)
    place[order] = np.arange(len(order), dtype=np.uint32)
    rows, times, held = (np.concatenate(parts) for parts in zip(*found))
    if times.max(initial=0) > MOST_TIMES:
        rows, times, held = _in_bytes(rows, times.astype(np.int64), held)
    return LeafMembers(
        place[rows],
        times.astype(np.uint8),
        held.astype(np.uint32),
        truth[order],
        None if weight is None else weight[order],
    )


def _in_bytes(rows: Array, times: Array, held: Array) -> tuple[Array, Array, Array]:
    """Rows drawn more often than a byte can say are there several times."""
    pieces = -(-times // MOST_TIMES)
    first = np.cumsum(pieces) - pieces
    many = np.full(int(pieces.sum()), MOST_TIMES)
    many[first + pieces - 1] = times - MOST_TIMES * (pieces - 1)
    ends = np.cumsum(held.astype(np.int64))
    return np.repeat(rows, pieces), many, np.diff(np.append(0, np.cumsum(pieces)[ends - 1]))


def more_members(before: LeafMembers, new: LeafMembers) -> LeafMembers:
    """The members of some trees, then of others that were grown from the same rows."""
    place, times, held = (np.concatenate(pair) for pair in zip(before[:3], new[:3]))
    return new._replace(place=place, times=times, held=held)


def check_parts(parts: Mapping[str, Any]) -> None:
    """Raise where a file has only some of the parts of members; their weights are optional."""
    there = [name in parts for name in QUANTILES]
    if any(there) and not all(there[:-1]):
        raise ModelFileError("The model file has only some of the parts that say which rows are in which leaf.")


def check_members(members: LeafMembers) -> None:
    """Raise where the members of a file are impossible."""
    good = (
        int(members.held.astype(np.int64).sum()) == len(members.place)
        and int(members.place.max(initial=0)) < len(members.target)
        and bool(np.all(members.target[1:] >= members.target[:-1]))
        and (members.weight is None or bool(np.all(members.weight[members.place] > 0)))
    )
    if not good:
        raise ModelFileError("The model file's rows in leaves do not fit its trees or targets.")


def levels_asked(q: Any) -> Floats:
    """The levels of quantiles as an array."""
    try:
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    except (TypeError, ValueError):
        levels = np.array([np.nan])
    if levels.ndim != 1 or not len(levels) or not np.all((levels >= 0) & (levels <= 1)):
        raise ParameterError(f"q={q!r} is not possible: give a number from 0 to 1, or a list of such.")
    return levels


def quantiles_at(members: LeafMembers, leaves: Array, q: Floats) -> Floats:
    """(m, len(q)): quantiles for rows in these leaves (m, T), which are counted through all trees."""
    from assay.families.trees.loops.forest import weighted_quantiles

    order = np.argsort(q, kind="stable")
    out = np.empty((len(leaves), len(q)))
    first = np.concatenate([[0], np.cumsum(members.held.astype(np.int64))])
    weighted = members.weight is not None
    weight = members.weight if members.weight is not None else np.ones(1)
    weighted_quantiles(leaves, first, members.place, members.times, weight, weighted, members.target, q[order], out)
    answers = np.empty_like(out)
    answers[:, order] = out
    return answers


# What forests share as models: growing trees, judging them by rows that they did not see, quantiles.

GROUP, LEAST, ENOUGH = 20, 60, 1000  # trees added at a time, at least, at most where their number is "auto"
PARTS: Layout = {
    "weight_": Fact(float, low=0, doc="the total weight of the rows of the fit"),
    "rows_": Fact(int, low=1, doc="the number of rows of the fit"),
    "oob_loss_": Fact(float, low=0, optional=True, doc="the out-of-bag error: of rows judged only by trees that did not see them; absent where no row was left out"),
    "oob_error_of_loss_": Fact(float, low=0, optional=True, doc="the standard error of the out-of-bag error, were rows judged independently"),
    "oob_rows_": Fact(int, low=0, optional=True, doc="the number of rows that some tree did not see"),
    "oob_curve_": Tensor(("g", 2), low=0, optional=True, doc="of n_estimators='auto': numbers of trees and the out-of-bag error at each"),
    "gain_": Tensor(("S",), optional=True, doc="what each split gained, where the leaves do not tell; else None"),
    **OF_FORESTS,
}  # fmt: skip


FEW_ROWS = 1000  # below, a search for the size of leaves costs more than it brings


def sizes_of_leaves(features: TableTraits) -> SearchSpace:
    """Leaves of ever fewer rows, compared by small forests; of long tables no smaller ones than a 50 000th of the rows, or a forest takes more
    memory than the table."""
    least = max(1, features.rows // 50_000)
    settings = ({},) if features.rows < FEW_ROWS else tuple({"min_samples_leaf": k} for k in (5 * least, least))
    return SearchSpace(
        search=settings,
        categories="native",
        rough={"n_estimators": 25, "oob_score": False},
        unfit=TOO_WIDE if features.text else None,
    )


class ForestFit(NamedTuple):
    """A forest in the making."""

    builder: ForestBuilder
    bag: OutOfBag
    trees: list[TreeNodes]


class Forest(ExplainedForest):
    """Growing many trees."""

    slow_rows = 2500
    step_word = "tree"

    n_estimators: int | str = attribute()
    criterion: str = attribute()
    bootstrap: bool = attribute()
    max_samples: Any = attribute()
    oob_score: bool = attribute()
    warm_start: bool = attribute()
    max_leaf_nodes: int | None = attribute()
    ccp_alpha: float = attribute()
    quantiles: bool = attribute(default=False)

    @property
    def depends_on_order(self) -> bool:
        """Whether trees draw rows by their numbers."""
        return bool(self.bootstrap) or self.max_samples is not None

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, afresh: bool = True, classes: Any = None) -> Any:
        again = self.warm_start and hasattr(self, "n_features_in_")
        return super()._fit(X, y, sample_weight, afresh=not again, classes=classes)

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        forest_fit = self._plant(engine, rows, afresh, classes)
        for _ in self._growing(engine, rows, forest_fit):
            pass
        training_data, bag = forest_fit.builder.training_data, forest_fit.bag
        vars(self).update(forest_evidence_of(self, forest_fit.builder, len(forest_fit.trees), afresh))
        trees = together(forest_fit.trees)
        self._keep_trees(trees, training_data)
        told = self.criterion != "absolute_error" and not training_data.inputs.table.trend.any()
        self.gain_ = None if told else trees.gain
        self.weight_, self.rows_ = training_data.total, training_data.survey.n
        self._out_of_bag = bag
        self._keep_members(bag, training_data)
        if forest_fit.builder.out_of_bag:
            self._judge(bag)
        self._provenance = {"fingerprint": training_data.survey.mark.hex()}
        self._claims = self._make_claims()

    def _plant(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> ForestFit:
        """All that trees are grown from, and the trees of the fit before."""
        from assay.families.trees.forest_builder import ForestBuilder
        from assay.families.trees.grow import RowSample
        from assay.families.trees.out_of_bag import samples_asked
        from assay.families.trees.training_data import EXACT_BELOW, prepare

        labels = self._labels(engine, rows, afresh, classes)  # type: ignore[attr-defined]
        training_data = prepare(self, engine, rows, labels, samples_asked, EXACT_BELOW, shared=True)
        if not afresh and self._provenance.get("fingerprint") != training_data.survey.mark.hex():
            raise DataError(
                f"{type(self).__name__}: warm_start adds trees that are grown from the same rows as those before, and these are others: "
                "fit with warm_start=False."
            )
        drawing = RowSample(self._seed(), training_data.draws, bool(self.bootstrap), training_data.counted)
        out_of_bag = training_data.draws is not None and bool(self.oob_score)
        builder = ForestBuilder(
            training_data, drawing, self.max_leaf_nodes, float(self.ccp_alpha), out_of_bag, bool(self.quantiles)
        )
        return ForestFit(builder, self._bag(training_data, afresh), [] if afresh else split_trees(self._trees))

    def _growing(self, engine: Engine, rows: Rows, forest_fit: ForestFit) -> Iterator[tuple[int, TreeNodes]]:
        """Grow the trees one after another; (how many there are, the last)."""
        from assay.families.trees.forest_builder import grow_saplings

        have, auto = len(forest_fit.trees), self.n_estimators == "auto"
        for target in self._sizes(have, forest_fit.builder.out_of_bag):
            for grown_tree in grow_saplings(engine, rows, forest_fit.builder, len(forest_fit.trees), target):
                forest_fit.bag.add(grown_tree, len(forest_fit.trees), None if auto else target)
                forest_fit.trees.append(grown_tree.tree)
                yield len(forest_fit.trees), grown_tree.tree
            if forest_fit.bag.flat():
                break

    def _keep_members(self, bag: OutOfBag, training_data: TrainingData) -> None:
        """Keep which rows are in which leaf, where quantiles are asked for."""

    def _sizes(self, have: int, out_of_bag: bool) -> list[int]:
        """The numbers of trees after which to look whether that is enough."""
        name = type(self).__name__
        if self.n_estimators != "auto":
            if int(self.n_estimators) < have:
                raise ParameterError(
                    f"{name}: n_estimators={self.n_estimators} is less than the {have} trees of the fit before (warm_start): give at "
                    f"least {have}, or fit with warm_start=False."
                )
            return [int(self.n_estimators)]
        if not out_of_bag:
            raise ParameterError(
                f"{name}: n_estimators='auto' looks at the rows that trees did not see: it needs oob_score=True and bootstrap=True or "
                "max_samples."
            )
        return list(range(max(have + GROUP, LEAST), ENOUGH + 1, GROUP))

    def _bag(self, training_data: Any, afresh: bool) -> OutOfBag:
        from assay.families.trees.out_of_bag import OutOfBag

        before = None if afresh else self.__dict__.get("_bagged")
        if before is None:
            return OutOfBag(training_data, self.n_estimators == "auto")
        bag: OutOfBag = deepcopy(before)  # a fit that fails leaves it as it was
        bag.auto = self.n_estimators == "auto"
        return bag

    def _judge(self, bag: OutOfBag) -> None:
        """Keep what the rows that trees did not see say."""
        loss, error, rows = bag.loss()
        if not rows:
            return
        self.oob_loss_, self.oob_error_of_loss_, self.oob_rows_ = loss, error, rows
        if bag.curve:
            self.oob_curve_ = np.array(bag.curve, dtype=np.float64)
        self._keep_answers(bag)

    def _keep_answers(self, bag: OutOfBag) -> None:
        raise NotImplementedError

    def _make_claims(self) -> tuple[Claim, ...]:
        return forest_claims(self)

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The forest tree by tree: leaves and depth of the new one, and the loss on the rows that the trees so far did not see."""
        from assay.families.trees.steps import forest_steps

        return some_of(forest_steps(self, X, y, sample_weight), every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """As many as trees; None where the rows decide how many these are, until they have."""
        trees = len(self.nodes_) if hasattr(self, "nodes_") else self.n_estimators
        return None if trees == "auto" else shown_of(int(trees), every)


class ClassForest(Forest, TreeClassifier):
    """Forests of classes."""

    layout: ClassVar[Layout] = {**TreeClassifier.layout, **PARTS}
    n_estimators: int | str = param("the number of trees; 'auto': until the out-of-bag error no longer falls", default=100, kw_only=False, check=TREES)  # fmt: skip
    criterion: str = param("impurity u; 'entropy' is that of the lecture notes", default="gini", check=Choice(("gini", "entropy", "log_loss")))  # fmt: skip
    oob_decision_function_: Floats = attribute("the probabilities of each class for each row, from the trees that did not see the row; of shape (n_rows, n_classes)")  # fmt: skip
    oob_score_: float = attribute("the out-of-bag accuracy, 1 − oob_loss_")
    voting: str = param("mean of the leaves' shares, or the share of trees as in the lecture notes", default="soft", check=Choice(("soft", "majority")))  # fmt: skip
    max_depth: int | None = MAX_DEPTH
    min_samples_split: Any = MIN_SAMPLES_SPLIT
    min_samples_leaf: Any = MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = MAX_FEATURES
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    min_impurity_decrease: float = MIN_IMPURITY_DECREASE
    bootstrap: bool = BOOTSTRAP
    oob_score: bool = OOB_SCORE
    n_jobs: int | None = N_JOBS
    random_state: int | None = RANDOM_STATE
    verbose: int = VERBOSE
    warm_start: bool = WARM_START
    class_weight: Any = CLASS_WEIGHT
    ccp_alpha: float = CCP_ALPHA
    max_samples: Any = MAX_SAMPLES
    monotonic_cst: Any = MONOTONIC_CST
    bins: Any = BINS
    categorical_features: Any = CATEGORICAL_FEATURES

    def _keep_answers(self, bag: OutOfBag) -> None:
        self.oob_decision_function_ = bag.answers()
        self.oob_score_ = 1.0 - self.oob_loss_

    def _leaf_answers(self) -> Floats:
        if self._fitted_with["voting"] == "soft":
            return self._shares
        label = np.zeros_like(self.table_)
        label[np.arange(len(label)), self.table_.argmax(axis=1)] = 1.0
        return label

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Leaves of ever fewer rows."""
        if kind != "classifier":
            return None
        return sizes_of_leaves(features)


class NumberForest(Forest, TreeRegressor):
    """Forests of numbers."""

    layout: ClassVar[Layout] = {**TreeRegressor.layout, **PARTS, **QUANTILES}
    n_estimators: int | str = param("the number of trees; 'auto': until the out-of-bag error no longer falls", default=100, kw_only=False, check=TREES)  # fmt: skip
    criterion: str = param("the error that a split makes small: squared, absolute, or the Poisson deviance", default="squared_error", check=Choice(("squared_error", "absolute_error", "poisson")))  # fmt: skip
    max_depth: int | None = MAX_DEPTH
    min_samples_split: Any = MIN_SAMPLES_SPLIT
    min_samples_leaf: Any = MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = replace(MAX_FEATURES, default=1.0)
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    min_impurity_decrease: float = MIN_IMPURITY_DECREASE
    bootstrap: bool = BOOTSTRAP
    oob_score: bool = OOB_SCORE
    n_jobs: int | None = N_JOBS
    random_state: int | None = RANDOM_STATE
    verbose: int = VERBOSE
    warm_start: bool = WARM_START
    ccp_alpha: float = CCP_ALPHA
    max_samples: Any = MAX_SAMPLES
    monotonic_cst: Any = MONOTONIC_CST
    bins: Any = BINS
    categorical_features: Any = CATEGORICAL_FEATURES
    oob_prediction_: Floats = attribute("the answer for each row from the trees that did not see it, of shape (n_rows,)")  # fmt: skip
    oob_score_: float = attribute("R² of the out-of-bag answers")
    quantiles: bool = param("keep which rows are in which leaf, for predict_quantiles", default=False)

    def _keep_members(self, bag: OutOfBag, training_data: TrainingData) -> None:
        before = self._members()
        for name in QUANTILES:
            vars(self).pop(name, None)
        if not self.quantiles:
            return
        new = members_of(bag.members, training_data.truth, training_data.weights)
        bag.members = []
        if len(new.held) < len(self.leaf_):
            if before is None:
                raise ParameterError(
                    f"{type(self).__name__}: the trees of the fit before were grown without quantiles=True, so quantiles of all trees "
                    "cannot be had: fit with warm_start=False."
                )
            new = more_members(before, new)
        self.member_, self.member_times_, self.member_count_, self.member_target_ = new[:4]
        self.member_weight_ = new.weight

    def _members(self) -> LeafMembers | None:
        if getattr(self, "member_", None) is None:
            return None
        weight = getattr(self, "member_weight_", None)
        return LeafMembers(self.member_, self.member_times_, self.member_count_, self.member_target_, weight)

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        check_parts(record.arrays)
        members = self._members()
        if members is not None:
            check_members(members)

    def predict_quantiles(self, X: Any, q: Any = (0.05, 0.5, 0.95)) -> Array:
        """Quantiles of the target given each row: (n,) for one level q, (n, len(q)) for several (Meinshausen 2006).

        Of the training targets, weighted by how often their rows share a leaf with the new one, the least at or below which
        lies a share of at least q (0: the least of all). Needs a fit with quantiles=True.
        """
        self._check_fitted()
        members = self._members()
        if members is None:
            raise ParameterError(
                f"This {type(self).__name__} did not keep which rows are in which leaf: fit it with quantiles=True for predict_quantiles."
            )
        levels = levels_asked(q)
        found = self._answer(X, partial(self._quantiles_block, members, levels))
        return found[:, 0] if np.ndim(q) == 0 else found

    def _quantiles_block(self, members: LeafMembers, levels: Floats, block: Block) -> Array:
        self._refuse_infinite(block)
        return quantiles_at(members, self._predictor.numbers(block.X), levels)

    def _keep_answers(self, bag: OutOfBag) -> None:
        self.oob_prediction_ = bag.answers()[:, 0]
        there = (bag.count > 0) & (bag.weight > 0)
        y, w = bag.truth[there], bag.weight[there]
        spread = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
        self.oob_score_ = 1.0 - self.oob_loss_ / spread if spread > 0 else float(self.oob_loss_ == 0)

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Leaves of ever fewer rows."""
        if kind != "regressor":
            return None
        return sizes_of_leaves(features)
