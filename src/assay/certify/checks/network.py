"""Checks of neural networks: what is stated of loss, errors and gradient is found in the rows again.

Slopes are compared with differences of the losses themselves, which shows that the gradient is one. Nothing here shows that a network is the best of its shape: the
objective is not convex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.checks.network_rows import ONE, Found, found_in
from assay.certify.claim import Claim, Verdict
from assay.certify.once import once
from assay.certify.registry import check
from assay.certify.rows import CheckedRows

SAME = 1e-6  # what stated means may be off by
ROUNDING = 1e-2  # times 1 + |f|: the size that slopes are given at least, as differences of losses have rounding


def _close(stated: float, due: float, size: float = 0.0) -> bool:
    return abs(stated - due) <= SAME * max(abs(due), size)


def _penalty_is_possible(witness: dict[str, Any], found: Found) -> bool:
    """p = α / (rows of a mini-batch), or α / Σ c."""
    penalty, alpha, batch = (float(x) for x in (found.measured[3], witness["alpha"], witness["batch"]))
    rows = batch if batch > 0 else float(found.measured[0])
    return alpha >= 0 and batch >= 0 and _close(penalty * rows, alpha)


@check("network_slopes")
def check_back_propagation(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Slopes as stated lie between the differences of the losses, as they are found again."""
    found, stated = once(found_in, claim, rows), np.asarray(claim.witness["measured"], dtype=np.float64)
    (slopes, *_), (_, low, high, size) = stated[ONE:].reshape(4, -1), found.measured[ONE:].reshape(4, -1)
    size = size + ROUNDING * (1.0 + found.measured[8])
    off = float((np.maximum(0.0, np.maximum(low - slopes, slopes - high)) / size).max())
    again = float((np.abs(stated[ONE:] - found.measured[ONE:]).reshape(4, -1) / size).max())
    told = (
        claim.value is not None
        and claim.bound is not None
        and 0 < claim.bound <= SAME
        and abs(claim.value - off) <= claim.bound
    )
    same = (
        _close(stated[0], found.measured[0]) and _close(stated[8], found.measured[8], 1.0) and again <= 1e2 * SAME
    )  # differences have rounding
    wide = float(((high - low) / size).max())
    reason = f"slopes lie at most {off:.2g} of their size outside of differences that are {wide:.2g} apart"
    return Verdict(
        claim.name, bool(told and same and off <= (claim.bound or 0.0) and claim.holds), reason, off, claim.kind
    )


@check("network_loss")
def check_loss(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The mean loss and ‖W‖² as stated; the value is the loss, of a regression twice that in the target's own unit."""
    found, w = once(found_in, claim, rows), claim.witness
    stated, due = np.asarray(w["measured"], dtype=np.float64), found.measured
    unit = 2.0 * float(w["target_scale"]) ** 2 if "target_scale" in w else 1.0
    same = _close(stated[0], due[0]) and _close(stated[1], due[1], SAME) and _close(stated[4], due[4])
    told = claim.value is not None and _close(claim.value, unit * due[1], SAME * unit)
    objective = due[1] + 0.5 * due[3] * due[4]
    reason = f"the mean loss is {due[1]:.9g}, {objective:.9g} with the penalty, on rows of weight {due[0]:g}"
    holds = same and told and _penalty_is_possible(w, found) and claim.holds
    return Verdict(claim.name, bool(holds), reason, float(unit * due[1]), claim.kind)


@check("network_errors")
def check_errors(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The share of rows with another class; those whose scores are nearly equal may count or not."""
    found, w = once(found_in, claim, rows), claim.witness
    if "classes" not in w:
        raise ValueError("a regression answers no class")
    stated, share = np.asarray(w["measured"], dtype=np.float64), float(found.measured[2])
    same = abs(stated[2] - share) <= found.tied + SAME and _close(stated[0], found.measured[0])
    told = claim.value is not None and abs(claim.value - stated[2]) <= 1e-12
    reason = f"a share of {share:.9g} is answered wrongly"
    return Verdict(claim.name, bool(same and told and claim.holds), reason, share, claim.kind)


@check("network_gradient")
def check_gradient(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """‖∇J‖ by back-propagation written anew, which agrees with differences."""
    found, w = once(found_in, claim, rows), claim.witness
    stated, due = np.asarray(w["measured"], dtype=np.float64), found.measured
    slopes, low, high, size = due[ONE:].reshape(4, -1)
    size = size + ROUNDING * (1.0 + due[8])
    true = bool((np.maximum(0.0, np.maximum(low - slopes, slopes - high)) <= SAME * size).all())
    told = (
        claim.value is not None and _close(claim.value, due[5], 1e-3) and _close(stated[5], due[5], 1e-3)
    )  # terms of a sum near 0 are much larger than it
    reason = f"the gradient has length {due[5]:.6g}" + ("" if true else ", but does not agree with differences")
    holds = true and told and _penalty_is_possible(w, found) and _close(stated[0], due[0]) and claim.holds
    return Verdict(claim.name, bool(holds), reason, float(due[5]), claim.kind)


@check("network_best_epoch")
def check_best_epoch(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The best of the epochs as they were recorded."""
    w, score = claim.witness, claim.witness.get("scores")
    curve = np.asarray(w["curve"], dtype=np.float64)
    if curve.ndim != 1 or not len(curve) or not np.isfinite(curve).all() or claim.kind != "estimate":
        raise ValueError("the epochs are not possible")
    if score is not None and (np.shape(score) != curve.shape or np.isnan(score).any()):
        raise ValueError("the scores are not those of the epochs")
    best = int(curve.argmin() if score is None else np.argmax(score)) + 1
    value = float(curve[best - 1] if score is None else np.asarray(score)[best - 1])
    holds = best == w["best"] and claim.value is not None and _close(claim.value, value) and claim.holds
    return Verdict(claim.name, bool(holds), f"the best of {len(curve)} epochs is {best}", value, claim.kind)
