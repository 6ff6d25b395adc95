"""How a comparison is planned: what is asked of a table, within which limits, the table opened, and its rows split.

rows ≥ 2000   a quarter is held out; models are searched on the rest by inner folds, and measured once on the held-out rows
fewer         ten folds; in each, models are searched on the other nine by inner folds (nested), and measured on the tenth
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.engines import Engine, Rows, engine_for
from assay.engines.engine import worker_count
from assay.engines.rows import memory_limit
from assay.errors import DataError, ParameterError, nearest
from assay.numerics import Array
from assay.selection.candidates import check_rare, check_target
from assay.selection.data import TableData
from assay.selection.held_out_rows import held_out_rows
from assay.selection.splits import Resampling, Split, make_splits
from assay.tables.encoding.columns import DATE_PARTS
from assay.tables.encoding.components import MOST_COMPONENTS
from assay.tables.encoding.encoding import MOST_CATEGORIES
from assay.tables.schema.schema import Schema, task_of
from assay.tables.sources.source import Source
from assay.tables.table_rows import TableRows, group_codes, moments

OF_CLASSES = ("zero-one", "log", "brier")
OF_NUMBERS = ("squared", "absolute")
SHARE_OF_MEMORY = 0.5  # tables that would take more of it, raw and encoded, are read as a stream
MANY = 2000  # rows from which a part is held out for good
FOLDS = 10
REPEATS = {"repeated": 5, "bootstrap": 25}


@dataclass(frozen=True)
class Question:
    """What is asked of a table, checked and complete: what `Comparison.question` records."""

    target: str
    task: str
    loss: str
    resampling: Resampling
    weight: str | None = None
    group: str | None = None
    time: str | None = None
    sample: int | None = None  # as many of the rows that are not held out are learnt from; None: all

    @property
    def seed(self) -> int:
        return self.resampling.seed

    @property
    def held_out(self) -> dict[str, Any]:
        """The held-out part as a model file states it."""
        facts: dict[str, Any] = {"fraction": float(self.resampling.share), "seed": int(self.seed)}
        return facts | {role: name for role in ("group", "time", "sample") if (name := getattr(self, role)) is not None}

    def recorded(self, where: str, /, **others: Any) -> dict[str, Any]:
        """Everything that was asked and is not empty, as arguments: enough to ask again."""
        plan = self.resampling
        facts = {
            "data": where,
            "target": self.target,
            "task": self.task,
            "loss": self.loss,
            "resampling": plan.kind,
            "folds": plan.folds,
            "repeats": plan.repeats,
            "share": plan.share,
            "seed": plan.seed,
            "weight": self.weight,
            "group": self.group,
            "time": self.time,
            **others,
        }
        return {k: v for k, v in facts.items() if v not in (None, [], {})}


@dataclass(frozen=True)
class Limits:
    """Seconds and bytes for each model, how many run side by side, and when all must be over (of time.monotonic); None: no limit."""

    timeout: float | None = None
    memory: int | None = None
    workers: int | None = None
    deadline: float | None = None

    def side_by_side(self, table: TableData, models: int) -> int:
        """How many processes run at a time; 0: none, the models run in this one, for a cluster has workers of its own."""
        if not engine_for(table.rows).shares_memory:
            return 0
        return min(worker_count() if self.workers is None else self.workers, models)


def check_loss(loss: str | None, classes: bool) -> str:
    """The loss of a comparison: by default zero-one for classes, squared for numbers."""
    known = OF_CLASSES if classes else OF_NUMBERS
    if loss is None:
        return known[0]
    name = loss.replace("_", "-").lower()
    if name not in known:
        what = "classes" if classes else "numbers"
        raise ParameterError(f"loss={loss!r} is not possible for a target of {what}. {nearest(name, known)}")
    return name


def open_table(source: Source, schema: Schema, task: str | None = None) -> TableData:
    """The table in memory where it fits there, else as a stream; with its targets checked."""
    assert schema.target is not None
    target = schema.target
    kind, _ = task_of(schema, task)
    if schema.n_rows < 4:
        raise DataError(f"{source.where} has {schema.n_rows} row(s): too few to fit on some and to test on others.")
    check_target(schema, kind, source.where)
    if kind == "classification":
        check_rare(schema)
    if not schema.used:
        raise DataError(
            "No column is left to learn from: all are ids, constants or set aside (assay schema DATA shows why; --kind COLUMN=KIND overrides)."
        )
    text = kind == "classification" and target.kind == "category"
    rows = TableRows(source, schema, target.name, schema.roles.get("weight"), text_target=text and not source.typed)
    table = TableData.of(schema, _engine_for(rows, schema).open(rows), kind == "classification")
    if table.in_memory:
        table.statistics(table.everything)  # infinite numbers are named here, by their row in the table
    if kind == "classification" and table.y.dtype.kind == "f" and (table.y % 1 != 0).any():
        raise ParameterError(
            f"The target {target.name!r} holds numbers with decimals, which are no classes: take task='regression' (--task regression), or "
            f"write them as text (--kind {target.name}=category)."
        )
    return table


def _engine_for(rows: TableRows, schema: Schema) -> Engine:
    """The engine in force; without one, memory where the table takes little of it, else a stream."""
    from assay.engines.engine import engine, in_force

    if in_force() is not None:
        return engine_for(rows)
    return engine("threads" if size_of(schema) <= SHARE_OF_MEMORY * memory_limit() else "stream")


def at_hand(rows: Rows, schema: Schema) -> Rows:
    """Rows of a table as a comparison has them: in memory where they fit there. A search made again goes the same way, to the last digit."""
    from assay.engines.engine import in_force

    if rows.resident or in_force() is not None or size_of(schema) > SHARE_OF_MEMORY * memory_limit():
        return rows
    return rows.in_memory()


def size_of(schema: Schema) -> float:
    """Bytes of a table in memory beside the same rows encoded, by the widest encoding: a column for each category."""
    wide = {
        "category": MOST_CATEGORIES,
        "date": len(DATE_PARTS) + 1,
        "text": MOST_COMPONENTS,
        "string": MOST_COMPONENTS,
    }
    encoded = sum(min(wide.get(c.kind, 1), len(c.levels or ()) or MOST_CATEGORIES) for c in schema.used)
    return 8.0 * schema.n_rows * (len(schema.used) + encoded)


def with_marks(table: TableData, source: Source) -> TableData:
    """The table with the groups and times of its rows, where its schema names columns of them."""
    group, time = (table.schema.roles.get(role) for role in ("group", "time"))
    groups = None if group is None else group_codes(source, group)[0]
    return replace(table, groups=groups, times=None if time is None else moments(source, time), source=source)


def given_splits(pairs: Any, n: int) -> list[Split]:
    """(train, test) row numbers as the user gives them, checked: whole numbers of rows that are there, none on both sides
    and none tested twice in one split (it would count as two)."""
    found = []
    for number, pair in enumerate(pairs):
        try:
            train, test = (np.sort(np.asarray(side)) for side in pair)
        except (TypeError, ValueError):
            raise ParameterError(
                f"Split {number} is not a pair (train, test) of row numbers: {str(pair)[:60]}"
            ) from None
        for side in (train, test):
            if side.ndim != 1 or (len(side) and side.dtype.kind not in "iu"):
                raise ParameterError(f"Split {number} must hold row numbers, whole numbers from 0 to {n - 1}.")
            if len(side) and not 0 <= side[0] <= side[-1] < n:
                raise ParameterError(
                    f"Split {number} names the row {side[0] if side[0] < 0 else side[-1]} of {n} rows."
                )
        both = np.intersect1d(train, test)
        if len(both):
            raise ParameterError(
                f"Split {number} has row {both[0]} on both sides: it would be tested on what it learnt."
            )
        twice = test[1:][test[1:] == test[:-1]]
        if len(twice):
            raise ParameterError(
                f"Split {number} tests row {twice[0]} more than once: a row asked again is no new row. Name it once."
            )
        found.append(Split(train.astype(np.int64), test.astype(np.int64)))
    if not found:
        raise ParameterError("No split was given: give at least one pair (train, test) of row numbers.")
    return found


def plan_of(
    resampling: Any,
    n: int,
    folds: int | None,
    repeats: int | None,
    share: float,
    seed: int,
    groups: Array | None = None,
    times: Array | None = None,
) -> Resampling:
    """How rows are split for testing, where the user leaves it open or says it in a word."""
    if resampling == "given" or (isinstance(resampling, Resampling) and resampling.kind == "given"):
        raise ParameterError("Splits are given as a list of (train, test) row numbers: resampling=[(train, test), …].")
    if isinstance(resampling, Resampling):
        _agree(resampling, folds=folds, repeats=repeats, share=share, seed=seed)
        return resampling
    if not isinstance(resampling, str):
        plan = Resampling("given", folds=len(resampling), seed=seed)
        _agree(plan, folds=folds, repeats=repeats, share=share)
        return plan
    if not 0 < share < 1:
        raise ParameterError(f"A share of {share!r} cannot be held out: it must lie between 0 and 1.")
    kind = resampling
    if kind == "auto":
        kind = "holdout" if n >= MANY and folds is None and repeats is None else "k-fold"
        kind = "repeated" if repeats is not None and repeats > 1 else kind
        kind = "time" if times is not None and kind != "holdout" else kind
    most = n if groups is None else len(np.unique(groups))
    if kind == "time" and times is not None:
        most = len(np.unique(times)) - 1
    usual = min(FOLDS, max(most, 1 if kind == "time" else 2))
    return Resampling(kind, folds=folds or usual, repeats=repeats or REPEATS.get(kind, 1), share=share, seed=seed)


def _agree(plan: Resampling, **said: Any) -> None:
    """A plan says everything: what is said beside it (other than by default) must not differ."""
    usual = {"folds": None, "repeats": None, "share": Resampling.share, "seed": Resampling.seed}
    for name, value in said.items():
        if value != usual[name] and value != getattr(plan, name):
            raise ParameterError(
                f"{name}={value!r} differs from the plan Resampling({plan.kind!r}, …), which has {name}={getattr(plan, name)!r}: "
                f"drop the argument {name}, or say it in the plan."
            )


def moments_of(plan: Resampling, n: int, times: Array | None) -> Array | None:
    """When each row was. A split by time without a column of times takes the rows in their order, and so must whatever is
    split within it."""
    return np.arange(n) if times is None and plan.kind == "time" else times


def splits_of(asked: Question, given: Any, table: TableData, source: Source) -> list[Split]:
    """The splits of a plan, or those that were given; every training side must be able to teach something."""
    plan = asked.resampling
    if plan.kind == "bootstrap" and not table.in_memory:
        raise ParameterError("A bootstrap draws rows more than once, which needs the table in memory: take k-fold.")
    if plan.kind == "given":
        pairs = given
        if not table.in_memory and any((side.train[1:] == side.train[:-1]).any() for side in pairs):
            raise ParameterError(
                "A given split names a training row more than once, which needs the table in memory: name each once."
            )
    elif plan.kind == "holdout":
        mask = held_out_rows(source, table.rows, asked.held_out)
        pairs = [Split(np.flatnonzero(~mask), np.flatnonzero(mask))]
    else:
        rows = table.everything
        groups, times = table.marks_of(rows)
        found = make_splits(plan, len(rows), y=table.strata(plan.folds), groups=groups, time=times)
        pairs = [Split(rows[pair.train], rows[pair.test]) for pair in found]
    if table.w is not None:  # weight 0 is as good as absent
        pairs = [Split(pair.train[table.w[pair.train] > 0], pair.test[table.w[pair.test] > 0]) for pair in pairs]
    for number, pair in enumerate(pairs):
        if not len(pair.train) or not len(pair.test):
            raise DataError("A split has no rows on one side: hold out another share, or take another seed.")
        if not table.learnable(pair.train):
            raise DataError(
                f"In split {number + 1} of {len(pairs)} the rows to learn from hold a single class: take fewer folds, or another "
                "way to set rows aside."
            )
    return list(pairs)
