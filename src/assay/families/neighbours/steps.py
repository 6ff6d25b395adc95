"""Nearest neighbours in the making, for teaching: the metric turning, the number of neighbours being chosen, and one query being answered.

How a k-d tree finds the nearest rows is shown in plain Python over the tree's own arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.compiled.simd.vectors import LANE
from assay.engines import ArrayRows
from assay.engines.engine import Threads
from assay.errors import DataError
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.steps import Measure, Step, answering, measures
from assay.families.neighbours.kdtree import BoxTree
from assay.families.neighbours.loops.kdtree import LEAF
from assay.families.neighbours.neighbourhood import Neighbourhood
from assay.families.neighbours.search import HAMMING, reduced_distances
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.neighbours.fit import NeighboursModel
    from assay.families.neighbours.kept_rows import NeighboursBase
    from assay.families.neighbours.radius import RadiusModel

PIECES = 8  # in which rows are read where no tree helps


def steps_of(model: NeighboursModel, X: Any, y: Any, sample_weight: Any, query: Any) -> Iterator[Step]:
    """The states of a fit and of one query."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    turning = fresh._metric_steps(lambda: fresh.fit(rows))  # type: ignore[attr-defined]
    hood, n, looked = fresh.neighbourhood(), len(rows.X), 0
    for number, values in enumerate(_states(fresh, hood, turning, _query_of(fresh, rows, query)), 1):
        looked += len(values.get("rows", ())) if values.get("looked") else 0
        yield Step(
            number, n, values, _measures(values, looked, n), answering(fresh, partial(_parts, fresh, hood, values))
        )


def _parts(model: NeighboursModel, hood: Neighbourhood, values: dict[str, Any]) -> dict[str, Any]:
    """What answers at a step: the metric so far (while it turns, k="auto" is 1), the best number of neighbours so far, or the whole fit."""
    if "W" in values:
        sizes, directions = np.linalg.eigh(values["W"])
        L = directions * np.sqrt(np.maximum(sizes, 0.0))
        k = 1 if model.n_neighbors == "auto" else int(model.n_neighbors)
        return {"map_": L, "n_neighbors_": k, "_hood": None}
    return {"n_neighbors_": values.get("best", model.n_neighbors_), "_hood": hood}


def _measures(values: dict[str, Any], looked: int, n: int) -> tuple[Measure, ...]:
    """How far each part has come: the metric, the choice of k, the search."""
    if "objective" in values:
        share = values["objective"]
        text = f"{share:.4f}: mean chance that a row left out is named rightly"
        return measures(Measure("soft neighbours", share, 1.0, text, better="up"))
    if "loss" in values:
        text = f"left out in turn, {values['k']} neighbours: loss {values['loss']:.4g}"
        return measures(Measure("leave-one-out loss", values["loss"], None, text))
    return (Measure("rows looked at", float(looked), float(n), f"{looked} of {n} rows looked at", better=None),)


def _query_of(model: NeighboursBase, rows: ArrayRows, query: Any) -> tuple[Floats, int]:
    """The mapped query, and the row of the fit that it is (−1: none). Without one, the first row, left out."""
    if query is None:
        there = np.arange(len(rows.X)) if rows.w is None else np.flatnonzero(rows.w > 0)
        first = int(there[0])
        return model.neighbourhood().geometry.rows(rows.X[first : first + 1]), first
    q = np.asarray(query, dtype=np.float64).reshape(1, -1)
    if q.shape[1] != rows.n_columns or not np.isfinite(q).all():
        raise DataError(f"The query must be one row of {rows.n_columns} finite numbers.")
    return model.neighbourhood().geometry.rows(q), -1


def _states(
    model: NeighboursModel, hood: Neighbourhood, turning: list[dict[str, Any]], query: tuple[Floats, int]
) -> Iterator[dict[str, Any]]:
    yield from turning
    if model.leave_one_out_ is not None:
        for k, loss in enumerate(model.leave_one_out_.tolist(), 1):
            best = int(np.flatnonzero(model.leave_one_out_[:k] == model.leave_one_out_[:k].min())[-1]) + 1
            yield {"k": k, "loss": loss, "best": best}
    yield from _descent(model, hood, *query)
    rows = {} if model.map_ is None else {"map_": model.map_, "centre_": model.centre_}
    own = np.array([query[1]]) if query[1] >= 0 else None
    answer = model._leave_one_out(hood, query[0], own) if model.n_neighbors_ <= hood.total - (own is not None) else None
    yield {"n_neighbors_": model.n_neighbors_, "answer": answer, **rows}


