"""Which model to take: the best, unless a simpler one does as well.

A model is within one standard error of the best where its risk on the same rows is no more above than the standard error of the paired
difference,

    R_i − R_best ≤ SE(ℓ_i − ℓ_best)                   (the rule of Breiman et al. 1984, §3.4.3, with the error of the difference)

On few rows that leave is wide, and the simplest model within it can be much worse. So the recommended one is the simplest of those within
it that also cost little:

    R_i ≤ (1 + LITTLE) · R_best    and, where the best gives probabilities, the log loss likewise

The baseline is excepted: where it is within one standard error, no model has shown that the columns say anything, and it is recommended.
Equal risks: the lower log loss, then the simpler.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.errors import DataError
from assay.numerics import Array, Floats

LITTLE = 0.02  # share of the best one's risk that a simpler model may cost


class Recommendation(NamedTuple):
    """Numbers of the model of least risk, of the simplest within one standard error of it, of the recommended one, and of all within."""

    best: int
    simplest: int
    chosen: int
    within: list[int]


def recommend(
    risks: Any, difference_errors: Any, complexities: Any, *, log_losses: Any = None, baselines: Any = ()
) -> Recommendation:
    """The recommendation from risks on the same rows, the standard error of each one's difference to the best, and how complex each is.

    A risk that is NaN (a failed fit) takes no part; a complexity or log loss that is NaN counts as the greatest. `baselines`: the numbers
    of models that answer without looking at the columns.

    >>> recommend([0.100, 0.101, 0.125], [0.0, 0.02, 0.03], [50, 9, 3])
    Recommendation(best=0, simplest=2, chosen=1, within=[0, 1, 2])
    """
    R, errors, size = (np.asarray(a, dtype=np.float64) for a in (risks, difference_errors, complexities))
    log = np.full(R.shape, np.nan) if log_losses is None else np.asarray(log_losses, dtype=np.float64)
    if not R.shape == errors.shape == size.shape == log.shape or R.ndim != 1:
        raise DataError(f"Risks, errors and complexities must be as many: {R.shape}, {errors.shape}, {size.shape}.")
    if not np.isfinite(R).any():
        raise DataError("No model has a risk, so none can be recommended: every fit has failed.")
    R, size, last = (np.where(np.isnan(a), np.inf, a) for a in (R, size, log))
    best = int(np.lexsort((size, last, R))[0])
    within = np.flatnonzero(np.isfinite(R) & (R - R[best] <= np.nan_to_num(errors, nan=0.0)))
    within = np.union1d(within, [best])
    cheap = within[_affordable(R, log, best)[within]]
    blind = [k for k in within.tolist() if k in set(baselines)]
    chosen = blind[0] if blind else _simplest(cheap, size, R, last)
    return Recommendation(best, _simplest(within, size, R, last), chosen, within.tolist())


def _affordable(R: Floats, log: Floats, best: int) -> Array:
    """Who costs little more than the best, in risk and, where the best has one, in log loss."""
    likely = np.isnan(log[best]) | (log <= log[best] * (1 + LITTLE))
    return np.asarray((R[best] * (1 + LITTLE) >= R) & likely)


def _simplest(among: Array, size: Floats, R: Floats, log: Floats) -> int:
    return int(among[np.lexsort((log[among], R[among], size[among]))[0]])
