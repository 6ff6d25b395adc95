"""Whether covariances had to be pulled towards the common one, and whether the share is the one of least leave-one-out error.

Each row's density without the row itself is formed from inverses of covariances by the formula of Sherman and Morrison, in the columns' units.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import CheckedRows, Floats
from assay.families.discriminant.check.densities import (
    EDGES,
    EPS,
    TOLERANCE,
    Recomputed,
    pieces,
    rank_problem,
    recompute,
    towards_common,
    units,
)

SHARES = 8  # 1, 1/4, 1/16, …
LEAST = 1e-7  # where less of a covariance is left without a row, rounding decides how that row is answered
STEP = 256  # rows at a time


@check("discriminant_pooled")
@np.errstate(all="ignore")
def check_pooled(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Ranks, the ridge of the common covariance and the leave-one-out errors of all shares, found again from the rows."""
    w = claim.witness
    found = recompute({key: part for key, part in w.items() if key != "pooled_share"}, rows)
    problem = _rank_problem(w, found) or _ridge_problem(w, found) or _share_problem(w, found, rows)
    if problem is not None:
        return Verdict(claim.name, False, problem, kind=claim.kind)
    ranks = np.asarray(w["rank"])[:10].tolist()
    reason = f"ranks {ranks} of {found.mean.shape[1]} counted again; the share {w['pooled_share']:.3g} is the one due"
    return Verdict(claim.name, True, reason, claim.value, claim.kind)


def _floor(w: dict[str, Any], d: int) -> float:
    """What counts as zero of the eigenvalues of correlations."""
    return max(float(w["tol"]) ** 2, 8 * d * EPS)


def _rank_problem(w: dict[str, Any], found: Recomputed) -> str | None:
    d, ranks = found.mean.shape[1], np.asarray(w["rank"])
    there = np.flatnonzero(
        found.raw > 0
    ).tolist()  # a class that counts for nothing has a density: given priors may ask for it
    for g in there:
        tried = [units(found.covariance[g], found.mean[g], found.spread, edge) for edge in EDGES]
        problems = [rank_problem(g, found.covariance[g] / u[:, None] / u, _floor(w, d), ranks) for u in tried]
        if None not in problems:
            return problems[0]
    return "no class is singular: there was nothing to cure" if np.all(ranks[found.raw > 0] >= d) else None


def _ridge_problem(w: dict[str, Any], found: Recomputed) -> str | None:
    """All classes must have the ridge that lifts the least eigenvalue of the common correlations to twice the floor, and no other."""
    n = found.n
    common = np.einsum("k,kij->ij", n / n.sum(), found.covariance)
    tried = [units(common, np.abs(found.mean).max(axis=0), found.spread, edge) for edge in EDGES]
    good = any(_lifts(w, common, unit, n) for unit in tried)
    return None if good else "what was added is not the least ridge that cures the common covariance"


def _lifts(w: dict[str, Any], common: Floats, unit: Floats, n: Floats) -> bool:
    """Whether just what is due was added, in these units of the columns."""
    d, least = len(common), max(0.0, float(np.linalg.eigvalsh(common / unit[:, None] / unit)[0]))
    added = np.asarray(w["added"]) / unit / unit
    due, rounding = max(0.0, 2 * _floor(w, d) - least), 1e-2 * _floor(w, d) + 64 * d * EPS
    return bool(np.all(added >= 0) and np.all(np.abs(added[n > 0] - due) <= rounding))


def _share_problem(w: dict[str, Any], found: Recomputed, rows: CheckedRows) -> str | None:
    """The share must be that of least error; only where no errors are stated must it be 1."""
    stated, share = np.asarray(w["errors"], dtype=np.float64), float(w["pooled_share"])
    best = 0.25 ** int(np.argmin(stated)) if len(stated) else 1.0
    if share != best or len(stated) > SHARES:
        return f"the share due is {best:.3g}, the certificate says {share:.3g}"
    for i, error in enumerate(stated):
        low, high = _errors(w, found, rows, 0.25**i)
        if not low - TOLERANCE <= error <= high + TOLERANCE:
            return f"the leave-one-out error of the share {0.25**i:.3g} is {low:.4g}, the certificate says {error:.4g}"
    return _untried(w, found, 0.25 ** len(stated)) if 0 < len(stated) < SHARES else None


def _untried(w: dict[str, Any], found: Recomputed, share: float) -> str | None:
    """A share may be left out where it leaves some covariance singular."""
    C = _cured(w, found, share)
    root = np.sqrt(np.diagonal(C, axis1=1, axis2=2))
    least = float(np.linalg.eigvalsh(C / root[:, :, None] / root[:, None, :]).min())
    good = least <= _floor(w, C.shape[1])
    return None if good else f"the share {share:.3g} was not tried, and leaves no covariance singular"


