"""Checks of kernel SVMs: every row's value is added up from the support rows, and all else from those.

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

Probabilities: σ(a₊ f) of two classes where f > 0, else σ(a₋ f); of more softmax(T g), g_k = f_k, or of pairs −log(1 + Σ_j exp(−a f_kj)), the
label's raised. What they cost is found again from the decision values of all rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.once import once
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, CountedRows, Floats, counted_rows
from assay.families.kernel.check import NEGATIVE, is_positive, kernel_sums, negative_share

LOOSEST = 1e-1  # tolerance of a gap that still says something
SAME = 1e-6  # relative: what stated values may be off by, and a tenth of the tolerance: solvers count in float32
SLACK = 1.01  # the bound is summed in another order than the solver's
STATED = 0.05  # of the tolerance: what the stated gap may be off by
ROUNDING = 1e-10
FEASIBLE = 1e-9  # relative: what rounding may do to bounds and balance
SAME_PROBABILITY = 1e-5  # of the loss: what rounding may change
LEAST = 1e-300  # a share, as far as its logarithm goes


class MachineSums(NamedTuple):
    """Of each problem (P,): Σ U ξ; G (P, 2, 2) and L (P, 2) of the sides (+, −); Σ α of the sides (P, 2); what is missed of complementary
    slackness (hard: Σ α t(f + b)); the greatest v of a variable that can rise, the least of one that can fall; the least t(f + b) of a row.
    `hard`: no row may be inside the margin. `rows`: of positive weight."""

    loss: Floats
    G: Floats
    L: Floats
    alpha: Floats
    missed: Floats
    up: Floats
    down: Floats
    least: Floats
    hard: bool
    rows: int

    @classmethod
    def none(cls, problems: int, hard: bool, rows: int) -> MachineSums:
        P = problems
        zero, two, high = np.zeros(P), np.zeros((P, 2)), np.full(P, np.inf)
        return cls(zero, np.zeros((P, 2, 2)), two, two.copy(), zero.copy(), -high, high, high.copy(), hard, rows)

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

    def gap(self) -> Floats:
        """(P − D) / P of each problem."""
        P, D = self.primal(), self.dual()
        with np.errstate(all="ignore"):
            gap = np.where(P > 0, (P - D) / P, np.where(D >= P, 0.0, np.inf))
        return np.where(np.isnan(gap), np.inf, np.maximum(gap, 0.0))

    def slackness(self) -> Floats:
        """What is missed of complementary slackness, as a share of P; of a hard margin after the scaling of `primal`."""
        P, missed = self.primal(), self.missed
        if self.hard:
            missed = self.missed / np.minimum(self.least, 1.0) - self.alpha.sum(axis=1)
        share = np.divide(missed, P, out=np.where(missed > 0, np.inf, 0.0), where=P > 0)
        return np.where(np.isfinite(P) & np.isfinite(share), share, np.inf)

    def violation(self) -> float:
        """The greatest max v (up) − min v (down)."""
        return float((self.up - self.down).max())


def add_side(sums: MachineSums, p: int, side: int, beta: Floats, f: Floats, linear: float) -> None:
    """Add support rows of one side of problem p: β (m,), the two parts of their values f (m, 2), and −Σ p α."""
    sums.alpha[p, side] += float(np.abs(beta).sum())
    sums.L[p, side] += linear
    sums.G[p, side] += beta @ f


def add_slopes(sums: MachineSums, p: int, v: Floats, rises: Floats, falls: Floats) -> None:
    """Add variables with their v, and whether they can move with their sign or against it."""
    sums.up[p] = max(sums.up[p], float(v[rises].max(initial=-np.inf)))
    sums.down[p] = min(sums.down[p], float(v[falls].min(initial=np.inf)))


def same(claim: Claim) -> float:
    """The share of P by which stated values may be off."""
    return SAME + min(LOOSEST, abs(float(claim.witness["tolerance"]))) / 10


def gap_verdict(claim: Claim, sums: MachineSums) -> Verdict:
    """Whether every problem's gap is within the tolerance, and the stated objectives are those found."""
    w, P, D = claim.witness, sums.primal(), sums.dual()
    for name, stated, found in (("primal", w["objective"], P), ("dual", w["dual_objective"], D)):
        stated = np.asarray(stated, dtype=np.float64)
        if stated.shape != found.shape or not (np.abs(stated - found) <= same(claim) * np.abs(P)).all():
            return Verdict(claim.name, False, f"the {name} objectives are not those stated", kind=claim.kind)
    worst = float(sums.gap().max())
    reason = f"of {len(P)} problems the worst is at most a share of {worst:.3g} above the least"
    return _within(claim, worst, reason, exactly=True)


