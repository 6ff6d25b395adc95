"""What fits of one table with different hyper-parameters leave for each other: statistics of the rows, and where they ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.engines import Engine
from assay.families.linear.problem import Objective, PosedProblem, about_centre
from assay.numerics import Array, Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.solvers.problem import Evaluation, Iterate

if TYPE_CHECKING:
    from assay.families.linear.fit import LinearModel, LinearTask

AS_WRITTEN = ("gd", "subgradient")  # these are to take the notes' steps from the notes' start
MOST_NUMBERS = 10_000_000  # of all Hessians that are kept


class StartingPoint(NamedTuple):
    """The weights (about zero) at which a problem begins, and the iterate there where its evaluation still holds."""

    w: Floats
    at: Iterate | None = None

    def of(self, posed: PosedProblem, objective: Objective) -> tuple[Floats, Evaluation | None]:
        """The weights about the problem's centre, and what is known there."""
        if self.at is not None:
            return self.at.w, self.at.evaluation
        w = self.w.copy()
        w[..., -1] *= objective.fit_intercept  # an intercept that is not fitted stays where it begins
        return about_centre(w, posed.problem.centre), None


@dataclass
class WarmStart:
    """The task of the fit before, its solver, the classes it found, what its statistics depend on, and where it ended."""

    task: LinearTask | None = None
    solver: str = ""
    classes: Array | None = None
    depends_on: Any = None
    starts: list[StartingPoint] = field(default_factory=list)

    def task_of(self, model: LinearModel, engine: Engine) -> LinearTask | None:
        """The task of the fit before with this model's objective, where the statistics are the same."""
        if self.task is None or self.depends_on != _statistics_depend_on(model):
            return None
        if self.classes is not None:
            model.classes_ = self.classes
        objective, problems = model._problems(self.task.prepared.targets)
        return self.task._replace(engine=engine, objective=objective, problems=problems)

    def start(self, task: LinearTask, solver: str) -> list[StartingPoint] | None:
        """Where the next fit begins; None where the start could decide which answer is found."""
        objective = task.objective
        convex = not isinstance(objective.loss, CustomSurrogate) or objective.loss.convex
        as_written = objective.init is not None or objective.solver in AS_WRITTEN
        if not self.starts or objective.unpenalised or as_written or not convex:
            return None
        if self._evaluations_hold(task, solver):
            return self.starts
        return [StartingPoint(start.w) for start in self.starts]

    def _evaluations_hold(self, task: LinearTask, solver: str) -> bool:
        """Whether the sums over the rows are those of the new problem: the same rows and weights, loss and centre."""
        before = self.task
        if before is None or before.statistics is not task.statistics or solver != self.solver:
            return False
        if before.objective.unpenalised:  # then weights may have been moved since
            return False
        return _sums_of(before.objective) == _sums_of(task.objective)

    def remember(
        self, model: LinearModel, task: LinearTask, solver: str, weights: list[Floats], answers: list[Iterate]
    ) -> None:
        """Where a fit ended: its weights about zero, and the iterates they came from."""
        kept = [at.evaluation.hessian for at in answers if at.evaluation is not None]
        small = sum(H.size for H in kept if H is not None) <= MOST_NUMBERS
        self.task, self.solver = task, solver
        self.classes, self.depends_on = getattr(model, "classes_", None), _statistics_depend_on(model)
        self.starts = [
            StartingPoint(w, at if small and at.evaluation is not None else None)
            for w, at in zip(weights, answers, strict=True)
        ]


def _statistics_depend_on(model: LinearModel) -> Any:
    """What of the hyper-parameters the statistics of the rows depend on, for `==`."""
    return model.class_weight, model.kind_of(model.get_params())


def _sums_of(objective: Objective) -> tuple[Any, ...]:
    """What of an objective the sums over the rows depend on."""
    return objective.loss, objective.fit_intercept, objective.free_intercept
