"""Squared losses with an l1 part: coordinate descent on products of columns, not on the rows. Shape: repeated fold.

    F(w) = F(0) + g·w + ½ wᵀHw + Σ_j l1_j|w_j| + ½ l2_j w_j²,        H = Σ c (x − p, 1)(x − p, 1)ᵀ

The loss is its own quadratic model, so that with the products of all columns no row is read again: value, slope and gap follow
from them. Of many columns the products of a working set are taken: the columns that carry weights and those that should; each
evaluation of all columns brings the gap and the columns that are missing, and only products that are not known yet are added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from assay.engines import Block
from assay.numerics import Array, Floats
from assay.risk.terms import Penalty
from assay.solvers.problem import Evaluation, Iterate, Problem
from assay.solvers.proximal_newton import MOST_CHOSEN, by_column_sets, column_set, minimise_model

FEW = 1e-5  # a loss below this share of that at zero has lost digits as a difference of products: the rows are asked
REFINEMENTS = 8  # of a minimum whose slope is measured on the rows
CARE = 1e-3  # how well the model of a working set is solved where the gap is 1
TILE = 1 << 17  # numbers that are centred at a time


def coordinate_descent(
    problem: Problem, start: Floats, tol: float, max_iter: int, evaluation: Evaluation | None, gram: Floats | None
) -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … until the gap is at most `tol`; `gram` holds the products of all columns where they are known."""
    if gram is None:
        working = by_column_sets if problem.rows.sparse else by_working_sets
        return working(problem, start, tol, max_iter)
    return on_all_products(problem, start, tol, max_iter, evaluation, gram)


def on_all_products(
    problem: Problem, start: Floats, tol: float, max_iter: int, evaluation: Evaluation | None, gram: Floats
) -> Iterator[Iterate]:
    """The minimum from the products alone; where these have lost digits, slopes are measured on the rows until they vanish."""
    H = gram
    if not problem.intercept:
        H = gram.copy()
        H[-1, :] = H[:, -1] = 0.0
    w, at, before = start, problem.evaluate(start) if evaluation is None else evaluation, np.inf
    whole = at.loss
    for number in range(min(max_iter, REFINEMENTS) + 1):
        gap = problem.gap(at, w)
        done = bool(gap <= tol or not gap < before or number == REFINEMENTS)
        kept = at._replace(hessian=H) if done else None
        yield Iterate(number, w, problem.objective(at, w), gap, done=done, evaluation=kept)
        if done or number == max_iter:
            return
        v = minimise_model(H, at.gradient, w, problem.penalty)
        by_products = _moved(at, H, v - w)
        measured = number > 0 or by_products.loss < FEW * max(whole, at.loss)
        at, w, before = problem.evaluate(v) if measured else by_products, v, gap


def _moved(at: Evaluation, H: Floats, step: Floats) -> Evaluation:
    """The evaluation a step further on: a quadratic function is known everywhere."""
    bend = H @ step
    loss = max(at.loss + float(at.gradient @ step + 0.5 * step @ bend), 0.0)
    return Evaluation(loss, loss, at.slopes, at.least, at.gradient + bend, None)


def by_working_sets(problem: Problem, start: Floats, tol: float, max_iter: int) -> Iterator[Iterate]:
    """One iterate for each working set, until the gap over all columns is at most `tol`."""
    w, at, products, before = start, problem.evaluate(start), KnownProducts(problem), np.inf
    for number in range(max_iter + 1):
        gap = problem.gap(at, w)
        chosen = column_set(problem, at, w)
        nothing_left = gap >= before and bool(np.all(w[chosen] != 0))
        done = bool(gap <= tol or nothing_left)
        yield Iterate(number, w, problem.objective(at, w), gap, done=done)
        if done or number == max_iter:
            return
        if len(chosen) > MOST_CHOSEN:
            for later in by_column_sets(problem, w, tol, max_iter - number):
                yield later._replace(number=number + later.number)
            return
        places = np.append(chosen, len(w) - 1)
        penalty = Penalty(problem.penalty.l1[places], problem.penalty.l2[places])
        gradient, H = at.gradient[places], products.of(chosen)
        w = w.copy()
        w[places] = minimise_model(H, gradient, w[places], penalty, CARE * min(1.0, gap))
        at, before = problem.evaluate(w), min(gap, before)


@dataclass
class KnownProducts:
    """The products of columns that were in a working set, with each other and with the constant one, in the order of their coming."""

    problem: Problem
    columns: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    H: Floats = field(init=False)  # with the constant first

    def __post_init__(self) -> None:
        self.H = np.array([[float(sum(self.problem.reach.weights))]])

    def of(self, chosen: Array) -> Floats:
        """Σ c (x − p, 1)(x − p, 1)ᵀ of the chosen columns, the constant last."""
        new = np.setdiff1d(chosen, self.columns)
        if len(new):
            self._add(new)
        place = np.full(len(self.problem.centre), -1)
        place[self.columns] = 1 + np.arange(len(self.columns))
        at = np.append(place[chosen], 0)
        H: Floats = self.H[np.ix_(at, at)]
        if not self.problem.intercept:
            H[-1, :] = H[:, -1] = 0.0
        return H

    def _add(self, new: Array) -> None:
        known, centre = self.columns, self.problem.centre
        self.columns = np.concatenate([known, new])
        M: Floats = self.problem.fold(partial(_products, centre, self.columns, len(known)), np.add)
        k, old = len(self.columns) + 1, len(known) + 1
        H = np.zeros((k, k))
        H[:old, :old], H[old:, :], H[:old, old:] = self.H, M, M[:, :old].T
        fresh = H[old:, old:]
        H[old:, old:] = np.triu(fresh) + np.triu(fresh, 1).T  # the same number on both sides
        self.H = H


def _products(centre: Floats, columns: Array, known: int, block: Block) -> Floats:
    """Σ c a bᵀ of one block: a runs over the columns after the first `known`, b over the constant and all columns."""
    k = len(columns) + 1
    M = np.zeros((k - known - 1, k))
    step = max(64, TILE // k)
    for i in range(0, len(block.X), step):
        A = np.ones((len(block.X[i : i + step]), k))
        np.subtract(block.X[i : i + step, columns], centre[columns], out=A[:, 1:])
        left = A if block.w is None else A * block.w[i : i + step, None]
        M += left[:, known + 1 :].T @ A
    return M
