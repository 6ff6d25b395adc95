"""The solvers by name: what each asks of the loss, the penalty and the rows, and how it is called.

A mismatch is refused by name, with what to take instead. A new solver is its module and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from assay.errors import ParameterError, nearest
from assay.numerics import Floats
from assay.risk.terms import Penalty, Surrogate
from assay.solvers.problem import WIDE_SPARSE, Evaluation, Iterate

QUADRATIC, ANY, SOME, NONE, RIDGE = "quadratic", "any", "some", "none", "ridge"
SOFTMAX = "softmax"
FEW_COLUMNS = 300  # a Newton step costs as much as some sweeps up to here
MOST_COLUMNS = 2000  # of dense rows, for the hinge: dual coordinates go slowly where columns are correlated
FEW_WEIGHTS = 1500  # of all classes together, for one Hessian over them


class SolverArgs(NamedTuple):
    """What every solver is given: a problem and the name of its loss, where to begin and when to end, and what is known already.

    `evaluation`: that at `start`; `gram`: the products of all columns; `eta`: the speed of plain descent.
    """

    problem: Any
    loss: str
    start: Floats
    tol: float
    max_iter: int
    evaluation: Evaluation | None = None
    gram: Floats | None = None
    eta: float | str = "auto"

    @property
    def usual(self) -> tuple[Any, Floats, float, int]:
        """What solvers take first."""
        return self.problem, self.start, self.tol, self.max_iter


Solve = Callable[[SolverArgs], Iterator[Iterate]]


class Solver(NamedTuple):
    """`losses` it takes and `why` these; `penalty`: quadratic (l2 or none), any, ridge (l2 > 0) or none at all.

    `hessian`: it needs that of all columns, which sparse rows of many columns do not give. `solve` is None where the model has it.
    """

    name: str
    losses: tuple[str, ...]
    penalty: str
    why: str
    hessian: bool = False
    solve: Solve | None = None


SMOOTH = ("log", "softmax", "squared hinge", "squared", "huber", "squared epsilon insensitive")
CURVED = ("log", "squared hinge", "squared", "huber", "squared epsilon insensitive", "custom with curvature")
TUBES = ("epsilon insensitive", "pinball")
KINKED = ("hinge", "perceptron", *TUBES)
CUSTOM = ("custom", "custom with curvature")
NEEDS: dict[str, Solver] = {}


def solver(
    name: str, losses: tuple[str, ...], penalty: str, why: str, *, hessian: bool = False
) -> Callable[[Solve], Solve]:
    """Register the function below under a name; it loads the solver's module only when it is called."""

    def register(solve: Solve) -> Solve:
        NEEDS[name] = Solver(name, losses, penalty, why, hessian, solve)
        return solve

    return register


@solver("newton", CURVED, QUADRATIC, "slope and curvature", hessian=True)
def _newton(args: SolverArgs) -> Iterator[Iterate]:
    from assay.solvers.newton import narrowing, newton

    return narrowing(newton, *args.usual) if args.loss == "huber" else newton(*args.usual, args.evaluation)


@solver("lbfgs", (*SMOOTH, *CUSTOM), QUADRATIC, "a continuous slope")
def _lbfgs(args: SolverArgs) -> Iterator[Iterate]:
    from assay.solvers.lbfgs import lbfgs
    from assay.solvers.preconditioner import preconditioner

    return lbfgs(*args.usual, preconditioner(args.problem, args.gram))


@solver("proximal-newton", SMOOTH, SOME, "slope and curvature")
def _proximal_newton(args: SolverArgs) -> Iterator[Iterate]:
    from assay.solvers.newton import narrowing
    from assay.solvers.proximal_newton import proximal_newton

    return (
        narrowing(proximal_newton, *args.usual)
        if args.loss == "huber"
        else proximal_newton(*args.usual, args.evaluation)
    )


@solver("coordinate-descent", ("squared",), SOME, "squared errors, which are their own quadratic model")
def _coordinate_descent(args: SolverArgs) -> Iterator[Iterate]:
    from assay.solvers.quadratic import coordinate_descent

    return coordinate_descent(*args.usual, args.evaluation, args.gram)


@solver("proximal-gradient", (*SMOOTH, *CUSTOM), SOME, "a continuous slope")
def _proximal_gradient(args: SolverArgs) -> Iterator[Iterate]:
    from assay.solvers.gradient_descent import proximal_gradient

    return proximal_gradient(*args.usual)


@solver("gd", (*SMOOTH, *CUSTOM), QUADRATIC, "a continuous slope")
def _gradient_descent(args: SolverArgs) -> Iterator[Iterate]:
    from assay.solvers.gradient_descent import gradient_descent

    return gradient_descent(*args.usual, args.eta)


@solver("subgradient", (*KINKED, *CURVED, "custom", "custom with a kink"), ANY, "a slope on either side")
def _subgradient_descent(args: SolverArgs) -> Iterator[Iterate]:
    from assay.solvers.gradient_descent import mistake_descent, subgradient_descent

    if args.loss == "perceptron":
        return mistake_descent(args.problem, args.start, args.max_iter, args.eta)
    return subgradient_descent(*args.usual, args.eta)


