"""Checks of rectangles in plain NumPy: boxes, gains and answers are taken again from the rows, in whole numbers, without rounding.

That a side which holds no row of the class can be moved in without loss is all that optimality uses.

The greatest gain Σ g of an axis-aligned rectangle in one or two columns is bounded for sets of rectangles, halved until it is sure.
A set is "lower limit of y in A, upper limit in B". Rows that every one of its rectangles has between its limits count as they are, rows
that only some have count where they are positive: the best interval of x for these numbers bounds the gain of all of the set.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose, log
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats


class WholeRows(NamedTuple):
    """Rows that count: X (n, d), codes (n,), whole weights u (n,); and whether a weight is rounded."""

    X: Floats
    codes: Array
    u: Array
    rounded: bool


class Rectangles(NamedTuple):
    """What the witness says: the classes' names and factors, those that have rectangles, and the rectangles."""

    names: list[Any]
    places: list[int]
    of: list[int]
    lower: Floats
    upper: Floats
    owner: Array
    factor: Floats
    shift: int

    def mine(self, k: int) -> Array:
        """The numbers of the rectangles of class k."""
        return np.flatnonzero(self.owner == k)

    def holds(self, r: int, X: Floats) -> Array:
        """Which rows lie in rectangle r."""
        inside: Array = ((self.lower[r] <= X) & (self.upper[r] >= X)).all(axis=1)
        return inside


def stated_in(claim: Claim, rows: CheckedRows) -> Rectangles:
    """What the witness says, refused where it cannot be."""
    t = claim.witness
    lower, upper, factor = (np.asarray(t[name], dtype=np.float64) for name in ("lower", "upper", "factor"))
    owner, places = np.asarray(t["owner"], dtype=np.int64), [int(k) for k in t["places"]]
    K, d = len(t["classes"]), rows.n_columns
    if lower.shape != (len(owner), d) or upper.shape != lower.shape or factor.shape != (K,) or K < 2:
        raise ValueError("rectangles and classes of the witness do not fit together")
    if places not in ([[0], [1]] if K == 2 else [list(range(K))]):
        raise ValueError(f"classes {places} of {K} cannot be those with rectangles")
    if not (np.all(lower <= upper) and np.all(np.diff(owner) >= 0) and set(owner.tolist()) <= set(places)):
        raise ValueError("a rectangle of the witness is empty or of no class")
    if not (np.all(np.isfinite(factor)) and np.all(factor >= 0) and set(t["of"]) <= set(places)):
        raise ValueError("factors or classes that cannot be")
    return Rectangles(list(t["classes"]), places, list(t["of"]), lower, upper, owner, factor, int(t["shift"]))


def blocks_of(stated: Rectangles, rows: CheckedRows) -> Iterator[WholeRows]:
    """The rows that count, block by block."""
    for block in rows.blocks():
        if block.y is None:
            raise ValueError("the rows have no target")
        codes = np.full(len(block.y), -1)
        for k, label in enumerate(stated.names):
            codes[block.y == label] = k
        if np.any(codes < 0):
            raise ValueError("the rows hold classes that the witness does not know")
        w = stated.factor[codes] if block.w is None else stated.factor[codes] * block.w
        scaled = np.ldexp(w, stated.shift)
        u = np.where(scaled > 0, np.maximum(np.rint(scaled), 1), 0)
        if u.sum() >= 2.0**62:
            raise ValueError("weights so large that they cannot be summed as whole numbers")
        keep = u > 0
        whole = u.astype(np.int64)
        yield WholeRows(np.asarray(block.X[keep], np.float64), codes[keep], whole[keep], bool(np.any(whole != scaled)))


def all_rows(stated: Rectangles, rows: CheckedRows) -> WholeRows:
    """All rows that count."""
    seen = list(blocks_of(stated, rows))
    X, codes, u = (np.concatenate([getattr(s, part) for s in seen]) for part in ("X", "codes", "u"))
    return WholeRows(X, codes, u, any(s.rounded for s in seen))


class Extent:
    """The box of some rows, as they pass by: low, high (d,)."""

    def __init__(self, d: int) -> None:
        self.low, self.high = np.full(d, np.inf), np.full(d, -np.inf)

    def add(self, X: Floats) -> None:
        """Widen the box to hold the rows X."""
        self.low = np.minimum(self.low, X.min(axis=0, initial=np.inf))
        self.high = np.maximum(self.high, X.max(axis=0, initial=-np.inf))

    def is_box(self, lower: Floats, upper: Floats) -> bool:
        """Whether these are its sides, to the last digit."""
        return np.array_equal(self.low, lower) and np.array_equal(self.high, upper)


