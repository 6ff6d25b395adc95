"""What a forest tells of itself: its single trees, the ways of rows, and which columns matter on rows that trees did not see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import engine_for, targets_of
from assay.errors import DataError, ParameterError
from assay.hypotheses.trees.categories import category_levels
from assay.hypotheses.trees.explain import Explained
from assay.hypotheses.trees.importance import ShuffledColumns, shuffled_columns
from assay.hypotheses.trees.nodes import split_trees, together
from assay.hypotheses.trees.shape import TreeShape
from assay.hypotheses.trees.survey import survey
from assay.inputs import as_regression_target, as_rows
from assay.labels import Labels, class_multipliers
from assay.learner import attribute
from assay.numerics import Array
from assay.params import defaults

if TYPE_CHECKING:
    from assay.hypotheses.tree import _OneTree


class ExplainedForest(Explained):
    """What a forest tells."""

    random_splits: bool = attribute(default=False)
    rows_: int = attribute()

    def tree(self, number: int) -> _OneTree:
        """Tree `number` of the forest as a decision tree of its own, which answers, draws and explains itself."""
        from assay.hypotheses.tree import DecisionTreeClassifier, DecisionTreeRegressor

        self._check_fitted()
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < len(self.nodes_):
            raise ParameterError(
                f"There is no tree {number!r}: the forest has {len(self.nodes_)}, 0 to {len(self.nodes_) - 1}."
            )
        cls = DecisionTreeClassifier if self._kind == "classifier" else DecisionTreeRegressor
        same = {k: v for k, v in self._fitted_with.items() if k in defaults(cls)}
        alone: Any = cls(**{**same, "splitter": "random" if self.random_splits else "best"})
        alone._forget()
        for name in (
            "n_features_in_",
            "feature_names_in_",
            "_categories",
            "classes_",
            "category_code_",
            "missing_columns_",
        ):
            if hasattr(self, name):
                setattr(alone, name, getattr(self, name))
        one = split_trees(self._trees)[number]
        used, leaf = np.unique(one.leaf, return_inverse=True)
        alone._keep_parts(together([one._replace(table=self.table_[used], leaf=leaf.astype(np.uint32))]))
        if one.gain is not None:
            alone.gain_ = one.gain.copy()
        alone.weight_, alone.rows_ = float(alone._leaf_weights()[alone.leaf_].sum()), self.rows_
        alone._fitted_with = alone.get_params()
        return alone  # type: ignore[no-any-return]

    @property
    def estimators_(self) -> list[_OneTree]:
        """All trees, each as a decision tree of its own."""
        self._check_fitted()
        return [self.tree(number) for number in range(len(self.nodes_))]

    def tree_shape(self, number: int = 0) -> TreeShape:
        """Tree `number` as arrays, as `assay.plots.tree` draws it."""
        return self.tree(number).tree_shape()

    def decision_path(self, X: Any) -> tuple[Any, Array]:
        """((n, nodes) as a sparse matrix: 1 where a row passes a node, where the nodes of each tree begin), as in scikit-learn."""
        from assay.hypotheses.trees.paths import indicator

        found = indicator(self, self._answer(X, self._nodes_block))
        return found, np.concatenate([[0], np.cumsum(self.nodes_)])

    def oob_importance(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, n_repeats: int = 5
    ) -> ShuffledColumns:
        """How much worse trees do on the rows that they did not see when a column is shuffled among these (Breiman 2001).

        X and y must be the rows of the fit, in their order: which of them a tree saw follows from the seed. Unlike
        `feature_importances_` it does not favour columns with many values; of columns that say the same, each looks dispensable.
        """
        from assay.hypotheses.trees.growing import Drawing

        self._check_fitted()
        if isinstance(n_repeats, bool) or not isinstance(n_repeats, int | np.integer) or n_repeats < 1:
            raise ParameterError(f"n_repeats={n_repeats!r} is not possible: shuffle at least once.")
        fitted = type(self)(**dict(self._fitted_with))
        rows = as_rows(X, y, sample_weight, categories=True, levels=self._levels())
        rows = rows.fitted_to(self._column_names(), self._categories)
        if not rows.has_target:
            raise DataError(
                "oob_importance needs the targets: give oob_importance(X, y), or name the target in assay.rows(..., target=...)."
            )
        engine = engine_for(rows, self.n_jobs)
        rows = engine.open(rows)
        draws = getattr(self, "draws_", None)
        if draws is None:
            raise ParameterError(
                f"Every tree of this {type(self).__name__} saw every row: fit with bootstrap=True or max_samples for out-of-bag rows."
            )
        labels = Labels.of(self.classes_) if self._kind == "classifier" else None
        levels = category_levels(fitted.categorical_features, rows.names, rows.categories or (None,) * rows.n_columns)
        found = survey(engine, rows, labels, levels)
        if found.mark.hex() != self._provenance.get("fingerprint"):
            raise DataError(
                "These are not the rows of the fit (their fingerprint differs), so nobody knows which of them a tree did not see: give the "
                "same rows in the same order with the same weights, or use permutation importance on held-out rows."
            )
        truth, w = targets_of(rows)
        if labels is None:
            truth = as_regression_target(truth)
        else:
            truth = labels.encode(truth)
            if self._fitted_with["class_weight"] is not None:
                factor = class_multipliers(self._fitted_with["class_weight"], self.classes_, found.class_weight)[truth]
                w = factor if w is None else w * factor
        counted = None if w is None or (w > 0).all() else np.flatnonzero(w > 0)
        drawing = Drawing(fitted._seed(), draws, bool(fitted.bootstrap), counted)  # type: ignore[attr-defined]
        return shuffled_columns(self, engine, rows, truth, w, drawing, int(n_repeats))
