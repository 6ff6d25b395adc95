"""What SVC and SVR share: hyper-parameters, the kernel, the dual problems and how long they may take, the support rows that answer, and the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.engines.engine import Threads
from assay.errors import ConvergenceWarning, ModelFileError, as_seen_by_sklearn, warn
from assay.estimator.estimator import Estimator
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import Choice, Free, Range, attribute, param
from assay.estimator.progress import INTERRUPTED, Stopping
from assay.estimator.search_space import TableTraits
from assay.estimator.shown import Shown
from assay.estimator.steps import Step, some_of
from assay.families.kernel.functions import (
    FAR_POWERS,
    KERNEL_WORDS,
    KERNELS,
    Kernel,
    centre_values,
    exact,
    exact_centre_values,
    far_centre,
    in_long,
    is_power,
    needs_differences,
    refuse_own_kernel,
    resolve,
)
from assay.families.kernel.svm.solve import (
    NO_LIMIT,
    SOLVERS,
    DecisionFunctions,
    DualTask,
    MachineRows,
    PlainRun,
    Solved,
    SolverPlan,
    SolverProgress,
    check_kernel,
    rows_in_memory,
    solve_all,
)
from assay.inputs import refuse_non_finite
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats
from assay.store import Record

GAMMA_KERNELS = ("poly", "rbf", "laplacian", "sigmoid")
LINEAR_KERNELS = ("linear", "affine")

KERNEL = param("the kernel K(x, z), the product of two rows in feature space", default="rbf", says=KERNEL_WORDS, check=Free("a function f(X, Z) of yours", words=KERNELS, check=callable))  # fmt: skip
DEGREE = param("the power of kernel='poly'", default=3, check=Range(low=0, open_high=True))
GAMMA = param(
    "how fast the kernel falls: 'scale' is 1 / (columns · variance), 'auto' 1 / columns, 'median' by the median distance",
    default="scale",
    check=Range(low=0, open_low=True, open_high=True, words=("scale", "auto", "median")),
)
COEF0 = param("the constant of kernel='poly' and 'sigmoid'", default=0.0, check=Range(open_low=True, open_high=True))  # fmt: skip
TOL = param("relative duality gap at which the fit is done", default=1e-4, check=Range(low=0, high=1, open_low=True))
SOLVER = param("working sets, or quadratic programming as in the lecture notes (few rows)", default="smo", check=Choice(SOLVERS))  # fmt: skip
SHRINKING = param("accepted for scikit-learn's sake: rows that cannot change are always left out", default=True)
CACHE_SIZE = param("memory for kernel values in MB; more saves computing them again", default=200, check=Range(low=0, open_low=True, open_high=True))  # fmt: skip
MAX_ITER = param("most working sets a problem; -1: no limit", default=-1, check=Range(int, low=-1))
MAX_SECONDS = param("the fit ends then with the best found; None: no limit", default=None, check=Range(low=0, open_low=True, words=(None,)))  # fmt: skip
WARM_START = param("begin at the multipliers of the fit before", default=False)
VERBOSE = param("say a line a second on standard error: gap, support rows, time left", default=False)
PAIRS = 3e11  # rows · rows · (columns + 16) up to which a comparison takes part: a minute or so
NOT_OF_THE_START = ("C", "gamma", "tol", "max_iter", "max_seconds", "cache_size", "n_jobs", "verbose", "solver", "probability", "warm_start")  # fmt: skip
LAYOUT: Layout = {
    "support_": Tensor(("m",), dtype="<i8", index="rows_", low=0, doc="the numbers of the support vectors among the rows of the fit; m is how many there are"),
    "support_vectors_": Tensor(("m", "c"), doc="the support vectors, one a row; without columns (c = 0) for kernel='precomputed'"),
    "dual_coef_": Tensor(("R", "m"), doc="the coefficients β of the support vectors, in rows as scikit-learn has them: one for two classes or a number, K − 1 for more classes, K for multi_class='ovr'"),
    "intercept_": Tensor(("P",), doc="the constant b of each of the P problems"),
    "objective_": Tensor(("P",), finite=False, doc="the primal objective of each problem, which the fit makes small"),
    "dual_objective_": Tensor(("P",), doc="the dual objective of each problem, below which no primal objective can be"),
    "gap_": Tensor(("P",), low=0, finite=False, doc="the relative duality gap of each problem: the objective is at most this share above the least there is"),
    "n_iter_": Tensor(("P",), dtype="<i8", low=1, doc="the working sets that each problem took"),
    "upper_": Tensor(("U",), low=0, finite=False, doc="the most that a row may weigh, C"),
    "weights_": Tensor(("m",), low=0, optional=True, doc="the sample weights of the support vectors; None where all are 1"),
    "gamma_": Fact(float, low=0, doc="the γ of the kernel that was used"),
    "rows_": Fact(int, low=1, doc="the number of rows of the fit"),
    "n_rows_": Fact(int, low=1, doc="the number of rows of the fit whose weight is positive"),
    "converged_": Fact(bool, doc="whether every problem reached tol"),
}  # fmt: skip


def shown(model: Any, array: Floats) -> Any:
    """A learnt array as people see it: scipy's CSR where the rows of the fit were sparse, as of scikit-learn."""
    if not model._fitted_on_sparse:
        return array
    from scipy.sparse import csr_matrix

    return csr_matrix(array)


