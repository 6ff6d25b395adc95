"""How many mistakes a kernel perceptron can make: R²/γ² with the greatest margin γ in feature space, found before the first visit.

    γ = min_{α ≥ 0, Σα = 1} ‖Σ α_i y_i φ(x_i)‖,      by non-negative least squares, for few rows: ‖A z‖² + (Σz − 1)² with AᵀA = (y_i y_j K_ij) is
                                                     least at a multiple of α

Whatever α is found, u = Σ α_i y_i φ(x_i) is a witness: its own margin is what is stated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.hypotheses.kernel_perceptron.run import Run
from assay.hypotheses.perceptron_claims import EPS
from assay.numerics import Floats

if TYPE_CHECKING:
    from assay.hypotheses.kernel_perceptron.model import KernelPerceptron

MOST_ROWS = 300  # non-negative least squares takes their third power
NO_PRODUCTS = ("sigmoid", "own", "precomputed")  # need not be a product in any feature space


def mistake_bound(model: KernelPerceptron, run: Run, X: Floats) -> float | None:
    """R²/γ²; None where nothing is known to separate the rows, or steps are not all equal."""
    kernel, steps = model._kernel(), run.targets.steps
    if len(X) > MOST_ROWS or run.targets.K > 2 or model.budget is not None or kernel.name in NO_PRODUCTS:
        return None
    if not np.all(steps == steps[0]):
        return None
    K = kernel.block(X, X)
    y = np.where(run.targets.codes == 1, 1.0, -1.0)
    return bound_of(K * np.outer(y, y)) if np.isfinite(K).all() else None


def bound_of(Q: Floats) -> float | None:
    """max Q_ii / γ² of a positive semidefinite Q = (y_i y_j K_ij); None where no margin is found beyond rounding.

    >>> round(bound_of(np.array([[1.0, 0.0], [0.0, 1.0]])), 6)
    2.0
    """
    from scipy.optimize import nnls

    n, R2 = len(Q), float(np.diag(Q).max())
    if not R2 > 0:
        return None
    sizes, V = np.linalg.eigh(Q / R2)
    A = np.sqrt(np.maximum(sizes, 0.0))[:, None] * V.T
    try:
        z, _ = nnls(np.vstack([A, np.ones(n)]), np.append(np.zeros(n), 1.0))
    except RuntimeError:  # too many rounds
        return None
    f = Q @ z
    norm, off = float(np.sqrt(max(z @ f, 0.0))), (n + 8) * EPS * R2 * float(z.sum())
    least = float(f.min()) - off
    if not (norm > 0 and least > 0):
        return None
    return R2 * (norm / least) ** 2 * (1 + 1e-9)
