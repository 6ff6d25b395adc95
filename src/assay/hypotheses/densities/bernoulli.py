"""A coin for each class and column.

    p(x_j | k) = p_kj^x_j (1 − p_kj)^(1 − x_j),   x_j ∈ {0, 1}

Maximum likelihood: p_kj = S_kj / N_kj, the share of ones; smoothed: (S_kj + α) / (N_kj + 2α).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.engines import SparseMatrix
from assay.hypotheses.densities.linear import Linear
from assay.hypotheses.densities.part import Part
from assay.hypotheses.densities.sums import Sums, absorb_sums
from assay.numerics import Array, Floats, safe_log


def binarized(X: Any, threshold: float | None) -> Any:
    """1 where x > threshold, 0 elsewhere; missing stays missing. Without a threshold the values are taken as they are."""
    if threshold is None:
        return X
    if isinstance(X, SparseMatrix):  # a threshold is never negative, so the absent zeros stay zeros
        ones = binarized(X.data, threshold)
        return X.with_data(ones).keep(ones != 0)
    B: Array = (threshold < X).astype(np.float64)
    gone = ~np.isfinite(X)
    if gone.any():
        B[gone] = np.where(np.isnan(X[gone]), np.nan, np.inf)  # infinity is refused, not taken for a one
    return B


def absorb(part: Part, threshold: float | None) -> Sums:
    """N and S of a block."""
    part = part._replace(X=binarized(part.X, threshold))
    found = absorb_sums(part)
    if found.low < 0 or found.high > 1 or found.rest != 0:
        refuse(part)
    return found.sums


def refuse(part: Part) -> None:
    """Raise where a value is neither 0 nor 1."""
    part.refuse_infinite()
    X = part.values
    part.refuse_where(
        ~np.isnan(X) & (X != 0) & (X != 1),
        "A bernoulli column holds something other than 0 and 1",
        "Give another density for it, or a threshold (BernoulliNB(binarize=...)).",
    )


def estimate(s: Sums, alpha: Array) -> Floats:
    """p_kj, with α a column; a coin never seen is fair."""
    n = s.n + 2 * alpha
    p: Floats = np.divide(s.total + alpha, n, out=np.full_like(n, 0.5), where=n > 0)
    return p


def density(p: Floats, threshold: float | None) -> Linear:
    """log p(x | k) = Σ_j x_j log(p_kj / (1 − p_kj)) + log(1 − p_kj); a threshold has made all values whole."""
    base = safe_log(1 - p)
    with np.errstate(invalid="ignore"):
        return Linear.of(safe_log(p) - base, base, top=1.0, whole=threshold is None)
