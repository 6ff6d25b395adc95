"""The plane of a picture within the space of all columns, and where on it rows support what a model says.

    x(a) = origin + a₁·basis₁ + a₂·basis₂

A slice holds all but two columns at fixed values. A projection lays the plane through the mean of the rows along two
directions of the standardised columns: those of largest variance ("pca") or of best separated classes ("lda"); the part
of x off the plane is then the rows' mean, which is zero about the centre.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.errors import DataError, ParameterError, nearest
from assay.numerics import Array, Floats
from assay.pictures.rows import PictureRows, some_of

SUPPORT_ROWS = 2000  # rows that the support is measured with
NEIGHBOURS, SHARE = 5, 0.95
DIRECTIONS = 50  # principal directions within which classes are separated
PROJECTIONS = ("slice", "pca", "lda")


class Plane(NamedTuple):
    """origin (d,), basis (2, d), back (d, 2): coordinates of rows are (X − origin)·back; `unit` (2,) is a step of 1 there.

    `scale` (d,) are the columns' standard deviations: distances are measured in them. `levels`: the categories of an axis.
    """

    origin: Floats
    basis: Floats
    back: Floats
    unit: Floats
    scale: Floats
    labels: tuple[str, str]
    note: str
    levels: tuple[tuple[str, ...] | None, tuple[str, ...] | None] = (None, None)

    def points(self, a: Floats) -> Floats:
        """The inputs x (m, d) of coordinates a (m, 2); where an axis holds categories, at the nearest one."""
        for k, levels in enumerate(self.levels):
            if levels is not None:
                a = a.copy()
                a[:, k] = np.clip(np.round(a[:, k]), 0, len(levels) - 1)
        return np.asarray(self.origin + a @ self.basis)

    def coordinates(self, X: Floats) -> Floats:
        """Where rows fall on the plane (n, 2), seen at right angles to it."""
        return np.asarray((X - self.origin) @ self.back)


def plane(
    data: PictureRows, projection: str, columns: Sequence[int | str], at: Mapping[Any, float | str] | None
) -> Plane:
    """The plane that a picture asks for."""
    if projection not in PROJECTIONS:
        raise ParameterError(f"projection={projection!r} is not possible. {nearest(projection, PROJECTIONS)}")
    if projection == "slice":
        return slice_of(data, columns, at)
    if at is not None:
        raise ParameterError(
            f"at={at!r} holds columns of a slice, and projection={projection!r} has none: leave it out."
        )
    if any(levels is not None for levels in data.categories or ()):
        raise ParameterError(f"projection={projection!r} needs numbers, and some columns hold categories: use 'slice'.")
    if data.X.shape[1] < 2:
        raise DataError("X has one column, and this picture shows two: give a model of at least two columns.")
    return _projected(data, projection)


def slice_of(data: PictureRows, columns: Sequence[int | str], at: Mapping[Any, float | str] | None) -> Plane:
    """Two columns vary, the others stand at `at`, else at their median (the lower of two middle values; categories: mode)."""
    i, j = data.two(columns)
    d = data.X.shape[1]
    origin = np.quantile(data.X, 0.5, axis=0, method="lower")
    kinds = data.categories or (None,) * d
    for k, levels in enumerate(kinds):
        if levels is not None:
            origin[k] = np.bincount(data.X[:, k].astype(np.intp).clip(0)).argmax()
    fixed = {(k := data.column(name)): _code(data.names[k], kinds[k], value) for name, value in (at or {}).items()}
    for k, value in fixed.items():
        if k in (i, j):
            raise ParameterError(f"at holds {data.names[k]!r}, which is one of the two columns shown: leave it out.")
        if not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise ParameterError(f"at[{data.names[k]!r}]={value!r} must be a finite number.")
        origin[k] = value
    origin[[i, j]] = 0.0
    basis = np.zeros((2, d))
    basis[0, i] = basis[1, j] = 1.0
    scale = _scale(data.X)
    note = "" if d == 2 else _held(data, [k for k in range(d) if k not in (i, j)], origin, set(fixed))
    named = (data.names[i], data.names[j])
    return Plane(origin, basis, basis.T, scale[[i, j]], scale, named, note, (kinds[i], kinds[j]))


def _code(name: str, levels: tuple[str, ...] | None, value: Any) -> Any:
    """The number that stands for a value of a column."""
    if levels is None or not isinstance(value, str):
        return value
    if value not in levels:
        raise ParameterError(f"at[{name!r}]={value!r} is none of its categories. {nearest(value, levels)}")
    return levels.index(value)


def _held(data: PictureRows, others: list[int], origin: Floats, fixed: set[int]) -> str:
    if len(others) > 3 and not fixed:
        return f"Slice: the other {len(others)} columns at their medians."
    others = sorted(others, key=lambda k: k not in fixed)
    kinds = data.categories or (None,) * len(origin)
    values = {k: f"{origin[k]:.4g}" if (c := kinds[k]) is None else c[int(origin[k])] for k in others[:4]}
    shown = ", ".join(f"{data.names[k]} = {value}" for k, value in values.items())
    more = f", {len(others) - 4} more at their medians" if len(others) > 4 else ""
    return f"Slice at {shown}{more}."


def _projected(data: PictureRows, projection: str) -> Plane:
    centre, scale = data.X.mean(axis=0), _scale(data.X)
    some = some_of(len(data.X), SUPPORT_ROWS)
    Z = (data.X[some] - centre) / scale
    parts, values, directions = np.linalg.svd(Z, full_matrices=False)
    if projection == "pca":
        V, words = directions[:2].T, "principal direction"
    else:
        if data.y is None:
            raise ParameterError("projection='lda' separates classes and needs y: give it, or use projection='pca'.")
        V = directions[:DIRECTIONS].T @ _separating(parts[:, :DIRECTIONS] * values[:DIRECTIONS], data.y[some])
        words = "separating direction"
    if V.shape[1] < 2:
        raise DataError("One row has no direction to look along: give more rows.")
    V = V * np.where(V[np.abs(V).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    kept = (Z @ V).var(axis=0).sum() / max(float(Z.var(axis=0).sum()), 1e-300)
    note = f"The plane holds {kept:.0%} of the variance of the {len(scale)} standardised columns."
    labels = (f"first {words}", f"second {words}")
    return Plane(centre, (V * scale[:, None]).T, V / scale[:, None], np.ones(2), scale, labels, note)


def _separating(S: Floats, y: Array) -> Floats:
    """Two orthonormal directions (r, 2): Fisher's of largest between/within scatter, for two classes and the next of variance."""
    _, codes = np.unique(y, return_inverse=True)
    K = int(codes.max()) + 1
    n = np.bincount(codes)
    means = np.stack([S[codes == k].mean(axis=0) for k in range(K)])
    within = S - means[codes]
    W = within.T @ within / len(S) + 1e-6 * np.eye(S.shape[1])
    root = np.linalg.inv(np.linalg.cholesky(W))
    between = (np.sqrt(n / len(S))[:, None] * (means - S.mean(axis=0))) @ root.T
    best = np.linalg.svd(between, full_matrices=False)[2][: min(2, K - 1)]
    V = np.linalg.qr((best @ root).T)[0]
    if V.shape[1] < 2:  # the rest is looked at along its largest variance
        rest = S - (S @ V) @ V.T
        V = np.linalg.qr(np.column_stack([V, np.linalg.svd(rest, full_matrices=False)[2][:2].T]))[0][:, :2]
    return np.asarray(V)


