"""What boosting learns from: the columns as codes, the target, and the weight of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.engines import Engine, Rows, targets_of
from assay.engines.derived import held_out_mask
from assay.engines.engine import Threads
from assay.errors import DataError, ParameterError
from assay.families.boosting.loops.grow import BinnedColumns
from assay.families.trees.codes import Bins, binned_table, find_bins
from assay.families.trees.hyper_parameters import number_of, trends_of
from assay.families.trees.nodes import MOST_COLUMNS
from assay.families.trees.survey import Categories, Levels, TreeSurvey, category_levels, survey
from assay.inputs.labels import Labels, class_multipliers
from assay.inputs.refusals import refuse_absent, refuse_heavy
from assay.numerics import Array, Floats

MOST_CLASSES = 1 << 12
MOST_ROWS = 1 << 26  # counts and Hessians share a word
LEAST_HELD = 5
HELD_OUT = 77  # added to the seed by which rows are held out


@dataclass(frozen=True)
class BoostingRows:
    """Columns, bins and categories; target y (classes as numbers), weights w: 0 for rows that are held out or do not count; `held` (n,): the weights of
    those that are held out, None where none are."""

    table: BinnedColumns
    bins: Bins
    survey: TreeSurvey
    categories: Categories
    y: Floats
    w: Floats
    held: Floats | None
    weighted: bool

    @property
    def n(self) -> int:
        return len(self.y)


def training_rows(model: Any, engine: Engine, rows: Rows, labels: Labels | None, share: float) -> BoostingRows:
    """Survey, bins, codes and weights; `share`: of the rows that are held out."""
    name, d = type(model).__name__, rows.n_columns
    if d > MOST_COLUMNS:
        raise DataError(f"{d} columns are more than the {MOST_COLUMNS} that a tree can name.")
    levels = category_levels(model.categorical_features, rows.names, rows.categories or (None,) * d)
    if labels is not None and len(labels.classes) > MOST_CLASSES:
        raise DataError(
            f"y has {len(labels.classes)} classes, more than the {MOST_CLASSES} that boosting can tell apart."
        )
    found = survey(engine, rows, labels, levels)
    if found.n >= MOST_ROWS:
        raise DataError(f"{found.n} rows are more than the {MOST_ROWS - 1} whose gradients a stage can add up exactly.")
    categories = Categories.of(levels, found.categories)
    trend = trends_of(model.monotonic_cst, rows.names, d)
    _check_trends(name, trend, labels, levels)
    y, w = targets_of(rows)
    truth = y.astype(np.float64) if labels is None else labels.encode(y)
    weights = np.ones(found.n) if w is None else w.astype(np.float64)
    if labels is not None and model.class_weight is not None:
        weights = weights * class_multipliers(model.class_weight, labels.classes, found.class_weight)[truth]
    refuse_heavy(np.array([float(weights.sum())]))
    if not weights.sum() > 0:
        raise DataError("All rows have weight zero: give some rows or classes a positive weight.")
    held = None
    if share > 0:
        mask, counted = np.zeros(found.n, bool), np.flatnonzero(weights > 0)
        mask[counted] = held_out_mask(0, len(counted), share, model._seed() + HELD_OUT)
        held, weights = np.where(mask, weights, 0.0), np.where(mask, 0.0, weights)
        _check_held(name, labels, truth, weights, held, share)
    if labels is not None:
        there = np.bincount(truth, weights=weights, minlength=len(labels.classes))
        refuse_absent(labels.classes, there, whole=True)
    bins = find_bins(engine, rows, found, categories, int(model.max_bins), Threads(model.n_jobs))
    coded = binned_table(engine, rows, bins, found.n)
    table = BinnedColumns(
        np.ascontiguousarray(coded.codes.T),
        coded.codes,
        coded.buckets,
        coded.missing,
        (categories.levels > 0).astype(np.uint8),
        trend,
        groups_of(model.interaction_cst, rows.names, d),
    )
    weighted = w is not None or (labels is not None and model.class_weight is not None)
    return BoostingRows(table, bins, found, categories, truth.astype(np.float64), weights, held, weighted)


def groups_of(asked: Any, names: Any, d: int) -> Array:
    """(g, d): 1 where a group has a column; columns of no group are one of their own, as in scikit-learn."""
    if asked is None:
        return np.zeros((0, d), np.uint8)
    if isinstance(asked, str):
        groups = [[j] for j in range(d)] if asked == "no_interactions" else [[i, j] for i in range(d) for j in range(i)]
        groups = groups or [[j] for j in range(d)]
    else:
        groups = [[number_of(c, names, d, "interaction_cst") for c in group] for group in asked]
        rest = sorted(set(range(d)) - {j for group in groups for j in group})
        groups += [rest] if rest else []
    found = np.zeros((len(groups), d), np.uint8)
    for k, group in enumerate(groups):
        found[k, group] = 1
    return found


def _check_trends(name: str, trend: Array, labels: Labels | None, levels: Levels) -> None:
    if not trend.any():
        return
    if labels is not None and len(labels.classes) > 2:
        raise ParameterError(
            f"{name}: monotonic_cst needs two classes or a number as target; y has {len(labels.classes)} classes."
        )
    if (trend[levels.count > 0] != 0).any():
        raise ParameterError(f"{name}: monotonic_cst names a column of categories, which have no order.")


def _check_held(name: str, labels: Labels | None, truth: Array, w: Floats, held: Floats, share: float) -> None:
    """Raise where a share of the rows leaves too few on a side."""
    ways = f"raise the number of rows, change validation_fraction={share:g}, or leave n_iter_no_change out"
    if not (w > 0).any() or (held > 0).sum() < LEAST_HELD:
        raise DataError(
            f"{name}: of {len(w)} rows {int((held > 0).sum())} would be held out, too few to judge by: {ways}."
        )
    if labels is None:
        return
    for k, label in enumerate(labels.classes):
        own = truth == k
        if (held[own] > 0).any() or (w[own] > 0).any():
            if not (w[own] > 0).any():
                raise DataError(f"{name}: holding out rows leaves none of class {label!r} to learn from: {ways}.")
            if not (held[own] > 0).any():
                raise DataError(f"{name}: no row of class {label!r} is among those held out: {ways}.")
