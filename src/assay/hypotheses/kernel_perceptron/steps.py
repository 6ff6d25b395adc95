"""The kernel perceptron visit by visit, for teaching: the passes of a fit, opened up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import ArrayRows
from assay.engines.blas import one_thread_blas
from assay.engines.threads import Threads
from assay.hypotheses.kernel_perceptron.run import Run
from assay.hypotheses.kernel_perceptron.start import begin, rule_of
from assay.hypotheses.kernel_perceptron.visits import Visits
from assay.hypotheses.perceptron_answers import mean_weights
from assay.hypotheses.perceptron_look import class_factors
from assay.inputs import as_rows
from assay.learner import Step
from assay.numerics import Array
from assay.params import check_params

if TYPE_CHECKING:
    from assay.hypotheses.kernel_perceptron.model import KernelPerceptron


def steps_of(model: KernelPerceptron, X: Any, y: Any, sample_weight: Any, every: int) -> Iterator[Step]:
    """Every `every`-th visit of a fit, and the last."""
    fresh = type(model)(**model.get_params())
    check_params(fresh)
    rows, engine = as_rows(X, y, sample_weight).in_memory(), Threads(1)
    assert isinstance(rows, ArrayRows)
    fresh._forget()
    fresh._remember_columns(rows)
    with one_thread_blas():
        rule, labels = rule_of(fresh), fresh._classes_of(engine, rows, True, None)
        fresh.class_factor_ = class_factors(fresh.class_weight, engine, rows, labels, True)
        run = begin(fresh, rule, labels, rows, True).run
        seen, number, held = Seen(run, fresh.classes_), 0, None
        for done in run.passes_of(int(fresh.max_iter)):
            for values in seen.visits(done):
                number += 1
                held = Step(number, min(len(rows.X), number), values)
                if number % every == 0:
                    yield held
                    held = None
        if held is not None:
            yield held


class Seen:
    """The coefficients after each single visit, made again from what a chunk of visits did."""

    def __init__(self, run: Run, classes: Array) -> None:
        self.run, self.classes = run, classes
        self.beta = np.zeros_like(run.beta)
        self.drift = None if run.drift is None else np.zeros_like(run.beta)
        self.count = 0

    def visits(self, done: Visits) -> Iterator[dict[str, Any]]:
        """What each visit of a chunk shows."""
        for r, row in enumerate(done.rows):
            scores, rival, gone = done.scores[:, r], int(done.rivals[r]), int(done.gone[r])
            code = int(scores[0] >= 0) if len(scores) == 1 else int(scores.argmax())
            if rival >= 0:
                self._correct(int(row), rival, gone)
            self.count += 1
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
