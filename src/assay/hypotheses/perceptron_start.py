"""What a perceptron begins with: the rule of its visits, and the first weights or those of the fit so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import ParameterError
from assay.hypotheses.perceptron_run import FIRST_VOTERS, Rule
from assay.numerics import Floats

if TYPE_CHECKING:
    from assay.hypotheses.perceptron import Perceptron

NO_VOTES = np.empty(0, dtype=np.int64)


def rule_of(model: Perceptron) -> Rule:
    """What a visit does; hyper-parameters that contradict each other are refused."""
    if model.shuffle and model.order != "cyclic":
        raise ParameterError(f"shuffle=True belongs to order='cyclic', and order={model.order!r}.")
    if model.variant != "last" and model.order == "batch":
        raise ParameterError(
            f"variant={model.variant!r} is made of single visits, and order='batch' has none: use variant='last' or "
            "another order."
        )
    if model.tol is not None and model.order == "first-mistake":
        raise ParameterError(
            "tol is a share of the mistakes of a pass, and order='first-mistake' makes none: tol=None."
        )
    return Rule(
        model.order, float(model.eta0), bool(model.shuffle), int(model.random_state or 0), float(model.fit_intercept)
    )


def begin(model: Perceptron, d: int, afresh: bool) -> Any:
    """The weights to begin with: `init`, or those of the fit so far."""
    from assay.loops.perceptron import Online

    m = 1 if len(model.classes_) == 2 else len(model.classes_)
    averaged, voted = model.variant == "averaged", model.variant == "voted"
    if afresh:
        model.start_ = given_start(model, m, d)
        first, u = model.start_, np.zeros((m, d + 1))
        voters, votes = model.start_[None].repeat(FIRST_VOTERS, 0), np.zeros(FIRST_VOTERS, dtype=np.int64)
        sums, counts = np.zeros(3), np.array([0, 0, 1])
    else:
        _check_going_on(model)
        first = model.last_ if averaged else np.column_stack([model.intercept_, model.coef_])
        u = model.drift_ if averaged else np.zeros((m, d + 1))
        voters, votes = (model.voters_.copy(), model.votes_.copy()) if voted else (model.start_[None], NO_VOTES)
        sums = np.array([model.step_sum_, model.step_squares_, 0.0])
        counts = np.array([model.t_, model.mistakes_, len(votes)])
    u = u if averaged else np.zeros((0, 1))
    voters, votes = (voters, votes) if voted else (voters[:0], NO_VOTES)
    w, b, u, ub = (np.array(a, order="C") for a in (first[:, 1:], first[:, 0], u[:, 1:], u[:, 0]))
    return Online(w, b, u, ub, sums, counts, np.ascontiguousarray(voters), votes)


def _check_going_on(model: Perceptron) -> None:
    there = {"averaged": "drift_", "voted": "voters_"}.get(model.variant)
    if model._fitted_with["variant"] != model.variant or (there and not hasattr(model, there)):
        raise ParameterError(
            f"The model was fitted with variant={model._fitted_with['variant']!r}: partial_fit cannot go on with "
            f"variant={model.variant!r}. Fit again."
        )


def given_start(model: Perceptron, m: int, d: int) -> Floats:
    """The hyper-parameter `init` as m rows (b, w_1, …, w_d)."""
    if model.init is None:
        return np.zeros((m, d + 1))
    try:
        start = np.array(model.init, dtype=np.float64)
    except (TypeError, ValueError):
        start = np.empty(0)
    if m == 1 and start.ndim == 1:
        start = start[None]
    if start.shape != (m, d + 1) or not np.isfinite(start).all():
        what = f"{d + 1} finite numbers" if m == 1 else f"{m} rows (one a class) of {d + 1} finite numbers"
        raise ParameterError(
            f"{type(model).__name__}: init={model.init!r} must be {what}, the bias first: b, w_1, …, w_{d}."
        )
    if not model.fit_intercept:
        start[:, 0] = 0.0
    return start
