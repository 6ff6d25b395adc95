"""Penalties on weights, Σ_j l1_j·|w_j| + ½·l2_j·w_j², one pair of strengths a weight; zero and zero leaves a weight free.

The last weight is the intercept, which most models leave free.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.numerics import Floats


class Penalty(NamedTuple):
    """l1 and l2 (d + 1,), each ≥ 0."""

    l1: Floats
    l2: Floats

    @classmethod
    def of(cls, d: int, l1: float = 0.0, l2: float = 0.0, intercept: float = 0.0) -> Penalty:
        """The same strengths for d weights; `intercept` is the l2 strength of the last."""
        return cls(np.append(np.full(d, float(l1)), 0.0), np.append(np.full(d, float(l2)), float(intercept)))

    @property
    def free(self) -> Floats:
        """Which weights are not penalised."""
        return np.asarray((self.l1 == 0) & (self.l2 == 0))

    @property
    def quadratic(self) -> bool:
        """Whether there is no l1 part."""
        return not self.l1.any()

    def value(self, w: Floats) -> float:
        """The penalty of w, (d + 1,) or (K, d + 1)."""
        return float((np.abs(w) * self.l1).sum() + 0.5 * (w * w * self.l2).sum())

    def shrink(self, g: Floats) -> float:
        """The largest ρ ≤ 1 for which ρ·g lies in the domain of the conjugate where only l1 counts."""
        only = (self.l2 == 0) & (self.l1 > 0)
        if not only.any():
            return 1.0
        strengths = np.broadcast_to(self.l1, g.shape)[..., only]
        return float(min(1.0, np.min(strengths / np.maximum(np.abs(g[..., only]), 1e-300), initial=1.0)))

    def conjugate(self, g: Floats) -> float:
        """Σ (|g_j| − l1_j)₊² / 2·l2_j over the weights with l2_j > 0; the others are the caller's care."""
        beyond = np.maximum(np.abs(g) - self.l1, 0.0)
        each = np.divide(beyond * beyond, 2 * self.l2, out=np.zeros_like(beyond), where=self.l2 > 0)
        return float(each.sum())
