"""Kernel machines put together by hand, problem by problem, for the tests of their claims."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np

from assay.families.kernel.functions import Kernel
from assay.families.kernel.svm.dual import classes_problem, numbers_problem
from assay.families.kernel.svm.sqp import sqp


def good_state(problem, gap):
    """The first state with at most that gap, on the way to a very small one."""
    for state in sqp(problem, 1e-10):
        if state.gap <= gap:
            break
    return state


def _subset(kernel, X, rows):
    return X[np.ix_(rows, rows)] if kernel.name == "precomputed" else X[rows]


def _machine(kernel, X, w, support, parts, states, tol):
    given = kernel.name == "precomputed"
    vectors = np.empty((len(support), 0)) if given else X[support]
    return SimpleNamespace(
        support_=support,
        support_vectors_=vectors,
        _support_vectors=vectors,
        weights_=None if w is None else w[support],
        intercept_=np.array([s.intercept for s in states]),
        objective_=np.array([s.primal for s in states]),
        dual_objective_=np.array([s.dual for s in states]),
        gap_=np.array([s.gap for s in states]),
        tol=tol,
        n_rows_=len(X) if w is None else int((w > 0).sum()),
        _kernel=lambda: kernel,
        **parts,
        _dual_coef=parts["dual_coef_"],
    )


def svc(X, y, kernel: Kernel, C=1.0, *, w=None, factor=None, multi_class="ovo", tol=1e-3, target=1e-10):
    """A fitted classifier with the layout of SVC; rows of weight 0 are left out."""
    classes, codes = np.unique(y, return_inverse=True)
    K, n = len(classes), len(X)
    upper = C * (np.ones(K) if factor is None else factor)
    there = np.arange(n) if w is None else np.flatnonzero(w > 0)
    U = upper[codes] * (1.0 if w is None or np.isinf(C) else w)
    if K == 2:
        problems = [(there, np.where(codes == 1, 1.0, -1.0))]
    elif multi_class == "ovr":
        problems = [(there, np.where(codes == k, 1.0, -1.0)) for k in range(K)]
    else:
        pairs = list(combinations(range(K), 2))
        problems = [(there[np.isin(codes[there], pair)], np.where(codes == pair[0], 1.0, -1.0)) for pair in pairs]
    states, beta = [], np.zeros((len(problems), n))
    for p, (rows, t) in enumerate(problems):
        state = good_state(classes_problem(kernel, _subset(kernel, X, rows), t[rows], U[rows]), target)
        beta[p, rows] = t[rows] * state.alpha
        states.append(state)
    support = np.flatnonzero(beta.any(axis=0))
    support = support[np.argsort(codes[support], kind="stable")]
    coef = beta[:, support]
    if K > 2 and multi_class == "ovo":
        coef = np.zeros((K - 1, len(support)))
        for p, (i, j) in enumerate(pairs):
            first, second = codes[support] == i, codes[support] == j
            coef[j - 1, first], coef[i, second] = beta[p, support[first]], beta[p, support[second]]
    counts = np.bincount(codes[support], minlength=K)
    parts = {"dual_coef_": coef, "n_support_": counts, "upper_": upper, "classes_": classes, "multi_class": multi_class}
    return _machine(kernel, X, w, support, parts, states, tol)


def svr(X, y, kernel: Kernel, C=1.0, epsilon=0.1, *, w=None, tol=1e-3, target=1e-10):
    """A fitted regressor with the layout of SVR."""
    there = np.arange(len(X)) if w is None else np.flatnonzero(w > 0)
    U = np.full(len(there), C) * (1.0 if w is None else w[there])
    problem = numbers_problem(kernel, _subset(kernel, X, there), y[there], U, epsilon)
    state = good_state(problem, target)
    beta = np.zeros(len(X))
    beta[there] = problem.coefficients(state.alpha)
    support = np.flatnonzero(beta)
    parts = {"dual_coef_": beta[None, support], "upper_": np.array([C]), "epsilon": epsilon}
    return _machine(kernel, X, w, support, parts, [state], tol)
