"""Epochs of stochastic gradient descent: the rows in order, or shuffled within each block, until the loss no longer falls. Shape: ordered stream.

Draws are keyed by (seed, epoch, block), so that every engine makes the same visits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fold, load
from assay.engines.csr import SparseMatrix
from assay.errors import DataError
from assay.families.linear.fit import linear_scores
from assay.numerics import Array, Floats
from assay.risk.terms import Penalty

LOSSES = ("hinge", "perceptron", "log_loss", "modified_huber", "squared_hinge", "squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")  # fmt: skip
SCHEDULES = ("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2")
PLACES = 7
SPARSE_PACE = 0.01  # of the intercept where rows are sparse: it is in every row, and other columns are in few
FIFTH, LEAST_ETA = 5.0, 1e-6
HELD_OUT = 1 << 31  # in place of an epoch
NO_INDEX, NO_POINTER, NONE = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64), np.empty(0)
EPS = float(np.finfo(np.float64).eps)
BENDS = 2.0  # losses are curved by so much at most
TRIED = 200  # shares of the slopes that a lower bound is tried with


class StochasticRule(NamedTuple):
    """What a visit does and when visits end; strengths are on the mean loss."""

    loss: str
    epsilon: float
    alpha: float
    share: float
    schedule: str
    eta0: float
    power: float
    fitted: bool
    average: int
    epochs: int
    tol: float | None
    patience: int
    shuffle: bool
    held_out: float
    seed: int

    def kinds(self) -> Array:
        """As the loop takes them."""
        return np.array([LOSSES.index(self.loss), SCHEDULES.index(self.schedule), self.average], dtype=np.int64)

    def numbers(self, sparse: bool) -> Floats:
        """As the loop takes them."""
        first = 1.0 / (self.alpha * np.sqrt(1.0 / np.sqrt(self.alpha))) if self.alpha > 0 else 1.0
        pace = (SPARSE_PACE if sparse else 1.0) if self.fitted else 0.0
        return np.array([self.epsilon, self.alpha, self.share, self.eta0, self.power, first, pace])


class Visited(NamedTuple):
    """A block as the loop takes it: rows, targets, weights, which rows are visited, and which are held out."""

    A: Any
    indices: Array
    indptr: Array
    block: Block
    c: Floats
    there: Array
    held: Array


class VisitState:
    """Weights under way."""

    def __init__(self, w: Floats, visits: float, mean: Floats | None, rule: StochasticRule, sparse: bool) -> None:
        d = len(w) - 1
        self.v, self.s = np.array(w[None, :-1]), np.zeros(PLACES)
        self.q = np.zeros(d if rule.alpha > 0 and rule.share > 0 else 0)
        self.mean = np.zeros(0 if not rule.average else d)
        self.s[:] = [1.0, w[-1], 0.0, 0.0, visits, 0.0, rule.eta0]
        if mean is not None:
            self.mean, self.s[2] = mean[:-1].copy(), mean[-1]
        self.kinds, self.numbers = rule.kinds(), rule.numbers(sparse)

    @property
    def weights(self) -> Floats:
        """(w, b)."""
        return np.append(self.s[0] * self.v[0], self.s[1])

    @property
    def averaged(self) -> Floats:
        """The mean of the weights since averaging began."""
        return np.append(self.mean, self.s[2])


class StochasticRun(NamedTuple):
    """How a problem ended: weights, their average (None: none), epochs, visits, and whether the loss settled."""

    w: Floats
    mean: Floats | None
    epochs: int
    visits: float
    settled: bool


def visited(rule: StochasticRule, prepare: Any, number: int, part: Any) -> Visited:
    """A block of the rows."""
    block = part.load()
    block = block if prepare is None else prepare(block)
    n = len(block.y)
    X = block.X
    A, indices, indptr = (X, NO_INDEX, NO_POINTER)
    if isinstance(X, SparseMatrix):
        A, indices, indptr = (X.data, X.indices, X.indptr), X.indices, X.indptr
    there = np.arange(n) if block.w is None else np.flatnonzero(block.w > 0)
    held = NO_POINTER
    if rule.held_out > 0:
        order = np.random.default_rng([rule.seed, HELD_OUT, number]).permutation(len(there))
        cut = int(np.ceil(rule.held_out * len(there)))
        held, there = there[np.sort(order[:cut])], there[np.sort(order[cut:])]
    c = NONE if block.w is None else np.ascontiguousarray(block.w, dtype=np.float64)
    return Visited(A, indices, indptr, block, c, there, held)


def blocks_of(engine: Engine, rows: Rows, rule: StochasticRule, prepare: Any) -> Any:
    """The blocks, as often as they are asked for: kept where the rows are in memory."""
    if rows.resident:
        return [visited(rule, prepare, k, part) for k, part in enumerate(rows.blocks())]
    return _Again(engine, rows, rule, prepare)


class _Again(NamedTuple):
    engine: Engine
    rows: Rows
    rule: StochasticRule
    prepare: Any

    def __iter__(self) -> Iterator[Visited]:  # type: ignore[override]
        for number, part in enumerate(self.engine.map(load, self.rows.blocks())):
            yield visited(self.rule, self.prepare, number, part)


def epochs(blocks: Any, rule: StochasticRule, state: VisitState, score: Any) -> Iterator[tuple[int, bool]]:
    """(epoch, whether the loss has settled) after each epoch; `score(block, w)` says how good held-out rows are answered, or is None."""
    from assay.families.linear.loops import visit

    best, since = (-np.inf if score else np.inf), 0
    for epoch in range(1, rule.epochs + 1):
        state.s[5], count = 0.0, 0.0
        good = []
        for number, at in enumerate(blocks):
            order = at.there
            if rule.shuffle and len(order):
                order = order[np.random.default_rng([rule.seed, epoch, number]).permutation(len(order))]
            if len(order):
                visit(at.A, at.indices, at.indptr, at.block.y, at.c, order, state.kinds, state.numbers, state.v, state.q, state.mean, state.s)  # fmt: skip
            count += len(order)
        if not (np.isfinite(state.s).all() and np.isfinite(state.v).all()):
            raise DataError(
                f"Floating-point under-/overflow occurred at epoch #{epoch}. Scaling input data with StandardScaler or MinMaxScaler might help."
            )
        if score:
            w = state.weights
            good = [score(at, w) for at in blocks if len(at.held)]
            if not good or not count:
                raise DataError(
                    f"validation_fraction={rule.held_out:g} leaves {int(count)} rows to learn from and {len(good) and 'some'} to validate with: choose "
                    "another, or take more rows."
                )
            found = float(np.sum([g for g, _ in good]) / np.sum([n for _, n in good]))
            worse = rule.tol is not None and found < best + rule.tol
            best = max(best, found)
        else:
            worse = rule.tol is not None and state.s[5] > best - rule.tol * count
            best = min(best, float(state.s[5]))
        since = since + 1 if worse else 0
        settled = since >= rule.patience
        if settled and rule.schedule == "adaptive" and state.s[6] > LEAST_ETA:
            state.s[6] /= FIFTH
            since, settled = 0, False
        yield epoch, settled
        if settled:
            return


# --- what the weights are worth: the objective, and a lower bound of it --------------------------------------------------


def values(name: str, h: float, z: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Losses and their slopes at scores z where the truth is t."""
    m, r = t * z, z - t
    far = np.abs(r) - h
    if name == "hinge":
        return np.maximum(0.0, 1.0 - m), np.where(m <= 1.0, -t, 0.0)
    if name == "perceptron":
        return np.maximum(0.0, -m), np.where(m <= 0.0, -t, 0.0)
    if name == "log_loss":
        return np.logaddexp(0.0, -m), -t * np.exp(-np.logaddexp(0.0, m))
    if name == "squared_hinge":
        return np.maximum(0.0, 1.0 - m) ** 2, -2.0 * t * np.maximum(0.0, 1.0 - m)
    if name == "modified_huber":
        short = np.maximum(0.0, 1.0 - m)
        return np.where(m >= -1.0, short**2, -4.0 * m), np.where(m >= -1.0, -2.0 * t * short, -4.0 * t)
    if name == "squared_error":
        return 0.5 * r * r, r
    if name == "huber":
        return np.where(far <= 0.0, 0.5 * r * r, h * np.abs(r) - 0.5 * h * h), np.clip(r, -h, h)
    beyond = np.maximum(far, 0.0)
    if name == "epsilon_insensitive":
        return beyond, np.sign(r) * (far > 0)
    return beyond**2, 2.0 * np.sign(r) * beyond


