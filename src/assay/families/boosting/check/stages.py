"""The checks of boosted trees: what a replay found."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import CheckedRows, once
from assay.families.boosting.check.replay import NEAR, Replay


def _played(claim: Claim, rows: CheckedRows) -> Replay:
    return once(Replay, claim, rows)


@check("boosting_losses")
def check_losses(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The training loss after every stage is as stated, and none is above the one before."""
    play = _played(claim, rows)
    stated = np.asarray(claim.witness["loss_curve"], np.float64)
    problem = play.problem["boosting_losses"]
    size = max(float(play.losses[0]), 1e-300)
    off = np.abs(stated - play.losses) > NEAR * np.maximum(play.losses, 1e-6 * size)
    if off.any():
        s = int(np.flatnonzero(off)[0])
        problem = problem or f"after stage {s} the training loss is {play.losses[s]:.9g}, not {stated[s]:.9g}"
    if np.any(np.diff(play.losses) > NEAR * size):
        problem = problem or "the training loss rises"
    if claim.value is None or abs(claim.value - play.losses[-1]) > NEAR * max(float(play.losses[-1]), 1e-6 * size):
        problem = problem or f"the training loss is {play.losses[-1]:.9g}, not what is claimed"
    reason = f"{len(stated) - 1} stages bring the training loss from {play.losses[0]:.6g} to {play.losses[-1]:.6g}, none raises it"
    return Verdict(claim.name, not problem, problem or reason, float(play.losses[-1]), claim.kind)


@check("boosting_leaves")
def check_leaves(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Each leaf of every stage adds the stated minimiser for the rows that reach it."""
    play = _played(claim, rows)
    problem = play.problem["boosting_leaves"]
    if claim.value != float(play.leaves_seen):
        problem = problem or f"there are {play.leaves_seen} leaves, not as many as are claimed"
    return Verdict(
        claim.name,
        not problem,
        problem or f"{play.leaves_seen} leaves add what is stated",
        float(play.leaves_seen),
        claim.kind,
    )


@check("boosting_splits")
def check_splits(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Each split gains what is stated; of those that are searched no other question between bins gains more."""
    play = _played(claim, rows)
    problem = play.problem["boosting_splits"]
    if claim.value != float(play.searched):
        problem = problem or f"{play.searched} splits are there to be searched, not as many as are claimed"
    reason = f"{play.gains_seen} splits gain what is stated; of {play.searched} no other question would gain more"
    return Verdict(claim.name, not problem, problem or reason, float(play.searched), claim.kind)


@check("boosting_held_out")
def check_held_out(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The loss of the rows held out at the chosen stage, its standard error and interval."""
    play, t = _played(claim, rows), claim.witness
    w = play.held_w
    if not w.any() or not len(play.held):
        raise ValueError("no rows were held out")
    loss = float(play.held[-1])
    own = w > 0
    error = float(np.sqrt(np.sum((w[own] * (play.value[own] - loss)) ** 2)) / w[own].sum())
    confidence = float(t["confidence"])
    if not 0.5 <= confidence < 1:
        raise ValueError(f"a confidence of {confidence:g} says nothing")
    far = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    low, high = (float(v) for v in t["interval"])
    room = NEAR * max(abs(loss), 1e-12) + 1e-6 * far
    due = (loss, max(0.0, loss - far), loss + far, error, float(own.sum()))
    stated = (claim.value, low, high, float(t["standard_error"]), float(t["rows"]))
    problem = ""
    if any(s is None or abs(s - d) > room for s, d in zip(stated, due)):
        problem = f"{int(own.sum())} held-out rows have a loss of {loss:.9g} ± {error:.3g}, not what is claimed"
    curve = np.asarray(t["validation_curve"], np.float64)[: len(play.held)]
    if len(curve) != len(play.held) or np.any(np.abs(curve - play.held) > NEAR * np.maximum(play.held, 1e-12)):
        problem = problem or "the curve of held-out losses is another"
    if np.any(play.held < loss * (1 - NEAR)):
        problem = problem or "an earlier stage answers the rows held out better"
    return Verdict(
        claim.name, not problem, problem or f"loss {loss:.6g} on {int(own.sum())} rows held out", loss, claim.kind
    )
