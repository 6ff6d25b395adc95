"""Out-of-bag answers: each row judged by the trees that did not see it."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from assay.errors import ParameterError
from assay.families.trees.forest_builder import GrownTree
from assay.families.trees.loops.forest import mean_loss, spread_of_loss
from assay.families.trees.loops.walk import add_leaves_at
from assay.families.trees.training_data import TrainingData
from assay.numerics import Array, Floats

LOOKS = 10  # points of the curve of a forest whose size is given
WINDOW, TINY = 3, 0.1  # looks that are compared with as many before; standard errors of the loss that are no gain
MOST_TIMES = 32_768  # draws of a row on average, so that none is ever drawn 65 536 times


def samples_asked(model: Any, n: int) -> int | None:
    """The rows drawn for each tree that `max_samples` and `bootstrap` mean, of n rows that count; None: every row once."""
    asked, replace = model.max_samples, bool(model.bootstrap)
    if asked is None and not replace:
        return None
    name = type(model).__name__
    whole = isinstance(asked, int | np.integer)
    m = n if asked is None else int(asked) if whole else max(1, round(float(asked) * n))
    if m > n and not replace:
        raise ParameterError(
            f"{name}: max_samples={asked} asks for {m} of {n} rows without replacement: give at most {n}, or bootstrap=True."
        )
    if m > MOST_TIMES * n:
        raise ParameterError(
            f"{name}: max_samples={asked} would draw each row {m // n} times: give at most {MOST_TIMES * n}."
        )
    return m


class OutOfBag:
    """Sums of the answers of the trees that did not see a row."""

    def __init__(self, training_data: TrainingData, auto: bool) -> None:
        target = training_data.inputs.target
        n = len(target.labels)
        self.classes = target.classes
        self.truth, self.weight = truth_of(training_data)
        self.sums = np.zeros((n, max(1, self.classes)))
        self.count = np.zeros(n, dtype=np.int64)
        self.auto = auto
        self.curve: list[tuple[int, float]] = []
        self.members: list[tuple[Array, Array, Array]] = []
        self.trees = 0

    def add(self, grown_tree: GrownTree, number: int, of: int | None = None) -> None:
        """Add the answers of one more tree."""
        self.trees = number + 1
        if len(grown_tree.rows):
            self.members.append((grown_tree.rows, grown_tree.times, grown_tree.held))
        if not len(grown_tree.out_of_bag):
            return
        table = grown_tree.tree.table
        answers = table / table.sum(axis=1, keepdims=True) if self.classes else table[:, :1]
        add_leaves_at(np.ascontiguousarray(answers), grown_tree.leaf, grown_tree.out_of_bag, self.sums, self.count)
        if of is not None and self.trees % max(1, of // LOOKS) == 0:
            self.curve.append((self.trees, self._mean()[2]))

    def answers(self) -> Floats:
        """The mean answer for each row; NaN of rows that every tree saw."""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = self.sums / self.count[:, None]
        return mean

    def loss(self) -> tuple[float, float, int]:
        """(mean loss, its standard error, rows) of the rows that some tree did not see: zero-one, or squared."""
        W, squares, mean, rows = self._mean()
        if not rows:
            return float("nan"), float("nan"), 0
        spread = spread_of_loss(self.sums, self.count, self.truth, self.weight, self.classes, mean)
        return mean, sqrt(spread / W * squares) / W, rows

    def _mean(self) -> tuple[float, float, float, int]:
        """(Σ w, Σ w², mean loss: NaN where there are no rows, rows)."""
        W, squares, mean, rows = mean_loss(self.sums, self.count, self.truth, self.weight, self.classes)
        return W, squares, mean if rows else float("nan"), rows

    def flat(self) -> bool:
        """Whether more trees no longer help; asked after each group of trees of a forest of size "auto"."""
        if not self.auto:
            return False
        now, error, _ = self.loss()
        self.curve.append((self.trees, now))
        if len(self.curve) < 2 * WINDOW:
            return False
        late = [loss for _, loss in self.curve[-WINDOW:]]
        early = [loss for _, loss in self.curve[-2 * WINDOW : -WINDOW]]
        return sum(early) / WINDOW - sum(late) / WINDOW <= TINY * error


def truth_of(training_data: TrainingData) -> tuple[Array, Floats]:
    """Targets (classes as codes) and weights of all rows."""
    return training_data.truth, np.ones(
        len(training_data.truth)
    ) if training_data.weights is None else training_data.weights
