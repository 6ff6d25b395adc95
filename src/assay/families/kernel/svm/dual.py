"""The dual problem of support vector machines, classification and regression alike.

    max_α  D(α) = −½ Σ_{t,u} s_t s_u α_t α_u K(x_{r(t)}, x_{r(u)}) − Σ_t p_t α_t      0 ≤ α_t ≤ U_t,   Σ_t s_t α_t = 0

A variable t has a row r(t), a sign s_t = ±1, a cost p_t and an upper bound U_t (∞: hard margin).

    classes       one variable a row:  s = y,  p = −1,  U = C c_i
    numbers       two variables a row: s = +1, p = ε − y  and  s = −1, p = ε + y,  U = C c_i

With β_i = Σ_{t of row i} s_t α_t and f_i = Σ_j β_j K(x_j, x_i) everything else follows from f:

    v_t = −s_t p_t − f_{r(t)}                      a variable can rise with its sign (`up`) or fall; at the optimum max v (up) ≤ min v (down)
    P(β, b) = ½ Σ β_i f_i + Σ_t U_t max(0, s_t (v_t − b)) ≥ D(α)        for every b, so P − D bounds how far both are from the optimum

A hard margin does not exist where feature space cannot separate rows of both classes:

    m = ½ ‖Σ_{+} p_i φ(x_i) − Σ_{−} q_i φ(x_i)‖        p, q ≥ 0, each adding up to 1

No hyperplane has a margin above m, whatever p and q: a margin of γ parts all rows by 2γ, and so their means.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.families.kernel.functions import Kernel
from assay.numerics import Array, Floats

NAMED = 5  # rows of a side that a message names


class DualProblem(NamedTuple):
    """`X` (n, d) float64, C-contiguous; of kernel "precomputed" the (n, n) matrix. The variables: `rows` (l,) int64, `sign`, `linear`, `upper` (l,)."""

    kernel: Kernel
    X: Floats
    rows: Array
    sign: Floats
    linear: Floats
    upper: Floats

    @property
    def hard(self) -> bool:
        """Whether some row may not be inside the margin at any price."""
        return bool(np.isinf(self.upper).any())

    def coefficients(self, alpha: Floats) -> Floats:
        """β (n,)."""
        return np.bincount(self.rows, weights=self.sign * alpha, minlength=len(self.X)).astype(np.float64)


class DualState(NamedTuple):
    """Where a solver stands: `alpha` (l,), a copy that nobody changes; `values` f (n,), which the solver goes on changing; the intercept b;
    primal and dual objective, (P − D) / P; the variables of the working set, and how many of those changed. `bound`: of a hard margin no
    hyperplane in feature space has a margin above this. `share`: of the variables that are still active (shrinking)."""

    number: int
    alpha: Floats
    values: Floats
    intercept: float
    primal: float
    dual: float
    gap: float
    working: Array
    changed: int
    bound: float = math.inf
    share: float = 1.0


def classes_problem(kernel: Kernel, X: Floats, y: Floats, upper: Floats) -> DualProblem:
    """Two classes: y (n,) of ±1, upper (n,) = C times the weight of each row."""
    return DualProblem(kernel, X, np.arange(len(X)), y, np.full(len(X), -1.0), upper)


def numbers_problem(kernel: Kernel, X: Floats, y: Floats, upper: Floats, epsilon: float) -> DualProblem:
    """Numbers y (n,) with a tube of ±epsilon that costs nothing."""
    n = len(X)
    sign = np.repeat([1.0, -1.0], n)
    return DualProblem(kernel, X, np.tile(np.arange(n), 2), sign, epsilon - sign * np.tile(y, 2), np.tile(upper, 2))


class Measures(NamedTuple):
    """Primal and dual objective, (P − D) / P, and of a hard margin a bound on the margin of any hyperplane."""

    primal: float
    dual: float
    gap: float
    bound: float


@np.errstate(over="ignore", invalid="ignore")  # α of a hard margin that does not exist grow without end
def measure(problem: DualProblem, alpha: Floats, f: Floats, b: float) -> Measures:
    """How far (α, b) are from the optimum; f = K β are the values of the rows without b."""
    beta = problem.coefficients(alpha)
    square = float(beta @ f)  # < 0 only where the kernel is not positive semidefinite
    dual = -0.5 * square - float(problem.linear @ alpha)
    v = -problem.sign * problem.linear - f[problem.rows]
    short = problem.sign * (v - b)  # of what is due
    total = float(alpha.sum())
    bound = math.sqrt(max(0.0, square)) / total if total > 0 and problem.hard else math.inf
    hard = np.isinf(problem.upper)
    if hard.any():
        reached = 1.0 - float(short[hard].max())  # the least margin, 1 is due
        if reached <= 0:
            return Measures(math.inf, dual, math.inf, bound)
        scale = 1.0 / min(1.0, reached)
        loss = float(problem.upper[~hard] @ np.maximum(0.0, 1.0 - scale * (1.0 - short[~hard])))
        primal = 0.5 * square * scale * scale + loss
    else:
        primal = 0.5 * square + float(problem.upper @ np.maximum(0.0, short))
    return Measures(primal, dual, _relative(primal, dual), bound)


def _relative(primal: float, dual: float) -> float:
    if primal <= 0 or not math.isfinite(primal):
        return 0.0 if primal <= dual else math.inf
    return max(0.0, (primal - dual) / primal)


def best_intercept(problem: DualProblem, f: Floats) -> float:
    """The b that makes the primal least for these f: between the rows whose marginal costs balance. Hard rows: midway between the classes."""
    v = -problem.sign * problem.linear - f[problem.rows]
    hard = np.isinf(problem.upper)
    if hard.any():
        up, down = v[hard & (problem.sign > 0)], v[hard & (problem.sign < 0)]
        if len(up) and len(down):
            return float(0.5 * (up.max() + down.min()))
        return float(up.max() if len(up) else down.min())
    order = np.argsort(v, kind="stable")
    slope = np.cumsum(problem.upper[order]) - float(problem.upper[problem.sign > 0].sum())
    size = float(problem.upper.sum()) * 1e-12
    first = int(np.searchsorted(slope, -size))
    last = int(np.searchsorted(slope, size, side="right"))
    first, last = min(first, len(v) - 1), min(last, len(v) - 1)
    return float(0.5 * (v[order[first]] + v[order[last]]))


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
