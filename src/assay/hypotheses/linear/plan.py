"""What is to be made small, and how: a model's hyper-parameters in the solvers' words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.numerics import Floats
from assay.risk.penalties import Penalty
from assay.risk.surrogates import Surrogate


@dataclass(frozen=True)
class Plan:
    """Σ c ℓ + l1·‖w‖₁ + ½·l2·‖w‖²; `loss` None is softmax. `per_weight`: l1 and l2 are still to be multiplied by Σc.

    `intercept_l2` is the penalty on b where it has one (`fit_intercept` then does not leave it free).
    """

    loss: Surrogate | None
    l1: float
    l2: float
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    per_weight: bool = False
    intercept_l2: float = 0.0
    eta: float | str = "auto"
    init: Any = None

    @property
    def free_intercept(self) -> bool:
        """Whether an intercept is fitted that costs nothing."""
        return self.fit_intercept and self.intercept_l2 == 0.0

    @property
    def unpenalised(self) -> bool:
        """Whether no weight costs anything."""
        return self.l1 == 0.0 and self.l2 == 0.0

    def strengths(self, n: float) -> tuple[float, float]:
        """l1 and l2 for rows of weight n."""
        factor = n if self.per_weight else 1.0
        return self.l1 * factor, self.l2 * factor

    def step(self, n: float) -> float | str:
        """The learning speed on the sum over rows of weight n, where `eta` is that on their mean."""
        return self.eta if isinstance(self.eta, str) or not self.per_weight else self.eta / n

    def penalty(self, d: int, n: float) -> Penalty:
        """The penalty on d weights and the intercept."""
        l1, l2 = self.strengths(n)
        return Penalty.of(d, l1, l2, self.intercept_l2)

    def start(self, shape: tuple[int, ...], centre: Floats) -> Floats:
        """The first weights about the centre: zeros, or `init` (b first, as the lecture notes write them)."""
        if self.init is None:
            return np.zeros(shape)
        given = np.array(self.init, dtype=np.float64).reshape(shape)
        return about_centre(np.concatenate([given[..., 1:], given[..., :1]], axis=-1), centre)


def about_centre(w: Floats, centre: Floats) -> Floats:
    """Weights (…, d + 1) about zero as weights about the centre: b grows by p·w."""
    out = w.copy()
    out[..., -1] += w[..., :-1] @ centre
    return out


def about_zero(w: Floats, centre: Floats) -> Floats:
    """The inverse of `about_centre`."""
    out = w.copy()
    out[..., -1] -= w[..., :-1] @ centre
    return out
