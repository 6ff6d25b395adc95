"""A table made ready for a comparison: in memory where it fits there, its target looked at."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from assay.engines import engine_for
from assay.engines.engine import Engine
from assay.errors import DataError, OneClassError, ParameterError
from assay.estimator.search_space import Categories
from assay.numerics import Array
from assay.selection.candidates import candidates
from assay.selection.comparison import Comparison
from assay.selection.data import TableData
from assay.selection.judge import judged
from assay.selection.question import Question, given_splits, moments_of, plan_of, splits_of
from assay.selection.row_losses import check_loss
from assay.selection.splits import Resampling
from assay.selection.work import CandidateWork, OnEvent, entry_of, run_all
from assay.tables.schema.schema import Schema, infer, task_of
from assay.tables.sources.recognise import table_source
from assay.tables.sources.source import Source, cached, release_cache
from assay.tables.table_rows import TableRows, group_codes, moments

SHARE_OF_MEMORY = 0.25  # tables that would take more of the machine's memory are read as a stream


@dataclass(frozen=True)
class OpenedTable(TableData):
    """Table data that know whether their target is learnt as classes or as a number."""

    task: str = "classification"


def opened_table(source: Source, schema: Schema, task: str | None, weight: str | None) -> OpenedTable:
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
    return OpenedTable(base.schema, base.rows, base.y, base.w, base.labels, base.memory, task=kind)


def chosen_engine(rows: TableRows, schema: Schema) -> Engine:
    """The engine in force; without one, memory where the table takes little of it, else a stream."""
    from assay.engines.engine import engine, in_force

    if in_force() is not None:
        return engine_for(rows)
    size = 8.0 * schema.n_rows * len(schema.used)
    return engine("threads" if size <= SHARE_OF_MEMORY * machine_memory() else "stream")


def machine_memory() -> float:
    """Bytes of memory of this machine."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return 8e9


def magnitude(y: Array) -> float:
    """The deviation of a target as a power of ten: enough to choose units by, and too rough to tell anything of single rows."""
    deviation = float(y.std())
    return 10.0 ** round(float(np.log10(deviation))) if 0 < deviation < np.inf else 1.0


# `assay.compare`: from a table to a verdict. Every registered model, searched and judged on rows it never saw.
#
#     rows ≥ 2000   a quarter is held out; models are searched on the rest by inner folds, and measured once on the held-out rows
#     fewer         ten folds; in each, models are searched on the other nine by inner folds (nested), and measured on the tenth
#
# Each model runs in a process of its own: one that is slow, large or broken holds up nothing else.


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
    source = cached(table_source(data, extra={target: y}, **opening))
    schema = infer(source, target=target, weight=weight, group=group, time=time, features=features, kinds=kinds)
    table = opened_table(source, schema, task, weight)
    release_cache(source)
    groups = None if group is None else group_codes(source, group)[0]
    times = None if time is None else moments(source, time)
    if not isinstance(resampling, str | Resampling):
        resampling = given_splits(resampling, len(table))
    counted = table.everything
    marks = (None if each is None else each[counted] for each in (groups, times))
    plan = plan_of(resampling, len(counted), folds, repeats, share, seed, *marks)
    seed, times = plan.seed, moments_of(plan, len(table), times)
    asked = Question(target, table.task, check_loss(loss, table.classes is not None), plan, seed, weight, group, time)
    splits = splits_of(asked, resampling, table, source, groups, times)
    taking_part, left_out = candidates(
        schema,
        0 if table.classes is None else len(table.classes),
        spread=1.0 if table.classes is not None else magnitude(table.codes[counted]),
        only=models,
        without=without,
        fixed=params,
        categories=categories,
        probabilities=asked.loss in ("log", "brier"),
    )
    work = CandidateWork(table, splits, asked, groups, times)
    tell = Listener(on_event)
    tell("", ("plan", [e.name for e in taking_part], asked, len(table)))
    if budget is not None:
        from assay.selection.budget import worth_the_time

        taking_part, dropped = worth_the_time(
            taking_part, work, began + budget, tell, timeout=timeout, memory=memory, workers=workers
        )
        left_out = [*left_out, *dropped]
    outcomes = list(run_all(taking_part, work, timeout, memory, deadline, workers, tell))
    found = Comparison(
        data=table,
        where=source.where,
        task=asked.task,
        loss=asked.loss,
        resampling=plan,
        splits=splits,
        tested=np.concatenate([s.test for s in splits]),
        entries=[entry_of(outcome) for outcome in outcomes],
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
