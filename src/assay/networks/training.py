"""A network under way: epochs of mini-batches, gradients of all rows, outputs. The loops do it; this keeps their arrays."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines.threads import Threads
from assay.loops.network.activations import NAMES
from assay.loops.network.epoch import ADAM, SGD, add_gradient, give_outputs, run_epoch
from assay.loops.network.losses import HINGE, LOG, SOFTMAX, SQUARED
from assay.loops.network.meeting import APART
from assay.loops.network.products import SHORT
from assay.networks.prepared import Prepared as Prepared
from assay.networks.prepared import prepare as prepare
from assay.networks.shape import Layer, Shape
from assay.numerics import Array, Floats

PIECE = 100  # rows of a batch that a thread takes at a time, about; more pieces than that allow no more threads
WORTH = 1 << 19  # weights times rows of a batch from which threads gain more than they lose by waiting for each other
TRIED = 8  # batches
STRETCH = 256  # rows that go through the network together where no batch says how many


class Rule(NamedTuple):
    """How weights are changed after a batch."""

    how: str = "adam"  # or "sgd"
    rate: float = 1e-3
    penalty: float = 1e-4
    momentum: float = 0.9
    nesterov: bool = True
    beta1: float = 0.9
    beta2: float = 0.999
    small: float = 1e-8
    dropout: float = 0.0
    seed: int = 0


class Judged(NamedTuple):
    """Σ w·loss and Σ w·[wrong] of the rows that went through, before the penalty."""

    loss: float
    wrong: float


class _Room(NamedTuple):
    """Arrays of an epoch: pieces of a batch, where their units begin, transposed weights, gradients and units of the pieces, sums of their losses."""

    pieces: int
    units: Array
    work: int
    turned: Array
    arrays: list[Array]
    sums: Floats


class Trainer:
    """Weights of a shape and what the rule remembers of earlier batches."""

    def __init__(self, shape: Shape, loss: str, layers: Sequence[Layer], dtype: Any, workers: Threads) -> None:
        self.shape, self.loss, self.dtype, self.workers = shape, loss, np.dtype(dtype), workers
        self.P = shape.flat(layers, dtype)
        self.M, self.V = np.zeros_like(self.P), np.zeros_like(self.P)
        self.decays, self.begun = shape.decays(dtype), 0
        outputs = shape.widths[-1]
        self.what = {"squared": SQUARED, "hinge": HINGE}.get(loss, LOG if outputs == 1 else SOFTMAX)

    @property
    def layers(self) -> list[Layer]:
        """The weights as they are now."""
        return self.shape.layers(self.P)

    def _fixed(self) -> tuple[Any, ...]:
        weights, biases, _ = self.shape.places
        return np.array(self.shape.widths, dtype=np.int64), self.shape.wide, self.shape.used, weights, biases

    def _kind(self) -> tuple[int, int, bool, int]:
        return NAMES.index(self.shape.activation), self.what, self.shape.output_bias, self.shape.widths[-1]

    def epoch(self, rows: Prepared, order: Array, batch: int, rule: Rule) -> Judged:
        """Go through the rows in `order`, `batch` at a time, and change the weights after each; losses are those before each change.

        Threads that share a batch wait for each other, which is dear where other work keeps them from running: a few batches on one thread and on all
        show which is faster now. The bits are the same.
        """
        batch = max(1, min(batch, len(order)))
        room = self._room(batch)
        order = np.ascontiguousarray(order, dtype=np.int64)
        many = max(1, min(self.workers.at_once, room.pieces)) if batch * len(self.P) >= WORTH else 1
        trial = TRIED * batch
        if many == 1 or len(order) < 4 * trial:
            self._run(rows, order, batch, rule, room, 1)
        else:
            alone = self._run(rows, order[:trial], batch, rule, room, 1)
            shared = self._run(rows, order[trial : 2 * trial], batch, rule, room, many)
            self._run(rows, order[2 * trial :], batch, rule, room, many if shared < alone else 1)
        return Judged(float(room.sums[::2].sum()), float(room.sums[1::2].sum()))

    def _room(self, batch: int) -> _Room:
        pieces = max(1, -(-batch // PIECE))
        units, work = self.shape.units(-(-batch // pieces) + SHORT)
        arrays = [np.zeros(pieces * size, dtype=self.dtype) for size in (len(self.P), work, work, work, work)]
        return _Room(pieces, units, work, self.shape.turned(self.P), arrays, np.zeros(2 * pieces))

    def _run(self, rows: Prepared, order: Array, batch: int, rule: Rule, room: _Room, ranks: int) -> float:
        """The batches of `order` on so many threads; returns the seconds."""
        flags = np.zeros(ranks * APART, dtype=np.int64)
        numbers = np.array(
            [rule.rate, rule.penalty, rule.momentum, rule.beta1, rule.beta2, rule.small], dtype=self.dtype
        )
        how = ADAM if rule.how == "adam" else SGD

        def run(rank: int) -> int:
            return int(
                run_epoch(*rows[:3], rows.weights, order, batch, room.pieces, *self._fixed(), room.units, room.work, *self._kind(), how, self.P,
                          room.turned, self.M, self.V, *room.arrays, self.decays, numbers, rule.nesterov, rule.dropout, rule.seed, self.begun, rank,
                          ranks, flags, room.sums)
            )  # fmt: skip

        start = time.perf_counter()
        self.begun = run(0) if ranks == 1 else self.workers.together(run, ranks)[0]
        return time.perf_counter() - start

    def gradient(self, rows: Prepared) -> tuple[Judged, Floats]:
        """Σ w·loss of all rows with its gradient (as flat as P, float64): rows STRETCH by STRETCH, added in order."""
        units, work = self.shape.units(STRETCH + SHORT)
        turned = self.shape.turned(self.P)
        total, sums = np.zeros(len(self.P)), np.zeros(2)
        firsts = range(0, len(rows.X), STRETCH)
        for one, G in self.workers.map(partial(self._gradient_part, rows, units, work, turned), firsts):
            total += G
            sums += one
        return Judged(float(sums[0]), float(sums[1])), total

    def _gradient_part(
        self, rows: Prepared, units: Array, work: int, turned: Array, first: int
    ) -> tuple[Floats, Array]:
        G, Z, A, D, S = (np.zeros(size, dtype=self.dtype) for size in (len(self.P), work, work, work, work))
        sums, stop = np.zeros(2), min(first + STRETCH, len(rows.X))
        add_gradient(
            *rows[:3],
            rows.weights,
            first,
            stop,
            *self._fixed(),
            units,
            *self._kind(),
            self.P,
            turned,
            G,
            Z,
            A,
            D,
            S,
            sums,
        )
        return sums, G

    def outputs(self, X: Array) -> Floats:
        """f(x) of rows with filled columns: (n, outputs)."""
        units, work = self.shape.units(STRETCH + SHORT)
        F = np.empty((len(X), self.shape.widths[-1]), dtype=self.dtype)
        Z, A = (np.zeros(work, dtype=self.dtype) for _ in range(2))
        what = NAMES.index(self.shape.activation)
        for first in range(0, len(X), STRETCH):
            stop = min(first + STRETCH, len(X))
            give_outputs(X, first, stop, *self._fixed(), units, what, self.P, Z, A, F)
        return F.astype(np.float64)
