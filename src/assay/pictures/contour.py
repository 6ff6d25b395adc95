"""The lines on which a field of numbers has a value: marching squares, joined into as few lines as can be."""

from __future__ import annotations

import numpy as np

from assay.numerics import Array, Floats

# Of a cell's corners (below left, below right, above right, above left) bit k is set where the field is above the value.
# Edges: 0 below, 1 right, 2 above, 3 left. Each case has the pairs of edges that lines join.
_CASES: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((3, 0),), 2: ((0, 1),), 3: ((3, 1),), 4: ((1, 2),), 6: ((0, 2),), 7: ((3, 2),), 8: ((2, 3),),
    9: ((2, 0),), 11: ((2, 1),), 12: ((1, 3),), 13: ((1, 0),), 14: ((0, 3),),
    5: ((3, 2), (1, 0)), 10: ((0, 3), (2, 1)),
}  # fmt: skip


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
