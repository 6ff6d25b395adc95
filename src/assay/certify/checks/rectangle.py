"""Checks of rectangles in plain NumPy: boxes, gains and answers are taken again from the rows, in whole numbers, without rounding.

That a side which holds no row of the class can be moved in without loss is all that optimality uses; see `rectangle_optimum`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose, log
from typing import Any

import numpy as np

from assay.certify.checks.rectangle_optimum import gain_bound, gain_of_one_column
from assay.certify.checks.rectangle_witness import Extent, Rectangles, Seen, all_rows, blocks_of, stated_in
from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats

TINY = float(np.finfo(np.float64).tiny)
LOWEST = float(np.finfo(np.float64).min) / 2
EXACTLY = 1e-12
LARGEST_DELTA = 0.1


def _verdict(claim: Claim, problem: str | None, reason: str, value: float | None) -> Verdict:
    if (
        problem is None
        and value is not None
        and (claim.value is None or not isclose(claim.value, value, rel_tol=1e-9, abs_tol=EXACTLY))
    ):
        problem = f"the value is {value:.9g}, not what is claimed"
    return Verdict(claim.name, problem is None, reason if problem is None else problem, value, claim.kind)


@check("rectangle_tightest")
def check_tightest(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The box of each class is taken again and must be the rectangle, side for side; other rows inside are counted."""
    stated = stated_in(claim, rows)
    boxes, problem, inside = {k: Extent(rows.n_columns) for k in stated.of}, None, 0
    own, others = np.zeros(len(stated.owner), dtype=np.int64), np.zeros(len(stated.owner), dtype=np.int64)
    for seen in blocks_of(stated, rows):
        for k in stated.of:
            boxes[k].add(seen.X[seen.codes == k])
            for r in stated.mine(k):
                held = stated.holds(r, seen.X)
                own[r] += int((held & (seen.codes == k)).sum())
                others[r] += int((held & (seen.codes != k)).sum())
    for k in stated.of:
        mine, name = stated.mine(k), stated.names[k]
        if len(mine) == 0 and np.isinf(boxes[k].low).all():
            continue  # no rows and no rectangle
        if len(mine) != 1 or not boxes[k].is_box(stated.lower[mine[0]], stated.upper[mine[0]]):
            problem = problem or f"the box of class {name!r} is another"
            continue
        r = int(mine[0])
        inside += int(others[r])
        if own[r] != claim.witness["won_rows"][r] or others[r] != claim.witness["lost_rows"][r]:
            problem = (
                problem
                or f"{own[r]} rows of class {name!r} and {others[r]} others lie in its rectangle, not what is claimed"
            )
    reason = f"the box of the rows of the class is the rectangle, side for side; other rows inside: {inside}"
    return _verdict(claim, problem, reason, float(inside))


def _turns(claim: Claim, rows: CheckedRows) -> Iterator[tuple[Rectangles, int, int | None, Seen]]:
    """(what is stated, class, rectangle, the rows not covered before it), rectangle by rectangle and once after the last of a class."""
    stated = stated_in(claim, rows)
    everything = all_rows(stated, rows)
    for k in stated.of:
        seen = everything
        for r in stated.mine(k).tolist():
            yield stated, k, r, seen
            left = ~stated.holds(r, seen.X)
            seen = Seen(seen.X[left], seen.codes[left], seen.u[left], seen.rounded)
        yield stated, k, None, seen


def _gain_problem(claim: Claim, stated: Rectangles, k: int, r: int, seen: Seen) -> tuple[str | None, int]:
    """What is wrong with rectangle r: its gain, or a side on which no row of its class lies; and its gain."""
    inside = stated.holds(r, seen.X)
    own = inside & (seen.codes == k)
    won, lost = int(seen.u[own].sum()), int(seen.u[inside & ~own].sum())
    name = stated.names[k]
    if won != claim.witness["won"][r] or lost != claim.witness["lost"][r]:
        return f"rectangle {r} of class {name!r} holds other weights than claimed", won - lost
    held = seen.X[own]
    if not len(held) or not (
        np.array_equal(held.min(axis=0), stated.lower[r]) and np.array_equal(held.max(axis=0), stated.upper[r])
    ):
        return f"rectangle {r} of class {name!r} has a side on which no row of the class lies", won - lost
    return None, won - lost


class _Errors:
    """The greatest error of "is it class k?" as rectangles pass by."""

    def __init__(self) -> None:
        self.gain: dict[int, int] = {}
        self.whole: dict[int, tuple[int, int]] = {}

    def add(self, k: int, gain: int, seen: Seen) -> None:
        self.whole.setdefault(k, (int(seen.u[seen.codes == k].sum()), int(seen.u.sum())))
        self.gain[k] = self.gain.get(k, 0) + gain

    def greatest(self) -> float:
        return max((own - self.gain[k]) / total for k, (own, total) in self.whole.items())


