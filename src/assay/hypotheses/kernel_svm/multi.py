"""Several classes by problems of two: one against one, or one against the rest; who answers, and how votes become scores.

One against one, problem (i, j), i < j: y = +1 for class i, so f_ij > 0 votes for i. As libsvm, coefficients of all problems lie in an array
(K − 1, m): of a support row of class i, row j − 1 of the array is its part in (i, j) with i < j, and row j its part in (j, i) with j < i.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from assay.hypotheses.kernel_svm.solving import Solved, Task
from assay.kernels import Expansion, Kernel
from assay.numerics import Array, Floats
from assay.solvers.dual.problem import classes_problem


def pairs_of(K: int) -> list[tuple[int, int]]:
    """(0, 1), (0, 2), …, (K − 2, K − 1)."""
    return list(combinations(range(K), 2))


def problem_count(K: int, one_vs_one: bool) -> int:
    """How many problems of two classes K classes make."""
    return 1 if K == 2 else K * (K - 1) // 2 if one_vs_one else K


def sides_of(codes: Array, K: int, one_vs_one: bool) -> Iterator[tuple[Array, Floats]]:
    """Of each problem its rows and their sides ±1; of two classes the greater one is +1."""
    every = np.arange(len(codes))
    if K == 2:
        yield every, np.where(codes == 1, 1.0, -1.0)
    elif not one_vs_one:
        for k in range(K):
            yield every, np.where(codes == k, 1.0, -1.0)
    else:
        members = [np.flatnonzero(codes == k) for k in range(K)]
        for i, j in pairs_of(K):
            rows = np.sort(np.concatenate([members[i], members[j]]))
            yield rows, np.where(codes[rows] == i, 1.0, -1.0)


def class_tasks(kernel: Kernel, X: Floats, codes: Array, upper: Floats, K: int, one_vs_one: bool) -> list[Task]:
    """One task a problem; upper (n,)."""
    found = []
    for rows, y in sides_of(codes, K, one_vs_one):
        whole = len(rows) == len(X)
        part = X if whole else X[np.ix_(rows, rows)] if kernel.name == "precomputed" else X[rows]
        found.append(Task(classes_problem(kernel, part, y, upper if whole else upper[rows]), rows))
    return found


def _places(rows: Array, codes: Array, K: int, one_vs_one: bool, number: int) -> Array:
    """In which row of the array of coefficients those of one problem lie."""
    if K == 2 or not one_vs_one:
        return np.full(len(rows), 0 if K == 2 else number)
    i, j = pairs_of(K)[number]
    return np.where(codes[rows] == i, j - 1, i)


def coefficients(tasks: Sequence[Task], solved: Sequence[Solved], codes: Array, K: int, one_vs_one: bool) -> Floats:
    """s·α of all problems and rows: (1, n), (K − 1, n) or (K, n)."""
    height = 1 if K == 2 else K - 1 if one_vs_one else K
    D = np.zeros((height, len(codes)))
    for number, (task, found) in enumerate(zip(tasks, solved)):
        D[_places(task.rows, codes, K, one_vs_one, number), task.rows] = task.problem.sign * found.alpha
    return D


def multipliers(D: Floats, task: Task, codes: Array, K: int, one_vs_one: bool, number: int) -> Floats:
    """α of one problem from the coefficients of all, (·, n)."""
    return np.abs(D[_places(task.rows, codes, K, one_vs_one, number), task.rows])


class Machine(NamedTuple):
    """Answers from support rows: one expansion, or of many classes one against one an expansion a class."""

    parts: tuple[Expansion, ...]
    intercept: Floats

    def values(self, Z: Array) -> Floats:
        """f (n, P): a number for each row and problem."""
        found = [part.values(Z) for part in self.parts]
        if len(found) == 1:
            return found[0]
        pairs = pairs_of(len(found))
        F = np.empty((len(Z), len(pairs)))
        for p, (i, j) in enumerate(pairs):
            F[:, p] = found[i][:, j - 1] + found[j][:, i] + self.intercept[p]
        return F

    def signed(self, Z: Array) -> Floats:
        """f, or of a single problem other numbers of the same signs, where those are had sooner."""
        return self.parts[0].signed(Z) if len(self.intercept) == 1 else self.values(Z)


def machine_of(kernel: Kernel, rows: Array, D: Floats, intercept: Floats, counts: Array, one_vs_one: bool) -> Machine:
    """`rows`: the support rows class after class, counts (K,) of each; of a precomputed kernel their numbers."""
    if len(counts) == 2 or not one_vs_one:
        return Machine((Expansion(kernel, rows, D, intercept),), intercept)
    ends = np.concatenate([[0], np.cumsum(counts)])
    none = np.zeros(len(D))
    parts = [Expansion(kernel, rows[a:b], np.ascontiguousarray(D[:, a:b]), none) for a, b in pairwise(ends)]
    return Machine(tuple(parts), intercept)


def votes(F: Floats, K: int) -> Floats:
    """(n, K): how many of its problems each class wins; f > 0 is a win of the first of the two."""
    total = np.zeros((len(F), K))
    for p, (i, j) in enumerate(pairs_of(K)):
        first = F[:, p] > 0
        total[:, i] += first
        total[:, j] += ~first
    return total


def vote_scores(F: Floats, K: int) -> Floats:
    """(n, K): votes, and between classes of equally many the sum c of their decision values, as c / (3 (|c| + 1)) which no vote is less than."""
    c = np.zeros((len(F), K))
    for p, (i, j) in enumerate(pairs_of(K)):
        c[:, i] += F[:, p]
        c[:, j] -= F[:, p]
    return votes(F, K) + c / (3.0 * (np.abs(c) + 1.0))
