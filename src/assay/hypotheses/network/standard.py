"""Columns at mean 0 and deviation 1, and the weights of the columns as they are.

z = (x − m) / s,  a regression's target (y − n) / r:      W₁ ← W₁ / s,  b₁ ← b₁ − (m / s)·W₁,      W_L ← r W_L,  b_L ← r b_L + n
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.hypotheses.class_moments import ClassMoments
from assay.networks import Layer
from assay.numerics import Array, Floats

LEAST = 1e-150  # a deviation below counts as none: its inverse would overflow


class Standard(NamedTuple):
    """mean, scale (d,) of the columns; target_mean, target_scale of a number to predict."""

    mean: Floats
    scale: Floats
    target_mean: float = 0.0
    target_scale: float = 1.0

    def rows(self, X: Array) -> Floats:
        """The rows at mean 0 and deviation 1."""
        Z: Floats = X - self.mean
        Z /= self.scale
        return Z

    @property
    def columns(self) -> tuple[Floats, Floats]:
        """Mean and scale of the columns."""
        return self.mean, self.scale

    def numbers(self, y: Floats) -> Floats:
        """The target likewise."""
        found: Floats = (y - self.target_mean) / self.target_scale
        return found

    def folded(self, layers: Sequence[Layer]) -> list[Layer]:
        """The layers that answer rows as they are."""
        found = [Layer(W.copy(), b.copy()) for W, b in layers]
        W = found[0].weights / self.scale[:, None]
        found[0] = Layer(W, found[0].biases - self.mean @ W)
        W, b = found[-1]
        found[-1] = Layer(W * self.target_scale, b * self.target_scale + self.target_mean)
        return found

    def unfolded(self, layers: Sequence[Layer]) -> list[Layer]:
        """The layers that answer standardised rows as these answer rows as they are."""
        W, b = layers[-1]
        found = [*layers[:-1], Layer(W / self.target_scale, (b - self.target_mean) / self.target_scale)]
        W, b = found[0]
        found[0] = Layer(W * self.scale[:, None], b + self.mean @ W)
        return found


def deviations(moments: ClassMoments) -> tuple[Floats, Floats]:
    """Means and deviations of the columns; a constant column has deviation 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.sqrt(moments.m2[0] / np.maximum(moments.n[0], 1e-300))
    return moments.mean[0], np.where(scale > LEAST, scale, 1.0)


def packed(layers: Sequence[Layer]) -> Floats:
    """All weights and biases in one array, layer after layer."""
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def unpacked(widths: Sequence[int], numbers: Floats) -> list[Layer]:
    """The layers again."""
    found, at = [], 0
    for before, after in itertools.pairwise(widths):
        W = numbers[at : at + before * after].reshape(before, after)
        at += before * after
        found.append(Layer(W, numbers[at : at + after]))
        at += after
    return found


def count(widths: Sequence[int]) -> int:
    """How many numbers `packed` gives."""
    return sum((before + 1) * after for before, after in itertools.pairwise(widths))
