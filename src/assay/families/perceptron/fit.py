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
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats, near_zero

if TYPE_CHECKING:
    from assay.families.perceptron.estimators import Perceptron
    from assay.families.perceptron.loops import LabelledRows, VisitRule


NO_STEPS = np.empty(0)
NO_DRAWS = np.empty(0, dtype=np.int64)
NO_LIMIT = 1 << 62
FIRST_VOTERS = 64


class PerceptronRule(NamedTuple):
    """What a visit does: its order, step ε, whether a score of 0 is always a mistake, the number 1 of x̃ = (1, x) or 0."""

    order: str
    eta: float
    shuffle: bool = False
    seed: int = 0
    one: float = 1.0

    @property
    def zero(self) -> bool:
        return self.order == "first-mistake"


class VisitBlock(NamedTuple):
    """The rows of a block that count: A (dense rows or Csr), codes, steps (or none where all are ε), and where they were."""

    A: Any
    codes: Array
    steps: Floats
    numbers: Array | None
    block: Block


def prepare(labels: Labels, factor: Floats | None, eta: float, block: Block) -> VisitBlock:
    """The rows of positive step ε·(weight)·(factor of the class; None: all 1)."""
    from assay.families.perceptron.loops import Csr

    assert block.y is not None
    X, codes, steps, numbers = block.X, labels.encode(block.y), NO_STEPS, None
    if factor is not None or block.w is not None:
        steps = eta * (np.ones(len(codes)) if block.w is None else block.w)
        steps = steps if factor is None else steps * factor[codes]
        if not np.all(steps > 0):
            numbers = np.flatnonzero(steps > 0)
            X, codes, steps = X[numbers], codes[numbers], steps[numbers]
    A = Csr(X.data, X.indices, X.indptr) if isinstance(X, SparseMatrix) else X
    return VisitBlock(A, np.ascontiguousarray(codes, dtype=np.int64), steps, numbers, block)


class VisitBlocks:
    """The pieces of all blocks in order, as often as they are asked for: kept where the rows are in memory, else read again."""

    def __init__(self, engine: Engine, rows: Rows, labels: Labels, factor: Floats | None, eta: float) -> None:
        rows = rows.at_hand()
        self._engine, self._rows = engine, rows
        self._prepare = partial(prepare, labels, factor, eta)
        blocks = engine.reader().map(load, rows.blocks()) if rows.resident else None
        self._kept = None if blocks is None else [self._prepare(b) for b in blocks]

    def __iter__(self) -> Iterator[VisitBlock]:
        if self._kept is not None:
            yield from self._kept
        else:
            for block in self._engine.map(load, self._rows.blocks()):
                yield self._prepare(block.load())  # what travelled may lie at odd addresses


def visits(rule: PerceptronRule, epoch: int, number: int, n: int, *, in_order: bool = False) -> Array:
    """The rows of block `number` in the order in which pass `epoch` visits them; none: as they stand."""
    if in_order or not n or not (rule.order == "random" or rule.shuffle):
        return NO_DRAWS
    rng = np.random.default_rng([rule.seed, epoch, number])
    return rng.integers(0, n, n) if rule.order == "random" else rng.permutation(n)


def _for_loops(piece: VisitBlock, rule: PerceptronRule, after: int, most: int) -> tuple[LabelledRows, VisitRule]:
    """Rows and rule as the loops want them."""
    from assay.families.perceptron.loops import LabelledRows, VisitRule

    return LabelledRows(piece.A, piece.codes, piece.steps), VisitRule(rule.eta, rule.zero, rule.one, after, most)


