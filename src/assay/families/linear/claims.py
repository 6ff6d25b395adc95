"""The claim that every fit by a loss and a penalty makes: how far from the least value it can be at most."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage, Kind
from assay.families.linear.problem import Objective
from assay.inputs.labels import class_multipliers, plain_labels
from assay.numerics import Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.risk.terms import PINBALL, TUBE
from assay.solvers.problem import BOX

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
    W = np.column_stack([model._part("coef_"), model.intercept_])
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
        "coef": np.atleast_2d(model._part("coef_")),
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
    boxed = objective.unpenalised
    where = (
        f"for weights within {CLAIM_BOX:g} of these (in deviations of the target over the column's)"
        if boxed
        else "there is"
    )
    straight = objective.loss is not None and objective.loss.name in (TUBE.name, PINBALL.name)
    statement = (
        f"sum of {loss_text(objective)} losses + {penalty_text(objective, model.weight_)} = {float(model.objective_.sum()):.10g}{many}: "
        f"at most a share of {objective.tol:g}{' (and the rounding of errors)' if straight else ''} above the least value {where}, by a dual bound"
    )
    more: dict[str, Any] = {"box": CLAIM_BOX} if boxed else {}
    return within_tolerance(objective, model, "duality gap", "duality_gap", statement, **more)


def boxed_gap_claim(objective: Objective, model: Any, step: Floats) -> Claim:
    """Without a penalty: the gap against all weights within a box, by the dual point of Newton's next step."""
    met = not model.gap_.any() and model.objective_.any()
    or_met = ", or of targets that are met no more than rounding leaves" if met else ""
    statement = (
        f"sum of {loss_text(objective)} losses = {float(model.objective_.sum()):.10g}: at most a share of {objective.tol:g} above the least value "
        f"for weights within {CLAIM_BOX:g} of these (in units of 1 / scale of the column), by a dual bound{or_met}"
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


def cross_validation_claim(
    objective: Objective, model: Any, name: str = "alpha", error: str = "mean square error"
) -> Claim:
    """That the chosen strength, which the model calls by `name`, has the least mean error over the folds, whose fits are minima."""
    chosen, mean = float(getattr(model, f"{name}_")), float(model.cv_error_)
    strengths, share = np.atleast_2d(model.strengths_), float(getattr(model, "l1_ratio_", 0.0))
    r = int(np.argmax(getattr(model, "ratios_", np.zeros(1)) == share))
    a = int(np.argmax(strengths[r] == chosen))
    return Claim(
        name="cross-validation",
        statement=f"of {strengths.size} strengths {name} = {chosen:.6g} (l1_ratio {share:g}) has the least {error} on "
        f"{model.fold_errors_.shape[2]} folds of fits without them, {mean:.6g}; the fits at this choice are minima as above",
        holds=bool(np.isfinite(mean) and model.sure_),
        check="cross_validation",
        value=mean,
        kind="estimate",
        witness={
            **witness_of(objective, model),
            "errors": model.fold_errors_,
            "fold_weights": model.fold_weights_,
            "chosen": [r, a],
            "error": error,
            **({"folds": model.folds_} if hasattr(model, "folds_") else {}),
        },
    )
