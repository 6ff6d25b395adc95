"""What pictures are made of: boundaries between classes, contours, ellipses, straight lines, and the cells of trees.

Contours are found by marching squares, joined into as few lines as can be. Ellipses are those of normal densities,
(x − μ)ᵀ Σ⁻¹ (x − μ) = σ². Leaves of a tree are rectangles of a plane on which each column varies along one axis at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.errors import DataError, ParameterError, nearest
from assay.numerics import Array, Floats
from assay.pictures.rows import PictureRows, some_of

SLACK = 1e-3  # a support vector has y·f ≤ 1 up to the tolerance of its solver
# Of a cell's corners (below left, below right, above right, above left) bit k is set where the field is above the value.
# Edges: 0 below, 1 right, 2 above, 3 left. Each case has the pairs of edges that lines join.
_CASES: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((3, 0),), 2: ((0, 1),), 3: ((3, 1),), 4: ((1, 2),), 6: ((0, 2),), 7: ((3, 2),), 8: ((2, 3),),
    9: ((2, 0),), 11: ((2, 1),), 12: ((1, 3),), 13: ((1, 0),), 14: ((0, 3),),
    5: ((3, 2), (1, 0)), 10: ((0, 3), (2, 1)),
}  # fmt: skip
SIGMAS = (1.0, 2.0)  # they hold 39 % and 86 % of a normal density of two columns
CORNERS = 64  # of the polygon that stands for an ellipse
SUPPORT_ROWS = 2000  # rows that the support is measured with
NEIGHBOURS, SHARE = 5, 0.95
DIRECTIONS = 50  # principal directions within which classes are separated
PROJECTIONS = ("slice", "pca", "lda")


def inside_margin(f: Floats, t: Floats) -> Array:
    """Whether rows of side t = ±1 lie on the margin or within: y·f ≤ 1."""
    inside: Array = t * f <= 1 + SLACK
    return inside


def leads(scores: Floats | None, codes: Array) -> Iterator[tuple[int, Floats]]:
    """(k, s_k − max_{j≠k} s_j) of the classes that occur, of two classes of one alone.

    Scores (m, K) or (m,) of two classes; where their greatest is not the answer `codes` (m,), the edges of the pixels serve.
    """
    present = np.unique(codes)
    if len(present) < 2:
        return
    S = np.column_stack([-scores, scores]) if scores is not None and scores.ndim == 1 else scores
    if S is None or S.shape[1] <= codes.max() or np.any(S.argmax(axis=1) != codes):
        S = np.eye(int(codes.max()) + 1)[codes]
    for k in present if len(present) > 2 else present[:1]:
        yield int(k), S[:, k] - np.delete(S, k, axis=1).max(axis=1)


def contour(x: Floats, y: Floats, field: Floats, value: float = 0.0) -> list[Floats]:
    """Lines (m, 2) through a field (len(y), len(x)) given at the crossings of x and y; not finite: no line there.

    >>> contour(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([[-1.0, 1.0], [-1.0, 1.0]]))[0].tolist()
    [[0.5, 0.0], [0.5, 1.0]]
    """
    F = np.asarray(field, dtype=np.float64) - value
    above = F > 0
    known = np.isfinite(F)
    cells = above[:-1, :-1] + 2 * above[:-1, 1:] + 4 * above[1:, 1:] + 8 * above[1:, :-1]
    whole = known[:-1, :-1] & known[:-1, 1:] & known[1:, 1:] & known[1:, :-1]
    rows, columns = np.nonzero(whole & (cells > 0) & (cells < 15))
    places: dict[int, tuple[float, float]] = {}
    joined: list[tuple[int, int]] = []
    width = len(x)
    for i, j in zip(rows.tolist(), columns.tolist()):
        edges = (2 * (i * width + j), 2 * (i * width + j + 1) + 1, 2 * ((i + 1) * width + j), 2 * (i * width + j) + 1)
        for pair in _CASES[int(cells[i, j])]:
            for edge in pair:
                if edges[edge] not in places:
                    places[edges[edge]] = _crossing(x, y, F, i, j, edge)
            joined.append((edges[pair[0]], edges[pair[1]]))
    return [np.array([places[e] for e in line]) for line in _chains(joined)]


def _crossing(x: Floats, y: Floats, F: Floats, i: int, j: int, edge: int) -> tuple[float, float]:
    """Where the field is zero along an edge of a cell, by a straight line between its corners."""
    (a, b), (c, d) = (((i, j), (i, j + 1)), ((i, j + 1), (i + 1, j + 1)), ((i + 1, j), (i + 1, j + 1)), ((i, j), (i + 1, j)))[edge]  # fmt: skip
    f, g = F[a, b], F[c, d]
    t = float(f / (f - g)) if f != g else 0.5
    return float(x[b] + t * (x[d] - x[b])), float(y[a] + t * (y[c] - y[a]))


def _chains(pairs: list[tuple[int, int]]) -> list[list[int]]:
    """Lines of edges, each from one end to the other; a ring ends where it began."""
    beside: dict[int, list[int]] = {}
    for a, b in pairs:
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    ends = [e for e, others in beside.items() if len(others) == 1]
    chains = []
    for start in [*ends, *beside]:
        if not beside[start]:
            continue
        line = [start]
        while beside[line[-1]]:
            following = beside[line[-1]].pop()
            beside[following].remove(line[-1])
            line.append(following)
        chains.append(line)
    return chains


def centres(low: float, high: float, n: int) -> Array:
    """The middles of n pixels between two ends.

    >>> centres(0.0, 4.0, 2)
    array([1., 3.])
    """
    return np.asarray(low + (np.arange(n) + 0.5) / n * (high - low))


def axes_of(S: Floats, sigma: float) -> tuple[float, float, float]:
    """Width, height and angle (degrees) of the ellipse of a covariance (2, 2).

    >>> axes_of(np.diag([4.0, 1.0]), 1.0)
    (4.0, 2.0, 0.0)
    """
    values, V = np.linalg.eigh(S)
    width, height = 2 * sigma * np.sqrt(np.maximum(values[::-1], 0.0))
    return float(width), float(height), float(np.degrees(np.arctan2(V[1, 1], V[0, 1])))


def outline(mean: Floats, S: Floats, sigma: float) -> Floats:
    """Points (m, 2) around the ellipse."""
    values, V = np.linalg.eigh(S)
    turn = np.linspace(0.0, 2 * np.pi, CORNERS, endpoint=False)
    circle = np.column_stack([np.cos(turn), np.sin(turn)]) * (sigma * np.sqrt(np.maximum(values, 0.0)))
    return np.asarray(mean + circle @ V.T)


def normals(model: Any) -> tuple[Floats, Floats]:
    """Means (K, d) and covariances (K, d, d)."""
    if hasattr(model, "theta_") and hasattr(model, "var_"):
        if len(model.theta_.T) != getattr(model, "n_features_in_", len(model.theta_.T)):
            raise ParameterError("Not every column of this naive Bayes is normal: ellipses need Gaussian columns only.")
        return np.asarray(model.theta_), np.stack([np.diag(v) for v in np.asarray(model.var_)])
    if not (hasattr(model, "means_") and hasattr(model, "covariance_")):
        raise ParameterError(
            f"{type(model).__name__} keeps no means and covariances: give a fitted LDA, QDA or GaussianNB (of scikit-learn with "
            "store_covariance=True)."
        )
    means, S = np.asarray(model.means_), np.asarray(model.covariance_)
    return means, np.broadcast_to(S, (len(means), *S.shape[-2:]))


def segment(b: float, w: Floats, xs: tuple[float, float], ys: tuple[float, float]) -> Floats | None:
    """The part (2, 2) of the line b + w₁x + w₂y = 0 within a rectangle, its upper right end last; None where it has none.

    >>> segment(-1.0, np.array([1.0, 1.0]), (0.0, 2.0), (0.0, 2.0)).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    found = []
    if w[1] != 0:
        found += [(x, -(b + w[0] * x) / w[1]) for x in xs]
    if w[0] != 0:
        found += [(-(b + w[1] * y) / w[0], y) for y in ys]
    slack = 1e-9 * max(xs[1] - xs[0], ys[1] - ys[0])
    inside = sorted(
        {p for p in found if xs[0] - slack <= p[0] <= xs[1] + slack and ys[0] - slack <= p[1] <= ys[1] + slack}
    )
    return np.array([inside[0], inside[-1]]) if len(inside) >= 2 else None


