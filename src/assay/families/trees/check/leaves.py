"""Checks of leaves: the rows that a tree saw are sent down it again, and every leaf must hold what reaches it.

Of a forest the rows that each tree saw are drawn again from (seed, tree) alone; for the out-of-bag error each row is judged again by the
trees that did not see it.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from assay.certify.check_held_out import interval_is_exact
from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats
from assay.families.trees.check.nodes import NodeContents, bounds_of, held_by, medians
from assay.families.trees.check.witness import Stated, StatedTree, TreeRows, leaves_of, stated_each, times_drawn

EPS = float(np.finfo(np.float64).eps)


@check("tree_leaves")
def check_tree_leaves(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """One tree: its leaves hold the rows that reach them, the training error is as stated, and the model answers as its leaves do."""
    each = stated_each(claim, rows)
    if len(each[0].trees) != 1:
        raise ValueError(f"{len(each[0].trees)} trees where one is due")
    parts, problem = [], None
    for stated in each:
        seen, tree = TreeRows(stated, rows, None), stated.trees[0]
        held = held_by(stated, tree, seen, np.ones(seen.n, np.int64))
        problem = problem or _leaf_problem(stated, tree, seen, held)
        parts.append((stated, tree, seen, held))
    losses = [_training_loss(*part) for part in parts]
    loss, slack = (float(np.mean(numbers)) for numbers in zip(*losses))
    if len(parts) > 1 and each[0].K:
        loss = _wrong_in_some(parts)
    if problem is None and not (claim.value is not None and abs(claim.value - loss) <= slack):
        problem = f"the training error is {loss:.9g}, not what is claimed"
    problem = problem or _answer_problem(parts, rows, predict)
    reason = f"{len(tree.table)} leaves hold the rows that reach them; the training error is {loss:.6g}"
    return Verdict(claim.name, problem is None, problem or reason, loss, claim.kind)


@check("forest_leaves")
def check_forest_leaves(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Every tree that the witness names: draw its rows again and compare what its leaves hold."""
    t = claim.witness
    each = stated_each(claim, rows)
    stated = each[0]
    draws = None if t["draws"] is None else int(t["draws"])
    looked = [(own, TreeRows(own, rows, draws)) for own in each]
    numbers = [int(k) for k in t["trees"]]
    if not numbers or claim.value != float(len(numbers)) or len(set(numbers)) != len(numbers):
        raise ValueError("trees that are not those of the claim")
    for k in numbers:
        problem = None
        try:
            seen = looked[0][1]
            times = times_drawn(int(t["seed"]), k, seen.n, draws, bool(t["replace"]), seen.counted)
            for own, seen in looked:
                held = held_by(own, own.trees[k], seen, times)
                problem = problem or _leaf_problem(own, own.trees[k], seen, held)
        except ValueError as error:
            problem = str(error)
        if problem is not None:
            why = "" if draws is None else " (rows are drawn by their numbers: their order matters)"
            return Verdict(claim.name, False, f"tree {k}: {problem}{why}", None, claim.kind)
    what = "the rows that reach them" if draws is None else "what was drawn again"
    reason = f"the leaves of {len(numbers)} of {len(stated.trees)} trees hold {what}"
    return Verdict(claim.name, True, reason, float(len(numbers)), claim.kind)


