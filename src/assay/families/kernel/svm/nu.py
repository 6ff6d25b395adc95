"""Support vector machines whose hyper-parameter is a share of the rows, ν, in the place of a price (Schölkopf, Smola, Williamson and Bartlett 2000)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from assay.certify.claim import Coverage
from assay.errors import DataError, ModelFileError
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Range, Seed, attribute, param
from assay.estimator.progress import Stopping
from assay.estimator.search_space import SearchSpace, TableTraits, paired
from assay.families.kernel.functions import Kernel
from assay.families.kernel.svm.claims import COVERAGE
from assay.families.kernel.svm.fit import (
    CACHE_SIZE,
    COEF0,
    DEGREE,
    GAMMA,
    KERNEL,
    MAX_ITER,
    MAX_SECONDS,
    SHRINKING,
    TOL,
    VERBOSE,
)
from assay.families.kernel.svm.machines import ClassMachine, NumberMachine
from assay.families.kernel.svm.nu_search import NuRun, most_of_nu
from assay.families.kernel.svm.solve import DualTask, MachineRows, Solved, SolverPlan
from assay.numerics import Floats
from assay.store import Record

NU = Range(low=0, high=1, open_low=True)
SHARES = (0.5, 0.2, 0.1, 0.05)
NU_COVERAGE = Coverage(
    proof={**COVERAGE.proof, "kernel_nu": "C_ epsilon_"},
    estimate=COVERAGE.estimate,
    nothing=COVERAGE.nothing,
    but=COVERAGE.but,
)


class NuSVC(ClassMachine):
    """A support vector machine whose ν says how many rows may be within the margin, and how many must be support vectors. Shape: pairwise blocks.

        min_{w, b, ρ ≥ 0}  ½‖w‖² − ν S ρ + Σ_i c_i max(0, ρ − t_i (w·φ(x_i) + b)),      S = Σ_i c_i

    Divided by ρ it is that of `SVC` with C = 1/ρ, which is how it is found and shown (`C_`, a price for each problem). At most a share ν of the
    rows' weight lies within the margin, and at least that share are support vectors. A ν above twice the share of the lighter of two classes is
    infeasible.

    Certificate
    -----------
    The multipliers are feasible and add up to what ν asks for, the objective is at most a share of tol above the least possible, and the KKT
    conditions hold to that; the margin 1/‖w‖.

    See Also
    --------
    SVC : with the price C of an error.
    NuSVR : the same for a number.

    Examples
    --------
    >>> model = NuSVC(nu=0.5).fit([[0.0], [1.0], [9.0], [10.0]], ["a", "a", "b", "b"])
    >>> model.predict([[2.0], [7.0]]).tolist()
    ['a', 'b']
    """

    title = "Nu support vector machine"
    name = "nu-svc"
    nu: float = param(
        "share of the rows that may be within the margin, at most, and that have multipliers, at least",
        default=0.5,
        check=NU,
    )
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
    multi_class: str = param("more than two classes: each against each, or against the rest", default="ovo", check=Choice(("ovo", "ovr")))  # fmt: skip
    max_seconds: float | None = MAX_SECONDS
    n_jobs: int | None = N_JOBS
    C, solver, warm_start = 1.0, "smo", False
    coverage = NU_COVERAGE
    layout: ClassVar[Layout] = {
        **ClassMachine.layout,
        "C_": Tensor(("P",), low=0, doc="the price 1/ρ of each of the P problems: with it SVC has the same solution"),
    }
    C_: Floats = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Where somebody names it: the Gaussian kernel, and ever smaller shares."""
        if kind != "classifier":
            return None
        unfit, search = paired(features.classes) or cls._unfit(features), tuple({"nu": nu} for nu in SHARES)
        return SearchSpace(search=search, scaled=True, rough={"tol": 1e-2}, unfit=unfit, cost=6.0, when_named=True)

    def _run(self) -> NuRun:
        self._found = NuRun(float(self.nu), True, 1.0)
        return self._found

    def _tasks(self, kernel: Kernel, given: MachineRows) -> list[DualTask]:
        tasks = super()._tasks(kernel, given)
        for task in tasks:
            most = most_of_nu(task.problem.sign, task.problem.upper)
            if self.nu > most * (1 + 1e-12):
                raise DataError(
                    f"specified nu is infeasible: nu={self.nu:g} asks the lighter of two classes for more weight than it has; with these rows (and weights) "
                    f"it can be at most {most:.6g}."
                )
        return tasks

    def _finish(
        self,
        kernel: Kernel,
        given: MachineRows,
        tasks: list[DualTask],
        solved: list[Solved],
        plan: SolverPlan,
        stopping: Stopping,
    ) -> None:
        found = self.__dict__.pop("_found")
        self.C_ = np.array([found.numbers[p] for p in range(len(tasks))])
        super()._finish(kernel, given, tasks, solved, plan, stopping)

    def _priced(self, tasks: list[DualTask]) -> list[DualTask]:
        problems = (task.problem._replace(upper=C * task.problem.upper) for task, C in zip(tasks, self.C_))
        return [task._replace(problem=problem) for task, problem in zip(tasks, problems)]

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        if not np.all(self.C_ > 0):
            raise ModelFileError("The model file's prices are not above zero.")


