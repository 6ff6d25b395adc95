"""The losses that boosting makes small: value, slope and curvature at the scores F of all rows, and the constant that it begins with.

A loss lives outside the loops that grow trees: these see whole numbers alone, whatever the loss. F (K, n) has a row a tree of a stage.

    squared ½(F − y)²     absolute |F − y|     quantile q(y − F)₊ + (1 − q)(F − y)₊     huber ½r² up to δ, then δ|r| − ½δ²
    poisson e^F − yF      gamma y e^−F + F     tweedie e^{(2−p)F}/(2−p) − y e^{(1−p)F}/(1−p)         (a constant of y makes them ≥ 0)
    log −log p_y(F)       exponential e^{−±F}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import DataError, ParameterError
from assay.numerics import Array, Floats
from assay.risk.custom_surrogate import CustomSurrogate

MOST = 700.0  # a power of e beyond which nothing is a number
HUGE = 1e150
FAR = 1e-12  # log odds of classes of hardly any weight stay numbers


@dataclass(frozen=True)
class Derivatives:
    """Of some rows: value (m,), slopes and curvatures (K, m)."""

    value: Floats
    slope: Floats
    curvature: Floats


class BoostingLoss:
    """`start(y, w)`: the best constant (K,); `at(y, F)`: Derivatives; `answer(F)`: what scores mean; `renewed`: leaves answer with this quantile of y − F."""

    name = ""
    trees = 1  # of a stage
    renewed: float | None = None

    def check(self, y: Floats) -> None:
        """Raise for targets that the loss is not defined for."""
        top = float(np.abs(y).max(initial=0.0))
        if top > HUGE:
            raise DataError(
                f"y holds values as large as {top:.3g}, whose squares overflow float64. Rescale it (divide by a constant)."
            )

    def start(self, y: Floats, w: Floats) -> Floats:
        raise NotImplementedError

    def at(self, y: Floats, F: Floats) -> Derivatives:
        raise NotImplementedError

    def answer(self, F: Floats) -> Floats:
        """Numbers or, of classes, probabilities (K, n)."""
        plain: Floats = F[0]
        return plain


def weighted_quantile(values: Floats, w: Floats, q: float) -> float:
    """The least value up to which the share q of the weight lies: it makes Σ w (pinball loss) least."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(w[order])
    at = int(np.searchsorted(reached, q * reached[-1] * (1 - 1e-12)))
    return float(values[order[min(at, len(order) - 1)]])


class SquaredError(BoostingLoss):
    name = "squared_error"

    def start(self, y: Floats, w: Floats) -> Floats:
        return np.array([_mean(y, w)])

    def at(self, y: Floats, F: Floats) -> Derivatives:
        r = F[0] - y
        return Derivatives(0.5 * r * r, r[None], np.ones((1, len(y))))


def _mean(y: Floats, w: Floats) -> float:
    scale = float(w.max())
    return float((y * (w / scale)).sum() / (w / scale).sum())


@dataclass(frozen=True)
class Quantile(BoostingLoss):
    quantile: float = 0.5
    name = "quantile"
    scale: float = 1.0

    @property
    def renewed(self) -> float:  # type: ignore[override]
        return self.quantile

    def start(self, y: Floats, w: Floats) -> Floats:
        return np.array([weighted_quantile(y, w, self.quantile)])

    def at(self, y: Floats, F: Floats) -> Derivatives:
        r, s = y - F[0], self.scale
        value = s * np.maximum(self.quantile * r, (self.quantile - 1) * r)
        slope = s * np.where(r > 0, -self.quantile, 1 - self.quantile)
        slope[r == 0] = 0.0
        return Derivatives(value, slope[None], np.ones((1, len(y))))


class AbsoluteError(Quantile):
    """Twice the loss of the median."""

    name = "absolute_error"

    def __init__(self) -> None:
        super().__init__(0.5, 2.0)


@dataclass
class Huber(BoostingLoss):
    """δ is the quantile `alpha` of |y − median|, found when it starts."""

    alpha: float = 0.9
    delta: float = 1.0
    name = "huber"

    def start(self, y: Floats, w: Floats) -> Floats:
        middle = weighted_quantile(y, w, 0.5)
        self.delta = weighted_quantile(np.abs(y - middle), w, self.alpha)
        if not self.delta > 0:
            self.delta = float(np.abs(y - middle).max()) or 1.0
        return np.array([middle])

    def at(self, y: Floats, F: Floats) -> Derivatives:
        r = F[0] - y
        slope = np.clip(r, -self.delta, self.delta)
        return Derivatives(slope * r - 0.5 * slope * slope, slope[None], np.ones((1, len(y))))