@check("rectangle_least_error")
def check_least_error(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """No rectangle may gain more: of one column by running sums, of two by bounds on ever smaller sets of rectangles."""
    most, errors, looked, problem = int(claim.witness["most"]), _Errors(), 0, None
    for stated, k, r, seen in _turns(claim, rows):
        gain, wrong = 0, None
        if r is not None:
            wrong, gain = _gain_problem(claim, stated, k, r, seen)
        elif len(stated.mine(k)) > most:
            wrong = f"class {stated.names[k]!r} has more than {most} rectangles"
        elif len(stated.mine(k)) == most:
            continue  # how much one more would gain is not claimed
        errors.add(k, gain, seen)
        found, sets = gain_bound(seen.X, np.where(seen.codes == k, seen.u, -seen.u), gain)
        looked += sets
        if gain < 0 or found > gain:
            wrong = wrong or f"a rectangle of class {stated.names[k]!r} gains more than claimed"
        problem = problem or wrong
    reason = f"no rectangle gains more: bounds on {looked} sets of rectangles, which together are all of them"
    return _verdict(claim, problem, reason, errors.greatest())


@check("rectangle_local")
def check_local(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """For each rectangle and column the best interval, the other columns held, may not gain more."""
    errors, problem, tried = _Errors(), None, 0
    for stated, k, r, seen in _turns(claim, rows):
        if r is None:
            continue
        wrong, gain = _gain_problem(claim, stated, k, r, seen)
        errors.add(k, gain, seen)
        g = np.where(seen.codes == k, seen.u, -seen.u)
        fits = (stated.lower[r] <= seen.X) & (stated.upper[r] >= seen.X)
        misses = fits.shape[1] - fits.sum(axis=1)
        for j in range(rows.n_columns):
            others = misses == ~fits[:, j]
            tried += 1
            if gain_of_one_column(seen.X[others, j], g[others]) > gain:
                wrong = (
                    wrong or f"other limits of column {j} raise the gain of rectangle {r} of class {stated.names[k]!r}"
                )
        problem = problem or wrong
    reason = f"all intervals of {tried} columns were tried, the others held: none gains more"
    return _verdict(claim, problem, reason, errors.greatest())


@check("rectangle_pac")
def check_pac(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Each rectangle must be the tightest and hold no other row, and ε follow from n, d and δ; the assumptions cannot be checked."""
    stated, d = stated_in(claim, rows), rows.n_columns
    delta, n, problem = float(claim.witness["delta"]), 0, None
    if not (0 < delta <= LARGEST_DELTA and stated.of and np.all(stated.factor > 0)):
        raise ValueError("a bound of no class, or with a confidence that says nothing")
    boxes = {k: Extent(d) for k in stated.of}
    for seen in blocks_of(stated, rows):
        n += len(seen.u)
        for k in stated.of:
            boxes[k].add(seen.X[seen.codes == k])
            if len(stated.mine(k)) != 1 or np.any(stated.holds(stated.mine(k)[0], seen.X) != (seen.codes == k)):
                problem = (
                    f"the rectangle of class {stated.names[k]!r} is not right on all rows: the bound does not apply"
                )
    for k in stated.of:
        if problem is None and not boxes[k].is_box(stated.lower[stated.mine(k)[0]], stated.upper[stated.mine(k)[0]]):
            problem = f"the rectangle of class {stated.names[k]!r} is not the tightest"
    if problem is None and n != claim.witness["rows"]:
        problem = f"there are {n} rows, not {claim.witness['rows']}"
    reason = f"right on all {n} rows, and ε = (2d/n)·log(2d/δ); that the rows are independent and a rectangle exists is assumed"
    return _verdict(claim, problem, reason, 2 * d * log(2 * d / delta) / n)


@check("rectangle_answers")
def check_answers(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Depths by their definition, the class of the greatest, and the weights of the classes among rows answered alike."""
    stated = stated_in(claim, rows)
    K, d = len(stated.names), rows.n_columns
    unit = np.asarray(claim.witness["unit"], dtype=np.float64)
    cells, count, rounded = np.zeros((K, K), dtype=np.int64), np.zeros(K, dtype=np.int64), False
    extent = Extent(d)
    for seen in blocks_of(stated, rows):
        np.add.at(cells, (_answers(stated, unit, seen.X), seen.codes), seen.u)
        count += np.bincount(seen.codes, minlength=K)
        extent.add(seen.X)
        rounded |= seen.rounded
    width = np.minimum(extent.high - extent.low, np.finfo(np.float64).max)
    problem = None
    if not np.array_equal(unit, np.where(width > 0, width, 1.0)):
        problem = "the units are not the ranges of the columns"
    elif not np.array_equal(count, claim.witness["class_rows"]) or int(count.sum()) != claim.witness["rows"]:
        problem = f"there are {count.tolist()} rows of the classes, not what is claimed"
    elif not np.array_equal(cells, claim.witness["cells"]) or rounded != claim.witness["rounded"]:
        problem = "the rows are answered otherwise than claimed"
    error = 1.0 - float(np.trace(cells) / cells.sum())
    return _verdict(
        claim, problem, f"{error:.6g} of the weight is answered wrongly, with the stated weights of every answer", error
    )


def _answers(stated: Rectangles, unit: Floats, X: Floats) -> Array:
    """The class of each row by the depths in rectangles."""
    K, depth = len(stated.names), np.full((len(X), len(stated.names)), LOWEST)
    for r, k in enumerate(stated.owner.tolist()):
        scaled = X / unit
        here = np.minimum(scaled - stated.lower[r] / unit, stated.upper[r] / unit - scaled).min(axis=1)
        here = np.where(stated.holds(r, X), np.maximum(here, TINY), np.maximum(np.minimum(here, -TINY), LOWEST))
        depth[:, k] = np.maximum(depth[:, k], here)
    if len(stated.places) == K:
        deepest: Array = depth.argmax(axis=1)
        return deepest
    k = stated.places[0]
    return np.where(depth[:, k] > 0, k, 1 - k)
