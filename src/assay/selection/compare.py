"""`assay.compare`: from a table to a verdict. Every registered model, searched and judged on rows it never saw.

What is asked is planned (plan.py), the models that can learn such a target are chosen (candidates.py) and, under a budget, those worth
the time (few_rows.py). Here they run, each in a process of its own: one that is slow, large or broken holds up nothing else. What they
answer is judged (judge.py).
"""

from __future__ import annotations

import ctypes
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from assay.certify.certificate import UNUSABLE
from assay.certify.claim import unclaimed
from assay.certify.held_out import clopper_pearson, held_out_error, held_out_loss
from assay.engines.engine import worker_count
from assay.errors import ParameterError
from assay.estimator.one_fold import OneFold
from assay.estimator.search_space import Categories
from assay.processes.child import Emit
from assay.processes.supervisor import Job, Outcome, run_jobs
from assay.selection.calibration_claim import LearntFrom, calibration_claim
from assay.selection.candidates import Candidate, candidates
from assay.selection.comparison import Comparison, Entry
from assay.selection.data import TableData, row_losses
from assay.selection.few_rows import begin_with_few, learnt_from, of_part, worth_the_time
from assay.selection.judge import judged
from assay.selection.loading import named_source, usual_target
from assay.selection.plan import (
    Limits,
    Question,
    check_loss,
    given_splits,
    moments_of,
    open_table,
    plan_of,
    splits_of,
    with_marks,
)
from assay.selection.refit import hand_over
from assay.selection.splits import Resampling, Split, parts_of
from assay.selection.table_claims import cross_validated_claim, encoding_claim
from assay.selection.table_model import TableModel
from assay.selection.trial import Trial, calibration_of, forget_answers, prepare, run_trial, search_and_fit
from assay.tables.answers import library_of
from assay.tables.schema.schema import infer
from assay.tables.sources.source import Source, cached, release_cache

BETWEEN_EVENTS = 0.1  # seconds
MOST_PREPARED = 2_000_000  # rows of all splits together up to which inner splits are kept for all models
FOR_MODELS = 0.9  # share of a budget that they may take: the rest is for the verdict, and for fitting the one that is handed over
LARGE_TABLE = 64e6  # bytes: a copy for each model at a time would be too many
SMALL_TABLE = 2e6  # bytes up to which models share processes, one after another: each for itself would load loops longer than it fits

OnEvent = Callable[[str, Any], None]


