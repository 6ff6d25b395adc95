"""How far the objectives of a dual problem, taken in float64, may be from the true ones.

A sum of products of d columns is off by at most (d + 2) u |x| |z|; that goes through the formula of the kernel, and through the sum of m values:

    |f(x_i)| is off by  e_i = u Σ_j |β_j| (q K̂_ij + s K̄_ij)      K̄ ≥ |K|, K̂ its formula of lengths of rows, q and s roundings of a value and of the sum
    P is off by         Σ_i |β_i| e_i / 2 + Σ_t U_t e_{r(t)}     over the rows that may cost something;      D by Σ_i |β_i| e_i / 2 + |b Σ_i β_i|

Roundings of a sum are as often up as down: those of m terms add up as √m does (Higham and Mary 2019). Where that is more than next to nothing and
rows are few, values are taken in extended precision, whose u is 2000 times smaller on most machines.
"""

from __future__ import annotations

import math

import numpy as np

from assay.families.kernel.functions import EPS, Kernel, has_formula
from assay.families.kernel.powers import MOST_EXACT, centre_values, largest_powers
from assay.families.kernel.svm.dual import DualProblem, Measures
from assay.numerics import Floats

NEGLIGIBLE = 1e-10  # of the objective: rounding up to that is not told
OF_TOLERANCE = 0.005  # nor is rounding up to such a share of the tolerance
MOST_PAIRS = 1 << 23  # numbers of pairs of rows that are taken in extended precision
EXTENDED = float(np.finfo(np.longdouble).eps)
TRIED = 8  # multipliers that may take up what is left of a balance
OF_A_SUM = 8.0  # times √m: roundings of a sum of m terms


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
