"""Trees and forests explained: as text, as shapes to draw, by the way of a row, and by what each column adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.hypotheses.trees.contributions import contributions_of
from assay.hypotheses.trees.importance import gain_importances
from assay.hypotheses.trees.model import TreeModel
from assay.hypotheses.trees.nodes import LEAF
from assay.hypotheses.trees.questions import Questions
from assay.hypotheses.trees.shape import TreeShape
from assay.hypotheses.trees.values import columns_of, node_values
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.hypotheses.trees.paths import PathOfRow
    from assay.hypotheses.trees.text import Rule


class Explained(TreeModel):
    """What trees and forests tell alike."""

    @property
    def feature_importances_(self) -> Floats:
        """Of each column the share of its splits in all that splits gained (mean over trees), adding up to one, as in scikit-learn; (d,).

        It is biased: it is counted on the training rows, so a column of noise with many values gains too, the more so in deep trees,
        and of columns that say the same one may get all. To judge columns use `oob_importance` of forests, or permutation
        importance on held-out rows.
        """
        self._check_fitted()
        return gain_importances(self)

    def contributions(self, X: Any) -> tuple[Any, Array]:
        """(bias, contributions): bias + contributions summed over the columns is what the model predicts, to rounding.

        Classes: bias (K,), contributions (n, d, K), for `predict_proba`; numbers: one number, (n, d), for `predict`. The bias is the mean
        answer for the training rows; each question on the way of a row adds to its column what its answer changed (Saabas 2014).
        """
        bias, found = contributions_of(self, X)
        return (bias, found) if self._kind == "classifier" else (float(bias[0]), found[:, :, 0])


class ExplainedTree(Explained):
    """What a single tree tells."""

    def apply(self, X: Any) -> Array:
        """The node (in preorder, the root is 0) of the leaf where each row ends."""
        return super().apply(X)[:, 0]

    def to_text(self, *, max_depth: int | None = None, decimals: int | None = None) -> str:
        """The tree as text, a line a node: its question, rows and gain, or its answer. `decimals`: of thresholds (None: four digits)."""
        from assay.hypotheses.trees.text import tree_text

        self._check_fitted()
        return tree_text(self, max_depth, decimals)

    def rules(self, *, decimals: int | None = None) -> list[Rule]:
        """One rule a leaf: the conditions that lead to it, its answer, and the weight of its rows."""
        from assay.hypotheses.trees.text import tree_rules

        self._check_fitted()
        return tree_rules(self, decimals)

    def tree_shape(self) -> TreeShape:
        """The tree as arrays, as `assay.plots.tree` draws it."""
        self._check_fitted()
        ask, found, ends = Questions(self), node_values(self), self._walker.ends
        split = np.flatnonzero(self.feature_ != LEAF)
        left, right = np.full((2, len(ends)), -1, dtype=np.int64)
        left[split], right[split] = split + 1, ends[split + 1]
        classes = self._kind == "classifier"
        return TreeShape(
            left,
            right,
            columns_of(self.feature_),
            np.where(self.feature_ > LEAF, ask.cut, np.nan),
            found.answer * found.weight[:, None] if classes else found.answer,
            found.weight,
            names=self._names_in_words(),
            classes=self.classes_.tolist() if classes else None,
            tests=[ask.test(i) if f != LEAF else "" for i, f in enumerate(self.feature_.tolist())],
        )

    def decision_path(self, X: Any) -> Any:
        """(n, nodes) as a sparse matrix: 1 where a row passes a node."""
        from assay.hypotheses.trees.paths import indicator

        return indicator(self, self._answer(X, self._nodes_block))

    def explain_path(self, x: Any) -> PathOfRow:
        """The way of one row: each question with the row's value, the answer, the gain, and what the answer changed; made to be printed."""
        from assay.hypotheses.trees.paths import path_of_row

        return path_of_row(self, x)
