"""From rows to what trees are grown from: survey, codes, target and rules; and one tree grown from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import frexp, ldexp
from typing import Any

import numpy as np

from assay.engines import Engine, Rows, targets_of
from assay.engines.engine import Threads
from assay.errors import DataError, ParameterError
from assay.families.trees import grow_by_level
from assay.families.trees.codes import FEW_ROWS, binned_table, exact_table, find_bins
from assay.families.trees.grow import RowSample, TreeInputs, entries_of
from assay.families.trees.grow_by_level import GATHERED, LevelRecipe
from assay.families.trees.grow_parallel import grow_tree, lists_help
from assay.families.trees.hyper_parameters import UNLIMITED, columns_asked, rows_asked, trends_of
from assay.families.trees.loops.arrays import NodeArrays, SplitRules
from assay.families.trees.nodes import MOST_COLUMNS
from assay.families.trees.several import ClassesOfTargets, row_factors
from assay.families.trees.survey import Categories, Levels, TreeSurvey, category_levels, survey
from assay.families.trees.target import (
    Target,
    TargetScaling,
    class_target,
    number_target,
    several_classes,
    several_numbers,
)
from assay.inputs.labels import Labels, class_multipliers
from assay.inputs.refusals import refuse_absent, refuse_heavy
from assay.numerics import Array, Floats

Draws = Callable[[Any, int], int | None]  # of a model and the number of its rows that count
EXACT_BELOW = 512  # rows of a node of a forest below which all thresholds are tried, where all values have codes
MOST_CLASSES = 1 << 16
HUGE = 1e150  # of targets
LEAST_WEIGHT = 5e-324
TASKS = 8  # subtrees that a tree becomes on a cluster, at least


@dataclass(frozen=True)
class TrainingData:
    """What trees are grown from, and what was found on the way; truth: targets (classes as codes), weights: of the rows, with
    those of their classes (None: one each)."""

    inputs: TreeInputs
    survey: TreeSurvey
    categories: Categories
    total: float  # weight of all rows
    drawn: float  # of those that a tree sees, on average
    truth: Array  # (n,), or (n, T) of several targets
    weights: Floats | None
    draws: int | None  # rows drawn for each tree; None: each once
    counted: Array | None  # the rows of positive weight, where some have none
    recipe: LevelRecipe | None = None  # where the codes of all rows are not in memory
    order: Array | None = None  # (d, n): the rows by each column, where one tree tries all columns at every node
    classes: ClassesOfTargets | None = None  # of several targets that are classes

    @property
    def ratios(self) -> Floats:
        """The weights by a power of two, the greatest about one: where their ratios alone count, no sum of them is too large."""
        if self.weights is None:
            return np.ones(len(self.truth))
        ratios = self.weights / ldexp(1.0, frexp(float(self.weights.max()))[1] - 1)
        return np.maximum(ratios, np.where(self.weights > 0, LEAST_WEIGHT, 0.0))


def prepare(
    model: Any, engine: Engine, rows: Rows, labels: Labels | None, asked: Draws | None, exact_below: int, shared: bool
) -> TrainingData:
    """All that the trees of a model are grown from; `asked`: the rows drawn for a tree of so many (None: each once), `shared`: many trees need the
    codes of all rows."""
    name = type(model).__name__
    d = rows.n_columns
    if d > MOST_COLUMNS:
        raise DataError(f"{d} columns are more than the {MOST_COLUMNS} that a tree can name.")
    levels = category_levels(model.categorical_features, rows.names, rows.categories or (None,) * d)
    if labels is not None and len(labels.classes) > MOST_CLASSES:
        raise DataError(
            f"y has {len(labels.classes)} classes, more than the {MOST_CLASSES} that a tree can tell apart."
        )
    found = survey(engine, rows, labels, levels)
    categories = Categories.of(levels, found.categories)
    y, w = targets_of(rows)
    if model.monotonic_cst is not None and y.ndim == 2:
        raise ParameterError(
            f"{name}: monotonic_cst needs one target, and y has {y.shape[1]}. (Monotonicity constraints are not supported with multiple "
            "outputs.)"
        )
    trend = trends_of(model.monotonic_cst, rows.names, rows.n_columns)
    _check_trends(name, trend, labels, levels)
    truth, multipliers, classes = y.astype(np.float64) if labels is None else labels.encode(y), None, None
    if labels is not None and truth.ndim == 2:
        classes = ClassesOfTargets.of(truth, len(labels.classes))
        truth = classes.own(truth)
        factors = row_factors(model, labels.classes, classes, truth, w)
        if factors is not None:
            w = factors if w is None else w * factors
    elif labels is not None:
        multipliers = _multipliers(model, labels, found)
        refuse_absent(labels.classes, found.class_weight * (1.0 if multipliers is None else multipliers), whole=True)
        if multipliers is not None:
            w = multipliers[truth] if w is None else w * multipliers[truth]
    counted = None if w is None or (w > 0).all() else np.flatnonzero(w > 0)
    there = found.n if counted is None else len(counted)
    draws = None if asked is None else asked(model, there)
    target, total = _target(model, labels, truth, w, found, draws or found.n, bool(trend.any()), classes)
    workers, several = Threads(model.n_jobs), target.targets > 1
    exact = (
        model.bins == "exact" or model.criterion == "absolute_error" or (model.bins == "auto" and found.n <= FEW_ROWS)
    )
    drawn = total if draws is None else total * (draws / there)
    rules = rules_of(model, target, found.n, rows.n_columns, drawn, exact_below if exact else 0)
    recipe, order = None, None
    if exact:
        table, order = exact_table(rows, found, categories, workers)
        if asked is not None or several or not lists_help(rules, d):
            order = None
    else:
        most = 255 if model.bins == "auto" else int(model.bins)
        bins = find_bins(engine, rows, found, categories, most, workers)
        if spread_out(engine, found.n * d, shared) and not rules.random and not several:
            recipe = LevelRecipe(bins, TargetScaling.of(target, labels, multipliers), np.zeros(0, np.uint16))
            table = bins.table(np.zeros((d, 1), np.uint8))
        else:
            table = binned_table(engine, rows, bins, found.n)
    table = table._replace(trend=trend)
    return TrainingData(
        TreeInputs(target, table, rules),
        found,
        categories,
        total,
        drawn,
        truth,
        w,
        draws,
        counted,
        recipe,
        order,
        classes,
    )


def reweighed(model: Any, data: TrainingData, labels: Labels, w: Floats) -> TrainingData:
    """What trees of classes are grown from where nothing but the weights of the rows has changed, and those that count are the same: neither are
    rows read again, nor columns coded. Of codes in memory alone."""
    assert data.recipe is None
    table, rules = data.inputs.table, data.inputs.rules
    found = data.survey._replace(
        class_weight=np.bincount(data.truth, weights=w, minlength=len(labels.classes)), heaviest=float(w.max())
    )
    multipliers = _multipliers(model, labels, found)
    refuse_absent(labels.classes, found.class_weight * (1.0 if multipliers is None else multipliers), whole=True)
    w = w if multipliers is None else w * multipliers[data.truth]
    draws = data.draws or found.n
    target, total = _target(model, labels, data.truth, w, found, draws, bool(table.trend.any()))
    drawn = total if data.draws is None else total * (data.draws / found.class_rows.sum())
    rules = rules_of(model, target, found.n, table.d, drawn, rules.exact_below)
    return replace(data, inputs=TreeInputs(target, table, rules), survey=found, total=total, drawn=drawn, weights=w)


def spread_out(engine: Engine, codes: int, shared: bool) -> bool:
    """Whether the codes of all rows stay where the rows are: too many for memory, or of one tree on a cluster."""
    if engine.opens_in_memory:
        return False
    return codes > GATHERED or not (engine.shares_memory or shared)


def _check_trends(name: str, trend: Array, labels: Labels | None, levels: Levels) -> None:
    if not trend.any():
        return
    if labels is not None and len(labels.classes) > 2:
        raise ParameterError(
            f"{name}: monotonic_cst needs two classes or a number as target; y has {len(labels.classes)} classes. "
            "(Monotonicity constraints are not supported with multiclass classification.)"
        )
    if (trend[levels.count > 0] != 0).any():
        raise ParameterError(f"{name}: monotonic_cst names a column of categories, which have no order.")


def _multipliers(model: Any, labels: Labels, found: TreeSurvey) -> Floats | None:
    if model.class_weight is None:
        return None
    if isinstance(model.class_weight, list | tuple):
        raise ParameterError(
            f"{type(model).__name__}: class_weight is a list of {len(model.class_weight)}, and y has one target: the number of elements in "
            "class_weight should match number of outputs. Give a dict {class: weight}, or 'balanced'."
        )
    return class_multipliers(model.class_weight, labels.classes, found.class_weight)


def _target(
    model: Any,
    labels: Labels | None,
    truth: Array,
    w: Floats | None,
    found: TreeSurvey,
    draws: int,
    trends: bool,
    classes: ClassesOfTargets | None = None,
) -> tuple[Target, float]:
    """The target in whole numbers, and the weight of all rows."""
    with np.errstate(over="ignore"):
        total = float(found.n) if w is None else float(w.sum())
    refuse_heavy(np.array([total]))
    if not total > 0:
        raise DataError("All rows have weight zero: give some rows or classes a positive weight.")
    if classes is not None:
        return several_classes(truth, classes.sizes, w, model.criterion, draws), total
    if labels is not None:
        return class_target(truth, len(labels.classes), w, model.criterion, draws, trends), total
    top = float(max(np.abs(found.low).max(), np.abs(found.high).max()))
    if top > HUGE:
        raise DataError(
            f"y holds values as large as {top:.3g}, whose squares overflow float64. Rescale it (divide by a constant)."
        )
    if truth.ndim == 2:
        return several_numbers(truth, w, model.criterion, draws, found.low, found.high), total
    return number_target(truth, w, model.criterion, draws, float(found.low), float(found.high)), total


def rules_of(model: Any, target: Target, n: int, d: int, total: float, exact_below: int) -> SplitRules:
    """When a node is split."""
    least = rows_asked(model.min_samples_leaf, n, 1)
    share = float(model.min_weight_fraction_leaf)
    light = share * total / target.weight_unit
    if target.two and light > 0:
        least, light = max(least, int(np.ceil(light))), 0.0
    gain = float(model.min_impurity_decrease) * total / target.weight_unit
    return SplitRules(
        criterion=target.criterion,
        max_depth=UNLIMITED if model.max_depth is None else int(model.max_depth),
        min_split=max(2, rows_asked(model.min_samples_split, n, 2)),
        min_leaf=least,
        min_leaf_weight=light,
        max_features=columns_asked(model.max_features, d, type(model).__name__),
        random=getattr(model, "splitter", "best") == "random" or bool(getattr(model, "random_splits", False)),
        exact_below=exact_below,
        min_gain=gain * (1 - 1e-12),
    )


def single_tree(
    engine: Engine, rows: Rows, training_data: TrainingData, sample: RowSample, number: int, workers: Threads
) -> tuple[NodeArrays, Array]:
    """(tree `number`, its rows in the order of its leaves: none where they are not in memory).

    It is grown where its rows are: in memory on threads, or level by level.
    """
    n = training_data.survey.n
    times = sample.times(number, n)
    if training_data.recipe is None:
        entries = entries_of(training_data.inputs, times)
        return grow_tree(training_data.inputs, entries, sample.key(number), workers, training_data.order), entries
    most = grow_by_level.GATHERED
    if not engine.shares_memory:
        most = min(most, n * rows.n_columns // TASKS)
    recipe = training_data.recipe._replace(times=times)
    rules, trend = training_data.inputs.rules, training_data.inputs.table.trend
    grown = grow_by_level.grow_levels(engine, rows, recipe, rules, trend, sample.key(number), most)
    return grown, np.zeros(0, np.uint64)
