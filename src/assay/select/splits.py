"""Splitting row numbers into a part to fit on and a part to test on, once or many times.

Everything follows from (seed, row number) by hashing: the same splits on every machine and with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from assay.engines.split import row_keys, unit_interval
from assay.errors import DataError, ParameterError, nearest
from assay.numerics import Array
from assay.select.coded import Named, codes_of, column_of
from assay.select.deal import choose_rows, deal_groups, deal_rows

KINDS = ("holdout", "k-fold", "repeated", "leave-one-out", "bootstrap", "given", "time")
REPEATED = ("repeated", "bootstrap")  # kinds that are done anew with another seed
MOST_LEFT_OUT = 3000  # splits are lists of rows: n of them hold n² numbers


class Split(NamedTuple):
    """Sorted row numbers (int64). A bootstrap's training rows are repeated as often as they were drawn."""

    train: Array
    test: Array


@dataclass(frozen=True)
class Resampling:
    """How rows are split.

    - "holdout": `share` of the rows is tested on, the rest fitted on; by time values: the last rows are tested on.
    - "k-fold", "repeated": each of `folds` parts is tested on once; `repeats` times anew.
    - "leave-one-out": each row is tested on by itself (grouped: each group).
    - "bootstrap": `repeats` times, n rows drawn with replacement are fitted on, and the rows not drawn are tested on.
    - "given": `groups` says it: a truth value (True: test), the words "train" and "test", or a name of the fold a row.
    - "time": `folds` times, the rows up to a moment are fitted on and the rows of the next stretch are tested on.
    """

    kind: str = "k-fold"
    folds: int = 5
    repeats: int = 1
    share: float = 0.25
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(f"There is no resampling {self.kind!r}. {nearest(self.kind, KINDS)}")
        least = {"k-fold": 2, "repeated": 2, "time": 1}.get(self.kind, 0)
        if self.folds < least:
            raise ParameterError(f"{self.folds} folds are not possible: give at least {least}.")
        if self.repeats < 1:
            raise ParameterError(f"{self.repeats} repeats are not possible: give at least 1.")
        if self.repeats > 1 and self.kind not in REPEATED:
            raise ParameterError(
                f"{self.kind!r} is done once, not {self.repeats} times: take 'repeated' (folds dealt anew each time) or 'bootstrap'."
            )
        if not 0 < self.share < 1:
            raise ParameterError(f"A share of {self.share!r} cannot be held out: it must lie between 0 and 1.")
        if not 0 <= self.seed < 1 << 64:
            raise ParameterError(f"The seed {self.seed!r} is not possible: give a whole number from 0 to 2⁶⁴ − 1.")

    def to_data(self) -> dict[str, Any]:
        """The plan as plain data."""
        return asdict(self)

    def seed_of(self, repeat: int) -> int:
        """The seed of one repeat; the first one's is the plan's own."""
        return self.seed if repeat == 0 else int(row_keys(repeat, 1, self.seed)[0])


def make_splits(resampling: Resampling, n: int, *, y: Any = None, groups: Any = None, time: Any = None) -> list[Split]:
    """The splits of n rows.

    y: labels or codes, to be spread as evenly over the folds as can be; floats are a regression's and change nothing.
    groups: rows of a group are never on both sides. time: when each row was (numbers, dates or sortable text); "time"
    without it takes the rows in their order.

    >>> for train, test in make_splits(Resampling("k-fold", folds=3), 6, y=list("aaabbb")):
    ...     print(train, test)
    [0 1 3 5] [2 4]
    [0 2 3 4] [1 5]
    [1 2 4 5] [0 3]
    """
    if n < 2:
        raise DataError(f"{n} row{'s' * (n != 1)} cannot be split: at least 2 are needed.")
    by_time = resampling.kind == "time" or time is not None
    if by_time and resampling.kind not in ("time", "holdout"):
        raise ParameterError(f"Time values go with the resampling 'time' or 'holdout', not with {resampling.kind!r}.")
    if by_time and groups is not None:
        raise ParameterError("Rows can be split by time or by group, not by both: leave one of them out.")
    if by_time:
        return _by_time(resampling, n, time)
    if resampling.kind == "given":
        return _given(n, groups)
    sides = _Sides(
        n, None if y is None else codes_of(y, n, "label"), None if groups is None else codes_of(groups, n, "group")
    )
    return _WAYS[resampling.kind](resampling, sides)


