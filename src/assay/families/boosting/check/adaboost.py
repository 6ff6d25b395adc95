"""Checks of AdaBoost: the rows are weighed and the trees judged again, stage by stage, from the stored trees alone.

With D_i the weights of the rows before a stage, e the error of its tree under them and α its vote, the rows become D_i e^{α [wrong]} / Z. Whoever is
outvoted has at most half of all votes for the right class, so the training error is at most Π Z e^{−α/2}.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats
from assay.families.trees.check.witness import TreeRows, leaves_of, stated_in

EPS = float(np.finfo(np.float64).eps)
THETAS = np.round(np.arange(-10, 11) / 10, 1)


class Reweighted(NamedTuple):
    """What the stages come to: a problem (None: all is as stated), min(1, Π Z e^{−α/2}), and of the rows that count votes (m, K), classes and weights."""

    problem: str | None
    bound: float
    votes: Floats
    y: Array
    w: Floats


def _replayed(claim: Claim, rows: CheckedRows) -> Reweighted:
    stated = stated_in(claim, rows)
    seen = TreeRows(stated, rows, None)
    errors, alpha = (np.asarray(claim.witness[key], dtype=np.float64) for key in ("errors", "votes"))
    rate, K, T = float(claim.witness["rate"]), stated.K, len(stated.trees)
    if errors.shape != (T,) or alpha.shape != (T,) or not rate > 0 or not (alpha > 0).all():
        raise ValueError("errors and votes that are not those of the trees")
    y, w = seen.y[seen.counted], seen.weights[seen.counted]
    D, bound, problem = w / w.sum(), 0.0, None
    votes, share = np.zeros((len(y), K)), alpha / alpha.sum() * T
    for t, tree in enumerate(stated.trees):
        D = np.maximum(D, EPS)
        bound += float(np.log(D.sum()))
        D = D / D.sum()
        leaf = leaves_of(stated, tree, seen, seen.counted)
        held = np.bincount(leaf * K + y, weights=D, minlength=len(tree.table) * K).reshape(-1, K)
        if problem is None and not np.abs(held - tree.table).max() <= stated.tolerance:
            problem = f"stage {t + 1}: a leaf does not hold the weights of the rows that reach it"
        said = (tree.table / tree.table.sum(axis=1, keepdims=True)).argmax(axis=1)[leaf]
        wrong = said != y
        error = float(D[wrong].sum())
        chance = error >= 1 - 1 / K - stated.tolerance
        if error <= 0 or (chance and t == 0 and alpha[t] == 1.0):
            due = 1.0
        else:
            due = rate * (np.log((1 - error) / error) + np.log(K - 1.0))
        near = abs(error - errors[t]) <= stated.tolerance and abs(due - alpha[t]) <= 1e-6 * max(1.0, abs(due))
        if not near and problem is None:
            problem = (
                f"stage {t + 1}: error {error:.9g} and vote {due:.9g} are due, not {errors[t]:.9g} and {alpha[t]:.9g}"
            )
        votes[np.arange(len(y)), said] += share[t]
        D = np.where(wrong, D, D * np.exp(-alpha[t]))
        bound += float(np.log(D.sum())) + alpha[t] / 2
        D = D / D.sum()
    return Reweighted(problem, float(np.exp(min(bound, 0.0))), votes, y, w)


@check("adaboost_bound")
def check_adaboost_bound(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Errors, votes and the product are as stated, the vote errs as stated, not more than that, and the model answers as its trees vote."""
    found = _replayed(claim, rows)
    tolerance = float(claim.witness["tolerance"])
    tied = _tied(found, len(claim.witness["errors"]))
    own = np.take_along_axis(tied, found.y[:, None], axis=1)[:, 0]
    problem = found.problem
    said = found.votes.argmax(axis=1)
    if problem is None and predict is not None:
        said, problem = _answers(claim, rows, predict, tied)
    loss = float(found.w[said != found.y].sum() / found.w.sum())
    # without answers, a row of several classes with as many votes may be right or wrong
    least, most = (loss, loss) if predict is not None else (float(found.w[wrong].sum() / found.w.sum()) for wrong in (~own, ~own | (tied.sum(axis=1) > 1)))  # fmt: skip
    if problem is None and not (claim.value is not None and least - tolerance <= claim.value <= most + tolerance):
        problem = f"the training error is {loss:.9g}, not what is claimed"
    if problem is None and not (claim.bound is not None and abs(claim.bound - found.bound) <= 1e-6 * found.bound):
        problem = f"the product over the edges is {found.bound:.9g}, not what is claimed"
    if problem is None and loss > found.bound * (1 + tolerance):
        problem = f"the training error {loss:.9g} is above its bound {found.bound:.9g}"
    reason = (
        f"{len(claim.witness['errors'])} edges worked out again; training error {loss:.6g}, at most {found.bound:.6g}"
    )
    return Verdict(claim.name, problem is None, problem or reason, loss, claim.kind)


def _tied(found: Reweighted, stages: int) -> Array:
    """(m, K): the classes with the most votes, but for the rounding of their sums."""
    V = found.votes
    room = 4 * (stages + 2) * EPS * V.sum(axis=1, keepdims=True)
    return np.asarray(V.max(axis=1, keepdims=True) - room <= V)


def _answers(claim: Claim, rows: CheckedRows, predict: Any, tied: Array) -> tuple[Array, str | None]:
    """(what the model answers to the rows that count, what is wrong with that)."""
    classes, at, said = claim.witness["classes"], 0, np.full(len(tied), -1)
    for block in rows.blocks():
        there = np.ones(len(block.X), bool) if block.w is None else block.w > 0
        answers = np.asarray(predict(block.X))[there]
        own = slice(at, at + len(answers))
        at += len(answers)
        for k, label in enumerate(np.array(classes, dtype=answers.dtype)):
            said[own][answers == label] = k
    if np.any(said < 0) or not np.take_along_axis(tied, said[:, None], axis=1).all():
        return said, "the model answers otherwise than its trees vote"
    return said, None


@check("adaboost_margins")
def check_adaboost_margins(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The share of the rows' weight with a margin of at most each θ."""
    found = _replayed(claim, rows)
    thetas, shares = (np.asarray(claim.witness[key], dtype=np.float64) for key in ("thetas", "shares"))
    if shares.shape != THETAS.shape or not np.array_equal(thetas, THETAS):
        raise ValueError("margins that are not the tenths from -1 to 1")
    V = found.votes / found.votes.sum(axis=1, keepdims=True)
    own = V[np.arange(len(V)), found.y]
    V[np.arange(len(V)), found.y] = -1.0
    margin, tolerance = own - V.max(axis=1), float(claim.witness["tolerance"])
    off = 0.0
    for theta, share in zip(thetas, shares):  # rounding may put a margin that is θ itself on either side
        low, high = (float(found.w[margin <= theta + slack].sum() / found.w.sum()) for slack in (0.0, 2 * tolerance))
        off = max(off, low - share, share - high)
    zero = float(shares[np.searchsorted(thetas, 0.0)])
    stated = claim.value is not None and abs(claim.value - zero) <= tolerance
    holds = found.problem is None and off <= tolerance and stated
    reason = f"the shares differ by at most {off:.2g}; the least margin is {margin.min():.6g}"
    return Verdict(claim.name, bool(holds), found.problem or reason, zero, claim.kind)