class Cell(NamedTuple):
    """A leaf's part of the plane: its node, and its sides."""

    node: int
    x: tuple[float, float]
    y: tuple[float, float]


def cells(
    feature: Array, cut: Floats, ends: Array, c: Floats, u: Floats, v: Floats, x: tuple[float, float], y: tuple[float, float]
) -> Iterator[Cell]:  # fmt: skip
    """The leaves that meet the rectangle x, y; nothing below a split by categories that vary there.

    The nodes stand in preorder: `feature` (N,) is −1 at a leaf and −2 − column at a split by categories, `cut` (N,) is the threshold
    (value ≤ cut goes left), `ends` (N,) where each subtree ends. Column j is c_j + u_j·a₁ + v_j·a₂.
    """
    waiting = [Cell(0, x, y)]
    while waiting:
        node, x, y = waiting.pop()
        j = int(feature[node])
        if j < 0 or (u[j] != 0 and v[j] != 0):
            yield Cell(node, x, y)
            continue
        left, right = node + 1, int(ends[node + 1])
        slope = float(u[j] or v[j])
        if slope == 0:
            waiting.append(Cell(left if c[j] <= cut[node] else right, x, y))
            continue
        at = float((cut[node] - c[j]) / slope)
        below, above = (left, right) if slope > 0 else (right, left)
        low, high = x if u[j] != 0 else y
        for child, side in ((below, (low, min(at, high))), (above, (max(at, low), high))):
            if side[0] < side[1]:
                waiting.append(Cell(child, side, y) if u[j] != 0 else Cell(child, x, side))


def boxed(
    lower: Floats, upper: Floats, c: Floats, u: Floats, v: Floats, x: tuple[float, float], y: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """The part of the rectangle x, y where lower ≤ column ≤ upper in every column; None where it is empty.

    >>> one, none = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> boxed(np.array([0.0, 1.0]), np.array([2.0, 5.0]), np.zeros(2), one, none, (-9.0, 9.0), (-9.0, 3.0))
    ((0.0, 2.0), (1.0, 3.0))
    """
    sides = [x, y]
    for j in range(len(lower)):
        slope = float(u[j] or v[j])
        if slope == 0:
            if not lower[j] <= c[j] <= upper[j]:
                return None
            continue
        axis = 0 if u[j] != 0 else 1
        ends = sorted((float((lower[j] - c[j]) / slope), float((upper[j] - c[j]) / slope)))
        sides[axis] = (max(sides[axis][0], ends[0]), min(sides[axis][1], ends[1]))
    (left, right), (low, high) = sides
    return None if np.greater(left, right) or np.greater(low, high) else ((left, right), (low, high))


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
