"""Regularised empirical risk as solvers see it: a function of the weights that is evaluated by folds over the rows.

    F(w, b) = Σ_i c_i ℓ(t_i, z_i) + Σ_j l1_j|w_j| + ½ l2_j w_j²,        z = (x − p)·w + b

The rows are counted from the centre p (their mean, where the intercept is free), so that columns far from zero lose
no digits; weights are kept as (w_1, …, w_d, b). Folds bring the loss, its gradient and its Hessian: on every engine
the same bits. A solver is given a problem and yields an `Iterate` after each of its iterations.

Of a loss that only its user's functions know (`CustomProblem`) NumPy takes the place of the compiled loops. By convexity every slope u at z gives
ℓ(z') ≥ ℓ(z) + u(z' − z), so the dual bound needs no conjugate. Only how far free weights can be is not known of such a loss: they are bounded to
a box around the ones at hand. The check of slope against value is repeated on some rows of every block at every evaluation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from assay.engines import Block, Engine, Rows, block_rows, fold
from assay.engines.csr import SparseMatrix
from assay.engines.engine import merge_in_order
from assay.engines.rows import cut
from assay.errors import DataError, EngineError
from assay.numerics import Array, Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.risk.terms import REGRESSION, SQUARED, Penalty, Surrogate, farthest, lean, slack
from assay.statistics.gram import Gram

State = TypeVar("State")
PIECES = 4  # of a block; a power of two, so that they are a whole subtree of the merge
WIDE_SPARSE = 256  # sparse rows of more columns are never spread out: no centre, no Hessian
NONE, NO_INDEX, NO_POINTER = np.empty(0), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
BOX = 1e3  # in units of one over a column's scale
COMPARED = 64  # rows of a block whose slopes are compared with the values


class Evaluation(NamedTuple):
    """The sums of a fold at w: Σcℓ; Σcℓ of the smoothed loss; Σc|ℓ'|; min tz; ∇Σcℓ (d + 1,); its Hessian, if wanted."""

    loss: float
    smooth: float
    slopes: float
    least: float
    gradient: Floats
    hessian: Floats | None


class MarginRows(NamedTuple):
    """Rows (m,) near the margin and their multipliers (m,), of numbers minus the slope; every other row has its full weight or none, by its side."""

    rows: Array
    values: Floats


class Iterate(NamedTuple):
    """w (d + 1,) or (K, d + 1) about the problem's centre, intercept last; `gap` is relative to the objective.

    `width` is that over which a hinge was smoothed here (0: the loss itself); `least` the least margin tz of a row.
    """

    number: int
    w: Floats
    objective: float
    gap: float
    width: float = 0.0
    least: float = -float("inf")
    done: bool = False  # the solver stops here: the gap is at most `tol`, or nothing more can be gained
    alpha: Floats | None = None  # the dual point (n,) of a solver that keeps one
    support: MarginRows | None = None  # the dual point of a hinge loss
    step: Floats | None = None  # Newton's next step, which proves the gap where no penalty does
    evaluation: Evaluation | None = None  # at w, with a Hessian there or nearby, of a solver that has one in the end


def last(iterates: Iterator[Iterate]) -> Iterate:
    """The last of them; solvers yield at least one."""
    return deque(iterates, maxlen=1)[0]


class Reach(NamedTuple):
    """What bounds the intercept: the weight of the rows and the mean of x − p (d,), of t = 1 and of t = −1 (regression: all, −)."""

    weights: tuple[float, float]
    means: tuple[Floats, Floats]
    target: float


