"""The claims that a separation amounts to: a hyperplane and its margin, or hulls that meet."""

from __future__ import annotations

from typing import Any

from assay.certify import Claim
from assay.solvers.separation.separation import Separation

PROVED_GAP = 1e-2  # a wider gap is not claimed to be a margin
ROUNDING = 2.0**-46  # of the radius and the columns: what rounding may do to a margin
ROUGHEST = 1e-2  # of the margin: where rounding may hide more, no margin is claimed to be the greatest


def separation_claims(found: Separation, positive: Any) -> tuple[Claim, ...]:
    """Claims with their witnesses; `positive` is the label of the class that is +1."""
    if found.separable is None:
        return ()
    return _margin_claims(found, positive) if found.separable else _hull_claims(found, positive)


def _plane(found: Separation, positive: Any) -> dict[str, Any]:
    return {"coef": found.coef, "intercept": found.intercept, "space": found.space, "positive": positive}


def _support(found: Separation) -> dict[str, Any]:
    return {"rows": found.rows, "weights": found.weights}


def _margin_claims(found: Separation, positive: Any) -> tuple[Claim, ...]:
    length = "‖(b, w)‖" if found.space == "augmented" else "‖w‖"
    plane = _plane(found, positive)
    claims = [
        Claim(
            name=f"separable: {positive!r} from the rest",
            statement=f"a hyperplane has every row on its side: s(w·x + b)/{length} ≥ γ > 0",
            holds=True,
            check="separability_hyperplane",
            value=found.margin,
            witness=plane,
        )
    ]
    if found.gap <= PROVED_GAP and is_clear(found):
        claims.append(
            Claim(
                name=f"greatest margin: {positive!r} from the rest",
                statement=f"no margin passes γ by more than the gap: {len(found.rows)} support rows have hulls no further apart",
                holds=True,
                check="separability_margin",
                value=found.gap,
                bound=max(found.gap, 1e-9),
                witness={**plane, **_support(found)},
            )
        )
    return tuple(claims)


def is_clear(found: Separation) -> bool:
    """Whether rounding hides next to nothing of the margin."""
    return ROUNDING * (len(found.coef) + 4) * found.radius <= ROUGHEST * found.margin


def _hull_claims(found: Separation, positive: Any) -> tuple[Claim, ...]:
    claims = [
        Claim(
            name=f"not separable: {positive!r} from the rest",
            statement=f"the hulls of {len(found.rows)} rows meet: Σα₊x₊ = Σα₋x₋ with convex weights (Kirchberger, Farkas)",
            holds=True,
            check="separability_hulls",
            value=len(found.rows),
            kind="proof" if found.exact else "estimate",
            witness={**_support(found), "space": found.space, "positive": positive},
        )
    ]
    if found.weak:
        claims.append(
            Claim(
                name=f"weakly separable: {positive!r} from the rest",
                statement="a direction has s(w·x + b) ≥ 0 for all rows (to rounding) and > 0 for some: without penalty, "
                "logistic regression has no maximum-likelihood solution",
                holds=True,
                check="separability_weak",
                kind="warning",
                witness=_plane(found, positive),
            )
        )
    return tuple(claims)


def bound_claim(found: Separation, positive: Any) -> Claim:
    """Novikoff's bound on the perceptron's mistakes, from a separation in the space in which it runs: augmented, or without an
    intercept linear."""
    statement = "a perceptron makes at most R̃²/γ̃² mistakes, x̃ = (1, x), R̃ = max ‖x̃‖, γ̃ the margin there (Novikoff)"
    if found.space == "linear":
        statement = "a perceptron without intercept makes at most R²/γ² mistakes, R = max ‖x‖, γ the margin (Novikoff)"
    return Claim(
        name=f"perceptron's mistakes: {positive!r} from the rest",
        statement=statement,
        holds=True,
        check="separability_bound",
        value=mistake_bound(found),
        witness=_plane(found, positive),
    )


def mistake_bound(found: Separation) -> float:
    """R²/γ² in the space of the separation."""
    return (found.radius / found.margin) ** 2
