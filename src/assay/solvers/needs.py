"""What each solver asks of the loss, the penalty and the rows; a mismatch is refused by name, with what to take instead."""

from __future__ import annotations

from typing import NamedTuple

from assay.errors import ParameterError, nearest
from assay.risk.penalties import Penalty
from assay.risk.surrogates import Surrogate
from assay.solvers.problem import WIDE_SPARSE

QUADRATIC, ANY, SOME, NONE, RIDGE = "quadratic", "any", "some", "none", "ridge"
SOFTMAX = "softmax"
FEW_COLUMNS = 300  # a Newton step costs as much as some sweeps up to here
MOST_COLUMNS = 2000  # of dense rows, for the hinge: dual coordinates go slowly where columns are correlated
FEW_WEIGHTS = 1500  # of all classes together, for one Hessian over them


class Solver(NamedTuple):
    """`losses` it takes and `why` these; `penalty`: quadratic (l2 or none), any, ridge (l2 > 0) or none at all.

    `hessian`: it needs that of all columns, which sparse rows of many columns do not give.
    """

    name: str
    losses: tuple[str, ...]
    penalty: str
    why: str
    hessian: bool = False


SMOOTH = ("log", "softmax", "squared hinge", "squared", "huber")
KINKED = ("hinge", "perceptron")
CUSTOM = ("custom", "custom with curvature")
NEEDS: dict[str, Solver] = {
    s.name: s
    for s in (
        Solver(
            "newton",
            ("log", "squared hinge", "squared", "huber", "custom with curvature"),
            QUADRATIC,
            "slope and curvature",
            True,
        ),
        Solver("lbfgs", (*SMOOTH, *CUSTOM), QUADRATIC, "a continuous slope"),
        Solver("proximal-newton", SMOOTH, SOME, "slope and curvature"),
        Solver("proximal-gradient", (*SMOOTH, *CUSTOM), SOME, "a continuous slope"),
        Solver("gd", (*SMOOTH, *CUSTOM), QUADRATIC, "a continuous slope"),
        Solver(
            "subgradient",
            (*KINKED, "log", "squared hinge", "squared", "huber", *CUSTOM, "custom with a kink"),
            ANY,
            "a slope on either side",
        ),
        Solver("smoothing", ("hinge",), ANY, "the hinge, which it smooths", True),
        Solver("dual-coordinate", ("hinge", "squared hinge"), RIDGE, "a conjugate with bounds on each row's dual"),
        Solver("hard-margin", ("hinge", "squared hinge"), NONE, "constraints tz ≥ 1 in place of a loss"),
        Solver("pgd", ("hinge", "squared hinge"), NONE, "constraints tz ≥ 1 in place of a loss"),
    )
}


def check(solver: str, loss: Surrogate | str | None, penalty: Penalty, d: int = 0, sparse: bool = False) -> None:
    """Raise where `solver` cannot minimise this loss with this penalty on d columns; say why, and which solvers can."""
    needs = NEEDS.get(solver)
    if needs is None:
        raise ParameterError(f"There is no solver {solver!r}. {nearest(solver, ['auto', *NEEDS])}")
    name = _name(loss)
    instead = _instead(name, penalty, d, sparse)
    if name not in needs.losses:
        raise ParameterError(f"solver={solver!r} needs {needs.why}, which loss={name!r} does not have. {instead}")
    if not _suits(needs, penalty):
        wants = {
            QUADRATIC: "a quadratic penalty (none or L2), and this one has an L1 part",
            SOME: "a penalty on every weight",
            RIDGE: "an L2 penalty on every weight and no L1 part",
            NONE: "no penalty with a strength: it is C=inf, ½‖w‖² under constraints",
        }[needs.penalty]
        raise ParameterError(f"solver={solver!r} needs {wants}. {instead}")
    if needs.hessian and sparse and d > WIDE_SPARSE:
        raise ParameterError(
            f"solver={solver!r} needs the products of all {d} columns, which sparse rows give up to {WIDE_SPARSE} columns. {instead}"
        )


def choose(loss: Surrogate | str | None, penalty: Penalty, d: int, sparse: bool = False, classes: int = 2) -> str:
    """The solver that solver="auto" stands for, for d columns; `classes` counts where the loss is softmax (None)."""
    name = _name(loss)
    hessian = d <= (WIDE_SPARSE if sparse else FEW_COLUMNS)
    if name in ("perceptron", "custom with a kink"):
        return "subgradient"
    if name == "hinge":
        hessian |= not sparse and d <= MOST_COLUMNS
        if not hessian and _suits(NEEDS["dual-coordinate"], penalty):
            return "dual-coordinate"
        return "smoothing" if hessian or not sparse else "subgradient"
    if not penalty.quadratic:
        if name in CUSTOM:
            return "proximal-gradient"
        whole = name != SOFTMAX or (hessian and classes * (d + 1) <= FEW_WEIGHTS)
        return "proximal-newton" if whole else "proximal-gradient"
    return "newton" if name in NEEDS["newton"].losses and hessian else "lbfgs"


def _name(loss: Surrogate | str | None) -> str:
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
