"""The shape of a network, and its weights as one flat array: how loops want them, and how people do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from assay.numerics import Array, Floats, log_sum_exp

ACTIVATIONS = ("identity", "relu", "logistic", "tanh", "gelu")  # in the order of families/networks/loops/activations.py
LOSSES = ("log", "squared", "hinge", "signs")
LANES, SHORT = 16, 4  # widths are filled up to a multiple of LANES, and sums go over a multiple of SHORT


class Layer(NamedTuple):
    """Weights (units before, units) and biases (units,)."""

    weights: Floats
    biases: Floats


@dataclass(frozen=True)
class NetworkShape:
    """`widths`: columns, units of the hidden layers, outputs. `output_bias`: whether b_L is learnt, or stays 0."""

    widths: tuple[int, ...]
    activation: str = "relu"
    output_bias: bool = True

    @property
    def depth(self) -> int:
        """L: layers of weights."""
        return len(self.widths) - 1

    @cached_property
    def wide(self) -> Array:
        """Widths with what fills them."""
        return np.array([-(-w // LANES) * LANES for w in self.widths], dtype=np.int64)

    @cached_property
    def used(self) -> Array:
        """Widths up to a multiple of SHORT, beyond which all is zero."""
        return np.array([-(-w // SHORT) * SHORT for w in self.widths], dtype=np.int64)

    @cached_property
    def places(self) -> tuple[Array, Array, int]:
        """Where the weights and biases of layer l begin in the flat array (l = 0: nothing), and its size."""
        weights, biases = (np.zeros(len(self.widths), dtype=np.int64) for _ in range(2))
        at = 0
        for layer in range(1, len(self.widths)):
            weights[layer] = at
            at += int(self.wide[layer - 1] * self.wide[layer])
            biases[layer] = at
            at += int(self.wide[layer])
        return weights, biases, at

    @property
    def size(self) -> int:
        return self.places[2]

    def units(self, rows: int) -> tuple[Array, int]:
        """Where the units of each layer begin in the room for so many rows, and its size."""
        ends = np.concatenate([[0], np.cumsum(self.wide * rows)])
        return ends[:-1].astype(np.int64), int(ends[-1])

    def flat(self, layers: Sequence[Layer], dtype: Any) -> Array:
        """The weights in one array, what fills it 0."""
        found = np.zeros(self.size, dtype=dtype)
        for (W, b), (wide, bias) in zip(layers, self._views(found)):
            wide[: W.shape[0], : W.shape[1]] = W
            bias[: len(b)] = b
        return found

    def layers(self, flat: Array) -> list[Layer]:
        """The weights as float64 matrices."""
        return [
            Layer(W[:before, :after].astype(np.float64), b[:after].astype(np.float64))
            for (W, b), before, after in zip(self._views(flat), self.widths, self.widths[1:])
        ]

    def _views(self, flat: Array) -> list[tuple[Array, Array]]:
        weights, biases, _ = self.places
        found = []
        for layer in range(1, len(self.widths)):
            n, before = int(self.wide[layer]), int(self.wide[layer - 1])
            W = flat[weights[layer] : weights[layer] + before * n].reshape(before, n)
            found.append((W, flat[biases[layer] : biases[layer] + n]))
        return found

    def decays(self, dtype: Any) -> Array:
        """1 for weights, 0 for biases: what the penalty is taken of."""
        found = np.zeros(self.size, dtype=dtype)
        for W, _ in self._views(found):
            W[:] = 1
        return found

    def transposed(self, flat: Array) -> Array:
        """The weights of layers above the first transposed, in the same places."""
        found = np.zeros_like(flat)
        for number, ((W, _), (to, _)) in enumerate(zip(self._views(flat), self._views(found))):
            if number:
                to.reshape(-1)[:] = W.T.ravel()
        return found

    def drawn(self, random: np.random.Generator) -> list[Layer]:
        """Weights to begin with (Glorot and Bengio 2010): uniform within ±√(6 / (units before + after)), logistic ±√(2 / …)."""
        found = []
        factor = 2.0 if self.activation == "logistic" else 6.0
        for number, (before, after) in enumerate(zip(self.widths, self.widths[1:]), 1):
            bound = math.sqrt(factor / (before + after))
            W, b = random.uniform(-bound, bound, (before, after)), random.uniform(-bound, bound, after)
            found.append(Layer(W, b if self.output_bias or number < self.depth else np.zeros(after)))
        return found


# The network in NumPy and float64: the definition that the loops must agree with, and what answers few rows without a compiler.

ROOT, CUBE = 0.7978845608028654, 0.044715


def activated(name: str, z: Floats) -> Floats:
    """φ(z)."""
    if name == "relu":
        return np.maximum(z, 0.0)
    if name == "logistic":
        e = np.exp(-np.abs(z))
        return np.where(z >= 0, 1.0, e) / (1.0 + e)
    if name == "tanh":
        return np.tanh(z)
    if name == "gelu":
        return 0.5 * z * (1.0 + np.tanh(ROOT * (z + CUBE * z**3)))
    return z


def outputs(layers: Sequence[Layer], activation: str, X: Array) -> Floats:
    """f(x) of every row: (n, outputs)."""
    a = np.asarray(X, dtype=np.float64)
    for number, (W, b) in enumerate(layers, 1):
        z = a @ W + b
        a = activated(activation, z) if number < len(layers) else z
    return a


def losses(loss: str, F: Floats, target: Array) -> Floats:
    """The loss of every row: target holds codes (log, hinge, signs), or numbers (n, outputs) (squared)."""
    if loss == "squared":
        squares: Floats = 0.5 * ((F - np.asarray(target).reshape(F.shape)) ** 2).sum(axis=1)
        return squares
    if loss == "signs":
        own_class = target == 1 if F.shape[1] == 1 else np.arange(F.shape[1]) == np.asarray(target)[:, None]
        return losses("squared", F, np.where(own_class, 1.0, -1.0))
    if F.shape[1] == 1:
        margin = np.where(target == 1, 1.0, -1.0) * F[:, 0]
        return np.maximum(0.0, 1.0 - margin) if loss == "hinge" else np.logaddexp(0.0, -margin)
    rows = np.arange(len(F))
    own = F[rows, target]
    if loss == "hinge":
        rivals = F.copy()
        rivals[rows, target] = -np.inf
        short: Floats = np.maximum(0.0, 1.0 + rivals.max(axis=1) - own)
        return short
    return log_sum_exp(F) - own


def wrong(F: Floats, codes: Array) -> Array:
    """Whether the answer of every row is another class."""
    answers = (F[:, 0] > 0).astype(np.int64) if F.shape[1] == 1 else F.argmax(axis=1)
    found: Array = answers != codes
    return found
