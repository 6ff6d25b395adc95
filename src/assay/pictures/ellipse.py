"""Normal densities as ellipses: (x − μ)ᵀ Σ⁻¹ (x − μ) = σ²."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import ParameterError
from assay.numerics import Floats

SIGMAS = (1.0, 2.0)  # they hold 39 % and 86 % of a normal density of two columns
CORNERS = 64  # of the polygon that stands for an ellipse


def axes_of(S: Floats, sigma: float) -> tuple[float, float, float]:
    """Width, height and angle (degrees) of the ellipse of a covariance (2, 2).

    >>> axes_of(np.diag([4.0, 1.0]), 1.0)
    (4.0, 2.0, 0.0)
    """
    values, V = np.linalg.eigh(S)
    width, height = 2 * sigma * np.sqrt(np.maximum(values[::-1], 0.0))
    return float(width), float(height), float(np.degrees(np.arctan2(V[1, 1], V[0, 1])))


def outline(mean: Floats, S: Floats, sigma: float) -> Floats:
    """Points (m, 2) around the ellipse."""
    values, V = np.linalg.eigh(S)
    turn = np.linspace(0.0, 2 * np.pi, CORNERS, endpoint=False)
    circle = np.column_stack([np.cos(turn), np.sin(turn)]) * (sigma * np.sqrt(np.maximum(values, 0.0)))
    return np.asarray(mean + circle @ V.T)


def normals(model: Any) -> tuple[Floats, Floats]:
    """Means (K, d) and covariances (K, d, d)."""
    if hasattr(model, "theta_") and hasattr(model, "var_"):
        if len(model.theta_.T) != getattr(model, "n_features_in_", len(model.theta_.T)):
            raise ParameterError("Not every column of this naive Bayes is normal: ellipses need Gaussian columns only.")
        return np.asarray(model.theta_), np.stack([np.diag(v) for v in np.asarray(model.var_)])
    if not (hasattr(model, "means_") and hasattr(model, "covariance_")):
        raise ParameterError(
            f"{type(model).__name__} keeps no means and covariances: give a fitted LDA, QDA or GaussianNB (of scikit-learn with "
            "store_covariance=True)."
        )
    means, S = np.asarray(model.means_), np.asarray(model.covariance_)
    return means, np.broadcast_to(S, (len(means), *S.shape[-2:]))