def slackness_verdict(claim: Claim, sums: MachineSums) -> Verdict:
    """Whether the conditions of Karush, Kuhn and Tucker are met as well as stated."""
    sums.dual()  # refuses what does not balance
    worst = float(sums.slackness().max())
    reason = f"a share of {worst:.3g} is missed; the greatest violation of a pair of rows is {sums.violation():.3g}"
    return _within(claim, worst, reason, exactly=not sums.hard)


def _within(claim: Claim, worst: float, reason: str, exactly: bool) -> Verdict:
    tolerance = float(claim.witness["tolerance"])
    if not 0 < tolerance <= LOOSEST or claim.bound != tolerance:
        return Verdict(claim.name, False, f"a tolerance of {tolerance:g} proves nothing", worst, claim.kind)
    off = np.inf if claim.value is None else worst - claim.value
    told = (abs(off) if exactly else off) <= STATED * tolerance + ROUNDING
    holds = told and claim.holds and worst <= SLACK * tolerance + ROUNDING
    return Verdict(claim.name, bool(holds), f"{reason}; {tolerance:g} is allowed", worst, claim.kind)


SCHEMES = ("two", "ovo", "ovr")


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


def _problems_of(scheme: str, K: int, c: int, coef: Floats, code: Array) -> tuple[Array, Floats, Floats]:
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


def sums_of(witness: dict[str, Any], rows: CheckedRows) -> MachineSums:
    """All sums, one class of rows after another."""
    table, scheme = counted_rows(rows, witness.get("classes")), witness["scheme"]
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
    found = MachineSums.none(problems, hard, len(table.X))
    for c in range(K):
        numbers, t, beta = _problems_of(scheme, K, c, coef, support.code)
        _add_class(found, witness, table, support, c, b, upper[c], numbers, t, beta)
    return found


def _add_class(
    sums: MachineSums,
    witness: dict[str, Any],
    table: CountedRows,
    support: StatedSupport,
    c: int,
    b: Floats,
    upper: float,
    numbers: Array,
    t: Floats,
    beta: Floats,
) -> None:
    mine = np.flatnonzero(table.y == c)
    U = np.full(len(mine), np.inf) if np.isinf(upper) else upper * table.w[mine]
    parts = kernel_sums(
        witness, table.X[mine], support.Z, np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
    )
    own = np.flatnonzero(support.code == c)
    place = np.searchsorted(mine, support.at[own])
    for k, p in enumerate(numbers.tolist()):
        f = parts[:, [k, k + len(numbers)]]
        alpha = np.zeros(len(mine))
        alpha[place] = t[k] * beta[k, own]
        if np.any(alpha < 0) or np.any(alpha > (1.0 + FEASIBLE) * U):
            raise ValueError("a multiplier lies outside its bounds")
        z = f.sum(axis=1)
        value = t[k] * (z + b[p])
        if sums.hard:
            sums.missed[p] += float(alpha @ value)
        else:
            short = np.maximum(0.0, 1.0 - value)
            sums.loss[p] += float(U @ short)
            sums.missed[p] += float(alpha @ np.maximum(0.0, value - 1.0) + (U - alpha) @ short)
        sums.least[p] = min(sums.least[p], float(value.min(initial=np.inf)))
        low, high = alpha > 0, alpha < (1.0 - FEASIBLE) * U
        rises, falls = (high, low) if t[k] > 0 else (low, high)
        add_slopes(sums, p, t[k] - z, rises, falls)
        add_side(sums, p, int(t[k] < 0), beta[k, own], f[place], float(alpha.sum()))