def compare(
    data: Any,
    target: Any = None,
    *,
    y: Any = None,
    task: str | None = None,
    loss: str | None = None,
    models: str | Sequence[str] | None = None,
    without: str | Sequence[str] = (),
    params: Mapping[str, Mapping[str, Any]] | None = None,
    resampling: str | Resampling | Sequence[Any] = "auto",
    folds: int | None = None,
    repeats: int | None = None,
    share: float = 0.25,
    seed: int = 0,
    weight: str | None = None,
    group: str | None = None,
    time: str | None = None,
    features: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
    categories: Categories | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    budget: float | None = None,
    workers: int | None = None,
    refit: bool = True,
    on_event: OnEvent | None = None,
    **opening: Any,
) -> Comparison:
    """Compare all models on a table and recommend one.

    `data`: a path, a database address, a frame with the name of its `target`, an array with the targets: compare(X, y), or a bundled
    dataset: compare("coins"). `resampling`: "auto", "holdout", "k-fold", "repeated",
    "leave-one-out", "bootstrap", "time", a `Resampling`, or a list of (train, test) row numbers. `models`/`without` name who takes
    part; `params` fixes hyper-parameters: {"linear-svc": {"C": 10}}. `timeout` (seconds) and `memory` (bytes) are for each model,
    `budget` (seconds) for everything. `refit`: where rows were held out to measure on, the recommended model is fitted again on
    all of them with its settings, and handed over. `group`: rows of one group never lie on both sides; `time`: models are tested
    on later rows than they learn from.
    """
    began = monotonic()
    limits = Limits(timeout, memory, workers, None if budget is None else began + float(budget))
    emit = Listener(on_event)
    target, y = _target(usual_target(data) if target is y is None else target, y)
    models, without = ([each] if isinstance(each, str) else each for each in (models, without))  # type: ignore[assignment]

    source = cached(named_source(data, extra={target: y}, **opening))
    schema = infer(source, target=target, weight=weight, group=group, time=time, features=features, kinds=kinds)
    table = open_table(source, schema, task)
    release_cache(source)
    table = with_marks(table, source)
    if not isinstance(resampling, str | Resampling):
        resampling = given_splits(resampling, len(table))
    counted = table.everything
    plan = plan_of(resampling, len(counted), folds, repeats, share, seed, *table.marks_of(counted))
    table = replace(table, times=moments_of(plan, len(table), table.times))
    asked = Question(target, table.task, check_loss(loss, table.classes is not None), plan, weight, group, time)
    splits = splits_of(asked, resampling, table, source)
    work = CandidateWork(replace(table, parts=parts_of(plan, splits, table)), splits, asked)
    taking_part, left_out = candidates(
        schema,
        0 if table.classes is None else len(table.classes),
        spread=table.spread,
        only=models,
        without=without,
        fixed=params,
        categories=categories,
    )

    emit("", ("plan", [e.name for e in taking_part], asked, len(table)))
    if budget is None:
        outcomes = run_all(taking_part, work, limits, emit)
    else:
        early = replace(limits, deadline=began + FOR_MODELS * float(budget))
        outcomes, dropped = _within(taking_part, work, source, early, emit)
        left_out = [*left_out, *dropped]

    found = Comparison(
        data=table,
        where=source.where,
        library=library_of(data),
        task=asked.task,
        loss=asked.loss,
        resampling=plan,
        splits=work.splits,
        tested=np.concatenate([s.test for s in work.splits]),
        entries=[entry_of(outcome, work) for outcome in outcomes],
        left_out=left_out,
        question=asked.recorded(
            source.where,
            models=None if models is None else list(models),
            without=list(without),
            params={k: dict(v) for k, v in (params or {}).items()},
            categories=categories,
            kinds=dict(kinds or {}),
            features=None if features is None else list(features),
            refit=None if refit else False,
            **opening,
        ),
        provenance={"notes": list(source.notes)},
        interrupted=any(o.state == "interrupted" for o in outcomes),
        deadline=limits.deadline,
    )
    judged(found, began)
    found.verdict[1:1] = of_part(found)
    return hand_over(found, limits, emit) if refit else found


def _within(
    taking_part: list[Candidate], work: CandidateWork, source: Source, limits: Limits, emit: OnEvent
) -> tuple[list[Outcome], list[tuple[str, str]]]:
    """The outcomes under a budget, and who dropped out: few rows first where rows are many, then those worth the time on all."""
    few = begin_with_few(taking_part, work, source, limits, emit, run_all)
    rest, dropped = (few.rest, []) if few.short else worth_the_time(few.rest, work, limits, emit)
    full = run_all(rest, work, limits, emit) if rest else []
    gone = {name for name, _ in dropped}
    outcomes = few.filled([each for each in taking_part if each.name not in gone], full)
    for outcome in outcomes:
        if outcome.key not in {each.key for each in full}:
            emit(outcome.key, ("ended", outcome.state, outcome.message, outcome.seconds, _risk(outcome)))
    return outcomes, dropped


def _target(target: Any, y: Any) -> tuple[str, Any]:
    """The name of the target, and the targets themselves where they are given beside the table."""
    if target is not None and not isinstance(target, str):
        if y is not None:
            raise ParameterError("The targets were given twice: compare(X, y), or compare(X, y=y).")
        target, y = None, target
    if target is None and y is None:
        raise ParameterError("Which column should be predicted? Give target='column', or the targets themselves as y.")
    return "y" if target is None else target, y


