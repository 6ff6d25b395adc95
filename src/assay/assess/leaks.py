"""Leaks: columns that are names of rows or the target in disguise, and rows that occur more than once.

Equal rows across a split leak the answers; with different targets nobody can get all of them right. To find them every column becomes
whole numbers (the bits of a number, the place of a text in a dictionary); rows are hashed on those, and what the hash calls equal is
compared in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.assess.curves import binary_auc
from assay.assess.groups import is_missing
from assay.assess.worry import Columns, Worry, evenly, names
from assay.errors import SchemaError
from assay.numerics import Array, Floats

ENOUGH = 20  # rows: fewer may well be all distinct by chance
FAR = 1e300  # where infinity is put, so that distances stay numbers
MOST = 50_000  # rows of each part that are used
NEARLY = 0.999  # AUC, or share of the error (of the variance) of guessing that one column takes away
MISSING = np.uint64(0x7FF8DEADBEEF0000)
FEW_KINDS = 0.5  # share of distinct rows
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio


def id_like(columns: Columns) -> list[Worry]:
    """Columns of whole numbers or texts in which no value occurs twice."""
    found = tuple(name for name, column in columns.items() if _all_distinct(np.asarray(column)))
    if not found:
        return []
    return [
        Worry(
            "medium",
            "columns that look like names of rows",
            f"Every row has its own value of {names(found)}. Such a column says nothing about new rows, and a lot about the order of the old ones.",
            "Leave it out, unless it is a measurement.",
            found,
        )
    ]


def _all_distinct(column: Array) -> bool:
    if len(column) < ENOUGH or column.dtype.kind == "b" or is_missing(column).any():
        return False
    if column.dtype.kind == "f" and not (np.isfinite(column).all() and (column == np.floor(column)).all()):
        return False
    if len(set(column[:1000].tolist())) < len(column[:1000]):  # soon over for most columns
        return False
    return len(np.unique(column if column.dtype.kind in "fiu" else column.astype(str))) == len(column)


def target_like(train: Columns, y_train: Any, test: Columns, y_test: Any, classes: bool = True) -> list[Worry]:
    """Columns that alone give the held-out target away: each row answers with the nearest training value of that column.

    classes: the most frequent class there; numbers: the mean target there. Found where that takes away 99.9 % of the
    error (of the variance) of guessing, or where the column ranks two classes with an AUC of 0.999 or more.
    """
    y_train, y_test = np.asarray(y_train), np.asarray(y_test)
    old, new = evenly(len(y_train), MOST), evenly(len(y_test), MOST)
    y_train, y_test = y_train[old], y_test[new]
    if min(len(y_train), len(y_test)) < ENOUGH:
        return []
    if classes:
        known, codes = np.unique(np.concatenate([y_train, y_test]), return_inverse=True)
        a, b = codes[: len(y_train)], codes[len(y_train) :]
    else:
        known, a, b = np.empty(0), y_train.astype(np.float64), y_test.astype(np.float64)
    taken = {c: _taken_away(np.asarray(train[c])[old], a, np.asarray(test[c])[new], b, len(known)) for c in train}
    found = sorted((c for c, share in taken.items() if share >= NEARLY), key=lambda c: -taken[c])
    return [
        Worry(
            "high" if len(y_test) >= 100 else "medium",
            "a column that gives the target away",
            f"{name!r} alone tells the target of {len(y_test)} held-out rows as good as perfectly.",
            "Ask whether it is known before the target is. If not, leave it out; if it is, you need no other column.",
            (name,),
        )
        for name in found
    ]


def _taken_away(x: Array, y: Array, x_new: Array, y_new: Array, K: int) -> float:
    """The share of the error (variance) of guessing that the column alone takes away on the new rows; or its AUC if greater."""
    u, v = _ordered(x, x_new)
    values, where = np.unique(u, return_inverse=True)
    counts = np.bincount(where)
    at = _nearest(values, v)
    if K == 0:
        means = np.bincount(where, y) / counts
        spread = float(((y_new - y.mean()) ** 2).mean())
        return 1 - float(((y_new - means[at]) ** 2).mean()) / spread if spread > 0 else 0.0
    table = np.bincount(where * K + y, minlength=len(values) * K).reshape(-1, K)
    guess = float((y_new != np.bincount(y).argmax()).mean())
    alone = 1 - float((y_new != table.argmax(axis=1)[at]).mean()) / guess if guess > 0 else 0.0
    if K != 2 or x.dtype.kind not in "fiub" or len(np.unique(y_new)) < 2:
        return alone
    area = binary_auc(y_new == 1, v).value
    return max(alone, area, 1 - area)


def _ordered(x: Array, x_new: Array) -> tuple[Floats, Floats]:
    """Both columns as numbers: texts as places in their common dictionary, missing values below all."""
    both = np.concatenate([x, x_new])
    if both.dtype.kind in "fiub":
        numbers = both.astype(np.float64)
    else:
        _, places = np.unique(both.astype(str), return_inverse=True)
        numbers = np.where(is_missing(both), np.nan, places.astype(np.float64))
    known = numbers[np.isfinite(numbers)]
    least = float(known.min()) - 1 if len(known) else 0.0
    numbers = np.clip(np.where(np.isnan(numbers), least, numbers), -FAR, FAR)
    return numbers[: len(x)], numbers[len(x) :]


def _nearest(values: Floats, v: Floats) -> Array:
    """The place in sorted values that is nearest to each v."""
    right = np.clip(np.searchsorted(values, v), 1, max(1, len(values) - 1))
    left = right - 1
    right = np.minimum(right, len(values) - 1)
    return np.where(np.abs(v - values[left]) <= np.abs(values[right] - v), left, right)


def same_rows(train: Columns, y_train: Array, test: Columns, y_test: Array, classes: bool = True) -> list[Worry]:
    """What duplicates mean for this split: leaked held-out rows; and rows alike in every column but the target."""
    leader = equal_rows(train, test)
    n, found = len(y_train), []
    if not len(leader):
        return []
    in_train = np.zeros(len(leader), dtype=bool)
    in_train[leader[:n]] = True
    leaked = int(in_train[leader[n:]].sum())
    if leaked > 1:  # one row may be chance
        found.append(_leak(leaked, len(y_test), len(np.unique(leader)) / len(leader)))
    return found + (_contradictions(leader, np.concatenate([y_train, y_test])) if classes else [])


def _leak(leaked: int, n: int, distinct: float) -> Worry:
    """Where most rows of the table occur more than once, the columns take few values, and it is no wonder that they meet again."""
    share, few = leaked / n, distinct < FEW_KINDS
    equal = f"{leaked} of {n} held-out rows ({share:.1%}) equal a training row in every column"
    return Worry(
        "low" if few else "high" if share >= 0.05 else "medium",
        "held-out rows that are also training rows",
        f"{equal}; only {distinct:.0%} of all rows are distinct, so that may be chance."
        if few
        else f"{equal}: their error is no error on new rows.",
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
    places: dict[Any, int] = {}
    codes = np.fromiter(
        (places.setdefault(v, len(places)) for v in column.tolist()), dtype=np.uint64, count=len(column)
    )
    codes[missing] = MISSING
    return codes


def _too_long(column: Array) -> bool:
    """Whether whole numbers are past 2⁵³, where a float no longer tells them apart."""
    return len(column) > 0 and max(abs(int(column.min())), abs(int(column.max()))) > 1 << 53
