"""What is known of the rows before a tree is grown: one fold over them; which columns are categories, and how these become codes.

No compiler is needed to say so: fitted trees answer with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fingerprint, fold
from assay.errors import DataError, ModelFileError
from assay.families.trees.hyper_parameters import number_of
from assay.inputs import NumberColumns, as_regression_target, refuse_non_finite
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats

MOST_CODED = 1 << 20  # columns of which some hold categories, where a file does not list them
MOST_CODES = 255  # of whole numbers that name categories
MOST_LEVELS = 255  # categories that are told apart; rarer ones share the last code


class TreeSurvey(NamedTuple):
    """rows; weight and rows of each class (of numbers, and of several targets: of all rows); least and greatest target, or of each target; the
    greatest weight; which columns miss values; the rows of each category, column after column; the rows' fingerprint."""

    n: int
    class_weight: Floats
    class_rows: Floats
    low: Any
    high: Any
    heaviest: float
    missing: Array
    categories: Array
    mark: bytes


class Levels(NamedTuple):
    """The categories of each column: how many (0: numbers), whether they are whole numbers in the rows themselves, and where the
    counts of a column begin."""

    count: Array  # type: ignore[assignment]  # hides the tuple's own
    plain: Array
    first: Array

    @classmethod
    def of(cls, sizes: Array, plain: Array) -> Levels:
        return cls(sizes, plain, np.concatenate([[0], np.cumsum(sizes)]))


@dataclass(frozen=True)
class Categories:
    """How categories become codes: code[first[j] + level] for a column with levels[j] > 0."""

    levels: Array
    first: Array
    code: Array

    @classmethod
    def of(cls, levels: Levels, counts: Array) -> Categories:
        code = np.zeros(int(levels.first[-1]), dtype=np.uint8)
        for j in np.flatnonzero(levels.count):
            a, b = int(levels.first[j]), int(levels.first[j + 1])
            if b - a <= MOST_LEVELS:
                code[a:b] = np.arange(b - a)
            else:
                often = np.argsort(-counts[a:b], kind="stable")
                code[a + often] = np.minimum(np.arange(b - a), MOST_LEVELS - 1)
            code[a:b][counts[a:b] == 0] = min(b - a, MOST_LEVELS)  # as if missing
        return cls(levels.count, levels.first[:-1].copy(), code)

    def used(self, j: int) -> int:
        """Codes of a column of categories."""
        return int(min(self.levels[j], MOST_LEVELS))


def category_levels(asked: Any, names: Sequence[str] | None, given: Sequence[Any]) -> Levels:
    """Which columns are categories: those of text (`given` holds their categories), and those that the user asks for."""
    sizes, plain = np.zeros(len(given), dtype=np.int64), np.zeros(len(given), dtype=bool)
    if not isinstance(given, NumberColumns):
        sizes[:] = [0 if c is None else len(c) for c in given]
    for column in () if asked is None else asked:
        j = number_of(column, names, len(given), "categorical_features")
        if given[j] is None:
            sizes[j], plain[j] = MOST_CODES, True
    return Levels.of(sizes, plain)


def survey(engine: Engine, rows: Rows, labels: Labels | None, levels: Levels) -> TreeSurvey:
    """Read all rows once."""
    found = fold(engine, rows.blocks(), partial(_absorb, labels, levels, rows.names), _merge)
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if not found.class_rows.sum() > 0:
        raise DataError("All sample weights are zero: give some rows a positive weight.")
    return found


def _absorb(labels: Labels | None, levels: Levels, names: Sequence[str] | None, block: Block) -> TreeSurvey:
    assert block.y is not None
    refuse_non_finite(block.X, block.start, names, nan=False)
    n = len(block.X)
    w = np.ones(n) if block.w is None else block.w
    there = w > 0
    if labels is None:
        y = as_regression_target(block.y, block.start)
        used = y[there]
        low = used.min(axis=0, initial=np.inf)  # of several targets the least of each
        high = used.max(axis=0, initial=-np.inf)
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused later
            weight = np.array([w.sum()])
        rows = np.array([float(there.sum())])
        target: Array = y
    else:
        target = labels.encode(block.y)
        low, high, K = np.zeros(()), np.zeros(()), len(labels.classes)
        if target.ndim == 2:
            weight, rows = np.array([w.sum()]), np.array([float(there.sum())])
    if labels is not None and target.ndim == 1:
        weight = np.bincount(target, weights=block.w, minlength=K).astype(np.float64)
        rows = np.bincount(target[there], minlength=K).astype(np.float64)
    gone = np.isnan(block.X).any(axis=0)
    heaviest = 1.0 if block.w is None else float(w.max(initial=0.0))
    mark = fingerprint.leaf_of(block.X, target, block.w)
    counts = _count_categories(block, levels, names, there)
    return TreeSurvey(n, weight, rows, low, high, heaviest, gone, counts, mark)


def _count_categories(block: Block, levels: Levels, names: Sequence[str] | None, there: Array) -> Array:
    counts = np.zeros(int(levels.first[-1]), dtype=np.int64)
    for j in np.flatnonzero(levels.count).tolist():
        x = block.X[:, j]
        if levels.plain[j]:
            _check_codes(x, block.start, f"{names[j]!r}" if names is not None else f"{j}")
        known = x[there & (x == x)]
        size, first = int(levels.count[j]), int(levels.first[j])
        known = known[(known >= 0) & (known < size)].astype(np.int64)
        counts[first : first + size] = np.bincount(known, minlength=size)
    return counts


def _check_codes(x: Array, start: int, name: str) -> None:
    bad = (x == x) & ((x != np.floor(x)) | (x < 0) | (x >= MOST_CODES))
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"Column {name} is named in categorical_features, but holds {x[i]:g} (row {start + i}): categories of an array must be whole "
            f"numbers from 0 to {MOST_CODES - 1}. Renumber them, or give the column as text in a frame."
        )


def _merge(a: TreeSurvey, b: TreeSurvey) -> TreeSurvey:
    return TreeSurvey(
        a.n + b.n,
        a.class_weight + b.class_weight,
        a.class_rows + b.class_rows,
        np.minimum(a.low, b.low),
        np.maximum(a.high, b.high),
        max(a.heaviest, b.heaviest),
        a.missing | b.missing,
        a.categories + b.categories,
        fingerprint.join(a.mark, b.mark),
    )


def category_codes(model: Any) -> Categories | None:
    """How categories become codes in a fitted model, from the columns' categories and what the file holds."""
    code = getattr(model, "category_code_", None)
    if code is None:
        return None
    if model._categories is None and model.n_features_in_ > MOST_CODED:
        raise ModelFileError(
            f"The model file claims categories in {model.n_features_in_} columns and names none of them."
        )
    levels = category_levels(model._fitted_with["categorical_features"], model._column_names(), model._levels())
    if int(levels.first[-1]) != len(code):
        raise ModelFileError("The model file's categories do not fit its columns.")
    return Categories(levels.count, levels.first[:-1].copy(), code)
