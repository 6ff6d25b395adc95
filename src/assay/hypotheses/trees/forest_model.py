"""What forests share as models: growing trees, judging them by rows that they did not see, quantiles."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.errors import DataError, ParameterError
from assay.hypotheses.trees.claims_forest import evidence_of, forest_claims
from assay.hypotheses.trees.evidence import OF_FORESTS
from assay.hypotheses.trees.explain_forest import ExplainedForest
from assay.hypotheses.trees.model import TreeClassifier, TreeRegressor
from assay.hypotheses.trees.nodes import Tree, split_trees, together
from assay.hypotheses.trees.quantiles import LAYOUT as QUANTILES
from assay.hypotheses.trees.quantiles import (
    Members,
    check_members,
    check_parts,
    levels_asked,
    members_of,
    more_members,
    quantiles_at,
)
from assay.hypotheses.trees.settings import (
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
from assay.layout import Fact, Layout, Tensor
from assay.learner import Step, attribute
from assay.learner.prospect import Features, Prospect
from assay.learner.step import shown_of, some_of
from assay.numerics import Array, Floats
from assay.params import CLASS_WEIGHT, N_JOBS, Choice, param
from assay.store import Record

if TYPE_CHECKING:
    from assay.hypotheses.trees.bagged import Bagged
    from assay.hypotheses.trees.ground import Ground
    from assay.hypotheses.trees.orchard import Orchard

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


def sizes_of_leaves(features: Features) -> Prospect:
    """Leaves of ever fewer rows, compared by small forests; of long tables no smaller ones than a 50 000th of the rows, or a forest takes more
    memory than the table."""
    least = max(1, features.rows // 50_000)
    settings = ({},) if features.rows < FEW_ROWS else tuple({"min_samples_leaf": k} for k in (5 * least, least))
    return Prospect(
        search=settings,
        categories="native",
        rough={"n_estimators": 25, "oob_score": False},
        unfit=TOO_WIDE if features.text else None,
    )


class Grove(NamedTuple):
    """A forest in the making."""

    orchard: Orchard
    bag: Bagged
    trees: list[Tree]


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
        grove = self._plant(engine, rows, afresh, classes)
        for _ in self._growing(engine, rows, grove):
            pass
        ground, bag = grove.orchard.ground, grove.bag
        vars(self).update(evidence_of(self, grove.orchard, len(grove.trees), afresh))
        trees = together(grove.trees)
        self._keep_trees(trees, ground)
        told = self.criterion != "absolute_error" and not ground.plot.table.trend.any()
        self.gain_ = None if told else trees.gain
        self.weight_, self.rows_ = ground.total, ground.survey.n
        self._bagged = bag
        self._keep_members(bag, ground)
        if grove.orchard.out_of_bag:
            self._judge(bag)
        self._provenance = {"fingerprint": ground.survey.mark.hex()}
        self._claims = self._make_claims()

    def _plant(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Grove:
        """All that trees are grown from, and the trees of the fit before."""
        from assay.hypotheses.trees.bagged import samples_asked
        from assay.hypotheses.trees.ground import EXACT_BELOW, prepare
        from assay.hypotheses.trees.growing import Drawing
        from assay.hypotheses.trees.orchard import Orchard

        labels = self._labels(engine, rows, afresh, classes)  # type: ignore[attr-defined]
        ground = prepare(self, engine, rows, labels, samples_asked, EXACT_BELOW, shared=True)
        if not afresh and self._provenance.get("fingerprint") != ground.survey.mark.hex():
            raise DataError(
                f"{type(self).__name__}: warm_start adds trees that are grown from the same rows as those before, and these are others: "
                "fit with warm_start=False."
            )
        drawing = Drawing(self._seed(), ground.draws, bool(self.bootstrap), ground.counted)
        spared = ground.draws is not None and bool(self.oob_score)
        orchard = Orchard(ground, drawing, self.max_leaf_nodes, float(self.ccp_alpha), spared, bool(self.quantiles))
        return Grove(orchard, self._bag(ground, afresh), [] if afresh else split_trees(self._trees))

    def _growing(self, engine: Engine, rows: Rows, grove: Grove) -> Iterator[tuple[int, Tree]]:
        """Grow the trees one after another; (how many there are, the last)."""
        from assay.hypotheses.trees.orchard import grow_saplings

        have, auto = len(grove.trees), self.n_estimators == "auto"
        for target in self._sizes(have, grove.orchard.out_of_bag):
            for sapling in grow_saplings(engine, rows, grove.orchard, len(grove.trees), target):
                grove.bag.add(sapling, len(grove.trees), None if auto else target)
                grove.trees.append(sapling.tree)
                yield len(grove.trees), sapling.tree
            if grove.bag.flat():
                break

    def _keep_members(self, bag: Bagged, ground: Ground) -> None:
        """Keep which rows are in which leaf, where quantiles are asked for."""

    def _sizes(self, have: int, spared: bool) -> list[int]:
        """The numbers of trees after which to look whether that is enough."""
        name = type(self).__name__
        if self.n_estimators != "auto":
            if int(self.n_estimators) < have:
                raise ParameterError(
                    f"{name}: n_estimators={self.n_estimators} is less than the {have} trees of the fit before (warm_start): give at "
                    f"least {have}, or fit with warm_start=False."
                )
            return [int(self.n_estimators)]
        if not spared:
            raise ParameterError(
                f"{name}: n_estimators='auto' looks at the rows that trees did not see: it needs oob_score=True and bootstrap=True or "
                "max_samples."
            )
        return list(range(max(have + GROUP, LEAST), ENOUGH + 1, GROUP))

    def _bag(self, ground: Any, afresh: bool) -> Bagged:
        from assay.hypotheses.trees.bagged import Bagged

        before = None if afresh else self.__dict__.get("_bagged")
        if before is None:
            return Bagged(ground, self.n_estimators == "auto")
        bag: Bagged = deepcopy(before)  # a fit that fails leaves it as it was
        bag.auto = self.n_estimators == "auto"
        return bag

    def _judge(self, bag: Bagged) -> None:
        """Keep what the rows that trees did not see say."""
        loss, error, rows = bag.loss()
        if not rows:
            return
        self.oob_loss_, self.oob_error_of_loss_, self.oob_rows_ = loss, error, rows
        if bag.curve:
            self.oob_curve_ = np.array(bag.curve, dtype=np.float64)
        self._keep_answers(bag)

    def _keep_answers(self, bag: Bagged) -> None:
        raise NotImplementedError

    def _make_claims(self) -> tuple[Claim, ...]:
        return forest_claims(self)

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The forest tree by tree: leaves and depth of the new one, and the loss on the rows that the trees so far did not see."""
        from assay.hypotheses.trees.steps import forest_steps

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

    def _keep_answers(self, bag: Bagged) -> None:
        self.oob_decision_function_ = bag.answers()
        self.oob_score_ = 1.0 - self.oob_loss_

    def _leaf_answers(self) -> Floats:
        if self._fitted_with["voting"] == "soft":
            return self._shares
        label = np.zeros_like(self.table_)
        label[np.arange(len(label)), self.table_.argmax(axis=1)] = 1.0
        return label

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
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

    def _keep_members(self, bag: Bagged, ground: Ground) -> None:
        before = self._members()
        for name in QUANTILES:
            vars(self).pop(name, None)
        if not self.quantiles:
            return
        new = members_of(bag.members, ground.truth, ground.weights)
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

    def _members(self) -> Members | None:
        if getattr(self, "member_", None) is None:
            return None
        weight = getattr(self, "member_weight_", None)
        return Members(self.member_, self.member_times_, self.member_count_, self.member_target_, weight)

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

    def _quantiles_block(self, members: Members, levels: Floats, block: Block) -> Array:
        self._refuse_infinite(block)
        return quantiles_at(members, self._walker.numbers(block.X), levels)

    def _keep_answers(self, bag: Bagged) -> None:
        self.oob_prediction_ = bag.answers()[:, 0]
        there = (bag.count > 0) & (bag.weight > 0)
        y, w = bag.truth[there], bag.weight[there]
        spread = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
        self.oob_score_ = 1.0 - self.oob_loss_ / spread if spread > 0 else float(self.oob_loss_ == 0)

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Leaves of ever fewer rows."""
        if kind != "regressor":
            return None
        return sizes_of_leaves(features)
