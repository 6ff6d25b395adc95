"""What the checks of nearest neighbours read rows with: distances by the formula of the metric, and votes counted one by one.

The neighbours are the rows least in (distance, row number). A row of weight w has w votes; the k nearest votes count.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim
from assay.certify.rows import Array, CheckedRows, Floats, codes_of

LARGEST_TOLERANCE = 1e-6
AT_A_TIME = 1 << 22


class Table(NamedTuple):
    """CheckedRows of positive weight: X, target (codes or numbers), weights, and their numbers in the whole table of n rows."""

    X: Floats
    y: Floats
    w: Floats
    number: Array
    n: int


def table_of(rows: CheckedRows, witness: dict[str, Any]) -> Table:
    blocks = list(rows.blocks())
    X = np.concatenate([np.asarray(b.X, dtype=np.float64) for b in blocks])
    w = np.concatenate([np.ones(len(b.X)) if b.w is None else b.w for b in blocks])
    if any(b.y is None for b in blocks):
        raise ValueError("the rows have no target")
    y = np.concatenate([np.asarray(b.y) for b in blocks])
    there = w > 0
    target = (
        codes_of(y[there], witness["classes"]).astype(np.float64)
        if "classes" in witness
        else y[there].astype(np.float64)
    )
    return Table(X[there], target, w[there], np.flatnonzero(there), len(X))


def tolerance_of(claim: Claim) -> float:
    tolerance = float(claim.witness["tolerance"])
    if not 0 < tolerance <= LARGEST_TOLERANCE:
        raise ValueError(f"a tolerance of {tolerance:g} proves nothing")
    return tolerance


def mapped(X: Floats, witness: dict[str, Any]) -> Floats:
    """CheckedRows between which distances are norms of differences."""
    if "map" in witness:
        L, centred = np.asarray(witness["map"], dtype=np.float64), X - np.asarray(witness["centre"], dtype=np.float64)
        X = np.zeros((len(X), L.shape[1]))
        for j in range(L.shape[0]):
            X += centred[:, j : j + 1] * L[j]
    if witness["metric"] == "cosine":
        length = np.zeros(len(X))
        for j in range(X.shape[1]):
            length += X[:, j] ** 2
        X = X / np.sqrt(length)[:, None]
    return X


def reduced_of(Z: Floats, q: Floats, witness: dict[str, Any]) -> tuple[Floats, float]:
    """What orders all mapped rows by their distance from one mapped query, and the factor by which differences were multiplied."""
    metric = witness["metric"]
    t = np.abs(Z - q)
    if metric == "hamming":
        return (t != 0).sum(axis=1).astype(np.float64), 1.0
    if metric == "chebyshev":
        return np.asarray(t.max(axis=1)), 1.0
    if metric == "manhattan":
        return summed(t), 1.0
    if metric == "minkowski":
        p = float(witness["p"])
        return summed(np.array([[math.pow(x, p) for x in row] for row in t.tolist()])), 1.0
    if metric not in ("euclidean", "cosine", "mahalanobis", "quadratic", "learned"):
        raise ValueError(f"there is no metric {metric!r}")
    top = float(t.max(initial=0.0)) or 1.0  # squares of differences of any size
    scale = 2.0 ** -math.floor(math.log2(top)) if top > 1e140 or top < 1e-140 else 1.0
    return summed((t * scale) ** 2), scale


def distances_of(Z: Floats, q: Floats, witness: dict[str, Any]) -> Floats:
    """Of one mapped query and all mapped rows."""
    r, scale = reduced_of(Z, q, witness)
    metric = witness["metric"]
    if metric == "hamming":
        return np.asarray(r / Z.shape[1])
    if metric == "cosine":
        return np.asarray(0.5 * r)
    if metric in ("chebyshev", "manhattan"):
        return r
    if metric == "minkowski":
        return np.asarray(r ** (1 / float(witness["p"])))
    return np.asarray(np.sqrt(r) / scale)


def summed(t: Floats) -> Floats:
    total = np.zeros(len(t))
    for j in range(t.shape[1]):
        total += t[:, j]
    return total


class Listed(NamedTuple):
    """The other rows in the order of their distance: what orders them, distances, targets, votes."""

    r: Floats
    distance: Floats
    y: Floats
    votes: Floats


def listed_for(table: Table, Z: Floats, q: Floats, out: int, most: int, witness: dict[str, Any]) -> Listed:
    """The nearest rows of one query, with at least `most` votes; row `out` of the table has one vote less."""
    r, distance = reduced_of(Z, q, witness)[0], distances_of(Z, q, witness)
    w = table.w.copy()
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
    if witness["by_distance"]:
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
