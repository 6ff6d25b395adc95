"""A loss of your own by its value and slope, held to what a loss must be wherever it is evaluated.

    ℓ(z, t) ≥ 0, one finite number a row;    ℓ'(z, t) between the differences of ℓ to the left and to the right of z

Convexity (a slope that never falls) and kinks (a slope that jumps) are found on a grid of scores: they decide which
solvers can take the loss, and what can be claimed of the weights they find.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import ParameterError
from assay.numerics import Floats
from assay.risk.terms import MARGIN, REGRESSION, Surrogate

STEP = 1e-5  # of the differences
NEAR, FAINT = 1e-4, 1e-6  # how far a slope may be off: of itself, and of the greatest slope around
EPS = float(np.finfo(np.float64).eps)
REACH, FINE = 6.0, 49  # the grid: scores −6, −5.75, …, 6 (of a regression: about each target)
HALVINGS = 18  # of a step of the grid, down to 1e-6
JUMP = 1e-3  # of the greatest slope: a change over 1e-6 that is a kink
CODE = -1  # no compiled loop knows it


@dataclass(frozen=True)
class Function:
    """A user's function of (z, t) as solvers call it; one number a row, never NaN. Scores far off may overflow."""

    function: Callable[[Any, Any], Any]
    what: str

    def __call__(self, z: Any, t: Any, width: float = 0.0) -> Floats:
        z, t = np.broadcast_arrays(np.asarray(z, dtype=np.float64), np.asarray(t, dtype=np.float64))
        try:
            with np.errstate(all="ignore"):
                out = np.asarray(self.function(z, t), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"The {self.what} of the custom loss fails on arrays z, t: {error} It is called with arrays: use np.maximum in place of max "
                "and np.where in place of if."
            ) from error
        if out.shape != z.shape:
            raise ParameterError(
                f"The {self.what} of the custom loss returned shape {out.shape} for {z.shape} scores: one number a row is due."
            )
        self.refuse(np.isnan(out), z, t, out, "must be a number")
        if self.what == "value":
            self.refuse(out < 0, z, t, out, "must be ≥ 0")
        return out

    def refuse(self, bad: Any, z: Floats, t: Floats, out: Floats, rule: str) -> None:
        """Raise for the first row that is bad."""
        if bad.any():
            i = int(np.flatnonzero(bad.ravel())[0])
            raise ParameterError(
                f"The {self.what} of the custom loss at z={z.ravel()[i]:g}, t={t.ravel()[i]:g} is {out.ravel()[i]:g}: it {rule}."
            )


@dataclass(frozen=True, repr=False)
class CustomSurrogate(Surrogate):
    """A loss made by `surrogate(value, slope)`. `steepest` is the greatest curvature on the grid."""

    label: str = "custom"
    convex: bool = True
    steepest: float = 1.0

    def __repr__(self) -> str:
        return f"surrogate({self.label!r}, kind={self.kind!r})"

    def check_slope(self, z: Floats, t: Floats) -> None:
        """Raise where the slope at these scores is none of the value."""
        assert isinstance(self.value, Function)
        refuse_disagreement(self.value, self.slope, z, t, "slope", "value")


def refuse_disagreement(value: Any, slope: Any, z: Floats, t: Floats, what: str, of: str) -> None:
    """Raise where `slope` lies outside the differences of `value` to both sides; at a kink anything between them will do."""
    h = STEP * np.maximum(1.0, np.abs(z))
    below, at, above = value(z - h, t, 0.0), value(z, t, 0.0), value(z + h, t, 0.0)
    s = np.asarray(slope(z, t, 0.0))
    with np.errstate(invalid="ignore", over="ignore"):
        left, right = (at - below) / h, (above - at) / h
        size = np.maximum(np.abs(below), np.maximum(np.abs(at), np.abs(above)))
        known = np.isfinite(left) & np.isfinite(right)
        greatest = float(np.max(np.abs(s), where=np.isfinite(s), initial=0.0))
        room = NEAR * np.abs(s) + FAINT * greatest + 16 * EPS * size / h
        bad = known & ~((s >= np.minimum(left, right) - room) & (s <= np.maximum(left, right) + room))
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ParameterError(
            f"The {what} of the custom loss does not agree with its {of}: at z={z[i]:g}, t={t[i]:g} it is given as {s[i]:.6g}, but "
            f"differences of the {of} say {left[i]:.6g} to the left and {right[i]:.6g} to the right."
        )


