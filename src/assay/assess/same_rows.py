"""Rows that occur more than once: across a split they leak the answers; with different targets nobody can get all of them right.

Every column becomes whole numbers (the bits of a number, the place of a text in a dictionary); rows are hashed on those, and
what the hash calls equal is compared in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.assess.groups import is_missing
from assay.assess.worry import Columns, Worry
from assay.errors import SchemaError
from assay.numerics import Array

MISSING = np.uint64(0x7FF8DEADBEEF0000)
FEW_KINDS = 0.5  # share of distinct rows
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio


def equal_rows(train: Columns, test: Columns) -> Array:
    """A number a row, of train and then of test: the same for equal rows and for no others, that of the first such row."""
    if list(train) != list(test):
        odd = sorted(set(train) ^ set(test))
        raise SchemaError(f"The two tables do not have the same columns, in the same order: {odd[:5]} are in one only.")
    both = [(np.asarray(train[c]), np.asarray(test[c])) for c in train]
    if not both:
        return np.empty(0, dtype=np.int64)
    mixed = np.zeros(sum(map(len, both[0])), dtype=np.uint64)
    for parts in both:
        mixed = (mixed ^ _codes(np.concatenate(parts))) * ODD
        mixed ^= mixed >> np.uint64(29)
    _, first, group = np.unique(mixed, return_index=True, return_inverse=True)
    leader: Array = first[group]
    followers = np.flatnonzero(leader != np.arange(len(leader)))
    for parts in both:  # two rows of one hash that differ after all: as good as never seen twice
        codes = _codes(np.concatenate(parts)) if len(followers) else mixed
        false = followers[codes[followers] != codes[leader[followers]]]
        leader[false] = false
    return leader


def _codes(column: Array) -> Array:
    if column.dtype.kind in "fiub":
        x = column.astype(np.float64) + 0.0  # −0 is 0
        bits: Array = np.where(np.isnan(x), MISSING, x.view(np.uint64))
        return bits if column.dtype.kind in "fb" or not _too_long(column) else column.astype(np.uint64)
    missing = is_missing(column)
    seen: dict[Any, int] = {}
    codes = np.fromiter((seen.setdefault(v, len(seen)) for v in column.tolist()), dtype=np.uint64, count=len(column))
    codes[missing] = MISSING
    return codes


def _too_long(column: Array) -> bool:
    """Whether whole numbers are past 2⁵³, where a float no longer tells them apart."""
    return len(column) > 0 and max(abs(int(column.min())), abs(int(column.max()))) > 1 << 53


def same_rows(train: Columns, y_train: Array, test: Columns, y_test: Array, classes: bool = True) -> list[Worry]:
    """What duplicates mean for this split: leaked held-out rows; and rows alike in every column but the target."""
    leader = equal_rows(train, test)
    n, found = len(y_train), []
    if not len(leader):
        return []
    seen = np.zeros(len(leader), dtype=bool)
    seen[leader[:n]] = True
    leaked = int(seen[leader[n:]].sum())
    if leaked:
        found.append(_leak(leaked, len(y_test), len(np.unique(leader)) / len(leader)))
    return found + (_contradictions(leader, np.concatenate([y_train, y_test])) if classes else [])


def _leak(leaked: int, n: int, distinct: float) -> Worry:
    """Where most rows of the table occur more than once, the columns take few values, and it is no wonder that they meet again."""
    share, few = leaked / n, distinct < FEW_KINDS
    seen = f"{leaked} of {n} held-out rows ({share:.1%}) equal a training row in every column"
    return Worry(
        "low" if few else "high" if share >= 0.05 else "medium",
        "held-out rows that are also training rows",
        f"{seen}; only {distinct:.0%} of all rows are distinct, so that may be chance."
        if few
        else f"{seen}: their error is no error on new rows.",
        "Drop duplicate rows before the split, or split so that equal rows stay together, unless they are different cases.",
    )


def _contradictions(leader: Array, y: Array) -> list[Worry]:
    """Σ over groups of equal rows of (rows − rows of the most frequent class): mistakes that no model can avoid."""
    _, codes = np.unique(y, return_inverse=True)
    K = int(codes.max()) + 1
    pairs, counts = np.unique(leader * K + codes, return_counts=True)
    group, first = np.unique(pairs // K, return_index=True)
    least = len(y) - int(np.maximum.reduceat(counts, first).sum())
    if least == 0:
        return []
    mixed = int((np.diff(np.append(first, len(pairs))) > 1).sum())
    return [
        Worry(
            "medium" if least / len(y) >= 0.01 else "low",
            "equal rows with different targets",
            f"{mixed} of {len(group)} distinct rows occur with more than one target: no model on these columns can get "
            f"fewer than {least} of the {len(y)} rows wrong ({least / len(y):.2%}).",
            "Add columns that tell such rows apart, or check how the target was recorded.",
        )
    ]
