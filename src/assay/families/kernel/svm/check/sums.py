"""The sums of kernel SVMs again: every row's value is added up from the support rows, and all else from those.

    f(x) = Σ_i β_i K(x_i, x),   ξ = max(0, 1 − t (f + b)),   0 ≤ α_i = t_i β_i ≤ U_i = upper[class] · weight

One problem for two classes (t = 1: the second), one a pair i < j (t = 1: class i), or one a class against the rest.

Primal and dual value follow from sums over the rows:

    P = ½‖w‖² + Σ U ξ,     D = −½ βᵀKβ + L₊ + L₋         0 ≤ α ≤ U,  Σ₊ α = Σ₋ α
    βᵀKβ = G₊₊ + G₊₋ + G₋₊ + G₋₋,   L = −Σ p α           by the signs of β = s α

The sides of the witness balance but for rounding. The heavier one is scaled down until they balance exactly, which the parts G and L allow
without the kernel: so D is the value of a point that is feasible, and P − D bounds how far P is above the least.

At an optimum a row with α > 0 is not beyond the margin, and one with α < U not within it; what is missed of that adds up to P − D:

    Σ α (t (f + b) − 1)₊ + (U − α) ξ = P − D

Regression with a tube: P = ½‖w‖² + Σ U max(0, |y − f − b| − ε), from every row's value.

    D = −½ βᵀKβ + Σ y β − ε Σ|β|        |β_i| ≤ U_i = upper · weight,  Σ β = 0

Linear kernels, and polynomials of rows far from zero, are taken about the mean of the support rows, which Σ β = 0 does not notice, with b + w·φ(c) for b. What rounding may have done to the
values of rows is bounded, and counts against the claim; where it is more than next to nothing and rows are few, all is done again in extended precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from assay.certify.rows import Array, CheckedRows, CountedRows, Floats, counted_rows
from assay.families.kernel.check import (
    NEGATIVE,
    bounded_sums,
    centre_values,
    far_power,
    is_positive,
    moved_exactly,
    negative_share,
)

FEASIBLE = 1e-9  # relative: what rounding may do to bounds and balance
NEGLIGIBLE = 1e-10  # of P: rounding up to that is not told
OF_TOLERANCE = 0.005  # nor is rounding up to such a share of the tolerance
MANY_PAIRS = 1 << 23  # from there on fits count in float64 alone, and state all that it may hide
MOST_PAIRS = 1 << 26  # numbers of pairs of rows that are taken in extended precision
SCHEMES = ("two", "ovo", "ovr")


class MachineSums(NamedTuple):
    """Of each problem (P,): Σ U ξ; G (P, 2, 2) and L (P, 2) of the sides (+, −); Σ α of the sides (P, 2); what is missed of complementary
    slackness (hard: Σ α t(f + b)); the greatest v of a variable that can rise, the least of one that can fall; the least t(f + b) of a row;
    `off`: what rounding may have done to P − D (hard: to ‖w‖²), and `doubt`: to the least t(f + b); `intercept`: of the rows as they are counted.
    `hard`: no row may be inside the margin. `rows`: of positive weight. `bounds`: a fit may state more than it needs."""

    loss: Floats
    G: Floats
    L: Floats
    alpha: Floats
    missed: Floats
    up: Floats
    down: Floats
    least: Floats
    off: Floats
    doubt: Floats
    intercept: Floats
    tolerance: float
    hard: bool
    rows: int
    bounds: bool

    @classmethod
    def none(cls, problems: int, tolerance: float, hard: bool, rows: int, dtype: Any) -> MachineSums:
        P, high = problems, np.full(problems, np.inf)
        loss, G, L, alpha, missed = (np.zeros((P, *more), dtype=dtype) for more in ((), (2, 2), (2,), (2,), ()))
        off, doubt, b = np.zeros((3, P))
        bounds = dtype is not np.float64
        return cls(loss, G, L, alpha, missed, -high, high, high.copy(), off, doubt, b, tolerance, hard, rows, bounds)

    def square(self) -> Floats:
        """‖w‖² = βᵀKβ (negative only where the kernel is not positive semidefinite)."""
        found: Floats = self.G.sum(axis=(1, 2))
        return found

    def primal(self) -> Floats:
        """P; of a hard margin after w and b were scaled until every row has t(f + b) ≥ 1 (∞ where no scale does that)."""
        if not self.hard:
            return 0.5 * self.square() + self.loss
        reached = np.minimum(self.least, 1.0)
        return np.where(reached > 0, 0.5 * self.square() / np.where(reached > 0, reached, 1.0) ** 2, np.inf)

    def dual(self) -> Floats:
        total = self.alpha
        if np.any(np.abs(total[:, 0] - total[:, 1]) > FEASIBLE * total.sum(axis=1)):
            raise ValueError("the multipliers of the two sides do not balance")
        least = total.min(axis=1, keepdims=True)
        c = np.divide(least, total, out=np.ones_like(total), where=total > 0)
        quadratic = np.einsum("pa,pab,pb->p", c, self.G, c)
        found: Floats = (c * self.L).sum(axis=1) - 0.5 * quadratic
        return found

    def rounding(self) -> Floats:
        """What rounding may have done to P and D; nothing where that is next to nothing, all where it is more than P."""
        P, off = self.primal(), self.off + np.abs(self.intercept * (self.alpha[:, 0] - self.alpha[:, 1])).astype(float)
        if self.hard:  # w and b were scaled by 1/t, and t was doubtful
            t = np.minimum(self.least, 1.0)
            off = np.where(
                t > 0, (off / np.where(t > 0, t, 1.0) + 2.0 * P * self.doubt) / np.where(t > 0, t, 1.0), np.inf
            )
        hidden = max(NEGLIGIBLE, OF_TOLERANCE * self.tolerance) * np.abs(P)
        return np.where(off <= hidden, 0.0, np.where(off < P, off, np.inf))

    @property
    def is_coarse(self) -> bool:
        """Whether rounding shows in float64: a fit that counts so states a gap with all that it may hide."""
        return self.bounds or bool(self.rounding().any())

    def gap(self) -> Floats:
        """(P − D) / P of each problem, for all that rounding may have done."""
        P, D, off = self.primal(), self.dual(), self.rounding()
        with np.errstate(all="ignore"):
            gap = np.where(P > 0, (P - D + off) / (P - off), np.where(D >= P, 0.0, np.inf))
        return np.where(np.isnan(gap) | np.isinf(off), np.inf, np.maximum(gap, 0.0))

    def slackness(self) -> Floats:
        """What is missed of complementary slackness, as a share of P; of a hard margin after the scaling of `primal`."""
        P, missed = self.primal(), self.missed
        if self.hard:
            missed = self.missed / np.minimum(self.least, 1.0) - self.alpha.sum(axis=1)
        off = self.rounding()
        with np.errstate(all="ignore"):
            share = np.where(P > 0, (missed + off) / (P - off), np.where(missed > 0, np.inf, 0.0))
        return np.where(np.isfinite(P) & np.isfinite(share) & np.isfinite(off), share, np.inf)

    def violation(self) -> float:
        """The greatest max v (up) − min v (down)."""
        return float((self.up - self.down).max())


def add_side(sums: MachineSums, p: int, side: int, beta: Floats, f: Floats, linear: Any) -> None:
    """Add support rows of one side of problem p: β (m,), the two parts of their values f (m, 2), and −Σ p α."""
    sums.alpha[p, side] += float(np.abs(beta).sum())
    sums.L[p, side] += linear
    sums.G[p, side] += beta @ f


def add_slopes(sums: MachineSums, p: int, v: Floats, rises: Floats, falls: Floats) -> None:
    """Add variables with their v, and whether they can move with their sign or against it."""
    sums.up[p] = max(sums.up[p], float(v[rises].max(initial=-np.inf)))
    sums.down[p] = min(sums.down[p], float(v[falls].min(initial=np.inf)))


class StatedSupport(NamedTuple):
    """What predicts: the support rows' numbers (m,), class codes (m,), places in the table (m,), and Z: the rows themselves or their columns."""

    number: Array
    code: Array
    at: Array
    Z: Array