def _cured(w: dict[str, Any], found: Recomputed, share: float) -> Floats:
    out: Floats = towards_common(found.covariance, found.n, share) + np.diag(np.asarray(w["added"]).max(axis=0))
    return out


class Densities(NamedTuple):
    """Of one share: the columns' units (d,), inverses of the covariances in these (K, d, d), log-determinants (K,), weights behind them (K,),
    and how far rounding may put a product with an inverse, as a share."""

    share: float
    unit: Floats
    inverse: Floats
    log_det: Floats
    weight: Floats
    rounding: float


def _densities(w: dict[str, Any], found: Recomputed, share: float) -> Densities:
    C = _cured(w, found, share)
    unit = np.sqrt(np.diagonal(C, axis1=1, axis2=2).max(axis=0))
    R = C / unit[:, None] / unit
    weight = (1 - share) * found.n + share * found.n.sum()
    inverse = np.linalg.inv(R)
    rounding = 1e2 * EPS * float(np.trace(inverse, axis1=1, axis2=2).max())
    return Densities(share, unit, inverse, np.linalg.slogdet(R)[1], weight, max(LEAST, rounding))


def _errors(w: dict[str, Any], found: Recomputed, rows: CheckedRows, share: float) -> tuple[float, float]:
    """The share of the weight that is answered wrongly without the row itself: beyond doubt, and with the doubtful."""
    densities, wrong = _densities(w, found, share), np.zeros(2)
    for k, X, weight in pieces(rows, w["classes"]):
        for a in range(0, len(X), STEP):
            some = weight[a : a + STEP]
            margin, doubt = _margins(w, found, densities, k, X[a : a + STEP], some)
            cost = some * w["multipliers"][k]
            wrong += [cost @ (margin < -doubt), cost @ ~(margin > doubt)]
    low, high = wrong / found.n.sum()
    return float(low), float(high)


def _margins(
    w: dict[str, Any], found: Recomputed, of: Densities, k: int, X: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """By how much a row's own class k is ahead of all others when one repetition of the row is left out, and what rounding may move that by."""
    out = np.minimum(weight, 1.0)
    rest = (found.raw[k] - out) / found.raw[k]
    delta = (X - found.mean[k]) / of.unit
    removed = out * w["multipliers"][k] / rest * _kept(w, found, k)
    scores, doubt = np.empty((len(X), len(found.n))), np.zeros(len(X))
    for c in range(len(found.n)):
        part = 1.0 if c == k else of.share
        v = delta / rest[:, None] if c == k else (X - found.mean[c]) / of.unit
        distance, volume, left = _without(w["covariance"], of.inverse[c], v, delta, part * removed / of.weight[c])
        shrink = 1 - part * out * w["multipliers"][k] / of.weight[c]
        prior = w["priors"][c] if w["priors_given"] else found.n[c] * (rest if c == k else 1.0)
        volume = volume + of.log_det[c] - X.shape[1] * np.log(shrink)
        scores[:, c] = np.log(prior) - 0.5 * (shrink * distance + volume)
        doubt += np.where(left > of.rounding, 1e2 * of.rounding * (1 + np.abs(distance) + np.abs(volume)), np.inf)
    last = ~(rest > EPS)  # of its class: nothing is left that could know it
    margin = scores[:, k] - np.delete(scores, k, axis=1).max(axis=1, initial=-np.inf)
    return np.where(last, -np.inf, margin), np.where(last, 0.0, doubt)


def _kept(w: dict[str, Any], found: Recomputed, k: int) -> float:
    """How much of a row's δδᵀ is in n_k Σ_k."""
    free = found.n[k] / (found.n[k] - 1) if w["unbiased"] and found.n[k] > 1 else 1.0
    return float((1 - found.amounts[k]) * (1 - w["reg_param"]) * free)


def _without(structure: str, inverse: Floats, v: Floats, delta: Floats, t: Floats) -> tuple[Floats, Floats, Floats]:
    """vᵀ(Σ − t δδᵀ)⁻¹v, log|Σ − t δδᵀ| − log|Σ|, and how much of Σ is left along δ, for each row; δδᵀ in the structure of Σ."""
    if structure == "full":
        G = delta @ inverse
        left = 1 - t * (G * delta).sum(axis=1)
        distance = ((v @ inverse) * v).sum(axis=1) + t * (G * v).sum(axis=1) ** 2 / left
        return distance, np.log(left), left
    squares = delta * delta if structure == "diagonal" else (delta * delta).mean(axis=1, keepdims=True)
    left = 1 - t[:, None] * squares * np.diag(inverse)
    return (v * v * np.diag(inverse) / left).sum(axis=1), (np.log(left) + 0 * delta).sum(axis=1), left.min(axis=1)