@dataclass(frozen=True)
class Problem:
    """A loss, a penalty and rows whose y are the targets t (float64) and whose w are the weights c."""

    engine: Engine
    rows: Rows
    loss: Surrogate
    penalty: Penalty
    centre: Floats
    scale: Floats  # (d + 1,): root mean square of x − p, and 1
    reach: Reach
    prepare: Callable[[Block], Block] | None = None  # makes targets and weights of a block whose y are still labels
    intercept: bool = True  # otherwise b stays where it is: its slope is taken for zero
    sample: int = 1  # every how many rows one enters the Hessian of a Newton step
    floor: float = 0.0  # a sum of losses of numbers below this is their rounding alone
    spread: float = 1.0  # root mean square of the target about its mean, of numbers

    @property
    def n_rows(self) -> int | None:
        """How many rows there are, where they know it."""
        return self.rows.n_rows

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of w."""
        return self.scale.shape

    def fold(self, absorb: Callable[[Block], State], merge: Callable[[State, State], State]) -> State:
        """One pass over all rows, whose y are then the targets and whose w the weights: every solver reads through this."""
        return fold_prepared(self.engine, self.rows, self.prepare, absorb, merge)

    def evaluate(self, w: Floats, *, hessian: int = 0) -> Evaluation:
        """The loss at w (d + 1,) with its gradient: one fold. `hessian` 1: with its Hessian; s > 1: from every s-th row."""
        absorb = partial(evaluate_block, self.loss.code, self.loss.width, w, self.centre, hessian)
        found = self.fold(absorb, merge_evaluations)
        return found if self.intercept else without_intercept(found)

    def objective(self, evaluation: Evaluation, w: Floats) -> float:
        """F at w."""
        return evaluation.loss + self.penalty.value(w)

    def dual(self, evaluation: Evaluation, w: Floats) -> float:
        """A lower bound of F everywhere, from the slopes u at w as a dual point.

        Σcℓ*(u) = Σc(uz − ℓ(z)) where u is the slope at z (Fenchel–Young); for the smoothed hinge it is −Σc|u|. Where
        only l1 holds a weight, u is shrunk into the domain; a free intercept is bounded by `intercept_bound`.
        """
        part = (
            evaluation.slopes if self.loss.name == "hinge" else evaluation.loss - float((w * evaluation.gradient).sum())
        )
        return self.bound(w, self.objective(evaluation, w), part, evaluation.gradient)

    def bound(self, w: Floats, value: float, part: float, g: Floats) -> float:
        """The lower bound of a dual point u with −Σcℓ*(u) = `part` and Σ c u (x − p, 1) = g, where F(w) = `value`."""
        free = self.penalty.free
        if free[:-1].any():
            if not self.boxed:
                return -np.inf
            return max(part + self.within_box(w, g, free) - self.penalty.conjugate(g), 0.0)
        rho = self.penalty.shrink(g)
        bound = rho * part - self.penalty.conjugate(rho * g)
        if not free[-1] or g[-1] == 0:
            return bound
        return bound - slack(rho * abs(float(g[-1])), value - bound, value, self.intercept_bound(w, value))

    @property
    def boxed(self) -> bool:
        """Whether weights without a penalty are bounded to a box about the ones at hand, as no step of Newton proves more."""
        return self.loss.kind == REGRESSION and self.loss.curvature is None

    def within_box(self, w: Floats, g: Floats, free: Array) -> float:
        """min g·w' over the free weights in the box about w; the intercept has the unit of the target."""
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = np.append(self.spread / self.scale[:-1], self.spread)
        counts = free & (g != 0)  # a column that never varies leaves its weight open
        return float(g[counts] @ w[counts]) - BOX * float(np.abs(g[counts]) @ unit[counts])

    def intercept_bound(self, w: Floats, value: float) -> Callable[[float], float]:
        """far(fall): no minimum has |b| above this, where F(w) = `value` and F can fall by `fall` at most."""
        leans = [lean(self.penalty, value, mean, w[:-1]) for mean in self.reach.means]

        def far(fall: float) -> float:
            within = [each.within(fall) for each in leans]
            return farthest(self.loss, value, self.reach.target, self.reach.weights, within)

        return far

    def gap(self, evaluation: Evaluation, w: Floats) -> float:
        """(F(w) − lower bound) / F(w): by how much of itself F can still fall."""
        return relative_gap(self.objective(evaluation, w), self.dual(evaluation, w))


