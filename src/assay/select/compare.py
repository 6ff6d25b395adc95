"""`assay.compare`: from a table to a verdict. Every registered model, searched and judged on rows it never saw.

    rows ≥ 2000   a quarter is held out; models are searched on the rest by inner folds, and measured once on the held-out rows
    fewer         ten folds; in each, models are searched on the other nine by inner folds (nested), and measured on the tenth

Each model runs in a process of its own: one that is slow, large or broken holds up nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from assay.certify.certificate import UNUSABLE
from assay.certify.held_out import held_out_error, held_out_loss
from assay.engines import engine_for
from assay.engines.engine import Engine
from assay.engines.threads import worker_count
from assay.errors import DataError, OneClassError, ParameterError
from assay.learner.prospect import Categories
from assay.numerics import Array
from assay.select.comparison import Comparison, Entry
from assay.select.cross_validated import cross_validated_claim
from assay.select.data import TableData
from assay.select.entrants import Entrant, entrants
from assay.select.isolation import Outcome, Task, run_tasks
from assay.select.judge import judged
from assay.select.question import Question, given_splits, moments_of, plan_of, split_facts, splits_of
from assay.select.row_losses import check_loss, row_losses
from assay.select.splits import Resampling, Split
from assay.select.table_claims import encoding_claim
from assay.select.table_model import TableModel
from assay.select.trial import Trial, learnt, prepare, run_trial, search_settings
from assay.tables.description.schema import Schema, infer, task_of
from assay.tables.one_column import group_codes, moments
from assay.tables.sources.remembered import forget, remembered
from assay.tables.sources.source import Source
from assay.tables.table_rows import TableRows
from assay.tables.tabled import table_source

MOST_PREPARED = 2_000_000  # rows of all splits together up to which inner splits are kept for all models
SHARE_OF_MEMORY = 0.25  # tables that would take more of the machine's memory are read as a stream

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
    on_event: OnEvent | None = None,
    **opening: Any,
) -> Comparison:
    """Compare all models on a table and recommend one.

    `data`: a path, a database address, a frame with the name of its `target`, or an array with the targets: compare(X, y). `resampling`: "auto", "holdout", "k-fold", "repeated",
    "leave-one-out", "bootstrap", "time", a `Resampling`, or a list of (train, test) row numbers. `models`/`without` name who takes
    part; `params` fixes hyper-parameters: {"linear-svc": {"C": 10}}. `timeout` (seconds) and `memory` (bytes) are for each model,
    `budget` (seconds) for everything. `group`: rows of one group never lie on both sides; `time`: models are tested
    on later rows than they learn from.
    """
    began = monotonic()
    deadline = None if budget is None else began + float(budget)
    if target is not None and not isinstance(target, str):
        if y is not None:
            raise ParameterError("The targets were given twice: compare(X, y), or compare(X, y=y).")
        target, y = None, target
    models, without = ([each] if isinstance(each, str) else each for each in (models, without))  # type: ignore[assignment]
    if target is None:
        if y is None:
            raise ParameterError(
                "Which column should be predicted? Give target='column', or the targets themselves as y."
            )
        target = "y"
    source = remembered(table_source(data, extra={target: y}, **opening))
    schema = infer(source, target=target, weight=weight, group=group, time=time, features=features, kinds=kinds)
    table = opened_table(source, schema, task, weight)
    forget(source)
    groups = None if group is None else group_codes(source, group)[0]
    times = None if time is None else moments(source, time)
    if not isinstance(resampling, str | Resampling):
        resampling = given_splits(resampling, len(table))
    plan = plan_of(resampling, len(table), folds, repeats, share, seed, groups, times)
    seed, times = plan.seed, moments_of(plan, len(table), times)
    asked = Question(target, table.task, check_loss(loss, table.classes is not None), plan, seed, weight, group, time)
    splits = splits_of(asked, resampling, table, source, groups, times)
    taking_part, left_out = entrants(
        schema,
        0 if table.classes is None else len(table.classes),
        spread=1.0 if table.classes is not None else magnitude(table.codes),
        only=models,
        without=without,
        fixed=params,
        categories=categories,
        probabilities=asked.loss in ("log", "brier"),
    )
    work = Work(table, splits, asked, groups, times)
    tell = Listener(on_event)
    tell("", ("plan", [e.name for e in taking_part], asked, len(table)))
    if budget is not None:
        from assay.select.budget import worth_the_time

        taking_part, dropped = worth_the_time(
            taking_part, work, began + budget, tell, timeout=timeout, memory=memory, workers=workers
        )
        left_out = [*left_out, *dropped]
    outcomes = list(_run(taking_part, work, timeout, memory, deadline, workers, tell))
    found = Comparison(
        data=table,
        where=source.where,
        task=asked.task,
        loss=asked.loss,
        resampling=plan,
        splits=splits,
        tested=np.concatenate([s.test for s in splits]),
        entries=[_entry(outcome) for outcome in outcomes],
        left_out=left_out,
        recommended=None,
        best=None,
        bracket=None,
        worries=[],
        verdict=[],
        question=_recorded(asked, source, models, without, params, categories, kinds, features, opening),
        provenance={"notes": list(source.notes)},
        interrupted=any(o.state == "interrupted" for o in outcomes),
        groups=groups,
        times=times,
    )
    return judged(found, began)


class Listener:
    """Passes events on; a listener that fails is not told any more, for nothing may be lost because of it."""

    def __init__(self, on_event: OnEvent | None) -> None:
        self.on_event = on_event

    def __call__(self, key: str, event: Any) -> None:
        try:
            if self.on_event is not None:
                self.on_event(key, event)
        except Exception:
            self.on_event = None


@dataclass(frozen=True)
class _Table(TableData):
    """Table data that know whether their target is learnt as classes or as a number."""

    task: str = "classification"


def opened_table(source: Source, schema: Schema, task: str | None, weight: str | None) -> _Table:
    """The table in memory where it fits there, else as a stream; with its targets looked at."""
    assert schema.target is not None
    target = schema.target
    kind, _ = task_of(schema, task)
    if schema.n_rows < 4:
        raise DataError(f"{source.where} has {schema.n_rows} row(s): too few to fit on some and to test on others.")
    if target.missing:
        raise DataError(
            f"The target {target.name!r} is missing in {target.missing} of {schema.n_rows} rows: leave these rows out, for they "
            f'teach nothing (a frame: dropna(subset=[{target.name!r}]); a file: --sql "select * from data where {target.name} is not null").'
        )
    if kind == "classification" and target.distinct < 2:
        raise OneClassError(
            f"The target {target.name!r} holds a single class in all {schema.n_rows} rows: there is nothing to tell apart."
        )
    if not schema.used:
        raise DataError(
            "No column is left to learn from: all are ids, constants or set aside (assay schema DATA shows why; --kind COLUMN=KIND overrides)."
        )
    text = kind == "classification" and target.kind == "category"
    rows = TableRows(source, schema, target.name, weight, text_target=text and not source.typed)
    engine = chosen_engine(rows, schema)
    base = TableData.of(schema, engine.open(rows), kind == "classification")
    if base.in_memory:
        base.statistics(base.everything)  # infinite numbers are named here, by their row in the table
    if kind == "classification" and base.y.dtype.kind == "f" and (base.y % 1 != 0).any():
        raise ParameterError(
            f"The target {target.name!r} holds numbers with decimals, which are no classes: take task='regression' (--task regression), or "
            f"write them as text (--kind {target.name}=category)."
        )
    return _Table(base.schema, base.rows, base.y, base.w, base.labels, task=kind)


def chosen_engine(rows: TableRows, schema: Schema) -> Engine:
    """The engine in force; without one, memory where the table takes little of it, else a stream."""
    from assay.engines.engine import _in_force, engine

    if _in_force.get() is not None:
        return engine_for(rows)
    size = 8.0 * schema.n_rows * len(schema.used)
    return engine("threads" if size <= SHARE_OF_MEMORY * machine_memory() else "stream")


def machine_memory() -> float:
    """Bytes of memory of this machine."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return 8e9


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
        for number, split in enumerate(self.splits):
            tell(("split", number, len(self.splits)))
            trial = run_trial(
                entrant, self.table, split, self.asked.loss, self.asked.seed, self.groups, self.times, tell
            )
            trials.append(trial)
        tell(("split", len(self.splits), len(self.splits)))
        model, search = self._final(entrant, trials, tell)
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


