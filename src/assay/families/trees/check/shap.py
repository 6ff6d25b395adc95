"""The check of SHAP values: with their base they add up to what the trees answer, which is found by walking them again."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats
from assay.families.trees.check.witness import LARGEST_TOLERANCE, Stated, down, stated_trees

HOW = ("added", "numbers", "shares", "votes")


def _worth(stated: Stated, t: dict[str, Any], outputs: int) -> list[Floats]:
    """Of each tree what its leaves add to the answers, (L, C)."""
    how, T, found = t["how"], len(stated.trees), []
    weights = np.ones(T) if t["tree_votes"] is None else np.asarray(t["tree_votes"], np.float64)
    for k, tree in enumerate(stated.trees):
        worth = np.zeros((len(tree.table), outputs))
        if how == "added":
            worth[:, k % outputs] = tree.table[:, 0]
        elif how == "numbers":
            worth[:, 0] = tree.table[:, 0] / T
        else:
            shares = tree.table / tree.table.sum(axis=1, keepdims=True)
            if how == "votes":
                shares = np.eye(outputs)[shares.argmax(axis=1)]
            worth += shares * (weights[k] / weights.sum())
        found.append(worth)
    return found


def _answers(stated: Stated, worth: list[Floats], X: Array, start: Floats) -> Floats:
    found = np.tile(start, (len(X), 1))
    for tree, adds in zip(stated.trees, worth):
        found += adds[tree.number[down(stated, tree, X, np.arange(len(X)))]]
    return found


def _mean_answer(stated: Stated, worth: list[Floats], how: str, start: Floats) -> Floats:
    """The mean of the leaves of each tree by the weight of the rows of its growth, added up."""
    found = start.copy()
    for tree, adds in zip(stated.trees, worth):
        cover = tree.table[:, 1] if how in ("added", "numbers") else tree.table.sum(axis=1)
        found += cover @ adds / cover.sum()
    return found


@check("shap_adds_up")
def check_shap(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """base + Σ_j φ_j is the answer for every row, and the base is the mean answer for the rows of the growth, or for those of the background."""
    t, X = claim.witness, np.concatenate([block.X for block in rows.blocks()]).astype(np.float64)
    how, tolerance = str(t["how"]), float(t["tolerance"])
    if how not in HOW or not 0 < tolerance <= LARGEST_TOLERANCE:
        raise ValueError("a kind of answer, or a tolerance, that cannot be")
    start = np.zeros(1) if t["baseline"] is None else np.asarray(t["baseline"], np.float64)
    if how in ("shares", "votes"):
        start = np.zeros(len(t["classes"]))
    stated = stated_trees(t, rows.n_columns, 2 if how in ("added", "numbers") else len(start), how, tolerance)
    values = np.asarray(t["values"], np.float64).reshape(len(X), rows.n_columns, -1)
    base = np.asarray(t["base"], np.float64).reshape(-1)
    if values.shape[2] != len(start) or len(base) != len(start):
        raise ValueError("values that are not those of the answers")
    worth = _worth(stated, t, len(start))
    due = _answers(stated, worth, X, start)
    background = t["background"]
    if background is None:
        mean = _mean_answer(stated, worth, how, start)
    else:
        mean = _answers(stated, worth, np.asarray(background, np.float64), start).mean(axis=0)
    scale = max(1.0, float(np.abs(due).max()), float(np.abs(values).sum(axis=1).max()))
    gap = float(np.abs(base + values.sum(axis=1) - due).max()) / scale
    problem = ""
    if claim.value != float(len(X)):
        problem = f"there are {len(X)} rows, not as many as are claimed"
    elif not gap <= tolerance:
        problem = f"base and values differ by up to {gap:.3g} of their size from what the trees answer"
    elif not float(np.abs(base - mean).max()) <= tolerance * scale:
        problem = f"the base is {base.tolist()}, where the mean answer is {mean.tolist()}"
    return Verdict(
        claim.name,
        not problem,
        problem or f"{len(X)} rows add up, to {gap:.2g} of their size",
        float(len(X)),
        claim.kind,
    )
