"""Mini-batches that all workers of a cluster share, where the clock shows that this is faster.

Every worker holds a copy of the prepared blocks. A batch's rows follow from (seed, epoch, block), so nothing but the weights is sent: each worker gives the gradient
of a stretch of the batch's pieces, these are added in a fixed order (`networks/shared.py`), the weights are changed once, here, and go out again with the
next batch. The bits are those of one process, and a worker that is lost costs time only: its block is gone through again as if nobody had shared.

A batch then costs a round trip: 2.5 ms where two workers on one machine are sent little, 4 ms with 400 kB of weights, 18 ms with 4 MB. One core computes 80 million
weights × rows in 7 ms meanwhile, so only batches of many thousand rows, or wide networks, are worth it. From WORTH weights × rows on, where all
copies fit, one batch is tried both ways, and the faster is kept: nothing but the time shows which.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import ArrayRows, Engine, FilledRows, Part, Rows
from assay.engines.posted import Place, Posted
from assay.engines.threads import Threads
from assay.errors import EngineError
from assay.hypotheses.network.task import Piece, Task, order_of, piece_of
from assay.hypotheses.network.walks import Answered, Gone, Here, Step, There
from assay.numerics import Array

if TYPE_CHECKING:
    from assay.networks.shared import Share
    from assay.networks.training import Rule, Trainer

WORTH = 1 << 25  # weights times rows of a batch below which one process is done before a message has gone round
MEMORY = 4  # a copy of all rows may take one part in so many of a worker's memory
TRIALS = 3
FEW = 4  # teams a thread: more share evenly, and fewer have fewer gradients to send


def walk_of(engine: Engine, rows: Rows, task: Task, n: int, batch: int) -> Here | There | Together:
    """How n such rows are walked through in such batches."""
    here = engine.name != "cluster" or isinstance(rows.at_hand(), ArrayRows | FilledRows)
    alone = Here(engine, rows, task) if here else There(engine, rows, task)
    return Together(engine, alone) if _may_share(engine.places(), task, n, batch) else alone


def _may_share(places: list[Place], task: Task, n: int, batch: int) -> bool:
    """Whether there are workers to share batches, enough work in each, and room for the copies: columns as they are prepared, targets and weights."""
    if len(places) < 2 or len(_division(batch, places)[1]) < 2 or batch * task.shape.size < WORTH:
        return False
    copy = n * (int(task.shape.wide[0]) * np.dtype(task.dtype).itemsize + 24.0)
    return copy <= min(place.memory for place in places) / MEMORY


class Copy:
    """All blocks on one worker, which gives shares of their batches."""

    def __init__(self, task: Task, threads: int, *pieces: Piece) -> None:
        from assay.networks.training import Trainer

        self.task, self.pieces = task, [_own(piece) for piece in pieces]
        zeros = task.shape.layers(np.zeros(task.shape.size))
        self.trainer = Trainer(task.shape, task.loss, zeros, task.dtype, Threads(threads))

    def begin(self, block: int, epoch: int, size: int, shuffled: bool, rule: Rule) -> tuple[int, float]:
        """Stand before the first batch of a block; returns how many rows it has to learn from, and their weight."""
        piece = self.pieces[block]
        order = np.ascontiguousarray(order_of(self.task, epoch, piece, shuffled).drawn().rows, dtype=np.int64)
        self.rows, self.order, self.rule, self.size = piece.rows, order, rule, max(1, min(size, len(order)))
        return len(order), piece.weight

    def share(self, start: int, P: Array, begun: int, team: int, first: int, stop: int) -> Share:
        """Of the batch at `start`, with these weights: what the teams first … stop − 1, of `team` pieces each, find."""
        from assay.networks.shared import Batch, share_of

        self.trainer.P, self.trainer.begun = np.require(P, None, ["C", "A", "W"]), begun
        return share_of(self.trainer, Batch(self.rows, self.order, start, self.size, team), self.rule, first, stop)

    def seconds(self, P: Array) -> float:
        """How long the first batch takes here alone, on as many threads as this process may use."""
        own, self.trainer.workers = self.trainer.workers, Threads()
        team, ((first, stop),) = division(self.size, [self.trainer.workers.workers])
        try:
            return _least(lambda: self.share(0, P, 0, team, first, stop))
        finally:
            self.trainer.workers = own


class Together:
    """Batches of rows that are walked through `alone`, or by all workers together."""

    def __init__(self, engine: Engine, alone: Here | There) -> None:
        self.engine, self.alone, self.task = engine, alone, alone.task
        self.copies: Posted | None = None
        self.tried = False

    def epoch(self, trainer: Trainer, step: Step, first: int = 0) -> Iterator[Gone]:
        """Block after block."""
        if not self.tried:
            self.tried, self.copies = True, self._copies(trainer, step)
        for block in range(first, self.blocks if self.copies is not None else first):
            held = trainer.P, trainer.M, trainer.V, trainer.begun
            try:
                gone = self._go_through(trainer, step, block)
            except EngineError:  # a worker was lost: the block again, alone, and so from now on
                trainer.P, trainer.M, trainer.V, trainer.begun = held
                self.copies, first = None, block
                break
            yield gone
        if self.copies is None:
            yield from self.alone.epoch(trainer, step, first)

    def answers(self, trainer: Trainer) -> Iterator[Answered]:
        """Of the rows held out of each block."""
        return self.alone.answers(trainer)

    def some(self) -> Piece | None:
        """The first block with rows to learn from."""
        return self.alone.some()

    def only(self) -> Piece | None:
        """The one block, where there is no other, it is at hand, and nobody shares its batches."""
        return self.alone.only() if self.tried and self.copies is None else None

    # --- whether to share -------------------------------------------------------------------------------------------

    def _copies(self, trainer: Trainer, step: Step) -> Posted | None:
        """All rows on all workers, where that is faster."""
        parts = list(self.alone.rows.blocks())
        self.blocks = len(parts)
        try:
            one = self._post(parts[:1])
            return self._post(parts) if self._is_faster(one, trainer, step) else None
        except EngineError:
            return None

    def _post(self, parts: list[Part]) -> Posted:
        return self.engine.post(partial(Copy, self.task), partial(_piece_there, self.task), parts)

    def _is_faster(self, one: Posted, trainer: Trainer, step: Step) -> bool:
        """Whether the first batch is: nothing is learnt from it yet."""
        rows, _ = self._begin(one, 0, step)
        if not rows:
            return False
        team, stretches = _division(min(step.batch, rows), one.places)
        asked = [(0, trainer.P, 0, team, *stretch) for stretch in stretches]
        together = _least(lambda: one.ask("share", *asked))
        return together < self._seconds_alone(one, trainer, step)

    def _seconds_alone(self, one: Posted, trainer: Trainer, step: Step) -> float:
        """Of the first batch, where it would be computed: here, or by a single worker."""
        if not isinstance(self.alone, Here):
            return float(one.ask("seconds", (trainer.P,))[0])
        copy = Copy(self.task, 1, next(iter(self.alone.pieces)))
        copy.begin(0, *_asked(step))
        return copy.seconds(trainer.P)

    # --- sharing ----------------------------------------------------------------------------------------------------

    def _begin(self, copies: Posted, block: int, step: Step) -> tuple[int, float]:
        found: tuple[int, float] = copies.ask_all("begin", block, *_asked(step))[0]
        return found

    def _go_through(self, trainer: Trainer, step: Step, block: int) -> Gone:
        """The batches of one block."""
        from assay.networks.shared import change

        assert self.copies is not None
        rows, weight = self._begin(self.copies, block, step)
        size = max(1, min(step.batch, rows))
        team, stretches = _division(size, self.copies.places)
        sums: Any = 0.0
        for start in range(0, rows, size):
            asked = [(start, trainer.P, trainer.begun, team, *stretch) for stretch in stretches]
            shares = self.copies.ask("share", *asked)
            change(trainer, step.rule, shares, min(size, rows - start))
            sums = sums + np.concatenate([share.sums for share in shares])
        if not rows:
            return Gone(0.0, 0.0, 0.0, 0)
        loss, wrong = (float(np.ascontiguousarray(sums).ravel()[k::2].sum()) for k in (0, 1))
        return Gone(loss, wrong, weight, rows)


def _division(size: int, places: Sequence[Place]) -> tuple[int, list[tuple[int, int]]]:
    return division(size, [place.threads for place in places])


def division(size: int, threads: Sequence[int]) -> tuple[int, list[tuple[int, int]]]:
    """How many pieces of such a batch make a team, some four teams a thread, and the teams (first, stop) of each worker with so many threads; those
    without any are left out."""
    from assay.networks.shared import pieces_of

    pieces, ends = pieces_of(size), np.cumsum([0, *threads])
    team = 1 << max(0, int(math.log2(max(1.0, pieces / (FEW * ends[-1])))))
    teams = -(-pieces // team)
    cuts = [math.ceil(teams * end / ends[-1]) for end in ends]
    return team, [(a, b) for a, b in itertools.pairwise(cuts) if a < b]


def _asked(step: Step) -> tuple[int, int, bool, Rule]:
    return step.epoch, step.batch, step.shuffled, step.rule


def _least(work: Any) -> float:
    """The least seconds of some trials, after one that may compile."""
    work()
    found = []
    for _ in range(TRIALS):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def _piece_there(task: Task, part: Part) -> Piece:
    return piece_of(task, part.load())


def _own(piece: Piece) -> Piece:
    """The piece in arrays that loops may write to: what travelled may lie in memory of others."""
    rows = type(piece.rows)(*(np.require(a, None, ["C", "A", "W"]) for a in piece.rows))
    return piece._replace(rows=rows, train=np.array(piece.train), held=np.array(piece.held))