class PerceptronRun:
    """Weights under way (`families.perceptron.loops.passes.OnlineWeights`) and the passes that change them."""

    def __init__(
        self, rule: PerceptronRule, state: Any, names: Sequence[str] | None = None, max_voters: int = 0
    ) -> None:
        from assay.families.perceptron import loops as loops

        self.rule, self.S, self.names, self.max_voters = rule, state, names, max_voters
        self.visit = loops.visit_two if len(state.b) == 1 else loops.visit_many
        self.on, self.again, self.leave = loops.ON, loops.AGAIN, loops.LEAVE

    @property
    def mistakes(self) -> int:
        return int(self.S.counts[1])

    def _visit(self, piece: VisitBlock, draws: Array, after: int, most: int = NO_LIMIT) -> int:
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

    def _refuse_bad(self, piece: VisitBlock, bad: float) -> None:
        if bad == 0 and np.isfinite(self.S.w).all() and np.isfinite(self.S.b).all():
            return
        refuse_non_finite(piece.block.X, piece.block.start, self.names)
        raise DataError(
            "Scores overflow float64: the columns, the weights of the rows or eta0 are too large. Divide the columns by a "
            "constant (or standardise them)."
        )

    def online_pass(self, pieces: VisitBlocks, epoch: int, *, in_order: bool = False) -> int:
        """Visit all rows once; returns how many visits that were."""
        before = int(self.S.counts[0])
        for number, piece in enumerate(pieces):
            draws = visits(self.rule, epoch, number, len(piece.codes), in_order=in_order)
            self._visit(piece, draws, self.on)
        return int(self.S.counts[0]) - before

    def first_mistakes(self, pieces: VisitBlocks, most: int) -> bool:
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

    def count_wrong(self, pieces: VisitBlocks, most: int = NO_LIMIT) -> int:
        """Mistakes of the present weights; the search ends at `most`."""
        found = 0
        for piece in pieces:
            found += int(self._gather(piece, np.empty((0, 0)), np.empty(0), most - found).counts[1])
            if found >= most:
                break
        return found

    def _gather(self, piece: VisitBlock, G: Floats, g: Floats, most: int = NO_LIMIT) -> Corrections:
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


class RunEnd(NamedTuple):
    """How the passes of a fit ended: how many there were, and whether the last one met the rule to stop."""

    passes: int
    converged: bool


def run_passes(
    run: PerceptronRun,
    engine: Engine,
    rows: Rows,
    labels: Labels,
    factor: Floats | None,
    share: float,
    most: int | None,
) -> RunEnd:
    """Pass after pass until the mistakes of one are at most a `share`, `most` of them; None: one pass in order, as more rows come."""
    if run.rule.order == "batch":
        return _batch_passes(run, engine, rows, labels, factor, share, most or 1)
    pieces = VisitBlocks(engine, rows, labels, factor, run.rule.eta)
    if most is None:
        before = run.mistakes
        visited = run.online_pass(pieces, 1, in_order=True)
        return RunEnd(1, run.mistakes - before <= share * visited)
    if run.rule.order == "first-mistake":
        done = run.first_mistakes(pieces, most)
        return RunEnd(run.mistakes + 1 if done else most, done)
    for epoch in range(1, most + 1):
        before = run.mistakes
        visited = run.online_pass(pieces, epoch)
        wrong = run.mistakes - before
        if run.rule.order == "random":
            wrong = run.count_wrong(pieces, int(share * visited) + 1)
        if wrong <= share * visited:
            return RunEnd(epoch, True)
    return RunEnd(most, False)


def _batch_passes(
    run: PerceptronRun, engine: Engine, rows: Rows, labels: Labels, factor: Floats | None, share: float, most: int
) -> RunEnd:
    for epoch in range(1, most + 1):
        before = int(run.S.counts[0])
        wrong = run.batch_step(engine, rows, labels, factor)
        if wrong <= share * (int(run.S.counts[0]) - before):
            return RunEnd(epoch, True)
    return RunEnd(most, False)


class Corrections(NamedTuple):
    """Σ ± step·x̃ over mistakes: G (m, d) and g (m,); sums and counts as in `Online`."""

    G: Floats
    g: Floats
    sums: Floats
    counts: Array


def gather(
    rule: PerceptronRule, w: Floats, b: Floats, piece: VisitBlock, G: Floats, g: Floats, most: int = NO_LIMIT
) -> Corrections:
    """The corrections of a piece added to G, g (or counted only, where those are empty)."""
    from assay.families.perceptron import loops as loops

    sums, counts = np.zeros(3), np.zeros(2, dtype=np.int64)
    loops.gather(*_for_loops(piece, rule, loops.ON, most), w, b, G, g, sums, counts)
    return Corrections(G, g, sums, counts)


