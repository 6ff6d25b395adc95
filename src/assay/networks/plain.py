"""The network in NumPy and float64: the definition that the loops must agree with, and what answers few rows without a compiler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.networks.shape import Layer
from assay.numerics import Array, Floats, log_sum_exp

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
