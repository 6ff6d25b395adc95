"""Distances by the formula of the metric, a query against every row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from assay.certify.claim import Claim
from assay.certify.rows import Floats

LARGEST_TOLERANCE = 1e-6
AT_A_TIME = 1 << 22
EPS = float(np.finfo(np.float64).eps)
FAR = 930  # binary digits: sums of powers up to 2 to that, either way, are numbers


def tolerance_of(claim: Claim) -> float:
    tolerance = float(claim.witness["tolerance"])
    if not 0 < tolerance <= LARGEST_TOLERANCE:
        raise ValueError(f"a tolerance of {tolerance:g} proves nothing")
    return tolerance


def mapped(X: Floats, witness: dict[str, Any]) -> Floats:
    """Rows between which distances are norms of differences."""
    if "map" in witness:
        L, centred = np.asarray(witness["map"], dtype=np.float64), X - np.asarray(witness["centre"], dtype=np.float64)
        X = np.zeros((len(X), L.shape[1]))
        for j in range(L.shape[0]):
            X += centred[:, j : j + 1] * L[j]
    if witness["metric"] in ("cosine", "correlation"):
        X = np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, initial=0.0))[1][:, None])  # squares of numbers of any size
        if witness["metric"] == "correlation":
            X = X - (summed(X) / X.shape[1])[:, None]
        length = np.zeros(len(X))
        for j in range(X.shape[1]):
            length += X[:, j] ** 2
        X = X / np.sqrt(length)[:, None]
    return X


def reduced_of(Z: Floats, q: Floats, witness: dict[str, Any]) -> tuple[Floats, float]:
    """What orders all mapped rows by their distance from one mapped query, and the factor by which differences were multiplied."""
    metric = witness["metric"]
    if metric == "own":
        return _by_function(witness, Z, q), 1.0
    if metric == "precomputed":
        return q[witness["numbers"]], 1.0
    if metric in BY_FORMULA:
        return BY_FORMULA[metric](Z, q), 1.0
    if "w" in witness:
        p, w = float(witness["p"]), np.asarray(witness["w"], dtype=np.float64)
        return np.array([sum(v * abs(a) ** p for v, a in zip(w, z - q)) ** (1 / p) for z in Z]), 1.0
    t = np.abs(Z - q)
    if metric == "hamming":
        return (t != 0).sum(axis=1).astype(np.float64), 1.0
    if metric == "chebyshev":
        return np.asarray(t.max(axis=1)), 1.0
    if metric == "manhattan":
        return summed(t), 1.0
    if metric == "minkowski":
        p, scale = float(witness["p"]), scale_of(t, FAR / float(witness["p"]))
        return summed(np.array([[math.pow(x, p) for x in row] for row in (t * scale).tolist()])), scale
    if metric not in ("euclidean", "cosine", "mahalanobis", "seuclidean", "quadratic", "learned"):
        raise ValueError(f"there is no metric {metric!r}")
    scale = scale_of(t, FAR / 2)
    return summed((t * scale) ** 2), scale


@np.errstate(invalid="ignore", divide="ignore")
def _canberra(Z: Floats, q: Floats) -> Floats:
    return np.asarray(np.nansum(np.abs(Z - q) / (np.abs(Z) + np.abs(q)), axis=1))  # 0/0 adds nothing


@np.errstate(invalid="ignore", divide="ignore")
def _braycurtis(Z: Floats, q: Floats) -> Floats:
    return np.asarray(np.nan_to_num(np.abs(Z - q).sum(axis=1) / (np.abs(Z) + np.abs(q)).sum(axis=1)))


def _correlation(Z: Floats, q: Floats) -> Floats:
    """Of rows about their means, of length 1: 1 − z·q = ½ |z − q|², whose small values have digits."""
    return 0.5 * summed((Z - q) ** 2)


def _haversine(Z: Floats, q: Floats) -> Floats:
    """The angle between points of the unit sphere; the cosine of a small angle has too few digits."""
    up, along = 1 - np.cos(Z[:, 0] - q[0]), 1 - np.cos(Z[:, 1] - q[1])  # the versine is twice the haversine
    near = (np.abs(Z - q) < 1).all(axis=1)
    sines = np.sin((Z - q) / 2) ** 2
    up, along = np.where(near, sines[:, 0], up / 2), np.where(near, sines[:, 1], along / 2)
    return np.asarray(2 * np.arcsin(np.sqrt(np.clip(up + np.cos(q[0]) * np.cos(Z[:, 0]) * along, 0.0, 1.0))))


def _nan_euclidean(Z: Floats, q: Floats) -> Floats:
    seen = (~np.isnan(Z - q)).sum(axis=1)
    total = np.nansum((Z - q) ** 2, axis=1)
    return np.where(seen > 0, np.sqrt(Z.shape[1] * total / np.maximum(seen, 1)), np.inf)


def _bits(formula: Callable[..., Any]) -> Callable[[Floats, Floats], Floats]:
    """A distance of columns that are zero or not, from the numbers of those that are both, of z alone, of q alone, and neither."""

    def far(Z: Floats, q: Floats) -> Floats:
        z, other = Z != 0, q != 0
        counts = ((z & other), (z & ~other), (~z & other), (~z & ~other))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.nan_to_num(formula(*(c.sum(axis=1).astype(np.float64) for c in counts))))

    return far


BY_FORMULA: dict[str, Callable[[Floats, Floats], Floats]] = {
    "sqeuclidean": lambda Z, q: summed((Z - q) ** 2),
    "canberra": _canberra,
    "braycurtis": _braycurtis,
    "correlation": _correlation,
    "haversine": _haversine,
    "nan_euclidean": _nan_euclidean,
    "jaccard": _bits(lambda a, b, c, e: (b + c) / (a + b + c)),
    "dice": _bits(lambda a, b, c, e: (b + c) / (2 * a + b + c)),
    "russellrao": _bits(lambda a, b, c, e: (b + c + e) / (a + b + c + e)),
    "sokalsneath": _bits(lambda a, b, c, e: 2 * (b + c) / (a + 2 * (b + c))),
    "rogerstanimoto": _bits(lambda a, b, c, e: 2 * (b + c) / (a + e + 2 * (b + c))),
    "sokalmichener": _bits(lambda a, b, c, e: 2 * (b + c) / (a + e + 2 * (b + c))),
    "yule": _bits(lambda a, b, c, e: 2 * b * c / (a * e + b * c)),
}


def _by_function(witness: dict[str, Any], Z: Floats, q: Floats) -> Floats:
    """What a function of the user's gives for one query and each row."""
    function, given = witness["function"], dict(zip(witness["arguments"], witness["given"]))
    if not callable(function):
        raise ValueError("the witness holds no metric function")
    far = np.array([float(function(q.copy(), z.copy(), **given)) for z in Z])
    if not np.all((far >= 0) & np.isfinite(far)):
        raise ValueError("the metric function gives what is no distance")
    return far


def scale_of(t: Floats, far: float) -> float:
    """1, or the power of two that brings the greatest difference near 1 where it is beyond 2^±far: powers of it would not be numbers."""
    exponent = math.frexp(float(t.max(initial=0.0)) or 1.0)[1]
    return math.ldexp(1.0, max(-1000, min(1000, -exponent))) if abs(exponent) > far else 1.0


def distances_of(Z: Floats, q: Floats, witness: dict[str, Any]) -> Floats:
    """Of one mapped query and all mapped rows."""
    r, scale = reduced_of(Z, q, witness)
    metric = witness["metric"]
    if metric == "hamming":
        return np.asarray(r / Z.shape[1])
    if metric == "cosine":
        return np.asarray(0.5 * r)
    if metric in ("chebyshev", "manhattan", "own", "precomputed", *BY_FORMULA) or "w" in witness:
        return r
    if metric == "minkowski":
        return np.asarray(r ** (1 / float(witness["p"])) / scale)
    return np.asarray(np.sqrt(r) / scale)


def summed(t: Floats) -> Floats:
    total = np.zeros(len(t))
    for j in range(t.shape[1]):
        total += t[:, j]
    return total
