"""What every iterative solver yields: the weights it stands at, the objective there, and how far from the least it can be."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.solvers.problem import Evaluation


class MarginRows(NamedTuple):
    """Rows (m,) near the margin and their multipliers (m,); every other row has its full weight or none, by its side."""

    rows: Array
    values: Floats


class Iterate(NamedTuple):
    """w (d + 1,) or (K, d + 1) about the problem's centre, intercept last; `gap` is relative to the objective.

    `width` is that over which a hinge was smoothed here (0: the loss itself); `least` the least margin tz of a row.
    """

    number: int
    w: Floats
    objective: float
    gap: float
    width: float = 0.0
    least: float = -float("inf")
    done: bool = False  # the solver stops here: the gap is at most `tol`, or nothing more can be gained
    alpha: Floats | None = None  # the dual point (n,) of a solver that keeps one
    support: MarginRows | None = None  # the dual point of a hinge loss
    step: Floats | None = None  # Newton's next step, which proves the gap where no penalty does
    evaluation: Evaluation | None = (
        None  # the look at w, with a Hessian there or nearby, of a solver that has one in the end
    )


def last(iterates: Iterator[Iterate]) -> Iterate:
    """The last of them; solvers yield at least one."""
    return deque(iterates, maxlen=1)[0]
