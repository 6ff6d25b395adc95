"""Memory that this process no longer uses, given back to the system."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from assay.certify.certificate import UNUSABLE
from assay.certify.held_out import held_out_error, held_out_loss
from assay.certify.intervals import clopper_pearson
from assay.engines import engine_for
from assay.engines.threads import worker_count
from assay.estimator.one_fold import OneFold
from assay.numerics import Array
from assay.processes.supervisor import Job, Outcome, run_jobs
from assay.selection.candidates import Candidate
from assay.selection.comparison import Entry
from assay.selection.data import TableData
from assay.selection.question import Question, split_facts
from assay.selection.row_losses import row_losses
from assay.selection.splits import Split
from assay.selection.table_claims import cross_validated_claim, encoding_claim
from assay.selection.table_model import TableModel
from assay.selection.trial import Trial, learnt, prepare, run_trial, search_settings


def give_back() -> None:
    """Give back what was freed but is still held for later (glibc alone keeps some): 76 MB after reading 1e6×20 numbers."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


# What every model of a comparison is put through, each in a process of its own.

MOST_PREPARED = 2_000_000  # rows of all splits together up to which inner splits are kept for all models
BETWEEN_EVENTS = 0.1  # seconds

OnEvent = Callable[[str, Any], None]


@dataclass(frozen=True)
class CandidateWork:
    """What every model is put through."""

    table: TableData
    splits: list[Split]
    asked: Question
    groups: Array | None
    times: Array | None

    def __call__(self, candidate: Candidate, tell: Callable[[Any], None]) -> tuple[list[Trial], Any, Any]:
        """The trials on all splits, the record of the model to hand over, and its search."""
        trials = []
        throttled = Throttle(tell)
        for number, split in enumerate(self.splits):
            tell(("split", number, len(self.splits)))
            trial = run_trial(
                candidate, self.table, split, self.asked.loss, self.asked.seed, self.groups, self.times, throttled
            )
            trials.append(trial)
        tell(("split", len(self.splits), len(self.splits)))
        model, search = self._final(candidate, trials, throttled)
        for trial in trials:  # only plain numbers travel back
            trial.model = trial.encoding = None
        return trials, model.to_record(), search

    def prepare(self) -> None:
        """Find what all models need alike here, before they go to processes of their own."""
        if not self.table.in_memory or len(self.splits) * len(self.table) > MOST_PREPARED:
            return
        trains = [split.train for split in self.splits]
        if self.asked.resampling.kind != "holdout":
            trains.append(self.table.everything)
        for train in trains:
            prepare(self.table, train, self.asked.seed, self.groups, self.times)

    def _final(self, candidate: Candidate, trials: list[Trial], tell: Callable[[Any], None]) -> tuple[TableModel, Any]:
        """The model to hand over: that of the held-out split, else one searched and fitted on all rows."""
        asked = self.asked
        facts: dict[str, Any] = {"target": asked.target, **({"weight": asked.weight} if asked.weight else {})}
        if asked.resampling.kind == "holdout":
            trial = trials[0]
            assert trial.model is not None
            assert trial.encoding is not None
            model = TableModel(trial.model, trial.encoding, (encoding_claim(trial.encoding),))
            model.add_claims(*self._held_out(trial), split=split_facts(asked), **facts)
            return model, trial.search
        everything = self.table.everything
        search = search_settings(
            candidate, self.table, everything, asked.loss, asked.seed, self.groups, self.times, tell
        )
        setting = candidate.settings()[0] if search is None else search.settings[search.chosen]
        encoding, rows = learnt(candidate, self.table, everything)
        fitted = next(iter(candidate.model(**candidate.fixed).fit_each(rows, [setting])))
        claim = cross_validated_claim(self.table, self.splits, trials, asked.resampling, candidate, asked.loss)
        model = TableModel(fitted, encoding, (encoding_claim(encoding), *claim))
        model.add_claims(**facts)
        return model, search

    def _held_out(self, trial: Trial) -> list[Any]:
        test = self.splits[0].test
        split: dict[str, Any] = {"fraction": float(self.asked.resampling.share), "seed": int(self.asked.seed)}
        if self.table.classes is not None:
            errors = int(row_losses("zero-one", self.table, test, trial.answers).sum())
            return [held_out_error(errors, len(test), **split)]
        squared = row_losses("squared", self.table, test, trial.answers)
        if len(test) < 2:
            return []
        error = float(squared.std(ddof=1) / np.sqrt(len(test)))
        return [held_out_loss(float(squared.mean()), error, len(test), **split)]


