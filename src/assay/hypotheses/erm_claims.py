"""Claims of fits whose loss is a user's own, or the perceptron's."""

from __future__ import annotations

from typing import Any

from assay.certify import Claim
from assay.hypotheses.linear.claims import LOOSEST, penalty_text, witness_of
from assay.hypotheses.linear.plan import Plan
from assay.risk.custom_surrogate import CustomSurrogate
from assay.solvers.custom_problem import BOX


def custom_claim(plan: Plan, model: Any) -> Claim:
    """How far from the least value; no more than an estimate, as convexity was looked for on a grid alone."""
    loss = plan.loss
    assert isinstance(loss, CustomSurrogate)
    value, gap = float(model.objective_.sum()), float(model.gap_.max())
    where = f"for weights that are penalised or within {BOX:g} of these (in units of 1 / scale of the column)"
    statement = (
        f"at most a share of {plan.tol:g} above the least value there is, {where}, if the loss is convex as on the grid where it was checked"
        if loss.convex
        else f"so flat that a convex function would be at most a share of {plan.tol:g} above its least, {where}; this loss is not "
        "convex, and its risk may be less elsewhere"
    )
    return Claim(
        name="slope",
        statement=f"sum of {loss.label} losses + {penalty_text(plan, model.weight_)} = {value:.10g}: {statement}",
        holds=bool(gap <= plan.tol <= LOOSEST),
        check="custom_loss",
        value=min(gap, 1e300),
        bound=float(plan.tol),
        kind="estimate",
        witness={**witness_of(plan, model), "loss": loss, "box": BOX},
    )


def no_mistake_claim(plan: Plan, model: Any) -> Claim:
    """Zero is the least that the perceptron's loss can be."""
    value = float(model.objective_.sum())
    return Claim(
        name="no mistakes",
        statement="no row of the fit lies on its wrong side, so that the perceptron loss is zero, the least there is"
        if value == 0
        else f"rows lie on their wrong side: the sum of perceptron losses is {value:.6g}",
        holds=bool(value == 0),
        check="zero_perceptron_loss",
        value=value,
        bound=0.0,
        witness=witness_of(plan, model),
    )