def _leaf_problem(stated: Stated, tree: StatedTree, seen: TreeRows, held: NodeContents) -> str | None:
    """What is wrong with the leaves of a tree, or None."""
    leaf = tree.leaves
    weight = held.weight[leaf] * seen.unit
    slack = stated.tolerance * weight + (held.rows[leaf] * seen.unit if seen.weighted else 0.0)
    low, high = bounds_of(stated, tree, held)[leaf].T
    if stated.K:
        due = held.classes[leaf] * seen.unit
        if stated.trend.any():
            second = weight * np.clip(held.mean[leaf], low, high)
            due = np.column_stack([weight - second, second])
        wrong = (np.abs(tree.table - due) > slack[:, None]).any(axis=1)
    else:
        value, allowed = _due_numbers(stated, tree, seen, held)
        value = np.clip(value, low, high) if stated.trend.any() else value
        due = np.column_stack([value + seen.pivot, weight])
        wrong = ~(
            (np.abs(tree.table[:, 0] - seen.pivot - value) <= allowed) & (np.abs(tree.table[:, 1] - weight) <= slack)
        )
    if not wrong.any():
        return None
    k = int(np.flatnonzero(wrong)[0])
    what = "class weights" if stated.K else "value and weight"
    return (
        f"leaf {k} (node {int(leaf[k])}) says {what} {_few(tree.table[k])}, the rows that reach it give {_few(due[k])}"
    )


def _few(numbers: Floats) -> str:
    return "[" + ", ".join(f"{x:.9g}" for x in numbers[:8].tolist()) + (", …]" if len(numbers) > 8 else "]")


def _due_numbers(stated: Stated, tree: StatedTree, seen: TreeRows, held: NodeContents) -> tuple[Floats, Floats]:
    """Of every leaf the mean (or median) of its rows, and how far rounding may put it."""
    leaf = tree.leaves
    scale = seen.top if stated.criterion == "poisson" else seen.scale
    light = held.rows[leaf] * (seen.heaviest / seen.unit) / held.weight[leaf]
    allowed = stated.tolerance * scale * light + 8 * EPS * seen.top
    if stated.criterion == "absolute_error":
        return medians(held.leaf, seen.y[held.row], held.u, len(leaf)), allowed
    return held.mean[leaf], allowed


def _training_loss(stated: Stated, tree: StatedTree, seen: TreeRows, held: NodeContents) -> tuple[float, float]:
    """(the share of the weight that is answered wrongly, or the mean squared error; how far rounding may put it)."""
    total = float(held.weight[0])
    if stated.K:
        right = np.take_along_axis(held.classes[tree.leaves], _said(tree)[:, None], 1)[:, 0]
        return float((held.weight[tree.leaves] - right).sum()) / total, stated.tolerance
    off = seen.y[held.row] - (tree.table[held.leaf, 0] - seen.pivot)
    noise, share = _noise(stated, tree, seen, held), held.weight[tree.leaves] / total
    slack = stated.tolerance * seen.scale**2 + float(share @ (8 * noise * seen.scale + noise**2))
    return float((held.u / total) @ off**2), slack


Part = tuple[Stated, StatedTree, TreeRows, NodeContents]


def _wrong_in_some(parts: list[Part]) -> float:
    """The share of the weight that is answered wrongly in some target."""
    held = parts[0][3]
    wrong = np.zeros(len(held.row), dtype=bool)
    for _, tree, seen, own in parts:
        wrong |= _said(tree)[own.leaf] != seen.y[own.row]
    return float(held.u[wrong].sum()) / float(held.weight[0])


def _said(tree: StatedTree) -> Array:
    """The class that each leaf answers with: that of the greatest share, of equal ones the first."""
    said: Array = (tree.table / tree.table.sum(axis=1, keepdims=True)).argmax(axis=1)
    return said


def _noise(stated: Stated, tree: StatedTree, seen: TreeRows, held: NodeContents) -> Floats:
    """By how much rounding may put the answer of each leaf off: a weighted target is counted in whole units too, and of a leaf that weighs
    few of them little is left."""
    if not seen.weighted:
        return np.full(len(tree.leaves), 8 * EPS * seen.top)
    reach = seen.top if stated.criterion == "poisson" else min(seen.top, 16 * seen.scale)
    noise: Floats = 8 * EPS * seen.top + held.rows[tree.leaves] / held.weight[tree.leaves] * reach
    return noise


