"""Splitting row numbers into a part to fit on and a part to test on, once or many times.

Everything follows from (seed, row number) by hashing: the same splits on every machine and with any number of threads. Rows, or whole
groups of rows, are dealt to folds as evenly as possible, every class in equal shares, and at random within that.

Searches share their fits: each fold searches settings on the rows of the other folds; done apart, ten folds with five inner ones take 55 fits of every
setting. The folds are joined to few parts S_1 … S_m. The folds within S_a share one search, which leaves out all of S_a: its inner folds are the other
parts. Then the fit without S_a and S_b serves two searches, that of a, where it answers S_b, and that of b, where it answers S_a. The search
on all rows has S_a answered by the fit without S_a and its neighbour, which is there already. That is m(m − 1)/2 fits of every setting, 10 for five
parts. Nothing is given away: what a fold tests has no part in its search. (Files from before had m fits more, the search on all rows its own.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from assay.engines.derived import row_keys, unit_interval
from assay.errors import DataError, ParameterError, nearest
from assay.numerics import Array, Floats
from assay.selection.data import TableData

KINDS = ("holdout", "k-fold", "repeated", "leave-one-out", "bootstrap", "given", "time")
REPEATED = ("repeated", "bootstrap")  # kinds that are done anew with another seed
MOST_LEFT_OUT = 3000  # splits are lists of rows: n of them hold n² numbers
PARTS = 5
NO_PART = -1  # of a row that counts for nothing
PAIRS = "pairs"  # how a file says that the search on all rows had no fits of its own


class Split(NamedTuple):
    """Sorted row numbers (int64). A bootstrap's training rows are repeated as often as they were drawn."""

    train: Array
    test: Array


def each_once(rows: Array) -> Array:
    """Row numbers, each once, in order. Most rise already: looking takes a small part of the time that sorting does.

    >>> each_once(np.array([0, 3, 5])).tolist(), each_once(np.array([5, 0, 5])).tolist()
    ([0, 3, 5], [0, 5])
    """
    return rows if (rows[1:] > rows[:-1]).all() else np.unique(rows)


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
    labels: NamedCodes | None
    groups: NamedCodes | None

    @property
    def codes(self) -> Array | None:
        return None if self.labels is None else self.labels.codes


def _sides_of(test: Array) -> Split:
    return Split(np.flatnonzero(~test), np.flatnonzero(test))


def _enough_groups(groups: NamedCodes, folds: int) -> None:
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


def deal_rows(codes: Array | None, folds: int, keys: Array) -> Array:
    """The fold of each row: in the order of classes, row p goes to fold p mod folds.

    A class is a stretch of that order, so the folds' counts of a class, and their sizes, differ by at most 1.
    """
    fold = np.empty(len(keys), dtype=np.int64)
    fold[class_order(codes, keys)] = np.arange(len(keys)) % folds
    return fold


def choose_rows(codes: Array | None, share: float, keys: Array) -> Array:
    """True for round(share·n) rows: in the order of classes, where ⌊(p + 1)m/n⌋ steps up; a stretch gets its share ± 1.

    A class of a single row is never chosen: what cannot be seen cannot be learnt.
    """
    order = class_order(codes, keys)
    if codes is not None:
        order = order[np.bincount(codes)[codes[order]] > 1]
    n = len(order)
    m = min(max(1, round(share * len(keys))), n - 1)
    step = np.arange(n + 1) * m // max(n, 1)
    chosen = np.zeros(len(keys), dtype=bool)
    chosen[order[step[1:] > step[:-1]]] = True
    return chosen


def class_order(codes: Array | None, keys: Array) -> Array:
    """The rows sorted by class and within a class at random (by key)."""
    order = np.argsort(keys)
    if codes is None:
        return order
    narrow = codes.astype(np.uint16) if codes.max() < 1 << 16 else codes  # 16 bits are sorted by radix
    by_class: Array = order[np.argsort(narrow[order], kind="stable")]
    return by_class


