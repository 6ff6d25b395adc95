"""Surrogate losses of a score z where the truth is t, with what optimisation and its certificates need of them.

A margin loss takes t = ±1, a regression loss any number t. Beside value, slope and curvature in z there is the convex
conjugate ℓ*(u) = max_z uz − ℓ(z), infinite outside its domain: by ℓ(z) ≥ uz − ℓ*(u) every u gives a lower bound, and
these bounds are what a duality gap is made of. `code` chooses the same loss inside the compiled loops (solvers/loops/losses.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import ParameterError, nearest
from assay.numerics import Floats

MARGIN, REGRESSION, CLASSES = "margin", "regression", "classes"
WIDEST = 2.0  # the width at which smoothing a hinge begins
Formula = Callable[[Any, Any, float], Any]


@dataclass(frozen=True)
class Surrogate:
    """A loss by name. `width` is Huber's δ, or the width over which the hinge is smoothed while it is solved.

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
        return np.clip(u, -h, h) if self.name == "huber" else u

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


LOG = Surrogate("log", MARGIN, 0, _log_value, _log_slope, _log_curvature, _log_conjugate, at_zero=(np.log(2), np.log(2), -0.5, 0.25))  # fmt: skip
HINGE = Surrogate(
    "hinge", MARGIN, 1, _hinge_value, _hinge_slope, None, _hinge_conjugate, WIDEST, (1.0, 0.25, -0.5, 0.5)
)
SQUARED_HINGE = Surrogate("squared hinge", MARGIN, 2, _squared_hinge_value, _squared_hinge_slope, _squared_hinge_curvature, _squared_hinge_conjugate, at_zero=(1.0, 1.0, -2.0, 2.0))  # fmt: skip
SQUARED = Surrogate("squared", REGRESSION, 3, _squared_value, _squared_slope, _squared_curvature, _squared_conjugate)
HUBER = Surrogate("huber", REGRESSION, 4, _huber_value, _huber_slope, _huber_curvature, _huber_conjugate)
PERCEPTRON = Surrogate("perceptron", MARGIN, 5, _perceptron_value, _perceptron_slope, None, None)
SURROGATES: dict[str, Surrogate] = {s.name: s for s in (LOG, HINGE, SQUARED_HINGE, SQUARED, HUBER, PERCEPTRON)}


def surrogate(name: str) -> Surrogate:
    """A surrogate loss by name ('squared_hinge' is 'squared hinge')."""
    found = SURROGATES.get(name.replace("_", " "))
    if found is None:
        raise ParameterError(f"There is no surrogate loss {name!r}. {nearest(name, SURROGATES)}")
    return found