def without_intercept(evaluation: Evaluation) -> Evaluation:
    """The same evaluation where b is not to move."""
    evaluation.gradient[..., -1] = 0.0
    if evaluation.hessian is not None:
        evaluation.hessian[-1, :] = evaluation.hessian[:, -1] = 0.0
    return evaluation


def relative_gap(value: float, bound: float) -> float:
    """(value − bound) / value; a sum of losses that is zero cannot fall. Where overflow left no number, it is infinite."""
    gap = (value - bound) / value if value > 0 else 0.0
    return float(np.maximum(gap, 0.0)) if gap == gap else np.inf


def fold_prepared(
    engine: Engine,
    rows: Rows,
    prepare: Callable[[Block], Block] | None,
    absorb: Callable[[Block], State],
    merge: Callable[[State, State], State],
) -> State:
    """One pass over all rows, each block prepared first.

    Dense blocks are cut into four pieces: those of one table spread better over threads, and wherever the blocks are
    read whole, their pieces are merged in the same order.
    """
    work = prepared(prepare, absorb)
    if rows.sparse:
        state = fold(engine, rows.blocks(), work, merge)
    elif rows.resident and engine.group == 1:
        state = fold(engine, rows.stretches(piece_rows(rows.n_columns)), work, merge)
    else:
        state = fold(engine, rows.blocks(), partial(_by_pieces, piece_rows(rows.n_columns), work, merge), merge)
    if state is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return state


def piece_rows(columns: int) -> int:
    """Rows of a piece."""
    return block_rows(columns) // PIECES


def _by_pieces(
    step: int, absorb: Callable[[Block], State], merge: Callable[[State, State], State], block: Block
) -> State:
    state = merge_in_order((absorb(piece) for piece in cut(block, step)), merge)
    assert state is not None
    return state


def prepared(prepare: Callable[[Block], Block] | None, absorb: Callable[[Block], State]) -> Callable[[Block], State]:
    """`absorb` of a block that is prepared first."""
    return absorb if prepare is None else partial(_prepared, prepare, absorb)


def _prepared(prepare: Callable[[Block], Block], absorb: Callable[[Block], State], block: Block) -> State:
    return absorb(prepare(block))


def evaluate_block(code: int, width: float, w: Floats, centre: Floats, hessian: int, block: Block) -> Evaluation:
    """The sums of one block; its y are targets, its w weights."""
    from assay.solvers.loops.sweep import padded, sweep, tile_height

    assert block.y is not None
    if isinstance(block.X, SparseMatrix) and block.X.shape[1] > WIDE_SPARSE:
        assert not hessian
        return _absorb_wide(code, width, w, block)
    d = len(centre)
    P = padded(d)
    X, data, indices, indptr = accessor(block.X)
    weights = np.zeros(P)
    weights[: d + 1] = w
    room = [np.zeros((tile_height(P), P)) for _ in range(2)]
    g, sums = np.zeros(P), np.array([0.0, 0.0, 0.0, np.inf])
    H = np.zeros((P, P) if hessian else (0, 0))
    c = NONE if block.w is None else block.w
    sweep(
        code,
        width,
        X,
        data,
        indices,
        indptr,
        block.y,
        c,
        weights,
        centre,
        max(1, int(hessian)),
        block.start,
        *room,
        g,
        H,
        sums,
    )
    square = None
    if hessian:
        upper = np.triu(H[: d + 1, : d + 1])
        square = upper + np.triu(upper, 1).T
    return Evaluation(float(sums[0]), float(sums[1]), float(sums[2]), float(sums[3]), g[: d + 1].copy(), square)


