"""Penalties on weights, Σ_j l1_j·|w_j| + ½·l2_j·w_j², one pair of strengths a weight; zero and zero leaves a weight free.

The last weight is the intercept, which most models leave free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from assay.numerics import Floats
from assay.risk.surrogates import REGRESSION, Surrogate


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


# How far a free intercept can be from a minimum, so that a slope left in it can be charged to a lower bound.
#
# A dual point must have Σ c u = 0 where the intercept is free. If g is left of that, the bound is lower by |g| times the
# farthest |b| of any minimum. Rows of a class lose F/n on average at most, which bounds their mean score z̄ = x̄·w + b, hence b;
# w itself is held by its penalty, and the better by how little F can still fall: ½ Σ l2 (w − w*)² ≤ F(w) − F(w*).

ROUNDS = 6


class InterceptBound(NamedTuple):
    """A bound on |x̄·w*| for any minimum w*: `most` whatever F can still fall by, else `at` + √fall·`length`."""

    most: float
    at: float
    length: float

    def within(self, fall: float) -> float:
        """The bound where F can fall by `fall` at most."""
        return min(self.most, self.at + math.sqrt(fall) * self.length) if self.at < math.inf else self.most


def lean(penalty: Penalty, value: float, mean: Floats, w: Floats) -> InterceptBound:
    """How far |x̄·w*| can be for any minimum w*, where F(w) = `value`."""
    l1, l2 = penalty.l1[:-1], penalty.l2[:-1]
    most, at, length = math.inf, math.inf, 0.0
    if l2.all():
        length = float(np.sqrt(2 * np.sum(mean * mean / l2)))
        most, at = float(np.sqrt(value)) * length, abs(float((mean * w).sum()))
    if l1.all():
        most = min(most, float(value * np.max(np.abs(mean) / l1, initial=0.0)))
    return InterceptBound(most, at, length)


def farthest(loss: Surrogate, value: float, target: float, weights: Sequence[float], leans: Sequence[float]) -> float:
    """A bound on |b| of any minimum: of both classes of a margin loss, or of all rows of a regression."""
    ends = [0.0]
    for n, a in zip(weights, leans):
        if n > 0:
            ends.append(_mean_score(loss, value / n, target) + a)
        elif loss.kind != REGRESSION:  # without rows of a class nothing holds the intercept on its side
            return np.inf
    return max(ends)


def _mean_score(loss: Surrogate, mean_loss: float, target: float) -> float:
    if loss.kind != REGRESSION:
        return abs(loss.least_mean_margin(mean_loss))
    if loss.name == "huber":
        return abs(target) + mean_loss / loss.width + 0.5 * loss.width
    return abs(target) + float(np.sqrt(2 * mean_loss))


def farthest_apart(value: float, weights: Sequence[float], leans: Sequence[float]) -> float:
    """Softmax: a bound on b_k − b_y, as a row of class y loses at least z_k − z_y."""
    return max(value / n + a if n > 0 else np.inf for n, a in zip(weights, leans))


def class_leans(penalty: Penalty, value: float, means: Floats, w: Floats) -> list[InterceptBound]:
    """For each class y, how far |x̄_y·(w_k − w_y)| can be over all k, for any minimum; w (K, d + 1), means (K, d)."""
    out = []
    for y, mean in enumerate(means):
        apart = w[:, :-1] - w[y, :-1]
        most = apart[int(np.argmax(np.abs((apart * mean).sum(axis=1))))]
        out.append(lean(penalty, value, np.sqrt(2.0) * mean, most / np.sqrt(2.0)))
    return out


def slack(slope: float, rest: float, value: float, far: Callable[[float], float]) -> float:
    """What the slope left in a free intercept costs the bound; `far(fall)` bounds b where F can fall by `fall` at most.

    `rest` is F(w) less the bound without this cost: with it the fall is bounded, then b better, and so on.
    """
    if slope == 0:
        return 0.0
    fall, cost = value, slope * far(value)
    for _ in range(ROUNDS):
        less = max(rest, 0.0) + cost
        if not less < fall:  # then it stays where it is
            break
        fall, cost = less, slope * far(less)
    return cost
