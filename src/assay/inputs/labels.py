"""Class labels: finding them (a fold over the targets alone) and turning them into codes 0 … K−1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.errors import DataError, ParameterError
from assay.numerics import Array, Floats

SMALL_SPAN = 1 << 12


class Labels(NamedTuple):
    """The classes in order, and a table from label − low to code where the labels are whole numbers close together."""

    classes: Array
    low: int
    table: Array | None

    @classmethod
    def of(cls, classes: Array) -> Labels:
        if classes.dtype.kind in "iub" and len(classes) and _close(int(classes[0]), int(classes[-1])):
            low = int(classes[0])
            table = np.full(int(classes[-1]) - low + 1, -1, dtype=np.int64)
            table[classes.astype(np.int64) - low] = np.arange(len(classes))
            return cls(classes, low, table)
        return cls(classes, 0, None)

    def _is_plain(self) -> bool:
        """Whether the codes are the labels less the lowest."""
        return self.table is not None and len(self.table) == len(self.classes)

    def encode(self, y: Array) -> Array:
        """Codes of labels; an unknown label is an error that names it."""
        if self.table is not None and y.dtype.kind in "iub":
            at = y.astype(np.int64) - self.low if self.low else y.astype(np.int64, copy=False)
            if len(at) == 0 or (at.min() >= 0 and at.max() < len(self.table)):
                if self._is_plain():
                    return at
                codes: Array = self.table.take(at)
                good: Any = codes >= 0
            else:
                codes = at
                good = np.isin(y, self.classes)
        else:
            codes = np.minimum(np.searchsorted(self.classes, _comparable(y, self.classes)), len(self.classes) - 1)
            good = self.classes[codes] == y
        if not np.all(good):
            unknown = _plain(y[~np.asarray(good)][0])
            raise DataError(
                f"The target label(s) [{unknown!r}] in y do not exist in the initial classes {self.classes[:10].tolist()}. "
                "Give every class that can occur in the first call (partial_fit(..., classes=...)) or fit again."
            )
        return codes


def _close(low: int, high: int) -> bool:
    """Whether a table from label − low to code is small, and the labels fit int64."""
    return high - low < SMALL_SPAN and high < 1 << 63


def _comparable(y: Array, classes: Array) -> Array:
    if (y.dtype.kind in "OUST") != (classes.dtype.kind in "OUST"):
        raise DataError(
            f"y holds {_described(y)}, but the classes are {_described(classes)}: use one kind of label throughout."
        )
    return y


def _described(labels: Array) -> str:
    """Labels in words, with the first of them."""
    kind = {"b": "truth values", "i": "whole numbers", "u": "whole numbers", "f": "numbers"}.get(
        labels.dtype.kind, "text"
    )
    return f"{kind} such as {_plain(labels[0])!r}" if len(labels) else kind


def _present(y: Array, low: int, high: int) -> Array:
    """Which of low … high occur, less low. The first rows usually show all of them; then no more need be read."""
    seen = np.zeros(high - low + 1, dtype=bool)
    for a in range(0, len(y), 1 << 12):
        seen[y[a : a + (1 << 12)].astype(np.int64) - low] = True
        if seen.all():
            break
    return np.flatnonzero(seen)


def distinct(y: Array) -> Array:
    """The sorted distinct labels of a block, refusing what cannot be a label."""
    if y.dtype.kind in "iu" and len(y):
        low, high = int(y.min()), int(y.max())
        if _close(low, high):
            return (_present(y, low, high) + low).astype(y.dtype)
        return np.unique(y)
    if y.dtype.kind == "f":
        refuse_continuous(y)
        return np.unique(y)
    if y.dtype.kind == "O":
        missing = [i for i, v in enumerate(y) if v is None or v != v]
        if missing:
            raise DataError(
                f"Input y contains NaN or None (first at row {missing[0]}): drop the rows without a target."
            )
        try:
            return np.unique(y)
        except TypeError:
            kinds = sorted({type(v).__name__ for v in y})
            raise DataError(f"y mixes labels of kinds {kinds}: convert them to one kind, e.g. y.astype(str).") from None
    return np.unique(y)


def refuse_continuous(y: Array) -> None:
    """Raise where a float target is missing, infinite or not whole: no classification target."""
    if not np.all(np.isfinite(y)):
        what = "NaN" if np.isnan(y).any() else f"infinity or a value too large for dtype('{y.dtype}')"
        raise DataError(f"Input y contains {what}. Drop the rows without a target.")
    if np.any(y != np.floor(y)):
        value = _plain(y[y != np.floor(y)][0])
        raise DataError(
            f"Unknown label type: continuous. y contains {value!r}, so this looks like regression: "
            "use a regressor, or bin the target into classes."
        )


def _absorb_labels(block: Block) -> Array:
    assert block.y is not None
    return distinct(block.y.reshape(-1))


def _merge_labels(a: Array, b: Array) -> Array:
    merged = np.concatenate([a, b])
    try:
        return np.unique(merged)
    except TypeError:
        raise DataError("y mixes numbers and text as labels: convert them to one kind, e.g. y.astype(str).") from None


def find_classes(engine: Engine, rows: Rows) -> Array:
    """All classes of the rows, sorted."""
    classes = fold(engine, rows.targets(), _absorb_labels, _merge_labels)
    if classes is None:
        raise DataError("There are no rows: found array with 0 sample(s) while a minimum of 1 is required.")
    return classes


def class_multipliers(class_weight: Any, classes: Array, counts: Floats) -> Floats:
    """The factor by which each class counts. 'balanced': n / (K·n_k), so that all classes weigh the same."""
    K = len(classes)
    if class_weight is None:
        return np.ones(K)
    if isinstance(class_weight, str):
        present = counts > 0
        total = counts.sum() / max(1, present.sum())
        balanced: Floats = np.divide(total, counts, out=np.ones(K), where=present)
        return balanced
    factors = np.ones(K)
    known = _by_name(classes)
    assert isinstance(class_weight, Mapping)
    for label, weight in class_weight.items():
        if _plain(label) not in known:
            raise ParameterError(
                f"class_weight names the class {label!r}, which does not occur. Classes: {classes[:10].tolist()}."
            )
        factors[known[_plain(label)]] = weight
    return factors


def _by_name(classes: Array) -> dict[Any, int]:
    """The code of each class by the label and, as JSON has only text for keys, by the text of a label that is no text."""
    labels = [_plain(c) for c in classes]
    known = {label: i for i, label in enumerate(labels)}
    for i, label in enumerate(labels):
        if isinstance(label, bool):
            known.setdefault(str(label).lower(), i)
        elif isinstance(label, float) and label.is_integer():
            known.setdefault(str(int(label)), i)
        known.setdefault(str(label), i)
    return known


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def plain_labels(classes: Array) -> list[Any]:
    """The classes as plain Python values, whatever kind of array holds them."""
    return [_plain(label) for label in classes.tolist()]
