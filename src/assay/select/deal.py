"""Dealing rows or whole groups of rows to folds: as evenly as possible, at random within that."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.engines.split import row_keys, unit_interval
from assay.numerics import Array, Floats


def class_order(codes: Array | None, keys: Array) -> Array:
    """The rows sorted by class and within a class at random (by key)."""
    order = np.argsort(keys)
    if codes is None:
        return order
    narrow = codes.astype(np.uint16) if codes.max() < 1 << 16 else codes  # 16 bits are sorted by radix
    by_class: Array = order[np.argsort(narrow[order], kind="stable")]
    return by_class


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
    table = _Table(sorted_groups, codes, shares)
    for run in np.split(order, starts[1:]):
        table.place(run)
    return table.fold


class _Table:
    """What lies in each fold so far."""

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