def surrogate(
    value: Callable[[Any, Any], Any],
    slope: Callable[[Any, Any], Any],
    *,
    curvature: Callable[[Any, Any], Any] | None = None,
    kind: str = MARGIN,
    name: str = "custom",
    targets: Sequence[float] | None = None,
) -> CustomSurrogate:
    """A loss of your own for `ERM(loss=…)`: value(z, t), slope(z, t) and, if you have it, curvature(z, t) on arrays.

    z are scores w·x + b; t is −1 or 1 (`kind="margin"`) or the number to predict (`kind="regression"`). The functions are
    checked on a grid (of a regression about each of `targets`: give some where yours is not defined for all numbers)
    and again on the scores of the rows. A loss that is not convex is taken with a warning. For a cluster the functions
    must be picklable: defined at the top level of a module.

    >>> surrogate(lambda z, t: np.exp(-t * z), lambda z, t: -t * np.exp(-t * z), name="exponential")
    surrogate('exponential', kind='margin')
    """
    if kind not in (MARGIN, REGRESSION):
        raise ParameterError(
            f"kind={kind!r} is not possible: it must be 'margin' (t = ±1) or 'regression' (t a number)."
        )
    if not callable(value) or not callable(slope) or not (curvature is None or callable(curvature)):
        raise ParameterError("value, slope and curvature of a custom loss are functions of (z, t), scores and targets.")
    v, s = Function(value, "value"), Function(slope, "slope")
    c = None if curvature is None else Function(curvature, "curvature")
    z, t = grid(kind, targets)
    for function in (v, s, *(() if c is None else (c,))):
        out = function(z, t)
        function.refuse(~np.isfinite(out), z, t, out, "must be finite")
    refuse_disagreement(v, s, z.ravel(), t.ravel(), "slope", "value")
    if c is not None:
        refuse_disagreement(s, c, z.ravel(), t.ravel(), "curvature", "slope")
    S = s(z, t)
    rise = np.diff(S, axis=1)
    greatest = float(np.abs(S).max())
    convex = bool(rise.min() >= -1e-9 * greatest)
    if not convex:
        _warn(z, t, rise, name)
    kink = _jumps(s, z, t) > JUMP * greatest
    fit = "custom with a kink" if kink else "custom with curvature" if c is not None and convex else "custom"
    steepest = float(np.max(rise / np.diff(z, axis=1))) if c is None else float(c(z, t).max())
    known = None if kink else c
    return CustomSurrogate(
        fit, kind, CODE, v, s, known, None, label=name, convex=convex, steepest=max(steepest, 1e-3 * greatest) or 1.0
    )


def grid(kind: str, targets: Sequence[float] | None = None) -> tuple[Floats, Floats]:
    """Scores and targets (m, 49) on which a loss is checked, a row of rising scores a target."""
    usual = (-1.0, 1.0) if kind == MARGIN else (-3.0, -1.0, 0.0, 0.5, 2.0)
    each = np.array(usual if targets is None or kind == MARGIN else targets, dtype=np.float64)
    if each.ndim != 1 or not len(each) or not np.isfinite(each).all():
        raise ParameterError(f"targets={targets!r} must be some finite numbers, for which the custom loss is checked.")
    around = np.linspace(-REACH, REACH, FINE)
    centre = np.zeros(len(each)) if kind == MARGIN else each
    return np.add.outer(centre, around), np.repeat(each[:, None], FINE, axis=1)


def _jumps(slope: Function, z: Floats, t: Floats) -> float:
    """The greatest change of the slope within 1e-6, looked for by halving every step of the grid where it changes most."""
    a, b, t = z[:, :-1].ravel(), z[:, 1:].ravel(), t[:, 1:].ravel()
    low, high = slope(a, t), slope(b, t)
    for _ in range(HALVINGS):
        m = 0.5 * (a + b)
        at = slope(m, t)
        left = np.abs(at - low) > np.abs(high - at)
        a, low, b, high = np.where(left, a, m), np.where(left, low, at), np.where(left, m, b), np.where(left, at, high)
    return float(np.abs(high - low).max())


def _warn(z: Floats, t: Floats, rise: Floats, name: str) -> None:
    i, j = np.unravel_index(int(np.argmin(rise)), rise.shape)
    warnings.warn(
        f"The custom loss {name!r} is not convex: its slope falls between z={z[i, j]:g} and z={z[i, j + 1]:g} for t={t[i, j]:g}. "
        "A fit finds a place where the risk is flat, which need not be where it is least.",
        UserWarning,
        stacklevel=3,
    )
