"""From hyper-parameters and rows to the problem that a solver works on.

Targets t and weights c = sample weight · class weight are what a block's labels become before a solver is given it:

    margin losses: t = 1 for one class, −1 for the rest;   softmax: the code of the class;   regression: the number itself

One fold brings the statistics: weights, means and scales of the columns and, for not too many columns, all their products.

An `Objective` is what is made small, and how: a model's hyper-parameters in the solvers' words. With statistics of the rows it
is posed as a problem, about a centre and with what is known of it already: the products of the columns, and with them the first
evaluation of most losses, as at w = 0 every row has the same slope (but for its sign) and the same curvature.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fingerprint, fold
from assay.engines.csr import SparseMatrix
from assay.engines.rows import rows_of
from assay.errors import DataError
from assay.inputs import as_regression_target, refuse_non_finite, refuse_overflow
from assay.inputs.labels import Labels
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.risk.terms import REGRESSION, Penalty, Surrogate
from assay.solvers.needs import SolverArgs, loss_name, solve
from assay.solvers.problem import WIDE_SPARSE, CustomProblem, Evaluation, Iterate, Problem, Reach, sparse_gram
from assay.solvers.separation.exact import value_at
from assay.solvers.softmax_problem import ClassReach, SoftmaxProblem
from assay.statistics.gram import Gram, gram_of, merge_gram
from assay.statistics.scatter import PIVOT_ROWS, ClassMoments, absorb_moments, median_row, merge_moments

ROWS_A_WEIGHT = 400  # so many rows for each weight make a Hessian good enough for Newton's steps
MOST_SAMPLED = 16
EPS = float(np.finfo(np.float64).eps)
DIFFERENCES = ("squared", "huber")  # losses of z − t
MET = 256  # roundings of the targets, a term of a score, within which rows are met
CLEAR = 1e-9  # means of classes tell more than their rounding where that is at most this share of a column's scale
LARGE = 1e3  # terms of a score beyond this may leave it with few digits
MOST_PRODUCTS = 2000  # columns up to which all products are taken


@dataclass(frozen=True)
class Objective:
    """Σ c ℓ + l1·‖w‖₁ + ½·l2·‖w‖²; `loss` None is softmax. `per_weight`: l1 and l2 are still to be multiplied by Σc.

    `intercept_l2` is the penalty on b where it has one (`fit_intercept` then does not leave it free).
    """

    loss: Surrogate | None
    l1: float
    l2: float
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    per_weight: bool = False
    intercept_l2: float = 0.0
    eta: float | str = "auto"
    init: Any = None

    @property
    def free_intercept(self) -> bool:
        """Whether an intercept is fitted that costs nothing."""
        return self.fit_intercept and self.intercept_l2 == 0.0

    @property
    def unpenalised(self) -> bool:
        """Whether no weight costs anything."""
        return self.l1 == 0.0 and self.l2 == 0.0

    def strengths(self, n: float) -> tuple[float, float]:
        """l1 and l2 for rows of weight n."""
        factor = n if self.per_weight else 1.0
        return self.l1 * factor, self.l2 * factor

    def step(self, n: float) -> float | str:
        """The learning speed on the sum over rows of weight n, where `eta` is that on their mean."""
        return self.eta if isinstance(self.eta, str) or not self.per_weight else self.eta / n

    def penalty(self, d: int, n: float) -> Penalty:
        """The penalty on d weights and the intercept."""
        l1, l2 = self.strengths(n)
        return Penalty.of(d, l1, l2, self.intercept_l2)

    def start(self, shape: tuple[int, ...], centre: Floats) -> Floats:
        """The first weights about the centre: zeros, or `init` (b first, as the lecture notes write them; without an intercept b is zero)."""
        if self.init is None:
            return np.zeros(shape)
        given = np.array(self.init, dtype=np.float64).reshape(shape)
        if not self.fit_intercept:
            given[..., 0] = 0.0
        return about_centre(np.concatenate([given[..., 1:], given[..., :1]], axis=-1), centre)


def about_centre(w: Floats, centre: Floats, target: float = 0.0) -> Floats:
    """Weights (…, d + 1) about zero as weights about the centre: b grows by p·w, less the target that scores are counted from."""
    return _moved(w, centre, target)


def about_zero(w: Floats, centre: Floats) -> Floats:
    """The inverse of `about_centre`, but for the rounding of b."""
    return _moved(w, -centre)


def _moved(w: Floats, by: Floats, less: float = 0.0) -> Floats:
    """b grows by w·by − less; where terms are large the sum is taken without rounding, for little may be left of it."""
    out = w.copy()
    out[..., -1] += w[..., :-1] @ by - less
    if np.isfinite(out).all() and terms_of_scores(w, by) > LARGE:
        for vector, moved in zip(w.reshape(-1, w.shape[-1]), out.reshape(-1, w.shape[-1])):
            moved[-1] = float(value_at(by, vector[:-1], float(vector[-1])) - Fraction(less))
    return out


def terms_of_scores(w: Floats, centre: Floats) -> float:
    """The size of what a score near the centre is the sum of, for weights (…, d + 1) about zero: |p|·|w| + |b|."""
    return float((np.abs(w[..., :-1]) @ np.abs(centre) + np.abs(w[..., -1])).max(initial=0.0))


@dataclass(frozen=True)
class PosedProblem:
    """A problem, its Gram matrix Σ c (x − p, 1)(x − p, 1)ᵀ (d + 1, d + 1) or None, and the evaluation at w = 0 or None."""

    problem: Problem | SoftmaxProblem
    gram: Floats | None
    first: Evaluation | None

    def iterates(
        self, objective: Objective, solver: str, start: Floats | None = None, evaluation: Evaluation | None = None
    ) -> Iterator[Iterate]:
        """The states that the solver passes through, from `start` (None: the objective's) to its answer.

        `evaluation` is that at `start` where it is known already.
        """
        problem = self.problem
        if start is None:
            start = objective.start(problem.shape, problem.centre)
            evaluation = self.first if objective.init is None else None
        eta = objective.step(float(sum(problem.reach.weights)))
        limits = objective.tol, objective.max_iter
        return solve(solver, SolverArgs(problem, loss_name(objective.loss), start, *limits, evaluation, self.gram, eta))


def column_mean(statistics: RowStatistics) -> Floats:
    """The mean of each column over all rows."""
    if statistics.gram is not None:
        return statistics.gram.mean
    mean: Floats = statistics.weight @ statistics.classes.mean / statistics.n
    return mean


def column_variance(statistics: RowStatistics, mean: Floats) -> Floats:
    """The variance of each column over all rows."""
    if statistics.gram is not None:
        return np.diag(statistics.gram.scatter) / statistics.n
    between = statistics.weight @ (statistics.classes.mean - mean) ** 2
    return np.asarray((statistics.classes.m2.sum(axis=0) + between) / statistics.n)


def pose(
    engine: Engine, prepared: TargetedRows, statistics: RowStatistics, objective: Objective, positive: int | None
) -> PosedProblem:
    """The problem of class `positive` against the rest (None: softmax, or regression)."""
    rows, encode = prepared.of(positive)
    d = rows.n_columns
    mean = column_mean(statistics)
    wide = rows.sparse and d > WIDE_SPARSE
    centre, variance = mean if objective.free_intercept and not wide else np.zeros(d), column_variance(statistics, mean)
    if objective.free_intercept and not wide:
        still, value = _never_vary(rows, mean, variance)
        centre, variance = np.where(still, value, mean), np.where(still, 0.0, variance)
        mean = centre
    spread = np.sqrt(variance + (mean - centre) ** 2)
    scale = np.append(np.where(spread > 0, spread, 1.0), 1.0)
    penalty = objective.penalty(d, statistics.n)
    gram = gram_about(statistics, centre)
    if objective.loss is None:
        reach = ClassReach(statistics.weight, statistics.classes.mean - centre)
        given = (centre, scale, reach, encode, objective.fit_intercept, statistics.rows)
        softmax = SoftmaxProblem(engine, rows, penalty, *given)
        return PosedProblem(softmax, gram, None)
    make = CustomProblem if isinstance(objective.loss, CustomSurrogate) else Problem
    reaches = _reach(statistics, objective.loss, centre, positive)
    sample = max(1, min(MOST_SAMPLED, statistics.rows // (ROWS_A_WEIGHT * (d + 1))))
    problem = make(
        engine, rows, objective.loss, penalty, centre, scale, reaches, encode, objective.fit_intercept, sample,
        _floor(statistics, objective.loss, d), target_spread(statistics, objective.loss),
    )  # fmt: skip
    clear = np.all(EPS * np.abs(mean) <= CLEAR * np.sqrt(column_variance(statistics, mean)))
    first = _first_evaluation(problem, statistics, gram, positive) if clear else None
    return PosedProblem(problem, gram, first)


def _never_vary(rows: Rows, mean: Floats, variance: Floats) -> tuple[Array, Floats]:
    """(which sparse columns hold one number alone, that number): their moments are differences, of which rounding leaves something."""
    found = variance <= 64 * EPS * mean**2
    value = mean.copy()
    if not rows.sparse or not (found & (mean != 0)).any():
        return np.zeros(len(mean), bool), value
    for number, part in enumerate(rows.blocks()):
        block = part.load()
        X = block.X.toarray() if isinstance(block.X, SparseMatrix) else block.X
        X = X if block.w is None else X[block.w > 0]
        if len(X):
            value = X[0].astype(np.float64) if number == 0 else value
            found = found & (value == X).all(axis=0)
    return found, value


def target_spread(statistics: RowStatistics, loss: Surrogate) -> float:
    """The root mean square of a target of numbers about its mean; 1 where it never varies, or is not known."""
    if loss.kind != REGRESSION or statistics.gram is None:
        return 1.0
    squares = float(statistics.gram.target_scatter[0]) / statistics.n
    return float(np.sqrt(squares)) if squares > 0 else 1.0


def _reach(statistics: RowStatistics, loss: Surrogate, centre: Floats, positive: int | None) -> Reach:
    if loss.kind == REGRESSION or positive is None:
        target = 0.0 if statistics.gram is None else as_target_of(statistics, positive)[0]
        return Reach((statistics.n, 0.0), (column_mean(statistics) - centre, np.zeros_like(centre)), target)
    inside = float(statistics.weight[positive])
    outside = statistics.n - inside
    rest = statistics.weight.copy()
    rest[positive] = 0.0
    mean = rest @ statistics.classes.mean / outside if outside > 0 else np.zeros_like(centre)
    return Reach((inside, outside), (statistics.classes.mean[positive] - centre, mean - centre), 0.0)


def _floor(statistics: RowStatistics, loss: Surrogate, d: int) -> float:
    """Σ c (what rounding leaves of t − z where z = t)²: a sum of losses below this says no more than that the rows are met."""
    gram = statistics.gram
    if loss.name not in DIFFERENCES or statistics.classes.m2.shape[0] > 1 or gram is None:
        return 0.0
    squares = float(gram.target_scatter[0]) + statistics.n * float(gram.target_mean[0]) ** 2
    return squares * (MET * (d + 3) * EPS) ** 2


def as_target_of(statistics: RowStatistics, positive: int | None) -> tuple[float, Floats]:
    """The mean of the target t and Σ c (x − x̄) t (d,): of a number, or of ±1 for the class `positive` against the rest."""
    gram = statistics.gram
    assert gram is not None
    if positive is None:
        return float(gram.target_mean[0]), gram.cross
    inside = float(statistics.weight[positive])
    return 2.0 * inside / statistics.n - 1.0, 2.0 * inside * (statistics.classes.mean[positive] - gram.mean)


def gram_about(statistics: RowStatistics, centre: Floats) -> Floats | None:
    """Σ c (x − p, 1)(x − p, 1)ᵀ from the products about the mean."""
    if statistics.gram is None:
        return None
    d, n = len(centre), statistics.n
    lean = statistics.gram.mean - centre
    G = np.empty((d + 1, d + 1))
    G[:d, :d] = statistics.gram.scatter + n * np.outer(lean, lean)
    G[d, :d] = G[:d, d] = n * lean
    G[d, d] = n
    return G


def _first_evaluation(
    problem: Problem, statistics: RowStatistics, gram: Floats | None, positive: int | None
) -> Evaluation | None:
    """The evaluation at w = 0, where every row has the same slope but for its sign, and the same curvature."""
    loss, n = problem.loss, statistics.n
    if gram is None or statistics.gram is None:
        return None
    if loss.name == "squared":
        target, about_mean = as_target_of(statistics, positive)
        total = n * target
        squares = n if positive is not None else float(statistics.gram.target_scatter[0]) + total * target
        value = smooth = 0.5 * squares
        slope, bend, slopes = -1.0, 1.0, 0.0
    elif loss.at_zero is not None and positive is not None:
        value, smooth, slope, bend = loss.at_zero
        inside = float(statistics.weight[positive])
        total = 2.0 * inside - n
        about_mean = 2.0 * inside * (statistics.classes.mean[positive] - statistics.gram.mean)
        slopes, value, smooth = n * abs(slope), n * value, n * smooth
    else:
        return None
    lean = statistics.gram.mean - problem.centre
    gradient = slope * np.append(about_mean + total * lean, total)
    H = bend * gram
    if not problem.intercept:
        gradient[-1] = H[-1, :] = H[:, -1] = 0.0
    return Evaluation(float(value), float(smooth), slopes, 0.0, gradient, H)


@dataclass(frozen=True)
class TargetMaker:
    """From labels (None: numbers) and the factor of each class to codes and weights."""

    labels: Labels | None
    multipliers: Floats

    def codes(self, block: Block) -> Array:
        """Codes of the classes, or the numbers of a regression target."""
        assert block.y is not None
        if self.labels is None:
            return as_regression_target(block.y, block.start)
        return self.labels.encode(block.y)

    def weights(self, codes: Array, w: Array | None) -> Array | None:
        """The weight of each row, with that of its class."""
        if self.labels is None or bool(np.all(self.multipliers == 1.0)):
            return w
        factor: Array = self.multipliers[codes]
        return factor if w is None else factor * w

    def prepare(self, positive: int | None, block: Block) -> Block:
        """The block with targets and weights; `positive` is the class with t = 1, None leaves codes (or numbers)."""
        codes = self.codes(block)
        return Block(block.X, as_target(codes, positive), self.weights(codes, block.w), block.start)


def as_target(codes: Array, positive: int | None) -> Array:
    """Codes as ±1, or as float64."""
    if positive is None:
        return np.asarray(codes, dtype=np.float64)
    return np.where(codes == positive, 1.0, -1.0)


@dataclass(frozen=True)
class TargetedRows:
    """Rows, and what is still to be done to each block when it is read (None: nothing)."""

    rows: Rows
    targets: TargetMaker
    ready: bool  # y already holds codes, and w the weights

    def labels(self) -> Labels:
        """The labels of the rows as they stand here."""
        assert self.targets.labels is not None
        return Labels.of(np.arange(len(self.targets.multipliers))) if self.ready else self.targets.labels

    def of(self, positive: int | None) -> tuple[Rows, partial[Block] | None]:
        """The rows with the targets of one problem."""
        if not self.ready:
            return self.rows, partial(self.targets.prepare, positive)
        rows = self.rows
        assert rows.y is not None
        return rows_of(rows.X, as_target(rows.y, positive), rows.w, like=rows), None


def prepare(rows: Rows, targets: TargetMaker) -> TargetedRows:
    """Rows in memory are encoded once; others each time they are read."""
    if not rows.resident:
        return TargetedRows(rows, targets, False)
    whole = Block(rows.X, rows.y, rows.w, 0)
    codes = targets.codes(whole)
    return TargetedRows(rows_of(rows.X, codes, targets.weights(codes, rows.w), like=rows), targets, True)


def _count(labels: Labels, block: Block) -> Floats:
    assert block.y is not None
    codes = labels.encode(block.y)
    return np.bincount(codes, weights=block.w, minlength=len(labels.classes)).astype(np.float64)


def _add(a: Any, b: Any) -> Any:
    return a + b


def class_counts(engine: Engine, rows: Rows, labels: Labels) -> Floats:
    """The weight of the rows of each class: a fold over the targets alone."""
    counts: Floats | None = fold(engine, rows.targets(), partial(_count, labels), _add)
    assert counts is not None
    return counts


class RowStatistics(NamedTuple):
    """Moments of the columns for each class (K, d) (regression: K = 1), and the Gram matrix of columns and t, or None.

    t is 1 for the last class, −1 for the others, or the number of a regression. `mark` is the fingerprint of the rows.
    """

    classes: ClassMoments
    weight: Floats
    gram: Gram | None
    rows: int
    mark: bytes

    @property
    def n(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum())


def row_statistics(engine: Engine, rows: Rows, targets: TargetMaker, most: int = MOST_PRODUCTS) -> RowStatistics:
    """One fold over rows whose y are labels (or numbers); of more columns than `most` no products are taken."""
    absorb = partial(absorb_statistics, rows.names, targets, wants_products(rows, most))
    found = fold(engine, rows.blocks(), absorb, merge_statistics)
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if not found.n > 0:
        raise DataError("All sample weights are zero: give some rows a positive weight.")
    return found


def wants_products(rows: Rows, most: int = MOST_PRODUCTS) -> bool:
    """Whether the products of all columns are worth taking."""
    return rows.n_columns <= (WIDE_SPARSE if rows.sparse else most)


def absorb_statistics(
    names: tuple[str, ...] | None, targets: TargetMaker, products: bool, block: Block
) -> RowStatistics:
    """The statistics of one block whose y are labels (or numbers)."""
    codes = targets.codes(block)
    c = targets.weights(codes, block.w)
    regression = targets.labels is None
    K = 1 if regression else len(targets.multipliers)
    number = codes if regression else np.where(codes == K - 1, 1.0, -1.0)
    classes = np.zeros(len(codes), dtype=np.int64) if regression else codes
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(block.X, SparseMatrix):
            found, gram = _sparse(block.X, classes, number, c, K, products)
            mark = fingerprint.leaf_of(block.X, codes, block.w)
        else:
            found, gram, hashes = _dense(block, classes, number, c, K, products)
            mark = fingerprint.leaf(hashes, block.X, codes, block.w)
    if not np.isfinite(found.m2).all() or not np.isfinite(found.n).all():
        refuse_non_finite(block.X, block.start, names)
        refuse_heavy(c)
        refuse_overflow(block.X, block.start, names)
    weight = np.bincount(classes, weights=c, minlength=K).astype(np.float64)
    return RowStatistics(found, weight, gram, len(codes), mark)


def _dense(
    block: Block, classes: Array, number: Floats, c: Array | None, K: int, products: bool
) -> tuple[ClassMoments, Gram | None, Array]:
    if not products:
        found, _, hashes = absorb_moments(block.X, classes, c, K)
        return found, None, hashes
    gram, hashes = gram_of(block.X, number, c)
    if K <= 2:
        weight = np.bincount(classes, weights=c, minlength=K).astype(np.float64)
        return _moments_of(gram, weight), gram, hashes
    return absorb_moments(block.X, classes, c, K)[0], gram, hashes


def _moments_of(gram: Gram, weight: Floats) -> ClassMoments:
    """Class means from the products with t = ±1: Σ_{t=1} c(x − x̄) = ½·cross. The spread is that of all rows together."""
    K = len(weight)
    n = np.repeat(weight[:, None], len(gram.mean), axis=1)
    shares = np.divide(weight, weight.sum(), out=np.zeros(K), where=weight.sum() > 0)
    m2 = np.outer(shares, np.diag(gram.scatter))
    if K == 1:
        return ClassMoments(n, gram.mean[None, :], m2)
    half = 0.5 * gram.cross
    lean = np.divide(np.stack([-half, half]), weight[:, None], out=np.zeros((2, len(half))), where=weight[:, None] > 0)
    return ClassMoments(n, gram.mean + lean, m2)


def _sparse(
    X: SparseMatrix, classes: Array, number: Floats, c: Array | None, K: int, products: bool
) -> tuple[ClassMoments, Gram | None]:
    """Sums of the entries of each class by counting; absent entries are zeros. Products by the sweep itself.

    Few columns some of which are hardly ever zero are summed about a number near theirs: squares about zero would leave no digit of their spread.
    """
    d = X.shape[1]
    head = np.arange(min(len(classes), PIVOT_ROWS)) if c is None else np.flatnonzero(c[:PIVOT_ROWS] > 0)
    pivot = median_row(X[:PIVOT_ROWS].toarray(), head) if products and len(head) else np.zeros(d)
    if pivot.any():
        gram = sparse_gram(X, number, c, pivot)
        return absorb_moments(np.asarray(X.toarray(), dtype=np.float64), classes, c, K)[0], gram
    rows = X.row_numbers()
    weights = np.ones(len(classes)) if c is None else c
    place = classes[rows] * d + X.indices
    data = X.data.astype(np.float64)
    s1, s2 = (
        np.bincount(place, weights=weights[rows] * data**power, minlength=K * d).reshape(K, d).astype(np.float64)
        for power in (1, 2)
    )
    n = np.repeat(np.bincount(classes, weights=weights, minlength=K)[:, None], d, axis=1)
    mean = np.divide(s1, n, out=np.zeros_like(s1), where=n > 0)
    found = ClassMoments(n, mean, np.maximum(s2 - s1 * mean, 0.0))
    return found, sparse_gram(X, number, c, pivot) if products else None


def merge_statistics(a: RowStatistics, b: RowStatistics) -> RowStatistics:
    """The statistics of both stretches of rows together."""
    gram = None if a.gram is None or b.gram is None else merge_gram(a.gram, b.gram)
    mark = fingerprint.join(a.mark, b.mark)
    return RowStatistics(merge_moments(a.classes, b.classes), a.weight + b.weight, gram, a.rows + b.rows, mark)
