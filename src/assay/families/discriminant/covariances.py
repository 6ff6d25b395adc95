"""The covariance of each class: of its scatter, shrunk where that is asked for, or as an estimator of the user's gives it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from assay.engines import Rows, targets_of
from assay.errors import DataError, ParameterError
from assay.inputs.labels import Labels, plain_labels
from assay.numerics import Floats

ROUNDS_TO_NOTHING = 1e-12  # a share that rounding alone can make


def estimated_covariances(estimator: Any, rows: Rows, labels: Labels) -> Floats:
    """(K, d, d): `estimator.fit(X_k).covariance_` of the rows X_k of each class, as scikit-learn's covariance estimators give it."""
    memory: Any = rows.in_memory()
    y, w = targets_of(memory)
    if w is not None and np.any(w != w[0]):
        raise ParameterError(
            "covariance_estimator sees rows without weights: leave sample_weight out, or use shrinkage."
        )
    X, codes = np.asarray(memory.X, dtype=np.float64), labels.encode(y)
    d = X.shape[1]
    found = []
    for k, label in enumerate(plain_labels(labels.classes)):
        fitted = deepcopy(estimator)
        fitted.fit(X[codes == k])
        if not hasattr(fitted, "covariance_"):
            raise ParameterError(
                f"{type(estimator).__name__} does not have a covariance_ attribute after fit, which covariance_estimator needs."
            )
        C = np.asarray(fitted.covariance_, dtype=np.float64)
        if C.shape != (d, d) or not np.isfinite(C).all() or not np.allclose(C, C.T):
            raise DataError(
                f"covariance_estimator gave class {label!r} no covariance: it must be symmetric and finite, of shape {(d, d)}, not {C.shape}."
            )
        found.append((C + C.T) / 2)
    return np.array(found)


def class_covariances(n: Floats, scatter: Floats, fourth: Floats | None, shrinkage: Any) -> Floats:
    """S_k / n_k for each class (zero where it has no rows), shrunk where that is asked for. Weights count as repetitions."""
    C = scatter / np.where(n > 0, n, 1.0)[:, None, None]
    if shrinkage == "auto":
        amounts = shrinkage_amounts(n, scatter, fourth, shrinkage)
        return np.array([_shrunk_correlations(*of_class) for of_class in zip(C, amounts)])
    if shrinkage is not None:
        return np.array([_towards_sphere(c, float(shrinkage)) for c in C])
    return C


def _towards_sphere(C: Floats, amount: float) -> Floats:
    """(1 − a) C + a · tr(C)/d · I."""
    d = len(C)
    out: Floats = (1 - amount) * C
    out[np.diag_indices(d)] += amount * (np.trace(C) / d)
    return out


def shrinkage_amounts(n: Floats, scatter: Floats, fourth: Floats | None, shrinkage: Any) -> Floats:
    """The share (K,) of each covariance that is given, not learnt."""
    if shrinkage != "auto":
        return np.full(len(n), float(shrinkage or 0.0))
    if fourth is None:
        raise ParameterError(
            "shrinkage='auto' needs fourth moments, which the rows absorbed so far were not asked for: fit again."
        )
    C = scatter / np.where(n > 0, n, 1.0)[:, None, None]
    return np.array([_ledoit_wolf(*of_class) for of_class in zip(C, n, fourth)])


def _ledoit_wolf(C: Floats, n: float, fourth: Floats) -> float:
    """How much correlations are shrunk by Ledoit and Wolf (2004), as scikit-learn does.

    With z the standardised rows, R their covariance and μ = tr R / d:
    β = [Σ_i ‖z_i‖⁴ / n − ‖R‖²] / (n d), δ = ‖R − μI‖² / d, amount = min(β, δ) / δ. Both squared norms are of Frobenius.
    """
    d = len(C)
    if d == 1 or n <= 0:
        return 0.0
    R, v = _correlations(C)
    norm = float((R * R).sum())
    mu = float(np.trace(R)) / d
    beta = (float((fourth / v[:, None] / v).sum()) / n - norm) / (n * d)
    delta = (norm - d * mu * mu) / d
    amount = min(beta, delta) / delta if beta > 0 and delta > 0 else 0.0
    return amount if amount > ROUNDS_TO_NOTHING else 0.0


def _correlations(C: Floats) -> tuple[Floats, Floats]:
    """C in units of its columns' standard deviations, and their variances (one where a column does not vary)."""
    variance = np.diag(C)
    v = np.where(variance > 0, variance, 1.0)
    return C / np.sqrt(v)[:, None] / np.sqrt(v), v


def _shrunk_correlations(C: Floats, amount: float) -> Floats:
    if len(C) == 1:
        return C
    R, v = _correlations(C)
    out: Floats = _towards_sphere(R, amount) * np.sqrt(v)[:, None] * np.sqrt(v)
    return out
