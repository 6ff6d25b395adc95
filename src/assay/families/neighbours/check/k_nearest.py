"""Checks of nearest neighbours: every row is compared with every query, distances by the formula of the metric, votes counted one by one.

The neighbours are the rows least in (distance, row number). A row of weight w has w votes; the k nearest votes count.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, CountedRows, Floats, codes_of, counted_rows, row_keys
from assay.families.neighbours.check.distances import (
    EPS,
    FAR,
    distances_of,
    mapped,
    reduced_of,
    scale_of,
    summed,
    tolerance_of,
)

DRAWN = 0x6B6E6E  # seeds the hash of row numbers by which queries are drawn


class Listed(NamedTuple):
    """The other rows in the order of their distance: what orders them, distances, targets, votes."""

    r: Floats
    distance: Floats
    y: Floats
    votes: Floats


def listed_for(table: CountedRows, Z: Floats, q: Floats, out: int | None, most: int, witness: dict[str, Any]) -> Listed:
    """The nearest rows of one query, with at least `most` votes; row `out` of the table (None: no row) has one vote less."""
    r, distance = reduced_of(Z, q, witness)[0], distances_of(Z, q, witness)
    w = table.w.copy()
    if out is not None:
        w[out] = max(0.0, w[out] - 1.0)
    r = np.where(w > 0, r, np.inf)
    many = min(len(w), 2 * most + 2)
    while True:
        near = np.flatnonzero(r <= np.partition(r, many - 1)[many - 1])
        near = near[np.argsort(r[near], kind="stable")]
        if many == len(w) or float(w[near].sum()) >= most:
            near = near[w[near] > 0]
            return Listed(r[near], distance[near], table.y[near], w[near])
        many = min(len(w), 2 * many)


def factors_of(listed: Listed, witness: dict[str, Any]) -> Floats:
    """What a vote of each listed row counts."""
    factor = np.ones(len(listed.y))
    if "vote_function" in witness:
        voters = 1 + int(np.searchsorted(np.cumsum(listed.votes), int(witness["k"])))
        given = np.asarray(witness["vote_function"](listed.distance[None, :voters].copy()), dtype=np.float64)[0]
        if not (given >= 0).all():
            raise ValueError("the function of distances gives what is no weight")
        factor = np.zeros(len(listed.y))
        factor[: len(given)] = np.isinf(given) if np.isinf(given).any() else given
    elif witness["by_distance"]:
        d = listed.distance
        factor = (d == 0).astype(np.float64) if d[0] == 0 else d[0] / d
    if "class_factor" in witness:
        factor = factor * np.asarray(witness["class_factor"], dtype=np.float64)[listed.y.astype(np.int64)]
    return factor


def answer_of(listed: Listed, factor: Floats, k: int, witness: dict[str, Any]) -> Floats:
    """Votes of each class, or the mean number, of the first k votes."""
    left, K = float(k), len(witness.get("classes", ()))
    total, votes = np.zeros(max(1, K)), 0.0
    for y, w, f in zip(listed.y.tolist(), listed.votes.tolist(), factor.tolist()):
        if left <= 0:
            break
        v = min(left, w) * f
        left -= min(left, w)
        total[int(y) if K else 0] += v if K else v * y
        votes += v
    return total if K else total / votes


def winner_of(total: Floats, listed: Listed, k: int) -> int:
    """The class of most votes; of equal ones that whose nearest voter is nearest, then the lowest."""
    best = np.flatnonzero(total == total.max())
    if len(best) == 1:
        return int(best[0])
    first = {int(c): np.inf for c in best}
    left = float(k)
    for d, y, w in zip(listed.r.tolist(), listed.y.tolist(), listed.votes.tolist()):
        if left <= 0:
            break
        left -= w
        if int(y) in first:
            first[int(y)] = min(first[int(y)], d)
    return min(first, key=lambda c: (first[c], c))


@check("neighbours_kept")
def check_kept(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Add up columns, their sizes, targets and weights again."""
    witness, tolerance = claim.witness, tolerance_of(claim)
    n, weights, targets = 0, [], []
    plain, absolute = np.zeros(1), np.zeros(1)
    for block in rows.blocks():
        if block.y is None:
            raise ValueError("the rows have no target")
        X, w = np.asarray(block.X, dtype=np.float64), np.ones(len(block.X)) if block.w is None else block.w
        X = np.where(np.isnan(X), 0.0, X)  # missing values add nothing
        n, plain, absolute = n + len(X), plain + w @ X, absolute + w @ np.abs(X)
        weights.append(w)
        targets.append(np.asarray(block.y))
    w, y = np.concatenate(weights), np.concatenate(targets)
    if "classes" in witness:
        target = np.bincount(codes_of(y, witness["classes"]), weights=w, minlength=len(witness["classes"]))
        size = float(w.sum())
    else:
        y, w = y[w > 0].astype(np.float64), w[w > 0]
        target, size = np.array([w @ y, w @ y**2]), float(max(w @ np.abs(y), w @ y**2))
        if np.isinf(target[1]) and np.isinf(witness["target"][1]):  # squares of such numbers are none
            target, size = target[:1], float(w @ np.abs(y))
    size_x = np.asarray(absolute)
    off = max(
        float((np.abs(np.asarray(witness["plain"]) - plain) / np.where(size_x > 0, size_x, 1.0)).max()),
        float((np.abs(np.asarray(witness["absolute"]) - absolute) / np.where(size_x > 0, size_x, 1.0)).max()),
        float(np.abs(np.asarray(witness["target"])[: len(target)] - target).max() / (size or 1.0)),
    )
    same = n == witness["rows"] == claim.value
    reason = f"there are {n} rows; sums differ by {off:.2g} of their size"
    return Verdict(claim.name, bool(same and off <= tolerance), reason, float(n), claim.kind)


