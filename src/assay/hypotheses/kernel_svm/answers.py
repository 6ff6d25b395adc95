"""From decision values to labels, scores and probabilities of classes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from assay.engines import Block
from assay.hypotheses.kernel_svm.model import KernelMachine
from assay.hypotheses.kernel_svm.multi import pairs_of, vote_scores, votes
from assay.hypotheses.kernel_svm.probability import coupled, label_first, many_shares, two_shares
from assay.learner import attribute
from assay.learner.available import OnlyIf
from assay.learner.classifier import ProbableClassifier
from assay.numerics import Array, Floats

WITHOUT = "probabilities need probability=True at the fit"


class ClassAnswers(KernelMachine, ProbableClassifier):
    """A classifier that answers by `_decision(block)`, a number for each row and problem."""

    calibration_: Floats | None = attribute()
    loss_: float | None = attribute()
    n_support_: Array = attribute()

    def _one_vs_one(self) -> bool:
        return bool(self._fitted_with["multi_class"] == "ovo")

    def _codes(self, F: Floats) -> Array:
        """The label of each row by its decision values, as a code."""
        K = len(self.classes_)
        if K == 2:
            return (F[:, 0] > 0).astype(np.int64)
        if not self._one_vs_one():
            greatest: Array = F.argmax(axis=1)
            return greatest
        by_score = vote_scores if self._fitted_with["break_ties"] else votes
        best: Array = by_score(F, K).argmax(axis=1)
        return best

    def _predict_block(self, block: Block) -> Array:
        labels: Array = self.classes_[self._codes(self._decision(block, signs=True))]
        return labels

    def decision_function(self, X: Any) -> Floats:
        """f(x): (n,) for two classes (positive: the greater one); else (n, K), or with decision_function_shape="ovo" (n, K (K − 1) / 2)."""
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        F = self._decision(block)
        if len(self.classes_) == 2:
            return F[:, 0]
        by_class = self._one_vs_one() and self._fitted_with["decision_function_shape"] == "ovr"
        return vote_scores(F, len(self.classes_)) if by_class else F

    def _proba_block(self, block: Block) -> Array:
        return self._shares(self._decision(block))

    def _shares(self, F: Floats) -> Floats:
        assert self.calibration_ is not None
        if len(self.classes_) == 2:
            return two_shares(F[:, 0], self.calibration_)
        codes, (temperature, *slope) = self._codes(F), self.calibration_.tolist()
        return many_shares(label_first(self._to_couple(F, slope), codes), temperature, codes)

    def _to_couple(self, F: Floats, slope: list[float]) -> Floats:
        """(n, K): the scores that a temperature turns into shares."""
        return coupled(F, len(self.classes_), *slope) if slope else F

    def _both_block(self, block: Block) -> Array:
        F = self._decision(block)
        return np.column_stack([self._codes(F), self._shares(F)])

    def _has_probabilities(self) -> bool:
        return bool(getattr(self, "_fitted_with", self.get_params())["probability"])

    predict_proba: ClassVar[Any] = OnlyIf(ProbableClassifier.predict_proba, _has_probabilities, WITHOUT)
    predict_log_proba: ClassVar[Any] = OnlyIf(ProbableClassifier.predict_log_proba, _has_probabilities, WITHOUT)
    predict_proba_blocks: ClassVar[Any] = OnlyIf(ProbableClassifier.predict_proba_blocks, _has_probabilities, WITHOUT)
    predict_both_blocks: ClassVar[Any] = OnlyIf(ProbableClassifier.predict_both_blocks, _has_probabilities, WITHOUT)

    @property
    def coef_(self) -> Floats:
        """(P, d): w of each problem of a linear kernel."""
        self._check_linear()
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        if len(self.n_support_) == 2 or not self._one_vs_one():
            return self.dual_coef_ @ self.support_vectors_
        parts = [self.dual_coef_[:, a:b] @ self.support_vectors_[a:b] for a, b in pairwise(ends)]
        return np.stack([parts[i][j - 1] + parts[j][i] for i, j in pairs_of(len(parts))])