class Throttle:
    """Passes on one event in a while: on a small table fits end faster than anybody can look, and each event wakes the parent."""

    def __init__(self, tell: Callable[[Any], None]) -> None:
        self.tell, self.next = tell, 0.0

    def __call__(self, event: Any) -> None:
        now = monotonic()
        if now >= self.next:
            self.next = now + BETWEEN_EVENTS
            self.tell(event)


def run_all(
    taking_part: list[Candidate],
    work: CandidateWork,
    timeout: float | None,
    memory: int | None,
    deadline: float | None,
    workers: int | None,
    tell: OnEvent,
) -> Any:
    """The outcomes in the order of the entrants. A cluster is asked from this process: it has workers of its own."""
    here = engine_for(work.table.rows).name == "cluster"
    cores = worker_count()
    side_by_side = 0 if here else min(workers if workers is not None else cores, len(taking_part))
    if side_by_side > 1 and _large(work.table):
        side_by_side = 1  # a copy of a large table for each model at a time would be too many
    threads = None if side_by_side == 0 else max(1, cores // side_by_side)
    if side_by_side:
        _wake()
        work.prepare()
        give_back()
    # side by side the longest first, so that none is left alone at the end; else the quickest, so that an early end leaves some
    longest_first = side_by_side > 1 and deadline is None
    ordered = sorted(taking_part, key=_length, reverse=longest_first)
    jobs = [Job(e.name, partial(work, e), threads) for e in ordered]
    found: dict[str, Outcome] = {}
    for outcome in run_jobs(
        jobs, workers=side_by_side, timeout=timeout, memory=memory, deadline=deadline, on_event=tell
    ):
        found[outcome.key] = outcome
        tell(outcome.key, ("ended", outcome.state, outcome.message, outcome.seconds, _risk(outcome)))
    return [found[e.name] for e in taking_part]


def _length(candidate: Candidate) -> tuple[bool, int]:
    """How long a model may take, for comparing: what is learnt by one fold is quick however many settings there are."""
    return not issubclass(candidate.model, OneFold), len(candidate.settings())


def _wake() -> None:
    """Load once what every model needs: forked processes inherit it, and none has to load its own (0.4 s each)."""
    from assay.families.naive_bayes.estimators import GaussianNB

    GaussianNB(n_jobs=1).fit(np.array([[0.0], [1.0]]), np.array([0, 1]))  # the compiler
    clopper_pearson(1, 2)  # the distributions that claims are made of


def _large(table: TableData) -> bool:
    return 8.0 * len(table) * len(table.schema.used) > 64e6


def _risk(outcome: Outcome) -> float | None:
    """A first look at the risk, for those who watch."""
    if outcome.state != "done":
        return None
    trials = outcome.value[0]
    return float(np.mean([t.test_risk for t in trials]))


def entry_of(outcome: Outcome) -> Entry:
    entry = Entry(outcome.key, outcome.state, outcome.message, outcome.seconds, outcome.peak_bytes)
    if outcome.state == "done":
        try:
            _fill(entry, outcome)
        except UNUSABLE as error:
            entry.state, entry.message = "failed", f"What it learnt cannot be used: {error}"
    return entry


def _fill(entry: Entry, outcome: Outcome) -> None:
    trials, record, search = outcome.value
    answers = trials[0].answers
    for trial in trials[1:]:
        answers = answers.joined(trial.answers)
    entry.answers = answers
    entry.model = TableModel.from_record(record)
    entry.setting = dict(trials[0].setting if search is None else search.settings[search.chosen])
    entry.search = search
    entry.fold_risks = np.array([t.test_risk for t in trials])
    entry.complexity = float(entry.model.model_.complexity())
    entry.columns = trials[0].columns
    entry.converged = all(t.converged for t in trials)
    entry.notes = list(dict.fromkeys(note for t in trials for note in t.notes))
    entry.trials = trials
