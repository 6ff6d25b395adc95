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

from assay.numerics import Floats
from assay.risk.surrogates import WIDEST
from assay.solvers.interior_point import Point, Values, interior_points
from assay.solvers.iterate import Iterate, Support
from assay.solvers.newton import advance, newton_step, slope
from assay.solvers.problem import Look, Problem, relative_gap
from assay.solvers.proximal_newton import proximal_step
from assay.solvers.zone import (
    Seen,
    Zone,
    absorb_room,
    absorb_seen,
    absorb_zone,
    merge_rooms,
    merge_seen,
    merge_zones,
)

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
BETWEEN = 1e-5  # of its row's cost: a multiplier so far from 0 and c is between them


def smoothing(
    problem: Problem, start: Floats, tol: float, max_iter: int, first: Look | None = None
) -> Iterator[Iterate]:
    """As `newton`, for the hinge loss; `max_iter` counts Newton's steps of both parts."""
    most = max(64, PER_COLUMN * len(start), FEW_NUMBERS // len(start))
    whole = _zone(problem, start, np.inf, most)
    if not whole.full:
        yield from _exactly(problem, Stand(start, np.inf, 0), np.inf, most, whole, tol, max_iter)
        return
    width, w, spent, number, best = WIDEST, start, 0, 0, None
    at = with_width(problem, width)
    look = at.look(w, hessian=True) if first is None else first
    while number < max_iter:
        gap, value = at.gap(look, w), at.objective(look, w)
        here = Iterate(number, w, value, gap, width=width, least=look.least, done=gap <= tol)
        best = here if best is None or gap < best.gap else best
        yield here
        if gap <= tol:
            return
        if number - best.number > 2 * PATIENCE:
            break
        v, promised = _step(at, look, w)
        if spent > PATIENCE or settled(at, look, w, gap, promised):
            zone = _zone(problem, w, width, most)
            if not zone.full:
                better = yield from _exactly(problem, Stand(w, value, number), width, most, zone, tol, max_iter)
                if better is None:
                    return
                w, _, number = better
            width, spent = width / SHRINK, 0
            at = with_width(problem, width)
            look = at.look(w, hessian=True)
            v, promised = _step(at, look, w)
        spent, number = spent + 1, number + 1
        w, look = advance(at, look, w, v, promised, hessian=True)
    if best is not None:  # more steps bring nothing: rounding, or so many rows on the margin that no zone held them
        yield from _with_more_open(problem, best._replace(number=number), most, tol, max_iter)


def _with_more_open(problem: Problem, best: Iterate, most: int, tol: float, max_iter: int) -> Iterator[Iterate]:
    """The best so far, then what larger zones about it bring; each costs more than all Newton's steps, so they come last."""
    yield best
    while not best.done and best.number < max_iter and most * WIDER * len(best.w) <= MOST_NUMBERS:
        most *= WIDER
        delta = best.width or NARROW
        zone = _zone(problem, best.w, delta, most)
        while zone.full:
            delta *= 0.5
            zone = _zone(problem, best.w, delta, most)
        stand = Stand(best.w, best.objective, best.number)
        for at in _exactly(problem, stand, delta, most, zone, tol, max_iter):
            best = at if at.gap < best.gap or at.done else best._replace(number=at.number)
        yield best


def _step(at: Problem, look: Look, w: Floats) -> tuple[Floats, float]:
    """Newton's step, or with an L1 part the proximal one, and by how much it promises to lower the smooth objective."""
    look = _curved(at, look)
    if not at.penalty.quadratic:
        return proximal_step(at, look, w)
    v = newton_step(at, look, w)
    return v, -float(v @ slope(at, look, w))


def _curved(at: Problem, look: Look) -> Look:
    """The look with a little curvature where (nearly) no row lies within the width: then a slope alone would lead nowhere."""
    assert look.hessian is not None
    whole = float(sum(at.reach.weights)) * at.scale**2
    if float(np.max(at.loss.width * np.diag(look.hessian) / whole)) >= ENOUGH:
        return look
    lent = LENT / WIDEST * whole * np.append(np.ones(len(whole) - 1), float(at.intercept))
    return look._replace(hessian=look.hessian + np.diag(lent))


def settled(at: Problem, look: Look, w: Floats, gap: float, promised: float) -> bool:
    """Whether the width costs more, Σc(ℓ(z) − uz + ℓ*(u)), than there is still to gain at it.

    With an L1 part, and where the width is so small that rows on the margin are many, the gap must say so as well: there
    steps promise little and yet go far.
    """
    from_width = look.loss - float(w @ look.gradient) - look.slopes
    if at.penalty.quadratic and at.loss.width > NARROW:
        return promised <= LITTLE * from_width
    near = at.penalty.quadratic or promised <= 0.1 * from_width
    return near and gap * at.objective(look, w) <= 2.0 * from_width


def with_width(problem: Problem, width: float) -> Problem:
    """The same problem with another width of the smooth hinge."""
    return replace(problem, loss=replace(problem.loss, width=width))


def _zone(problem: Problem, w: Floats, delta: float, most: int) -> Zone:
    zone: Zone = problem.fold(partial(absorb_zone, w, problem.centre, delta, most), partial(merge_zones, most))
    return zone


class Stand(NamedTuple):
    """Weights, the objective there, and the number of steps taken so far."""

    w: Floats
    value: float
    number: int


def _exactly(
    problem: Problem, stand: Stand, delta: float, most: int, zone: Zone, tol: float, max_iter: int
) -> Generator[Iterate, None, Stand | None]:
    """Solve for the open rows, look at all rows, and draw the zone anew where others changed sides.

    A zone too narrow to hold the weights (with L1 alone the few rows may have no minimum) leads to worse ones: these are
    not taken. The answer is None at the end, or where to go on with a narrower hinge.
    """
    best: Iterate | None = None
    for _ in range(ROUNDS):
        (w, value, number), point = stand, None
        for point, found in _points(problem, zone, w):
            number += 1
            if not np.isfinite(delta):  # else what the open rows alone say is not yet a gap of the whole
                gap = relative_gap(found.primal + zone.beyond, found.dual + zone.beyond)
                yield Iterate(number, point.u, found.primal, max(gap, tol), width=0.0)
            if number >= max_iter:
                break
        stand, taken, safe = Stand(w, value, number), False, -1.0
        if point is not None:
            point = point._replace(u=_centred(problem, zone, point))
            seen: Seen = problem.fold(partial(absorb_seen, w, point.u, problem.centre, delta), merge_seen)
            answer, safe = _answer(problem, zone, point, seen, number, tol), seen.safe
            if answer.objective <= value or safe > 0 or number >= max_iter:
                stuck = best is not None and safe > 0 and answer.gap > 0.5 * best.gap
                best = answer if best is None or answer.gap <= best.gap else best._replace(number=number)
                yield best
                if best.done or stuck or number >= max_iter:
                    return None
                stand, taken = Stand(point.u, answer.objective, number), True
        if safe <= 0:
            delta *= 2.0
        zone = _zone(problem, stand.w, delta, most)
        while zone.full:
            if not taken:
                return stand
            delta *= 0.5
            zone = _zone(problem, stand.w, delta, most)
    return None


def _centred(problem: Problem, zone: Zone, point: Point) -> Floats:
    """The weights with b in the middle of those that are as good, where no multiplier between 0 and c holds it."""
    alpha = point.alpha[: len(zone.rows)]
    held = np.minimum(alpha, zone.c - alpha) > BETWEEN * zone.c
    if held.any() or not problem.intercept or not problem.penalty.free[-1]:
        return point.u
    room = problem.fold(partial(absorb_room, point.u, problem.centre), merge_rooms)
    shift = 0.5 * (room.up - room.down)
    if not np.isfinite(shift):
        return point.u
    out = point.u.copy()
    out[-1] += shift
    return out


def _points(problem: Problem, zone: Zone, start: Floats) -> Iterator[tuple[Point, Values]]:
    """The interior-point method's states; the last is the one of least gap."""
    best = np.inf
    for point, found in interior_points(zone.margins(problem.penalty, problem.intercept), start):
        off = abs(found.primal - found.dual) + found.left
        if off < best:
            best = off
            yield point, found
        if off <= 1e-13 * abs(found.primal + zone.beyond):
            break


def _answer(problem: Problem, zone: Zone, point: Point, seen: Seen, number: int, tol: float) -> Iterate:
    """The gap of the whole: all rows' losses against the dual value of the multipliers."""
    alpha = np.clip(point.alpha[: len(zone.rows)], 0.0, zone.c)
    value = seen.loss + problem.penalty.value(point.u)
    pull = zone.pull + alpha @ zone.A
    if not problem.intercept:
        pull[-1] = 0.0
    bound = problem.bound(point.u, value, zone.beyond + float(alpha.sum()), -pull)
    gap = relative_gap(value, bound)
    done = gap <= tol and seen.safe > 0
    return Iterate(number, point.u, value, gap, least=seen.least, done=bool(done), support=Support(zone.rows, alpha))
