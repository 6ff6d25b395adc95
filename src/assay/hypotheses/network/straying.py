"""When a fit went astray: its loss is no number, or far above that of no weights at all."""

from __future__ import annotations

import math

from assay.errors import DataError
from assay.hypotheses.network.task import Task

BLOWN = 1e2  # times the loss of weights of zero


def is_astray(task: Task, loss: float) -> bool:
    """Whether no network should have such a mean loss."""
    usual = _loss_of_nothing(task)
    return not math.isfinite(loss) or (usual is not None and loss > BLOWN * usual)


def _loss_of_nothing(task: Task) -> float | None:
    """The mean loss of outputs of zero, where the targets have a known size."""
    if task.loss == "squared":
        return 1.0 if task.standard.target_scale != 1.0 else None
    if task.loss == "signs":
        return 0.5 * task.shape.widths[-1]
    if task.loss == "hinge":
        return 1.0
    return math.log(max(2, task.shape.widths[-1]))


def beyond_bounds(steps: str) -> DataError:
    """What is said of rows on which steps of any length lead nowhere."""
    return DataError(
        f"The loss of the network grows beyond all bounds even with steps of {steps}: its inputs or targets are too large. Leave "
        "standardize=True, divide the columns (and the target) by a constant, or lower alpha."
    )
