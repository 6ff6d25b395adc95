"""From surveyed rows and a plan to the problem that a solver works on, with its first look where that is known already."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.engines import Engine
from assay.hypotheses.linear.plan import Plan
from assay.hypotheses.linear.survey import Survey
from assay.hypotheses.linear.targets import Prepared
from assay.numerics import Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.risk.surrogates import REGRESSION, Surrogate
from assay.solvers.custom_problem import CustomProblem
from assay.solvers.problem import WIDE_SPARSE, Look, Problem, Reach
from assay.solvers.softmax_problem import ClassReach, SoftmaxProblem

ROWS_A_WEIGHT = 400  # so many rows for each weight make a Hessian good enough for Newton's steps
MOST_SAMPLED = 16


@dataclass(frozen=True)
class Posed:
    """A problem, its Gram matrix Σ c (x − p, 1)(x − p, 1)ᵀ (d + 1, d + 1) or None, and the look at w = 0 or None."""

    problem: Problem | SoftmaxProblem
    gram: Floats | None
    first: Look | None


def column_mean(survey: Survey) -> Floats:
    """The mean of each column over all rows."""
    if survey.gram is not None:
        return survey.gram.mean
    mean: Floats = survey.weight @ survey.classes.mean / survey.n
    return mean


def column_variance(survey: Survey, mean: Floats) -> Floats:
    """The variance of each column over all rows."""
    if survey.gram is not None:
        return np.diag(survey.gram.scatter) / survey.n
    between = survey.weight @ (survey.classes.mean - mean) ** 2
    return np.asarray((survey.classes.m2.sum(axis=0) + between) / survey.n)


def pose(engine: Engine, prepared: Prepared, survey: Survey, plan: Plan, positive: int | None) -> Posed:
    """The problem of class `positive` against the rest (None: softmax, or regression)."""
    rows, encode = prepared.of(positive)
    d = rows.n_columns
    mean = column_mean(survey)
    wide = rows.sparse and d > WIDE_SPARSE
    centre = mean if plan.free_intercept and not wide else np.zeros(d)
    spread = np.sqrt(column_variance(survey, mean) + (mean - centre) ** 2)
    scale = np.append(np.where(spread > 0, spread, 1.0), 1.0)
    penalty = plan.penalty(d, survey.n)
    gram = gram_about(survey, centre)
    if plan.loss is None:
        reach = ClassReach(survey.weight, survey.classes.mean - centre)
        softmax = SoftmaxProblem(engine, rows, penalty, centre, scale, reach, encode, plan.fit_intercept)
        return Posed(softmax, gram, None)
    make = CustomProblem if isinstance(plan.loss, CustomSurrogate) else Problem
    reaches = _reach(survey, plan.loss, centre, positive)
    sample = max(1, min(MOST_SAMPLED, survey.rows // (ROWS_A_WEIGHT * (d + 1))))
    problem = make(engine, rows, plan.loss, penalty, centre, scale, reaches, encode, plan.fit_intercept, sample)
    return Posed(problem, gram, _first_look(problem, survey, gram, positive))


def _reach(survey: Survey, loss: Surrogate, centre: Floats, positive: int | None) -> Reach:
    if loss.kind == REGRESSION or positive is None:
        target = 0.0 if survey.gram is None else float(survey.gram.target_mean[0])
        return Reach((survey.n, 0.0), (column_mean(survey) - centre, np.zeros_like(centre)), target)
    inside = float(survey.weight[positive])
    outside = survey.n - inside
    rest = survey.weight.copy()
    rest[positive] = 0.0
    mean = rest @ survey.classes.mean / outside if outside > 0 else np.zeros_like(centre)
    return Reach((inside, outside), (survey.classes.mean[positive] - centre, mean - centre), 0.0)


def gram_about(survey: Survey, centre: Floats) -> Floats | None:
    """Σ c (x − p, 1)(x − p, 1)ᵀ from the products about the mean."""
    if survey.gram is None:
        return None
    d, n = len(centre), survey.n
    lean = survey.gram.mean - centre
    G = np.empty((d + 1, d + 1))
    G[:d, :d] = survey.gram.scatter + n * np.outer(lean, lean)
    G[d, :d] = G[:d, d] = n * lean
    G[d, d] = n
    return G


def _first_look(problem: Problem, survey: Survey, gram: Floats | None, positive: int | None) -> Look | None:
    """The look at w = 0, where every row has the same slope but for its sign, and the same curvature."""
    loss, n = problem.loss, survey.n
    if gram is None or survey.gram is None:
        return None
    if loss.name == "squared":
        total = n * float(survey.gram.target_mean[0])
        about_mean = survey.gram.cross
        value = smooth = 0.5 * (float(survey.gram.target_scatter[0]) + total * total / n)
        slope, bend, slopes = -1.0, 1.0, 0.0
    elif loss.at_zero is not None and positive is not None:
        value, smooth, slope, bend = loss.at_zero
        inside = float(survey.weight[positive])
        total = 2.0 * inside - n
        about_mean = 2.0 * inside * (survey.classes.mean[positive] - survey.gram.mean)
        slopes, value, smooth = n * abs(slope), n * value, n * smooth
    else:
        return None
    lean = survey.gram.mean - problem.centre
    gradient = slope * np.append(about_mean + total * lean, total)
    H = bend * gram
    if not problem.intercept:
        gradient[-1] = H[-1, :] = H[:, -1] = 0.0
    return Look(float(value), float(smooth), slopes, 0.0, gradient, H)
