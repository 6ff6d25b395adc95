"""The claim that every fit by a loss and a penalty makes: how far from the least value it can be at most, at just the weights that are written down.

A solver counts rows from a centre p, and the model has b = b_p − p·w. Where p is far from zero compared with how far apart the rows
are, b has so large a value that its last digit moves scores. What the model then states is measured at the weights that it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage, Kind
from assay.engines import Block
from assay.families.linear.problem import Objective, PosedProblem, about_centre, about_zero, terms_of_scores
from assay.inputs.labels import class_multipliers, plain_labels
from assay.numerics import Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.solvers.newton import boxed_gap
from assay.solvers.problem import BOX, Iterate, MarginRows, Problem, relative_gap, rows_back, rows_from, rows_times
from assay.solvers.softmax_problem import SoftmaxProblem

SHIFT = 1e-6  # what rounding may leave of a sum over the classes, as a share of its terms
ROUNDS = 4  # of subtracting a common shift: what one leaves of a shift far larger than the weights is its rounding
LOOSEST = 1e-1  # a gap beyond this says little, whatever the user allowed
CLAIM_BOX = 1e3  # how far, in units of a column's scale, an unpenalised minimum is looked for


COVERAGE = Coverage(
    proof={
        "duality_gap boxed_duality_gap small_slope hard_margin custom_loss": "coef_ intercept_",
        "duality_gap boxed_duality_gap": "objective_",
        "separability_weak": "direction_",
        "separating_weights": "margin_",
        "inverse_hessian": "covariance_",
    },
    nothing="multipliers_ weight_ gap_ width_ dual_problem_ dual_rows_ dual_values_ freedom_ n_iter_ converged_ solver_ separable_ away_ "
    "step_ rows_",
    but="coefficients are tied up to the stated gap; multipliers and gap_ are witnesses, of which others may prove as much; what all classes of a "
    "softmax share is open where l1, init or warm_start let a fit end anywhere: it changes no probability",
)
EPS = float(np.finfo(np.float64).eps)
SAME = 1e-11  # a relative change of the objective that nobody will notice
DIFFERENCES = ("squared", "huber")  # losses of z − t
ROUNDINGS = 16  # what adding up a score may be off by, in roundings of its largest term
BOUNDED = ("hinge", "log")  # losses whose slope is at most 1
HINGES = ("hinge", "squared hinge")  # losses that end at a margin
FEW = 1e-6  # a mean loss so small has digits too few for its claim where it is added up to the rounding of one
NEGLIGIBLE = 1e-10  # of the objective: a rounding of the losses below this is not told
SEEN = 0.005  # nor is one below such a share of the tolerance


def unshifted(objective: Objective, W: Floats) -> Floats:
    """Softmax weights (K, d + 1) whose free columns add up to zero over the classes: what all classes share changes no probability."""
    free = _free_columns(objective, W.shape[1])
    for _ in range(ROUNDS):
        shift = np.where(free & ~_adds_up(W), W.mean(axis=0), 0.0)
        if not shift.any():
            break
        W = W - shift
    return W


def _free_columns(objective: Objective, columns: int) -> Any:
    unpenalised = np.full(columns, objective.unpenalised)
    unpenalised[-1] = objective.fit_intercept and objective.intercept_l2 == 0
    return unpenalised


def _adds_up(W: Floats) -> Any:
    return np.abs(W.sum(axis=0)) <= SHIFT * np.abs(W).sum(axis=0)


def _refuse_shift(objective: Objective, model: Any) -> None:
    """Raise where all classes' weights were moved together, which no loss shows: fits from zero have no such shift."""
    W = np.column_stack([model.coef_, model.intercept_])
    asked = model._fitted_with if hasattr(model, "_fitted_with") else model.get_params()
    anywhere = objective.l1 > 0 or asked.get("init") is not None or asked.get("warm_start")
    if not anywhere and np.any(_free_columns(objective, W.shape[1]) & ~_adds_up(W)):
        raise ValueError("the weights of all classes are shifted together, as no fit does")


