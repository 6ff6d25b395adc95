"""Check of centroids: means or medians, deviations and priors are formed again from the rows, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import CheckedRows, Floats, counted_rows

LARGEST_TOLERANCE = 1e-6
EPS = float(np.finfo(np.float64).eps)


@check("nearest_centroid")
def check_centroids(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The centroids, before and after they are drawn together, from their definition."""
    witness, tolerance = claim.witness, float(claim.witness["tolerance"])
    if not 0 < tolerance <= LARGEST_TOLERANCE or witness["metric"] not in ("euclidean", "manhattan"):
        raise ValueError("a witness of another metric, or with such a tolerance, proves nothing")
    table, K = counted_rows(rows, witness["classes"]), len(witness["classes"])
    # a column may vary by few roundings of its mean: all is taken about the first row
    first, blur = table.X[0], 8 * EPS * np.abs(table.X).max(axis=0) + 1e-300
    table = table._replace(X=table.X - first)
    mine = [table.y == k for k in range(K)]
    n, N = np.array([float(table.w[m].sum()) for m in mine]), float(table.w.sum())
    overall = _mean(table.X, table.w)
    make = _mean if witness["metric"] == "euclidean" else _median
    centres = np.array([make(table.X[m], table.w[m]) if m.any() else overall for m in mine])
    squares = sum((table.w[m] @ (table.X[m] - centres[k]) ** 2 for k, m in enumerate(mine)), np.zeros(len(overall)))
    spread = np.sqrt(squares / (N - K)) if N > K else np.zeros(len(overall))
    scale = np.array([np.sqrt(1 / a - 1 / N) if 0 < a < N else 0.0 for a in n])[:, None] * (spread + np.median(spread))
    with np.errstate(invalid="ignore", divide="ignore"):
        away = np.where(scale > 0, (centres - overall) / scale, 0.0)
    drawn = float(witness["drawn"])
    if drawn > 0:
        away = np.sign(away) * np.maximum(np.abs(away) - drawn, 0)
        centres = overall + scale * away
    size = np.sqrt(_mean((table.X - overall) ** 2, table.w)) + 1e-300
    known = tolerance + blur / size
    means = witness["metric"] == "euclidean"  # about which sums of squares are known better than the means themselves
    due = {
        "centroids": np.abs((np.asarray(witness["centroids"]) - first) - centres) / size / known,
        "spread": np.abs(np.asarray(witness["spread"]) - spread) / size / (tolerance if means else known),
        "deviations": _off(np.asarray(witness["deviations"]), away, drawn, scale, size * known, tolerance),
        "priors": np.abs(np.asarray(witness["priors"]) - _priors(witness, n)) / tolerance,
    }
    shapes = all(np.shape(witness[name]) == value.shape for name, value in due.items())
    off = {name: float(np.max(value)) for name, value in due.items()}
    told = claim.value is not None and abs(claim.value - N) <= tolerance * N
    worst = max(off, key=lambda name: off[name])
    reason = f"{worst} are off by {off[worst]:.2g} of what is allowed, the others by less"
    return Verdict(claim.name, bool(shapes and told and off[worst] <= 1), reason, N, claim.kind)


def _off(stated: Floats, due: Floats, drawn: float, scale: Floats, blur: Floats, tolerance: float) -> Floats:
    """By how much deviations are off, of what the rounding of centroids and of their unit lets them be."""
    room = np.where(scale > 0, 4 * blur / np.where(scale > 0, scale, 1.0) * (1 + np.abs(due) + drawn), 0.0)
    return np.asarray(np.abs(stated - due) / (room + tolerance))


def _priors(witness: dict[str, Any], n: Floats) -> Floats:
    if witness["priors_are"] == "given":
        stated = np.asarray(witness["priors"], dtype=np.float64)
        return np.where(stated >= 0, stated / stated.sum(), np.nan)
    shares = n if witness["priors_are"] == "empirical" else (n > 0) * 1.0
    return np.asarray(shares / shares.sum())


def _mean(X: Floats, w: Floats) -> Floats:
    """About the first row, and then what is left about that."""
    centre = X[0].copy()
    for _ in range(2):
        centre = centre + w @ (X - centre) / w.sum()
    return np.asarray(centre)


def _median(X: Floats, w: Floats) -> Floats:
    """Of each column the number with half of the weight on either side; halfway between two such."""
    found = []
    for x in X.T:
        order = np.argsort(x)
        at, total = x[order], np.concatenate([[0.0], np.cumsum(w[order])])
        below, upto = total[np.searchsorted(at, at, "left")], total[np.searchsorted(at, at, "right")]
        middle = at[(below <= 0.5 * total[-1]) & (upto >= 0.5 * total[-1])]
        found.append(0.5 * middle[0] + 0.5 * middle[-1])
    return np.array(found)
