"""What every model of a comparison is put through, each in a process of its own."""

from __future__ import annotations

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
from assay.hypotheses.one_fold import OneFold
from assay.numerics import Array
from assay.processes.supervisor import Job, Outcome, run_jobs
from assay.select.comparison import Entry
from assay.select.cross_validated import cross_validated_claim
from assay.select.data import TableData
from assay.select.entrants import Entrant
from assay.select.question import Question, split_facts
from assay.select.row_losses import row_losses
from assay.select.splits import Split
from assay.select.table_claims import encoding_claim
from assay.select.table_model import TableModel
from assay.select.trial import Trial, learnt, prepare, run_trial, search_settings
from assay.select.unused import give_back

MOST_PREPARED = 2_000_000  # rows of all splits together up to which inner splits are kept for all models
BETWEEN_EVENTS = 0.1  # seconds

OnEvent = Callable[[str, Any], None]


@dataclass(frozen=True)
class Work:
    """What every model is put through."""

    table: TableData
    splits: list[Split]
    asked: Question
    groups: Array | None
    times: Array | None

    def __call__(self, entrant: Entrant, tell: Callable[[Any], None]) -> tuple[list[Trial], Any, Any]:
        """The trials on all splits, the record of the model to hand over, and its search."""
        trials = []
        paced = Paced(tell)
        for number, split in enumerate(self.splits):
            tell(("split", number, len(self.splits)))
            trial = run_trial(
                entrant, self.table, split, self.asked.loss, self.asked.seed, self.groups, self.times, paced
            )
            trials.append(trial)
        tell(("split", len(self.splits), len(self.splits)))
        model, search = self._final(entrant, trials, paced)
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

    def _final(self, entrant: Entrant, trials: list[Trial], tell: Callable[[Any], None]) -> tuple[TableModel, Any]:
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
        search = search_settings(entrant, self.table, everything, asked.loss, asked.seed, self.groups, self.times, tell)
        setting = entrant.settings()[0] if search is None else search.settings[search.chosen]
        encoding, rows = learnt(entrant, self.table, everything)
        fitted = next(iter(entrant.model(**entrant.fixed).fit_each(rows, [setting])))
        claim = cross_validated_claim(self.table, self.splits, trials, asked.resampling, entrant, asked.loss)
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


class Paced:
    """Passes on one event in a while: on a small table fits end faster than anybody can look, and each event wakes the parent."""

    def __init__(self, tell: Callable[[Any], None]) -> None:
        self.tell, self.next = tell, 0.0

    def __call__(self, event: Any) -> None:
        now = monotonic()
        if now >= self.next:
            self.next = now + BETWEEN_EVENTS
            self.tell(event)


def run_all(
    taking_part: list[Entrant],
    work: Work,
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


def _length(entrant: Entrant) -> tuple[bool, int]:
    """How long a model may take, for comparing: what is learnt by one fold is quick however many settings there are."""
    return not issubclass(entrant.model, OneFold), len(entrant.settings())


def _wake() -> None:
    """Load once what every model needs: forked processes inherit it, and none has to load its own (0.4 s each)."""
    from assay.hypotheses.naive_bayes import GaussianNB

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