def witness_of(objective: Objective, model: Any) -> dict[str, Any]:
    """Everything that says what the objective is, and where it is small."""
    if objective.loss is None:
        _refuse_shift(objective, model)
    classes = getattr(model, "classes_", None)
    names = ("dual_problem", "dual_rows", "dual_values")
    support = {name: getattr(model, f"{name}_") for name in names if hasattr(model, f"{name}_")}
    if objective.loss is not None and objective.loss.name == "hinge" and not support:
        support = {"width": model.width_}
    return {
        **support,
        "coef": np.atleast_2d(model.coef_),
        "intercept": np.atleast_1d(model.intercept_),
        "classes": None if classes is None else plain_labels(classes),
        "class_factor": _factors(model, classes),
        "balanced": getattr(model, "class_weight", None) == "balanced",
        "loss": "softmax" if objective.loss is None else objective.loss.name,
        "delta": 1.0 if objective.loss is None else objective.loss.width,
        "objective": model.objective_,
        "strengths": np.array([objective.l1, objective.l2, objective.intercept_l2]),
        "per_weight": objective.per_weight,
        "fit_intercept": objective.fit_intercept,
        "tolerance": float(objective.tol),
    }


def _factors(model: Any, classes: Any) -> Floats:
    """The factor of each class: as the hyper-parameter gives it; 'balanced' follows from the rows, which the checker asks."""
    given = getattr(model, "class_weight", None)
    if classes is None:
        return np.ones(1)
    if isinstance(given, str):
        found: Floats = model.multipliers_
        return found
    return class_multipliers(given, classes, np.ones(len(classes)))


def loss_text(objective: Objective) -> str:
    """The loss in words; solvers take the squared loss as ½(z − t)²."""
    name = "softmax" if objective.loss is None else objective.loss.name
    return "half the squared" if name == "squared" else name


def penalty_text(objective: Objective, weight: float) -> str:
    """The penalty in words."""
    l1, l2 = objective.strengths(weight)
    parts = [f"{l1:.4g}*|w|_1"] * (l1 > 0) + [f"{l2:.4g}/2*|w|^2"] * (l2 > 0)
    parts += [f"{objective.intercept_l2:.4g}/2*b^2"] * (objective.intercept_l2 > 0)
    return " + ".join(parts) or "no penalty"


def within_tolerance(
    objective: Objective, model: Any, name: str, check: str, statement: str, kind: Kind = "proof", **more: Any
) -> Claim:
    """That the largest gap of the problems is no more than the tolerance; `more` is what the witness holds besides the objective."""
    gap = float(model.gap_.max())
    return Claim(
        name=name,
        statement=statement,
        holds=bool(gap <= objective.tol <= LOOSEST),
        check=check,
        value=min(gap, 1e300),
        bound=float(objective.tol),
        kind=kind,
        witness={**witness_of(objective, model), **more},
    )


def gap_claim(objective: Objective, model: Any) -> Claim:
    """The duality gap of each problem, the largest of which counts."""
    many = f" (each of {len(model.gap_)} problems)" if len(model.gap_) > 1 else ""
    statement = (
        f"sum of {loss_text(objective)} losses + {penalty_text(objective, model.weight_)} = {float(model.objective_.sum()):.10g}{many}: "
        f"at most a share of {objective.tol:g} above the least value there is, by a dual bound"
    )
    return within_tolerance(objective, model, "duality gap", "duality_gap", statement)


def boxed_gap_claim(objective: Objective, model: Any, step: Floats) -> Claim:
    """Without a penalty: the gap against all weights within a box, by the dual point of Newton's next step."""
    statement = (
        f"sum of {loss_text(objective)} losses = {float(model.objective_.sum()):.10g}: at most a share of {objective.tol:g} above the least value "
        f"for weights within {CLAIM_BOX:g} of these (in units of 1 / scale of the column), by a dual bound"
    )
    return within_tolerance(objective, model, "duality gap", "boxed_duality_gap", statement, step=step, box=CLAIM_BOX)