def _absorb_wide(code: int, width: float, w: Floats, block: Block) -> Evaluation:
    """The same of sparse rows of many columns, which are not centred."""
    from assay.solvers.loops.sparse import sparse_sweep

    g, sums = np.zeros(len(w)), np.array([0.0, 0.0, 0.0, np.inf])
    c = NONE if block.w is None else block.w
    sparse_sweep(code, width, block.X.data, block.X.indices, block.X.indptr, block.y, c, w, g, sums)
    return Evaluation(float(sums[0]), float(sums[1]), float(sums[2]), float(sums[3]), g, None)


def accessor(X: Array | SparseMatrix) -> tuple[Array, Array, Array, Array]:
    """A block as the loops take it: (X, data, indices, indptr), of which either the first or the others are empty."""
    if isinstance(X, SparseMatrix):
        return np.empty((0, X.shape[1])), X.data, X.indices, X.indptr
    return X, NONE, NO_INDEX, NO_POINTER


def sparse_gram(X: SparseMatrix, number: Floats, c: Array | None, pivot: Floats) -> Gram:
    """Products from one sweep of the squared loss at w = 0: H = Σ c x̃x̃ᵀ, g = −Σ c t x̃, with x̃ counted from the pivot."""
    d = X.shape[1]
    evaluation = evaluate_block(SQUARED.code, 1.0, np.zeros(d + 1), pivot, True, Block(X, number, c, 0))
    assert evaluation.hessian is not None
    n = float(evaluation.hessian[d, d])
    mean = evaluation.hessian[:d, d] / n if n > 0 else np.zeros(d)
    target = -float(evaluation.gradient[d]) / n if n > 0 else 0.0
    scatter = evaluation.hessian[:d, :d] - n * np.outer(mean, mean)
    cross = -evaluation.gradient[:d] - n * target * mean
    left = max(2.0 * evaluation.loss - n * target * target, 0.0)
    return Gram(np.array([n]), pivot + mean, scatter, cross, np.array([target]), np.array([left]), b"")


def merge_evaluations(a: Evaluation, b: Evaluation) -> Evaluation:
    """The sums of both stretches of rows together."""
    H = None if a.hessian is None or b.hessian is None else _add_to(a.hessian, b.hessian)
    return Evaluation(
        a.loss + b.loss,
        a.smooth + b.smooth,
        a.slopes + b.slopes,
        min(a.least, b.least),
        _add_to(a.gradient, b.gradient),
        H,
    )


def _add_to(a: Floats, b: Floats) -> Floats:
    """a + b in a's place where it may be written to: with many columns and classes, fresh memory costs as much as the sums."""
    out: Floats = np.add(a, b, out=a if a.flags.writeable else None)
    return out


# --- products of a block with weights about the centre, in plain NumPy: for what is computed once a fit ---------------


FAR = 16.0  # a centre so many times further from zero than rows are from it: products are taken of the differences
SOME = 64  # rows that say whether it is


def rows_times(X: Array | SparseMatrix, w: Floats, centre: Floats) -> Floats:
    """(x − p)·w + b for each row; w (d + 1,) holds b last."""
    near = _from_far_centre(X, centre)
    if near is not None:
        return np.asarray(near @ w[:-1] + w[-1])
    shift = float(w[-1] - (centre * w[:-1]).sum())
    if isinstance(X, SparseMatrix):
        z: Floats = np.bincount(X.row_numbers(), X.data * w[:-1][X.indices], minlength=len(X))
        return z + shift
    return np.asarray(X @ w[:-1] + shift)


def rows_back(X: Array | SparseMatrix, r: Floats, centre: Floats) -> Floats:
    """Σ_i r_i (x_i − p, 1), (d + 1,)."""
    total = float(r.sum())
    near = _from_far_centre(X, centre)
    if near is not None:
        return np.append(r @ near, total)
    if isinstance(X, SparseMatrix):
        g: Floats = np.bincount(X.indices, X.data * r[X.row_numbers()], minlength=X.shape[1])
    else:
        g = r @ X
    return np.append(g - total * centre, total)