def _scale(X: Floats) -> Floats:
    scale = X.std(axis=0)
    return np.asarray(np.where(scale > 0, scale, 1.0))


def reach(Z: Floats) -> float:
    """The distance within which 95 % of the (distinct) rows have at least five others.

    >>> reach(np.arange(12.0)[:, None])
    5.0
    """
    Z = np.unique(Z, axis=0)
    k = min(NEIGHBOURS, len(Z) - 1)
    if k < 1:
        return 1.0
    squares = (Z * Z).sum(axis=1)
    apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0.0))
    return float(np.quantile(np.partition(apart, k, axis=1)[:, k], SHARE, method="inverted_cdf"))


def supported(on: Plane, X: Floats, a: Floats) -> Array:
    """Whether rows support the points at coordinates a (m, 2): the rule of `decision_regions`.

    In units of the columns' standard deviations, the distance of x(a) to a row has a part in the plane and a part off it,
    which is the same for all a: three numbers a row are enough.
    """
    from scipy.spatial import cKDTree

    some = X[some_of(len(X), SUPPORT_ROWS)]
    at = on.coordinates(some)
    off = np.linalg.norm((some - on.points(at)) / on.scale, axis=1)
    rows = np.column_stack([at / on.unit, off])
    apart, _ = cKDTree(rows).query(np.column_stack([a / on.unit, np.zeros(len(a))]))
    return np.asarray(apart <= reach(some / on.scale))