def _descent(model: NeighboursModel, hood: Neighbourhood, Z: Floats, own: int) -> Iterator[dict[str, Any]]:
    """The nodes of the tree as they are visited or pruned, or the rows piece by piece, and the neighbours so far."""
    norm, k = hood.geometry.norm, min(model.n_neighbors_ + (own >= 0), hood.size)
    if hood.geometry.own is not None or norm == HAMMING or norm < 1:
        yield from _scanned(model, hood, Z, own, k)
        return
    from assay.families.neighbours.kdtree import BoxTree

    kept = hood.geometry.rows(model.rows_ if hood.numbers is None else model.rows_[hood.numbers])
    for step in descent(BoxTree(kept, Threads(1), norm), Z[0], k):
        rows = step.rows if hood.numbers is None else tuple(hood.numbers[list(step.rows)].tolist())
        yield {
            "level": step.level,
            "node": step.node,
            "low": np.array(step.low),
            "high": np.array(step.high),
            "gap": float(hood.geometry.distances(np.float64(step.gap), hood.columns)),
            "looked": step.looked,
            "rows": rows,
            **_so_far(hood, step.best, own),
        }


def _scanned(model: NeighboursModel, hood: Neighbourhood, Z: Floats, own: int, k: int) -> Iterator[dict[str, Any]]:
    numbers, r, parts = _by_pieces(model, hood, Z)
    best: list[tuple[float, int]] = []
    for part in parts:
        best = sorted([*best, *((float(r[i]), int(i)) for i in part)])[:k]
        yield {
            "looked": True,
            "rows": tuple(numbers[part].tolist()),
            **_so_far(hood, tuple((i, far) for far, i in best), own),
        }


def _by_pieces(model: NeighboursBase, hood: Neighbourhood, Z: Floats) -> tuple[Array, Floats, list[Array]]:
    """The numbers of the rows that are searched, their reduced distances from a query, and the pieces in which these are read."""
    numbers = np.arange(len(model.rows_)) if hood.numbers is None else hood.numbers
    measure = hood.geometry.norm if hood.geometry.own is None else hood.geometry.own
    r = reduced_distances(hood.geometry.rows(model.rows_[numbers]), Z, measure)[0]
    return numbers, r, np.array_split(np.arange(len(r)), min(PIECES, len(r)))


def steps_within(model: RadiusModel, X: Any, y: Any, sample_weight: Any, query: Any) -> Iterator[Step]:
    """The states of one query of a model of a radius."""
    fresh, kept = fresh_and_rows(model, X, y, sample_weight)
    fresh.fit(kept)  # type: ignore[attr-defined]
    hood, n, looked, near = fresh.neighbourhood(), len(kept.X), 0, np.empty(0, dtype=np.int64)
    Z, own = _query_of(fresh, kept, query)
    numbers, r, parts = _by_pieces(fresh, hood, Z)
    limit, state = hood.reduced_radius(fresh.radius), answering(fresh, {"_hood": hood})
    for at, part in enumerate(parts, 1):
        looked += len(part)
        near = np.concatenate([near, part[(r[part] <= limit) & (numbers[part] != own)]])
        values: dict[str, Any] = {
            "looked": True,
            "rows": tuple(numbers[part].tolist()),
            "neighbours": numbers[near],
            "distances": hood.geometry.distances(r[near], hood.columns),
            **({"row": own} if own >= 0 else {}),
        }
        if at == len(parts):
            values |= {
                "scale_": fresh.scale_,
                **({} if fresh.map_ is None else {"map_": fresh.map_, "centre_": fresh.centre_}),
            }
            values["answer"] = np.nan_to_num(fresh._leave_one_out(hood, Z, np.array([own]) if own >= 0 else None))
        yield Step(at, n, values, _measures(values, looked, n), state)


