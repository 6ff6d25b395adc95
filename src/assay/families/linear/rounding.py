"""What is left of a fit when its weights are written down: objective and gap at just those, and what rounding may hide of them.

A solver counts rows from a centre p, and the model has b = b_p − p·w. Where p is far from zero compared with how far apart the rows
are, b has so large a value that its last digit moves scores. What the model then states is measured at the weights that it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block
from assay.families.linear.problem import DIFFERENCES, MET, PosedProblem, about_centre, about_zero, terms_of_scores
from assay.numerics import Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.risk.terms import MARGIN, PINBALL, SQUARED_TUBE, TUBE, Surrogate, sides_of
from assay.solvers.newton import boxed_gap
from assay.solvers.problem import Iterate, MarginRows, Problem, relative_gap, rows_back, rows_from, rows_times
from assay.solvers.softmax_problem import SoftmaxProblem

EPS = float(np.finfo(np.float64).eps)
SAME = 1e-11  # a relative change of the objective that nobody will notice
STRAIGHT = (TUBE.name, PINBALL.name)
TUBES = (*STRAIGHT, SQUARED_TUBE.name)
ROUNDINGS = 16  # what adding up a score may be off by, in roundings of its largest term
BOUNDED = ("hinge", "log")  # losses whose slope is at most 1
CURVATURES = {
    "log": 0.25,
    "softmax": 0.5,
    "squared": 1.0,
    "huber": 1.0,
    "squared hinge": 2.0,
    SQUARED_TUBE.name: 2.0,
    TUBE.name: 0.0,
    PINBALL.name: 0.0,
}  # at most
APART = 8.0  # times the root of the sum of their squares: so far the roundings of many rows add up at most
HINGES = ("hinge", "squared hinge")  # losses that end at a margin
FEW = 1e-6  # a mean loss so small has digits too few for its claim where it is added up to the rounding of one
NEGLIGIBLE = 1e-10  # of the objective: a rounding of the losses below this is not told
SLIGHT = 0.1  # of the tolerance: so much the objective may grow where that proves it
SEEN = 0.005  # nor is one below such a share of the tolerance


def as_saved(posed: PosedProblem, at: Iterate, w: Floats) -> Iterate:
    """The answer with objective, gap and least margin at the weights w about zero, and its step about zero too."""
    problem = posed.problem
    if not is_moved(problem, at, w):
        pass
    elif isinstance(problem, SoftmaxProblem):
        at = _softmax(problem, at, about_centre(w, problem.centre))
    else:
        target = problem.reach.target if _shifts(problem) else 0.0
        there = about_centre(w, problem.centre)
        at = at if at.step is None else at._replace(step=at.step + (at.w - there))  # it ends where it did
        at = _margins(_counted_from(problem, target), at, about_centre(w, problem.centre, target) if target else there)
    return at if at.step is None else at._replace(step=about_zero(at.step, problem.centre))


def is_moved(problem: Problem | SoftmaxProblem, at: Iterate, w: Floats) -> bool:
    """Whether the rounding of b may change the objective noticeably: per unit of weight it is F, and a score moves by `step`."""
    if not (problem.intercept and np.isfinite(w).all()):
        return False
    step = EPS * terms_of_scores(w, problem.centre)
    if at.objective == 0 or np.isinf(at.gap):
        return step > SAME or not at.least > ROUNDINGS * step
    share = at.objective / float(sum(problem.reach.weights))
    corner = isinstance(problem, Problem) and problem.loss.curvature is None
    return bool(step > SAME * min(1.0, share if corner else np.sqrt(share)))


def _shifts(problem: Problem) -> bool:
    """Whether scores and targets may be counted from the mean target: an error is their difference, and b is free."""
    return problem.loss.name in (*DIFFERENCES, *TUBES) and problem.intercept and bool(problem.penalty.free[-1])


def _counted_from(problem: Problem, target: float) -> Problem:
    """The same problem with every target less this one."""
    if target == 0:
        return problem
    prepare = partial(_less, problem.prepare, target)
    return replace(problem, prepare=prepare, reach=problem.reach._replace(target=0.0))


def _less(prepare: Callable[[Block], Block] | None, target: float, block: Block) -> Block:
    block = block if prepare is None else prepare(block)
    assert block.y is not None
    return block._replace(y=block.y - target)


def _softmax(problem: SoftmaxProblem, at: Iterate, w: Floats) -> Iterate:
    evaluation = problem.evaluate(w)
    least = least_class_margin(problem, w) if np.isinf(at.gap) else at.least
    gap = at.gap if problem.penalty.free[:-1].any() else problem.gap(evaluation, w)
    return at._replace(objective=problem.objective(evaluation, w), gap=gap, least=least)


def _margins(problem: Problem, at: Iterate, w: Floats) -> Iterate:
    if at.support is not None:
        return _by_multipliers(problem, at, at.support, w)
    if at.width > 0:
        problem = replace(problem, loss=replace(problem.loss, width=at.width))
    evaluation = problem.evaluate(w)
    value = problem.objective(evaluation, w)
    if problem.loss.name == "perceptron":
        gap = 0.0 if at.gap == value == 0.0 else 1.0
    elif not problem.penalty.free[:-1].any() or isinstance(problem.loss, CustomSurrogate):
        gap = problem.gap(evaluation, w)
    else:
        gap = at.gap if at.step is None or np.isinf(at.gap) else boxed_gap(problem, w, at.step)
    return at._replace(objective=value, gap=gap, least=evaluation.least)


# --- weights whose hinge losses are surely zero -----------------------------------------------------------------------


def clear_of_margin(posed: PosedProblem, at: Iterate, tol: float) -> Iterate:
    """Separable rows under a hinge whose losses are rounding alone: the weights a last digit longer, so that every row is beyond its margin.

    Of a row on its margin no sum can tell whether it loses a rounding or nothing; times a great C that would be more than the objective. Longer by
    so little, the penalty hardly grows, and no loss is left.
    """
    problem = posed.problem
    if not (isinstance(problem, Problem) and problem.loss.name == "hinge" and at.support is not None):
        return at
    n, seen = float(sum(problem.reach.weights)), max(NEGLIGIBLE, SEEN * tol) * at.objective
    if n * float(_room(at.w, problem.scale[:-1])) <= seen:
        return at
    step = EPS * terms_of_scores(about_zero(at.w, problem.centre), problem.centre)
    far = np.abs(problem.reach.means).max(axis=0)  # whoever counts rows from their mean rounds by that, too
    most = 2 * step + problem.fold(partial(_most_short, at.w, problem.centre, 2 * far), max)
    longer = 1.0 / (1.0 - most) if most < 0.5 else np.inf
    value = problem.penalty.value(longer * at.w) if longer < np.inf else np.inf
    if not (longer > 1.0 and value - at.objective <= SLIGHT * tol * at.objective):
        return at
    bound = at.objective * (1.0 - at.gap)
    return at._replace(w=longer * at.w, objective=value, gap=relative_gap(value, bound))


def _most_short(w: Floats, centre: Floats, far: Floats, block: Block) -> float:
    """By how much a row is short of its margin at most, and of what rounding may hide twice over."""
    assert block.y is not None
    room = _room(w, np.abs(rows_from(block.X, centre)) + far)
    short = 1.0 - block.y * rows_times(block.X, w, centre) + 2 * room
    return float(np.max(short if block.w is None else short[block.w > 0], initial=-np.inf))


# --- what rounding hides of losses that are nearly zero ---------------------------------------------------------------


def with_rounding(posed: PosedProblem, at: Iterate, w: Floats, tol: float, rows: int) -> Iterate:
    """The answer with a gap that allows for the rounding of scores, for weights w about zero.

    A row on its margin loses nothing, or what the last digit of its score says. Where the objective is small beside the weight of such
    rows that digit is more than the whole of it, and no sum of losses can tell how near the least value it is.
    """
    problem, seen = posed.problem, max(NEGLIGIBLE, SEEN * tol) * at.objective
    if isinstance(problem, Problem) and problem.penalty.free[:-1].any() and at.objective <= problem.floor > 0:
        return at._replace(gap=0.0 if _meets(problem, w) else np.inf)
    if not at.gap <= tol and (isinstance(problem, SoftmaxProblem) or problem.loss.name not in STRAIGHT):
        return at
    there = about_centre(w, problem.centre)
    errors = there
    if isinstance(problem, Problem) and _shifts(problem):  # as the checker adds up z − t
        errors = about_centre(w, problem.centre, problem.reach.target)
    hidden = _hidden_slopes(problem, errors, at.objective, tol, rows) + _beyond_l1(
        problem, errors, at.objective, tol, rows
    )
    if isinstance(problem, Problem) and problem.loss.name in STRAIGHT:
        at = at._replace(gap=at.gap + hidden) if hidden > SLIGHT * tol else at
        return at if at.gap <= tol else _but_for_rounding(problem, at, there)
    at = at._replace(gap=at.gap + hidden)
    if isinstance(problem, SoftmaxProblem):
        return _softmax_in_full(problem, at, there)
    if problem.loss.name not in HINGES:
        return at
    n = float(sum(problem.reach.weights))
    short, room = np.sqrt(at.objective / n), _room(there, problem.scale[:-1])
    if n * _lost(problem.loss.name, short, room) <= seen:
        return at
    lost = problem.fold(partial(_lost_block, problem.loss.name, there, problem.centre), float.__add__)
    return at._replace(gap=at.gap + max(0.0, lost - seen) / at.objective) if at.objective > 0 else at


def _but_for_rounding(problem: Problem, at: Iterate, w: Floats) -> Iterate:
    """The answer with a gap that lets pass what the rounding of errors may add to a sum of straight losses: of a perfect fit that is all of it."""
    lost = problem.fold(partial(_rounding_of_errors, w, problem.centre, abs(problem.reach.target)), float.__add__)
    return at._replace(gap=max(0.0, at.gap - lost / at.objective) if np.isfinite(at.gap) else at.gap)


def _rounding_of_errors(w: Floats, centre: Floats, target: float, block: Block) -> float:
    """Of scores, but no more than some roundings of the target: what weights lose that are large and cancel is their loss."""
    assert block.y is not None
    room = (
        (len(w) + 3)
        * EPS
        / 2
        * (np.abs(block.y) + np.abs(rows_from(block.X, centre)) @ np.abs(w[:-1]) + abs(float(w[-1])))
    )
    room = np.minimum(room, 0.5 * MET * (len(w) + 2) * EPS * (np.abs(block.y) + target))
    return float(room.sum() if block.w is None else block.w @ room)


def _meets(problem: Problem, w: Floats) -> bool:
    """Whether whoever adds up these scores again finds losses no greater than what rounding leaves."""
    step = 0.5 * (len(w) + 2) * EPS * (terms_of_scores(w, problem.centre) + float(problem.scale[:-1] @ np.abs(w[:-1])))
    return bool(float(sum(problem.reach.weights)) * step**2 <= 0.25 * problem.floor)


def _hidden_slopes(problem: Problem | SoftmaxProblem, w: Floats, value: float, tol: float, rows: int) -> float:
    """The share that the rounding of slopes Σ c u x takes from a bound with its square over 2 l2, where that is more than is let pass.

    Each row's multiplier of losses whose slope is at most 1 has a last digit of its own, of n / rows; together they are no more than twice the
    objective (|u| ≤ ℓ; of a hinge the lower bound is Σα less the penalty). Those of z − t are together no more than √(2nF), of its square beyond a tube 2√(nF), and each
    has the last digit of its score, times the curvature.
    """
    l2 = float(np.max(problem.penalty.l2[:-1], initial=0.0))
    name = "softmax" if isinstance(problem, SoftmaxProblem) else problem.loss.name
    bounded = name in ("softmax", *BOUNDED, *STRAIGHT)
    difference = name in (*DIFFERENCES, SQUARED_TUBE.name)
    if not (l2 > 0 and (bounded or difference) and value > 0 and np.isfinite(w).all()):
        return 0.0
    n = float(np.sum(problem.reach.weights))
    with np.errstate(over="ignore"):
        together = n / np.sqrt(max(rows, 1))
        off = EPS * (together if name in STRAIGHT else min(together, 2 * value))
        if difference:
            bend = CURVATURES[name]
            off = EPS * np.sqrt(2 * bend * n * value) + bend * together * float(_room(w, problem.scale[:-1]))
        lost = float(np.sum((off * problem.scale[:-1] / np.sqrt(2 * l2)) ** 2)) / value
    return lost if lost > SEEN * tol else 0.0


def _beyond_l1(problem: Problem | SoftmaxProblem, w: Floats, value: float, tol: float, rows: int) -> float:
    """The share by which the rounding of slopes |Σ c u x| ≤ l1 may have a dual point shrunk, where l1 alone holds the weights.

    Each of the rows' multipliers is off by its last digit, and by that of its score times the curvature; of many rows these cancel in part.
    """
    l1, l2 = problem.penalty.l1[:-1], problem.penalty.l2[:-1]
    held = (l1 > 0) & (l2 == 0)
    name = "softmax" if isinstance(problem, SoftmaxProblem) else problem.loss.name
    if not (held.any() and value > 0 and name in CURVATURES and np.isfinite(w).all()):
        return 0.0
    n = float(np.sum(problem.reach.weights))
    slopes = n if name in ("softmax", *BOUNDED, *STRAIGHT) else 2 * np.sqrt(n * value)
    room = max(float(_room(each, problem.scale[:-1])) for each in np.atleast_2d(w))
    off = (
        problem.scale[:-1] * min(1.0, APART / np.sqrt(max(rows, 1))) * (4 * EPS * slopes + CURVATURES[name] * n * room)
    )
    lost = float(np.max(off[held] / l1[held]))
    return lost if lost > SEEN * tol else 0.0


def _softmax_in_full(problem: SoftmaxProblem, at: Iterate, w: Floats) -> Iterate:
    """The same for losses that are each added up to the rounding of one: where they are nearly zero, they are taken anew with all digits."""
    n, penalty = float(problem.reach.weights.sum()), problem.penalty.value(w)
    if at.objective > FEW * n:
        return at
    value = penalty + problem.fold(partial(_small_losses, w, problem.centre), float.__add__)
    if penalty > 0 and value > 0:
        return at._replace(objective=value, gap=1.0 - (at.objective * (1.0 - at.gap) - ROUNDINGS * EPS * n) / value)
    return at._replace(objective=value, gap=at.gap * at.objective / value if at.objective > 0 else np.inf)


def _small_losses(w: Floats, centre: Floats, block: Block) -> float:
    """Σ c log(1 + Σ_k≠y e^(z_k − z_y))."""
    assert block.y is not None
    own, at = block.y.astype(np.int64), np.arange(len(block.y))
    z = np.stack([rows_times(block.X, each, centre) for each in w], axis=1)
    z -= z[at, own][:, None]
    z[at, own] = -np.inf
    losses = np.logaddexp(0.0, np.logaddexp.reduce(z, axis=1))
    return float(losses.sum() if block.w is None else block.w @ losses)


def _room(w: Floats, sizes: Any) -> Any:
    """What the rounding of the d + 1 terms of a score may change it by, for rows of these sizes |x − p| (…, d)."""
    return (len(w) + 3) * EPS * (1.0 + sizes @ np.abs(w[:-1]) + abs(float(w[-1])))


def _lost(name: str, short: Any, room: Any) -> Any:
    """What a row that is `short` of its margin loses more where its score is less by `room`."""
    return room if name == "hinge" else room * (2 * short + room)


def _lost_block(name: str, w: Floats, centre: Floats, block: Block) -> float:
    assert block.y is not None
    c = np.ones(len(block.y)) if block.w is None else block.w
    short = 1.0 - block.y * rows_times(block.X, w, centre)
    room = _room(w, np.abs(rows_from(block.X, centre)))
    return float(c @ np.where(short > -room, _lost(name, np.maximum(short, 0.0), room), 0.0))


class MultiplierSums(NamedTuple):
    """Σcℓ, −Σcℓ*(u) and −Σ c u (x − p, 1) of multipliers −cu."""

    loss: float
    dual: float
    pull: Floats


def _by_multipliers(problem: Problem, at: Iterate, support: MarginRows, w: Floats) -> Iterate:
    """Of straight losses: rows without a multiplier of their own have their whole weight inside the margin, and none beyond."""
    sums = problem.fold(partial(_absorb, problem.loss, support, w, problem.centre), _merge)
    pull = sums.pull if problem.intercept else np.append(sums.pull[:-1], 0.0)
    value = sums.loss + problem.penalty.value(w)
    return at._replace(objective=value, gap=relative_gap(value, problem.bound(w, value, sums.dual, -pull)))


def _absorb(loss: Surrogate, support: MarginRows, w: Floats, centre: Floats, block: Block) -> MultiplierSums:
    assert block.y is not None
    t = block.y
    c = np.ones(len(t)) if block.w is None else block.w
    z = rows_times(block.X, w, centre)
    sides = sides_of(loss, t, c)
    short = [side.offset - side.sign * z for side in sides]
    beta = np.asarray(sum(np.where(a > 0, side.cost, 0.0) * side.sign for a, side in zip(short, sides)))
    here = (support.rows >= block.start) & (support.rows < block.start + len(c))
    place, hinge = support.rows[here] - block.start, loss.kind == MARGIN
    beta[place] = support.values[here] * (t[place] if hinge else 1.0)
    value = sum(float(side.cost @ np.maximum(a, 0.0)) for a, side in zip(short, sides))
    width = loss.width if loss.name == TUBE.name else 0.0
    dual = float((beta * t).sum()) - width * float(np.abs(beta).sum())
    return MultiplierSums(value, dual, rows_back(block.X, beta, centre))


def _merge(a: MultiplierSums, b: MultiplierSums) -> MultiplierSums:
    return MultiplierSums(a.loss + b.loss, a.dual + b.dual, a.pull + b.pull)


def least_class_margin(problem: SoftmaxProblem, W: Floats) -> float:
    """min_i z_{i,y_i} − max_{k ≠ y_i} z_ik over the rows of positive weight: above zero, W separates all classes."""
    return problem.fold(partial(_absorb_least, W, problem.centre), min)


def _absorb_least(W: Floats, centre: Floats, block: Block) -> float:
    assert block.y is not None
    z = np.stack([rows_times(block.X, w, centre) for w in W], axis=1)
    own = np.asarray(block.y, dtype=np.int64)[:, None] == np.arange(len(W))
    margins = z[own] - np.where(own, -np.inf, z).max(axis=1)
    return float(np.min(margins if block.w is None else margins[block.w > 0], initial=np.inf))
