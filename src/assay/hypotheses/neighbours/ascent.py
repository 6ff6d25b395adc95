"""Climbing F(L), the chance that soft neighbours name a row rightly, by L-BFGS. Shape: pairwise blocks, repeated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.engines.threads import Threads
from assay.neighbours.soft import Sorted, value_and_gradient
from assay.numerics import Floats
from assay.solvers.lbfgs import Memory, Place, descend, dot

FIRST = 0.05  # the length of the first step, as a share of the start's
LONGEST = 0.2  # of a step at first, likewise
MEMORY = 10


class Ascent(NamedTuple):
    """F over rows, of maps L (d, r) or, where `diagonal`, of the numbers on its diagonal (d,)."""

    rows: Sorted
    diagonal: bool
    workers: Threads

    def map(self, numbers: Floats) -> Floats:
        """L of the numbers that are sought."""
        return np.diag(numbers) if self.diagonal else numbers

    def vector(self, L: Floats) -> Floats:
        """The numbers that are sought, of L or of the gradient by it."""
        return L.diagonal().copy() if self.diagonal else L

    def stand(self, numbers: Floats) -> Place:
        """−F and its gradient."""
        value, G = value_and_gradient(self.rows, self.map(numbers), self.workers)
        return Place(numbers, None, -value, -self.vector(G))

    def climb(self, start: Floats, steps: int, tol: float) -> Iterator[Place]:
        """The start and the places after each step; fewer steps where the slope ≤ tol, or where none leads higher."""
        at = self.stand(start)
        yield at
        recent = Memory(Scaled(FIRST * dot(start, start) / max(slope_of(at), 1e-300)), MEMORY)
        for _ in range(steps):
            if slope_of(at) <= tol:
                return
            following = descend(self.stand, at, _capped(recent.direction(at.gradient), at.w), recent)
            if following is None:
                return
            recent.remember(following.w - at.w, following.gradient - at.gradient)
            at = following
            yield at


def _capped(v: Floats, at: Floats) -> Floats:
    """v, at most LONGEST of the length of where it starts: a longer leap ends where only the nearest row counts, and nothing is left to climb."""
    most = LONGEST * float(np.sqrt(dot(at, at) / max(dot(v, v), 1e-300)))
    return v * most if most < 1.0 else v


class Scaled(NamedTuple):
    """The preconditioner of a solver that knows nothing yet but how long its first step should be."""

    factor: float

    def solve(self, g: Floats) -> Floats:
        return self.factor * g

    def renewed(self, number: int, w: Floats) -> Scaled:
        return self


def slope_of(at: Place) -> float:
    """‖∂F/∂L‖·‖L‖, which does not depend on the unit of L."""
    return float(np.sqrt(dot(at.gradient, at.gradient) * dot(at.w, at.w)))
