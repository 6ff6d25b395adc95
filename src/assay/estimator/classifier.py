"""Classifiers: labels, scores, probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.errors import DataError, OneClassError
from assay.estimator.estimator import Estimator
from assay.estimator.params import AvailableIf, attribute
from assay.inputs import refuse_non_finite, refuse_overflow
from assay.inputs.labels import Labels, find_classes
from assay.numerics import Array, Floats, log_softmax, safe_log

WITHOUT = "its scores are no probabilities"


def with_probabilities(method: Callable[..., Any]) -> Any:
    """A method that a classifier has where it has probabilities."""
    return AvailableIf(
        method, lambda model: model._why_no_probabilities() is None, lambda model: model._why_no_probabilities()
    )


class Classifier(Estimator):
    """A model of classes. Subclasses give `_scores(X)`: a number for each row and class, the largest wins.

    Probabilities are there where the scores are log p(x, k) up to a constant of the row (`scores_are_log_joint`), or where a subclass
    gives `_proba_block(block)`: p(k | x) for each row and class. `_why_no_probabilities` may take them away for some hyper-parameters.
    """

    _kind = "classifier"
    scores_are_log_joint: ClassVar[bool] = False
    rough_calibrates: ClassVar[bool] = (
        True  # whether the rough fits of a search are as sure of their answers as whole ones
    )
    is_calibrated: ClassVar[bool] = (
        False  # its probabilities are shares of the rows of the fit, and there is nothing to mend
    )

    classes_: Array = attribute("the labels, in ascending order; of shape (n_classes,)")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit on rows X and labels y (or on `assay.rows`)."""
        return self._fit(X, y, sample_weight)

    def _classes_of(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels:
        """The classes: given ones, those of the earlier fit, or those found in the rows."""
        if classes is not None:
            given = np.unique(np.asarray(classes))
            if not afresh and (not np.array_equal(given, self.classes_) or len(given) != np.size(classes)):
                raise DataError(
                    f"classes={np.asarray(classes).tolist()} is not the same as on last call to partial_fit, which was "
                    f"{self.classes_.tolist()}."
                )
            self.classes_ = given
        elif afresh:
            self.classes_ = find_classes(engine, rows)
        refuse_fewer_classes(self.classes_, self.least_classes)
        return Labels.of(self.classes_)

    def _scores(self, X: Array) -> Floats:
        raise NotImplementedError

    def _checked_scores(self, block: Block) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            Z = self._scores(block.X)
            if not np.isfinite(Z).all() and not np.isfinite(Z.max(axis=1, initial=-np.inf)).all():
                refuse_non_finite(block.X, block.start, self._column_names(), nan=not self.takes_missing)
                self._explain_scores(block, Z)
        return Z

    def _explain_scores(self, block: Block, Z: Floats) -> None:
        """Raise where scores of finite rows are not finite; models for which −∞ is an answer override this."""
        refuse_overflow(block.X, block.start, self._column_names())

    def _predict_block(self, block: Block) -> Array:
        labels: Array = self.classes_[self._checked_scores(block).argmax(axis=1)]
        return labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows predicted rightly; of several targets in all of them."""
        answers = self.predict(X)
        truth, weights = self._truth(X, y, sample_weight, len(answers))
        right = answers == truth
        return float(np.average(right if right.ndim == 1 else right.all(axis=1), weights=weights))

    # --- probabilities ------------------------------------------------------------------------------------------------

    @classmethod
    def may_give_probabilities(cls) -> bool:
        """Whether the class has probabilities for some of its hyper-parameters at least."""
        return cls.scores_are_log_joint or cls._proba_block is not Classifier._proba_block

    def _why_no_probabilities(self) -> str | None:
        """Why the model has no probabilities; None: it has."""
        return None if self.may_give_probabilities() else WITHOUT

    def _proba_block(self, block: Block) -> Array:
        return np.exp(self._log_proba_block(block))

    def _log_proba_block(self, block: Block) -> Array:
        if self.scores_are_log_joint:
            return log_softmax(self._checked_scores(block))
        log_p: Array = safe_log(self._proba_block(block))
        return log_p

    def _both_block(self, block: Block) -> Array:
        codes = np.searchsorted(self.classes_, self._predict_block(block))
        return np.column_stack([codes, self._proba_block(block)])

    # --- a score for each class, of every classifier --------------------------------------------------------------------

    def label_scores(self, X: Any) -> tuple[Array, Floats]:
        """(codes of the labels (n,), scores (n, K)): the greater a score, the likelier the class. They are log p(k | x) where the model has
        probabilities, else decision values: what a calibration makes probabilities of. Labels are those of `predict`, ties included.
        """
        return coded(self._answer(X, self._scored_block))

    def label_scores_blocks(self, X: Any) -> Iterator[tuple[Array, Floats]]:
        """`label_scores` block by block, for rows of any size that are read once."""
        return (coded(both) for both in self._answers(X, self._scored_block))

    def left_out_scores(self) -> Floats | None:
        """(n, K): the scores that the rows of the fit got from parts of it that had not seen them, NaN where none had not; None: there are none."""
        return None

    @property
    def has_probabilities(self) -> bool:
        """Whether `label_scores` are log p(k | x)."""
        return self._why_no_probabilities() is None

    def _scored_block(self, block: Block) -> Array:
        """(m, 1 + K): codes and scores; what both are made of is computed once where it is the same."""
        cls = type(self)
        if cls._predict_block is Classifier._predict_block and cls._log_proba_block is Classifier._log_proba_block:
            Z = self._checked_scores(block)
            return np.column_stack([Z.argmax(axis=1), log_softmax(Z) if self.has_probabilities else Z])
        codes = np.searchsorted(self.classes_, self._predict_block(block))
        return np.column_stack([codes, self._class_scores(block)])

    def _class_scores(self, block: Block) -> Floats:
        if self.has_probabilities:
            return self._log_proba_block(block)
        return of_each_class(self._decision_block(block))

    def _decision_block(self, block: Block) -> Array:
        raise NotImplementedError

    @with_probabilities
    def predict_proba(self, X: Any) -> Any:
        """p(k | x) for each row and class; the columns are in the order of `classes_`. Of several targets a list of such arrays."""
        return self._by_target(self._answer(X, self._proba_block))

    @with_probabilities
    def predict_log_proba(self, X: Any) -> Any:
        """log p(k | x) for each row and class; of several targets a list of such arrays."""
        return self._by_target(self._answer(X, self._log_proba_block))

    def _by_target(self, found: Array) -> Any:
        """What is found of the classes of all targets, as people get it."""
        return found

    @with_probabilities
    def predict_proba_blocks(self, X: Any) -> Iterator[Array]:
        """`predict_proba` for rows of any size: an iterator over the answers, block by block."""
        return self._answers(X, self._proba_block)

    @with_probabilities
    def predict_both_blocks(self, X: Any) -> Iterator[tuple[Array, Array]]:
        """(`predict`, `predict_proba`) block by block, for rows of any size that are read once."""
        return (
            (self.classes_[both[:, 0].astype(np.int64)], both[:, 1:]) for both in self._answers(X, self._both_block)
        )


def coded(both: Array) -> tuple[Array, Floats]:
    """Codes and scores from the columns of one array."""
    return both[:, 0].astype(np.int64), both[:, 1:]


def of_each_class(F: Array) -> Floats:
    """Decision values (n, K); those of two classes, (n,), are the difference of their scores."""
    return np.column_stack([-F / 2, F / 2]) if F.ndim == 1 else F


def refuse_fewer_classes(classes: Array, least: int = 2) -> None:
    """Raise where the rows are of fewer classes than can be told apart."""
    if len(classes) < least:
        raise OneClassError(
            f"y has only one class, {classes.tolist()[0]!r}: a classifier needs at least two classes to tell apart."
        )
