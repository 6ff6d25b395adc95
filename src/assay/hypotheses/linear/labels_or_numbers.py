"""Linear models whose loss says whether they tell classes apart or predict a number; `hasattr` follows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.errors import ParameterError
from assay.hypotheses.linear.classifier import LinearClassifier
from assay.hypotheses.linear.regression import LinearRegressor
from assay.hypotheses.linear.survey import Survey
from assay.hypotheses.linear.targets import Targets
from assay.learner import Classifier, Regressor, attribute
from assay.learner.available import OnlyIf
from assay.numerics import Array, log_softmax

WITH_PROBABILITIES = ("log", "softmax")


class LabelsOrNumbers(LinearClassifier, LinearRegressor):
    """A classifier or a regressor as `kind_of` says of its hyper-parameters, once fitted of those of the fit."""

    loss: Any = attribute()

    def _params_in_force(self) -> Mapping[str, Any]:
        return self._fitted_with if hasattr(self, "coef_") and hasattr(self, "_fitted_with") else self.get_params()

    def _regresses(self) -> bool:
        return self.kind_of(self._params_in_force()) == "regressor"

    def _classifies(self) -> bool:
        return not self._regresses()

    def _has_probabilities(self) -> bool:
        return self._params_in_force()["loss"] in WITH_PROBABILITIES

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Targets:
        if self.kind_of(self.get_params()) == "classifier":
            return super()._targets(engine, rows, afresh, classes)
        if self.class_weight is not None:
            raise ParameterError(
                f"{type(self).__name__}: class_weight is for classes, and loss={self.loss!r} is for numbers: leave it out."
            )
        return LinearRegressor._targets(self, engine, rows, afresh, classes)

    def _check_survey(self, found: Survey) -> None:
        if self.kind_of(self.get_params()) == "classifier":
            super()._check_survey(found)

    def _predict_block(self, block: Block) -> Array:
        return Regressor._predict_block(self, block) if self._regresses() else Classifier._predict_block(self, block)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows predicted rightly, or R² of a regression."""
        kind: Any = Regressor if self._regresses() else Classifier
        return float(kind.score(self, X, y, sample_weight))

    def _log_proba_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        if self._fitted_with["loss"] == "log" and Z.shape[1] > 2:
            # each class against the rest, 1/(1 + e^−z), made to add up to one
            return log_softmax(-np.logaddexp(0.0, -Z))
        return log_softmax(Z)

    def _predict_log_proba(self, X: Any) -> Array:
        """log p(k | x) for each row and class."""
        return self._answer(X, self._log_proba_block)

    def _predict_proba(self, X: Any) -> Array:
        """p(k | x) for each row and class; where each class is set against the rest, those of each, scaled to add up to one."""
        return np.exp(self._predict_log_proba(X))

    def _predict_both_blocks(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """(`predict`, `predict_proba`) block by block, for rows of any size that are read once."""
        return (
            (self.classes_[both[:, 0].astype(np.int64)], both[:, 1:]) for both in self._answers(X, self._both_block)
        )

    def _both_block(self, block: Block) -> Array:
        codes = np.searchsorted(self.classes_, self._predict_block(block))
        return np.column_stack([codes, np.exp(self._log_proba_block(block))])

    decision_function: ClassVar[Any] = OnlyIf(
        LinearClassifier.decision_function, _classifies, "a regression only predicts"
    )
    predict_proba: ClassVar[Any] = OnlyIf(
        _predict_proba, _has_probabilities, "only 'log' and 'softmax' have probabilities"
    )
    predict_log_proba: ClassVar[Any] = OnlyIf(
        _predict_log_proba, _has_probabilities, "only 'log' and 'softmax' have probabilities"
    )
    predict_both_blocks: ClassVar[Any] = OnlyIf(
        _predict_both_blocks, _has_probabilities, "only 'log' and 'softmax' have probabilities"
    )