def _so_far(hood: Neighbourhood, best: tuple[tuple[int, float], ...], own: int) -> dict[str, Any]:
    """Row numbers and distances of the nearest so far, without the query itself, and the row that it is."""
    numbers = [row if hood.numbers is None else int(hood.numbers[row]) for row, _ in best]
    kept = [i for i, row in enumerate(numbers) if row != own]
    far = np.array([best[i][1] for i in kept])
    return {
        "neighbours": np.array([numbers[i] for i in kept], dtype=np.int64),
        "distances": hood.geometry.distances(far, hood.columns),
        **({"row": own} if own >= 0 else {}),
    }


@dataclass(frozen=True)
class SearchStep:
    """A node that was visited, or pruned because its box is farther than the k-th row so far.

    `level` 0 are leaves; `node`: its number in the level; `low`, `high` (d,): its box; `gap`: the reduced distance of the query and the box; `rows`: of a leaf
    that was visited; `best`: (row number, reduced distance) of the nearest rows so far, in their order.
    """

    level: int
    node: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    gap: float
    looked: bool
    rows: tuple[int, ...]
    best: tuple[tuple[int, float], ...]


def descent(tree: BoxTree, q: Any, k: int) -> Iterator[SearchStep]:
    """The steps of the search for the k nearest rows of q (d,): the nearest child first. The last step's `best` is the answer.

    >>> from assay.engines.engine import Threads
    >>> tree = BoxTree(np.arange(40.0)[:, None], Threads(1))
    >>> for step in descent(tree, [38.0], 2):
    ...     print(step.level, step.node, step.gap, step.looked, step.best)
    1 0 0.0 True ()
    0 2 0.0 True ((38, 0.0), (37, 1.0))
    0 1 49.0 False ((38, 0.0), (37, 1.0))
    0 0 529.0 False ((38, 0.0), (37, 1.0))
    """
    query = np.asarray(q, dtype=np.float64).reshape(1, -1)
    found: list[tuple[float, int]] = []
    waiting = [(tree.nodes.depth, 0)]
    while waiting:
        level, node = waiting.pop()
        low, high = _box(tree, level, node)
        gap = _gap(tree, query, low, high)
        looked = len(found) < k or gap <= found[-1][0]
        rows: tuple[int, ...] = ()
        if looked and level == 0:
            X, number = _leaf(tree, node)
            r = reduced_distances(X, query, tree.norm)[0]
            found = sorted([*found, *zip(r.tolist(), number.tolist())])[:k]
            rows = tuple(number.tolist())
        elif looked:
            waiting += _children(tree, level, node, query)
        best = tuple((row, r) for r, row in found)
        yield SearchStep(level, node, tuple(low.tolist()), tuple(high.tolist()), gap, looked, rows, best)


def _children(tree: BoxTree, level: int, node: int, query: Any) -> list[tuple[int, int]]:
    """The children of a node, the farthest first, and of equals the last."""
    count = -(-tree.n // (LEAF << (3 * (level - 1))))
    below = [(level - 1, i) for i in range(LANE * node, min(LANE * node + LANE, count))]
    return sorted(below, key=lambda child: (-_gap(tree, query, *_box(tree, *child)), -child[1]))


def _leaf(tree: BoxTree, leaf: int) -> tuple[Any, Any]:
    """The rows of a leaf (·, d) and their numbers."""
    X = tree.nodes.blocks[leaf].transpose(0, 2, 1).reshape(LEAF, tree.d)
    number = tree.nodes.number[LEAF * leaf : LEAF * (leaf + 1)]
    return X[: len(number)], number


def _box(tree: BoxTree, level: int, node: int) -> tuple[Any, Any]:
    """The least and greatest values of a node's rows, from its leaves."""
    size = 1 << (3 * level)
    blocks = tree.nodes.blocks[node * size : (node + 1) * size]
    return np.nanmin(blocks, axis=(0, 1, 3)), np.nanmax(blocks, axis=(0, 1, 3))


def _gap(tree: BoxTree, query: Any, low: Any, high: Any) -> float:
    """The reduced distance of a query and the nearest point of a box. Rounding keeps the order of each column's differences: it is not above that
    of any row inside."""
    return float(reduced_distances(np.clip(query, low, high), query, tree.norm)[0, 0])
