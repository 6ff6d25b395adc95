"""One look at all rows of a kernel perceptron: what its finished coefficients make of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.hypotheses.kernel_perceptron.run import Run
from assay.hypotheses.kernel_perceptron.visits import Targets
from assay.numerics import Array, Floats

ASKED = 32  # rows whose decision values the certificate states


class Judged(NamedTuple):
    """Of scores (m, n): which rows are on the wrong side, and how far the right class is ahead."""

    wrong: Array
    margins: Floats


def judge(S: Floats, codes: Array) -> Judged:
    """As the model answers: s ≥ 0 is class 1 of two; of more classes the greatest score wins, the lowest class of several."""
    if len(S) == 1:
        return Judged((S[0] >= 0) != (codes == 1), np.where(codes == 1, S[0], -S[0]))
    at = np.arange(S.shape[1])
    others = S.copy()
    others[codes, at] = -np.inf
    return Judged(S.argmax(axis=0) != codes, S[codes, at] - others.max(axis=0))


def scores_of(run: Run, rows: Array, coef: Floats) -> Floats:
    """Scores of rows under coefficients (m, n), taken anew."""
    S = np.zeros((len(coef), len(rows)))
    there = np.flatnonzero(coef.any(axis=0))
    run.values.add(S, rows, there, coef[:, there])
    return S


def look(run: Run, targets: Targets, answering: Floats) -> dict[str, Any]:
    """What the certificate states. `answering` (m, n) are the coefficients that answer: the last ones, or their average."""
    rows = np.flatnonzero(targets.steps > 0)
    fresh = run.budget is not None
    S = scores_of(run, rows, run.beta) if fresh else run.scores[:, rows]
    codes, weights = targets.codes[rows], targets.steps[rows]
    margins = judge(S, codes).margins
    there = np.flatnonzero(run.beta[:, rows].any(axis=0))
    norm = float((run.beta[:, rows[there]] * S[:, there]).sum())
    Z = S if answering is run.beta else scores_of(run, rows, answering)
    wrong = judge(Z, codes).wrong
    asked = np.unique(np.linspace(0, len(rows) - 1, ASKED).astype(np.int64))
    R2 = run.values.largest_square(rows)
    total = float(np.abs(run.beta).sum())
    value_off = run.values.rounding(rows) + (run.mistakes + 8) * np.finfo(np.float64).eps * R2
    ever = (1 if len(S) == 1 else 2) * run.step_sum  # no coefficients on the way add up to more
    return {
        "certain_": bool(run.closest > 8 * ever * value_off),
        "radius_": float(np.sqrt(max(R2, 0.0))),
        "least_margin_": float(margins.min()),
        "norm_": float(np.sqrt(max(norm, 0.0))),
        "rounding_": total * value_off,
        "rows_": len(rows),
        "weight_": float(weights.sum()),
        "wrong_": int(wrong.sum()),
        "wrong_weight_": float(weights[wrong].sum()),
        "asked_": rows[asked],
        "asked_values_": np.ascontiguousarray(Z[:, asked].T),
    }