class KernelMachine(Estimator):
    """A function of the kernel with few rows: f(x) = Σ β_i K(x_i, x) + b, by the dual of a support vector machine."""

    takes_sparse = fills_sparse = fills_whole = True
    slow_rows: ClassVar[int | None] = 1024
    enough_rows: ClassVar[int | None] = 10_000  # a fit takes a time that grows with their square
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

    support_: Array = attribute()
    support_vectors_ = Shown(shown)
    dual_coef_ = Shown(shown)
    intercept_: Floats = attribute()
    objective_: Floats = attribute()
    dual_objective_: Floats = attribute()
    gap_: Floats = attribute()
    n_iter_: Any = attribute()
    upper_: Floats = attribute()
    weights_: Floats | None = attribute()
    gamma_: float = attribute()
    rows_: int = attribute()
    n_rows_: int = attribute()
    converged_: bool = attribute()

    on_progress: Callable[[str], None] | None = attribute(default=None)  # hears a line a second or so of a long fit
    _fitted_on_sparse: bool = attribute(default=False)
    _machine: DecisionFunctions | None = attribute(default=None)
    _before: Any = attribute(default=None)  # the fit to begin at

    @property
    def _support_vectors(self) -> Floats:
        kept: Floats = vars(self)["support_vectors_"]
        return kept

    @property
    def _dual_coef(self) -> Floats:
        kept: Floats = vars(self)["dual_coef_"]
        return kept

    def _remember_columns(self, rows: Rows) -> None:
        super()._remember_columns(rows)
        self._fitted_on_sparse = rows.sparse

    # --- taking part in a comparison --------------------------------------------------------------------------------

    @staticmethod
    def _unfit(features: TableTraits) -> str | None:
        if features.rows**2 * (features.columns + 16) > PAIRS:
            return "so many rows would be compared with each other for too long"
        return None

    def complexity(self) -> float:
        """The multipliers other than zero and the intercepts of all problems."""
        self._check_fitted()
        return float(np.count_nonzero(self._dual_coef) + len(self.intercept_))

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

    def _tasks(self, kernel: Kernel, given: MachineRows) -> list[DualTask]:
        """The problems of a fit; sets `upper_`."""
        raise NotImplementedError

    def _warm_started(self, tasks: list[DualTask], given: MachineRows, before: Any) -> list[DualTask]:
        """The tasks with the multipliers of an earlier fit to begin at."""
        raise NotImplementedError

    def _keep(self, kernel: Kernel, given: MachineRows, tasks: list[DualTask], solved: list[Solved]) -> None:
        """Set support rows and their coefficients."""
        raise NotImplementedError

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        kernel, given, tasks = self._dual_problems(engine, rows, afresh, classes)
        plan = self._plan(self._workers(engine))
        stopping = Stopping(self.max_seconds, self._problems(len(tasks)), plan.workers.workers)
        with stopping.listening():
            solved = solve_all(tasks, plan, stopping, self._progress(len(tasks)), self._run())
            self._finish(kernel, given, tasks, solved, plan, stopping)
        if not self.converged_:
            if stopping.why is not None:
                self._provenance["ended"] = stopping.why
            _warn_unfinished(self, stopping)

    def _dual_problems(
        self, engine: Engine, rows: Rows, afresh: bool, classes: Any
    ) -> tuple[Kernel, MachineRows, list[DualTask]]:
        """The kernel, the rows, and the problems with where they begin."""
        before, self._before = self._before, None
        self._fitted_with = self.get_params()
        labels = self._labels(engine, rows, afresh, classes)
        given = rows_in_memory(self._workers(engine), rows, labels, self.kernel == "precomputed")
        kernel = _careful(resolve(self.kernel, self.gamma, self.degree, self.coef0, given.X, given.w), given.X, given.w)
        check_kernel(kernel, given, rows.names)
        tasks = self._tasks(kernel, given)
        if before is not None and self._like(before, given):
            tasks = self._warm_started(tasks, given, before)
        return kernel, given, tasks

    def _like(self, before: Any, given: MachineRows) -> bool:
        """Whether an earlier fit was of as many rows, and of the same classes."""
        ours, theirs = (getattr(model, "classes_", np.empty(0)) for model in (self, before))
        return bool(before.rows_ == given.total and np.array_equal(ours, theirs))

    def _workers(self, engine: Engine) -> Threads:
        """As many threads as the engine in force has; a cluster's own do not see these rows."""
        return engine.threads(self.n_jobs)

    def _plan(self, workers: Threads) -> SolverPlan:
        most = NO_LIMIT if self.max_iter == -1 else max(1, int(self.max_iter))
        return SolverPlan(self.solver, float(self.tol), most, int(self.cache_size * (1 << 20)), workers)

    def _run(self) -> Any:
        """What solves the tasks."""
        return PlainRun()

    def _problems(self, tasks: int) -> int:
        """How many problems share the seconds of a fit."""
        return tasks

    def _progress(self, problems: int) -> SolverProgress | None:
        if not self.verbose and self.on_progress is None:
            return None
        return SolverProgress(problems, float(self.tol), self.on_progress)

    def _finish(
        self,
        kernel: Kernel,
        given: MachineRows,
        tasks: list[DualTask],
        solved: list[Solved],
        plan: SolverPlan,
        stopping: Stopping,
    ) -> None:
        self.gamma_ = kernel.gamma
        self.rows_, self.n_rows_ = given.total, len(given.X)
        self.objective_ = np.array([s.primal for s in solved])
        self.dual_objective_ = np.array([s.dual for s in solved])
        self.gap_ = np.array([s.gap for s in solved])
        self.n_iter_ = np.array([max(1, s.last) for s in solved], dtype=np.int64)
        self.converged_ = bool(np.all(self.gap_ <= self.tol))
        self._keep(kernel, given, tasks, solved)
        self._keep_intercept(kernel, solved)
        self._machine = self._make_machine()
        self._provenance = {"fingerprint": given.mark.hex()}
        self._claims_made = None

    def _keep_support(self, kernel: Kernel, given: MachineRows, at: Array, D: Floats) -> None:
        """The support rows, at these places among the rows, and their coefficients."""
        self.support_ = given.numbers[at]
        self.support_vectors_ = np.empty((len(at), 0)) if kernel.name == "precomputed" else given.X[at]
        self.dual_coef_ = np.ascontiguousarray(D[:, at])
        self.weights_ = None if given.w is None else given.w[at]

    def _keep_intercept(self, kernel: Kernel, solved: list[Solved]) -> None:
        """b of rows counted from zero, whatever centre the kernel of the fit had."""
        self.intercept_ = (np.array([s.intercept for s in solved]) - self._moved(kernel.centre)).astype(np.float64)

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The multipliers after each working set, problem by problem; the last step is the fitted model."""
        from assay.families.kernel.svm.steps import steps_of

        return some_of(steps_of(self, X, y, sample_weight), every)

    def _keep_uncalibrated(self) -> None:
        """Set what probabilities are made of before it is learnt, where there are any."""

    # --- answering --------------------------------------------------------------------------------------------------

    def _kernel(self) -> Kernel:
        """The kernel function of the fit."""
        given = self._fitted_with
        if callable(given["kernel"]):
            return Kernel("own", own=given["kernel"])
        if given["kernel"] not in GAMMA_KERNELS:
            return _careful(Kernel(given["kernel"]), self._support_vectors)
        numbers = self.gamma_, float(given["degree"]), float(given["coef0"])
        centre = self._centre() if given["kernel"] in ("rbf", "laplacian") else None
        return _careful(Kernel(given["kernel"], *numbers, centre=centre), self._support_vectors)

    def _centre(self) -> Floats | None:
        """Where rows are counted from: the mean of the support rows."""
        if not len(self.support_):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            mean: Floats = self._support_vectors.mean(axis=0)
        return mean if np.isfinite(mean).all() else None

    def _weights(self, Z: Array, coef: Array | None = None) -> Array:
        """Σ_i β_i z_i of each problem (P, d), z_i the support rows or what is made of them; coef: in place of β as floats."""
        raise NotImplementedError

    def _linear_weights(self) -> Floats:
        """w (P, d) of a linear kernel. Of rows far from zero in extended precision, counted from the kernel's centre: Σ β = 0 does not notice,
        but digits do."""
        centre = self._kernel().centre
        return self._weights(
            self._support_vectors if centre is None else self._support_vectors.astype(np.longdouble) - centre
        )

    def _moved(self, centre: Floats | None) -> Floats:
        """By how much intercepts of rows that a linear or polynomial kernel counts from the centre are above those of rows counted from zero:
        w·c, or w·φ(c)."""
        if centre is None or self._fitted_with["kernel"] in ("rbf", "laplacian"):
            return np.zeros(1)
        if self._fitted_with["kernel"] in LINEAR_KERNELS:
            return self._linear_weights() @ centre
        kernel = replace(self._kernel(), centre=centre)
        values = exact_centre_values(kernel, self._support_vectors)
        if values is None:
            off = self._support_vectors.astype(np.longdouble) - centre
            return self._weights(centre_values(kernel, off)[:, None])[:, 0]
        return in_long(self._weights(values[:, None], exact(self._dual_coef))[:, 0])

    def _support_rows(self) -> Array:
        """The rows that answer; of a precomputed kernel their numbers."""
        return self.support_ if self._fitted_with["kernel"] == "precomputed" else self._support_vectors

    def _make_machine(self) -> DecisionFunctions:
        raise NotImplementedError

    def _decision(self, block: Block, signs: bool = False) -> Floats:
        """f (n, P); `signs`: only the signs need be right, as labels are made of them."""
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

    @property
    def coef_(self) -> Floats:
        """(P, d): w of each of P problems of a linear kernel."""
        self._check_linear()
        w: Floats = shown(self, self._linear_weights().astype(np.float64))
        numbers: Any = w if isinstance(w, np.ndarray) else w.data  # of sparse rows a sparse matrix
        numbers.flags.writeable = False  # they are made of the multipliers: nothing would come of writing to them
        return w

    def _check_linear(self) -> None:
        if getattr(self, "_fitted_with", {"kernel": self.kernel})["kernel"] != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel: others have no weights a column.")
        self._check_fitted()

    # --- file -------------------------------------------------------------------------------------------------------

    def to_record(self) -> Record:
        """The fitted model as plain data."""
        self._check_fitted()
        refuse_own_kernel(self)
        return super().to_record()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_machine", "_before", "on_progress")}

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        self.weights_ = getattr(self, "weights_", None)
        m, given = len(self.support_), self.kernel == "precomputed"
        if self._support_vectors.shape[1] != (0 if given else self.n_features_in_):
            raise ModelFileError("The model file's support vectors do not have the columns of its rows.")
        if not 0 < self.n_rows_ <= self.rows_ or m > self.n_rows_:
            raise ModelFileError("The model file has more support rows than rows.")
        if m and int(self.support_.max()) >= self.rows_:
            raise ModelFileError("The model file's support rows are none of the fit.")
        if given and self.n_features_in_ != self.rows_:
            raise ModelFileError("The model file's precomputed kernel was not of its rows.")
        if not self.gamma_ > 0:
            raise ModelFileError("The model file's gamma is not above zero.")
        if self.weights_ is not None and not np.all(self.weights_ > 0):
            raise ModelFileError("The model file's support rows have weights of zero.")

    def _check_order(self, starts: Array) -> None:
        """Support rows come in ascending order within each class; starts: where classes begin."""
        again = np.diff(self.support_) <= 0
        again[starts[(starts > 0) & (starts < len(self.support_))] - 1] = False
        if np.any(again) or len(np.unique(self.support_)) < len(self.support_):
            raise ModelFileError("The model file's support rows are not in order, or come twice.")


def _careful(kernel: Kernel, X: Floats, w: Floats | None = None) -> Kernel:
    """The kernel in the form that loses no digits on such rows: products about their mean, distances by differences."""
    if kernel.name in LINEAR_KERNELS:
        return replace(kernel, centre=far_centre(X, w))
    if is_power(kernel):
        return replace(kernel, centre=far_centre(X, w, FAR_POWERS, abs(kernel.coef0) / kernel.gamma))
    return replace(kernel, by_differences=needs_differences(kernel, X))


def _warn_unfinished(model: Any, stopping: Stopping) -> None:
    """Say why the gap of a fit is above its tolerance, and what to do."""
    late = model.gap_ > model.tol
    many = f" in {int(late.sum())} of {len(late)} problems" if len(late) > 1 else ""
    if stopping.why == INTERRUPTED:
        why, what = "was interrupted", "Fit again, or allow a larger tol."
    elif model.max_iter != -1 and bool(np.any(vars(model)["n_iter_"][late] >= model.max_iter)):
        why, what = f"stopped at max_iter={model.max_iter}", "Raise max_iter, or allow a larger tol."
    elif stopping.deadline is not None:
        why, what = f"ran out of its max_seconds={model.max_seconds:g}", "Raise max_seconds, or allow a larger tol."
    else:
        why, what = "can no longer improve", "Allow a larger tol, or standardise the columns."
        if model.kernel == "poly":
            what = (
                "Standardise the columns (take its mean from each, divide by its deviation): powers of numbers far from zero agree in nearly all "
                "digits. Or lower the degree, or allow a larger tol."
            )
    warn(
        f"{type(model).__name__}: the fit {why} at a relative gap of {model.gap_.max():.3g} (tol={model.tol:g}){many}; the best found is "
        f"kept. {what}",
        as_seen_by_sklearn(ConvergenceWarning),
    )
