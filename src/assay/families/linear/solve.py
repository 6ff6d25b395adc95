"""A solver, found by its name, at work on a posed problem."""

from __future__ import annotations

from collections.abc import Iterator

from assay.families.linear.problem import Objective, PosedProblem
from assay.numerics import Floats
from assay.solvers.iterate import Iterate
from assay.solvers.needs import SolverArgs, loss_name, solve
from assay.solvers.problem import Evaluation


def iterates(
    posed: PosedProblem, plan: Objective, solver: str, start: Floats | None = None, seen: Evaluation | None = None
) -> Iterator[Iterate]:
    """The states that the solver passes through, from `start` (default: the plan's) to its answer; `seen`: the look at `start`."""
    problem = posed.problem
    at_zero = start is None and plan.init is None
    w = plan.start(problem.shape, problem.centre) if start is None else start
    evaluation = posed.first if at_zero else seen
    eta = plan.step(float(sum(problem.reach.weights)))
    return solve(
        solver, SolverArgs(problem, loss_name(plan.loss), w, plan.tol, plan.max_iter, evaluation, posed.gram, eta)
    )
