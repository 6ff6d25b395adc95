"""Descent on the perceptron's risk as the lecture notes write it (001, 004): the batch perceptron. Shape: repeated fold.

    w ← w + η Σ_{mistakes} c_i t_i x̃_i,        a mistake: sgn⟨w, x̃_i⟩ ≠ t_i  with  sgn 0 = 1

The loss is zero at w = 0, its trivial minimum; what is sought are weights without mistakes, so it ends at the first clean
pass: where the subgradient vanishes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.numerics import Floats
from assay.solvers.iterate import Iterate
from assay.solvers.plain_descent import checked_step, descend
from assay.solvers.problem import Problem


def mistake_descent(problem: Problem, start: Floats, max_iter: int, eta: float | str = "auto") -> Iterator[Iterate]:
    """w⁽⁰⁾, w⁽¹⁾, … until no mistake is left; "auto" is η = 1/Σc. The gap is 0 where the loss is, else 1: losses are ≥ 0."""
    step = 1.0 / float(sum(problem.reach.weights)) if eta == "auto" else checked_step(eta)
    w = start
    for number in range(max_iter + 1):
        look = problem.look(w)
        done = not np.any(look.gradient)
        clean = done and look.loss == 0.0
        yield Iterate(number, w, look.loss, 0.0 if clean else 1.0, least=look.least, done=done)
        if done:
            return
        w = descend(problem, look, w, step)
