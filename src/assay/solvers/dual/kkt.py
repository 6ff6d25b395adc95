"""How far α is from the conditions of Karush, Kuhn and Tucker."""

from __future__ import annotations

import numpy as np

from assay.numerics import Floats
from assay.solvers.dual.problem import DualProblem


def violation(problem: DualProblem, alpha: Floats, f: Floats) -> float:
    """max v over variables that can rise with their sign − min v over those that can fall; ≤ 0 at an optimum (−∞: none can move)."""
    v = -problem.sign * problem.linear - f[problem.rows]
    low, high = alpha > 0, alpha < problem.upper
    up = np.where(problem.sign > 0, high, low)
    down = np.where(problem.sign > 0, low, high)
    return float(v[up].max(initial=-np.inf) - v[down].min(initial=np.inf))