def estimate_claim(objective: Objective, model: Any) -> Claim:
    """Without penalty and dual bound: how small the slope is, measured by what a step of the preconditioner would gain."""
    statement = (
        f"sum of {loss_text(objective)} losses = {float(model.objective_.sum()):.10g}: a step along the slope g promises less than a share of "
        f"{objective.tol:g} of it, g'(K X'X)^-1 g / 2"
    )
    return within_tolerance(objective, model, "slope", "small_slope", statement, "estimate")


def likelihood_claim(objective: Objective, model: Any, margin: float) -> Claim:
    """Separable classes: no maximum of the likelihood exists, and the weights are the direction in which it grows."""
    return Claim(
        name="no maximum likelihood",
        statement="every row lies on the right side of these weights, so that the likelihood grows for ever along them: its "
        "maximum does not exist",
        holds=margin > 0,
        check="separating_weights",
        value=margin,
        witness=witness_of(objective, model),
    )


def weak_claim(model: Any) -> Claim:
    """Classes that touch: no maximum of the likelihood exists either."""
    return Claim(
        name="no maximum likelihood",
        statement="along a direction every row stays on its side or on the plane (to rounding) and some gain for ever: the "
        "likelihood has no maximum, and the weights are only where the fit stopped",
        holds=True,
        check="separability_weak",
        kind="warning",
        witness={
            "coef": model.direction_[:-1],
            "intercept": float(model.direction_[-1]),
            "space": "affine",
            "positive": plain_labels(model.classes_)[getattr(model, "away_", 1)],
        },
    )


def covariance_claim(objective: Objective, model: Any) -> Claim:
    """The covariance of the estimates is the inverse of the loss's Hessian."""
    return Claim(
        name="standard errors",
        statement="the covariance of (w, b) is the inverse of the Hessian of the loss (the observed information)",
        holds=True,
        check="inverse_hessian",
        witness={**witness_of(objective, model), "covariance": model.covariance_},
    )


def custom_claim(objective: Objective, model: Any) -> Claim:
    """How far from the least value; no more than an estimate, as convexity was looked for on a grid alone."""
    loss = objective.loss
    assert isinstance(loss, CustomSurrogate)
    where = f"for weights that are penalised or within {BOX:g} of these (in units of 1 / scale of the column)"
    statement = (
        f"at most a share of {objective.tol:g} above the least value there is, {where}, if the loss is convex as on the grid where it was checked"
        if loss.convex
        else f"so flat that a convex function would be at most a share of {objective.tol:g} above its least, {where}; this loss is not "
        "convex, and its risk may be less elsewhere"
    )
    whole = f"sum of {loss.label} losses + {penalty_text(objective, model.weight_)} = {float(model.objective_.sum()):.10g}: {statement}"
    return within_tolerance(objective, model, "slope", "custom_loss", whole, "estimate", loss=loss, box=BOX)


def no_mistake_claim(objective: Objective, model: Any) -> Claim:
    """Zero is the least that the perceptron's loss can be; weights of zero have that too, and mistakes all the same (gap 1)."""
    value, clean = float(model.objective_.sum()), not model.gap_.any()
    return Claim(
        name="no mistakes",
        statement="no row of the fit lies on its wrong side, so that the perceptron loss is zero, the least there is"
        if clean
        else f"rows lie on their wrong side or on the plane: the sum of perceptron losses is {value:.6g}",
        holds=bool(value == 0 and clean),
        check="zero_perceptron_loss",
        value=value,
        bound=0.0,
        witness=witness_of(objective, model),
    )


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
    return problem.loss.name in DIFFERENCES and problem.intercept and bool(problem.penalty.free[-1])


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


# --- what rounding hides of losses that are nearly zero ---------------------------------------------------------------


