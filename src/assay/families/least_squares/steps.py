"""Least squares by gradient descent, step by step: the weights, their error, and how far the normal equations are from holding."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from assay.engines import fold
from assay.engines.engine import one_thread_blas
from assay.engines.threads import Threads
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.steps import Measure, Step, answering, measures
from assay.families.least_squares.fit import RowPasses
from assay.statistics.gram import absorb_gram, merge_gram

if TYPE_CHECKING:
    from assay.families.least_squares.estimators import LeastSquares


def descent_steps(model: LeastSquares, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """w⁽⁰⁾, w⁽¹⁾, …; step 0 is the start."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine = Threads(1)
    with one_thread_blas():
        state = fold(engine, rows.blocks(), partial(absorb_gram, rows.names), merge_gram)
        assert state is not None
        for at in fresh._iterates(fresh._system(state), RowPasses(engine, rows)):
            learnt = {"coef_": at.w[1:], "intercept_": float(at.w[0])}
            told = measures(
                Measure("normal equations off by", at.off, fresh.tol, f"{at.off:.3g}, done at {fresh.tol:g}", "log"),
                Measure("error", at.error, None, f"E(w) = {at.error:.6g}"),
            )
            yield Step(at.t, rows.n_rows or 0, {"w": at.w, "E": at.error, **learnt}, told, answering(fresh, learnt))