def _from_far_centre(X: Array | SparseMatrix, centre: Floats) -> Floats | None:
    """x − p where p is so far from zero that x·w − p·w would lose the digits of both; else None."""
    if not centre.any():
        return None
    spread = np.abs(_dense(X[:SOME]) - centre).max(axis=0, initial=0.0)
    if not np.any(np.abs(centre) > FAR * np.where(spread > 0, spread, 1.0)):
        return None
    return rows_from(X, centre)


def rows_from(X: Array | SparseMatrix, centre: Floats) -> Floats:
    """x − p."""
    return _dense(X) - centre


def _dense(X: Array | SparseMatrix) -> Floats:
    return np.asarray(X.toarray() if isinstance(X, SparseMatrix) else X, dtype=np.float64)


@dataclass(frozen=True)
class CustomProblem(Problem):
    """As `Problem`; its loss is a `CustomSurrogate`."""

    def evaluate(self, w: Floats, *, hessian: int = 0) -> Evaluation:
        """As `Problem.evaluate`; a Hessian is always from all rows."""
        assert isinstance(self.loss, CustomSurrogate)
        found = self.fold(partial(absorb_custom, self.loss, w, self.centre, bool(hessian)), merge_evaluations)
        return found if self.intercept else without_intercept(found)

    def dual(self, evaluation: Evaluation, w: Floats) -> float:
        """A lower bound of F for weights that are penalised or in the box; of a loss that is not convex, a measure of slope.

        ρ·(Σcℓ − g·w) − Ω*(−ρg) + ρ·min_box g·w'
        """
        g, free = evaluation.gradient, self.penalty.free
        rho = self.penalty.shrink(g)
        inside = float(g[free] @ w[free]) - BOX * float(np.abs(g[free]) @ (1.0 / self.scale[free]))
        return rho * (evaluation.loss - float(w @ g) + inside) - self.penalty.conjugate(rho * g)


def absorb_custom(loss: CustomSurrogate, w: Floats, centre: Floats, hessian: bool, block: Block) -> Evaluation:
    """The sums of one block; its y are targets, its w weights."""
    assert block.y is not None
    t = np.asarray(block.y, dtype=np.float64)
    c = np.ones(len(t)) if block.w is None else block.w
    z = rows_times(block.X, w, centre)
    some = slice(None, None, max(1, len(t) // COMPARED))
    loss.check_slope(z[some], t[some])
    u = loss.slope(z, t, 0.0)
    total = float(c @ loss.value(z, t, 0.0))
    with np.errstate(all="ignore"):  # where a step is too long the sums overflow, and it is taken back
        g, slopes = rows_back(block.X, c * u, centre), float(c @ np.abs(u))
    H = _hessian(loss, z, t, c, centre, block) if hessian else None
    return Evaluation(total, total, slopes, float(np.min(t * z, where=c > 0, initial=np.inf)), g, H)


def _hessian(loss: CustomSurrogate, z: Floats, t: Floats, c: Floats, centre: Floats, block: Block) -> Floats:
    assert loss.curvature is not None
    X = block.X.toarray() if isinstance(block.X, SparseMatrix) else block.X
    A = np.column_stack([X.astype(np.float64) - centre, np.ones(len(t))])
    with np.errstate(all="ignore"):
        out: Floats = (A * (c * loss.curvature(z, t, 0.0))[:, None]).T @ A
    return out


@dataclass(frozen=True)
class _Probe:
    """What is sent to a worker to see whether it arrives."""

    loss: CustomSurrogate

    def __call__(self, item: int) -> int:
        return item


def refuse_unsendable(engine: Engine, loss: CustomSurrogate) -> None:
    """Raise where the functions of the loss do not reach the workers of a cluster."""
    if engine.shares_memory:
        return
    try:
        list(engine.map(_Probe(loss), [0]))
    except Exception as error:
        raise EngineError(
            f"The custom loss {loss.label!r} cannot be sent to the workers of the cluster ({error}): its functions must be "
            "picklable. Define them at the top level of a module that workers can import, and keep open files and locks out of them."
        ) from error