@check("kernel_svm_gap")
def check_gap(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Feasible multipliers, and P − D of every problem, against the tolerance."""
    if claim.kind == "proof" and is_positive(claim.witness) is False:
        return Verdict(claim.name, False, "this kernel is no product of any feature space", kind=claim.kind)
    return gap_verdict(claim, once(sums_of, claim, rows))


@check("kernel_svm_kkt")
def check_kkt(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """What is missed of complementary slackness, row by row."""
    return slackness_verdict(claim, once(sums_of, claim, rows))


@check("kernel_svm_margin")
def check_margin(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """1/‖w‖ of the widest ‖w‖; of a hard margin the least distance of a row."""
    if is_positive(claim.witness) is False:
        return Verdict(claim.name, False, "this kernel is no product of any feature space", kind=claim.kind)
    sums = once(sums_of, claim, rows)
    sums.dual()
    length, tolerance = np.sqrt(np.maximum(sums.square(), 0.0)), float(claim.witness["tolerance"])
    reached = np.minimum(sums.least, 1.0) if sums.hard else np.ones(len(length))
    p = int(np.argmin(reached / length))
    found = float(reached[p] / length[p])
    doubt = same(claim) * (1.0 if sums.hard else max(1.0, float(sums.primal()[p]) * found * found))
    told = claim.value is not None and 0 < tolerance <= LOOSEST and abs(claim.value - found) <= doubt * found
    reason = f"every row is at least {found:.9g} from the hyperplane" if sums.hard else f"the margin is {found:.9g}"
    return Verdict(claim.name, bool(told and claim.holds), reason, found, claim.kind)


@check("kernel_svm_leave_one_out")
def check_leave_one_out(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Count the rows that may go wrong when they are left out, once the gap was found to be within the tolerance."""
    w = claim.witness
    sums, tolerance = once(sums_of, claim, rows), float(w["tolerance"])
    gap = float(sums.gap().max())
    if w["scheme"] != "two" or is_positive(w) is False or not 0 < tolerance <= LOOSEST or claim.kind != "estimate":
        return Verdict(claim.name, False, "such a bound is known for two classes and kernels only", kind=claim.kind)
    alpha = np.abs(np.asarray(w["dual_coef"], dtype=np.float64)[0])
    table = counted_rows(rows, w.get("classes"))
    U = (
        np.asarray(w["upper"], dtype=np.float64)[support_codes(w)]
        * table.w[np.searchsorted(table.number, w["support"])]
    )
    free = (alpha > 0) & (alpha < (1.0 - FEASIBLE) * U)
    counted = alpha > 0
    if not sums.hard and w["kernel"] in ("rbf", "laplacian") and free.any():
        counted &= ~free | (2.0 * alpha >= 1.0)
    share = float(counted.sum()) / sums.rows
    told = claim.value is not None and math.isclose(claim.value, share, rel_tol=1e-9)
    reason = f"{int(counted.sum())} of {sums.rows} rows may go wrong when left out; the gap is {gap:.3g}"
    return Verdict(claim.name, bool(told and claim.holds and gap <= 1.01 * tolerance + SAME), reason, share, claim.kind)


def support_codes(witness: dict[str, Any]) -> Array:
    """The class code of each support row."""
    counts = np.asarray(witness["n_support"])
    return np.repeat(np.arange(len(counts)), counts)


def tube_sums(witness: dict[str, Any], rows: CheckedRows) -> MachineSums:
    """All sums of the one problem."""
    table = counted_rows(rows, witness.get("classes"))
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
    sums = MachineSums.none(1, False, len(table.X))
    U = upper[0] * table.w
    parts = kernel_sums(witness, table.X, support.Z, np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)]))
    f, y = parts.sum(axis=1), table.y
    full = np.zeros(len(y))
    full[support.at] = beta[0]
    if np.any(np.abs(full) > (1.0 + FEASIBLE) * U):
        raise ValueError("a multiplier lies outside its bounds")
    for sign in (1.0, -1.0):
        alpha, beyond = np.maximum(sign * full, 0.0), sign * (y - f - b[0]) - epsilon
        sums.loss[0] += float(U @ np.maximum(0.0, beyond))
        sums.missed[0] += float(alpha @ np.maximum(0.0, -beyond) + (U - alpha) @ np.maximum(0.0, beyond))
    below, above = full < (1.0 - FEASIBLE) * U, full > -(1.0 - FEASIBLE) * U
    add_slopes(sums, 0, y - f - epsilon, below & (full >= 0), full > 0)
    add_slopes(sums, 0, y - f + epsilon, full < 0, above & (full <= 0))
    for side, mine in enumerate((beta[0] > 0, beta[0] < 0)):
        part = beta[0, mine]
        linear = float(part @ y[support.at[mine]]) - epsilon * float(np.abs(part).sum())
        add_side(sums, 0, side, part, parts[support.at[mine]], linear)
    return sums


