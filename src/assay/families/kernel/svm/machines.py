"""What machines for classes, and those for numbers, have in common, whatever says how much a row may weigh."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.errors import DataError, ModelFileError, ParameterError
from assay.estimator.classifier import Classifier, of_each_class
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import attribute
from assay.estimator.progress import Stopping
from assay.estimator.regressor import Regressor
from assay.estimator.shown import Shown
from assay.families.kernel.expansion import Expansion
from assay.families.kernel.functions import Kernel
from assay.families.kernel.svm.claims import COVERAGE
from assay.families.kernel.svm.dual import numbers_problem
from assay.families.kernel.svm.fit import LAYOUT, KernelMachine
from assay.families.kernel.svm.probability import (
    FOLDS,
    calibrated,
    coupled,
    label_first,
    loss_on_rows,
    many_shares,
    probability_claim,
    two_shares,
)
from assay.families.kernel.svm.solve import (
    DecisionFunctions,
    DualTask,
    MachineRows,
    Solved,
    SolverPlan,
    class_tasks,
    coefficients,
    feasible,
    machine_of,
    multipliers,
    pairs_of,
    problem_count,
    refuse_overflowing_bounds,
    vote_scores,
    votes,
)
from assay.inputs.labels import Labels, class_multipliers, plain_labels
from assay.numerics import Array, Floats, safe_log
from assay.store import Record


class ClassMachine(KernelMachine, Classifier):
    """Problems of two classes each, and the votes, scores and probabilities that follow."""

    probability: bool = attribute()
    class_weight: Any = attribute()
    decision_function_shape: str = attribute()
    break_ties: bool = attribute()
    multi_class: str = attribute()
    coverage = COVERAGE
    layout: ClassVar[Layout] = {
        **LAYOUT,
        "upper_": Tensor(("K",), low=0, finite=False, doc="the most that a row of each class may weigh: C times the factor from class_weight"),
        "n_support_": Tensor(("K",), dtype="<i8", most="m", low=0, doc="the number of support vectors of each class"),
        "calibration_": Tensor(("S",), low=0, optional=True, doc="with probability=True the slopes (or the temperature) that turn decision values into probabilities, else None"),
        "loss_": Fact(float, low=0, optional=True, doc="with probability=True the mean log loss of the probabilities on the rows of the fit, else None"),
    }  # fmt: skip

    calibration_: Floats | None = attribute()
    loss_: float | None = attribute()
    n_support_: Array = attribute()

    # --- learning ---------------------------------------------------------------------------------------------------

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels:
        if self.decision_function_shape == "ovo" and (self.break_ties or self.multi_class == "ovr"):
            other = "break_ties=True" if self.break_ties else "multi_class='ovr'"
            raise ParameterError(
                f"{type(self).__name__}: {other} needs a number a class: leave decision_function_shape at 'ovr'."
            )
        return self._classes_of(engine, rows, afresh, classes)

    def _tasks(self, kernel: Kernel, given: MachineRows) -> list[DualTask]:
        K = len(self.classes_)
        weight = np.bincount(given.y, weights=given.w, minlength=K).astype(np.float64)
        factor = class_multipliers(self.class_weight, self.classes_, weight)
        self._refuse_absent(weight * factor)
        self.upper_ = float(self.C) * factor
        with np.errstate(over="ignore"):
            upper = self.upper_[given.y] * given.weight
        refuse_overflowing_bounds(self.C, upper)
        tasks = class_tasks(kernel, given.X, given.y, upper, K, self._one_vs_one())
        tasks = [task._replace(numbers=given.numbers[task.rows]) for task in tasks]
        if np.isinf(self.C):
            self._refuse_twins(tasks, given)
        return tasks

    def _refuse_absent(self, weight: Floats) -> None:
        there = weight > 0
        if there.all():
            return
        labels = plain_labels(self.classes_)
        if there.sum() < 2:
            only = labels[int(np.argmax(there))]
            raise DataError(
                f"Only one class, {only!r}, has rows of positive weight: a classifier needs at least two classes to tell apart."
            )
        raise DataError(
            f"Class {labels[int(np.argmin(there))]!r} has no rows of positive weight: drop its rows, or give some of them (or the class) a "
            "weight."
        )

    def _refuse_twins(self, tasks: list[DualTask], given: MachineRows) -> None:
        from assay.families.kernel.svm.dual import equal_rows_apart

        for task in tasks:
            twins = equal_rows_apart(task.problem.X, task.problem.sign)
            if twins is not None:
                i, j = task.rows[list(twins)]
                labels = plain_labels(self.classes_[given.y[[i, j]]])
                raise DataError(
                    f"C=inf asks for a hard margin, and there is none: rows {given.numbers[i]} and {given.numbers[j]} have equal features, but "
                    f"classes {labels[0]!r} and {labels[1]!r}. Drop one of them, or give a finite C."
                )

    def _warm_started(self, tasks: list[DualTask], given: MachineRows, before: Any) -> list[DualTask]:
        if before._one_vs_one() != self._one_vs_one():
            return tasks
        K, D, scale = len(self.classes_), np.zeros((len(before._dual_coef), given.total)), np.ones(given.total)
        D[:, before.support_] = before._dual_coef
        old = np.repeat(before.upper_, before.n_support_) * (1.0 if before.weights_ is None else before.weights_)
        scale[before.support_] = np.where(np.isfinite(old), old, 1.0)
        D, scale = D[:, given.numbers], scale[given.numbers]
        started = []
        for number, task in enumerate(tasks):
            alpha = multipliers(D, task, given.y, K, self._one_vs_one(), number)
            upper = task.problem.upper
            if np.isfinite(self.C) and np.isfinite(before.upper_).all():  # bounded rows stay so
                alpha = alpha / scale[task.rows] * upper
            started.append(task._replace(start=feasible(alpha, task.problem.sign, upper)))
        return started

    def _keep(self, kernel: Kernel, given: MachineRows, tasks: list[DualTask], solved: list[Solved]) -> None:
        K = len(self.classes_)
        D = coefficients(tasks, solved, given.y, K, self._one_vs_one())
        at = np.flatnonzero(D.any(axis=0))
        at = at[np.argsort(given.y[at], kind="stable")]
        self.n_support_ = np.bincount(given.y[at], minlength=K).astype(np.int64)
        self._keep_support(kernel, given, at, D)

    def _priced(self, tasks: list[DualTask]) -> list[DualTask]:
        """Tasks with the bounds that the fit found, where it had to find them."""
        return tasks

    def _problems(self, tasks: int) -> int:
        return tasks * (1 + FOLDS) if self.probability else tasks

    def _finish(
        self,
        kernel: Kernel,
        given: MachineRows,
        tasks: list[DualTask],
        solved: list[Solved],
        plan: SolverPlan,
        stopping: Stopping,
    ) -> None:
        super()._finish(kernel, given, tasks, solved, plan, stopping)
        self.calibration_, self.loss_ = None, None
        if self.probability:
            self.calibration_ = calibrated(self, kernel, given, plan, stopping)
            self.loss_ = loss_on_rows(self, given)

    def _keep_uncalibrated(self) -> None:
        self.calibration_, self.loss_ = None, None
        if self.probability:
            self.calibration_ = np.ones(2 if len(self.classes_) == 2 or self._one_vs_one() else 1)

    def _make_claims(self) -> tuple[Claim, ...]:
        from assay.families.kernel.svm.claims import svc_claims

        claims = svc_claims(self)
        return claims if self.calibration_ is None else (*claims, probability_claim(self, claims[0].witness))

    # --- answering --------------------------------------------------------------------------------------------------

    def _make_machine(self) -> DecisionFunctions:
        kernel, rows = self._kernel(), self._support_rows()
        intercept = (self.intercept_ + self._moved(kernel.centre)).astype(np.float64)
        return machine_of(kernel, rows, self._dual_coef, intercept, self.n_support_, self._one_vs_one())

    def _one_vs_one(self) -> bool:
        return bool(self._fitted_with["multi_class"] == "ovo")

    def _codes(self, F: Floats) -> Array:
        """The label of each row by its decision values, as a code."""
        K = len(self.classes_)
        if K == 2:
            return (F[:, 0] > 0).astype(np.int64)
        if not self._one_vs_one():
            greatest: Array = F.argmax(axis=1)
            return greatest
        by_score = vote_scores if self._fitted_with["break_ties"] else votes
        best: Array = by_score(F, K).argmax(axis=1)
        return best

    def _predict_block(self, block: Block) -> Array:
        labels: Array = self.classes_[self._codes(self._decision(block, signs=True))]
        return labels

    def decision_function(self, X: Any) -> Floats:
        """f(x): (n,) for two classes (positive: the greater one); else (n, K), or with decision_function_shape="ovo" (n, K (K − 1) / 2)."""
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        F = self._decision(block)
        if len(self.classes_) == 2:
            return F[:, 0]
        by_class = self._one_vs_one() and self._fitted_with["decision_function_shape"] == "ovr"
        return vote_scores(F, len(self.classes_)) if by_class else F

    def _proba_block(self, block: Block) -> Array:
        return self._shares(self._decision(block))

    def _shares(self, F: Floats) -> Floats:
        assert self.calibration_ is not None
        if len(self.classes_) == 2:
            return two_shares(F[:, 0], self.calibration_)
        codes, (temperature, *slope) = self._codes(F), self.calibration_.tolist()
        return many_shares(label_first(self._to_couple(F, slope), codes), temperature, codes)

    def _to_couple(self, F: Floats, slope: list[float]) -> Floats:
        """(n, K): the scores that a temperature turns into shares."""
        return coupled(F, len(self.classes_), *slope) if slope else F

    def _both_block(self, block: Block) -> Array:
        F = self._decision(block)
        return np.column_stack([self._codes(F), self._shares(F)])

    def _scored_block(self, block: Block) -> Array:
        F = self._decision(block)
        return np.column_stack(
            [self._codes(F), safe_log(self._shares(F)) if self.has_probabilities else self._scores_of(F)]
        )

    def _scores_of(self, F: Floats) -> Floats:
        """(n, K): one score a class from the decision values of all problems."""
        K = len(self.classes_)
        if K == 2:
            return of_each_class(F[:, 0])
        return vote_scores(F, K) if self._one_vs_one() else F

    def _why_no_probabilities(self) -> str | None:
        fitted = getattr(self, "_fitted_with", self.get_params())
        return None if fitted["probability"] else "probabilities need probability=True at the fit"

    def _weights(self, Z: Array, coef: Array | None = None) -> Array:
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        coef = self._dual_coef if coef is None else coef
        if len(self.n_support_) == 2 or not self._one_vs_one():
            return coef @ Z
        parts = [coef[:, a:b] @ Z[a:b] for a, b in pairwise(ends)]
        return np.stack([parts[i][j - 1] + parts[j][i] for i, j in pairs_of(len(parts))])

    # --- file -------------------------------------------------------------------------------------------------------

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        self.calibration_, self.loss_ = getattr(self, "calibration_", None), getattr(self, "loss_", None)
        K, ovo = len(self.classes_), self._one_vs_one()
        height = 1 if K == 2 else K - 1 if ovo else K
        if K < 2 or len(self._dual_coef) != height or len(self.intercept_) != problem_count(K, ovo):
            raise ModelFileError("The model file's coefficients are not those of its classes.")
        if int(self.n_support_.sum()) != len(self.support_):
            raise ModelFileError("The model file's support rows are not those of its classes.")
        self._check_order(np.cumsum(self.n_support_))
        slopes = 0 if self.calibration_ is None else len(self.calibration_)
        if slopes != ((2 if K == 2 or ovo else 1) if self.probability else 0) or (slopes > 0) != (
            self.loss_ is not None
        ):
            raise ModelFileError("The model file's probabilities do not fit its probability.")
        if self.calibration_ is not None and not np.all(self.calibration_ > 0):
            raise ModelFileError("The model file's probabilities contradict its labels.")
        self._machine = self._make_machine()


class NumberMachine(KernelMachine, Regressor):
    """One problem of two variables a row."""

    epsilon: float = attribute()
    coverage = COVERAGE
    layout: ClassVar[Layout] = LAYOUT

    n_iter_ = Shown(lambda model, kept: int(kept[0]))

    def _tasks(self, kernel: Kernel, given: MachineRows) -> list[DualTask]:
        self.upper_ = np.array([float(self.C)])
        with np.errstate(over="ignore"):
            upper = self.upper_[0] * given.weight
        refuse_overflowing_bounds(self.C, upper)
        problem = numbers_problem(kernel, given.X, given.y.astype(np.float64), upper, float(self.epsilon))
        return [DualTask(problem, np.arange(len(given.X)))]

    def _warm_started(self, tasks: list[DualTask], given: MachineRows, before: Any) -> list[DualTask]:
        beta = np.zeros(given.total)
        old = before.upper_[0] * (1.0 if before.weights_ is None else before.weights_)
        beta[before.support_] = np.where(np.isfinite(old), before._dual_coef[0] / old, before._dual_coef[0])
        (task,) = tasks
        n, upper = len(given.X), task.problem.upper
        beta = beta[given.numbers] * np.where(np.isfinite(upper[:n]) & np.isfinite(before.upper_[0]), upper[:n], 1.0)
        alpha = np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
        return [task._replace(start=feasible(alpha, task.problem.sign, upper))]

    def _keep(self, kernel: Kernel, given: MachineRows, tasks: list[DualTask], solved: list[Solved]) -> None:
        beta = tasks[0].problem.coefficients(solved[0].alpha)
        self._keep_support(kernel, given, np.flatnonzero(beta), beta[None, :])

    def _make_machine(self) -> DecisionFunctions:
        kernel, rows = self._kernel(), self._support_rows()
        intercept = (self.intercept_ + self._moved(kernel.centre)).astype(np.float64)
        return DecisionFunctions((Expansion(kernel, rows, self._dual_coef, intercept),), intercept)

    def _make_claims(self) -> tuple[Claim, ...]:
        from assay.families.kernel.svm.claims import svr_claims

        return svr_claims(self)

    @property
    def n_support_(self) -> Array:
        """The number of support vectors, (1,)."""
        self._check_fitted()
        return np.array([len(self.support_)])

    def _weights(self, Z: Array, coef: Array | None = None) -> Array:
        return (self._dual_coef if coef is None else coef) @ Z

    def _predict_block(self, block: Block) -> Array:
        return self._decision(block)[:, 0]

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        if len(self._dual_coef) != 1 or len(self.intercept_) != 1 or len(self.upper_) != 1:
            raise ModelFileError("The model file holds more than one regression.")
        self._check_order(np.empty(0, dtype=np.int64))
        self._machine = self._make_machine()
