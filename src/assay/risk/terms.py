"""The two terms of a regularised risk, with what optimisation and its certificates need of them: surrogate losses of a score z where the
truth is t, and penalties Σ_j l1_j·|w_j| + ½·l2_j·w_j² on weights, one pair of strengths a weight. Zero and zero leaves a weight free, as most models
leave the last one, the intercept.

A margin loss takes t = ±1, a regression loss any number t. Beside value, slope and curvature in z there is the convex
conjugate ℓ*(u) = max_z uz − ℓ(z), infinite outside its domain: by ℓ(z) ≥ uz − ℓ*(u) every u gives a lower bound, and
these bounds are what a duality gap is made of. `code` chooses the same loss inside the compiled loops (solvers/loops/sweep.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.errors import ParameterError, nearest
from assay.numerics import Floats

MARGIN, REGRESSION, CLASSES = "margin", "regression", "classes"
WIDEST = 2.0  # the width at which smoothing a hinge begins
Formula = Callable[[Any, Any, float], Any]


@dataclass(frozen=True)
class Surrogate:
    """A loss by name. `width` is Huber's δ, the ε of a tube that costs nothing, the quantile of the pinball loss, or the width over which
    the hinge is smoothed while it is solved.

    `at_zero` holds value, smooth value, slope·t and curvature at z = 0 where these are the same for every row, or None;
    of the hinge those of width `WIDEST`.
    """

    name: str
    kind: str
    code: int
    value: Formula
    slope: Formula
    curvature: Formula | None
    conjugate: Formula | None
    width: float = 1.0
    at_zero: tuple[float, float, float, float] | None = None

    @property
    def smooth(self) -> bool:
        """Whether the slope is continuous."""
        return self.curvature is not None

    def into_domain(self, u: Floats, t: Floats, h: float) -> Floats:
        """The nearest u at which ℓ* is finite; h is the width."""
        if self.name in ("log", "hinge"):
            return np.asarray(-t * np.clip(-u * t, 0.0, 1.0))
        if self.name == "squared hinge":
            return np.asarray(-t * np.maximum(-u * t, 0.0))
        if self.name == "pinball":
            return np.clip(u, -h, 1.0 - h)
        bound = {"huber": h, "epsilon insensitive": 1.0}.get(self.name)
        return u if bound is None else np.clip(u, -bound, bound)

    def least_mean_margin(self, mean_loss: float) -> float:
        """The least m̄ that rows can have on average whose mean loss is at most `mean_loss` (by convexity)."""
        if self.name == "log":
            return float(-np.log(np.expm1(mean_loss))) if mean_loss < 700 else -mean_loss
        if self.name == "squared hinge":
            return 1.0 - float(np.sqrt(mean_loss))
        return 1.0 - mean_loss if self.name == "hinge" else -mean_loss


def _wrong(z: Any, t: Any) -> Any:
    """1/(1 + e^(tz)), without overflow."""
    m = t * z
    e = np.exp(-np.abs(m))
    return np.where(m >= 0, e, 1.0) / (1.0 + e)


def _log_value(z: Any, t: Any, h: float) -> Any:
    return np.logaddexp(0.0, -t * z)


def _log_slope(z: Any, t: Any, h: float) -> Any:
    return -t * _wrong(z, t)


def _log_curvature(z: Any, t: Any, h: float) -> Any:
    return _wrong(z, t) * _wrong(z, -t)


def _xlogx(a: Any) -> Any:
    return np.where(a > 0, a * np.log(np.where(a > 0, a, 1.0)), 0.0)


def _log_conjugate(u: Any, t: Any, h: float) -> Any:
    a = -u * t
    inside = (a >= 0) & (a <= 1)
    a = np.clip(a, 0.0, 1.0)
    return np.where(inside, _xlogx(a) + _xlogx(1.0 - a), np.inf)


def _short(z: Any, t: Any) -> Any:
    return np.maximum(0.0, 1.0 - t * z)


def _hinge_value(z: Any, t: Any, h: float) -> Any:
    return _short(z, t)


def _hinge_slope(z: Any, t: Any, h: float) -> Any:
    """The slope of the smooth hinge of width h: as h → 0 a subgradient of the hinge."""
    return -t * np.minimum(_short(z, t) / h, 1.0)


def _hinge_conjugate(u: Any, t: Any, h: float) -> Any:
    a = -u * t
    return np.where((a >= 0) & (a <= 1), -a, np.inf)


def _squared_hinge_value(z: Any, t: Any, h: float) -> Any:
    return _short(z, t) ** 2


def _squared_hinge_slope(z: Any, t: Any, h: float) -> Any:
    return -2.0 * t * _short(z, t)


def _squared_hinge_curvature(z: Any, t: Any, h: float) -> Any:
    return np.where(t * z < 1.0, 2.0, 0.0)


def _squared_hinge_conjugate(u: Any, t: Any, h: float) -> Any:
    a = -u * t
    return np.where(a >= 0, 0.25 * a * a - a, np.inf)


def _squared_value(z: Any, t: Any, h: float) -> Any:
    return 0.5 * (z - t) ** 2


def _squared_slope(z: Any, t: Any, h: float) -> Any:
    return z - t


def _squared_curvature(z: Any, t: Any, h: float) -> Any:
    return np.ones_like(z)


def _squared_conjugate(u: Any, t: Any, h: float) -> Any:
    return 0.5 * u * u + u * t


def _huber_value(z: Any, t: Any, h: float) -> Any:
    a = np.abs(z - t)
    near = np.minimum(a, h)
    return near * (a - 0.5 * near)


def _huber_slope(z: Any, t: Any, h: float) -> Any:
    return np.clip(z - t, -h, h)


def _huber_curvature(z: Any, t: Any, h: float) -> Any:
    return np.where(np.abs(z - t) <= h, 1.0, 0.0)


def _huber_conjugate(u: Any, t: Any, h: float) -> Any:
    return np.where(np.abs(u) <= h, 0.5 * u * u + u * t, np.inf)


def _perceptron_value(z: Any, t: Any, h: float) -> Any:
    return np.maximum(0.0, -t * z)


def _perceptron_slope(z: Any, t: Any, h: float) -> Any:
    """−t at a mistake, where sgn 0 = 1: a score of zero is a mistake of t = −1."""
    return np.where((t * z < 0) | ((z == 0) & (t < 0)), -t, 0.0)


def _beyond(z: Any, t: Any, h: float) -> Any:
    return np.maximum(0.0, np.abs(z - t) - h)


def _tube_value(z: Any, t: Any, h: float) -> Any:
    return _beyond(z, t, h)


def _tube_slope(z: Any, t: Any, h: float) -> Any:
    return np.where(np.abs(z - t) > h, np.sign(z - t), 0.0)


def _tube_conjugate(u: Any, t: Any, h: float) -> Any:
    return np.where(np.abs(u) <= 1.0, u * t + h * np.abs(u), np.inf)


def _squared_tube_value(z: Any, t: Any, h: float) -> Any:
    return _beyond(z, t, h) ** 2


def _squared_tube_slope(z: Any, t: Any, h: float) -> Any:
    return 2.0 * np.sign(z - t) * _beyond(z, t, h)


def _squared_tube_curvature(z: Any, t: Any, h: float) -> Any:
    return np.where(np.abs(z - t) > h, 2.0, 0.0)


def _squared_tube_conjugate(u: Any, t: Any, h: float) -> Any:
    return 0.25 * u * u + u * t + h * np.abs(u)


def _pinball_value(z: Any, t: Any, h: float) -> Any:
    return np.maximum(h * (t - z), (1.0 - h) * (z - t))


def _pinball_slope(z: Any, t: Any, h: float) -> Any:
    return np.where(z > t, 1.0 - h, np.where(z < t, -h, 0.0))


def _pinball_conjugate(u: Any, t: Any, h: float) -> Any:
    return np.where((u >= -h) & (u <= 1.0 - h), u * t, np.inf)


LOG = Surrogate("log", MARGIN, 0, _log_value, _log_slope, _log_curvature, _log_conjugate, at_zero=(np.log(2), np.log(2), -0.5, 0.25))  # fmt: skip
HINGE = Surrogate(
    "hinge", MARGIN, 1, _hinge_value, _hinge_slope, None, _hinge_conjugate, WIDEST, (1.0, 0.25, -0.5, 0.5)
)
SQUARED_HINGE = Surrogate("squared hinge", MARGIN, 2, _squared_hinge_value, _squared_hinge_slope, _squared_hinge_curvature, _squared_hinge_conjugate, at_zero=(1.0, 1.0, -2.0, 2.0))  # fmt: skip
SQUARED = Surrogate("squared", REGRESSION, 3, _squared_value, _squared_slope, _squared_curvature, _squared_conjugate)
HUBER = Surrogate("huber", REGRESSION, 4, _huber_value, _huber_slope, _huber_curvature, _huber_conjugate)
PERCEPTRON = Surrogate("perceptron", MARGIN, 5, _perceptron_value, _perceptron_slope, None, None)
TUBE = Surrogate("epsilon insensitive", REGRESSION, 6, _tube_value, _tube_slope, None, _tube_conjugate, width=0.0)
SQUARED_TUBE = Surrogate("squared epsilon insensitive", REGRESSION, 7, _squared_tube_value, _squared_tube_slope, _squared_tube_curvature, _squared_tube_conjugate)  # fmt: skip
PINBALL = Surrogate("pinball", REGRESSION, 8, _pinball_value, _pinball_slope, None, _pinball_conjugate, width=0.5)
ALL = (LOG, HINGE, SQUARED_HINGE, SQUARED, HUBER, PERCEPTRON, TUBE, SQUARED_TUBE, PINBALL)
SURROGATES: dict[str, Surrogate] = {s.name: s for s in ALL}


def surrogate(name: str) -> Surrogate:
    """A surrogate loss by name ('squared_hinge' is 'squared hinge')."""
    found = SURROGATES.get(name.replace("_", " "))
    if found is None:
        raise ParameterError(f"There is no surrogate loss {name!r}. {nearest(name, SURROGATES)}")
    return found


class Side(NamedTuple):
    """Of rows (n,): cost · max(0, offset − sign·z), which a loss of straight lines is a sum of."""

    offset: Floats
    sign: Floats
    cost: Floats


def sides_of(loss: Surrogate, t: Floats, c: Floats) -> tuple[Side, ...]:
    """The hinge has one side, errors have two."""
    if loss.name == "hinge":
        return (Side(np.ones(len(t)), t, c),)
    epsilon, up, down = (0.0, loss.width, 1.0 - loss.width) if loss.name == "pinball" else (loss.width, 1.0, 1.0)
    one = np.ones(len(t))
    return Side(t - epsilon, one, up * c), Side(-t - epsilon, -one, down * c)


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
    if loss.name == "pinball":
        return abs(target) + mean_loss / min(loss.width, 1.0 - loss.width)
    if loss.name in (TUBE.name, SQUARED_TUBE.name):
        return abs(target) + loss.width + (mean_loss if loss.name == TUBE.name else float(np.sqrt(mean_loss)))
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