def rows_asked(table: CountedRows, X: Floats, witness: dict[str, Any]) -> list[int]:
    """The place of each query among the rows, −1 where it has none: that drawn by the hash of its number, or, where the rows come in another
    order than those of the fit, the first that equals it. Of equal rows it matters which one is left out: ties are broken by row numbers."""
    asked = _drawn(table, len(X), DRAWN)
    return [
        drawn if _is_query(table, drawn, X, witness, i) else _first_equal(table, X, witness, i)
        for i, drawn in enumerate(asked.tolist())
    ]


def _is_query(table: CountedRows, at: Any, X: Floats, witness: dict[str, Any], i: int) -> Any:
    """Whether rows `at` of the table are query i, its target and its weight."""
    same = ((X[i] == table.X[at]) | (np.isnan(X[i]) & np.isnan(table.X[at]))).all(axis=-1)
    return same & (table.y[at] == witness["targets"][i]) & (table.w[at] == witness["weights"][i])


def _first_equal(table: CountedRows, X: Floats, witness: dict[str, Any], i: int) -> int:
    equal = np.flatnonzero(_is_query(table, slice(None), X, witness, i))
    return int(equal[0]) if len(equal) else -1


@check("neighbours_exact")
def check_exact(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Compare every query with every row: its nearest others and its answer must be those stated."""
    witness, tolerance = claim.witness, tolerance_of(claim)
    table = counted_rows(rows, witness.get("classes"))
    witness = {**witness, "numbers": table.number}
    X, stated = (np.asarray(witness[name], dtype=np.float64) for name in ("queries", "distances"))
    answers, k, whole = np.asarray(witness["answers"], dtype=np.float64), int(witness["k"]), "whole" in witness
    if whole and k <= table.w.sum() - 1:
        raise ValueError("rows can be left out, and the witness leaves none out")
    if len(X) < 1 or claim.value != len(X) or not len(X) == len(stated) == len(answers):
        raise ValueError("the witness does not list the neighbours of each query")
    if len(X) < min(4, len(table.X)) or stated.shape[1] < min(k, 32, len(table.X) - 1 + whole):
        raise ValueError("too few queries or neighbours are listed to show anything")
    if witness.get("balanced") and not _balances(table, witness):
        return Verdict(claim.name, False, "the factors of the classes do not balance these rows", kind=claim.kind)
    Z, Q = mapped(table.X, witness), mapped(X, witness)
    worst = off = 0.0
    for i, out in enumerate(rows_asked(table, X, witness)):
        if out < 0:
            return Verdict(claim.name, False, f"query {i} is none of the rows", kind=claim.kind)
        alone = distances_of(Z, Q[i], witness)
        alone = alone if whole else np.delete(alone, out)
        due = np.sort(np.partition(alone, stated.shape[1] - 1)[: stated.shape[1]])
        worst = max(worst, float((np.abs(due - stated[i]) / np.where(due > 0, due, 1.0)).max(initial=0.0)))
        listed = listed_for(table, Z, Q[i], None if whole else out, k, witness)
        answer = answer_of(listed, factors_of(listed, witness), k, witness)
        off = max(off, float((np.abs(answer - answers[i]) / max(1e-300, float(np.abs(answer).max()))).max()))
    reason = f"{len(X)} queries against {len(table.X)} rows: distances differ by {worst:.2g}, answers by {off:.2g} at most (relative)"
    return Verdict(claim.name, worst <= tolerance and off <= tolerance, reason, float(len(X)), claim.kind)


def _balances(table: CountedRows, witness: dict[str, Any]) -> bool:
    """Whether all classes that have rows weigh the same, and as much together as without the factors."""
    factor = np.asarray(witness["class_factor"], dtype=np.float64)
    count = np.bincount(table.y.astype(np.int64), weights=table.w, minlength=len(factor))
    each = count.sum() / max(1, int((count > 0).sum()))
    return bool(np.allclose((factor * count)[count > 0], each, rtol=1e-9, atol=0.0))


@check("neighbours_whitened")
def check_whitened(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Mean and covariance of the mapped rows, taken directly."""
    blocks = list(rows.blocks())
    X = np.concatenate([np.asarray(b.X, dtype=np.float64) for b in blocks])
    w = np.concatenate([np.ones(len(b.X)) if b.w is None else b.w for b in blocks])
    L = np.asarray(claim.witness["map"], dtype=np.float64)
    Z = (X - np.asarray(claim.witness["centre"], dtype=np.float64)) @ L
    mean = w @ Z / w.sum()
    covariance = (Z * w[:, None]).T @ Z / w.sum()
    if claim.bound is None or not 0 < claim.bound < 1e-2 or L.shape[0] != L.shape[1]:
        raise ValueError("the map or its bound proves nothing")
    off = max(float(np.abs(mean).max()), float(np.abs(covariance - np.eye(len(L))).max()))
    return Verdict(claim.name, off <= claim.bound, f"mean and covariance are off by {off:.2g}", off, claim.kind)


@check("neighbours_learned")
def check_learned(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The mean chance that a soft neighbour names a left-out row rightly, from all pairs of rows."""
    witness, tolerance = claim.witness, tolerance_of(claim)
    table = counted_rows(rows, witness.get("classes"))
    Z = mapped(table.X, {**witness, "metric": "learned"})
    chance = 0.0
    for i in range(len(Z)):
        r = summed((Z - Z[i]) ** 2)
        r[i] = np.inf
        e = table.w * np.exp(r.min() - r)
        chance += float(table.w[i] * e[table.y == table.y[i]].sum() / e.sum())
    chance /= float(table.w.sum())
    told = claim.value is not None and abs(claim.value - chance) <= tolerance
    holds = told and claim.holds and chance >= float(witness["start"]) - tolerance
    reason = f"the mean chance is {chance:.6g}, {witness['start']:.6g} at the start"
    return Verdict(claim.name, bool(holds), reason, chance, claim.kind)


def _drawn(table: CountedRows, most: int, seed: int) -> Array:
    """At most so many rows of the table by the least hashes of their numbers."""
    if len(table.X) <= most:
        return np.arange(len(table.X))
    return np.sort(np.argpartition(row_keys(table.n, seed)[table.number], most)[:most])


@check("neighbours_choice")
def check_choice(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Leave every row out in turn and answer it with 1, 2, … neighbours."""
    witness, tolerance = claim.witness, tolerance_of(claim)
    table = counted_rows(rows, witness.get("classes"))
    witness = {**witness, "numbers": table.number}
    unit = 1.0 if "classes" in witness else 1.0 / scale_of(np.abs(table.y), FAR / 4)
    table = table._replace(y=table.y / unit)
    stated, k = np.asarray(witness["loss"], dtype=np.float64) / unit / unit, int(witness["k"])
    validated = int(witness["validated"])
    left_out = np.arange(len(table.X))
    if 0 < validated < table.n:
        chosen = np.argpartition(row_keys(table.n, 0), validated)[:validated]
        left_out = np.flatnonzero(np.isin(table.number, chosen))
    Z = mapped(table.X, witness)
    weight = table.w.copy()
    if "class_factor" in witness:
        weight *= np.asarray(witness["class_factor"], dtype=np.float64)[table.y.astype(np.int64)]
    loss, square, many = np.zeros(len(stated)), np.zeros(len(stated)), float(weight[left_out].sum()) or 1.0
    for i in left_out.tolist():
        listed = listed_for(table, Z, Z[i], i, len(stated), witness)
        factor = factors_of(listed, witness)
        for j in range(1, len(stated) + 1):
            answer = answer_of(listed, factor, j, witness)
            if "classes" in witness:
                one = float(winner_of(answer, listed, j) != table.y[i])
            else:
                one = float((answer[0] - table.y[i]) ** 2)
            loss[j - 1] += weight[i] * one
            square[j - 1] += weight[i] * one * one
    loss, square = loss / many, square / many
    # the answers of numbers are rounded, so that losses are known to so much
    blur = 0.0 if "classes" in witness else (len(stated) + 8) * EPS * float(np.abs(table.y).max(initial=0.0))
    room = 2 * np.sqrt(loss) * blur + blur**2
    off = float(np.maximum(np.abs(loss - stated) - room, 0.0).max() / max(1e-300, float(loss.max())))
    error = np.sqrt(np.maximum(0.0, square - loss**2) / many)
    right = _is_best(k, loss, error, str(witness["rule"]), tolerance, room)
    told = claim.value is not None and claim.value == witness["loss"][k - 1]
    reason = (
        f"{k} neighbours lose {loss[k - 1]:.6g}, the least is {loss.min():.6g}; the stated losses are off by {off:.2g}"
    )
    return Verdict(claim.name, bool(off <= tolerance and right and told), reason, float(loss[k - 1]), claim.kind)


def _is_best(k: int, loss: Floats, error: Floats, rule: str, tolerance: float, room: Floats) -> bool:
    """Whether k has the least loss, or is the greatest number within one standard error of it; of losses that differ by rounding each may be
    the least one."""
    least = loss - room <= (loss + room).min() * (1 + tolerance)
    if not 1 <= k <= len(loss):
        return False
    if rule == "best":
        return bool(least[k - 1])
    if rule != "one-se":
        raise ValueError("there is no such rule")
    allowed = (loss + error)[least]
    beyond = loss[k:].min(initial=np.inf)
    return bool(((loss[k - 1] <= allowed * (1 + tolerance)) & (beyond >= allowed * (1 - tolerance))).any())


@check("neighbours_bayes")
def check_bayes(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Count the rows whose nearest other row is of another class again, and take the bracket anew."""
    witness = claim.witness
    table, K = counted_rows(rows, witness.get("classes")), len(witness["classes"])
    witness = {**witness, "numbers": table.number}
    Z, wrong = mapped(table.X, witness), 0
    asked = _drawn(table, int(witness["most"]), int(witness["seed"]))
    for i in asked.tolist():
        r = reduced_of(Z, Z[i], witness)[0]
        r[i] = np.inf
        wrong += int(table.y[int(r.argmin())] != table.y[i])
    e, top = wrong / len(asked), (K - 1) / K
    low = 0.0 if e >= top else top * (1 - math.sqrt(1 - e / top))
    same = wrong == witness["wrong"] and len(asked) == witness["asked"]
    told = claim.value is not None and abs(claim.value - low) <= 1e-9 and claim.bound is not None
    holds = same and told and abs((claim.bound or 0.0) - e) <= 1e-9 and len(asked) >= min(64, len(table.X))
    reason = f"{wrong} of {len(asked)} rows differ from their nearest: {low:.4g} to {e:.4g} (estimate)"
    return Verdict(claim.name, bool(holds), reason, low, claim.kind)
