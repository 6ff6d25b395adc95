"""Primal and dual value of kernel machines from sums over the rows.

    P = ½‖w‖² + Σ U ξ,     D = −½ βᵀKβ + L₊ + L₋         0 ≤ α ≤ U,  Σ₊ α = Σ₋ α
    βᵀKβ = G₊₊ + G₊₋ + G₋₊ + G₋₋,   L = −Σ p α           by the signs of β = s α

The sides of the witness balance but for rounding. The heavier one is scaled down until they balance exactly, which the parts G and L allow
without the kernel: so D is the value of a point that is feasible, and P − D bounds how far P is above the least.

At an optimum a row with α > 0 is not beyond the margin, and one with α < U not within it; what is missed of that adds up to P − D:

    Σ α (t (f + b) − 1)₊ + (U − α) ξ = P − D
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.rows import Floats

LOOSEST = 1e-1  # tolerance of a gap that still says something
SAME = 1e-6  # relative: what stated values may be off by, and a tenth of the tolerance: solvers count in float32
SLACK = 1.01  # the bound is summed in another order than the solver's
STATED = 0.05  # of the tolerance: what the stated gap may be off by
ROUNDING = 1e-10
FEASIBLE = 1e-9  # relative: what rounding may do to bounds and balance


class Sums(NamedTuple):
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
    def none(cls, problems: int, hard: bool, rows: int) -> Sums:
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


def add_side(sums: Sums, p: int, side: int, beta: Floats, f: Floats, linear: float) -> None:
    """Add support rows of one side of problem p: β (m,), the two parts of their values f (m, 2), and −Σ p α."""
    sums.alpha[p, side] += float(np.abs(beta).sum())
    sums.L[p, side] += linear
    sums.G[p, side] += beta @ f


def add_slopes(sums: Sums, p: int, v: Floats, rises: Floats, falls: Floats) -> None:
    """Add variables with their v, and whether they can move with their sign or against it."""
    sums.up[p] = max(sums.up[p], float(v[rises].max(initial=-np.inf)))
    sums.down[p] = min(sums.down[p], float(v[falls].min(initial=np.inf)))


def same(claim: Claim) -> float:
    """The share of P by which stated values may be off."""
    return SAME + min(LOOSEST, abs(float(claim.witness["tolerance"]))) / 10


def gap_verdict(claim: Claim, sums: Sums) -> Verdict:
    """Whether every problem's gap is within the tolerance, and the stated objectives are those found."""
    w, P, D = claim.witness, sums.primal(), sums.dual()
    for name, stated, found in (("primal", w["objective"], P), ("dual", w["dual_objective"], D)):
        stated = np.asarray(stated, dtype=np.float64)
        if stated.shape != found.shape or not (np.abs(stated - found) <= same(claim) * np.abs(P)).all():
            return Verdict(claim.name, False, f"the {name} objectives are not those stated", kind=claim.kind)
    worst = float(sums.gap().max())
    reason = f"of {len(P)} problems the worst is at most a share of {worst:.3g} above the least"
    return _within(claim, worst, reason, exactly=True)


def slackness_verdict(claim: Claim, sums: Sums) -> Verdict:
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