class RiskSums(NamedTuple):
    """Σcℓ; of rows whose slope is below zero and above: Σc(ℓ − uz) (2,), Σcu (2,), Σcux (2, d); Σcℓ of those whose slope is zero; and
    what the rounding of scores hides of Σcℓ at most.
    """

    loss: float
    flat: float
    hidden: float
    parts: Floats
    slopes: Floats
    pulls: Floats


def absorb_risk(name: str, h: float, w: Floats, prepare: Any, block: Block) -> RiskSums:
    """The sums of a block."""
    block = block if prepare is None else prepare(block)
    assert block.y is not None
    c = np.ones(len(block.y)) if block.w is None else block.w
    z = linear_scores(block.X, w[None, :-1], w[-1:])[:, 0]
    loss, u = values(name, h, z, np.asarray(block.y, dtype=np.float64))
    sides = [np.where(side, c, 0.0) for side in (u < 0, u > 0)]
    rows = block.X
    pulls = [_back(rows, side * u) for side in sides]
    sizes = rows.with_data(np.abs(rows.data)) if isinstance(rows, SparseMatrix) else np.abs(rows)
    off = linear_scores(sizes, np.abs(w[None, :-1]), np.abs(w[-1:]))[:, 0] + np.abs(block.y)
    off *= (len(w) + 3) * EPS / 2
    return RiskSums(
        float(c @ loss),
        float(np.where(u == 0, c, 0.0) @ loss),
        float(c @ ((1.0 + np.abs(u)) * off + BENDS * off**2)),
        np.array([float(side @ (loss - u * z)) for side in sides]),
        np.array([float(side @ u) for side in sides]),
        np.stack(pulls),
    )