@solver("smoothing", ("hinge",), ANY, "the hinge, which it smooths", hessian=True)
def _smoothing(args: SolverArgs) -> Iterator[Iterate]:
    from assay.solvers.smoothing import smoothing

    return smoothing(*args.usual, args.evaluation)


@solver("interior-point", TUBES, ANY, "errors that cost in proportion")
def _interior_point(args: SolverArgs) -> Iterator[Iterate]:
    from assay.solvers.tube import open_rows

    return open_rows(*args.usual)


@solver("dual-coordinate", ("hinge", "squared hinge"), RIDGE, "a conjugate with bounds on each row's dual")
def _dual_coordinate(args: SolverArgs) -> Iterator[Iterate]:
    from assay.solvers.dual_coordinate import dual_coordinate_answer

    return dual_coordinate_answer(*args.usual)


NEEDS |= {
    name: Solver(name, ("hinge", "squared hinge"), NONE, "constraints tz ≥ 1 in place of a loss")
    for name in ("hard-margin", "pgd")
}


def solve(name: str, args: SolverArgs) -> Iterator[Iterate]:
    """The states that the solver of this name passes through; `check` has found that it can."""
    run = NEEDS[name].solve
    assert run is not None
    return run(args)


def check(solver: str, loss: Surrogate | str | None, penalty: Penalty, d: int = 0, sparse: bool = False) -> None:
    """Raise where `solver` cannot minimise this loss with this penalty on d columns; say why, and which solvers can."""
    needs = NEEDS.get(solver)
    if needs is None:
        raise ParameterError(f"There is no solver {solver!r}. {nearest(solver, ['auto', *NEEDS])}")
    name = loss_name(loss)
    instead = _instead(name, penalty, d, sparse)
    if name not in needs.losses:
        raise ParameterError(f"solver={solver!r} needs {needs.why}, which loss={name!r} does not have. {instead}")
    if not _suits(needs, penalty):
        wanted = {
            QUADRATIC: "a quadratic penalty (none or L2), and this one has an L1 part",
            SOME: "a penalty on every weight",
            RIDGE: "an L2 penalty on every weight and no L1 part",
            NONE: "no penalty with a strength: it is C=inf, ½‖w‖² under constraints",
        }[needs.penalty]
        raise ParameterError(f"solver={solver!r} needs {wanted}. {instead}")
    if needs.hessian and sparse and d > WIDE_SPARSE:
        raise ParameterError(
            f"solver={solver!r} needs the products of all {d} columns, which sparse rows give up to {WIDE_SPARSE} columns. {instead}"
        )


def choose(loss: Surrogate | str | None, penalty: Penalty, d: int, sparse: bool = False, classes: int = 2) -> str:
    """The solver that solver="auto" stands for, for d columns; `classes` counts where the loss is softmax (None)."""
    name = loss_name(loss)
    hessian = d <= (WIDE_SPARSE if sparse else FEW_COLUMNS)
    if name in ("perceptron", "custom with a kink"):
        return "subgradient"
    if name in TUBES:
        return "interior-point"
    if name == "hinge":
        hessian |= not sparse and d <= MOST_COLUMNS
        if not hessian and _suits(NEEDS["dual-coordinate"], penalty):
            return "dual-coordinate"
        return "smoothing" if hessian or not sparse else "subgradient"
    if not penalty.quadratic:
        if name in CUSTOM:
            return "proximal-gradient"
        if name == "squared":
            return "coordinate-descent"
        whole = name != SOFTMAX or (hessian and classes * (d + 1) <= FEW_WEIGHTS)
        return "proximal-newton" if whole else "proximal-gradient"
    return "newton" if name in NEEDS["newton"].losses and hessian else "lbfgs"


def loss_name(loss: Surrogate | str | None) -> str:
    """How solvers call a loss; None is softmax."""
    if loss is None:
        return SOFTMAX
    return loss if isinstance(loss, str) else loss.name


def _suits(needs: Solver, penalty: Penalty) -> bool:
    if needs.penalty == QUADRATIC:
        return penalty.quadratic
    if needs.penalty == RIDGE:
        return penalty.quadratic and bool((penalty.l2[:-1] > 0).all())
    if needs.penalty == SOME:
        return not bool(penalty.free[:-1].any())
    if needs.penalty == NONE:
        return bool(penalty.free[:-1].all())
    return True


def _instead(loss: str, penalty: Penalty, d: int, sparse: bool) -> str:
    wide = sparse and d > WIDE_SPARSE
    able = [s.name for s in NEEDS.values() if loss in s.losses and _suits(s, penalty) and not (wide and s.hessian)]
    if not able:
        return f"No solver takes loss={loss!r} with this penalty."
    return "Take solver='auto' or one of: " + ", ".join(able) + "."