def _exp(x: Floats) -> Floats:
    return np.exp(np.minimum(x, MOST))


class OfLogs(BoostingLoss):
    """Losses of numbers that are never negative, whose scores are the log of the answer."""

    least_open = False  # whether zero is allowed

    def check(self, y: Floats) -> None:
        super().check(y)
        low = float(y.min())
        if low < 0 or (self.least_open and low <= 0):
            rule = "positive" if self.least_open else "not negative"
            raise DataError(f"loss={self.name!r} needs a target that is {rule} everywhere, but y holds {low:g}.")
        if not float(y.max()) > 0:
            raise DataError(f"loss={self.name!r} needs a target that is positive somewhere, but y is zero everywhere.")

    def start(self, y: Floats, w: Floats) -> Floats:
        mean = _mean(y, w)
        if not mean > 0:
            raise DataError(f"loss={self.name!r} needs a target that is positive in some row of positive weight.")
        return np.array([np.log(mean)])

    def answer(self, F: Floats) -> Floats:
        return _exp(F[0])


def _beyond_line(x: Floats) -> Floats:
    """e^x − 1 − x ≥ 0, whose first two terms cancel near 0: there by its series."""
    series = x * x * (0.5 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x * (1 / 720 + x / 5040)))))
    found: Floats = np.where(np.abs(x) < 0.01, series, np.expm1(np.minimum(x, MOST)) - x)
    return found


def _log(y: Floats) -> Floats:
    """log y; 0 where y is."""
    found: Floats = np.log(np.where(y > 0, y, 1.0))
    return found


class Poisson(OfLogs):
    """Value y (e^x − 1 − x) and slope y (e^x − 1) of x = F − log y: large targets do not round them away."""

    name = "poisson"

    def at(self, y: Floats, F: Floats) -> Derivatives:
        e, x = _exp(F[0]), F[0] - _log(y)
        near = (np.abs(x) < 1) & (y > 0)
        close = np.where(near, x, 0.0)
        value = np.where(near, y * _beyond_line(close), e - y * (1 + x))
        slope = np.where(near, y * np.expm1(close), e - y)
        return Derivatives(np.maximum(value, 0.0), slope[None], e[None])


class Gamma(OfLogs):
    name, least_open = "gamma", True

    def at(self, y: Floats, F: Floats) -> Derivatives:
        x = _log(y) - F[0]
        return Derivatives(_beyond_line(x), -np.expm1(np.minimum(x, MOST))[None], (y * _exp(-F[0]))[None])


@dataclass(frozen=True)
class Tweedie(OfLogs):
    power: float = 1.5
    name = "tweedie"

    def at(self, y: Floats, F: Floats) -> Derivatives:
        p = self.power
        a, b = y * _exp((1 - p) * F[0]), _exp((2 - p) * F[0])
        x = F[0] - _log(y)
        near = (np.abs(x) < 1) & (y > 0)
        best = np.where(y > 0, np.where(y > 0, y, 1.0) ** (2 - p), 0.0)
        close = np.where(near, x, 0.0)
        small = best * (_beyond_line((2 - p) * close) / (2 - p) - _beyond_line((1 - p) * close) / (1 - p))
        value = np.where(near, small, b / (2 - p) - a / (1 - p) - best * (1 / (2 - p) - 1 / (1 - p)))
        slope = np.where(near, a * np.expm1(close), b - a)
        return Derivatives(np.maximum(value, 0.0), slope[None], ((2 - p) * b - (1 - p) * a)[None])


def _log_odds(y: Floats, w: Floats) -> float:
    share = min(max(_mean(y, w), FAR), 1 - FAR)
    return float(np.log(share) - np.log1p(-share))


class LogLoss(BoostingLoss):
    """Of two classes, y is 0 or 1."""

    name = "log_loss"

    def start(self, y: Floats, w: Floats) -> Floats:
        return np.array([_log_odds(y, w)])

    def at(self, y: Floats, F: Floats) -> Derivatives:
        f = F[0]
        e = np.exp(-np.abs(f))
        other = e / (1.0 + e)  # of the less likely class
        p = np.where(f >= 0, 1.0 - other, other)
        value = np.log1p(e) + np.where(y > 0, np.maximum(-f, 0.0), np.maximum(f, 0.0))
        return Derivatives(value, (p - y)[None], (other * (1.0 - other))[None])

    def answer(self, F: Floats) -> Floats:
        e = np.exp(-np.abs(F[0]))
        p = np.where(F[0] >= 0, 1.0, e) / (1.0 + e)
        return np.stack([1.0 - p, p])


