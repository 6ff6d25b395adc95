"""The kernel support vector machine, soft and hard (Boser, Guyon and Vapnik 1992; Cortes and Vapnik 1995), and support vector regression (Vapnik 1995)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.errors import DataError, ModelFileError, ParameterError
from assay.estimator.classifier import Classifier, of_each_class
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Range, Seed, attribute, param
from assay.estimator.progress import Stopping
from assay.estimator.regressor import Regressor
from assay.estimator.search_space import SearchSpace, TableTraits, paired
from assay.estimator.shown import Shown
from assay.families.kernel.expansion import Expansion
from assay.families.kernel.functions import Kernel
from assay.families.kernel.svm.claims import COVERAGE
from assay.families.kernel.svm.dual import numbers_problem
from assay.families.kernel.svm.fit import (
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
    KernelMachine,
    shown,
)
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


class SVC(KernelMachine, Classifier):
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

    title = "Support vector machine"
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
    random_state: int | None = param("accepted for scikit-learn's sake; nothing is random", default=None, check=Seed(words=(None,)))  # fmt: skip
    solver: str = SOLVER
    multi_class: str = param("more than two classes: each against each, or against the rest", default="ovo", check=Choice(("ovo", "ovr")))  # fmt: skip
    max_seconds: float | None = MAX_SECONDS
    warm_start: bool = WARM_START
    n_jobs: int | None = N_JOBS
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

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """The Gaussian kernel, and rows that may weigh ever more."""
        if kind != "classifier":
            return None
        search = tuple({"C": C} for C in (0.1, 1.0, 10.0, 100.0))
        unfit = paired(features.classes) or cls._unfit(features)
        return SearchSpace(search=search, scaled=True, rough={"tol": 1e-2}, unfit=unfit, cost=3.0)

    # --- learning ---------------------------------------------------------------------------------------------------

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels:
        if self.decision_function_shape == "ovo" and (self.break_ties or self.multi_class == "ovr"):
            other = "break_ties=True" if self.break_ties else "multi_class='ovr'"
            raise ParameterError(f"SVC: {other} needs a number a class: leave decision_function_shape at 'ovr'.")
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

    def _warm_started(self, tasks: list[DualTask], given: MachineRows, before: SVC) -> list[DualTask]:
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

    @property
    def coef_(self) -> Floats:
        """(P, d): w of each problem of a linear kernel."""
        self._check_linear()
        w: Floats = shown(self, self._linear_weights().astype(np.float64))
        numbers: Any = w if isinstance(w, np.ndarray) else w.data  # of sparse rows a sparse matrix
        numbers.flags.writeable = False  # they are made of the multipliers: nothing would come of writing to them
        return w

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


class SVR(KernelMachine, Regressor):
    """A number from few rows: errors up to epsilon cost nothing, larger ones C a unit. Shape: pairwise blocks.

        min_{w, b}  ½‖w‖² + C Σ_i c_i max(0, |y_i − w·φ(x_i) − b| − ε),      K(x, z) = φ(x)·φ(z)
        f(x) = Σ_i β_i K(x_i, x) + b,      |β_i| ≤ C c_i,  Σ_i β_i = 0

    `tol` is the relative duality gap. The kernels, and what ends a fit early, are those of `SVC`.

    Certificate
    -----------
    The multipliers are feasible, the objective is at most a share of tol above the least possible, and the KKT conditions hold to
    that.

    See Also
    --------
    SVC : the same for classes.
    KernelFeaturesRegressor : approximate kernels, for tables of any length.

    Examples
    --------
    >>> model = SVR(kernel="linear", C=100.0, epsilon=0.1, tol=1e-6).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.predict([[3.0]]).round(2), model.support_
    (array([2.8]), array([0, 2]))
    """

    title = "Support vector regression"
    name = "svr"
    kernel: Any = KERNEL
    degree: float = DEGREE
    gamma: Any = GAMMA
    coef0: float = COEF0
    tol: float = TOL
    C: float = param("the most that one row may weigh, so what an error beyond epsilon costs a unit", default=1.0, check=Range(low=0, open_low=True, open_high=True))  # fmt: skip
    epsilon: float = param("half the width of the tube: errors up to this cost nothing", default=0.1, check=Range(low=0, open_high=True))  # fmt: skip
    shrinking: bool = SHRINKING
    cache_size: float = CACHE_SIZE
    verbose: bool = VERBOSE
    max_iter: int = MAX_ITER
    solver: str = SOLVER
    max_seconds: float | None = MAX_SECONDS
    warm_start: bool = WARM_START
    n_jobs: int | None = N_JOBS
    coverage = COVERAGE
    layout: ClassVar[Layout] = LAYOUT

    n_iter_ = Shown(lambda model, kept: int(kept[0]))

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """A tube of a tenth of the target's deviation, and ever dearer errors beyond it."""
        if kind != "regressor":
            return None
        unit = features.spread if features.spread > 0 else 1.0
        search = tuple({"C": C * unit, "epsilon": 0.1 * unit} for C in (0.1, 1.0, 10.0, 100.0))
        return SearchSpace(search=search, scaled=True, rough={"tol": 1e-2}, unfit=cls._unfit(features), cost=3.0)

    def _tasks(self, kernel: Kernel, given: MachineRows) -> list[DualTask]:
        self.upper_ = np.array([float(self.C)])
        with np.errstate(over="ignore"):
            upper = self.upper_[0] * given.weight
        refuse_overflowing_bounds(self.C, upper)
        problem = numbers_problem(kernel, given.X, given.y.astype(np.float64), upper, float(self.epsilon))
        return [DualTask(problem, np.arange(len(given.X)))]

    def _warm_started(self, tasks: list[DualTask], given: MachineRows, before: SVR) -> list[DualTask]:
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

    @property
    def coef_(self) -> Floats:
        """(1, d): w of a linear kernel."""
        self._check_linear()
        w: Floats = shown(self, self._linear_weights().astype(np.float64))
        numbers: Any = w if isinstance(w, np.ndarray) else w.data  # of sparse rows a sparse matrix
        numbers.flags.writeable = False  # they are made of the multipliers: nothing would come of writing to them
        return w

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
