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

How far the objectives, taken in float64, may be from the true ones: a sum of products of d columns is off by at most (d + 2) u |x| |z|; that goes
through the formula of the kernel, and through the sum of m values:

    |f(x_i)| is off by  e_i = u Σ_j |β_j| (q K̂_ij + s K̄_ij)      K̄ ≥ |K|, K̂ its formula of lengths of rows, q and s roundings of a value and of the sum
    P is off by         Σ_i |β_i| e_i / 2 + Σ_t U_t e_{r(t)}     over the rows that may cost something;      D by Σ_i |β_i| e_i / 2 + |b Σ_i β_i|

Roundings of a sum are as often up as down: those of m terms add up as √m does (Higham and Mary 2019). Where that is more than next to nothing and
rows are few, values are taken in extended precision, whose u is 2000 times smaller on most machines.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.families.kernel.functions import EPS, MOST_EXACT, Kernel, centre_values, has_formula, largest_powers
from assay.numerics import Array, Floats

NAMED = 5  # rows of a side that a message names
NEGLIGIBLE = 1e-10  # of the objective: rounding up to that is not told
OF_TOLERANCE = 0.005  # nor is rounding up to such a share of the tolerance
MOST_PAIRS = 1 << 23  # numbers of pairs of rows that are taken in extended precision
EXTENDED = float(np.finfo(np.longdouble).eps)
TRIED = 8  # multipliers that may take up what is left of a balance
OF_A_SUM = 8.0  # times √m: roundings of a sum of m terms


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


def extended_values(problem: DualProblem, beta: Floats) -> Floats | None:
    """f = K β in extended precision; None where that would take long."""
    kernel, support = problem.kernel, np.flatnonzero(beta)
    if not has_formula(kernel) or len(problem.X) * len(support) * (problem.X.shape[1] + 8) > MOST_PAIRS:
        return None
    X = problem.X.astype(np.longdouble)
    with np.errstate(all="ignore"):
        values: Floats = kernel.extended(X, X[support]) @ beta[support].astype(np.longdouble)
    return values


def value_errors(problem: DualProblem, beta: Floats, eps: float = EPS) -> Floats:
    """e (n,): what f = K β of each row may be off by, in a precision of `eps`."""
    kernel, support = problem.kernel, np.flatnonzero(beta)
    size, summed = np.abs(beta[support]), OF_A_SUM * (1.0 + math.sqrt(len(support)))
    if kernel.name == "precomputed":
        given: Floats = eps * summed * (np.abs(problem.X[:, support]) @ size)
        return given
    if kernel.own is not None:
        length = np.sqrt(np.abs(kernel.diagonal(problem.X)))
        own: Floats = eps * summed * length * float(length[support] @ size)
        return own
    d, off = problem.X.shape[1], problem.X if kernel.centre is None else problem.X - kernel.centre
    if kernel.normed:
        wide = np.zeros(len(off)) if eps < EPS else _exponents(kernel, off)
        apart: Floats = (d + 8) * (wide * size.sum() + float(wide[support] @ size)) + (summed + d + 8) * size.sum()
        return eps * apart
    length = np.sqrt(np.einsum("ij,ij->i", off, off))
    degree = kernel.degree if kernel.name == "poly" else 1.0
    if kernel.is_about_centre:
        about: Floats = eps * (2.0 * (d + 6) * (degree + 1.0) + summed) * _about_centre(kernel, length, support, size)
        return about
    total: Floats = eps * ((d + 4) * max(1.0, degree) + summed) * _of_lengths(kernel, degree, length, support, size)
    return total


def _exponents(kernel: Kernel, off: Floats) -> Floats:
    """By what a rounding of each row changes the exponent of rbf or laplacian; 0 where distances are taken by differences."""
    if kernel.by_differences:
        return np.zeros(len(off))
    wide: Floats = np.abs(off).sum(axis=1) if kernel.name == "laplacian" else 2.0 * np.einsum("ij,ij->i", off, off)
    return kernel.gamma * wide


def _about_centre(kernel: Kernel, length: Floats, support: Floats, size: Floats) -> Floats:
    """Σ_j |β_j| times the terms of K about the centre, pair by pair, or of many with the x_j that is farthest."""
    other = length[support]
    if len(length) * len(other) > MOST_PAIRS >> 2:
        other, size = other.max(initial=0.0, keepdims=True), size.sum(keepdims=True)
    pairs: Floats = largest_powers(kernel, length, other) @ size
    return pairs


