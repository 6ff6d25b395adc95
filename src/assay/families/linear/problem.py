"""From hyper-parameters to the problem that a solver works on.

An `Objective` is what is made small, and how: a model's hyper-parameters in the solvers' words. With statistics of the rows it
is posed as a problem, about a centre and with what is known of it already: the products of the columns, and with them the first
evaluation of most losses, as at w = 0 every row has the same slope (but for its sign) and the same curvature.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from assay.engines import Engine, Rows, SparseMatrix
from assay.families.linear.statistics import MOST_PRODUCTS, RowStatistics, TargetedRows
from assay.numerics import Array, Floats
from assay.risk.custom_surrogate import CustomSurrogate
from assay.risk.penalties import Penalty
from assay.risk.surrogates import REGRESSION, Surrogate
from assay.solvers.custom_problem import CustomProblem
from assay.solvers.needs import SolverArgs, loss_name, solve
from assay.solvers.problem import WIDE_SPARSE, Evaluation, Iterate, Problem, Reach
from assay.solvers.separation.exact import value_at
from assay.solvers.softmax_problem import ClassReach, SoftmaxProblem

ROWS_A_WEIGHT = 400  # so many rows for each weight make a Hessian good enough for Newton's steps
MOST_SAMPLED = 16
EPS = float(np.finfo(np.float64).eps)
CLEAR = 1e-9  # means of classes tell more than their rounding where that is at most this share of a column's scale
LASSO_PRODUCTS = 200  # columns: a product of all costs as much as some passes over the rows
LARGE = 1e3  # terms of a score beyond this may leave it with few digits


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
    def most_products(self) -> int:
        """Columns up to which all their products pay: where l1 leaves few weights, those of a working set cost less beyond."""
        lasso = self.l1 > 0 and self.loss is not None and self.loss.name == "squared"
        return LASSO_PRODUCTS if lasso else MOST_PRODUCTS

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
        engine, rows, objective.loss, penalty, centre, scale, reaches, encode, objective.fit_intercept, sample
    )
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
