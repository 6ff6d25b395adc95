"""The perceptron's orders of visiting: what a pass over the blocks is, on any engine.

Online orders are an ordered stream: the blocks come one after another and only reading runs ahead. The batch order is a fold a
pass. Random draws are keyed by (seed, pass, block), never by a worker, so that all engines make the same visits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, SparseMatrix, fold, load
from assay.errors import DataError, ParameterError
from assay.inputs import refuse_non_finite
from assay.labels import Labels
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.loops.perceptron import LabelledRows, VisitRule

NO_STEPS = np.empty(0)
NO_DRAWS = np.empty(0, dtype=np.int64)
NO_LIMIT = 1 << 62
FIRST_VOTERS = 64


class Rule(NamedTuple):
    """What a visit does: its order, step ε, whether a score of 0 is always a mistake, the number 1 of x̃ = (1, x) or 0."""

    order: str
    eta: float
    shuffle: bool = False
    seed: int = 0
    one: float = 1.0

    @property
    def zero(self) -> bool:
        return self.order == "first-mistake"


class Piece(NamedTuple):
    """The rows of a block that count: A (dense rows or Csr), codes, steps (or none where all are ε), and where they were."""

    A: Any
    codes: Array
    steps: Floats
    numbers: Array | None
    block: Block


def prepare(labels: Labels, factor: Floats | None, eta: float, block: Block) -> Piece:
    """The rows of positive step ε·(weight)·(factor of the class; None: all 1)."""
    from assay.loops.linear_rows import Csr

    assert block.y is not None
    X, codes, steps, numbers = block.X, labels.encode(block.y), NO_STEPS, None
    if factor is not None or block.w is not None:
        steps = eta * (np.ones(len(codes)) if block.w is None else block.w)
        steps = steps if factor is None else steps * factor[codes]
        if not np.all(steps > 0):
            numbers = np.flatnonzero(steps > 0)
            X, codes, steps = X[numbers], codes[numbers], steps[numbers]
    A = Csr(X.data, X.indices, X.indptr) if isinstance(X, SparseMatrix) else X
    return Piece(A, np.ascontiguousarray(codes, dtype=np.int64), steps, numbers, block)


class Pieces:
    """The pieces of all blocks in order, as often as they are asked for: kept where the rows are in memory, else read again."""

    def __init__(self, engine: Engine, rows: Rows, labels: Labels, factor: Floats | None, eta: float) -> None:
        rows = rows.at_hand()
        self._engine, self._rows = engine, rows
        self._prepare = partial(prepare, labels, factor, eta)
        blocks = engine.reader().map(load, rows.blocks()) if rows.resident else None
        self._kept = None if blocks is None else [self._prepare(b) for b in blocks]

    def __iter__(self) -> Iterator[Piece]:
        if self._kept is not None:
            yield from self._kept
        else:
            for block in self._engine.map(load, self._rows.blocks()):
                yield self._prepare(block.load())  # what travelled may lie at odd addresses


def visits(rule: Rule, epoch: int, number: int, n: int, *, in_order: bool = False) -> Array:
    """The rows of block `number` in the order in which pass `epoch` visits them; none: as they stand."""
    if in_order or not n or not (rule.order == "random" or rule.shuffle):
        return NO_DRAWS
    rng = np.random.default_rng([rule.seed, epoch, number])
    return rng.integers(0, n, n) if rule.order == "random" else rng.permutation(n)


def _for_loops(piece: Piece, rule: Rule, after: int, most: int) -> tuple[LabelledRows, VisitRule]:
    """Rows and rule as the loops want them."""
    from assay.loops.perceptron import LabelledRows, VisitRule

    return LabelledRows(piece.A, piece.codes, piece.steps), VisitRule(rule.eta, rule.zero, rule.one, after, most)


class Run:
    """Weights under way (`loops.perceptron.Online`) and the passes that change them."""

    def __init__(self, rule: Rule, state: Any, names: Sequence[str] | None = None, max_voters: int = 0) -> None:
        from assay.loops import perceptron as loops

        self.rule, self.S, self.names, self.max_voters = rule, state, names, max_voters
        self.visit = loops.visit_two if len(state.b) == 1 else loops.visit_many
        self.on, self.again, self.leave = loops.ON, loops.AGAIN, loops.LEAVE

    @property
    def mistakes(self) -> int:
        return int(self.S.counts[1])

    def _visit(self, piece: Piece, draws: Array, after: int, most: int = NO_LIMIT) -> int:
        """Visit the rows of a piece; where the room for voters ends, there is made more of it."""
        at, n = 0, len(draws) or len(piece.codes)
        rows, rule = _for_loops(piece, self.rule, after, most)
        while True:
            at = self.visit(rows, draws, at, rule, self.S)
            self._refuse_bad(piece, self.S.sums[2])
            full = len(self.S.votes) and self.S.counts[2] == len(self.S.votes)
            if not 0 <= at < n or not full or self.mistakes >= most:
                return int(at)
            self._grow()

    def _grow(self) -> None:
        V = len(self.S.votes)
        if self.max_voters <= V:
            raise ParameterError(
                f"variant='voted' has made {V} weight vectors, and max_voters={self.max_voters}: raise max_voters (each takes the "
                "memory of one model), lower max_iter, or use variant='averaged', which needs no such list."
            )
        more = min(V, self.max_voters - V)
        voters = np.concatenate([self.S.voters, np.zeros((more, *self.S.voters.shape[1:]))])
        self.S = self.S._replace(voters=voters, votes=np.concatenate([self.S.votes, np.zeros(more, dtype=np.int64)]))

    def _refuse_bad(self, piece: Piece, bad: float) -> None:
        if bad == 0 and np.isfinite(self.S.w).all() and np.isfinite(self.S.b).all():
            return
        refuse_non_finite(piece.block.X, piece.block.start, self.names)
        raise DataError(
            "Scores overflow float64: the columns, the weights of the rows or eta0 are too large. Divide the columns by a "
            "constant (or standardise them)."
        )

    def online_pass(self, pieces: Pieces, epoch: int, *, in_order: bool = False) -> int:
        """Visit all rows once; returns how many visits that were."""
        before = int(self.S.counts[0])
        for number, piece in enumerate(pieces):
            draws = visits(self.rule, epoch, number, len(piece.codes), in_order=in_order)
            self._visit(piece, draws, self.on)
        return int(self.S.counts[0]) - before

    def first_mistakes(self, pieces: Pieces, most: int) -> bool:
        """Correct the first mistake, search again from the first row, …; False where `most` corrections left a mistake."""
        while True:
            for number, piece in enumerate(pieces):
                end = self._visit(piece, NO_DRAWS, self.again if number == 0 else self.leave, most)
                if end < 0:
                    break  # a correction: begin again with the first block
                if end < len(piece.codes):
                    return False
            else:
                return True

    def count_wrong(self, pieces: Pieces, most: int = NO_LIMIT) -> int:
        """Mistakes of the present weights; the search ends at `most`."""
        found = 0
        for piece in pieces:
            found += int(self._gather(piece, np.empty((0, 0)), np.empty(0), most - found).counts[1])
            if found >= most:
                break
        return found

    def _gather(self, piece: Piece, G: Floats, g: Floats, most: int = NO_LIMIT) -> Corrections:
        got = gather(self.rule, self.S.w, self.S.b, piece, G, g, most)
        self._refuse_bad(piece, float(got.sums[2]))
        return got

    def batch_step(self, engine: Engine, rows: Rows, labels: Labels, factor: Floats | None) -> int:
        """w += the sum of the corrections of all mistakes: a fold. Returns the number of mistakes."""
        S = self.S
        absorb = partial(_absorb_corrections, self.rule, labels, factor, S.w, S.b, self.names)
        total = fold(engine, rows.blocks(), absorb, _merge_corrections)
        if total is None:
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        step = float(total.sums[0])
        S.w[...] += total.G
        S.b[...] += total.g
        S.sums[:2] += (step, step * step)
        S.counts[:2] += total.counts
        if not (np.isfinite(S.w).all() and np.isfinite(S.b).all()):
            raise DataError("The weights overflow float64: divide the columns (or the sample weights) by a constant.")
        return int(total.counts[1])


class Ended(NamedTuple):
    """How the passes of a fit ended: how many there were, and whether the last one met the rule to stop."""

    passes: int
    converged: bool


def run_passes(
    run: Run, engine: Engine, rows: Rows, labels: Labels, factor: Floats | None, share: float, most: int | None
) -> Ended:
    """Pass after pass until the mistakes of one are at most a `share`, `most` of them; None: one pass in order, as more rows come."""
    if run.rule.order == "batch":
        return _batch_passes(run, engine, rows, labels, factor, share, most or 1)
    pieces = Pieces(engine, rows, labels, factor, run.rule.eta)
    if most is None:
        before = run.mistakes
        visited = run.online_pass(pieces, 1, in_order=True)
        return Ended(1, run.mistakes - before <= share * visited)
    if run.rule.order == "first-mistake":
        done = run.first_mistakes(pieces, most)
        return Ended(run.mistakes + 1 if done else most, done)
    for epoch in range(1, most + 1):
        before = run.mistakes
        visited = run.online_pass(pieces, epoch)
        wrong = run.mistakes - before
        if run.rule.order == "random":
            wrong = run.count_wrong(pieces, int(share * visited) + 1)
        if wrong <= share * visited:
            return Ended(epoch, True)
    return Ended(most, False)


def _batch_passes(
    run: Run, engine: Engine, rows: Rows, labels: Labels, factor: Floats | None, share: float, most: int
) -> Ended:
    for epoch in range(1, most + 1):
        before = int(run.S.counts[0])
        wrong = run.batch_step(engine, rows, labels, factor)
        if wrong <= share * (int(run.S.counts[0]) - before):
            return Ended(epoch, True)
    return Ended(most, False)


class Corrections(NamedTuple):
    """Σ ± step·x̃ over mistakes: G (m, d) and g (m,); sums and counts as in `Online`."""

    G: Floats
    g: Floats
    sums: Floats
    counts: Array


def gather(rule: Rule, w: Floats, b: Floats, piece: Piece, G: Floats, g: Floats, most: int = NO_LIMIT) -> Corrections:
    """The corrections of a piece added to G, g (or counted only, where those are empty)."""
    from assay.loops import perceptron as loops

    sums, counts = np.zeros(3), np.zeros(2, dtype=np.int64)
    loops.gather(*_for_loops(piece, rule, loops.ON, most), w, b, G, g, sums, counts)
    return Corrections(G, g, sums, counts)


def _absorb_corrections(
    rule: Rule, labels: Labels, factor: Floats | None, w: Floats, b: Floats, names: Any, block: Block
) -> Corrections:
    piece = prepare(labels, factor, rule.eta, block)
    w, b = np.require(w, None, ["C", "A"]), np.require(b, None, ["C", "A"])
    got = gather(rule, w, b, piece, np.zeros_like(w), np.zeros_like(b))
    if np.isnan(got.sums[2]):
        refuse_non_finite(block.X, block.start, names)
        raise DataError("Scores overflow float64: divide the columns by a constant (or standardise them).")
    return got


def _merge_corrections(a: Corrections, b: Corrections) -> Corrections:
    return Corrections(*(x + y for x, y in zip(a, b)))