@check("kernel_svr_gap")
def check_tube_gap(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Feasible multipliers, and P − D against the tolerance."""
    if claim.kind == "proof" and is_positive(claim.witness) is False:
        return Verdict(claim.name, False, "this kernel is no product of any feature space", kind=claim.kind)
    return gap_verdict(claim, once(tube_sums, claim, rows))


@check("kernel_svr_kkt")
def check_tube_kkt(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """What is missed of complementary slackness, row by row."""
    return slackness_verdict(claim, once(tube_sums, claim, rows))


@check("kernel_probabilities")
def check_probabilities(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Slopes above zero, no share above the label's, and the stated mean of −log p(y | x) over the rows."""
    w = claim.witness
    table, numbers = counted_rows(rows, w.get("classes")), np.asarray(w["calibration"], dtype=np.float64)
    scheme, K = w["scheme"], len(w["classes"])
    wanted = {"two": 2, "ovo": 2, "ovr": 1}[scheme] if scheme in SCHEMES else -1
    if numbers.shape != (wanted,) or not np.all(numbers > 0) or not np.all(np.isfinite(numbers)):
        return Verdict(claim.name, False, "slopes and temperature must be above zero", kind=claim.kind)
    support = support_of(w, table, support_codes(w))
    coef, b = (np.asarray(w[key], dtype=np.float64) for key in ("dual_coef", "intercept"))
    parts = [kernel_sums(w, table.X, support.Z[support.code == c], coef[:, support.code == c]) for c in range(K)]
    if scheme == "ovo":
        f = _between(parts, b)
        log_p, label = _of_pairs(f, numbers, bool(w["break_ties"]))
    else:
        log_p, label = _of_sums(sum(parts[1:], parts[0]) + b, numbers)
    own = log_p[np.arange(len(label)), label]
    if np.any(log_p.max(axis=1) > own + 1e-12):
        return Verdict(claim.name, False, "a share is above that of the label", kind=claim.kind)
    losses = -np.maximum(log_p[np.arange(len(label)), table.y.astype(np.int64)], math.log(LEAST))
    found = float(np.average(losses, weights=table.w))
    told = claim.value is not None and math.isclose(
        claim.value, found, rel_tol=SAME_PROBABILITY, abs_tol=SAME_PROBABILITY
    )
    return Verdict(claim.name, bool(told and claim.holds), f"the mean log loss is {found:.9g}", found, claim.kind)


def _between(parts: list[Floats], b: Floats) -> Floats:
    """f (n, K, K) with f[:, i, j] = −f[:, j, i] > 0 a vote for i."""
    K = len(parts)
    f, p = np.zeros((len(parts[0]), K, K)), 0
    for i in range(K):
        for j in range(i + 1, K):
            f[:, i, j] = parts[i][:, j - 1] + parts[j][:, i] + b[p]
            f[:, j, i] = -f[:, i, j]
            p += 1
    return f


def _of_pairs(f: Floats, numbers: Floats, break_ties: bool) -> tuple[Floats, Array]:
    K = f.shape[1]
    upper = np.triu(np.ones((K, K), dtype=bool), 1)
    won = ((f > 0) & upper) | ((f >= 0) & upper.T)  # of nothing the second of a pair has the vote
    votes, c = won.sum(axis=2).astype(np.float64), f.sum(axis=2)
    label = (votes + c / (3.0 * (np.abs(c) + 1.0)) if break_ties else votes).argmax(axis=1)
    far = -numbers[1] * f
    top = np.maximum(far.max(axis=2), 0.0)  # the diagonal is the one of 1 + Σ
    g = -(np.log(np.exp(far - top[:, :, None]).sum(axis=2)) + top)
    return _softmax(numbers[0] * g, label), label


def _of_sums(f: Floats, numbers: Floats) -> tuple[Floats, Array]:
    if f.shape[1] > 1:
        label = f.argmax(axis=1)
        return _softmax(numbers[0] * f, label), label
    z = f[:, 0] * np.where(f[:, 0] > 0, numbers[1], numbers[0])
    return np.column_stack([-np.logaddexp(0.0, z), -np.logaddexp(0.0, -z)]), (f[:, 0] > 0).astype(np.int64)


def _softmax(g: Floats, label: Array) -> Floats:
    """log shares, with the label's raised to the greatest."""
    top = g.max(axis=1)
    g = g.copy()
    g[np.arange(len(g)), label] = top
    log_p: Floats = g - top[:, None] - np.log(np.exp(g - top[:, None]).sum(axis=1))[:, None]
    return log_p
