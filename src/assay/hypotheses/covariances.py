"""From the statistics of the classes to the covariance of each: maximum likelihood, structured, shrunk.

    full       Σ_k = S_k / N_k
    tied       Σ   = Σ_k S_k / N                 one covariance for all classes
    diagonal   the diagonal of it                isotropic   its mean variance times I

`unbiased` divides by N_k − 1 (tied: N − K) instead. Shrinkage and `reg_param` pull towards a multiple of I.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import ParameterError
from assay.numerics import Floats


def class_covariances(n: Floats, scatter: Floats, fourth: Floats | None, shrinkage: Any) -> Floats:
    """S_k / n_k for each class (zero where it has no rows), shrunk where that is asked for. Weights count as repetitions."""
    C = scatter / np.where(n > 0, n, 1.0)[:, None, None]
    if shrinkage == "auto":
        if fourth is None:
            raise ParameterError(
                "shrinkage='auto' needs fourth moments, which the rows absorbed so far were not asked for: fit again."
            )
        return np.array([_ledoit_wolf(*of_class) for of_class in zip(C, n, fourth)])
    if shrinkage is not None:
        return np.array([_towards_sphere(c, float(shrinkage)) for c in C])
    return C


def _towards_sphere(C: Floats, amount: float) -> Floats:
    """(1 − a) C + a · tr(C)/d · I."""
    d = len(C)
    out: Floats = (1 - amount) * C
    out[np.diag_indices(d)] += amount * (np.trace(C) / d)
    return out


def _ledoit_wolf(C: Floats, n: float, fourth: Floats) -> Floats:
    """Shrink the correlations by the amount of Ledoit and Wolf (2004), as scikit-learn does.

    With z the standardised rows, R their covariance and μ = tr R / d:
    β = [Σ_i ‖z_i‖⁴ / n − ‖R‖²] / (n d), δ = ‖R − μI‖² / d, amount = min(β, δ) / δ. Both squared norms are of Frobenius.
    """
    d = len(C)
    if d == 1 or n <= 0:
        return C
    variance = np.diag(C)
    v = np.where(variance > 0, variance, 1.0)
    R = C / np.sqrt(v)[:, None] / np.sqrt(v)
    norm = float((R * R).sum())
    mu = float(np.trace(R)) / d
    beta = (float((fourth / v[:, None] / v).sum()) / n - norm) / (n * d)
    delta = (norm - d * mu * mu) / d
    amount = min(beta, delta) / delta if beta > 0 and delta > 0 else 0.0
    shrunk = _towards_sphere(R, amount)
    out: Floats = shrunk * np.sqrt(v)[:, None] * np.sqrt(v)
    return out


def structured(C: Floats, structure: str) -> Floats:
    """C (G, d, d) with only what its structure keeps: the diagonal, or the mean of that."""
    if structure not in ("diagonal", "isotropic"):
        return C
    d = C.shape[1]
    variance = np.diagonal(C, axis1=1, axis2=2)
    if structure == "isotropic":
        variance = np.repeat(variance.mean(axis=1, keepdims=True), d, axis=1)
    out = np.zeros_like(C)
    out[:, np.arange(d), np.arange(d)] = variance
    return out


def tied(C: Floats, share: Floats) -> Floats:
    """Σ_k share_k C_k, (1, d, d)."""
    out: Floats = np.einsum("k,kij->ij", share, C)[None]
    return out


def correction(n: Floats, is_tied: bool) -> Floats:
    """The factor (G,) from 1/N_k to 1/(N_k − 1), or from 1/N to 1/(N − K); one where there are too few rows for it."""
    if is_tied:
        n, parameters = np.array([n.sum()]), int((n > 0).sum())
    else:
        parameters = 1
    return np.where(n > parameters, n / np.where(n > parameters, n - parameters, 1.0), 1.0)
