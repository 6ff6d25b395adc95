"""Checks of the constant hypothesis: classes are counted and the mean is taken again, row by row.

That a constant is the best follows from the counts: its zero-one risk is one less its share, and Σ w (y − c)² is least
where Σ w (y − c) = 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows

LARGEST_TOLERANCE = 1e-6
EPS = float(np.finfo(np.float64).eps)


def _targets(rows: CheckedRows) -> Iterator[tuple[Array, Array]]:
    """(y, weight) of the rows that have one."""
    for block in rows.blocks():
        if block.y is None:
            raise ValueError("the rows have no target")
        w = np.ones(len(block.y)) if block.w is None else block.w
        yield block.y[w > 0], w[w > 0]


def _tolerance(claim: Claim) -> float:
    tolerance = float(claim.witness["tolerance"])
    if not 0 < tolerance <= LARGEST_TOLERANCE:
        raise ValueError(f"a tolerance of {tolerance:g} proves nothing")
    return tolerance


@check("constant_class")
def check_constant_class(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Count the classes: their shares, the greatest, and the error of answering it always."""
    classes, tolerance = claim.witness["classes"], _tolerance(claim)
    shares = np.asarray(claim.witness["shares"], dtype=np.float64)
    weight, known = np.zeros(len(classes)), 0.0
    for y, w in _targets(rows):
        known += float(w.sum())
        for k, label in enumerate(classes):
            weight[k] += w[y == label].sum()
    if shares.shape != weight.shape or not abs(weight.sum() - known) <= tolerance * known:
        return Verdict(claim.name, False, "the rows hold classes that the witness does not know", kind=claim.kind)
    due = weight / known
    error = 1.0 - float(due.max())
    answered = float(due[classes.index(claim.witness["answer"])])
    off = float(np.abs(shares - due).max())
    stated = claim.value is not None and abs(claim.value - error) <= tolerance
    holds = off <= tolerance and answered >= due.max() - tolerance and stated
    reason = f"{claim.witness['answer']!r} has a share of {answered:.6g}, the greatest is {due.max():.6g}; shares differ by {off:.2g}"
    return Verdict(claim.name, bool(holds), reason, error, claim.kind)


@check("constant_probabilities")
def check_constant_probabilities(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The classes' shares, all of the most frequent or the given class, or one over their number; and answers that can be so."""
    classes, tolerance = claim.witness["classes"], _tolerance(claim)
    stated, strategy = np.asarray(claim.witness["probabilities"], dtype=np.float64), claim.witness["strategy"]
    weight = np.zeros(len(classes))
    for y, w in _targets(rows):
        weight += [w[y == label].sum() for label in classes]
    share = weight / weight.sum()
    if strategy == "constant":
        due = np.array([float(label == claim.witness["constant"]) for label in classes])
    elif strategy == "most_frequent":  # of classes as frequent but for rounding any may be the first
        most = int(stated.argmax()) if share[int(stated.argmax())] >= share.max() - tolerance else int(share.argmax())
        due = np.eye(len(classes))[most]
    else:
        due = {"prior": share, "stratified": share, "uniform": np.full(len(classes), 1.0 / len(classes))}[strategy]
    off = float(np.abs(stated - due).max()) if stated.shape == due.shape and due.sum() > 0 else np.inf
    return Verdict(claim.name, off <= tolerance, f"probabilities differ by {off:.2g}", None, claim.kind)


@check("constant_number")
def check_constant_number(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Σ w (y − c) must vanish, and Σ w (y − c)² / Σ w be the stated error."""
    tolerance = _tolerance(claim)
    c = float(np.asarray(claim.witness["mean"]).reshape(()))
    n = slope = squares = top = 0.0
    for y, w in _targets(rows):
        r = y.astype(np.float64) - c
        n, slope, squares = n + float(w.sum()), slope + float(w @ r), squares + float(w @ r**2)
        top = max(top, float(np.abs(y).max(initial=0.0)))
    if not n > 0:
        raise ValueError("there are no rows of positive weight")
    spread = np.sqrt(squares / n)
    off, allowed = abs(slope / n), tolerance * spread + 8 * EPS * top
    stated = claim.value is not None and abs(np.sqrt(max(claim.value, 0.0)) - spread) <= allowed
    reason = f"the mean is off by {off:.3g} ({allowed:.3g} is allowed), the mean square error is {squares / n:.6g}"
    return Verdict(claim.name, bool(off <= allowed and stated), reason, squares / n, claim.kind)


@check("constant_answer")
def check_constant_answer(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The mean leaves no slope; a quantile q has at most q of the weight below it and at least q at or below it."""
    tolerance, c, q = _tolerance(claim), float(claim.witness["answer"]), claim.witness["share"]
    if claim.value != c:
        return Verdict(claim.name, False, "the answer is not the one stated", kind=claim.kind)
    n = below = at = slope = top = 0.0
    for y, w in _targets(rows):
        y = y.astype(np.float64)
        n, slope, top = n + float(w.sum()), slope + float(w @ (y - c)), max(top, float(np.abs(y).max(initial=0.0)))
        below, at = below + float(w[y < c].sum()), at + float(w[y <= c].sum())
    if claim.witness["strategy"] == "constant":
        return Verdict(claim.name, True, "the answer was given", c, claim.kind)
    if q is None:
        off = abs(slope / n)
        return Verdict(claim.name, bool(off <= tolerance * top), f"the mean is off by {off:.3g}", c, claim.kind)
    holds = below / n <= float(q) + tolerance and at / n >= float(q) - tolerance
    return Verdict(
        claim.name, bool(holds), f"{below / n:.6g} of the weight is below, {at / n:.6g} at or below", c, claim.kind
    )
