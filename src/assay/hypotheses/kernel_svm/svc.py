"""The kernel support vector machine, soft and hard (Boser, Guyon and Vapnik 1992; Cortes and Vapnik 1995)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.engines import Engine, Rows
from assay.errors import DataError, ModelFileError, ParameterError
from assay.hypotheses.kernel_svm.answers import ClassAnswers
from assay.hypotheses.kernel_svm.calibration import FOLDS, calibrated, loss_on_rows, probability_claim
from assay.hypotheses.kernel_svm.gathered import Gathered, refuse_overflowing_bounds
from assay.hypotheses.kernel_svm.multi import (
    Machine,
    class_tasks,
    coefficients,
    machine_of,
    multipliers,
    problem_count,
)
from assay.hypotheses.kernel_svm.parts import (
    CACHE_SIZE,
    COEF0,
    DEGREE,
    GAMMA,
    KERNEL,
    LAYOUT,
    MAX_ITER,
    MAX_SECONDS,
    SHRINKING,
    SOLVER,
    TOL,
    VERBOSE,
    WARM_START,
)
from assay.hypotheses.kernel_svm.solving import Plan, Solved, Task, feasible
from assay.kernels import Kernel
from assay.labels import Labels, class_multipliers, plain_labels
from assay.layout import Layout
from assay.learner import Fact, Tensor
from assay.learner.prospect import Features, Prospect
from assay.learner.stopping import Stopping
from assay.numerics import Floats
from assay.params import CLASS_WEIGHT, N_JOBS, Choice, Range, param
from assay.store import Record


class SVC(ClassAnswers):
    """The widest margin in the feature space of a kernel, where rows inside it cost C each. Shape: pairwise blocks.

        min_{w, b}  ½‖w‖² + C Σ_i c_i max(0, 1 − t_i (w·φ(x_i) + b)),      K(x, z) = φ(x)·φ(z)
        f(x) = Σ_i t_i α_i K(x_i, x) + b,      0 ≤ α_i ≤ C c_i,  Σ_i t_i α_i = 0

    `C=inf` is the hard margin, which exists where the classes are separable in feature space; where they are not, the error says why.
    `kernel`: "linear", "affine" (1 + x·z), "poly", "rbf", "laplacian", "sigmoid", "precomputed" (X is the matrix of the rows' products), or
    a function f(X, Z) of yours. `tol` is the relative duality gap. Ctrl-C, `max_iter` and `max_seconds` end a fit with the best found so
    far and a warning that says its gap; of many problems each gets its share of the time, and some iterations at least.

    More than two classes: each against each (`multi_class="ovo"`, most votes, of equally many the lowest class, or the greatest sum of
    decision values with `break_ties`), or each against the rest ("ovr"). With `probability` two slopes (more classes: a temperature) turn
    decision values into shares of which the greatest is always the label's.

    Certificate
    -----------
    The multipliers are feasible, the objective is at most a share of tol above the least possible, and the KKT conditions hold to
    that; the margin 1/‖w‖; of the hard margin the leave-one-out error that the support vectors bound.

    See Also
    --------
    LinearSVC : linear, for tables of any length.
    KernelFeaturesClassifier : approximate kernels, for tables of any length.
    SVR : the same for a number.

    Examples
    --------
    >>> model = SVC(C=1.0).fit([[0.0], [1.0], [9.0], [10.0]], ["a", "a", "b", "b"])
    >>> model.predict([[2.0], [7.0]]).tolist(), model.n_support_.tolist()
    (['a', 'b'], [2, 2])
    """

    name = "svc"
    C: float = param("the most that one row may weigh; inf: no row may be inside the margin", default=1.0, check=Range(low=0, open_low=True))  # fmt: skip
    kernel: Any = KERNEL
    degree: float = DEGREE
    gamma: Any = GAMMA
    coef0: float = COEF0
    shrinking: bool = SHRINKING
    probability: bool = param("fit probabilities as well, by five more fits on four fifths of the rows", default=False)
    tol: float = TOL
    cache_size: float = CACHE_SIZE
    class_weight: Any = CLASS_WEIGHT
    verbose: bool = VERBOSE
    max_iter: int = MAX_ITER
    decision_function_shape: str = param("what decision_function gives for more than two classes: a number a class, or one a pair", default="ovr", check=Choice(("ovr", "ovo")))  # fmt: skip
    break_ties: bool = param("of classes with equally many votes the one of greater decision values, not the lowest", default=False)  # fmt: skip
    random_state: int | None = param("accepted for scikit-learn's sake; nothing is random", default=None, check=Range(int, low=0, words=(None,)))  # fmt: skip
    solver: str = SOLVER
    multi_class: str = param("more than two classes: each against each, or against the rest", default="ovo", check=Choice(("ovo", "ovr")))  # fmt: skip
    max_seconds: float | None = MAX_SECONDS
    warm_start: bool = WARM_START
    n_jobs: int | None = N_JOBS
    layout: ClassVar[Layout] = {
        **LAYOUT,
        "upper_": Tensor(("K",), low=0, finite=False, doc="the most that a row of each class may weigh: C times the factor from class_weight"),
        "n_support_": Tensor(("K",), dtype="<i8", low=0, doc="the number of support vectors of each class"),
        "calibration_": Tensor(("S",), low=0, optional=True, doc="with probability=True the slopes (or the temperature) that turn decision values into probabilities, else None"),
        "loss_": Fact(float, low=0, optional=True, doc="with probability=True the mean log loss of the probabilities on the rows of the fit, else None"),
    }  # fmt: skip

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """The Gaussian kernel, and rows that may weigh ever more."""
        if kind != "classifier":
            return None
        search = tuple({"C": C} for C in (0.1, 1.0, 10.0, 100.0))
        return Prospect(search=search, scaled=True, rough={"tol": 1e-2}, unfit=cls._unfit(features))

    # --- learning ---------------------------------------------------------------------------------------------------

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels:
        if self.decision_function_shape == "ovo" and (self.break_ties or self.multi_class == "ovr"):
            other = "break_ties=True" if self.break_ties else "multi_class='ovr'"
            raise ParameterError(f"SVC: {other} needs a number a class: leave decision_function_shape at 'ovr'.")
        return self._classes_of(engine, rows, afresh, classes)

    def _tasks(self, kernel: Kernel, given: Gathered) -> list[Task]:
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

    def _refuse_twins(self, tasks: list[Task], given: Gathered) -> None:
        from assay.solvers.dual.hard import equal_rows_apart

        for task in tasks:
            twins = equal_rows_apart(task.problem.X, task.problem.sign)
            if twins is not None:
                i, j = task.rows[list(twins)]
                labels = plain_labels(self.classes_[given.y[[i, j]]])
                raise DataError(
                    f"C=inf asks for a hard margin, and there is none: rows {given.numbers[i]} and {given.numbers[j]} have equal features, but "
                    f"classes {labels[0]!r} and {labels[1]!r}. Drop one of them, or give a finite C."
                )

    def _begun(self, tasks: list[Task], given: Gathered, before: SVC) -> list[Task]:
        if before._one_vs_one() != self._one_vs_one():
            return tasks
        K, D, scale = len(self.classes_), np.zeros((len(before.dual_coef_), given.total)), np.ones(given.total)
        D[:, before.support_] = before.dual_coef_
        old = np.repeat(before.upper_, before.n_support_) * (1.0 if before.weights_ is None else before.weights_)
        scale[before.support_] = np.where(np.isfinite(old), old, 1.0)
        D, scale = D[:, given.numbers], scale[given.numbers]
        begun = []
        for number, task in enumerate(tasks):
            alpha = multipliers(D, task, given.y, K, self._one_vs_one(), number)
            upper = task.problem.upper
            if np.isfinite(self.C) and np.isfinite(before.upper_).all():  # bounded rows stay so
                alpha = alpha / scale[task.rows] * upper
            begun.append(task._replace(start=feasible(alpha, task.problem.sign, upper)))
        return begun

    def _keep(self, kernel: Kernel, given: Gathered, tasks: list[Task], solved: list[Solved]) -> None:
        K = len(self.classes_)
        D = coefficients(tasks, solved, given.y, K, self._one_vs_one())
        at = np.flatnonzero(D.any(axis=0))
        at = at[np.argsort(given.y[at], kind="stable")]
        self.n_support_ = np.bincount(given.y[at], minlength=K).astype(np.int64)
        self._keep_support(kernel, given, at, D)

    def _problems(self, tasks: int) -> int:
        return tasks * (1 + FOLDS) if self.probability else tasks

    def _finish(
        self, kernel: Kernel, given: Gathered, tasks: list[Task], solved: list[Solved], plan: Plan, stopping: Stopping
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
        from assay.hypotheses.kernel_svm.claims import svc_claims

        claims = svc_claims(self)
        return claims if self.calibration_ is None else (*claims, probability_claim(self, claims[0].witness))

    # --- answering --------------------------------------------------------------------------------------------------

    def _make_machine(self) -> Machine:
        rows, ovo = self._support_rows(), self._one_vs_one()
        return machine_of(self._kernel(), rows, self.dual_coef_, self.intercept_, self.n_support_, ovo)

    # --- file -------------------------------------------------------------------------------------------------------

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        self.calibration_, self.loss_ = getattr(self, "calibration_", None), getattr(self, "loss_", None)
        K, ovo = len(self.classes_), self._one_vs_one()
        height = 1 if K == 2 else K - 1 if ovo else K
        if K < 2 or len(self.dual_coef_) != height or len(self.intercept_) != problem_count(K, ovo):
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