class NuSVR(NumberMachine):
    """Support vector regression whose ν says how many rows may be outside of the tube, which is as wide as that needs. Shape: pairwise blocks.

        min_{w, b, ε ≥ 0}  ½‖w‖² + C (ν S ε + Σ_i c_i max(0, |y_i − w·φ(x_i) − b| − ε)),      S = Σ_i c_i

    With the ε that is found (`epsilon_`) it is `SVR`. At most a share ν of the rows' weight lies outside of the tube, and at least that share are
    support vectors where ε > 0.

    Certificate
    -----------
    The multipliers are feasible and add up to what ν asks for, the objective is at most a share of tol above the least possible, and the KKT
    conditions hold to that.

    See Also
    --------
    SVR : with the width of the tube.
    NuSVC : the same for classes.

    Examples
    --------
    >>> model = NuSVR(kernel="linear", C=100.0, nu=0.5, tol=1e-6).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    >>> model.predict([[4.0]]).round(2)
    array([4.])
    """

    title = "Nu SV regression"
    name = "nu-svr"
    nu: float = param(
        "share of the rows that may be outside of the tube, at most, and that have multipliers, at least",
        default=0.5,
        check=NU,
    )
    C: float = param("the most that one row may weigh, so what an error beyond the tube costs a unit", default=1.0, check=Range(low=0, open_low=True, open_high=True))  # fmt: skip
    kernel: Any = KERNEL
    degree: float = DEGREE
    gamma: Any = GAMMA
    coef0: float = COEF0
    shrinking: bool = SHRINKING
    tol: float = TOL
    cache_size: float = CACHE_SIZE
    verbose: bool = VERBOSE
    max_iter: int = MAX_ITER
    max_seconds: float | None = MAX_SECONDS
    n_jobs: int | None = N_JOBS
    epsilon, solver, warm_start = 0.0, "smo", False
    coverage = NU_COVERAGE
    layout: ClassVar[Layout] = {
        **NumberMachine.layout,
        "epsilon_": Fact(float, low=0, doc="half the width of the tube that was found"),
    }
    epsilon_: float = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Where somebody names it: ever dearer errors."""
        if kind != "regressor":
            return None
        unit = features.spread if features.spread > 0 else 1.0
        search = tuple({"C": C * unit} for C in (0.1, 1.0, 10.0, 100.0))
        return SearchSpace(
            search=search, scaled=True, rough={"tol": 1e-2}, unfit=cls._unfit(features), cost=6.0, when_named=True
        )

    def _tasks(self, kernel: Kernel, given: MachineRows) -> list[DualTask]:
        self._spread = float(np.ptp(given.y.astype(np.float64)))
        return super()._tasks(kernel, given)

    def _run(self) -> NuRun:
        self._found = NuRun(float(self.nu), False, 0.05 * self.__dict__.pop("_spread"))
        return self._found

    def _finish(
        self,
        kernel: Kernel,
        given: MachineRows,
        tasks: list[DualTask],
        solved: list[Solved],
        plan: SolverPlan,
        stopping: Stopping,
    ) -> None:
        self.epsilon_ = float(self.__dict__.pop("_found").numbers[0])
        super()._finish(kernel, given, tasks, solved, plan, stopping)
