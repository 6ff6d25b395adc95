"""Several targets at once: a row's numbers, or its classes, in each of them.

A tree of several targets splits by the mean over them of what a split gains, and its leaves hold what each of them needs. Everything else is as
for one: `one_of` shows the rows with a single target, wherever that is all that is needed.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.errors import ModelFileError, ParameterError
from assay.estimator.layout import Layout, Tensor
from assay.estimator.shown import kept
from assay.families.trees.nodes import LEAF
from assay.inputs.labels import class_multipliers
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.loops.arrays import NodeArrays
    from assay.families.trees.model import TreeModel
    from assay.families.trees.training_data import TrainingData
    from assay.store import Record


GAIN = Tensor(("S",), doc="what each split gained")  # which leaves do not tell
SEVERAL: Layout = {
    "gain_": GAIN,
    "table_": Tensor(("R", "C"), low=0, high=1e200, doc="what leaves hold: the weight of each class of each target among the rows that reached them"),
    "target_classes_": Tensor(("O",), dtype="<i8", low=1, most="C", doc="of several targets how many classes each has"),
    "class_of_": Tensor(("C",), dtype="<i8", index="K", doc="of several targets which of all labels their classes are, target after target"),
}  # fmt: skip
SEVERAL_NUMBERS: Layout = {"gain_": GAIN, "table_": Tensor(("R", "V"), doc="what leaves hold: the answer of each target, and the weight of the rows that reached them")}  # fmt: skip


def several_layout(layout: Layout) -> Layout:
    """What is learnt of several targets."""
    return {**layout, **(SEVERAL_NUMBERS if layout["table_"].dims == ("R", 2) else SEVERAL)}  # type: ignore[union-attr]


class ClassesOfTargets(NamedTuple):
    """Of each target how many classes it has, (T,), and which of all labels these are, target after target, (C,)."""

    sizes: Array
    which: Array

    @classmethod
    def of(cls, codes: Array, labels: int) -> ClassesOfTargets:
        """Those that occur in codes (n, T) of so many labels."""
        there = [np.flatnonzero(np.bincount(column, minlength=labels)) for column in codes.T]
        return cls(np.array([len(own) for own in there], dtype=np.int64), np.concatenate(there).astype(np.int64))

    def each(self) -> list[Array]:
        """Which of all labels are the classes of each target."""
        return np.split(self.which, np.cumsum(self.sizes)[:-1])

    def own(self, codes: Array) -> Array:
        """Codes (n, T) of all labels as codes of each target's own classes."""
        return np.column_stack([np.searchsorted(own, column) for own, column in zip(self.each(), codes.T)])

    def columns(self) -> list[slice]:
        """Where the numbers of each target's classes stand."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(b - size, b) for b, size in zip(ends, self.sizes.tolist())]


def classes_of_targets(model: TreeModel) -> ClassesOfTargets | None:
    """The classes of each of several targets; None of one target, and of numbers."""
    sizes = vars(model).get("target_classes_")
    return None if sizes is None else ClassesOfTargets(sizes, model.class_of_)


def shown_classes(model: TreeModel, labels: Array) -> Any:
    """The classes; of several targets a list of those of each."""
    found = classes_of_targets(model)
    return labels if found is None else [labels[own] for own in found.each()]


def count_of_targets(model: TreeModel) -> int:
    """How many targets are answered at once."""
    if model._kind == "regressor":
        return int(model.table_.shape[1]) - 1
    sizes = vars(model).get("target_classes_")
    return 1 if sizes is None else len(sizes)


def refuse_several(model: TreeModel, what: str) -> None:
    """Raise where a model has several targets and `what` is of one."""
    targets = count_of_targets(model)
    if targets > 1:
        raise ParameterError(
            f"{what} is of one target, and this {type(model).__name__} has {targets}: fit a model for each of them."
        )


def leaf_answers(model: TreeModel) -> Floats:
    """Of each row of the table what it adds to an answer: the shares (or votes) of classes, or the numbers."""
    if model._kind == "regressor":
        return np.ascontiguousarray(model.table_[:, :-1])
    made = votes_of if model._fitted_with.get("voting") == "majority" else shares_of
    return made(model.table_, classes_of_targets(model))


def layout_in(record: Record, layout: Layout, numbers: bool) -> Layout:
    """What the parts of a file must look like, which has one target or several."""
    table = record.arrays.get("table_", np.empty(0))
    many = table.ndim == 2 and table.shape[1] > 2 if numbers else "target_classes_" in record.arrays
    return several_layout(layout) if many else layout


def leaf_weights(model: TreeModel) -> Floats:
    """Of each row of the table the weight of a leaf's rows, which each target has."""
    if model._kind == "regressor":
        weights: Floats = model.table_[:, -1]
        return weights
    classes = classes_of_targets(model)
    of_one: Floats = model.table_ if classes is None else model.table_[:, : int(classes.sizes[0])]
    return np.asarray(of_one.sum(axis=1))


def shares_of(table: Floats, classes: ClassesOfTargets | None) -> Floats:
    """The shares of classes of each row of a table of their weights, target by target."""
    if classes is None:
        shares: Floats = table / table.sum(axis=1, keepdims=True)
        return shares
    found = np.empty_like(table)
    for own in classes.columns():
        found[:, own] = table[:, own] / table[:, own].sum(axis=1, keepdims=True)
    return found


