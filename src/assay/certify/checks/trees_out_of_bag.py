"""Check of the out-of-bag error: rows are drawn again, and each row is judged again by the trees that did not see it."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from assay.certify.checks.held_out import interval_is_exact
from assay.certify.checks.trees_draws import times_drawn
from assay.certify.checks.trees_walk import leaves_of
from assay.certify.checks.trees_witness import Seen, Stated, stated_in
from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import CheckedRows, Floats

TOLERANCE = 1e-6


@check("out_of_bag")
def check_out_of_bag(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Judge all rows again; the count of errors must be the same, a mean loss and its standard error up to rounding."""
    t = claim.witness
    stated = stated_in(claim, rows)
    if t["draws"] is None:
        raise ValueError("trees that saw all rows")
    seen = Seen(stated, rows, int(t["draws"]))
    lost, w = _losses(stated, seen, int(t["seed"]), int(t["draws"]), bool(t["replace"]))
    if not len(lost):
        raise ValueError("every row was seen by all trees")
    loss = float(np.average(lost, weights=w))
    error = sqrt(float(np.average((lost - loss) ** 2, weights=w)) * float((w * w).sum())) / float(w.sum())
    problem = _problem(claim, seen, lost, loss, error)
    what = (
        f"{int(lost.sum())} of {len(lost)} rows wrong"
        if stated.K
        else f"mean squared error {loss:.6g} of {len(lost)} rows"
    )
    return Verdict(
        claim.name, problem is None, problem or f"{what} again, by the trees that did not see them", loss, claim.kind
    )


def _losses(stated: Stated, seen: Seen, seed: int, draws: int, replace: bool) -> tuple[Floats, Floats]:
    """(loss, weight) of each row that some tree did not see: zero-one of the mean of the leaves' shares, or squared."""
    sums, count = np.zeros((seen.n, max(1, stated.K))), np.zeros(seen.n, dtype=np.int64)
    for k, tree in enumerate(stated.trees):
        spared = np.flatnonzero(times_drawn(seed, k, seen.n, draws, replace, seen.counted) == 0)
        answers = tree.table / tree.table.sum(axis=1, keepdims=True) if stated.K else tree.table[:, :1]
        sums[spared] += answers[leaves_of(stated, tree, seen, spared)]
        count[spared] += 1
    there = (count > 0) & (seen.weights > 0)
    if stated.K:
        return (sums[there].argmax(axis=1) != seen.y[there]).astype(np.float64), seen.weights[there]
    lost: Floats = (sums[there, 0] / count[there] - (seen.y[there] + seen.pivot)) ** 2
    return lost, seen.weights[there]


def _problem(claim: Claim, seen: Seen, lost: Floats, loss: float, error: float) -> str | None:
    t = claim.witness
    low, high = (float(end) for end in t["interval"])
    confidence, near = float(t["confidence"]), TOLERANCE * max(loss, error)
    if t["rows"] != len(lost) or t["weighted"] != seen.weighted:
        return f"{len(lost)} rows are judged (with weights: {seen.weighted}), the certificate says {t['rows']} ({t['weighted']})"
    if claim.value is None or not abs(claim.value - loss) <= near:
        return f"found an error of {loss:.9g}, not what is claimed"
    if not 0.5 <= confidence < 1 or claim.bound != high:
        return f"a confidence of {confidence:g} and a bound of {claim.bound} that cannot be"
    if t["classes"] is not None and not seen.weighted:
        exact = interval_is_exact(int(lost.sum()), len(lost), confidence, low, high)
        return None if exact else f"[{low:.6g}, {high:.6g}] is not the exact interval"
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * error
    top = min(1.0, loss + reach) if t["classes"] is not None else loss + reach
    good = abs(low - max(0.0, loss - reach)) <= near and abs(high - top) <= near
    return (
        None
        if good and abs(float(t["standard_error"]) - error) <= near
        else f"[{low:.6g}, {high:.6g}] is not the normal interval"
    )