class Exponential(BoostingLoss):
    """AdaBoost's, of two classes."""

    name = "exponential"

    def start(self, y: Floats, w: Floats) -> Floats:
        return np.array([0.5 * _log_odds(y, w)])

    def at(self, y: Floats, F: Floats) -> Derivatives:
        sign = np.where(y > 0, 1.0, -1.0)
        e = _exp(-sign * F[0])
        return Derivatives(e, (-sign * e)[None], e[None])

    def answer(self, F: Floats) -> Floats:
        return LogLoss().answer(2.0 * F)


@dataclass(frozen=True)
class Softmax(BoostingLoss):
    """Of K classes, y is the class. Curvatures are those of each score alone, K / (K − 1) of them: what K scores that move together need."""

    trees: int = 3
    name = "log_loss"

    def start(self, y: Floats, w: Floats) -> Floats:
        weight = np.bincount(y.astype(np.int64), weights=w / w.max(), minlength=self.trees)
        share: Floats = np.log(np.maximum(weight / weight.sum(), FAR))
        centred: Floats = share - share.mean()
        return centred

    def at(self, y: Floats, F: Floats) -> Derivatives:
        K = self.trees
        top = F.max(axis=0)
        e = np.exp(F - top)
        total = e.sum(axis=0)
        p = e / total
        own, column = y.astype(np.int64), np.arange(len(y))
        value = np.log(total) + top - F[own, column]
        curvature = p * (1.0 - p) * (K / (K - 1))
        p[own, column] -= 1.0
        return Derivatives(np.maximum(value, 0.0), p, curvature)

    def answer(self, F: Floats) -> Floats:
        e = np.exp(F - F.max(axis=0))
        shares: Floats = e / e.sum(axis=0)
        return shares


@dataclass(frozen=True)
class OwnLoss(BoostingLoss):
    """A loss of one's own, by value and slope (`assay.surrogate`). Where it brings no curvature, the greatest that its slopes show stands for it."""

    own: CustomSurrogate
    margin: bool = False
    name = "own"

    def target(self, y: Floats) -> Floats:
        return np.where(y > 0, 1.0, -1.0) if self.margin else y

    def start(self, y: Floats, w: Floats) -> Floats:
        return np.zeros(1) if self.margin else np.array([weighted_quantile(y, w, 0.5)])

    def at(self, y: Floats, F: Floats) -> Derivatives:
        t = self.target(y)
        self.own.check_slope(F[0], t)
        value = np.asarray(self.own.value(F[0], t, 0.0), dtype=np.float64)
        slope = np.asarray(self.own.slope(F[0], t, 0.0), dtype=np.float64)
        return Derivatives(value, slope[None], np.full((1, len(y)), max(self.own.steepest, 1e-12)))


OF_NUMBERS: dict[str, Callable[[Any], BoostingLoss]] = {
    "squared_error": lambda model: SquaredError(),
    "absolute_error": lambda model: AbsoluteError(),
    "huber": lambda model: Huber(float(model.alpha)),
    "quantile": lambda model: Quantile(float(model.quantile)),
    "poisson": lambda model: Poisson(),
    "gamma": lambda model: Gamma(),
    "tweedie": lambda model: Tweedie(float(model.power)),
}


def loss_of(model: Any, classes: int) -> BoostingLoss:
    """The loss that a model's hyper-parameters mean for a target of so many classes (0: numbers)."""
    name = type(model).__name__
    if not isinstance(model.loss, str):
        if classes > 2:
            raise ParameterError(f"{name}: a loss of one's own is for two classes; y has {classes}.")
        if (model.loss.kind == "margin") != (classes == 2):
            raise ParameterError(
                f"{name}: the loss is of kind {model.loss.kind!r}, which is for {'numbers' if classes else 'two classes'}."
            )
        return OwnLoss(model.loss, classes == 2)
    if not classes:
        return OF_NUMBERS[model.loss](model)
    if model.loss == "exponential":
        if classes > 2:
            raise ParameterError(f"{name}: loss='exponential' is for two classes; y has {classes}: use 'log_loss'.")
        return Exponential()
    return LogLoss() if classes == 2 else Softmax(classes)


def renew_leaves(leaf: Array, leaves: int, residual: Floats, w: Floats, q: float) -> Floats:
    """Of each leaf the quantile q of its rows' residuals; of one without rows 0."""
    order = np.lexsort((residual, leaf))
    order = order[w[order] > 0]
    places = np.searchsorted(leaf[order], np.arange(leaves + 1))
    found = np.zeros(leaves)
    for k in range(leaves):
        own = order[places[k] : places[k + 1]]
        if len(own):
            reached = np.cumsum(w[own])
            at = int(np.searchsorted(reached, q * reached[-1] * (1 - 1e-12)))
            found[k] = residual[own[min(at, len(own) - 1)]]
    return found
