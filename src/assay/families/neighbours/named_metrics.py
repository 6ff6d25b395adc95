"""Distances that are no norm of differences: every query is compared with every row, by NumPy, a block of columns at a time.

    canberra        Σ |x_j − z_j| / (|x_j| + |z_j|)            braycurtis     Σ |x_j − z_j| / Σ (|x_j| + |z_j|)
    correlation     1 − the correlation of x and z             sqeuclidean    Σ (x_j − z_j)²
    minkowski, w    (Σ w_j |x_j − z_j|^p)^{1/p}                haversine      the angle between two points of a sphere, (latitude, longitude)
    nan_euclidean   √(d / seen · Σ (x_j − z_j)² over the columns that both have)
    of columns that are zero or not, with a = both, b = one alone, e = neither, d = a + b + e columns:
    jaccard         b / (a + b)                                dice           b / (2a + b)
    russellrao      (d − a) / d                                sokalsneath    2b / (a + 2b)
    rogerstanimoto  2b / (d + b), also called sokalmichener    yule           2 b₁ b₂ / (a e + b₁ b₂), b₁ and b₂ of x alone, of z alone
    precomputed     the rows of X are distances themselves

Sums go in the order of the columns, so that a row alone gets the same bits as among others. 0/0 is 0: rows that agree where nothing is to see.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from assay.errors import DataError
from assay.numerics import Array, Floats

OF_BITS = ("jaccard", "dice", "russellrao", "sokalsneath", "rogerstanimoto", "sokalmichener", "yule")
NAMED = ("sqeuclidean", "canberra", "braycurtis", "correlation", "haversine", "nan_euclidean", *OF_BITS, "precomputed")
WEIGHTED = "minkowski, weighted"
ABSENT = 1e300  # in the place of a distance that a sparse graph does not list


@dataclass(frozen=True)
class NamedMetric:
    """A distance by its name; `p` and `w` (d,) of a weighted Minkowski distance; `numbers`: of the rows that are searched, where they are not all
    and X holds distances."""

    name: str
    p: float = 2.0
    w: tuple[float, ...] = ()
    numbers: Array | None = None

    def only(self, numbers: Array | None) -> NamedMetric:
        """The same among these rows alone."""
        return self if self.name != "precomputed" or numbers is None else replace(self, numbers=numbers)

    def check(self, X: Floats, fit: bool) -> None:
        """Raise where such distances do not exist between such rows."""
        n, d = X.shape
        if self.name == "haversine" and d != 2:
            raise DataError(
                f"metric='haversine' needs two columns, latitude and longitude in radians; X has {d} feature(s)."
            )
        if self.name == "correlation":
            _standard(X)
        if self.name == "precomputed":
            if fit and n != d:
                raise DataError(
                    f"With metric='precomputed' X holds the distances between all rows and must be square; it is {n} × {d}."
                )
            if (X < 0).any():
                raise DataError(
                    "With metric='precomputed' X holds distances. Negative values in data passed to precomputed distance matrix."
                )
        if self.w and len(self.w) != d:
            raise DataError(f"metric_params['w'] has {len(self.w)} weights for {d} columns: give one for each.")

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def distances(self, Z: Floats, Q: Floats) -> Floats:
        """(m, n) of the queries Q (m, d) and the rows Z (n, d)."""
        if self.name == "precomputed":
            return Q.copy() if self.numbers is None else Q[:, self.numbers]
        if self.name in OF_BITS:
            return _of_bits(self.name, Z != 0, Q != 0)
        if self.name == "haversine":
            return _haversine(Z, Q)
        if self.name == "nan_euclidean":
            return _nan_euclidean(Z, Q)
        if self.name == "correlation":
            return _correlation(Z, Q)
        top, bottom = np.zeros((2, len(Q), len(Z)))
        for j in range(Z.shape[1]):
            z, q = Z[:, j], Q[:, j, None]
            t = np.abs(q - z)
            if self.name == "sqeuclidean":
                top += t * t
            elif self.name == "canberra":
                top += _ratio(t, np.abs(q) + np.abs(z))
            elif self.name == "braycurtis":
                top += t
                bottom += np.abs(q) + np.abs(z)
            else:
                top += self.w[j] * (t**self.p if math.isfinite(self.p) else t)
        if self.name == "braycurtis":
            return _ratio(top, bottom)
        return top if self.name != WEIGHTED else np.asarray(top ** (1.0 / self.p))


def refuse_unlisted(k: int, distances: Floats) -> None:
    """Raise where a row of distances has fewer than k that a graph lists."""
    if distances.size and distances.max() >= ABSENT:
        fewest = int((distances < ABSENT).sum(axis=1).min())
        if fewest < k:
            raise DataError(
                f"{k} neighbors per samples are required, but some samples have only {fewest} neighbors in precomputed graph matrix. "
                "Decrease number of neighbors used or recompute the graph with more neighbors."
            )


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom != 0)


def _of_bits(name: str, z: Array, q: Array) -> Floats:
    """Whole numbers up to the columns, so that products by BLAS are exact."""
    d = z.shape[1]
    Z, Q = z.astype(np.float64), q.astype(np.float64)
    both = Q @ Z.T
    of_q, of_z = Q.sum(axis=1)[:, None] - both, Z.sum(axis=1) - both
    one = of_q + of_z
    if name == "jaccard":
        return _ratio(one, both + one)
    if name == "dice":
        return _ratio(one, 2 * both + one)
    if name == "russellrao":
        return np.asarray((d - both) / d)
    if name == "sokalsneath":
        return _ratio(2 * one, both + 2 * one)
    if name == "yule":
        half = of_q * of_z
        return _ratio(2 * half, both * (d - both - one) + half)
    return np.asarray(2 * one / (d + one))


def _haversine(Z: Floats, Q: Floats) -> Floats:
    up, along = (np.sin(0.5 * (Q[:, j, None] - Z[:, j])) ** 2 for j in (0, 1))
    inside = up + np.cos(Q[:, :1]) * np.cos(Z[:, 0]) * along
    return np.asarray(2.0 * np.arcsin(np.sqrt(np.minimum(inside, 1.0))))


def _nan_euclidean(Z: Floats, Q: Floats) -> Floats:
    total, seen = np.zeros((2, len(Q), len(Z)))
    for j in range(Z.shape[1]):
        t = Q[:, j, None] - Z[:, j]
        there = ~np.isnan(t)
        total += np.where(there, t * t, 0.0)
        seen += there
    found: Floats = np.sqrt(total * (Z.shape[1] / np.maximum(seen, 1.0)))
    found[seen == 0] = np.inf  # nothing in common: behind all others
    return found


def _correlation(Z: Floats, Q: Floats) -> Floats:
    """Half the square of how far the rows are apart, less their means and brought to length 1."""
    z, q = _standard(Z), _standard(Q)
    total = np.zeros((len(Q), len(Z)))
    for j in range(Z.shape[1]):
        t = q[:, j, None] - z[:, j]
        total += t * t
    return 0.5 * total


def _standard(X: Floats) -> Floats:
    X = np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, initial=0.0))[1][:, None])  # squares of numbers of any size
    total = np.zeros(len(X))
    for j in range(X.shape[1]):
        total += X[:, j]
    X = X - (total / X.shape[1])[:, None]
    square = np.zeros(len(X))
    for j in range(X.shape[1]):
        square += X[:, j] * X[:, j]
    if not (square > 0).all():
        at = int(np.flatnonzero(~(square > 0))[0])
        raise DataError(
            f"All columns of row {at} are equal: it varies with nothing, and metric='correlation' compares how rows vary."
        )
    return X / np.sqrt(square)[:, None]
