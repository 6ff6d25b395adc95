"""What boosted trees are as models: their answers, stage by stage too, and what they tell of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Block, Engine, Rows
from assay.engines.engine import Threads
from assay.errors import ModelFileError
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.params import attribute
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Measure, Step, answering, measures, shown_of, some_of
from assay.families.boosting.claims import COVERAGE, boosting_claims, boosting_coverage
from assay.families.boosting.losses import BoostingLoss, Huber, loss_of
from assay.families.trees.model import TreeModel
from assay.families.trees.nodes import TreeNodes, Trees, first_nodes, join_trees, parts_of
from assay.families.trees.predict import TreePredictor
from assay.families.trees.shap import added_shap_base, added_shap_values
from assay.families.trees.survey import category_codes
from assay.numerics import Array, Floats
from assay.store import Record

if TYPE_CHECKING:
    from assay.families.boosting.fit import BoostingFit

FEW_ROWS, MANY_ROWS = 1000, 2000
SMALL = {"max_leaf_nodes": 8, "n_estimators": 60, "min_samples_leaf": 5, "subsample": 0.8, "colsample_bytree": 0.8}


def trees_of_score(trees: Trees, k: int, K: int, stages: int | None = None) -> Trees:
    """Of trees that lie stage after stage, K a stage, those of score k: every K-th; of the first `stages` alone."""
    if K == 1 and stages is None:
        return trees
    T = len(trees.nodes) if stages is None else stages * K
    mine = np.zeros(len(trees.nodes), dtype=bool)
    mine[k:T:K] = True
    owner = np.repeat(np.arange(len(trees.nodes)), trees.nodes)
    node, is_leaf = mine[owner], trees.feature == -1
    split, leaf = mine[owner[~is_leaf]], mine[owner[is_leaf]]
    return Trees(
        trees.feature[node],
        trees.cut[split],
        trees.missing[split],
        trees.leaf[leaf],
        trees.sets,
        trees.nodes[mine],
        trees.table,
        None if trees.gain is None else trees.gain[split],
    )


class BoostedTrees(TreeModel):
    """Trees that are added up, stage after stage."""

    slow_rows = 1 << 14  # so many that packed trees answer them, also where no compiler is loaded yet
    step_word = "stage"
    multi_output = False
    coverage = COVERAGE

    baseline_: Floats = attribute()
    step_: Floats = attribute()
    loss_curve_: Floats = attribute()
    validation_curve_: Floats | None = attribute(default=None)
    cv_curve_: Floats | None = attribute(default=None)
    delta_: float | None = attribute(default=None)
    held_error_: Floats | None = attribute(default=None)
    gain_: Floats = attribute()
    mixed_: bool = attribute()
    loss: Any = attribute()
    n_estimators: int | str = attribute()
    learning_rate: float = attribute()
    max_leaf_nodes: int | None = attribute()
    min_samples_leaf: int = attribute()
    importance_type: str = attribute()
    warm_start: bool = attribute()

    # --- explaining ---------------------------------------------------------------------------------------------------

    shap_values = added_shap_values
    shap_base_ = property(added_shap_base)

    def contributions(self, X: Any) -> tuple[Any, Array]:
        """(`shap_base_`, `shap_values(X)`): base + contributions summed over the columns is the score of a row, before the loss's link."""
        return self.shap_base_, self.shap_values(X)

    # --- fitting ------------------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, afresh: bool = True, classes: Any = None) -> Any:
        again = self.warm_start and hasattr(self, "n_features_in_")
        return super()._fit(X, y, sample_weight, afresh=not again, classes=classes)

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        from assay.families.boosting.fit import learn

        learn(self, engine, rows, afresh, classes)

    def _make_claims(self) -> tuple[Claim, ...]:
        return boosting_claims(self)

    def _coverage_of(self, claims: tuple[Claim, ...]) -> Coverage:
        return boosting_coverage(self, claims)

    @property
    def depends_on_order(self) -> bool:
        """Whether rows are drawn or held out by their numbers."""
        return self.subsample < 1 or self.n_iter_no_change is not None or isinstance(self.n_estimators, str)

    subsample: float = attribute()
    n_iter_no_change: int | None = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Few leaves and many; of few rows small trees with rows and columns drawn, as good as stages that folds choose on five small tables at a fifth of their time
        or less. Classes of fewer rows need fewer stages than numbers, whose errors go on falling."""
        if kind != cls._kind:
            return None
        if features.rows < FEW_ROWS:
            settings: tuple[dict[str, Any], ...] = (SMALL,)
        else:
            stages = 100 if kind == "classifier" and features.rows < MANY_ROWS else 200
            settings = (
                {"max_leaf_nodes": 8, "n_estimators": stages},
                {"max_leaf_nodes": 31, "n_estimators": stages, "colsample_bytree": 0.7},
            )
        return SearchSpace(search=settings, categories="native", cost=6.0)

    # --- answering ----------------------------------------------------------------------------------------------------

    @property
    def n_estimators_(self) -> int:
        """The number of stages that the model has: all that were asked for, or up to the best where rows were held out."""
        self._check_fitted()
        return len(self.step_)

    @property
    def loss_(self) -> float:
        """The training loss after the last stage: the mean over the rows that the trees learnt from, by weight."""
        self._check_fitted()
        return float(self.loss_curve_[-1])

    def _fitted_loss(self) -> BoostingLoss:
        return self._once("loss", self._make_loss)

    def _make_loss(self) -> BoostingLoss:
        fitted = type(self)(**self._fitted_with) if hasattr(self, "_fitted_with") else self
        found = loss_of(fitted, len(self.classes_) if self._kind == "classifier" else 0)
        if isinstance(found, Huber) and self.delta_ is not None:
            found.delta = float(self.delta_)
        return found

    def _make_leaf_answers(self) -> Floats:
        return np.ascontiguousarray(self.table_[:, :1])

    def _leaf_weights(self) -> Floats:
        weights: Floats = self.table_[:, 1]
        return weights

    @property
    def _predictors(self) -> list[TreePredictor]:
        """The trees of each score."""
        return self._once("predictors", self._make_predictors)

    def _make_predictors(self) -> list[TreePredictor]:
        K, codes = len(self.baseline_), category_codes(self)
        if K == 1:
            return [self._predictor]
        return [TreePredictor(trees_of_score(self._trees, k, K), self.n_features_in_, codes) for k in range(K)]

    def _sums(self, X: Array) -> Floats:
        """(m, C): what the trees add up to."""
        table = self._leaf_answers()
        parts = [predictor.total(X, table) for predictor in self._predictors]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _raw(self, X: Array) -> Floats:
        """(C, m): the scores."""
        return self._sums(X).T + self.baseline_[:, None]

    def _scores(self, X: Array) -> Floats:
        F = self._raw(X)
        if self._kind == "regressor" or len(F) > 1:
            return F.T
        return np.column_stack([-F[0], F[0]]) * 0.5

    def _predict_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        if self._kind == "regressor":
            return self._fitted_loss().answer(self._raw(block.X))
        labels: Array = self.classes_[self._scores(block.X).argmax(axis=1)]
        return labels

    def _decision_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        F = self._raw(block.X)
        return F[0] if len(F) == 1 else F.T

    # --- stage by stage -------------------------------------------------------------------------------------------------

    def _staged(self, X: Any) -> Iterator[Floats]:
        """The scores (C, m) after each stage."""
        rows = self._rows_to_answer(X)
        K, stages = len(self.baseline_), len(self.step_)
        leaves = self._answer(rows, self._leaf_numbers_block)
        values = self.table_[self.leaf_, 0]
        F = np.zeros((K, len(leaves)))
        for s in range(stages):
            for k in range(K):
                F[k] += values[leaves[:, s * K + k]]
            yield F + self.baseline_[:, None]

    def _leaf_numbers_block(self, block: Block) -> Array:
        self._refuse_infinite(block)
        return self._predictor.numbers(block.X)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """As many as stages; None where the rows decide how many these are, until they have."""
        stages = len(self.step_) if hasattr(self, "step_") else self.n_estimators
        return None if isinstance(stages, str) else shown_of(int(stages), every)

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The model stage by stage: training loss, that of the rows held out, leaves, and the step."""

        return some_of(boosting_steps(self, X, y, sample_weight), every)

    # --- explaining ---------------------------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> Floats:
        """Of each column the share of its splits in all that splits gained (`importance_type="split"`: in their number); (d,).

        It is counted on the training rows, so a column of noise with many values gains too. To judge columns use permutation importance on
        held-out rows.
        """
        self._check_fitted()
        split = self.feature_[self.feature_ != -1]
        column = np.where(split < -1, -2 - split, split)
        by_gain = self.importance_type == "gain"
        found = np.bincount(column, weights=self.gain_ if by_gain else None, minlength=self.n_features_in_)
        total = float(found.sum())
        return found / total if total > 0 else found.astype(np.float64)

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        K = len(self.classes_) if self._kind == "classifier" else 1
        scores = 1 if K <= 2 else K
        if len(self.baseline_) != scores or len(self.nodes_) != scores * len(self.step_):
            raise ModelFileError("The model file's trees are not as many as its stages have scores.")
        if len(self.loss_curve_) != len(self.step_) + 1:
            raise ModelFileError("The model file's losses are not those of its stages.")