def support_of(witness: dict[str, Any], table: CountedRows, code: Array | None = None) -> StatedSupport:
    """The support rows, which must be rows of the table, each once, and (`code`) of their class."""
    number = np.asarray(witness["support"])
    if number.dtype.kind != "i" or number.ndim != 1 or len(np.unique(number)) != len(number):
        raise ValueError("the numbers of the support rows are not possible")
    at = np.searchsorted(table.number, number)
    if np.any(at >= len(table.number)) or np.any(table.number[np.minimum(at, len(table.number) - 1)] != number):
        raise ValueError("a support row is not there, or has no weight")
    given = witness["kernel"] == "precomputed"
    Z = number if given else np.asarray(witness["support_vectors"], dtype=np.float64)
    if not given and not np.array_equal(Z, table.X[at]):
        raise ValueError("the support rows are not the rows of those numbers")
    if given and table.X.shape[1] != table.n:
        raise ValueError("the rows are not the square kernel matrix of the fit")
    code = np.zeros(len(number), dtype=np.int64) if code is None else code
    return StatedSupport(number, code, at, Z)


def refuse_indefinite(witness: dict[str, Any], table: CountedRows) -> None:
    """Raise where a kernel that was given has a clearly negative eigenvalue: no gap bounds anything then."""
    if is_positive(witness) is None:
        share = negative_share(witness, table.X, table.number)
        if not share >= -NEGATIVE:
            raise ValueError(f"the kernel is not positive semidefinite: an eigenvalue is {share:.3g} of the trace")


