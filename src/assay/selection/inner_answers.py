"""What settings answer for rows that their fits had not seen: which of them to take, and how the scores of the chosen one become probabilities.

The setting of least risk is taken. Settings whose risks cannot be told apart (the mean of the rows' differences is within a part of its own
standard error) are told apart by the log loss of their calibrated probabilities: a share of errors is blind to how sure wrong answers are.
Of equals the simplest is taken, which is the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Rows
from assay.numerics import Array, Floats
from assay.selection.calibration import Calibration, calibrate, smoothed_prior
from assay.selection.data import Answers, TableData, probability_losses, row_losses

OF_PROBABILITIES = ("log", "brier")
NOISE = 0.25  # of a standard error of the difference: risks that are nearer count as equal


class SettingsChoice(NamedTuple):
    """Risks of settings with their standard errors, the places of the one of least risk and of the one to take, and how the scores of the
    latter become probabilities (None: of numbers)."""

    risks: Floats
    errors: Floats
    best: int
    chosen: int
    calibration: Calibration | None


@dataclass(frozen=True)
class InnerAnswers:
    """Of several settings, for the rows `tested` (m,) of one split or of several: what each answer costs, and scores of the rows `scored` (r,).

    Classes are charged by zero-one, whatever the comparison's loss: other losses follow from calibrated scores, which need all splits.
    """

    tested: Array
    losses: Floats  # (settings, m)
    scored: Array
    scores: Sequence[Floats]  # (r, K) a setting, of all classes of the table; −∞ of those that a fit never saw
    log_probabilities: Sequence[bool]  # whether the scores of a setting are these

    def at(self, rows: Array) -> InnerAnswers:
        """Those for some of the tested rows."""
        tested, scored = np.isin(self.tested, rows), np.isin(self.scored, rows)
        scores = [S[scored] for S in self.scores]
        return InnerAnswers(
            self.tested[tested], self.losses[:, tested], self.scored[scored], scores, self.log_probabilities
        )

    def of(self, settings: Sequence[int]) -> InnerAnswers:
        """Those of some settings, by their places."""
        scored = settings if self.scores else ()  # of numbers there are no scores
        scores, known = [self.scores[k] for k in scored], [self.log_probabilities[k] for k in scored]
        return InnerAnswers(self.tested, self.losses[list(settings)], self.scored, scores, known)

    @classmethod
    def joined(cls, parts: Sequence[InnerAnswers]) -> InnerAnswers:
        """Those of several splits as one."""
        return cls(
            np.concatenate([p.tested for p in parts]),
            np.concatenate([p.losses for p in parts], axis=1),
            np.concatenate([p.scored for p in parts]),
            [np.concatenate(each) for each in zip(*(p.scores for p in parts))],
            parts[0].log_probabilities,
        )

    def calibrations(self, data: TableData, train: Array, which: Sequence[int]) -> list[Calibration]:
        """How the scores of some settings become probabilities of the classes that the training rows have."""
        present, y, prior = self._targets(data, train)
        return [calibrate(self.scores[k][:, present], y, prior, self.log_probabilities[k]) for k in which]

    def choose(self, loss: str, data: TableData, train: Array, ties: bool) -> SettingsChoice:
        """The setting to take; `ties`: of those that cannot be told apart that of least log loss, else the simplest."""
        losses, calibrations = self.charged(loss, data, train)
        risks = losses.mean(axis=1)
        best = int(np.nanargmin(risks))  # the first of equals is the simplest
        near = (
            not_told_apart(losses, best).tolist() if ties and data.classes is not None and not calibrations else [best]
        )
        kept = [calibrations[best]] if calibrations else self.calibrations(data, train, near) if self.scores else []
        at = int(np.argmin([c.after for c in kept])) if kept else 0
        return SettingsChoice(risks, standard_errors(losses), best, near[at], kept[at] if kept else None)

    def as_they_are(self, data: TableData, train: Array) -> Calibration:
        """That of probabilities to which nothing is to be mended, but that nothing is impossible."""
        present, y, prior = self._targets(data, train)
        return Calibration.none(self.scores[0][:, present], y, prior)

    def charged(self, loss: str, data: TableData, train: Array) -> tuple[Floats, list[Calibration]]:
        """(settings, rows): what answers cost by a loss; and, where that looks at probabilities, how those of each setting were made."""
        if loss not in OF_PROBABILITIES:
            return self.losses, []
        calibrations = self.calibrations(data, train, range(len(self.scores)))
        present, y, _ = self._targets(data, train)
        scores = [S[:, present] for S in self.scores]
        P = [c.proba(S, S.argmax(axis=1)) for c, S in zip(calibrations, scores)]
        return np.array([probability_losses(loss, each, y) for each in P]), calibrations

    def _targets(self, data: TableData, train: Array) -> tuple[Array, Array, Floats]:
        """The classes that the training rows have, those of the scored rows among them, and their shares."""
        counts = np.bincount(data.codes[train])
        present = np.flatnonzero(counts)
        prior = smoothed_prior(counts[present])
        return present, np.searchsorted(present, data.codes[self.scored]), prior


class AnswersOfSettings:
    """Gathers what the models of one split answer, one after another: each is asked once, and may then be gone."""

    def __init__(self, data: TableData, tested: Array, encoded: Any, loss: str) -> None:
        self.data, self.tested, self.loss = data, tested, loss
        self.scored = tested[data.to_score(tested)] if data.classes is not None else tested[:0]
        self.rows: Rows = encoded(tested)
        whole = len(self.scored) in (0, len(tested))
        self.some: Rows = self.rows if whole else encoded(self.scored).in_memory()
        self.losses: list[Floats] = []
        self.scores: list[Floats] = []
        self.log_probabilities: list[bool] = []

    def ask(self, model: Any) -> None:
        if self.data.classes is None:
            answers = Answers.for_loss(model, self.rows, None, self.loss)
            self.losses.append(row_losses(self.loss, self.data, self.tested, answers))
            return
        codes, scores = model.label_scores(self.some)
        labels = model.classes_[codes] if self.some is self.rows else model.predict(self.rows)
        self.losses.append(np.asarray(labels != self.data.y[self.tested], dtype=np.float64))
        self.scores.append(_of_all_classes(scores, model.classes_, self.data.classes))
        self.log_probabilities.append(model.has_probabilities)

    def found(self) -> InnerAnswers:
        return InnerAnswers(self.tested, np.array(self.losses), self.scored, self.scores, self.log_probabilities)


def of_one_model(data: TableData, rows: Array, scores: Floats, model: Any) -> InnerAnswers:
    """The scores of one model for some rows, of which those are kept that calibrate."""
    assert data.classes is not None
    kept = data.to_score(rows)
    wide = _of_all_classes(scores[kept], model.classes_, data.classes)
    return InnerAnswers(rows[:0], np.empty((1, 0)), rows[kept], [wide], [model.has_probabilities])


def _of_all_classes(scores: Floats, known: Array, classes: Array) -> Floats:
    if len(known) == len(classes):
        return scores
    wide = np.full((len(scores), len(classes)), -np.inf)
    wide[:, np.searchsorted(classes, known)] = scores
    return wide


def standard_errors(losses: Floats) -> Floats:
    """Of the mean of each row."""
    n = losses.shape[1]
    return losses.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(len(losses))


def not_told_apart(losses: Floats, best: int) -> Array:
    """The settings whose risks are those of the best within the noise, in their order; the best is one of them.

    >>> not_told_apart(np.array([[1.0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]), 1).tolist()
    [1, 2]
    """
    apart = losses - losses[best]
    noise = apart.std(axis=1) / np.sqrt(losses.shape[1])
    return np.flatnonzero(apart.mean(axis=1) <= NOISE * noise)