def stage_ends(nodes: Array, K: int) -> Array:
    """Of each stage the node behind its last."""
    ends: Array = (first_nodes(nodes) + nodes)[K - 1 :: K]
    return ends


def boosting_steps(model: BoostedTrees, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """A step a stage: leaves of its trees, its step, the training loss and that of the rows held out; of two classes the margins too."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    from assay.families.boosting.fit import BoostingFit

    work = BoostingFit(fresh, Threads(fresh.n_jobs), rows, True, None)
    codes, lacking = work.rows.categories.code, work.rows.survey.missing
    known = {
        "category_code_": codes if len(codes) else None,
        "missing_columns_": lacking.astype(np.uint8) if lacking.any() else None,
        "baseline_": np.asarray(work.boosting.start),
        "delta_": getattr(work.loss, "delta", None),
    }
    vars(fresh).update(known)
    for number, stage in enumerate(work.run(), 1):
        values: dict[str, Any] = {
            "leaves": sum(len(tree.values) for tree in stage.trees),
            "step": float(work.steps[-1]),
            "training_loss": float(work.curve[-1]),
            "nodes_": np.array([len(t.feature) for t in work.trees]),
        }
        if stage.held is not None:
            values["held_out_loss"] = float(stage.held)
        margin = _least_margin(work)
        if margin is not None:
            values["least_margin"] = margin
        state = answering(fresh, partial(_first, work.trees, work.steps, number, work.loss.trees))
        yield Step(number, rows.n_rows or 0, values, _measures(values), state)


def _least_margin(work: BoostingFit) -> float | None:
    """Of two classes the least of ±F over the rows that count: above zero all are right, and it may go on growing."""
    if work.loss.name not in ("log_loss", "exponential") or work.loss.trees > 1:
        return None
    F: Floats = work.boosting.scores[0] + work.boosting.start[0]
    there = work.rows.w > 0
    return float((np.where(work.rows.y > 0, F, -F)[there]).min())


def _measures(values: dict[str, Any]) -> tuple[Measure, ...]:
    loss, held, margin = values["training_loss"], values.get("held_out_loss"), values.get("least_margin")
    return measures(
        Measure("training loss", loss, None, f"training loss {loss:.4g}"),
        None if held is None else Measure("held-out loss", held, None, f"loss of the rows held out {held:.4g}"),
        None if margin is None else Measure("least margin", margin, 0.0, f"least margin {margin:.4g}", better="up"),
    )


def _first(trees: list[TreeNodes], steps: list[float], number: int, K: int) -> dict[str, Any]:
    return {**parts_of(join_trees(trees[: number * K])), "step_": np.array(steps[:number])}