def votes_of(table: Floats, classes: ClassesOfTargets | None) -> Floats:
    """1 for the class of most weight of each row of a table, target by target."""
    votes = np.zeros_like(table)
    for own in [slice(None)] if classes is None else classes.columns():
        votes[:, own][np.arange(len(table)), table[:, own].argmax(axis=1)] = 1.0
    return votes


def codes_said(scores: Floats, classes: ClassesOfTargets) -> Array:
    """(n, T): of each target the class of the greatest score."""
    return np.column_stack([scores[:, own].argmax(axis=1) for own in classes.columns()])


def by_target(model: TreeModel, found: Array) -> Any:
    """What is found of the classes of all targets, in a list of those of each where they are several."""
    classes = classes_of_targets(model)
    return found if classes is None else [found[:, own] for own in classes.columns()]


def labels_said(model: TreeModel, scores: Floats) -> Array:
    """The label of the greatest score, (n,), or of each target, (n, T)."""
    classes = classes_of_targets(model)
    if classes is None:
        said: Array = model.classes_[scores.argmax(axis=1)]
        return said
    labels, own = kept(model, "classes_"), classes.each()
    return np.stack([labels[own[t]][code] for t, code in enumerate(codes_said(scores, classes).T)], axis=1)


def row_factors(model: Any, labels: Array, classes: ClassesOfTargets, codes: Array, w: Floats | None) -> Floats | None:
    """The product over the targets of the factor by which the class of each row counts, (n,)."""
    asked, T = model.class_weight, len(classes.sizes)
    if asked is None:
        return None
    each = list(asked) if isinstance(asked, list | tuple) else [asked] * T
    if len(each) != T or (isinstance(asked, dict) and T > 1):
        raise ParameterError(
            f"{type(model).__name__}: the number of elements in class_weight should match number of outputs. There are {T} targets: give a list "
            "of as many dicts {class: weight}, or 'balanced'."
        )
    factors = np.ones(len(codes))
    for weight, own, column in zip(each, classes.each(), codes.T):
        counts = np.bincount(column, weights=w, minlength=len(own)).astype(np.float64)
        factors *= class_multipliers(weight, labels[own], counts)[column]
    return factors


def one_of(data: TrainingData, t: int) -> TrainingData:
    """The rows with the target t alone, for what is asked of targets and weights."""
    target = data.inputs.target
    own = replace(target, classes=0 if data.classes is None else int(data.classes.sizes[t]), targets=1)
    return replace(data, truth=data.truth[:, t], inputs=data.inputs._replace(target=own), classes=None)


def leaf_of_rows(grown: NodeArrays, entries: Array, n: int) -> Array:
    """Of each of n rows the number of its leaf; −1 where the tree did not see it."""
    start = grown.start[grown.feature == LEAF]
    leaf = np.full(n, -1)
    leaf[(entries >> np.uint64(32)).astype(np.int64)] = np.repeat(
        np.arange(len(start)), np.diff(np.append(start, len(entries)))
    )
    return leaf


def losses_of(data_classes: ClassesOfTargets | None, said: Floats, truth: Array) -> Floats:
    """(n,): 1 where the answer is wrong in some target; of numbers the mean of the squared errors."""
    if data_classes is None:
        squares: Floats = ((said - truth) ** 2).mean(axis=1)
        return squares
    return np.asarray((codes_said(said, data_classes) != truth).any(axis=1), dtype=np.float64)


def training_loss(data: TrainingData, grown: NodeArrays, entries: Array, values: Floats) -> float:
    """The share of the weight that is answered wrongly in some target; of numbers the mean squared error, of all targets."""
    leaf = leaf_of_rows(grown, entries, len(data.truth))
    there = leaf >= 0
    said = values[leaf[there]] if data.classes is not None else values[leaf[there], :-1]
    if data.classes is not None:
        said = shares_of(said, data.classes)
    return float(np.average(losses_of(data.classes, said, data.truth[there]), weights=data.ratios[there]))


def mean_loss(losses: Floats, weight: Floats) -> tuple[float, float, int]:
    """(The mean loss, its standard error, rows) of rows of positive weight, as if they were judged independently."""
    there = weight > 0
    x, w = losses[there], weight[there]
    if not len(x):
        return float("nan"), float("nan"), 0
    mean, size = float(np.average(x, weights=w)), float(x.max()) or 1.0
    spread = float(np.average(((x - mean) / size) ** 2, weights=w))
    return mean, size * sqrt(spread * float((w * w).sum())) / float(w.sum()), len(x)


def check_targets(model: TreeModel) -> None:
    """Raise where the classes of several targets of a file cannot be."""
    classes, table = classes_of_targets(model), model.table_
    if classes is None:
        return
    if len(classes.sizes) < 2 or int(classes.sizes.sum()) != len(classes.which) or (classes.sizes < 1).any():
        raise ModelFileError("The model file's targets do not have the classes that it tells of.")
    if any((np.diff(own) <= 0).any() for own in classes.each()):
        raise ModelFileError("The model file's classes of a target are not in order.")
    weights = np.column_stack([table[:, own].sum(axis=1) for own in classes.columns()])
    if not np.allclose(weights, weights[:, :1], rtol=1e-9, atol=0.0):
        raise ModelFileError("The model file's leaves have another weight for each target.")