class _Sides(NamedTuple):
    """What a split must heed."""

    n: int
    labels: Named | None
    groups: Named | None

    @property
    def codes(self) -> Array | None:
        return None if self.labels is None else self.labels.codes


def _sides_of(test: Array) -> Split:
    return Split(np.flatnonzero(~test), np.flatnonzero(test))


def _enough_groups(groups: Named, folds: int) -> None:
    count = len(groups.names)
    if count < 2:
        raise DataError(
            f"All rows are in one group ({groups.names[0]}): there is nothing to keep apart. Leave the groups out."
        )
    if count < folds:
        raise ParameterError(f"{count} groups cannot fill {folds} folds: use at most {count} folds.")


def _enough_rows(sides: _Sides, folds: int) -> None:
    if folds > sides.n:
        raise ParameterError(f"{sides.n} rows cannot fill {folds} folds: use at most {sides.n} folds.")
    if sides.labels is None:
        return
    counts = np.bincount(sides.labels.codes)
    k = int(np.argmin(counts))
    if counts[k] < folds:
        few = f"Class {sides.labels.names[k]} has {counts[k]} row{'s' * int(counts[k] != 1)}, fewer than the {folds} folds:"
        fewer = f" use at most {counts[k]} folds, or" if counts[k] > 1 else ""
        raise ParameterError(f"{few}{fewer} leave that class out, or join it with another.")


def _holdout(plan: Resampling, sides: _Sides) -> list[Split]:
    if sides.groups is None:
        return [_sides_of(choose_rows(sides.codes, plan.share, row_keys(0, sides.n, plan.seed)))]
    _enough_groups(sides.groups, 2)
    side = deal_groups(sides.groups.codes, sides.codes, np.array([1 - plan.share, plan.share]), plan.seed)
    if not side.any():  # so few groups that the smaller side got none
        side[np.argmin(np.bincount(sides.groups.codes))] = 1
    elif side.all():
        side[np.argmin(np.bincount(sides.groups.codes))] = 0
    return [_sides_of(side[sides.groups.codes] == 1)]


def _folds(plan: Resampling, sides: _Sides) -> list[Split]:
    _enough_rows(sides, plan.folds)
    splits = []
    for r in range(plan.repeats):
        seed = plan.seed_of(r)
        if sides.groups is None:
            fold = deal_rows(sides.codes, plan.folds, row_keys(0, sides.n, seed))
        else:
            _enough_groups(sides.groups, plan.folds)
            shares = np.full(plan.folds, 1 / plan.folds)
            fold = deal_groups(sides.groups.codes, sides.codes, shares, seed)[sides.groups.codes]
        splits += [_sides_of(fold == f) for f in range(plan.folds)]
    return splits


def _leave_one_out(plan: Resampling, sides: _Sides) -> list[Split]:
    each = np.arange(sides.n) if sides.groups is None else sides.groups.codes
    if sides.groups is not None:
        _enough_groups(sides.groups, 2)
    count = int(each.max()) + 1
    if count * sides.n > MOST_LEFT_OUT**2:
        raise ParameterError(
            f"Leaving out one of {count} at a time means {count} fits of {sides.n} rows: use 'k-fold', with 10 folds it says as much."
        )
    return [_sides_of(each == i) for i in range(count)]


def _bootstrap(plan: Resampling, sides: _Sides) -> list[Split]:
    if sides.groups is None:
        return [_drawn(sides.n, sides.codes, plan, r) for r in range(plan.repeats)]
    _enough_groups(sides.groups, 2)
    of_group = np.split(np.argsort(sides.groups.codes, kind="stable"), np.cumsum(np.bincount(sides.groups.codes))[:-1])
    splits = []
    for r in range(plan.repeats):
        train, test = _drawn(len(of_group), None, plan, r)
        splits.append(Split(*(np.sort(np.concatenate([of_group[g] for g in side])) for side in (train, test))))
    return splits