def problems_of(scheme: str, K: int, c: int, coef: Floats, code: Array) -> tuple[Array, Floats, Floats]:
    """The problems in which class c takes part: their numbers (p,), its sign t in them (p,), and their coefficients (p, m)."""
    if scheme == "two":
        return np.zeros(1, dtype=np.int64), np.array([1.0 if c == 1 else -1.0]), coef
    if scheme == "ovr":
        return np.arange(K), np.where(np.arange(K) == c, 1.0, -1.0), coef
    others = np.delete(np.arange(K), c)
    i, j = np.minimum(others, c), np.maximum(others, c)
    beta = np.zeros((K - 1, len(code)))
    for p in range(K - 1):
        first, second = code == i[p], code == j[p]
        beta[p, first], beta[p, second] = coef[j[p] - 1, first], coef[i[p], second]
    return i * (2 * K - i - 1) // 2 + j - i - 1, np.where(others > c, 1.0, -1.0), beta


def _closely(add_up: Callable[..., MachineSums], witness: dict[str, Any], table: CountedRows) -> MachineSums:
    """The sums in float64, or in extended precision where rounding would show."""
    sums = add_up(witness, table, np.float64)
    pairs = len(table.X) * len(np.asarray(witness["support"])) * (table.X.shape[1] + 8)
    given = witness["kernel"] in ("own", "precomputed")
    if pairs > MANY_PAIRS and witness["kernel"] in ("linear", "affine", "poly", "sigmoid"):
        sums = sums._replace(bounds=True)
    return sums if given or pairs > MOST_PAIRS or not sums.rounding().any() else add_up(witness, table, np.longdouble)


class CentredRows(NamedTuple):
    """Rows and support rows as the kernel takes them; the centre of a polynomial (None: they are counted from zero); by how much the intercepts of
    problems are greater there, and what rounding may do to them (p,)."""

    X: Floats
    Z: Floats
    centre: Floats | None
    moved: Floats
    off: Floats


def about(witness: dict[str, Any], X: Floats, Z: Floats, beta: Floats, dtype: Any) -> CentredRows:
    """The rows as they are best counted, for problems with coefficients β (p, m)."""
    far = far_power(witness, Z)
    if far is not None:
        return _about_power(witness, X, Z, beta, far, dtype)
    if witness["kernel"] not in ("linear", "affine") or not len(Z):
        return CentredRows(X, Z, None, np.zeros(len(beta)), np.zeros(len(beta)))
    centre = _centre(Z, np.abs(np.asarray(witness["dual_coef"], dtype=np.float64)).sum(axis=0))
    X, Z, centre = X.astype(dtype) - centre, Z.astype(dtype) - centre, centre.astype(dtype)
    weights, eps = beta.astype(dtype) @ Z, float(np.finfo(dtype).eps)
    terms = np.abs(beta) @ np.abs(Z) @ np.abs(centre)
    off = eps * ((Z.shape[1] + 4) * (np.abs(weights) @ np.abs(centre)) + 4.0 * (1.0 + math.sqrt(len(Z))) * terms)
    return CentredRows(X, Z, None, weights @ centre, off.astype(np.float64))


def _about_power(
    witness: dict[str, Any], X: Floats, Z: Floats, beta: Floats, centre: Floats, dtype: Any
) -> CentredRows:
    """A polynomial less its values with the centre: coefficients that do not quite add up to zero notice what is left of it."""
    support, eps = Z, float(np.finfo(dtype).eps)
    X, Z = X.astype(dtype) - centre, Z.astype(dtype) - centre
    values = centre_values(witness, Z, centre)
    rounds = (Z.shape[1] + 4) * (float(witness["degree"]) + 1.0) + 4.0 * (1.0 + math.sqrt(len(Z)))
    balance = np.array([abs(math.fsum(row)) for row in beta])  # without rounding of its own
    left = balance * np.abs(centre_values(witness, X, centre)).max(initial=0.0)
    exactly = moved_exactly(witness, support, beta, centre)
    if exactly is not None:
        return CentredRows(X, Z, centre, exactly.astype(dtype), left + eps * np.abs(exactly).astype(np.float64))
    off = eps * rounds * (np.abs(beta) @ np.abs(values)) + left
    return CentredRows(X, Z, centre, beta.astype(dtype) @ values, off.astype(np.float64))