def with_rounding(posed: PosedProblem, at: Iterate, w: Floats, tol: float) -> Iterate:
    """The answer with a gap that allows for the rounding of scores, for weights w about zero.

    A row on its margin loses nothing, or what the last digit of its score says. Where the objective is small beside the weight of such
    rows that digit is more than the whole of it, and no sum of losses can tell how near the least value it is.
    """
    problem, seen = posed.problem, max(NEGLIGIBLE, SEEN * tol) * at.objective
    if not at.gap <= tol:
        return at
    at = at._replace(gap=at.gap + _hidden_slopes(problem, at.objective, tol))
    if isinstance(problem, SoftmaxProblem):
        return _softmax_in_full(problem, at, about_centre(w, problem.centre))
    if problem.loss.name not in HINGES:
        return at
    there, n = about_centre(w, problem.centre), float(sum(problem.reach.weights))
    short, room = np.sqrt(at.objective / n), _room(there, problem.scale[:-1])
    if n * _lost(problem.loss.name, short, room) <= seen:
        return at
    lost = problem.fold(partial(_lost_block, problem.loss.name, there, problem.centre), float.__add__)
    return at._replace(gap=at.gap + max(0.0, lost - seen) / at.objective) if at.objective > 0 else at


def _hidden_slopes(problem: Problem | SoftmaxProblem, value: float, tol: float) -> float:
    """The share that the rounding of slopes Σ c u x takes from a bound with its square over 2 l2, where that is more than is let pass.

    Each of n multipliers of losses whose slope is at most 1 has a last digit of its own.
    """
    l2, bounded = (
        float(np.max(problem.penalty.l2[:-1], initial=0.0)),
        isinstance(problem, SoftmaxProblem) or problem.loss.name in BOUNDED,
    )
    if not (l2 > 0 and bounded and value > 0):
        return 0.0
    n = float(np.sum(problem.reach.weights))
    with np.errstate(over="ignore"):
        lost = float(np.sum((EPS * np.sqrt(n) * problem.scale[:-1] / np.sqrt(2 * l2)) ** 2)) / value
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
    """Σcℓ, Σα and Σ α t (x − p, 1)."""

    loss: float
    alpha: float
    pull: Floats


def _by_multipliers(problem: Problem, at: Iterate, support: MarginRows, w: Floats) -> Iterate:
    """Of a hinge: rows without a multiplier of their own have their whole weight inside the margin, and none beyond."""
    sums = problem.fold(partial(_absorb, support, w, problem.centre), _merge)
    pull = sums.pull if problem.intercept else np.append(sums.pull[:-1], 0.0)
    value = sums.loss + problem.penalty.value(w)
    return at._replace(objective=value, gap=relative_gap(value, problem.bound(w, value, sums.alpha, -pull)))


def _absorb(support: MarginRows, w: Floats, centre: Floats, block: Block) -> MultiplierSums:
    assert block.y is not None
    c = np.ones(len(block.y)) if block.w is None else block.w
    short = 1.0 - block.y * rows_times(block.X, w, centre)
    alpha = np.where(short > 0, c, 0.0)
    here = (support.rows >= block.start) & (support.rows < block.start + len(c))
    alpha[support.rows[here] - block.start] = support.values[here]
    pull = rows_back(block.X, alpha * block.y, centre)
    return MultiplierSums(float(c @ np.maximum(short, 0.0)), float(alpha.sum()), pull)


def _merge(a: MultiplierSums, b: MultiplierSums) -> MultiplierSums:
    return MultiplierSums(a.loss + b.loss, a.alpha + b.alpha, a.pull + b.pull)


def least_class_margin(problem: SoftmaxProblem, W: Floats) -> float:
    """min_i z_{i,y_i} − max_{k ≠ y_i} z_ik over the rows of positive weight: above zero, W separates all classes."""
    return problem.fold(partial(_absorb_least, W, problem.centre), min)


def _absorb_least(W: Floats, centre: Floats, block: Block) -> float:
    assert block.y is not None
    z = np.stack([rows_times(block.X, w, centre) for w in W], axis=1)
    own = np.asarray(block.y, dtype=np.int64)[:, None] == np.arange(len(W))
    margins = z[own] - np.where(own, -np.inf, z).max(axis=1)
    return float(np.min(margins if block.w is None else margins[block.w > 0], initial=np.inf))