def _absorb_corrections(
    rule: PerceptronRule, labels: Labels, factor: Floats | None, w: Floats, b: Floats, names: Any, block: Block
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


# What a perceptron begins with: the rule of its visits, and the first weights or those of the fit so far.

NO_VOTES = np.empty(0, dtype=np.int64)


def rule_of(model: Perceptron) -> PerceptronRule:
    """What a visit does; hyper-parameters that contradict each other are refused."""
    if model.shuffle and model.order != "cyclic":
        raise ParameterError(f"shuffle=True belongs to order='cyclic', and order={model.order!r}.")
    if model.variant != "last" and model.order == "batch":
        raise ParameterError(
            f"variant={model.variant!r} is made of single visits, and order='batch' has none: use variant='last' or "
            "another order."
        )
    if model.tol is not None and model.order == "first-mistake":
        raise ParameterError(
            "tol is a share of the mistakes of a pass, and order='first-mistake' makes none: tol=None."
        )
    return PerceptronRule(
        model.order, float(model.eta0), bool(model.shuffle), int(model.random_state or 0), float(model.fit_intercept)
    )


def begin(model: Perceptron, d: int, afresh: bool) -> Any:
    """The weights to begin with: `init`, or those of the fit so far."""
    from assay.families.perceptron.loops import OnlineWeights

    m = 1 if len(model.classes_) == 2 else len(model.classes_)
    averaged, voted = model.variant == "averaged", model.variant == "voted"
    if afresh:
        model.start_ = given_start(model, m, d)
        first, u = model.start_, np.zeros((m, d + 1))
        voters, votes = model.start_[None].repeat(FIRST_VOTERS, 0), np.zeros(FIRST_VOTERS, dtype=np.int64)
        sums, counts = np.zeros(3), np.array([0, 0, 1])
    else:
        _check_going_on(model)
        first = model.last_ if averaged else np.column_stack([model.intercept_, model._part("coef_")])
        u = model.drift_ if averaged else np.zeros((m, d + 1))
        voters, votes = (model.voters_.copy(), model.votes_.copy()) if voted else (model.start_[None], NO_VOTES)
        sums = np.array([model.step_sum_, model.step_squares_, 0.0])
        counts = np.array([model.t_, model.mistakes_, len(votes)])
    u = u if averaged else np.zeros((0, 1))
    voters, votes = (voters, votes) if voted else (voters[:0], NO_VOTES)
    w, b, u, ub = (np.array(a, order="C") for a in (first[:, 1:], first[:, 0], u[:, 1:], u[:, 0]))
    return OnlineWeights(w, b, u, ub, sums, counts, np.ascontiguousarray(voters), votes)


def _check_going_on(model: Perceptron) -> None:
    there = {"averaged": "drift_", "voted": "voters_"}.get(model.variant)
    if model._fitted_with["variant"] != model.variant or (there and not hasattr(model, there)):
        raise ParameterError(
            f"The model was fitted with variant={model._fitted_with['variant']!r}: partial_fit cannot go on with "
            f"variant={model.variant!r}. Fit again."
        )


def given_start(model: Perceptron, m: int, d: int) -> Floats:
    """The hyper-parameter `init` as m rows (b, w_1, …, w_d)."""
    if model.init is None:
        return np.zeros((m, d + 1))
    try:
        drawn = isinstance(model.init, str)
        start = near_zero((m, d + 1), model.random_state or 0) if drawn else np.array(model.init, dtype=np.float64)
    except (TypeError, ValueError):
        start = np.empty(0)
    if m == 1 and start.ndim == 1:
        start = start[None]
    if start.shape != (m, d + 1) or not np.isfinite(start).all():
        what = f"{d + 1} finite numbers" if m == 1 else f"{m} rows (one a class) of {d + 1} finite numbers"
        raise ParameterError(
            f"{type(model).__name__}: init={model.init!r} must be {what}, the bias first: b, w_1, …, w_{d}."
        )
    if not model.fit_intercept:
        start[:, 0] = 0.0
    return start