def _answer_problem(parts: list[Part], rows: CheckedRows, predict: Any) -> str | None:
    """Whether the model answers rows otherwise than the leaves that they reach."""
    if predict is None:
        return None
    stated, tree, seen, _ = parts[0]
    leaf = leaves_of(stated, tree, seen, np.arange(seen.n))
    due = [
        (own.table[:, 0] if said.classes is None else np.array(said.classes)[_said(own)])[leaf]
        for said, own, _, _ in parts
    ]
    for start, X in seen.blocks():
        answers = np.asarray(predict(X)).reshape(len(X), -1)
        if answers.shape[1] != len(due):
            return f"the model answers {answers.shape[1]} targets, not {len(due)}"
        if any(np.any(answers[:, t] != own[start : start + len(X)]) for t, own in enumerate(due)):
            return "the model answers otherwise than its leaves"
    return None


TOLERANCE = 1e-6


@check("out_of_bag")
def check_out_of_bag(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Judge all rows again; the count of errors must be the same, a mean loss and its standard error up to rounding."""
    t = claim.witness
    each = stated_each(claim, rows)
    if t["draws"] is None:
        raise ValueError("trees that saw all rows")
    looked = [(own, TreeRows(own, rows, int(t["draws"]))) for own in each]
    stated, seen = max(looked, key=lambda part: part[1].top)  # by whose numbers rounding is judged
    lost, w = _losses(looked, int(t["seed"]), int(t["draws"]), bool(t["replace"]))
    if not len(lost):
        raise ValueError("every row was seen by all trees")
    loss = float(np.average(lost, weights=w))
    error = _standard_error(lost, loss, w)
    problem = _problem(claim, seen, lost, loss, error)
    what = (
        f"{int(lost.sum())} of {len(lost)} rows wrong"
        if stated.K
        else f"mean squared error {loss:.6g} of {len(lost)} rows"
    )
    return Verdict(
        claim.name, problem is None, problem or f"{what} again, by the trees that did not see them", loss, claim.kind
    )


def _standard_error(lost: Floats, loss: float, w: Floats) -> float:
    """That of the mean loss, were rows judged independently; in units of the greatest loss, whose square may be no number."""
    size = float(lost.max()) or 1.0
    varies = float(np.average(((lost - loss) / size) ** 2, weights=w))
    return size * sqrt(varies * float((w * w).sum())) / float(w.sum())


def _losses(looked: list[tuple[Stated, TreeRows]], seed: int, draws: int, replace: bool) -> tuple[Floats, Floats]:
    """(loss, weight) of each row that some tree did not see: zero-one of the mean of the leaves' shares, 1 where it is wrong in some target, or
    squared, the mean of all targets."""
    stated, seen = looked[0]
    sums, count = [np.zeros((seen.n, max(1, own.K))) for own, _ in looked], np.zeros(seen.n, dtype=np.int64)
    for k, tree in enumerate(stated.trees):
        out_of_bag = np.flatnonzero(times_drawn(seed, k, seen.n, draws, replace, seen.counted) == 0)
        leaf = leaves_of(stated, tree, seen, out_of_bag)
        for (own, _), total in zip(looked, sums):
            table = own.trees[k].table
            total[out_of_bag] += (table / table.sum(axis=1, keepdims=True) if own.K else table[:, :1])[leaf]
        count[out_of_bag] += 1
    there = (count > 0) & (seen.weights > 0)
    w = seen.weights[there] / seen.heaviest
    if stated.K:
        wrong = [total[there].argmax(axis=1) != own.y[there] for (_, own), total in zip(looked, sums)]
        return np.any(wrong, axis=0).astype(np.float64), w
    lost = [(total[there, 0] / count[there] - (own.y[there] + own.pivot)) ** 2 for (_, own), total in zip(looked, sums)]
    return np.mean(lost, axis=0), w


def _problem(claim: Claim, seen: TreeRows, lost: Floats, loss: float, error: float) -> str | None:
    t = claim.witness
    low, high = (float(end) for end in t["interval"])
    noise = 8 * EPS * seen.top  # by which the answer for a row may be off
    confidence, near = float(t["confidence"]), TOLERANCE * max(loss, error) + 2 * noise * sqrt(loss) + noise**2
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