def gain_of_one_column(x: Floats, g: Array) -> int:
    """max over intervals of Σ g of the values inside, 0 for none: a difference of two running sums, the greater one later."""
    order = np.argsort(x, kind="stable")
    return _best(x[order], g[order])


def _best(x: Array, g: Array) -> int:
    """As above, of sorted values."""
    if not len(x):
        return 0
    sums = np.cumsum(g)
    last = np.append(np.flatnonzero(x[1:] != x[:-1]), len(x) - 1)  # the last row of each value
    after = sums[last]
    before = np.concatenate([[0], after[:-1]])
    return max(0, int((after - np.minimum.accumulate(before)).max()))


def gain_bound(X: Floats, g: Array, claimed: int) -> tuple[int, int]:
    """(`claimed` where no rectangle gains more, else a gain that one has; the number of sets that were bounded).

    X (n, d) with d ≤ 2. Only limits at values of rows of positive gain need be tried.
    """
    if X.shape[1] == 1:
        return max(claimed, gain_of_one_column(X[:, 0], g)), 1
    if X.shape[1] != 2:
        raise ValueError("the greatest gain can be proved for one or two columns")
    own = g > 0
    if not own.any():
        return max(claimed, 0), 1
    y = int(len(np.unique(X[own, 0])) > len(np.unique(X[own, 1])))  # the column with fewer limits to try
    limits = np.unique(X[own, y])
    there = (X[:, y] >= limits[0]) & (X[:, y] <= limits[-1])
    order = np.argsort(X[there, 1 - y], kind="stable")
    x, heights, g = (a[there][order] for a in (X[:, 1 - y], X[:, y], g))
    x = np.unique(x, return_inverse=True)[1]
    # twice the place of the limit at or below each row's height, plus one in a gap: limits are at even places
    place = 2 * np.searchsorted(limits, heights, side="right") - 2
    place += limits[place // 2] < heights
    return _halve(x, place, g, len(limits), claimed)


def _halve(x: Array, place: Array, g: Array, n: int, claimed: int) -> tuple[int, int]:
    """Depth first: a set is dropped once its bound is no more than `claimed`; a single rectangle's bound is its gain."""
    looked = 0
    stack = [(0, n - 1, 0, n - 1, x, place, g)]
    while stack:
        a0, a1, b0, b1, x, place, g = stack.pop()
        near = (place >= 2 * a0) & (place <= 2 * b1)
        if not near.all():
            x, place, g = x[near], place[near], g[near]
        looked += 1
        sure = (place >= 2 * a1) & (place <= 2 * b0)
        bound = _best(x, np.where(sure, g, np.maximum(g, 0)))
        if bound <= claimed:
            continue
        if a0 == a1 and b0 == b1:
            return bound, looked
        if a1 - a0 >= b1 - b0:
            middle = (a0 + a1) // 2
            halves = [(a0, middle, b0, b1), (middle + 1, a1, max(b0, middle + 1), b1)]
        else:
            middle = (b0 + b1) // 2
            halves = [(a0, min(a1, middle), b0, middle), (a0, a1, middle + 1, b1)]
        stack += [(*half, x, place, g) for half in halves if half[0] <= half[1] and half[2] <= half[3]]
    return claimed, looked


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


def _turns(claim: Claim, rows: CheckedRows) -> Iterator[tuple[Rectangles, int, int | None, WholeRows]]:
    """(what is stated, class, rectangle, the rows not covered before it), rectangle by rectangle and once after the last of a class."""
    stated = stated_in(claim, rows)
    everything = all_rows(stated, rows)
    for k in stated.of:
        seen = everything
        for r in stated.mine(k).tolist():
            yield stated, k, r, seen
            left = ~stated.holds(r, seen.X)
            seen = WholeRows(seen.X[left], seen.codes[left], seen.u[left], seen.rounded)
        yield stated, k, None, seen


def _gain_problem(claim: Claim, stated: Rectangles, k: int, r: int, seen: WholeRows) -> tuple[str | None, int]:
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

    def add(self, k: int, gain: int, seen: WholeRows) -> None:
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