def _back(X: Any, r: Floats) -> Floats:
    if isinstance(X, SparseMatrix):
        return np.bincount(X.indices, X.data * r[X.row_numbers()], minlength=X.shape[1])
    return np.asarray(r @ X, dtype=np.float64)


def merge_risk(a: RiskSums, b: RiskSums) -> RiskSums:
    """Both stretches of rows together."""
    arrays = (x + y for x, y in zip(a[3:], b[3:]))
    return RiskSums(a.loss + b.loss, a.flat + b.flat, a.hidden + b.hidden, *arrays)


def worth(engine: Engine, rows: Rows, prepare: Any, rule: StochasticRule, w: Floats, n: float) -> tuple[float, float]:
    """The objective Σcℓ + penalty at w, and the share by which it is above its least at most.

    ℓ(z') ≥ ρ(ℓ + u(z' − z)) for every ρ from 0 to 1; slopes of the greater side are shrunk so that they add up to zero where b is free.
    """
    found = fold(engine, rows.blocks(), partial(absorb_risk, rule.loss, rule.epsilon, w, prepare), merge_risk)
    assert found is not None
    strength = n * rule.alpha
    penalty = Penalty.of(len(w) - 1, strength * rule.share, strength * (1.0 - rule.share))
    value = found.loss + penalty.value(w)
    sizes = np.abs(found.slopes)
    even = (
        np.minimum(1.0, np.divide(sizes[::-1], sizes, out=np.ones(2), where=sizes > 0)) if rule.fitted else np.ones(2)
    )
    part, pull = found.flat + float(even @ found.parts), even @ found.pulls
    best = 0.0
    if rule.alpha > 0:
        for tau in np.linspace(1.0 / TRIED, 1.0, TRIED) * penalty.shrink(np.append(pull, 0.0)):
            bound = tau * part - penalty.conjugate(np.append(tau * pull, 0.0))
            best = max(best, float(bound))
    gap = min(1.0, (value - best + found.hidden) / value) if value > 0 else 0.0
    return value, float(gap)
