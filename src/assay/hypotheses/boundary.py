"""The decision boundary between two normal classes, in the letters of the lecture notes (000, section 4.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.numerics import Floats, safe_log


class Boundary(NamedTuple):
    """b − wᵀx + xᵀMx = 0, with b for the notes' b̃. The form is 2·log[ p(C₁|x) / p(C₂|x) ]: positive on the side of C₁.

    C₁ is `classes_[0]` and C₂ is `classes_[1]`; `decision_function`, the log-odds of C₂, is −½ of the form.
    """

    b: float
    w: Floats
    M: Floats

    def form(self, X: Floats) -> Floats:
        """b − wᵀx + xᵀMx for each row of X (n, d)."""
        value: Floats = self.b - X @ self.w + np.einsum("ij,ij->i", X @ self.M, X)
        return value


def boundary(priors: Floats, means: Floats, whiten: Floats, log_det: Floats) -> Boundary:
    """The boundary of two classes; `whiten` (G, d, d) and `log_det` (G,) with G = 1 where they share a covariance.

    b = 2 log(p₁/p₂) − log|Σ₁| + log|Σ₂| − μ₁ᵀΣ₁⁻¹μ₁ + μ₂ᵀΣ₂⁻¹μ₂,  w = 2(Σ₂⁻¹μ₂ − Σ₁⁻¹μ₁),  M = Σ₂⁻¹ − Σ₁⁻¹
    """
    A1, A2 = whiten[0], whiten[-1]
    z1, z2 = A1 @ means[0], A2 @ means[1]
    log_p = safe_log(priors)
    b = 2 * (log_p[0] - log_p[1]) - log_det[0] + log_det[-1] - z1 @ z1 + z2 @ z2
    w = 2 * (A2.T @ z2 - A1.T @ z1)
    M = A2.T @ A2 - A1.T @ A1 if len(whiten) > 1 else np.zeros((len(w), len(w)))
    return Boundary(float(b), w, M)
