"""Problems made by hand for the tests of solvers."""

from __future__ import annotations

import numpy as np

from assay.engines import ArrayRows, engine
from assay.engines.csr import SparseMatrix
from assay.engines.rows import SparseRows
from assay.risk.terms import Penalty, surrogate
from assay.solvers.problem import Problem, Reach


def sparse_of(X: np.ndarray) -> SparseMatrix:
    """The same matrix without its zeros."""
    rows, columns = np.nonzero(X)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(X, axis=1))]).astype(np.int64)
    return SparseMatrix(X[rows, columns], columns.astype(np.int32), indptr, X.shape[1])


def make_problem(X, t, loss="log", penalty=None, c=None, *, threads=2, sparse=False, centred=True, **strengths):
    """A problem over the rows of X (n, d) with targets t; strengths l1, l2 and intercept are those of `Penalty.of`."""
    n, d = X.shape
    weights = np.ones(n) if c is None else c
    p = weights @ X / weights.sum() if centred else np.zeros(d)
    scale = np.append(np.sqrt(weights @ (X - p) ** 2 / weights.sum()), 1.0)
    found = surrogate(loss)
    if found.kind == "margin":
        sides = [(weights[t == s].sum(), weights[t == s] @ (X[t == s] - p) / weights[t == s].sum()) for s in (1, -1)]
        reach = Reach(tuple(a for a, _ in sides), tuple(m for _, m in sides), 0.0)
    else:
        reach = Reach(
            (weights.sum(), 0.0), (weights @ (X - p) / weights.sum(), np.zeros(d)), weights @ t / weights.sum()
        )
    rows = SparseRows(sparse_of(X), t, c) if sparse else ArrayRows(X, t, c)
    penalty = Penalty.of(d, **strengths) if penalty is None else penalty
    return Problem(engine("threads", workers=threads), rows, found, penalty, p, scale, reach)


def two_classes(n, d, seed=0, informative=5, noise=1.0):
    """Rows of correlated columns and labels ±1 that depend on the first few."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5 * rng.normal(size=(n, 1))
    w = np.zeros(d)
    w[:informative] = rng.normal(size=min(informative, d)) * 2
    t = np.where(X @ w + noise * rng.logistic(size=n) > 0.3, 1.0, -1.0)
    return X, t


def worst_violation(problem, w):
    """How far w is from the conditions of a minimum: the largest part of the (sub)gradient that l1 cannot balance, by scale."""
    evaluation = problem.evaluate(w)
    g = evaluation.gradient + problem.penalty.l2 * w
    l1 = problem.penalty.l1
    off = np.where(w != 0, np.abs(g + l1 * np.sign(w)), np.maximum(np.abs(g) - l1, 0.0))
    return float(np.max(off / np.maximum(problem.scale, 1e-300)))


def make_softmax(X, y, *, threads=2, sparse=False, centred=True, c=None, **strengths):
    """The same for classes y = 0 … K − 1."""
    from assay.solvers.softmax_problem import ClassReach, SoftmaxProblem

    like = make_problem(
        X, y.astype(float), "squared", c=c, threads=threads, sparse=sparse, centred=centred, **strengths
    )
    weights = np.ones(len(X)) if c is None else c
    sums = np.array(
        [[weights[y == k].sum(), *(weights[y == k] @ (X[y == k] - like.centre))] for k in range(y.max() + 1)]
    )
    reach = ClassReach(sums[:, 0], sums[:, 1:] / sums[:, :1])
    return SoftmaxProblem(like.engine, like.rows, like.penalty, like.centre, like.scale, reach)