def _of_lengths(kernel: Kernel, degree: float, length: Floats, support: Floats, size: Floats) -> Floats:
    """Σ_j |β_j| (γ |x_i| |x_j| + |c|)^degree: by the binomial theorem where the degree is whole; else pair by pair, of many with the longest x_j."""
    slope = kernel.gamma if kernel.name in ("poly", "sigmoid") else 1.0
    shift = {"affine": 1.0, "linear": 0.0}.get(kernel.name, abs(kernel.coef0))
    other = length[support]
    if degree != int(degree) or degree > 64:
        if len(length) * len(other) <= MOST_PAIRS >> 2:
            pairs: Floats = (slope * np.outer(length, other) + shift) ** degree @ size
            return pairs
        return float(size.sum()) * (slope * length * float(other.max(initial=0.0)) + shift) ** degree
    total = np.zeros(len(length))
    for q in range(int(degree) + 1):
        part = math.comb(int(degree), q) * shift ** (int(degree) - q)
        if part:
            total += part * length**q * float(size @ (slope * other) ** q)
    return total


def balanced(problem: DualProblem, alpha: Floats) -> Floats:
    """α with Σ s α = 0 to the last digit, where one multiplier can take up what rounding left: kernels about a centre are those about zero then."""
    beta = problem.coefficients(alpha)
    left = math.fsum(beta)
    for k in np.flatnonzero(alpha > 0)[np.argsort(alpha[alpha > 0], kind="stable")][:TRIED] if left else ():
        other = alpha.copy()
        other[k] -= problem.sign[k] * left
        if 0 < other[k] <= problem.upper[k] and math.fsum(problem.coefficients(other)) == 0.0:
            return other
    return alpha


def with_rounding(
    problem: DualProblem,
    alpha: Floats,
    found: Measures,
    b: float,
    tol: float,
    f: Floats | None = None,
    eps: float = EPS,
) -> float:
    """The relative gap that is proved: with all that rounding may have hidden, unless that is next to nothing. Rows count that may cost something
    by their values f and the intercept b; all, where those are not given."""
    with np.errstate(all="ignore"):
        off = _off(problem, alpha, found, b, f, eps)
    hidden = max(NEGLIGIBLE, OF_TOLERANCE * tol) * abs(found.primal)
    if not math.isfinite(found.gap) or off <= hidden:
        return found.gap
    return (found.gap * found.primal + off) / (found.primal - off) if off < found.primal else math.inf


def _off(problem: DualProblem, alpha: Floats, found: Measures, b: float, f: Floats | None, eps: float) -> float:
    beta = problem.coefficients(alpha)
    e = value_errors(problem, beta, eps) + _of_intercept(problem, beta, b)
    of_square, hard = float(np.abs(beta) @ e) + abs(b * float(beta.sum())), np.isinf(problem.upper)
    if hard.any():  # scores are scaled until the least is 1
        return of_square + 2.0 * found.primal * float(e.max())
    costs, own = problem.upper, e[problem.rows] + 2.0 * EPS * (np.abs(problem.linear) + abs(b))
    of_square += EPS * OF_A_SUM * (1.0 + math.sqrt(len(alpha))) * float(np.abs(problem.linear) @ alpha)
    if f is not None:
        short = -problem.linear - problem.sign * (f[problem.rows] + b)
        costs = np.where(short > -own, costs, 0.0)
    return of_square + float(costs @ own)


def _of_intercept(problem: DualProblem, beta: Floats, b: float) -> float:
    """What the intercept may be off by where it is that of rows far from zero: b − w·c, w in extended precision."""
    centre, support = problem.kernel.centre, np.flatnonzero(beta)
    if problem.kernel.normed or centre is None:
        return 0.0
    off, size, summed = problem.X[support] - centre, np.abs(beta[support]), OF_A_SUM * (1.0 + math.sqrt(len(support)))
    if problem.kernel.is_about_centre:
        return _of_power_intercept(problem, beta, b)
    far = float(np.abs(beta[support] @ off) @ np.abs(centre))
    terms = float(size @ np.abs(off) @ np.abs(centre))
    return float(EPS * (problem.X.shape[1] + 8) * (far + abs(b)) + EXTENDED * summed * terms)


def _of_power_intercept(problem: DualProblem, beta: Floats, b: float) -> float:
    """The same of a polynomial: b − w·φ(c) is stored in float64, and coefficients that do not quite add up to zero notice the centre."""
    kernel, support = problem.kernel, np.flatnonzero(beta)
    moved = centre_values(kernel, problem.X - kernel.centre)
    terms = float(np.abs(beta[support]) @ np.abs(moved[support])) * float(problem.X[support].size > MOST_EXACT)
    summed = OF_A_SUM * (1.0 + math.sqrt(len(support))) + 2.0 * (problem.X.shape[1] + 6) * (kernel.degree + 1.0)
    left = abs(math.fsum(beta)) * float(np.abs(moved).max(initial=0.0))
    return float(2.0 * EPS * (abs(float(beta @ moved)) + abs(b)) + EXTENDED * summed * terms + left)