def deal_groups(groups: Array, codes: Array | None, shares: Floats, seed: int) -> Array:
    """The fold of each group (codes 0 … G − 1), fold f to get about the share w_f of every class and of all rows.

    Greedy, large groups first: a group goes where it raises Σ_f Σ_k N_fk² / (w_f n_k²) least, N_fk the rows of class k in
    fold f, all rows counted as one more class. Groups of the same make-up are dealt in bulk, all but as many as are
    needed to level out what came before. Sizes are blurred by up to a factor of 2, so that a seed matters.
    """
    codes = np.zeros(len(groups), dtype=np.int64) if codes is None else codes
    sorted_groups = _sort_groups(groups, codes)
    sizes = sorted_groups.sizes
    jitter = unit_interval(sorted_groups.make_up ^ row_keys(0, 1, seed))
    keys = row_keys(0, len(sizes), seed)
    order = np.lexsort((keys, sorted_groups.make_up, -np.log2(sizes) - jitter))
    starts = np.flatnonzero(np.diff(sorted_groups.make_up[order], prepend=~sorted_groups.make_up[order[:1]]))
    counts = _FoldCounts(sorted_groups, codes, shares)
    for run in np.split(order, starts[1:]):
        counts.place(run)
    return counts.fold


class _Groups(NamedTuple):
    """Rows sorted by group: group g is order[first[g] : first[g + 1]]; `make_up` is a hash of how often it holds each class."""

    order: Array
    first: Array
    make_up: Array

    @property
    def sizes(self) -> Array:
        return np.diff(self.first)


def _sort_groups(groups: Array, codes: Array) -> _Groups:
    order = np.argsort(groups, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(groups))])
    with np.errstate(over="ignore"):
        make_up = np.add.reduceat(row_keys(0, int(codes.max()) + 1, 0)[codes[order]], first[:-1])
    return _Groups(order, first, make_up)


class _FoldCounts:
    """How many rows of each class lie in each fold so far."""

    def __init__(self, groups: _Groups, codes: Array, shares: Floats) -> None:
        self.groups, self.shares = groups, shares
        self.codes = codes[groups.order]
        self.n_classes = int(codes.max()) + 1
        totals = np.append(np.bincount(codes), len(codes)).astype(np.float64)
        self.scale = 1 / np.maximum(totals, 1) ** 2
        self.counts = np.zeros((len(shares), self.n_classes + 1))
        self.fold = np.empty(len(groups.first) - 1, dtype=np.int64)

    def place(self, run: Array) -> None:
        """Deal groups that all hold the same numbers of each class."""
        first, last = self.groups.first[run[0]], self.groups.first[run[0] + 1]
        c = np.bincount(self.codes[first:last], minlength=self.n_classes + 1).astype(np.float64)
        c[-1] = last - first
        done = self._in_bulk(run, c) if len(run) > len(self.shares) else 0
        scaled = self.scale * c
        own = scaled @ c
        for group in run[done:]:
            f = int(((2 * (self.counts @ scaled) + own) / self.shares).argmin())
            self.counts[f] += c
            self.fold[group] = f

    def _in_bulk(self, run: Array, c: Floats) -> int:
        """Deal groups of class counts c by the folds' shares, but for those that may be needed to level the folds."""
        spread = float(np.ptp(self.counts[:, -1] / self.shares)) * float(self.shares.max())
        singly = min(len(run), len(self.shares) * (math.ceil(spread / c[-1]) + 2))
        bulk = np.floor((len(run) - singly) * self.shares).astype(np.int64)
        self.counts += bulk[:, None] * c
        self.fold[run[: bulk.sum()]] = np.repeat(np.arange(len(self.shares)), bulk)
        return int(bulk.sum())


class NamedCodes(NamedTuple):
    """Codes 0 … K − 1 of the rows, and what they stand for."""

    codes: Array
    names: Array


