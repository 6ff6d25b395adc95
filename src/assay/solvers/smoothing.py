"""The hinge loss with any penalty: Newton's method on smooth hinges, then the rows near the margin exactly. Shape: repeated fold.

    smooth hinge of width h:    0 for a ≤ 0,   a²/2h for 0 < a < h,   a − h/2 beyond,        a = 1 − tz

With the width h ← h/5 fewer and fewer rows decide; when they are few, an interior-point method solves for them alone,
while the others enter by their sums. If no other row changes sides, that is the minimum of the whole, with the multipliers
α of the rows near the margin as its proof; else the zone is drawn anew. Small tables go to the second part at once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.engines import Block
from assay.engines.csr import SparseMatrix
from assay.numerics import Array, Floats
from assay.risk.terms import MARGIN, WIDEST, Penalty, Surrogate, sides_of
from assay.solvers.interior_point import InteriorPoint, Margins, PrimalDual, interior_points
from assay.solvers.newton import advance, newton_step, slope
from assay.solvers.problem import Evaluation, Iterate, MarginRows, Problem, relative_gap, rows_back, rows_times
from assay.solvers.proximal_newton import proximal_step

SHRINK = 5.0
FEW_NUMBERS = 1 << 16  # of the open rows: what the interior-point method takes in a few milliseconds a step
PER_COLUMN = 4  # open rows a column: about one a column ends on the margin
ENOUGH = 0.01  # of the rows: where fewer lie within the width, Newton's method is lent some curvature
LENT = 1e-3  # of that which all rows would have at the greatest width
WIDER, MOST_NUMBERS = 8, 1 << 23  # by how much zones grow where Newton's method ends without an answer, and up to where
PATIENCE = 12  # steps at one width
ROUNDS = 30
LITTLE = 0.2  # of what the width costs
NARROW = 0.01
NEAR_ZERO = 1e-6  # of a weight in its column's scale, where its multipliers say that it is zero
BETWEEN = 1e-5  # of its row's cost: a multiplier so far from 0 and c is between them


def smoothing(
    problem: Problem, start: Floats, tol: float, max_iter: int, first: Evaluation | None = None
) -> Iterator[Iterate]:
    """As `newton`, for the hinge loss; `max_iter` counts Newton's steps of both parts."""
    most = max(64, PER_COLUMN * len(start), FEW_NUMBERS // len(start))
    whole = zone_at(problem, start, np.inf, most)
    if not whole.full:
        yield from exactly(problem, SmoothingState(start, np.inf, 0), np.inf, most, whole, tol, max_iter)
        return
    width, w, spent, number, best = WIDEST, start, 0, 0, None
    at = with_width(problem, width)
    evaluation = at.evaluate(w, hessian=True) if first is None else first
    while number < max_iter:
        gap, value = at.gap(evaluation, w), at.objective(evaluation, w)
        here = Iterate(number, w, value, gap, width=width, least=evaluation.least, done=gap <= tol)
        best = here if best is None or gap < best.gap else best
        yield here
        if gap <= tol:
            return
        if number - best.number > 2 * PATIENCE:
            break
        v, promised = _step(at, evaluation, w)
        if spent > PATIENCE or settled(at, evaluation, w, gap, promised):
            zone = zone_at(problem, w, width, most)
            if not zone.full:
                better = yield from exactly(problem, SmoothingState(w, value, number), width, most, zone, tol, max_iter)
                if better is None:
                    return
                w, _, number = better
            width, spent = width / SHRINK, 0
            at = with_width(problem, width)
            evaluation = at.evaluate(w, hessian=True)
            v, promised = _step(at, evaluation, w)
        spent, number = spent + 1, number + 1
        w, evaluation = advance(at, evaluation, w, v, promised, hessian=True)
    if best is not None:  # more steps bring nothing: rounding, or so many rows on the margin that no zone held them
        yield from _with_more_open(problem, best._replace(number=number), most, tol, max_iter)


def _with_more_open(problem: Problem, best: Iterate, most: int, tol: float, max_iter: int) -> Iterator[Iterate]:
    """The best so far, then what larger zones about it bring; each costs more than all Newton's steps, so they come last."""
    yield best
    while not best.done and best.number < max_iter and most * WIDER * len(best.w) <= MOST_NUMBERS:
        most *= WIDER
        delta = best.width or NARROW
        zone = zone_at(problem, best.w, delta, most)
        while zone.full:
            delta *= 0.5
            zone = zone_at(problem, best.w, delta, most)
        stand = SmoothingState(best.w, best.objective, best.number)
        for at in exactly(problem, stand, delta, most, zone, tol, max_iter):
            best = at if at.gap < best.gap or at.done else best._replace(number=at.number)
        yield best


def _step(at: Problem, evaluation: Evaluation, w: Floats) -> tuple[Floats, float]:
    """Newton's step, or with an L1 part the proximal one, and by how much it promises to lower the smooth objective."""
    evaluation = _curved(at, evaluation)
    if not at.penalty.quadratic:
        return proximal_step(at, evaluation, w)
    v = newton_step(at, evaluation, w)
    return v, -float(v @ slope(at, evaluation, w))


def _curved(at: Problem, evaluation: Evaluation) -> Evaluation:
    """The evaluation with a little curvature where (nearly) no row lies within the width: then a slope alone would lead nowhere."""
    assert evaluation.hessian is not None
    whole = float(sum(at.reach.weights)) * at.scale**2
    if float(np.max(at.loss.width * np.diag(evaluation.hessian) / whole)) >= ENOUGH:
        return evaluation
    lent = LENT / WIDEST * whole * np.append(np.ones(len(whole) - 1), float(at.intercept))
    return evaluation._replace(hessian=evaluation.hessian + np.diag(lent))


def settled(at: Problem, evaluation: Evaluation, w: Floats, gap: float, promised: float) -> bool:
    """Whether the width costs more, Σc(ℓ(z) − uz + ℓ*(u)), than there is still to gain at it.

    With an L1 part, and where the width is so small that rows on the margin are many, the gap must say so as well: there
    steps promise little and yet go far.
    """
    from_width = evaluation.loss - float(w @ evaluation.gradient) - evaluation.slopes
    if at.penalty.quadratic and at.loss.width > NARROW:
        return promised <= LITTLE * from_width
    near = at.penalty.quadratic or promised <= 0.1 * from_width
    return near and gap * at.objective(evaluation, w) <= 2.0 * from_width


def with_width(problem: Problem, width: float) -> Problem:
    """The same problem with another width of the smooth hinge."""
    return replace(problem, loss=replace(problem.loss, width=width))


def zone_at(problem: Problem, w: Floats, delta: float, most: int) -> Zone:
    zone: Zone = problem.fold(
        partial(absorb_zone, problem.loss, w, problem.centre, delta, most), partial(merge_zones, most)
    )
    return zone


class SmoothingState(NamedTuple):
    """Weights, the objective there, and the number of steps taken so far."""

    w: Floats
    value: float
    number: int


def exactly(
    problem: Problem, stand: SmoothingState, delta: float, most: int, zone: Zone, tol: float, max_iter: int
) -> Generator[Iterate, None, SmoothingState | None]:
    """Solve for the open rows, evaluate all rows, and draw the zone anew where others changed sides.

    A zone too narrow to hold the weights (with L1 alone the few rows may have no minimum) leads to worse ones: these are
    not taken. The answer is None at the end, or where to go on with a narrower hinge.
    """
    best: Iterate | None = None
    for _ in range(ROUNDS):
        (w, value, number), point = stand, None
        for point, found in points(problem, zone, w):
            number += 1
            if not np.isfinite(delta):  # else what the open rows alone say is not yet a gap of the whole
                gap = relative_gap(found.primal + zone.beyond, found.dual + zone.beyond)
                yield Iterate(number, point.u, problem.spread * found.primal, max(gap, tol), width=0.0)
            if number >= max_iter:
                break
        stand, taken, safe = SmoothingState(w, value, number), False, -1.0
        if point is not None:
            point = _at_rest(problem, zone, point)
            point = point._replace(u=_centred(problem, zone, point))
            evaluation: ZoneEvaluation = problem.fold(
                partial(absorb_zone_evaluation, problem.loss, w, point.u, problem.centre, delta), merge_zone_evaluations
            )
            answer, safe = _answer(problem, zone, point, evaluation, number, tol), evaluation.safe
            if answer.objective <= value or safe > 0 or number >= max_iter:
                stuck = best is not None and safe > 0 and answer.gap > 0.5 * best.gap
                best = answer if best is None or answer.gap <= best.gap else best._replace(number=number)
                yield best
                if best.done or stuck or number >= max_iter:
                    return None
                stand, taken = SmoothingState(point.u, answer.objective, number), True
        if safe <= 0:
            delta *= 2.0
        zone = zone_at(problem, stand.w, delta, most)
        while zone.full:
            if not taken:
                return stand
            delta *= 0.5
            zone = zone_at(problem, stand.w, delta, most)
    return None


def _at_rest(problem: Problem, zone: Zone, point: InteriorPoint) -> InteriorPoint:
    """The weights with those at zero that l1 holds there: the multipliers of w_j ≥ 0 and of w_j ≤ 0 are between 0 and l1."""
    bent = np.flatnonzero(problem.penalty.l1)
    if not len(bent):
        return point
    l1 = problem.penalty.l1[bent]
    above, below = point.alpha[len(zone.rows) :].reshape(2, -1)
    still = np.minimum(np.minimum(above, below), l1 - np.maximum(above, below)) > BETWEEN * l1
    still &= np.abs(point.u[bent]) * problem.scale[bent] <= NEAR_ZERO * max(
        1.0, float(np.abs(point.u[:-1] * problem.scale[:-1]).max())
    )
    u = point.u.copy()
    u[bent[still]] = 0.0
    return point._replace(u=u)


def _centred(problem: Problem, zone: Zone, point: InteriorPoint) -> Floats:
    """The weights with b in the middle of those that are as good, where no multiplier between 0 and c holds it."""
    alpha = point.alpha[: len(zone.rows)]
    held = np.minimum(alpha, zone.c - alpha) > BETWEEN * zone.c
    if held.any() or not problem.intercept or not problem.penalty.free[-1]:
        return point.u
    room = problem.fold(partial(absorb_room, problem.loss, point.u, problem.centre), merge_rooms)
    shift = 0.5 * (room.up - room.down)
    if not np.isfinite(shift):
        return point.u
    out = point.u.copy()
    out[-1] += shift
    return out


def points(problem: Problem, zone: Zone, start: Floats) -> Iterator[tuple[InteriorPoint, PrimalDual]]:
    """The interior-point method's states; the last is the one of least gap. Numbers are counted in their spread, columns in their scale."""
    margins, best = zone.margins(problem.penalty, problem.intercept), np.inf
    by = problem.scale / problem.spread if problem.loss.kind != MARGIN else np.ones_like(problem.scale)
    unit, beyond = problem.spread, zone.beyond / problem.spread
    if problem.loss.kind != MARGIN:
        o, l2, g = margins.o / unit, margins.l2 / (by * problem.scale), margins.g / problem.scale
        margins = Margins(margins.A / problem.scale, o, margins.c, l2, g)
    for point, found in interior_points(margins, start * by):
        off = abs(found.primal - found.dual) + found.left
        if off < best:
            best = off
            yield point._replace(u=point.u / by), found
        if off <= 1e-13 * abs(found.primal + beyond):
            break


def _answer(
    problem: Problem, zone: Zone, point: InteriorPoint, evaluation: ZoneEvaluation, number: int, tol: float
) -> Iterate:
    """The gap of the whole: all rows' losses against the dual value of the multipliers."""
    alpha = np.clip(point.alpha[: len(zone.rows)], 0.0, zone.c)
    value = evaluation.loss + problem.penalty.value(point.u)
    pull = zone.pull + alpha @ zone.A
    if not problem.intercept:
        pull[-1] = 0.0
    bound = problem.bound(point.u, value, zone.beyond + float((alpha * zone.o).sum()), -pull)
    gap = relative_gap(value, bound)
    done = gap <= tol and evaluation.safe > 0
    support = MarginRows(zone.rows, alpha) if problem.loss.kind == MARGIN else _net(zone, alpha)
    return Iterate(number, point.u, value, gap, least=evaluation.least, done=bool(done), support=support)


def _net(zone: Zone, alpha: Floats) -> MarginRows:
    """The multipliers of both sides of a row together, that of z > t with a minus."""
    rows, place = np.unique(zone.rows, return_inverse=True)
    return MarginRows(rows, np.bincount(place, alpha * zone.A[:, -1], minlength=len(rows)))


# The rows near the margin of given weights, gathered with what all the others contribute. One fold.
#
# A row with a = 1 − tz beyond δ > 0 has the multiplier c, one below −δ none; only those between are open. The others enter a
# small problem by their sums alone.


class Zone(NamedTuple):
    """Open sides of rows: row numbers (m,), A = s·(x − p, 1) (m, d + 1), offsets o (m,) and costs c (m,); Σco and Σ c s (x − p, 1) of those beyond.

    `full`: more sides are open than were asked for; then none are kept.
    """

    rows: Array
    A: Floats
    o: Floats
    c: Floats
    beyond: float
    pull: Floats
    full: bool

    def margins(self, penalty: Penalty, intercept: bool) -> Margins:
        """The small problem of the open sides, to which each |w_j| adds two; without an intercept b is held at zero."""
        l2, pull, A = penalty.l2, self.pull, self.A
        if not intercept:
            l2, pull, A = np.append(l2[:-1], 1.0), np.append(pull[:-1], 0.0), A * np.append(np.ones(len(l2) - 1), 0.0)
        bent = np.flatnonzero(penalty.l1)
        signs = np.eye(len(l2))[bent]
        A = np.concatenate([A, signs, -signs])
        o = np.concatenate([self.o, np.zeros(2 * len(bent))])
        return Margins(A, o, np.concatenate([self.c, penalty.l1[bent], penalty.l1[bent]]), l2, -pull)


def absorb_zone(loss: Surrogate, w: Floats, centre: Floats, delta: float, most: int, block: Block) -> Zone:
    """The open sides of the rows of one block at the weights w about the centre; at most `most`."""
    assert block.y is not None
    d, t = len(centre), block.y
    c = np.ones(len(t)) if block.w is None else block.w
    sides = sides_of(loss, t, c)
    if not np.isfinite(delta) and len(sides) * len(t) > most:
        return _too_many(d)
    z = rows_times(block.X, w, centre)
    short = [side.offset - side.sign * z for side in sides]
    there = [np.flatnonzero((np.abs(a) <= delta) & (side.cost > 0)) for a, side in zip(short, sides)]
    open_ = np.concatenate(there)
    if len(open_) > most:
        return _too_many(d)
    o, s, cost = (np.concatenate([part[i] for part, i in zip(each, there)]) for each in zip(*sides))
    X = block.X[open_]
    X = X.toarray() if isinstance(X, SparseMatrix) else X
    A = np.column_stack([X.astype(np.float64) - centre, np.ones(len(open_))]) * s[:, None]
    over = [np.where(a > delta, side.cost, 0.0) for a, side in zip(short, sides)]
    beyond = sum(float((each * side.offset).sum()) for each, side in zip(over, sides))
    pull = sum(each * side.sign for each, side in zip(over, sides))
    return Zone(open_ + block.start, A, o, cost, beyond, rows_back(block.X, np.asarray(pull), centre), False)


def _too_many(d: int) -> Zone:
    none = np.empty(0)
    return Zone(np.empty(0, dtype=np.int64), np.empty((0, d + 1)), none, none, 0.0, np.zeros(d + 1), True)


def merge_zones(most: int, a: Zone, b: Zone) -> Zone:
    """The zone of both stretches of rows together."""
    if a.full or b.full or len(a.rows) + len(b.rows) > most:
        return _too_many(len(a.pull) - 1)
    rows, A, o, c = (np.concatenate(pair) for pair in ((a.rows, b.rows), (a.A, b.A), (a.o, b.o), (a.c, b.c)))
    return Zone(rows, A, o, c, a.beyond + b.beyond, a.pull + b.pull, False)


class ZoneEvaluation(NamedTuple):
    """Σ c max(0, a) and min tz at new weights, and how far, at the least, rows outside the zone are from changing sides."""

    loss: float
    least: float
    safe: float


def absorb_zone_evaluation(
    loss: Surrogate, before: Floats, w: Floats, centre: Floats, delta: float, block: Block
) -> ZoneEvaluation:
    """One block at the weights w; the zone was that of the weights `before`."""
    assert block.y is not None
    c = np.ones(len(block.y)) if block.w is None else block.w
    old, new = (rows_times(block.X, u, centre) for u in (before, w))
    total, least, safe = 0.0, np.inf, np.inf
    for side in sides_of(loss, block.y, c):
        was, a = side.offset - side.sign * old, side.offset - side.sign * new
        outside = (np.abs(was) > delta) & (side.cost > 0)
        safe = min(safe, float(np.min((np.sign(was) * a)[outside], initial=np.inf)))
        least = min(least, float(np.min((1.0 - a)[side.cost > 0], initial=np.inf)))
        total += float(side.cost @ np.maximum(a, 0.0))
    return ZoneEvaluation(total, least, safe)


def merge_zone_evaluations(a: ZoneEvaluation, b: ZoneEvaluation) -> ZoneEvaluation:
    """Both stretches of rows together."""
    return ZoneEvaluation(a.loss + b.loss, min(a.least, b.least), min(a.safe, b.safe))


class InterceptRoom(NamedTuple):
    """By how much b can rise and fall before a row reaches the margin."""

    up: float
    down: float


def absorb_room(loss: Surrogate, w: Floats, centre: Floats, block: Block) -> InterceptRoom:
    """One block: raising b by δ takes s·δ from a = o − sz."""
    assert block.y is not None
    c = np.ones(len(block.y)) if block.w is None else block.w
    z, room = rows_times(block.X, w, centre), InterceptRoom(np.inf, np.inf)
    for side in sides_of(loss, block.y, c):
        a = side.offset - side.sign * z
        rising = np.where(a > 0, side.sign > 0, side.sign < 0)  # rows whose |a| shrinks when b rises
        counts = side.cost > 0
        ends = (float(np.min(np.abs(a)[which & counts], initial=np.inf)) for which in (rising, ~rising))
        room = merge_rooms(room, InterceptRoom(*ends))
    return room


def merge_rooms(a: InterceptRoom, b: InterceptRoom) -> InterceptRoom:
    """Both stretches of rows together."""
    return InterceptRoom(min(a.up, b.up), min(a.down, b.down))
