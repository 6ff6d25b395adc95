"""What fits of one table with different hyper-parameters leave for each other: the surveyed rows, and where they ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.families.linear.problem import Objective
from assay.numerics import Array, Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.solvers.iterate import Iterate

if TYPE_CHECKING:
    from assay.families.linear.fit import LinearTask

AS_WRITTEN = ("gd", "subgradient")  # these are to take the notes' steps from the notes' start
MOST_NUMBERS = 10_000_000  # of all Hessians that are kept


class StartingPoint(NamedTuple):
    """The weights (about zero) at which a problem begins, and the iterate there where its look still holds."""

    w: Floats
    at: Iterate | None = None


@dataclass
class WarmStart:
    """The task of the fit before, its solver, the classes it found, what its survey depends on, and where it ended."""

    task: LinearTask | None = None
    solver: str = ""
    classes: Array | None = None
    surveyed_by: Any = None
    starts: list[StartingPoint] = field(default_factory=list)

    def start(self, task: LinearTask, solver: str) -> list[StartingPoint] | None:
        """Where the next fit begins; None where the start could decide which answer is found."""
        plan = task.plan
        convex = not isinstance(plan.loss, CustomSurrogate) or plan.loss.convex
        if not self.starts or plan.unpenalised or plan.init is not None or plan.solver in AS_WRITTEN or not convex:
            return None
        if self._evaluations_hold(task, solver):
            return self.starts
        return [StartingPoint(start.w) for start in self.starts]

    def _evaluations_hold(self, task: LinearTask, solver: str) -> bool:
        """Whether the sums over the rows are those of the new problem: the same rows and weights, loss and centre."""
        before = self.task
        if before is None or before.survey is not task.survey or solver != self.solver or before.plan.unpenalised:
            return False  # without a penalty, weights may have been moved since the look
        return _sums_of(before.plan) == _sums_of(task.plan)

    def remember(self, task: LinearTask, solver: str, weights: list[Floats], answers: list[Iterate]) -> None:
        """Where a fit ended: its weights about zero, and the iterates they came from."""
        size = sum(
            at.evaluation.hessian.size
            for at in answers
            if at.evaluation is not None and at.evaluation.hessian is not None
        )
        known = size <= MOST_NUMBERS
        self.task, self.solver = task, solver
        self.starts = [
            StartingPoint(w, at if known and at.evaluation is not None else None)
            for w, at in zip(weights, answers, strict=True)
        ]


def _sums_of(plan: Objective) -> tuple[Any, ...]:
    """What of a plan the sums over the rows depend on."""
    return plan.loss, plan.fit_intercept, plan.free_intercept