def _drawn(n: int, codes: Array | None, plan: Resampling, repeat: int) -> Split:
    """n rows drawn with replacement, within each class, and the rows not drawn. A draw that leaves out none is repeated."""
    order = np.arange(n) if codes is None else np.argsort(codes, kind="stable")
    counts = np.array([n]) if codes is None else np.bincount(codes)
    size, first = np.repeat(counts, counts), np.repeat(np.cumsum(counts) - counts, counts)
    if counts.max() < 2:
        raise DataError("Every class has a single row: no draw within the classes leaves one out. Leave y out.")
    seed = plan.seed_of(repeat)
    while True:
        u = unit_interval(row_keys(0, n, seed))
        train = order[first + np.minimum((u * size).astype(np.int64), size - 1)]
        left_out = np.bincount(train, minlength=n) == 0
        if left_out.any():
            return Split(np.sort(train), np.flatnonzero(left_out))
        seed = int(row_keys(0, 1, seed)[0])


def _given(n: int, groups: Any) -> list[Split]:
    if groups is None:
        raise ParameterError(
            "The splits are to be given, but are not: say in `groups` which rows are tested on together."
        )
    column = column_of(groups, n, "split")
    if column.dtype.kind == "b":
        splits = [_sides_of(column)]
    else:
        named = codes_of(column, n, "split")
        assert named is not None
        words = {str(name).lower(): k for k, name in enumerate(named.names)}
        tested = [words["test"]] if set(words) == {"train", "test"} else range(len(named.names))
        splits = [_sides_of(named.codes == k) for k in tested]
    if any(not len(side) for split in splits for side in split):
        raise DataError("The given split has all rows on one side: mark some rows for testing and some for fitting.")
    return splits


def _by_time(plan: Resampling, n: int, time: Any) -> list[Split]:
    """Cut the rows in order of time near equal stretches, never between rows of one moment; test each on all before it."""
    moments = np.arange(n) if time is None else column_of(time, n, "time")
    moments = moments.astype(str) if moments.dtype.kind == "O" and isinstance(moments[0], str) else moments
    try:
        order = np.argsort(moments, kind="stable")
    except TypeError as error:
        raise DataError(f"The time values cannot be put in order ({error}): use numbers or dates alone.") from None
    sorted_moments = moments[order]
    possible = np.flatnonzero(sorted_moments[1:] != sorted_moments[:-1]) + 1
    if plan.kind == "holdout":
        wanted = np.array([n * (1 - plan.share)])
    else:
        wanted = n * np.arange(1, plan.folds + 1) / (plan.folds + 1)
    if len(possible) < len(wanted):
        most = f"use at most {len(possible)} folds" if len(possible) else "split in another way"
        raise DataError(
            f"There are only {len(possible) + 1} distinct time values for {len(wanted)} cuts between them: {most}."
        )
    cuts = [*_nearest_cuts(wanted, possible), n]
    return [Split(np.sort(order[:a]), np.sort(order[a:b])) for a, b in pairwise(cuts)]


def _nearest_cuts(wanted: Array, possible: Array) -> list[int]:
    """Rising cuts, each the possible one nearest to the wanted one that leaves enough for those after it."""
    at = -1
    cuts = []
    for j, target in enumerate(wanted):
        left = np.arange(at + 1, len(possible) - (len(wanted) - 1 - j))
        at = int(left[np.argmin(np.abs(possible[left] - target))])
        cuts.append(int(possible[at]))
    return cuts


_WAYS: dict[str, Callable[[Resampling, _Sides], list[Split]]] = {
    "holdout": _holdout,
    "k-fold": _folds,
    "repeated": _folds,
    "leave-one-out": _leave_one_out,
    "bootstrap": _bootstrap,
}
