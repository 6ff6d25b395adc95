"""The kernel perceptron visit by visit, for teaching: the passes of a fit, opened up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines.engine import Threads, one_thread_blas
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.steps import Step, answering
from assay.families.kernel.perceptron.claims import mistake_bound
from assay.families.kernel.perceptron.fit import KernelPerceptronRun, Visits, rule_of, start_run
from assay.families.perceptron.evaluation import class_factors, mean_weights
from assay.families.perceptron.steps import mistakes_so_far
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.kernel.perceptron.estimators import KernelPerceptron


def steps_of(model: KernelPerceptron, X: Any, y: Any, sample_weight: Any, every: int) -> Iterator[Step]:
    """Every `every`-th visit of a fit at least, and the last."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    engine = Threads(1)
    with one_thread_blas():
        rule, labels = rule_of(fresh), fresh._classes_of(engine, rows, True, None)
        fresh.class_factor_ = class_factors(fresh.class_weight, engine, rows, labels, True)
        started = start_run(fresh, rule, labels, rows, True)
        seen, bound = VisitStates(started.run, fresh.classes_, every), mistake_bound(fresh, started.run, started.X)
        for values in (values for done in started.run.passes_of(int(fresh.max_iter)) for values in seen.visits(done)):
            state = answering(fresh, partial(_learnt, fresh, started.X, values))
            progress = (mistakes_so_far(seen.mistakes, bound, starts_at_zero=True),)
            yield Step(seen.count, min(len(rows.X), seen.count), values, progress, state)


def _learnt(model: KernelPerceptron, X: Floats, values: dict[str, Any]) -> dict[str, Any]:
    """The support rows and the function that they make."""
    support = values["support_"]
    vectors = np.empty((len(support), 0)) if model.kernel == "precomputed" else X[support]
    learnt = {name: values[name] for name in model.layout if name in values}
    return {**learnt, "support_vectors_": vectors, "_f": model._function(vectors, support, values["dual_coef_"])}


class VisitStates:
    """The coefficients after each single visit, made again from what a chunk of visits did."""

    def __init__(self, run: KernelPerceptronRun, classes: Array, every: int) -> None:
        self.run, self.classes, self.every = run, classes, every
        self.beta = np.zeros_like(run.beta)
        self.drift = None if run.drift is None else np.zeros_like(run.beta)
        self.count, self.mistakes = 0, 0

    def visits(self, done: Visits) -> Iterator[dict[str, Any]]:
        """What every `every`-th visit shows, and the last of a chunk, which may be the last of all."""
        for r, row in enumerate(done.rows):
            scores, rival, gone = done.scores[:, r], int(done.rivals[r]), int(done.gone[r])
            if rival >= 0:
                self._correct(int(row), rival, gone)
                self.mistakes += 1
            self.count += 1
            if self.count % self.every and r + 1 < len(done.rows):
                continue
            code = int(scores[0] >= 0) if len(scores) == 1 else int(scores.argmax())
            yield {
                "row": int(row),
                "score": float(scores[0]) if len(scores) == 1 else scores.copy(),
                "prediction": self.classes[code],
                "mistake": rival >= 0,
                "dropped": gone,
                **self._learnt(),
            }

    def _correct(self, row: int, rival: int, gone: int) -> None:
        if gone >= 0:
            self.beta[:, gone] = 0.0
        change = self.run.targets.changes(np.array([row]), np.array([rival]))[:, 0]
        self.beta[:, row] += change
        if self.drift is not None:
            self.drift[:, row] += self.count * change

    def _learnt(self) -> dict[str, Any]:
        some = self.beta.any(axis=0)
        there = np.flatnonzero(some if self.drift is None else some | self.drift.any(axis=0))
        last = self.beta[:, there]
        if self.drift is None:
            return {"support_": there, "dual_coef_": last}
        drift = self.drift[:, there]
        mean = mean_weights(last, drift, self.count)
        return {"support_": there, "dual_coef_": mean, "last_coef_": last, "drift_": drift}
