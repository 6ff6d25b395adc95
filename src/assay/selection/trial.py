"""One model on one split of a table: search its settings on the training rows alone, fit the chosen one, answer the test rows.

The search is nested: settings are judged on inner splits of the training rows, so the test rows decide nothing. The setting of
least risk is taken, of those that cannot be told apart the one of least log loss (inner_answers.py). (One standard error's leave, as between
models, would cost accuracy here: on few rows it is wide.) The same inner answers calibrate the chosen setting's probabilities.

Settings race (Maron and Moore 1994; Birattari et al. 2002): after each inner fold, those that fall behind are fitted no more. On many rows one fold
tells most settings apart. The same rows cost all of them something, so it is the paired difference to the best so far that tells: a setting leaves
where that is more than BEHIND standard errors above zero. What leaves wrongly would have been better by next to nothing. Everything follows from the
losses, so a race run again has the same end.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from assay.certify.claim import unclaimed
from assay.engines import Rows, pick_rows
from assay.errors import ConvergenceWarning, DataConversionWarning
from assay.estimator.estimator import Estimator
from assay.numerics import Array, Floats
from assay.processes.child import Emit
from assay.selection.calibration import Calibration, with_calibration
from assay.selection.candidates import Candidate
from assay.selection.data import Answers, TableData, row_losses
from assay.selection.inner_answers import AnswersOfSettings, InnerAnswers, of_one_model
from assay.selection.splits import Resampling, Split, by_parts, each_once, make_splits, outside
from assay.tables.encoding import Encoding, EncodingSpec

BEHIND = 2.0  # standard errors
RACED = 1000  # training rows up to which every setting goes the whole way: few rows tell nothing apart
EVERYTHING = {  # what any model may need of an encoding's statistics
    "classification": EncodingSpec(target="classes"),
    "regression": EncodingSpec(target="number"),
}
FEW, MANY = 5000, 20_000  # training rows up to which five inner folds are taken, and three; beyond, a quarter once
ENOUGH, OF_FOLDS = (
    5000,
    2500,
)  # training rows that tell the risk on these, of one split, and of all folds together: many models learn faster than they answer
ENOUGH_LEFT_OUT = 100  # rows to calibrate by, where each fit that leaves some out is made for this alone

Settings = Sequence[Mapping[str, Any]]


class Race:
    """The losses of each setting on the rows tested so far, and who is still in it; `whole`: all go to the end."""

    def __init__(self, settings: int, whole: bool) -> None:
        self.whole = whole
        self.left = list(range(settings))
        self.losses: list[Floats] = [np.zeros(0)] * settings

    def add(self, losses: Floats) -> None:
        """(settings left, m): the losses on the rows of one more fold."""
        for setting, more in zip(self.left, losses):
            self.losses[setting] = np.concatenate([self.losses[setting], more])
        if not self.whole:
            best = self.losses[self.best]
            self.left = [k for k in self.left if not _behind(self.losses[k] - best)]

    @property
    def best(self) -> int:
        """The setting of least risk among those left, of equals the first: it is the simplest."""
        risks = [float(self.losses[k].mean()) for k in self.left]
        return self.left[0] if np.isnan(risks).all() else self.left[int(np.nanargmin(risks))]

    @property
    def over(self) -> bool:
        """Whether nothing is left to decide."""
        return len(self.left) == 1 and not self.whole

    @property
    def risks(self) -> Floats:
        return np.array([each.mean() for each in self.losses])

    @property
    def errors(self) -> Floats:
        """The standard errors of the risks."""
        return np.array([each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else 0.0 for each in self.losses])


def _behind(difference: Floats) -> bool:
    """Whether differences to the best, row by row, are above zero beyond doubt."""
    n = len(difference)
    return n > 1 and bool(difference.mean() > BEHIND * difference.std(ddof=1) / np.sqrt(n))


@dataclass(frozen=True)
class SettingsSearch:
    """What the search found: of each setting its mean inner risk and standard error; `best` is the one of least risk, `chosen` of those that
    cannot be told from it the one of least log loss, and `calibration` that of the chosen one (None: of numbers)."""

    settings: list[Mapping[str, Any]]
    risks: Floats
    errors: Floats
    chosen: int
    best: int
    calibration: Calibration | None = None


@dataclass
class Trial:
    """One model on one split."""

    setting: Mapping[str, Any]
    search: SettingsSearch | None
    answers: Answers  # of the test rows
    test_risk: float
    train_risk: float
    train_rows: int
    complexity: float
    columns: int  # of the encoded rows
    converged: bool = True
    notes: list[str] = field(default_factory=list)
    calibration: Calibration | None = None  # of its probabilities, learnt from the training rows alone
    model: Estimator | None = None
    encoding: Encoding | None = None


def run_trial(
    candidate: Candidate,
    data: TableData,
    split: Split,
    loss: str,
    seed: int,
    emit: Emit = lambda event: None,
    splits: int = 1,
) -> Trial:
    """Search, fit and answer on one split, of so many."""
    with quietly() as notes:
        search, setting, encoding, rows, model = search_and_fit(candidate, data, split.train, loss, seed, emit)
        calibration = calibration_of(candidate, data, split.train, loss, seed, search, model, rows)
        learner = with_calibration(model, calibration)
        most = ENOUGH if splits == 1 else max(1, OF_FOLDS // splits)
        seen = drawn_evenly(split.train, most)
        if seen is not split.train:
            here = data.in_memory and splits > 1
            rows = (
                pick_rows(rows, drawn_evenly(np.arange(len(split.train)), most))
                if here
                else data.encoded(encoding, seen)
            )  # a large table is then not there twice
        train = Answers.for_loss(learner, rows, data.classes, loss)
        del rows
        answers = Answers.of(learner, data.encoded(encoding, split.test), data.classes)
    return Trial(
        setting=setting,
        search=search,
        answers=answers,
        test_risk=float(np.mean(row_losses(loss, data, split.test, answers))),
        train_risk=float(np.mean(row_losses(loss, data, seen, train))),
        train_rows=len(split.train),
        complexity=float(model.complexity()),
        columns=len(encoding.outputs),
        converged=bool(getattr(model, "converged_", True)) or not model.ends_by_itself,
        notes=notes,
        calibration=calibration,
        model=model,
        encoding=encoding,
    )


def drawn_evenly(rows: Array, most: int | None) -> Array:
    """At most so many of some rows; None: all."""
    return rows if most is None or len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def search_and_fit(
    candidate: Candidate, data: TableData, train: Array, loss: str, seed: int, emit: Emit
) -> tuple[SettingsSearch | None, Mapping[str, Any], Encoding, Rows, Estimator]:
    """The search on some rows, the setting it chose, and the encoding, the encoded rows and the model that it leads to."""
    search = search_settings(candidate, data, train, loss, seed, emit)
    setting = candidate.settings()[0] if search is None else search.settings[search.chosen]
    encoding, rows = learnt(candidate, data, train)
    return search, setting, encoding, rows, fit_one(candidate, rows, setting)


def learnt(candidate: Candidate, data: TableData, which: Array) -> tuple[Encoding, Rows]:
    """The encoding learnt from some rows, and these rows encoded."""
    encoding = data.encoding(which, candidate.encoding_spec)
    return encoding, data.encoded(encoding, which, of_fit=True)


def fit_one(candidate: Candidate, rows: Rows, setting: Mapping[str, Any]) -> Estimator:
    """The model with a setting, fitted to encoded rows."""
    return next(iter(candidate.model(**candidate.fixed).fit_each(rows, [setting])))


def search_settings(
    candidate: Candidate,
    data: TableData,
    train: Array,
    loss: str,
    seed: int,
    emit: Emit = lambda event: None,
    ties: bool = True,
) -> SettingsSearch | None:
    """Judge each setting on inner splits of the training rows; None where there is nothing to choose.

    `ties`: settings that cannot be told apart are by their log loss (searches of files from before took the simplest).
    """
    inner = _inner_splits_once(data, train, seed) if len(candidate.settings()) > 1 else []
    if not inner:
        return None
    if data.parts is None or not data.pairs:
        return _searched(candidate, data, train, loss, inner, emit, ties)
    kept = _answered(inner)  # folds of one part have the same search
    return data.once(
        kept, _shared(candidate, loss, ties), lambda rows: _searched(candidate, data, rows, loss, inner, emit, ties)
    )


def _searched(
    candidate: Candidate, data: TableData, train: Array, loss: str, inner: list[Split], emit: Emit, ties: bool
) -> SettingsSearch:
    """The search on these inner splits of the training rows."""
    settings = candidate.settings()
    race = Race(len(settings), whole=data.parts is not None or len(train) <= RACED)
    parts = []
    for number, split in enumerate(inner):
        progress = Progress(emit, number * len(settings), len(inner) * len(settings))
        part = _answers_of_each(candidate, data, split, loss, [settings[k] for k in race.left], progress)
        parts.append((list(race.left), part))
        race.add(part.losses if race.whole else part.charged(loss, data, train)[0])
        if race.over:
            break
    found = InnerAnswers.joined([part.of([there.index(k) for k in race.left]) for there, part in parts])
    choice = found.choose(loss, data, train, ties)
    risks, errors = race.risks, race.errors  # of those that left, by what was seen of them
    risks[race.left], errors[race.left] = choice.risks, choice.errors
    chosen, best = race.left[choice.chosen], race.left[choice.best]
    return SettingsSearch(settings, risks, errors, chosen, best, choice.calibration)


@dataclass
class Progress:
    """Tells how many fits of a search are done."""

    emit: Emit
    done: int
    total: int

    def __call__(self) -> None:
        self.done += 1
        self.emit(("fits", self.done, self.total))


def _answers_of_each(
    candidate: Candidate, data: TableData, split: Split, loss: str, settings: Settings, progress: Progress
) -> InnerAnswers:
    """What each setting answers for the test rows of an inner split; where searches share a fit, it is made once."""
    fit = partial(_fit_and_test, candidate, data, loss, settings, progress)
    if data.parts is None:
        return fit(split)
    wide = Split(split.train, outside(data.parts, split.train))
    found = data.once(split.train, _shared(candidate, loss), lambda _: fit(wide))
    return found.at(split.test)


def _answered(inner: list[Split]) -> Array:
    """The rows that inner splits test."""
    return np.sort(np.concatenate([split.test for split in inner]))


def _shared(candidate: Candidate, loss: str, ties: bool | None = None) -> tuple[str, str, str, bool | None]:
    """The name of what searches share: answers of inner fits, and (`ties` said) whole searches."""
    return "shared", candidate.key, loss, ties


def forget_answers(candidate: Candidate, data: TableData, loss: str) -> None:
    """Let go of what the searches of a model shared: no other model asks for it."""
    for ties in (None, True, False):
        data.forget(_shared(candidate, loss, ties))


def _fit_and_test(
    candidate: Candidate, data: TableData, loss: str, settings: Settings, progress: Progress, split: Split
) -> InnerAnswers:
    """The encoded rows are gone before those of the next split are made."""
    encoding, rows = learnt(candidate, data, drawn_evenly(split.train, candidate.model.enough_rows))
    found = AnswersOfSettings(data, split.test, lambda which: data.encoded(encoding, which), loss)
    with unclaimed():
        for model in candidate.model().fit_each(rows, candidate.roughly(settings)):
            found.ask(model)
            progress()
    return found.found()


def calibration_of(
    candidate: Candidate,
    data: TableData,
    train: Array,
    loss: str,
    seed: int,
    search: SettingsSearch | None,
    model: Any,
    rows: Rows,
) -> Calibration | None:
    """How the scores of a model fitted to the training rows (encoded: `rows`) become probabilities; None: of numbers.

    Learnt from what the model itself says of rows that parts of it had not seen, where it keeps that (trees of a forest); else from the
    inner answers of the search; where there was nothing to search, or its fits were too rough to tell, from those of inner fits made for this alone.
    """
    if data.classes is None:
        return None
    if model.is_calibrated:
        return of_one_model(data, train, model.label_scores(rows)[1], model).as_they_are(data, train)
    own = _left_out(model, data, train)
    if own is None and search is not None and model.rough_calibrates:
        return _over(search.calibration, data, _inner_splits_once(data, train, seed), model)
    if own is None:
        own = _asked_for_this(candidate, data, train, loss, seed, search)
    if own is None:  # too few rows to leave any out
        own = of_one_model(data, train, model.label_scores(rows)[1], model)
    return own.calibrations(data, train, [0])[0]


def _over(calibration: Calibration | None, data: TableData, inner: list[Split], model: Any) -> Calibration | None:
    """The calibration of a search as that of a model, which may know a class that the rows of the search do not have."""
    assert data.classes is not None
    if calibration is None or len(calibration.prior) == len(model.classes_):
        return calibration
    return calibration.over(data.classes[np.unique(data.codes[_answered(inner)])], model.classes_)


def _asked_for_this(
    candidate: Candidate, data: TableData, train: Array, loss: str, seed: int, search: SettingsSearch | None
) -> InnerAnswers | None:
    """What inner fits of the setting that was chosen answer, where the search does not tell: as many as leave out enough rows."""
    inner = _inner_splits_once(data, train, seed)
    left_out = np.cumsum([len(split.test) for split in inner])
    inner = (
        inner[: 1 + int(np.searchsorted(left_out, ENOUGH_LEFT_OUT))]
        if search is not None or len(train) > FEW
        else inner
    )
    if not inner:
        return None
    whole = candidate if search is None else candidate.alone(search.settings[search.chosen])
    silent = Progress(lambda event: None, 0, len(inner))
    return InnerAnswers.joined(
        [_answers_of_each(whole, data, split, loss, whole.settings(), silent) for split in inner]
    )


def _left_out(model: Any, data: TableData, train: Array) -> InnerAnswers | None:
    """The scores of rows that parts of the model had not seen; not where rows hang together, or were drawn more than once."""
    scores = model.left_out_scores()
    if scores is None or data.groups is not None or data.times is not None or (np.diff(train) <= 0).any():
        return None
    there = ~np.isnan(scores).any(axis=1)
    return of_one_model(data, train[there], scores[there], model) if there.any() else None


def prepare(data: TableData, train: Array, seed: int) -> None:
    """Find ahead what every model needs of these training rows: inner splits, and statistics for the encodings."""
    data.encoding(train, EVERYTHING[data.task])
    for split in _inner_splits_once(data, train, seed):
        data.encoding(split.train, EVERYTHING[data.task])


def _inner_splits_once(data: TableData, train: Array, seed: int) -> list[Split]:
    return data.once(train, ("inner", seed), lambda rows: inner_splits(data, rows, seed))


def inner_splits(data: TableData, train: Array, seed: int) -> list[Split]:
    """Splits of the training rows: stratified folds, or by group or time where the outer ones are, or the parts that searches share.

    Fewer folds where groups, moments or rows of a class are few; none where they are too few to split by.
    """
    rows = each_once(train)
    if data.parts is not None:
        return [split for split in by_parts(data.parts, rows, data.pairs) if data.learnable(split.train)]
    folds = min(5 if len(rows) <= FEW else 3, len(rows))
    group, moment = data.marks_of(rows)
    if group is not None:
        folds = min(folds, len(np.unique(group)))
    if moment is not None:
        folds = min(folds, len(np.unique(moment)) - 1)
    labels = None if data.classes is None else data.codes[rows]
    if labels is not None and moment is None:
        fewest = int(np.unique(labels, return_counts=True)[1].min())
        folds = min(folds, max(2, fewest))
        labels = None if fewest < 2 else labels
    if folds < (1 if moment is not None else 2):
        return []
    kind = "holdout" if len(rows) > MANY else "k-fold" if moment is None else "time"
    plan = Resampling(kind, folds=folds, seed=(seed + 1) % (1 << 64))
    found = make_splits(plan, len(rows), y=labels, groups=group, time=moment)
    return [split for s in found if data.learnable((split := Split(rows[s.train], rows[s.test])).train)]


@contextmanager
def quietly() -> Iterator[list[str]]:
    """Within, warnings are collected (each once) instead of shown."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("ignore", DataConversionWarning)
        yield notes
        notes.extend(dict.fromkeys(str(w.message) for w in caught))
