"""How many stages answer new rows best, by cross-validation: the folds are boosted side by side, each without rows of its own that it is judged by.

The curve is the loss of all rows, each answered by the stages that have not seen it; the fit of all rows then takes as many stages as are best there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from assay.engines.derived import row_keys
from assay.engines.engine import Threads
from assay.errors import DataError
from assay.families.boosting.losses import BoostingLoss
from assay.families.boosting.stages import Boosting, StageSettings
from assay.families.boosting.training_rows import BoostingRows
from assay.numerics import Array, Floats

FOLDED = 55  # added to the seed by which rows are folded
MakeLoss = Callable[[], BoostingLoss]


def folds_of(y: Floats, w: Floats, by_class: bool, folds: int, seed: int) -> Array:
    """Of each row its fold, −1 of those that do not count; drawn by (seed, number among those that do), of each class as evenly as can be."""
    fold = np.full(len(y), -1)
    counted = np.flatnonzero(w > 0)
    if len(counted) < folds:
        raise DataError(
            f"n_estimators='cv' cannot make {folds} folds of {len(counted)} row(s): give more rows, fewer folds, or a number of stages."
        )
    order = counted[np.argsort(row_keys(0, len(counted), seed + FOLDED), kind="stable")]
    if by_class:
        order = order[np.argsort(y[order], kind="stable")]
    fold[order] = np.arange(len(order)) % folds
    return fold


class FoldedBoosting:
    """The folds in the making; `curve`: the loss of the rows held out before the first and after each stage."""

    def __init__(
        self, rows: BoostingRows, loss: MakeLoss, by_class: bool, settings: StageSettings, workers: Threads, folds: int
    ) -> None:
        fold = folds_of(rows.y, rows.w, by_class, folds, settings.seed)
        self.members = [_member(rows, fold == k, loss(), settings, workers) for k in range(folds)]
        self.share = np.array([member.held_weight for member in self.members])
        before = [member.derive() for member in self.members]
        self.stages = [member.stages(0, found) for member, found in zip(self.members, before)]
        self.curve = [self._mean([held for _, held in before])]

    def _mean(self, held: list[float | None]) -> float:
        return float(np.average([0.0 if loss is None else loss for loss in held], weights=self.share))

    def grow(self) -> None:
        """One more stage in every fold."""
        self.curve.append(self._mean([next(stages).held for stages in self.stages]))

    def enough(self, patience: int, tol: float) -> bool:
        """Whether the last stages have answered no better than those before."""
        if len(self.curve) <= patience:
            return False
        losses = np.array(self.curve)
        return not losses[-patience:].min() < losses[:-patience].min() * (1 - tol)

    @property
    def best(self) -> int:
        """The number of stages that answer best."""
        return int(np.argmin(self.curve))


def _member(rows: BoostingRows, out: Array, loss: BoostingLoss, settings: StageSettings, workers: Threads) -> Boosting:
    own = replace(rows, w=np.where(out, 0.0, rows.w), held=np.where(out, rows.w, 0.0))
    there = own.w > 0
    return Boosting(own, loss, settings, workers, loss.start(own.y[there], own.w[there]))
