"""Occam's rule: of the models that cannot be told from the best, take the simplest (Breiman et al. 1984, §3.4.3).

chosen = argmin { complexity_i : R_i ≤ R_best + SE }
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.errors import DataError
from assay.numerics import Floats


class Choice(NamedTuple):
    """Numbers of the model of least risk, of the recommended one, and of all within one standard error; the risk up to there."""

    best: int
    chosen: int
    within: list[int]
    threshold: float


def recommend(risks: Any, standard_errors: Any, complexities: Any, *, difference_errors: Any = None) -> Choice:
    """The simplest model whose risk is within one standard error of the least.

    SE is the best one's, or, where risks were measured on the same rows, that of the difference to the best:
    `difference_errors`, one a model or a matrix of all pairs, NaN where it is not known. A risk that is NaN (a
    failed fit) takes no part; a complexity that is NaN counts as the greatest. Equal complexity: the lower risk.

    >>> recommend([0.125, 0.25, 0.5], [0.125, 0.1, 0.1], [50, 3, 1])
    Choice(best=0, chosen=1, within=[0, 1], threshold=0.25)
    """
    R, errors, size = (np.asarray(a, dtype=np.float64) for a in (risks, standard_errors, complexities))
    if not R.shape == errors.shape == size.shape or R.ndim != 1:
        raise DataError(f"Risks, errors and complexities must be as many: {R.shape}, {errors.shape}, {size.shape}.")
    if not np.isfinite(R).any():
        raise DataError("No model has a risk, so none can be recommended: every fit has failed.")
    R = np.where(np.isnan(R), np.inf, R)
    size = np.where(np.isnan(size), np.inf, size)
    best = int(np.lexsort((size, R))[0])
    error = float(np.nan_to_num(errors[best], nan=0.0))
    allowed = _allowed(len(R), best, error, difference_errors)
    within = np.flatnonzero(np.isfinite(R) & (R - R[best] <= allowed))
    chosen = int(within[np.lexsort((R[within], size[within]))[0]])
    return Choice(best, chosen, within.tolist(), float(R[best]) + error)


def _allowed(n: int, best: int, error: float, difference_errors: Any) -> Floats:
    """How far above the best each risk may be; the best itself is always within."""
    allowed = np.full(n, error)
    if difference_errors is not None:
        known = np.asarray(difference_errors, dtype=np.float64)
        known = known[best] if known.ndim == 2 else known
        if known.shape != (n,):
            raise DataError(f"There are {n} models, but standard errors of the differences of shape {known.shape}.")
        allowed = np.where(np.isnan(known), allowed, known)
    allowed[best] = max(allowed[best], 0.0)
    return allowed