class Listener:
    """Passes events on; a listener that fails is called no more, for nothing may be lost because of it."""

    def __init__(self, on_event: OnEvent | None) -> None:
        self.on_event = on_event

    def __call__(self, key: str, event: Any) -> None:
        try:
            if self.on_event is not None:
                self.on_event(key, event)
        except Exception:
            self.on_event = None


def run_all(taking_part: list[Candidate], work: CandidateWork, limits: Limits, emit: OnEvent) -> list[Outcome]:
    """The outcomes in the order of the candidates."""
    side_by_side = limits.side_by_side(work.table, len(taking_part))
    size = 8.0 * work.rows * len(work.table.schema.used)
    if side_by_side > 1 and size > LARGE_TABLE:
        side_by_side = 1
    threads = None if side_by_side == 0 else max(1, worker_count() // side_by_side)
    if side_by_side:
        _load_once()
        _prepare(work)
        give_back()
    ordered = in_order(taking_part, side_by_side > 1 and limits.deadline is None)
    jobs = [Job(e.name, partial(work, e), threads) for e in ordered]
    found: dict[str, Outcome] = {}
    for outcome in run_jobs(
        jobs,
        workers=side_by_side,
        timeout=limits.timeout,
        memory=limits.memory,
        deadline=limits.deadline,
        keep=size <= SMALL_TABLE,
        on_event=emit,
    ):
        found[outcome.key] = outcome
        emit(outcome.key, ("ended", outcome.state, outcome.message, outcome.seconds, _risk(outcome)))
    return [found[e.name] for e in taking_part]


@dataclass(frozen=True)
class CandidateWork:
    """What every model is put through, in a process of its own."""

    table: TableData
    splits: list[Split]
    asked: Question

    @property
    def rows(self) -> int:
        """How many rows the work is about: not all of the table where few are learnt from."""
        return len(self.table) if self.asked.sample is None else sum(map(len, self.splits[0]))

    def __call__(self, candidate: Candidate, emit: Emit) -> tuple[list[Trial], Any, Any]:
        """The trials on all splits, the record of the model to hand over, and its search."""
        trials = []
        throttled = Throttle(emit)
        for number, split in enumerate(self.splits):
            emit(("split", number, len(self.splits)))
            with nullcontext() if self._hands_over_a_trial else unclaimed():
                asked = candidate, self.table, split, self.asked.loss, self.asked.seed
                trials.append(run_trial(*asked, throttled, len(self.splits)))
            emit(("fold", number + 1, len(self.splits), trials[-1].test_risk, trials[-1].train_risk))
        emit(("split", len(self.splits), len(self.splits)))
        model, search = self._final(candidate, trials, throttled)
        forget_answers(candidate, self.table, self.asked.loss)
        for trial in trials:  # only plain numbers travel back
            trial.model = trial.encoding = None
        return trials, model.to_record(), search

    @property
    def _hands_over_a_trial(self) -> bool:
        """Whether the model of the split is the one handed over; those of several are there to be measured, and one more is fitted."""
        return self.asked.resampling.kind == "holdout"

    def _final(self, candidate: Candidate, trials: list[Trial], emit: Emit) -> tuple[TableModel, Any]:
        """The model to hand over: that of the held-out split, else one searched and fitted on all rows."""
        asked = self.asked
        facts: dict[str, Any] = {"target": asked.target, **({"weight": asked.weight} if asked.weight else {})}
        if self._hands_over_a_trial:
            trial = trials[0]
            assert trial.model is not None
            assert trial.encoding is not None
            learnt_from = LearntFrom.of(candidate, asked, self.table, asked.held_out)
            claims = encoding_claim(trial.encoding), *calibration_claim(trial.calibration, learnt_from)
            model = TableModel(trial.model, trial.encoding, claims, trial.calibration)
            model.add_claims(*self._held_out(trial), split=asked.held_out, **facts)
            return model, trial.search
        fit = search_and_fit(candidate, self.table, self.table.everything, asked.loss, asked.seed, emit)
        search, _, encoding, rows, fitted = fit
        everything = self.table.everything
        calibration = calibration_of(candidate, self.table, everything, asked.loss, asked.seed, search, fitted, rows)
        claims = (
            encoding_claim(encoding),
            *calibration_claim(calibration, LearntFrom.of(candidate, asked, self.table)),
            *cross_validated_claim(self.table, self.splits, trials, asked.resampling, candidate, asked.loss),
        )
        model = TableModel(fitted, encoding, claims, calibration)
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
    """Passes on one event in a while: on a small table fits end faster than anybody can read, and each event wakes the parent."""

    def __init__(self, emit: Emit) -> None:
        self.emit, self.next = emit, 0.0

    def __call__(self, event: Any) -> None:
        now = monotonic()
        if now >= self.next:
            self.next = now + BETWEEN_EVENTS
            self.emit(event)


def in_order(taking_part: list[Candidate], at_leisure: bool) -> list[Candidate]:
    """The quickest first, so that an early end leaves some. At leisure, and side by side, those of one fold, which are there at once,
    and then the longest first, so that none is left alone at the end; families take turns, for models of one family share loops, and
    two that begin together would both compile them."""
    quickest = sorted(taking_part, key=_length)
    if not at_leisure:
        return quickest
    at_once = [e for e in quickest if issubclass(e.model, OneFold)]
    turns: Counter[str] = Counter()
    longest: list[tuple[int, int, Candidate]] = []
    for candidate in (e for e in reversed(quickest) if e not in at_once):
        family = ".".join(candidate.model.__module__.split(".")[:3])  # assay.families.<family>
        longest.append((turns[family], len(longest), candidate))
        turns[family] += 1
    return [*at_once, *(candidate for _, _, candidate in sorted(longest, key=lambda each: each[:2]))]


def _length(candidate: Candidate) -> tuple[bool, float]:
    """How long a model may take, for comparing: what is learnt by one fold is quick however many settings there are."""
    return not issubclass(candidate.model, OneFold), len(candidate.settings()) * candidate.search_space.cost


def _load_once() -> None:
    """Load once what every fit needs: forked processes inherit it, and none has to load its own (0.4 s each)."""
    from assay.compiled.mixing import mix_rows

    mix_rows(np.zeros((2, 1), dtype=np.uint64), 0, 0, np.zeros(1, dtype=np.uint64))  # the compiler
    clopper_pearson(1, 2)  # the distributions that claims are made of


def _prepare(work: CandidateWork) -> None:
    """Find what all models need alike here, before they go to processes of their own."""
    table, splits = work.table, work.splits
    if not table.in_memory or len(splits) * len(table) > MOST_PREPARED:
        return
    trains = [split.train for split in splits]
    if work.asked.resampling.kind != "holdout":
        trains.append(table.everything)
    for train in trains:
        prepare(table, train, work.asked.seed)


def give_back() -> None:
    """Give back what was freed but is still held for later (glibc alone keeps some): 76 MB after reading 1e6×20 numbers."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _risk(outcome: Outcome) -> float | None:
    """A first estimate of the risk, for those who watch."""
    if outcome.state != "done":
        return None
    trials = outcome.value[0]
    return float(np.mean([t.test_risk for t in trials]))


def entry_of(outcome: Outcome, work: CandidateWork) -> Entry:
    entry = Entry(outcome.key, outcome.state, outcome.message, outcome.seconds, outcome.peak_bytes)
    if outcome.state == "done":
        try:
            _fill(entry, outcome)
            if len(work.splits) == 1 and learnt_from(outcome) < len(work.splits[0].train):
                entry.learnt_from = learnt_from(outcome)
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
