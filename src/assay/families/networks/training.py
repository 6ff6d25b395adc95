"""A network under way: epochs of mini-batches, gradients of all rows, outputs. The loops do it; this keeps their arrays.

Whether threads should share the batches is what the clock says of both ways, now and then measured again: threads that share a batch wait for
each other, which is dear where other work keeps one of them from running.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from assay.compiled.simd.memory import APART, break_barrier
from assay.compiled.simd.networks import SHORT
from assay.engines.engine import Threads
from assay.families.networks.architecture import Layer, NetworkShape
from assay.families.networks.loops.backprop import Examples, LayerTable, Parameters, Workspace
from assay.families.networks.loops.epoch import (
    ADAM,
    SGD,
    BatchPlan,
    Team,
    Update,
    add_gradient,
    give_outputs,
    run_epochs,
)
from assay.families.networks.loops.minibatch import HINGE, LOG, NAMES, SIGNS, SOFTMAX, SQUARED, shuffled
from assay.families.networks.training_data import NetworkRows, aligned
from assay.numerics import Array, Floats

ANEW = 32  # uses of one way after which the other is tried again
SLOWER = 1.1  # at most, by one look: the clock may have caught a moment that was not like the others


def sharing_of(work: int) -> ThreadSharing:
    """What this process knows of batches of about so many weights times rows."""
    return _known(work.bit_length())


@lru_cache(maxsize=64)
def _known(size: int) -> ThreadSharing:
    return ThreadSharing()


class ThreadSharing:
    """Seconds that a batch took alone and shared.

    >>> sharing = ThreadSharing()
    >>> sharing.best(2)
    1
    >>> sharing.took(1, 0.5)
    >>> sharing.best(2)
    2
    >>> sharing.took(2, 0.7)
    >>> sharing.best(2)
    1
    """

    def __init__(self) -> None:
        self.seconds: dict[bool, float] = {}
        self.uses = 0

    @property
    def least(self) -> float:
        """Seconds of a batch by the better way; infinite where nothing is known yet."""
        return min(self.seconds.values(), default=math.inf)

    def best(self, most: int) -> int:
        """Threads to use of at most so many; a way not tried yet comes first, one thread before all."""
        alone, shared = self.seconds.get(False), self.seconds.get(True)
        if most == 1 or alone is None:
            return 1
        return most if shared is None or shared < alone else 1

    def took(self, threads: int, seconds: float) -> None:
        """A batch took so long."""
        way = threads > 1
        self.seconds[way] = min(seconds, SLOWER * self.seconds.get(way, math.inf))
        self.uses += 1
        if self.uses % ANEW == 0:
            self.seconds.pop(not way, None)


PIECE = 100  # rows of a batch that a thread takes at a time, about; more pieces than that allow no more threads
WORTH = 1 << 19  # weights times rows of a batch from which threads gain more than they lose by waiting for each other
TRIED = 8  # batches, or epochs, before it is decided whether threads share them

STRETCH = 256  # rows that go through the network together where no batch says how many


class UpdateRule(NamedTuple):
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


class BatchLoss(NamedTuple):
    """Σ w·loss and Σ w·[wrong] of the rows that went through, before the penalty."""

    loss: float
    wrong: float


class Order(NamedTuple):
    """Rows of a block and how epochs go through them: shuffled or as they are; the seed, an epoch's number and that of the block's first row draw the order."""

    rows: Array
    shuffles: bool
    seed: int
    epoch: int
    start: int

    def drawn(self) -> Order:
        """The rows in the order of the epoch, to be taken as they are."""
        if not self.shuffles:
            return self
        return self._replace(rows=shuffled(self.rows, self.seed, self.epoch, self.start), shuffles=False)


class EpochRecords(NamedTuple):
    """After each of some epochs: Σ w·loss and Σ w·[wrong] within it (e,), weights and moments (e, 3, p), batches since the beginning."""

    loss: Floats
    wrong: Floats
    states: Array
    n_batches: list[int]


class TrainerScratch(NamedTuple):
    """Arrays of an epoch: pieces of a batch, where their units begin, gradients and units of the pieces."""

    pieces: int
    units: Array
    work: int
    arrays: Workspace


def _examples(rows: NetworkRows, visited: Array) -> Examples:
    """Rows as the loops want them, and the numbers of those that they visit."""
    return Examples(rows.X, rows.X.shape[1], rows.codes, rows.targets, rows.weights, visited)


class Trainer:
    """Weights of a shape and what the rule remembers of earlier batches. These arrays are never written to: every change makes new ones."""

    def __init__(self, shape: NetworkShape, loss: str, layers: Sequence[Layer], dtype: Any, workers: Threads) -> None:
        self.shape, self.loss, self.dtype, self.workers = shape, loss, np.dtype(dtype), workers
        self.P = shape.flat(layers, dtype)
        self.M, self.V = np.zeros_like(self.P), np.zeros_like(self.P)
        self.decays, self.n_batches = shape.decays(dtype), 0
        outputs = shape.widths[-1]
        self.what = {"squared": SQUARED, "signs": SIGNS, "hinge": HINGE}.get(loss, LOG if outputs == 1 else SOFTMAX)
        self._scratch: dict[int, TrainerScratch] = {}
        self._workspaces: dict[int, Workspace] = {}

    @property
    def layers(self) -> list[Layer]:
        """The weights as they are now."""
        return self.shape.layers(self.P)

    def _table(self) -> LayerTable:
        """The layers as the loops want them."""
        shape = self.shape
        weights, biases, _ = shape.places
        real, last = np.array(shape.widths, dtype=np.int64), len(shape.widths) - 1
        places = (real, shape.wide, shape.used, weights, biases)
        return LayerTable(last, *places, NAMES.index(shape.activation), self.what, shape.output_bias, shape.widths[-1])

    def epoch(self, rows: NetworkRows, order: Array, batch: int, rule: UpdateRule) -> BatchLoss:
        """Go through the rows in `order`, `batch` at a time, and change the weights after each; losses are those before each change."""
        batch = max(1, min(batch, len(order)))
        order = np.ascontiguousarray(order, dtype=np.int64)
        sums = np.zeros((1, 2 * self._scratch_for(batch).pieces))
        nothing = np.empty((0, 3, 0), dtype=self.dtype)  # is kept of the states on the way

        def run(some: Array) -> None:
            self._run(rows, Order(some, False, 0, 0, 0), batch, rule, sums, nothing)

        trial = 0 if sharing_of(batch * len(self.P)).seconds else TRIED * batch
        run(order[:trial])
        run(order[trial:])
        return BatchLoss(float(sums[0, ::2].sum()), float(sums[0, 1::2].sum()))

    def epochs(self, rows: NetworkRows, order: Order, many: int, batch: int, rule: UpdateRule) -> EpochRecords:
        """So many epochs at once, with all states on the way: nothing but the loops runs between them. Those of `epoch`, bit for bit."""
        batch = max(1, min(batch, len(order.rows)))
        sums = np.zeros((many, 2 * self._scratch_for(batch).pieces))
        states = np.empty((many, 3, len(self.P)), dtype=self.dtype)
        first, done, known = self.n_batches, 0, sharing_of(batch * len(self.P)).seconds
        while done < many:  # few at first, until it is known whether threads should share them
            decided = len(known) > 1 or self._most_threads(batch) == 1
            stop = many if decided else min(many, done + (TRIED if known else 1))
            later = order._replace(epoch=order.epoch + done)
            self._run(rows, later, batch, rule, sums[done:stop], states[done:stop])
            done = stop
        batches = -(-len(order.rows) // batch)
        n_batches = [first + batches * (e + 1) for e in range(many)]
        return EpochRecords(sums[:, ::2].sum(axis=1), sums[:, 1::2].sum(axis=1), states, n_batches)

    def seconds_of(self, rows: int, batch: int) -> float:
        """About what an epoch of so many rows takes; infinite where nothing is known yet."""
        return -(-rows // batch) * sharing_of(batch * len(self.P)).least

    def _most_threads(self, batch: int) -> int:
        """Threads that may share a batch."""
        return max(1, min(self.workers.at_once, self._scratch_for(batch).pieces)) if batch * len(self.P) >= WORTH else 1

    def _scratch_for(self, batch: int) -> TrainerScratch:
        if batch not in self._scratch:
            pieces = max(1, -(-batch // PIECE))
            units, work = self.shape.units(-(-batch // pieces) + SHORT)
            sizes = (2 * pieces * len(self.P), *[pieces * work] * 4)
            arrays = Workspace(*(aligned(size, self.dtype) for size in sizes))
            self._scratch[batch] = TrainerScratch(pieces, units, work, arrays)
        return self._scratch[batch]

    def _run(self, rows: NetworkRows, order: Order, batch: int, rule: UpdateRule, sums: Floats, states: Array) -> None:
        """The epochs of `sums`, on as many threads as seems best; the bits do not depend on it."""
        if not len(order.rows):
            return
        start, scratch = time.perf_counter(), self._scratch_for(batch)
        sharing = sharing_of(batch * len(self.P))
        ranks = sharing.best(self._most_threads(batch))
        P, M, V, transposed = (self._each(ranks, a) for a in (self.P, self.M, self.V, self.shape.transposed(self.P)))
        summed, flags = aligned((ranks, len(self.P)), self.dtype), aligned(ranks * APART, np.int64)
        weights = Parameters(P, transposed, M, V, summed, len(self.P))
        place = np.array([order.seed, order.epoch, order.start], dtype=np.int64)
        plan = BatchPlan(order.rows, order.shuffles, place, batch, scratch.pieces, scratch.units, scratch.work)
        examples, table, update = _examples(rows, np.empty_like(order.rows)), self._table(), self._update(rule)

        def run(rank: int) -> int:
            try:
                team = Team(rank, ranks, flags)
                return int(run_epochs(examples, plan, table, scratch.arrays, weights, update, team, sums, states))
            except BaseException:
                break_barrier(flags, rank)
                raise

        try:
            self.n_batches = run(0) if ranks == 1 else self.workers.together(run, ranks)[0]
        except BaseException:  # a thread may not have n_batches
            for rank in range(ranks):
                break_barrier(flags, rank)
            raise
        self.P, self.M, self.V = P[0], M[0], V[0]
        batches = -(-len(order.rows) // batch) * len(sums)
        sharing.took(ranks, (time.perf_counter() - start) / batches)

    def _update(self, rule: UpdateRule) -> Update:
        numbers = (rule.rate, rule.penalty, rule.momentum, rule.beta1, rule.beta2, rule.small)
        how = ADAM if rule.how == "adam" else SGD
        given = np.array(numbers, dtype=self.dtype)
        return Update(how, given, self.decays, rule.nesterov, rule.dropout, rule.seed, self.n_batches)

    def _each(self, ranks: int, numbers: Array) -> Array:
        """A copy of the numbers for each thread."""
        found = aligned((ranks, len(numbers)), self.dtype)
        found[:] = numbers
        return found

    def gradient(self, rows: NetworkRows) -> tuple[BatchLoss, Floats]:
        """Σ w·loss of all rows with its gradient (as flat as P, float64): rows STRETCH by STRETCH, added in order."""
        units, work = self.shape.units(STRETCH + SHORT)
        transposed = self.shape.transposed(self.P)
        total, sums = np.zeros(len(self.P)), np.zeros(2)
        firsts = range(0, len(rows.X), STRETCH)
        for one, G in self.workers.map(partial(self._gradient_part, rows, units, work, transposed), firsts):
            total += G
            sums += one
        return BatchLoss(float(sums[0]), float(sums[1])), total

    def _gradient_part(
        self, rows: NetworkRows, units: Array, work: int, transposed: Array, first: int
    ) -> tuple[Floats, Array]:
        scratch = self._workspace(work)._replace(G=aligned(len(self.P), self.dtype))
        sums, visited = np.zeros(2), np.arange(first, min(first + STRETCH, len(rows.X)))
        add_gradient(_examples(rows, visited), self._table(), units, self.P, transposed, scratch, sums)
        return sums, scratch.G

    def _workspace(self, work: int) -> Workspace:
        """Room for the units of some rows, of this thread: new scratch is touched for the first time at the price of a page fault each 4 kB."""
        here = threading.get_ident()
        if here not in self._workspaces:
            nothing = aligned(0, self.dtype)
            self._workspaces[here] = Workspace(nothing, *(aligned(work, self.dtype) for _ in range(4)))
        return self._workspaces[here]

    def outputs(self, X: Array) -> Floats:
        """f(x) of rows with filled columns: (n, outputs)."""
        units, work = self.shape.units(STRETCH + SHORT)
        F = np.empty((len(X), self.shape.widths[-1]), dtype=self.dtype)
        scratch, table = self._workspace(work), self._table()
        for first in range(0, len(X), STRETCH):
            stop = min(first + STRETCH, len(X))
            give_outputs(X, first, stop, table, units, self.P, scratch, F)
        return F.astype(np.float64)
