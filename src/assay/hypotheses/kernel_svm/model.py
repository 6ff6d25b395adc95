"""What SVC and SVR share: the kernel, the dual problems and how long they may take, the support rows that answer, and the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.engines.threads import Threads
from assay.hypotheses.kernel_svm.gathered import Gathered, check_kernel, gather
from assay.hypotheses.kernel_svm.learnt import LearntMachine
from assay.hypotheses.kernel_svm.multi import Machine
from assay.hypotheses.kernel_svm.progress import Progress
from assay.hypotheses.kernel_svm.solving import NO_LIMIT, Plan, Solved, Task, solve_all
from assay.hypotheses.kernel_svm.unfinished import warn_unfinished
from assay.inputs import refuse_non_finite
from assay.kernels import Kernel, resolve
from assay.labels import Labels
from assay.learner import Step, attribute
from assay.learner.prospect import Features
from assay.learner.step import some_of
from assay.learner.stopping import Stopping
from assay.numerics import Array, Floats

PAIRS = 3e11  # rows · rows · (columns + 16) up to which a comparison takes part: a minute or so
NOT_OF_THE_START = ("C", "gamma", "tol", "max_iter", "max_seconds", "cache_size", "n_jobs", "verbose", "solver", "probability", "warm_start")  # fmt: skip


class KernelMachine(LearntMachine):
    """A function of the kernel with few rows: f(x) = Σ β_i K(x_i, x) + b, by the dual of a support vector machine."""

    slow_rows: ClassVar[int | None] = 1024
    step_word = "working set"

    C: float = attribute()
    kernel: Any = attribute()
    degree: float = attribute()
    gamma: Any = attribute()
    coef0: float = attribute()
    tol: float = attribute()
    solver: str = attribute()
    cache_size: float = attribute()
    max_iter: int = attribute()
    max_seconds: float | None = attribute()
    warm_start: bool = attribute()
    verbose: bool = attribute()

    on_progress: Callable[[str], None] | None = attribute(default=None)  # hears a line a second or so of a long fit
    _machine: Machine | None = attribute(default=None)
    _before: Any = attribute(default=None)  # the fit to begin at

    # --- taking part in a comparison --------------------------------------------------------------------------------

    @staticmethod
    def _unfit(features: Features) -> str | None:
        if features.text:
            return "words become many sparse columns, and this model takes dense ones"
        if features.rows**2 * (features.columns + 16) > PAIRS:
            return "so many rows would be compared with each other for too long"
        return None

    def complexity(self) -> float:
        """The multipliers other than zero and the intercepts of all problems."""
        self._check_fitted()
        return float(np.count_nonzero(self.dual_coef_) + len(self.intercept_))

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings; where they differ in C or γ alone each begins at the multipliers of the one before."""
        found: dict[str, Self] = {}
        for changed in settings:
            model = type(self)(**{**self.get_params(), **changed})
            key = repr({k: v for k, v in model.get_params().items() if k not in NOT_OF_THE_START})
            model._before = found.get(key)
            model.fit(X)  # type: ignore[attr-defined]
            found[key] = copy(model)  # whoever gets the model may change it
            yield model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # --- learning ---------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        if self._before is None and self.warm_start and hasattr(self, "dual_coef_"):
            self._before = copy(self)
        self._machine = None
        super()._forget()

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels | None:
        return None

    def _tasks(self, kernel: Kernel, given: Gathered) -> list[Task]:
        """The problems of a fit; sets `upper_`."""
        raise NotImplementedError

    def _begun(self, tasks: list[Task], given: Gathered, before: Any) -> list[Task]:
        """The tasks with the multipliers of an earlier fit to begin at."""
        raise NotImplementedError

    def _keep(self, kernel: Kernel, given: Gathered, tasks: list[Task], solved: list[Solved]) -> None:
        """Set support rows and their coefficients."""
        raise NotImplementedError

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        kernel, given, tasks = self._posed(engine, rows, afresh, classes)
        plan = self._plan(self._workers(engine))
        stopping = Stopping(self.max_seconds, self._problems(len(tasks)), plan.workers.workers)
        with stopping.listening():
            solved = solve_all(tasks, plan, stopping, self._watched(len(tasks)))
            self._finish(kernel, given, tasks, solved, plan, stopping)
        if not self.converged_:
            if stopping.why is not None:
                self._provenance["ended"] = stopping.why
            warn_unfinished(self, stopping)

    def _posed(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> tuple[Kernel, Gathered, list[Task]]:
        """The kernel, the rows, and the problems with where they begin."""
        before, self._before = self._before, None
        self._fitted_with = self.get_params()
        labels = self._labels(engine, rows, afresh, classes)
        given = gather(self._workers(engine), rows, labels, self.kernel == "precomputed")
        kernel = resolve(self.kernel, self.gamma, self.degree, self.coef0, given.X, given.w)
        check_kernel(kernel, given, rows.names)
        tasks = self._tasks(kernel, given)
        if before is not None and self._like(before, given):
            tasks = self._begun(tasks, given, before)
        return kernel, given, tasks

    def _like(self, before: Any, given: Gathered) -> bool:
        """Whether an earlier fit was of as many rows, and of the same classes."""
        ours, theirs = (getattr(model, "classes_", np.empty(0)) for model in (self, before))
        return bool(before.rows_ == given.total and np.array_equal(ours, theirs))

    def _workers(self, engine: Engine) -> Threads:
        """As many threads as the engine in force has; a cluster's own do not see these rows."""
        return engine.threads(self.n_jobs)

    def _plan(self, workers: Threads) -> Plan:
        most = NO_LIMIT if self.max_iter == -1 else max(1, int(self.max_iter))
        return Plan(self.solver, float(self.tol), most, int(self.cache_size * (1 << 20)), workers)

    def _problems(self, tasks: int) -> int:
        """How many problems share the seconds of a fit."""
        return tasks

    def _watched(self, problems: int) -> Progress | None:
        if not self.verbose and self.on_progress is None:
            return None
        return Progress(problems, float(self.tol), self.on_progress)

    def _finish(
        self, kernel: Kernel, given: Gathered, tasks: list[Task], solved: list[Solved], plan: Plan, stopping: Stopping
    ) -> None:
        self.gamma_ = kernel.gamma
        self.rows_, self.n_rows_ = given.total, len(given.X)
        self.intercept_ = np.array([s.intercept for s in solved])
        self.objective_ = np.array([s.primal for s in solved])
        self.dual_objective_ = np.array([s.dual for s in solved])
        self.gap_ = np.array([s.gap for s in solved])
        self.n_iter_ = np.array([max(1, s.last) for s in solved], dtype=np.int64)
        self.converged_ = bool(np.all(self.gap_ <= self.tol))
        self._keep(kernel, given, tasks, solved)
        self._machine = self._make_machine()
        self._provenance = {"fingerprint": given.mark.hex()}
        self._made = None

    def _keep_support(self, kernel: Kernel, given: Gathered, at: Array, D: Floats) -> None:
        """The support rows, at these places among the rows, and their coefficients."""
        self.support_ = given.numbers[at]
        self.support_vectors_ = np.empty((len(at), 0)) if kernel.name == "precomputed" else given.X[at]
        self.dual_coef_ = np.ascontiguousarray(D[:, at])
        self.weights_ = None if given.w is None else given.w[at]

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The multipliers after each working set, problem by problem; the last step is the fitted model."""
        from assay.hypotheses.kernel_svm.steps import steps_of

        return some_of(steps_of(self, X, y, sample_weight), every)

    def _keep_uncalibrated(self) -> None:
        """Set what probabilities are made of before it is learnt, where there are any."""

    # --- answering --------------------------------------------------------------------------------------------------

    def _make_machine(self) -> Machine:
        raise NotImplementedError

    def _decision(self, block: Block, signs: bool = False) -> Floats:
        """f (n, P); `signs`: no more is asked of it than labels are made of."""
        if not np.isfinite(block.X).all():
            refuse_non_finite(block.X, block.start, self._column_names())
        self._check_fitted()
        machine = self._machine or self._make_machine()  # a model that came through a pipe has none
        with np.errstate(over="ignore", invalid="ignore"):
            X = np.asarray(block.X, dtype=np.float64)
            return machine.signed(X) if signs else machine.values(X)

    @property
    def shape_fit_(self) -> tuple[int, int]:
        """The numbers of rows and columns of the fit."""
        self._check_fitted()
        return (self.rows_, self.n_features_in_)

    @property
    def fit_status_(self) -> int:
        """0: the gap is at most tol; 1: it is not."""
        self._check_fitted()
        return int(not self.converged_)

    def _check_linear(self) -> None:
        if getattr(self, "_fitted_with", {"kernel": self.kernel})["kernel"] != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel: others have no weights a column.")
        self._check_fitted()