def _centre(Z: Floats, size: Floats) -> Floats:
    """The mean of the support rows, each as heavy as its coefficients: a far one that hardly counts would move all others far away."""
    share = size / (size.max(initial=0.0) or 1.0)
    share = share / share.sum() if share.any() else np.full(len(Z), 1.0 / len(Z))
    return np.clip(share @ Z, Z.min(axis=0), Z.max(axis=0))


def sums_of(witness: dict[str, Any], rows: CheckedRows) -> MachineSums:
    """All sums of a classifier."""
    return _closely(_class_sums, witness, counted_rows(rows, witness.get("classes")))


def _class_sums(witness: dict[str, Any], table: CountedRows, dtype: Any) -> MachineSums:
    """All sums, one class of rows after another."""
    scheme = witness["scheme"]
    K, coef = len(witness["classes"]), np.asarray(witness["dual_coef"], dtype=np.float64)
    counts = np.asarray(witness["n_support"])
    upper, b = (np.asarray(witness[key], dtype=np.float64) for key in ("upper", "intercept"))
    problems = {"two": 1, "ovo": K * (K - 1) // 2, "ovr": K}[scheme]
    if (scheme == "two") != (K == 2) or counts.shape != (K,) or upper.shape != (K,) or b.shape != (problems,):
        raise ValueError("the parts of the witness do not fit the classes")
    support = support_of(witness, table, np.repeat(np.arange(K), counts))
    m = len(support.number)
    if coef.shape != ({"two": 1, "ovo": K - 1, "ovr": K}[scheme], m) or len(support.code) != m:
        raise ValueError("the coefficients do not fit the support rows")
    if np.any(support.code != table.y[support.at]):
        raise ValueError("a support row is of another class")
    hard = bool(np.isinf(upper).all())
    if (
        not np.isfinite(coef).all()
        or not np.isfinite(b).all()
        or not (hard or np.isfinite(upper).all())
        or (upper < 0).any()
    ):
        raise ValueError("the numbers of the witness are not possible")
    refuse_indefinite(witness, table)
    found = MachineSums.none(problems, float(witness["tolerance"]), hard, len(table.X), dtype)
    for c in range(K):
        part = ClassPart(c, upper[c], *problems_of(scheme, K, c, coef, support.code))
        _add_class(found, witness, table, support, b, part, dtype)
    return found


class ClassPart(NamedTuple):
    """A class, the bound of its rows, and the problems in which it takes part, as `problems_of` gives them."""

    code: int
    upper: float
    numbers: Array
    t: Floats
    beta: Floats


def _add_class(
    sums: MachineSums,
    witness: dict[str, Any],
    table: CountedRows,
    support: StatedSupport,
    b: Floats,
    part: ClassPart,
    dtype: Any,
) -> None:
    c, upper, numbers, t, beta = part
    mine = np.flatnonzero(table.y == c)
    bound = np.full(len(mine), np.inf) if np.isinf(upper) else upper * table.w[mine]
    scale = scales(witness, len(sums.loss))
    X, Z, centre, moved, of_b = about(witness, table.X[mine], support.Z, beta, dtype)
    sides = np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
    parts, doubts = bounded_sums(witness, X, Z, sides, dtype, centre)
    own, eps = np.flatnonzero(support.code == c), float(np.finfo(dtype).eps)
    place = np.searchsorted(mine, support.at[own])
    for k, p in enumerate(numbers.tolist()):
        f = parts[:, [k, k + len(numbers)]]
        doubt = doubts[:, k] + doubts[:, k + len(numbers)] + of_b[k] + eps * float(abs(b[p] + moved[k]))
        alpha, U = np.zeros(len(mine)), bound * scale[p]
        alpha[place] = t[k] * beta[k, own]
        if np.any(alpha < 0) or np.any(alpha > (1.0 + FEASIBLE) * U):
            raise ValueError("a multiplier lies outside its bounds")
        z = f.sum(axis=1)
        value = t[k] * (z + b[p] + moved[k])
        if sums.hard:
            sums.missed[p] += alpha @ value
            sums.off[p] += float(alpha @ doubt)
        else:
            short = np.maximum(0.0, 1.0 - value)
            sums.loss[p] += U @ short
            sums.missed[p] += alpha @ np.maximum(0.0, value - 1.0) + (U - alpha) @ short
            sums.off[p] += float((alpha + np.where(value < 1.0 + doubt, U, 0.0)) @ doubt)
        sums.intercept[p] = b[p] + moved[k]
        sums.least[p] = min(sums.least[p], float(value.min(initial=np.inf)))
        sums.doubt[p] = max(sums.doubt[p], float(doubt.max(initial=0.0)))
        low, high = alpha > 0, alpha < (1.0 - FEASIBLE) * U
        rises, falls = (high, low) if t[k] > 0 else (low, high)
        add_slopes(sums, p, t[k] - z, rises, falls)
        add_side(sums, p, int(t[k] < 0), beta[k, own], f[place], float(alpha.sum()))


def scales(witness: dict[str, Any], problems: int) -> Floats:
    """What the bounds of each problem are multiplied by: of machines of nu the price that was found."""
    scale = np.asarray(witness.get("scale", np.ones(problems)), dtype=np.float64)
    if scale.shape != (problems,) or not np.all((scale > 0) & (scale < np.inf)):
        raise ValueError("the prices of the problems are not possible")
    return scale


def support_codes(witness: dict[str, Any]) -> Array:
    """The class code of each support row."""
    counts = np.asarray(witness["n_support"])
    return np.repeat(np.arange(len(counts)), counts)


def tube_sums(witness: dict[str, Any], rows: CheckedRows) -> MachineSums:
    """All sums of a regression."""
    return _closely(_number_sums, witness, counted_rows(rows, witness.get("classes")))


def _number_sums(witness: dict[str, Any], table: CountedRows, dtype: Any) -> MachineSums:
    """All sums of the one problem."""
    support = support_of(witness, table)
    beta, b = (np.asarray(witness[key], dtype=np.float64) for key in ("dual_coef", "intercept"))
    upper, epsilon = np.asarray(witness["upper"], dtype=np.float64), float(witness["epsilon"])
    if beta.shape != (1, len(support.number)) or b.shape != (1,) or upper.shape != (1,):
        raise ValueError("the coefficients do not fit the support rows")
    if not np.isfinite(beta).all() or not np.isfinite(b).all() or not upper[0] > 0 or not 0 <= epsilon < np.inf:
        raise ValueError("the numbers of the witness are not possible")
    if np.isinf(upper[0]):
        raise ValueError("a tube that no row may leave has no such bound")
    refuse_indefinite(witness, table)
    sums = MachineSums.none(1, float(witness["tolerance"]), False, len(table.X), dtype)
    U = upper[0] * table.w
    X, Z, centre, moved, of_b = about(witness, table.X, support.Z, beta, dtype)
    sides = np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
    parts, doubts = bounded_sums(witness, X, Z, sides, dtype, centre)
    f, eps, y = parts.sum(axis=1), float(np.finfo(dtype).eps), table.y
    doubt = doubts.sum(axis=1) + of_b[0] + eps * (np.abs(y) + abs(b[0] + moved[0]) + epsilon).astype(np.float64)
    full = np.zeros(len(y))
    full[support.at] = beta[0]
    if np.any(np.abs(full) > (1.0 + FEASIBLE) * U):
        raise ValueError("a multiplier lies outside its bounds")
    sums.intercept[0] = b[0] + moved[0]
    for sign in (1.0, -1.0):
        alpha, beyond = np.maximum(sign * full, 0.0), sign * (y - f - b[0] - moved[0]) - epsilon
        sums.loss[0] += U @ np.maximum(0.0, beyond)
        sums.missed[0] += alpha @ np.maximum(0.0, -beyond) + (U - alpha) @ np.maximum(0.0, beyond)
        sums.off[0] += float((alpha + np.where(beyond > -doubt, U, 0.0)) @ doubt)
    below, above = full < (1.0 - FEASIBLE) * U, full > -(1.0 - FEASIBLE) * U
    add_slopes(sums, 0, y - f - epsilon, below & (full >= 0), full > 0)
    add_slopes(sums, 0, y - f + epsilon, full < 0, above & (full <= 0))
    for side, mine in enumerate((beta[0] > 0, beta[0] < 0)):
        part, due = beta[0, mine].astype(dtype), y[support.at[mine]]
        linear = part @ due - epsilon * np.abs(part).sum()
        sums.off[0] += eps * 4.0 * (1.0 + math.sqrt(len(part))) * float(np.abs(part) @ np.abs(due))
        add_side(sums, 0, side, part, parts[support.at[mine]], linear)
    return sums