def codes_of(values: Any, n: int, what: str) -> NamedCodes | None:
    """Values as codes; None for a regression's numbers. Whole numbers close together need no sorting."""
    a = column_of(values, n, what)
    if what == "label" and a.dtype.kind == "f":
        return None
    if a.dtype.kind in "iub":
        low, high = int(a.min()), int(a.max())
        if high - low < 4 * n:
            counts = np.bincount(a.astype(np.int64) - low)
            table = np.cumsum(counts > 0) - 1
            names = np.flatnonzero(counts) + low
            return NamedCodes(table[a.astype(np.int64) - low], names.astype(a.dtype))
    names, codes = np.unique(a if a.dtype.kind != "O" else a.astype(str), return_inverse=True)
    return NamedCodes(codes.reshape(-1).astype(np.int64), names)


def column_of(values: Any, n: int, what: str) -> Array:
    """One value a row, none of them missing."""
    a = np.asarray(values)
    if a.shape != (n,):
        raise DataError(f"There are {n} rows, but the {what} values have the shape {a.shape}: give one a row.")
    if a.dtype.kind == "O":
        missing = np.array([v is None or v != v for v in a.tolist()], dtype=bool)
    elif a.dtype.kind in "fcmM":
        missing = np.isnan(a) if a.dtype.kind in "fc" else np.isnat(a)
    else:
        return a
    if missing.any():
        first = int(np.argmax(missing))
        raise DataError(
            f"{int(missing.sum())} of {n} {what} values are missing (the first in row {first}): fill them in or leave those rows out."
        )
    return a


_WAYS: dict[str, Callable[[Resampling, _Sides], list[Split]]] = {
    "holdout": _holdout,
    "k-fold": _folds,
    "repeated": _folds,
    "leave-one-out": _leave_one_out,
    "bootstrap": _bootstrap,
}


def parts_of(plan: Resampling, splits: list[Split], table: TableData) -> Array | None:
    """(n,): the part of each row; None where the tests of a plan are not folds, or too few to be joined to parts."""
    if plan.kind not in ("k-fold", "leave-one-out") or len(splits) < PARTS:
        return None
    found = np.full(len(table), NO_PART)
    for split, part in zip(splits, _part_of_each(plan, splits, table)):
        found[split.test] = part
    return found


def _part_of_each(plan: Resampling, splits: list[Split], table: TableData) -> Array:
    """Folds side by side form a part; those of single rows are dealt anew, for rows are often sorted by class."""
    if plan.kind == "k-fold" or table.groups is not None:
        return np.arange(len(splits)) * PARTS // len(splits)
    dealt = make_splits(Resampling("k-fold", PARTS, seed=plan.seed), len(splits), y=table.strata(PARTS))
    found = np.empty(len(splits), dtype=np.int64)
    for part, split in enumerate(dealt):
        found[split.test] = part
    return found


def by_parts(parts: Array, rows: Array, pairs: bool) -> list[Split]:
    """The inner folds of some rows: the parts that lie wholly among them; `pairs`: where these are all, the fit that answers one leaves its neighbour
    out as well."""
    counts = np.bincount(parts[parts != NO_PART], minlength=PARTS)
    whole = np.flatnonzero((np.bincount(parts[rows], minlength=PARTS) == counts) & (counts > 0))
    kept = rows[np.isin(parts[rows], whole)]
    beside = dict(zip(whole, np.roll(whole, -1) if pairs and len(whole) == PARTS else whole))
    return [
        Split(kept[(parts[kept] != part) & (parts[kept] != beside[part])], kept[parts[kept] == part]) for part in whole
    ]


def shared_by(table: TableData) -> bool | str:
    """What a file says of it."""
    return False if table.parts is None else PAIRS if table.pairs else True


def outside(parts: Array, train: Array) -> Array:
    """The rows of all parts that some training rows leave out: every search that shares the fit tests among these."""
    return np.flatnonzero((parts != NO_PART) & ~np.isin(parts, parts[train]))
