"""Short strings with many values (cities, names, codes): how frequent a value is, and what the target is where it occurs.

    count  log of the rows of the fit with the value; 0 of a value that is new or occurs once
    mean   (Σ y + a·m)/(rows + a) over the rows of the fit with the value, m the mean of all rows, a = 5 (Micci-Barreca 2001);
           of classes the share of each but the first

A row's own target must not be told to the model by its mean. So the rows of the fit are put into five parts by their number, and each
gets means of the other four parts (out-of-fold); every other row gets means of all five.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.engines.derived import keys_of
from assay.numerics import Array, Floats
from assay.tables.encoding.columns import ColumnGroups, StringValues

Target = Literal["", "classes", "number"]
PARTS = 5
SHRINKAGE = 5.0
MOST_VALUES = 10_000  # the most frequent
MOST_MEANS = 10  # columns of means: more classes than these and the most frequent count
FEWEST_ROWS = 2  # a value of one row says nothing of others
LARGEST_KEY = float(1 << 53)
ENTRIES = ("keys", "counts", "sums", "parts", "totals", "labels", "missing", "mean", "scale")


class GatheredKeys(NamedTuple):
    """Of some rows the values of the strings as keys, and the targets."""

    keys: Floats  # (m, s): NaN where missing
    y: Array | None


def strings_of(engine: Engine, groups: ColumnGroups, target: Target, rows: Rows) -> tuple[StringValues, ...]:
    """The values of each column of strings, from the rows of the fit; the same bits on every engine."""
    if not groups.strings:
        return ()
    found = fold(engine, rows.blocks(), _GatherKeys(groups), _both)
    assert found is not None
    labels, T = targets_as_columns(found.y, target if found.y is not None else "")
    return tuple(_values(found.keys[:, s], T, labels) for s in range(len(groups.strings)))


@dataclass(frozen=True)
class _GatherKeys:
    groups: ColumnGroups

    def __call__(self, block: Block) -> GatheredKeys:
        return GatheredKeys(self.groups.expand(block.X).keys, block.y)


def _both(a: GatheredKeys, b: GatheredKeys) -> GatheredKeys:
    y = None if a.y is None or b.y is None else np.concatenate([a.y, b.y])
    return GatheredKeys(np.concatenate([a.keys, b.keys]), y)


def targets_as_columns(y: Array | None, target: Target) -> tuple[tuple[str, ...], Floats]:
    """(names, (n, c)): the number itself, or a 1 for each class but the first (of many, for each of the most frequent)."""
    if y is None or not target:
        return (), np.zeros((0 if y is None else len(y), 0))
    if target == "number":
        return ("",), np.asarray(y, dtype=np.float64)[:, None]
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    shown = np.arange(1, len(classes))
    if len(shown) > MOST_MEANS:
        shown = np.sort(np.argsort(-counts, kind="stable")[:MOST_MEANS])
    return tuple(str(label) for label in classes[shown].tolist()), (codes[:, None] == shown).astype(np.float64)


def part_of(first: int, rows: int) -> Array:
    """The part of each of some rows of the fit, by its number among them."""
    return (keys_of(np.arange(first, first + rows, dtype=np.uint64), 5) % np.uint64(PARTS)).astype(np.int64)


def _values(keys: Floats, T: Floats, labels: tuple[str, ...]) -> StringValues:
    n, part = len(keys), part_of(0, len(keys))
    T = T if len(T) == n else np.zeros((n, 0))
    present = ~np.isnan(keys)
    values, where, rows = np.unique(keys[present], return_inverse=True, return_counts=True)
    kept = np.sort(np.lexsort((values, -rows))[:MOST_VALUES])
    kept = kept[rows[kept] >= FEWEST_ROWS]
    cell = where * PARTS + part[present]
    counts = _added(cell, None, len(values) * PARTS).reshape(-1, PARTS)[kept].astype(np.int64)
    sums = [_added(cell, t[present], len(values) * PARTS).reshape(-1, PARTS)[kept] for t in T.T]
    totals = [_added(part, t, PARTS) for t in T.T]
    found = StringValues(
        values[kept],
        counts,
        np.stack(sums, axis=2) if sums else np.zeros((*counts.shape, 0)),
        np.bincount(part, minlength=PARTS),
        np.stack(totals, axis=1) if totals else np.zeros((PARTS, 0)),
        labels if sums else (),
        int(n - present.sum()),
        np.zeros(1 + len(sums)),
        np.ones(1 + len(sums)),
    )
    Z = string_columns(keys, found, 0)
    scale = Z.std(axis=0)
    return found._replace(mean=Z.mean(axis=0), scale=np.where(scale > 1e-12 * np.abs(Z).max(axis=0), scale, 1.0))


def _added(cell: Array, weights: Array | None, width: int) -> Array:
    return np.bincount(cell, weights=weights, minlength=width)


def string_columns(keys: Floats, found: StringValues, first: int | None) -> Floats:
    """(m, 1 + c): count and means of some rows; `first` is the number of the first of them among the rows of the fit, None of others."""
    at = np.searchsorted(found.keys, keys)
    at = np.where((at < len(found.keys)) & ~np.isnan(keys), at, 0)
    known = found.keys[at] == keys if len(found.keys) else np.zeros(len(keys), bool)
    rows = np.where(known, found.counts.sum(axis=1)[at], 1) if len(found.keys) else np.ones(len(keys))
    columns = [np.log(rows)]
    if found.labels:
        columns += list(_means(at, known, found, None if first is None else part_of(first, len(keys))).T)
    return np.stack(columns, axis=1)


def _means(at: Array, known: Array, found: StringValues, part: Array | None) -> Floats:
    all_rows, total = found.parts.sum(), found.totals.sum(axis=0)
    own_rows, own = (0, 0.0) if part is None else (found.parts[part], found.totals[part])
    others = np.maximum(all_rows - own_rows, 1)
    prior = (total - own) / (others if part is None else others[:, None])
    prior = np.broadcast_to(prior, (len(at), len(total)))
    if not len(found.keys):
        return np.array(prior)
    rows, sums = found.counts.sum(axis=1)[at], found.sums.sum(axis=1)[at]
    if part is not None:
        rows, sums = rows - found.counts[at, part], sums - found.sums[at, part]
    mean = (sums + SHRINKAGE * prior) / (rows + SHRINKAGE)[:, None]
    return np.where(known[:, None], mean, prior)


def string_names(column: str, found: StringValues) -> list[str]:
    """What the columns of a string are called."""
    means = [f"{column} (share of {label})" if label else f"{column} (mean target)" for label in found.labels]
    return [f"{column} (rows, log)", *means]


# --- files ------------------------------------------------------------------------------------------------------------


def string_to_data(found: StringValues) -> dict[str, Any]:
    """As plain data."""
    plain = {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found._asdict().items()
    }
    return {**plain, "labels": list(found.labels)}


def string_from_data(data: Any, n: int) -> StringValues:
    """From plain data that has not been trusted; ValueError unless it fits together and to n rows."""
    if not isinstance(data, dict) or set(data) != set(ENTRIES) or not isinstance(data["keys"], list):
        raise ValueError("values of strings without their entries")
    labels, u = data["labels"], len(data["keys"])
    if not isinstance(labels, list) or len(labels) > MOST_MEANS or not all(isinstance(label, str) for label in labels):
        raise ValueError("means without names")
    c = len(labels)
    keys = _numbers(data["keys"], (u,))
    counts, parts = (_numbers(data[name], shape) for name, shape in (("counts", (u, PARTS)), ("parts", (PARTS,))))
    sums, totals = (_numbers(data[name], shape) for name, shape in (("sums", (u, PARTS, c)), ("totals", (PARTS, c))))
    mean, scale = (_numbers(data[name], (1 + c,)) for name in ("mean", "scale"))
    missing = data["missing"]
    whole = all((a == np.floor(a)).all() and (a >= 0).all() for a in (keys, counts, parts))
    if not whole or u > MOST_VALUES or (np.diff(keys) <= 0).any() or (keys > LARGEST_KEY).any() or (scale <= 0).any():
        raise ValueError("values of strings that cannot be")
    if type(missing) is not int or not 0 <= missing <= n or parts.sum() != n or counts.sum() > n - missing:
        raise ValueError(f"values of strings that are not those of {n} rows")
    whole_counts, whole_parts = counts.astype(np.int64), parts.astype(np.int64)
    return StringValues(keys, whole_counts, sums, whole_parts, totals, tuple(labels), missing, mean, scale)


def _numbers(values: Any, shape: tuple[int, ...]) -> Array:
    """Finite numbers in lists of lists of this shape."""
    flat = [values]
    for length in shape:
        if not all(isinstance(inner, list) and len(inner) == length for inner in flat):
            raise ValueError("values of strings of another shape")
        flat = [v for inner in flat for v in inner]
    if not all(type(v) in (int, float) for v in flat):
        raise ValueError("values of strings that are no numbers")
    array = np.array(flat, dtype=np.float64).reshape(shape)
    if not np.isfinite(array).all():
        raise ValueError("values of strings that are not finite")
    return array
