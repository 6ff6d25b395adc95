"""Support vector regression (Vapnik 1995): a function of the kernel with a tube in which errors cost nothing."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.engines import Block
from assay.errors import ModelFileError
from assay.hypotheses.kernel_svm.gathered import Gathered, refuse_overflowing_bounds
from assay.hypotheses.kernel_svm.model import KernelMachine
from assay.hypotheses.kernel_svm.multi import Machine
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
from assay.hypotheses.kernel_svm.solving import Solved, Task, feasible
from assay.kernels import Expansion, Kernel
from assay.layout import Layout
from assay.learner import Regressor
from assay.learner.prospect import Features, Prospect
from assay.numerics import Array, Floats
from assay.params import N_JOBS, Range, param
from assay.solvers.dual.problem import numbers_problem
from assay.store import Record


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
    layout: ClassVar[Layout] = LAYOUT

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """A tube of a tenth of the target's deviation, and ever dearer errors beyond it."""
        if kind != "regressor":
            return None
        unit = features.spread if features.spread > 0 else 1.0
        search = tuple({"C": C * unit, "epsilon": 0.1 * unit} for C in (0.1, 1.0, 10.0, 100.0))
        return Prospect(search=search, scaled=True, rough={"tol": 1e-2}, unfit=cls._unfit(features))

    def _tasks(self, kernel: Kernel, given: Gathered) -> list[Task]:
        self.upper_ = np.array([float(self.C)])
        with np.errstate(over="ignore"):
            upper = self.upper_[0] * given.weight
        refuse_overflowing_bounds(self.C, upper)
        problem = numbers_problem(kernel, given.X, given.y.astype(np.float64), upper, float(self.epsilon))
        return [Task(problem, np.arange(len(given.X)))]

    def _begun(self, tasks: list[Task], given: Gathered, before: SVR) -> list[Task]:
        beta = np.zeros(given.total)
        old = before.upper_[0] * (1.0 if before.weights_ is None else before.weights_)
        beta[before.support_] = np.where(np.isfinite(old), before.dual_coef_[0] / old, before.dual_coef_[0])
        (task,) = tasks
        n, upper = len(given.X), task.problem.upper
        beta = beta[given.numbers] * np.where(np.isfinite(upper[:n]) & np.isfinite(before.upper_[0]), upper[:n], 1.0)
        alpha = np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
        return [task._replace(start=feasible(alpha, task.problem.sign, upper))]

    def _keep(self, kernel: Kernel, given: Gathered, tasks: list[Task], solved: list[Solved]) -> None:
        beta = tasks[0].problem.coefficients(solved[0].alpha)
        self._keep_support(kernel, given, np.flatnonzero(beta), beta[None, :])

    def _make_machine(self) -> Machine:
        rows = self._support_rows()
        return Machine((Expansion(self._kernel(), rows, self.dual_coef_, self.intercept_),), self.intercept_)

    def _make_claims(self) -> tuple[Claim, ...]:
        from assay.hypotheses.kernel_svm.claims import svr_claims

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
        return self.dual_coef_ @ self.support_vectors_

    def _predict_block(self, block: Block) -> Array:
        return self._decision(block)[:, 0]

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        if len(self.dual_coef_) != 1 or len(self.intercept_) != 1 or len(self.upper_) != 1:
            raise ModelFileError("The model file holds more than one regression.")
        self._check_order(np.empty(0, dtype=np.int64))
        self._machine = self._make_machine()
