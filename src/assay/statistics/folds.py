"""Folds of a cross-validation: consecutive rows, of a classifier alike in the shares of the classes, as scikit-learn cuts them.

Rows of weight zero are in no fold: they are no rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.engines import Rows
from assay.engines.derived import MaskedRows, some_rows
from assay.errors import DataError, ParameterError
from assay.numerics import Array

NOWHERE = -1  # the fold of a row of weight zero


def fold_numbers(rows: Rows, k: int) -> Array:
    """The fold of each row, (n,): the first rows of positive weight are fold 0, and so on, as many in each but for one."""
    there = np.concatenate([_counts(part.load()) for part in rows.targets()])
    out = np.full(len(there), NOWHERE)
    out[there] = np.repeat(np.arange(k), _sizes(int(there.sum()), k))
    return out


def given_fold_numbers(rows: Rows, cv: Any) -> Array:
    """The fold of each row as a splitter of scikit-learn's or pairs (rows to fit on, rows held out) say: every row is held out once."""
    targets = [part.load() for part in rows.targets()]
    y, there = np.concatenate([np.asarray(block.y) for block in targets]), np.concatenate([_counts(b) for b in targets])
    pairs = list(cv.split(np.zeros((len(y), 1)), y) if hasattr(cv, "split") else cv)
    out, times = np.full(len(y), NOWHERE), np.zeros(len(y), dtype=np.int64)
    for f, (fit_on, held_out) in enumerate(pairs):
        out[held_out] = f
        times[held_out] += 1
        times[fit_on] += len(pairs)
    if len(pairs) < 2 or np.any(times != len(pairs) * (len(pairs) - 1) + 1):
        raise ParameterError(
            "cv must hold each row out once, and fit on all others: a number of folds, KFold, or such pairs."
        )
    out[~there] = NOWHERE
    return out


def stratified_fold_numbers(codes: Array, there: Array, k: int) -> Array:
    """The fold of each row, (n,): every fold has about the same share of each class; `there` marks the rows of positive weight."""
    out, (values, first, y) = (
        np.full(len(codes), NOWHERE),
        np.unique(codes[there], return_index=True, return_inverse=True),
    )
    _sizes(len(y), k)
    order = np.argsort(np.argsort(first))  # classes are counted in the order in which they come
    coming = np.sort(order[y])
    share = np.array([np.bincount(coming[f::k], minlength=len(values)) for f in range(k)])
    folds = np.empty(len(y), dtype=np.int64)
    for c in range(len(values)):
        folds[order[y] == c] = np.repeat(np.arange(k), share[:, c])
    out[there] = folds
    return out


def fold_pair(rows: Rows, folds: Array, f: int) -> tuple[Rows, Rows]:
    """The rows to fit on, and those of fold f, which are held out."""
    return some_rows(rows, MaskedRows((folds != f) & (folds != NOWHERE))), some_rows(rows, MaskedRows(folds == f))


def _counts(block: object) -> Array:
    w, y = block.w, block.y  # type: ignore[attr-defined]
    return np.ones(len(y), dtype=bool) if w is None else np.asarray(w > 0)


def _sizes(n: int, k: int) -> Array:
    if n < k:
        raise DataError(
            f"cv={k} folds need as many rows of positive weight, and here n_samples={n}: give more rows, or take fewer folds."
        )
    return np.asarray(n // k + (np.arange(k) < n % k))
