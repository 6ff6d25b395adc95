"""What is asked of a table, and the splits into rows to learn from and rows to test on that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import DataError, ParameterError
from assay.numerics import Array
from assay.selection.data import TableData
from assay.selection.held_out_rows import held_out_rows
from assay.selection.splits import Resampling, Split, make_splits
from assay.selection.table_claims import strata
from assay.selection.trial import learnable
from assay.tables.sources.source import Source

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
    seed: int
    weight: str | None
    group: str | None
    time: str | None


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


def splits_of(
    asked: Question, given: Any, table: TableData, source: Source, groups: Array | None, times: Array | None
) -> list[Split]:
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
        mask = held_out_rows(source, table.rows, split_facts(asked))
        pairs = [Split(np.flatnonzero(~mask), np.flatnonzero(mask))]
    else:
        rows = table.everything
        group, moment = (None if each is None else each[rows] for each in (groups, times))
        found = make_splits(plan, len(rows), y=strata(table, plan), groups=group, time=moment)
        pairs = [Split(rows[pair.train], rows[pair.test]) for pair in found]
    if table.w is not None:  # weight 0 is as good as absent
        pairs = [Split(pair.train[table.w[pair.train] > 0], pair.test[table.w[pair.test] > 0]) for pair in pairs]
    for number, pair in enumerate(pairs):
        if not len(pair.train) or not len(pair.test):
            raise DataError("A split has no rows on one side: hold out another share, or take another seed.")
        if not learnable(table, pair):
            raise DataError(
                f"In split {number + 1} of {len(pairs)} the rows to learn from hold a single class: take fewer folds, or another "
                "way to set rows aside."
            )
    return list(pairs)


def split_facts(asked: Question) -> dict[str, Any]:
    """The held-out part as a model file states it."""
    facts: dict[str, Any] = {"fraction": float(asked.resampling.share), "seed": int(asked.seed)}
    if asked.group is not None:
        facts["group"] = asked.group
    if asked.time is not None:
        facts["time"] = asked.time
    return facts