def _run(
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
    # side by side the longest first, so that none is left alone at the end; else the quickest, so that an early end leaves some
    longest_first = side_by_side > 1 and deadline is None
    ordered = sorted(taking_part, key=lambda e: len(e.settings()), reverse=longest_first)
    tasks = [Task(e.name, partial(work, e), threads) for e in ordered]
    found: dict[str, Outcome] = {}
    for outcome in run_tasks(
        tasks, workers=side_by_side, timeout=timeout, memory=memory, deadline=deadline, on_event=tell
    ):
        found[outcome.key] = outcome
        tell(outcome.key, ("ended", outcome.state, outcome.message, outcome.seconds, _risk(outcome)))
    return [found[e.name] for e in taking_part]


def _wake() -> None:
    """Start the compiler once here: every forked process inherits it, and none has to start its own (0.3 s each)."""
    from assay.hypotheses.naive_bayes import GaussianNB

    GaussianNB(n_jobs=1).fit(np.array([[0.0], [1.0]]), np.array([0, 1]))


def magnitude(y: Array) -> float:
    """The deviation of a target as a power of ten: enough to choose units by, and too rough to tell anything of single rows."""
    deviation = float(y.std())
    return 10.0 ** round(float(np.log10(deviation))) if 0 < deviation < np.inf else 1.0


def _large(table: TableData) -> bool:
    return 8.0 * len(table) * len(table.schema.used) > 64e6


def _risk(outcome: Outcome) -> float | None:
    """A first look at the risk, for those who watch."""
    if outcome.state != "done":
        return None
    trials = outcome.value[0]
    return float(np.mean([t.test_risk for t in trials]))


def _entry(outcome: Outcome) -> Entry:
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


def _recorded(
    asked: Question,
    source: Source,
    models: Any,
    without: Any,
    params: Any,
    categories: Any,
    kinds: Any,
    features: Any,
    opening: Mapping[str, Any],
) -> dict[str, Any]:
    facts = {
        "data": source.where,
        "target": asked.target,
        "task": asked.task,
        "loss": asked.loss,
        "resampling": asked.resampling.kind,
        "folds": asked.resampling.folds,
        "repeats": asked.resampling.repeats,
        "share": asked.resampling.share,
        "seed": asked.seed,
        "weight": asked.weight,
        "group": asked.group,
        "time": asked.time,
        "models": None if models is None else list(models),
        "without": list(without),
        "params": {k: dict(v) for k, v in (params or {}).items()},
        "categories": categories,
        "kinds": dict(kinds or {}),
        "features": None if features is None else list(features),
        **{k: v for k, v in opening.items() if v is not None},
    }
    return {k: v for k, v in facts.items() if v not in (None, [], {})}
