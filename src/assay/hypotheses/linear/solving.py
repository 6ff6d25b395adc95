"""Which solver works on a posed problem, by name."""

from __future__ import annotations

from collections.abc import Iterator

from assay.hypotheses.linear.plan import Plan
from assay.hypotheses.linear.posing import Posed
from assay.numerics import Floats
from assay.solvers.iterate import Iterate
from assay.solvers.problem import Look, Problem
from assay.solvers.softmax_problem import SoftmaxProblem


def iterates(
    posed: Posed, plan: Plan, solver: str, start: Floats | None = None, seen: Look | None = None
) -> Iterator[Iterate]:
    """The states that the solver passes through, from `start` (default: the plan's) to its answer; `seen`: the look at `start`."""
    problem = posed.problem
    shape = problem.shape if isinstance(problem, SoftmaxProblem) else (len(problem.scale),)
    at_zero = start is None and plan.init is None
    w = plan.start(shape, problem.centre) if start is None else start
    first = posed.first if at_zero else seen
    if solver == "proximal-newton" and plan.unpenalised and isinstance(problem, Problem) and not problem.rows.sparse:
        solver = "newton"  # the same steps, with a bound where no penalty gives one
    if solver == "lbfgs":
        from assay.solvers.lbfgs import lbfgs
        from assay.solvers.preconditioner import preconditioner

        return lbfgs(problem, w, plan.tol, plan.max_iter, preconditioner(problem, posed.gram))
    if solver == "proximal-gradient":
        from assay.solvers.proximal_gradient import proximal_gradient

        return proximal_gradient(problem, w, plan.tol, plan.max_iter)
    if solver in ("gd", "subgradient"):
        from assay.solvers.plain_descent import gradient_descent, subgradient_descent

        eta = plan.step(float(sum(problem.reach.weights)))
        if isinstance(problem, Problem) and problem.loss.name == "perceptron":
            from assay.solvers.mistake_descent import mistake_descent

            return mistake_descent(problem, w, plan.max_iter, eta)
        descend = gradient_descent if solver == "gd" else subgradient_descent
        return descend(problem, w, plan.tol, plan.max_iter, eta)
    if solver in ("newton", "proximal-newton") and isinstance(problem, Problem) and problem.loss.name == "huber":
        from assay.solvers.narrowing import narrowing
        from assay.solvers.newton import newton
        from assay.solvers.proximal_newton import proximal_newton

        return narrowing(newton if solver == "newton" else proximal_newton, problem, w, plan.tol, plan.max_iter)
    if solver == "proximal-newton":
        from assay.solvers.proximal_newton import proximal_newton

        return proximal_newton(problem, w, plan.tol, plan.max_iter, first)
    assert isinstance(problem, Problem)
    if solver == "newton":
        from assay.solvers.newton import newton

        return newton(problem, w, plan.tol, plan.max_iter, first)
    if solver == "smoothing":
        from assay.solvers.smoothing import smoothing

        return smoothing(problem, w, plan.tol, plan.max_iter, first)
    from assay.solvers.dual_answer import dual_coordinate_answer

    return dual_coordinate_answer(problem, w, plan.tol, plan.max_iter)
