"""How far rows are apart: every metric is a map of the rows, and then a norm of their differences.

    norm 2          d(x, z) = ‖x − z‖₂
    quadratic       d(x, z) = √((x − z)ᵀ W (x − z)) = ‖Lᵀx − Lᵀz‖₂,  W = L Lᵀ           Mahalanobis: W = Σ⁻¹
    cosine          1 − cos(x, z) = ½ ‖x/|x| − z/|z|‖₂²
    norm 1, ∞, p    Σ|x_j − z_j|,  max|x_j − z_j|,  (Σ|x_j − z_j|^p)^{1/p};        Hamming: the share of columns that differ

The lecture notes' d_W is the square of the one here, which orders rows alike and is a metric.

Squares of differences overflow where rows are 1e200 apart, and vanish where they are 1e-200 apart: all rows would be equally far. There rows are taken times
a power of two (`Geometry.scaled`), which changes none of their digits, and distances are divided by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.errors import DataError, ParameterError
from assay.neighbours.plain import HAMMING
from assay.numerics import Array, Floats

NORMS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": math.inf, "hamming": HAMMING, "cosine": 2.0}
SYMMETRIC = 1e-8  # of the greatest entry: more asymmetry than that is no rounding
NEGATIVE = 1e-10  # of the greatest eigenvalue: less than −that is no rounding
ROOMY = 256  # powers of differences up to 2^this, and down to 2^−this, are far from where float64 ends


@dataclass(frozen=True)
class Geometry:
    """`centre` (d,) and `map` (d, r), where rows are mapped; `unit`: rows are brought to length 1; `norm`: of the differences;
    `scale`: a power of two that rows are taken times."""

    norm: float
    map: Floats | None = None
    centre: Floats | None = None
    unit: bool = False
    scale: float = 1.0

    def scaled(self, low: Floats, high: Floats) -> Geometry:
        """The geometry in which powers of the differences of rows between these values, as `rows` gives them, neither overflow nor all vanish: this one
        almost always.

        >>> Geometry(2.0).scaled(np.array([0.0]), np.array([1e200])).scale == 2.0**-665
        True
        """
        if self.unit or self.norm == HAMMING:
            return self
        half = float((0.5 * high - 0.5 * low).max(initial=0.0))
        size = math.frexp(half)[1] + 1
        power = 1.0 if math.isinf(self.norm) else self.norm
        if half == 0.0 or (power == 1.0 and size < 1000) or abs(size) * power <= ROOMY:
            return self
        return replace(self, scale=self.scale * math.ldexp(1.0, max(-1000, min(1000, -size))))

    def rows(self, X: Array) -> Floats:
        """The rows in which distances are norms; the same bits for a row alone as among others."""
        Z = np.ascontiguousarray(X, dtype=np.float64)
        if self.map is not None:
            assert self.centre is not None
            Z = _mapped(Z - self.centre, self.map)
        if self.unit:
            Z = np.ldexp(Z, -np.frexp(np.abs(Z).max(axis=1, initial=0.0))[1][:, None])  # its direction is the same
            length = np.sqrt(_squares(Z))
            if not np.all(length > 0):
                at = int(np.flatnonzero(~(length > 0))[0])
                raise DataError(f"Row {at} is all zeros: it has no direction, and metric='cosine' compares directions.")
            Z = Z / length[:, None]
        return Z if self.scale == 1.0 else Z * self.scale

    def distances(self, r: Any, columns: int) -> Any:
        """What reduced distances are as distances."""
        if self.unit:
            return 0.5 * r
        if self.norm == HAMMING:
            return r / columns
        if self.norm == 2.0:
            return np.sqrt(r) / self.scale
        return (r if self.norm == 1.0 or math.isinf(self.norm) else r ** (1.0 / self.norm)) / self.scale

    def reduced(self, distance: float, columns: int) -> float:
        """The greatest reduced distance whose distance is at most this."""
        if self.unit:
            return 2.0 * distance
        if self.norm == HAMMING:
            return math.floor(distance * columns * (1 + 2.0**-50))
        if self.norm == 1.0 or math.isinf(self.norm):
            return distance * self.scale
        with np.errstate(over="ignore", under="ignore"):
            r = float(np.float64(distance * self.scale) ** self.norm)
        step = math.inf
        while self.distances(np.float64(np.nextafter(r, step)), columns) <= distance and r < step:
            r = float(np.nextafter(r, step))
        while self.distances(np.float64(r), columns) > distance:
            r = float(np.nextafter(r, -step))
        return r


def reach(X: Floats, norm: float) -> tuple[Floats, Floats]:
    """Least and greatest values of the columns, as far as `Geometry.scaled` needs them: of some rows, where these and the ends of the whole table show
    that no scale is called for (minima by column read a table ten times as slowly as those of all of it)."""
    room = 2.0 ** (0.5 * ROOMY / (1.0 if math.isinf(norm) else max(1.0, norm)))
    some = X[:1024]
    low, high = some.min(axis=0), some.max(axis=0)
    seen, whole = float((0.5 * high - 0.5 * low).max(initial=0.0)), 0.5 * float(X.max()) - 0.5 * float(X.min())
    if 1 / room <= seen and whole <= room:
        return low, high
    return X.min(axis=0), X.max(axis=0)


def _squares(Z: Floats) -> Floats:
    """Σ_j z_j² of each row, in the order of the columns."""
    total = np.zeros(len(Z))
    for j in range(Z.shape[1]):
        total += Z[:, j] * Z[:, j]
    return total


def _mapped(Z: Floats, L: Floats) -> Floats:
    """Z L, added up in the order of the columns of Z: a product by BLAS would depend on how many rows there are."""
    out = np.zeros((len(Z), L.shape[1]))
    for j in range(Z.shape[1]):
        out += Z[:, j, None] * L[j]
    return out


def root_of(W: Any, d: int, what: str = "W") -> Floats:
    """L (d, r) with W = L Lᵀ; raises where W is not symmetric or not positive semidefinite, and names the eigenvalue.

    >>> root_of([[4.0, 0.0], [0.0, 1.0]], 2)
    array([[0., 2.],
           [1., 0.]])
    """
    W = np.asarray(W, dtype=np.float64)
    if W.shape != (d, d):
        raise ParameterError(f"{what} has the shape {W.shape}: rows of {d} columns need ({d}, {d}).")
    if not np.isfinite(W).all():
        raise ParameterError(f"{what} holds NaN or infinity.")
    size = float(np.abs(W).max(initial=0.0))
    off = float(np.abs(W - W.T).max(initial=0.0))
    if off > SYMMETRIC * size:
        i, j = np.unravel_index(int(np.abs(W - W.T).argmax()), W.shape)
        raise ParameterError(f"{what} is not symmetric: [{i}, {j}] is {W[i, j]:g} and [{j}, {i}] is {W[j, i]:g}.")
    values, vectors = np.linalg.eigh(0.5 * (W + W.T))
    if values[0] < -NEGATIVE * max(abs(values[0]), abs(values[-1])):
        raise ParameterError(
            f"{what} is not positive semidefinite: its least eigenvalue is {values[0]:.6g}. A distance must not be imaginary; use "
            f"{what} + ({-values[0]:.3g})·I, or another matrix."
        )
    kept = values > NEGATIVE * max(values[-1], 0.0)
    if not kept.any():
        raise ParameterError(f"{what} is zero: all rows would be at distance 0 of each other.")
    L: Floats = np.abs(np.sqrt(values[kept])) * _signed(vectors[:, kept])
    return L


def _signed(V: Floats) -> Floats:
    """Eigenvectors with their largest entry positive, so that the map does not depend on how they were found."""
    top = V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])]
    return V * np.where(top < 0, -1.0, 1.0)
