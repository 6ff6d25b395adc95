"""What pictures are made of: boundaries between classes, contours, ellipses, straight lines, and the cells of trees.

Contours are found by marching squares, joined into as few lines as can be. Ellipses are those of normal densities,
(x − μ)ᵀ Σ⁻¹ (x − μ) = σ². Leaves of a tree are rectangles of a plane on which each column varies along one axis at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.errors import ParameterError
from assay.numerics import Array, Floats

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
