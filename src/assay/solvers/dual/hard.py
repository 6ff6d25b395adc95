"""Why a hard margin does not exist: rows of both classes that feature space cannot tell apart.

    m = ½ ‖Σ_{+} p_i φ(x_i) − Σ_{−} q_i φ(x_i)‖        p, q ≥ 0, each adding up to 1

No hyperplane has a margin above m, whatever p and q: a margin of γ parts all rows by 2γ, and so their means.
"""

from __future__ import annotations

import numpy as np

from assay.numerics import Array, Floats
from assay.solvers.dual.problem import DualProblem, DualState

NAMED = 5  # rows of a side that a message names


def why_not_separable(problem: DualProblem, state: DualState, numbers: Array | None = None) -> str:
    """A sentence that names the rows in the way. `numbers` (n,): what the user calls the problem's rows."""
    numbers = np.arange(len(problem.X)) if numbers is None else numbers
    pair = equal_rows_apart(problem.X, _labels(problem))
    if pair is not None:
        i, j = sorted(int(numbers[k]) for k in pair)
        return f"rows {i} and {j} have equal features and opposite labels, so no hyperplane in any feature space parts them"
    up, down = (_heaviest(problem, state.alpha, side, numbers) for side in (1.0, -1.0))
    return (
        f"the weighted means of rows {up} of one class and of rows {down} of the other come within {2 * state.bound:.3g} of each other in "
        f"feature space, so no hyperplane has a margin above {state.bound:.3g}"
    )


def equal_rows_apart(X: Floats, y: Floats) -> tuple[int, int] | None:
    """The first two rows that are equal but for their label ±1 (0: no row), or None. Equal rows of a kernel matrix are equal in feature space."""
    seen: dict[bytes, tuple[int, float]] = {}
    for i in np.flatnonzero(y).tolist():
        key = (np.asarray(X[i], dtype=np.float64) + 0.0).tobytes()  # −0 is 0
        first, label = seen.setdefault(key, (i, float(y[i])))
        if label != y[i]:
            return first, i
    return None


def _labels(problem: DualProblem) -> Floats:
    """The sign of each row that has to be on its side at any price."""
    y = np.zeros(len(problem.X))
    hard = np.isinf(problem.upper)
    y[problem.rows[hard]] = problem.sign[hard]
    return y


def _heaviest(problem: DualProblem, alpha: Floats, side: float, numbers: Array) -> str:
    mine = np.flatnonzero((problem.sign == side) & (alpha > 0))
    mine = mine[np.argsort(-alpha[mine], kind="stable")]
    names = sorted(int(numbers[r]) for r in problem.rows[mine[:NAMED]])
    return ", ".join(map(str, names)) + (f" and {len(mine) - NAMED} more" if len(mine) > NAMED else "")
