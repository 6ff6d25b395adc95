"""Margin losses without a penalty where a hyperplane puts every row on its right side: the risk falls along it for ever,
or, of a loss that is zero from a margin of one on, becomes zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import SeparableWarning, warn
from assay.hypotheses.linear.posing import Posed
from assay.solvers.iterate import Iterate

MORE = 1.0 + 1e-9  # so that rounding leaves no row below one


def beyond_all_bounds(posed: Posed, at: Iterate) -> Iterate:
    """The same direction with a least margin of one; the gap is zero where the loss now is, else infinite."""
    problem = posed.problem
    w = at.w * (MORE / at.least)
    look = problem.look(w)
    gap = 0.0 if look.loss == 0.0 else np.inf
    step = None if at.step is None else np.zeros_like(w)
    return at._replace(w=w, objective=look.loss, gap=gap, least=look.least, step=step)


def warn_separable(model: Any) -> None:
    """Say that no minimum exists, and what the weights are."""
    warn(
        f"{type(model).__name__}: a hyperplane separates classes, so that the {model.loss} risk without a penalty falls for ever and has "
        "no minimum. The weights are a separating direction (least margin 1). Take a penalty for weights that mean something.",
        SeparableWarning,
    )
