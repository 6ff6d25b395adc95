"""How many numbers of a penalised linear fit are free, for Occam's rule.

    one vector of weights:   tr κG_A (κG_A + l2·I)⁻¹ + 1        A: the columns of weight ≠ 0,  κ ≥ ℓ''

G = Σ c (x − x̄)(x − x̄)ᵀ (about zero where no intercept is fitted). As κG bounds the Hessian of the loss, this bounds the
effective number of parameters of a ridge fit (Hastie, Tibshirani and Friedman, section 7.6) from above; without l2 it is the
number of weights ≠ 0. Softmax has K − 1 free vectors, as adding one vector to all classes changes nothing; there
κ = ½ (Böhning, 1992).
"""

from __future__ import annotations

import numpy as np

from assay.families.linear.problem import Objective, gram_about
from assay.families.linear.survey import LinearSurvey
from assay.numerics import Floats
from assay.solvers.preconditioner import CURVATURE

MOST_COLUMNS = 512  # beyond, eigenvalues cost too much of a fit; all weights ≠ 0 are counted then
SOFTMAX_CURVATURE = 0.5


def count_free(coef: Floats, intercept: Floats, shared: bool) -> float:
    """The weights and intercepts ≠ 0 of m vectors; `shared`: adding one vector to all changes nothing, so at most m − 1 a column."""
    used = np.column_stack([coef, intercept]) != 0
    a_column = used.sum(axis=0)
    return float((np.minimum(a_column, len(used) - 1) if shared else a_column).sum())


def effective_freedom(survey: LinearSurvey, plan: Objective, coef: Floats) -> float | None:
    """The sum above over the weight vectors coef (m, d), or None where the weights ≠ 0 are to be counted."""
    l2 = plan.strengths(survey.n)[1]
    kappa = SOFTMAX_CURVATURE if plan.loss is None else CURVATURE.get(plan.loss.name)
    if survey.gram is None or l2 == 0 or kappa is None or len(survey.gram.mean) > MOST_COLUMNS:
        return None
    G = survey.gram.scatter
    if not plan.fit_intercept:
        about_zero = gram_about(survey, np.zeros(len(G)))
        assert about_zero is not None
        G = about_zero[:-1, :-1]
    free, known = 0.0, {}
    for w in coef:
        used = w != 0
        key = used.tobytes()
        if key not in known:
            known[key] = _trace(kappa * G[np.ix_(used, used)], l2)
        free += known[key] + float(plan.fit_intercept)
    return free * (len(coef) - 1) / len(coef) if plan.loss is None else free


def _trace(H: Floats, l2: float) -> float:
    """tr H (H + l2·I)⁻¹."""
    values = np.maximum(np.linalg.eigvalsh(H), 0.0) if len(H) else np.zeros(0)
    return float((values / (values + l2)).sum())
