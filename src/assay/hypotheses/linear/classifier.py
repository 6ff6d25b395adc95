"""Linear models of classes: labels, class weights, decision values."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.errors import DataError
from assay.hypotheses.linear.model import LinearModel
from assay.hypotheses.linear.scores import linear_scores
from assay.hypotheses.linear.survey import Survey
from assay.hypotheses.linear.targets import Targets, class_counts
from assay.labels import class_multipliers, plain_labels
from assay.learner import Classifier, attribute
from assay.numerics import Array, Floats


class LinearClassifier(LinearModel, Classifier):
    """The sign of w·x + b for two classes, else the class with the greatest w_k·x + b_k."""

    class_weight: Any = attribute()

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Targets:
        labels = self._classes_of(engine, rows, afresh, classes)
        if self.class_weight is None:
            return Targets(labels, np.ones(len(labels.classes)))
        counts = class_counts(engine, rows, labels)
        return Targets(labels, class_multipliers(self.class_weight, self.classes_, counts))

    def _check_survey(self, found: Survey) -> None:
        present = np.flatnonzero(found.weight > 0)
        if len(present) < 2:
            raise DataError(
                f"Only one class, {plain_labels(self.classes_)[present[0]]!r}, has rows of positive weight: a classifier needs at least two "
                "classes to tell apart."
            )
        if len(present) < len(found.weight):
            absent = plain_labels(self.classes_)[np.flatnonzero(found.weight <= 0)[0]]
            raise DataError(
                f"Class {absent!r} has no rows of positive weight: drop its rows, or give some of them (or the class) a weight."
            )

    def decision_function(self, X: Any) -> Floats:
        """w·x + b: (n,) for two classes (positive: the greater class), (n, K) for more."""
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        return Z[:, 1] - Z[:, 0] if len(self.classes_) == 2 else Z

    def _scores(self, X: Array) -> Floats:
        Z = linear_scores(X, self.coef_, self.intercept_)
        return np.concatenate([np.zeros_like(Z), Z], axis=1) if Z.shape[1] == 1 else Z
