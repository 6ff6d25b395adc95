"""The kernel perceptron of the lecture notes. Shape: ordered stream."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from assay.certify import Claim
from assay.certify.certificate import fingerprint_of
from assay.engines import Block, Engine, Rows
from assay.engines.engine import Threads, one_thread_blas
from assay.errors import ConvergenceWarning, ModelFileError, ParameterError, as_seen_by_sklearn, warn
from assay.estimator.classifier import Classifier, of_each_class
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Free, Range, Seed, attribute, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Step, answering, checked, shown_of, some_of
from assay.families.kernel.expansion import Expansion
from assay.families.kernel.functions import KERNEL_WORDS, KERNELS, Kernel, needs_differences
from assay.families.kernel.perceptron.claims import COVERAGE, claims_of, evaluate, mistake_bound
from assay.families.kernel.perceptron.fit import KernelPerceptronRun, StartedRun, Visits, rule_of, start_run
from assay.families.perceptron.evaluation import class_factors, mean_weights
from assay.families.perceptron.steps import mistakes_so_far
from assay.inputs import refuse_non_finite
from assay.inputs.labels import class_multipliers
from assay.inputs.refusals import refuse_balanced, refuse_unlisted
from assay.numerics import Array, Floats
from assay.store import Record

LAYOUT: Mapping[str, Tensor | Fact] = {
    "support_": Tensor(("s",), dtype="<i8", index="seen_", low=0, doc="the numbers of the rows that have a coefficient; s is how many there are"),
    "support_vectors_": Tensor(("s", "e"), doc="the rows that have a coefficient; without columns for kernel='precomputed'"),
    "dual_coef_": Tensor(("p", "s"), doc="the coefficients that answer: one row for two classes, else one a class"),
    "last_coef_": Tensor(("p", "s"), optional=True, doc="of variant='averaged': the last coefficients, from which partial_fit goes on"),
    "drift_": Tensor(("p", "s"), optional=True, doc="of variant='averaged': the sum from which the average is made"),
    "class_factor_": Tensor(("K",), low=0, doc="the factor of each class's rows, from class_weight"),
    "gamma_": Fact(float, low=0, doc="the γ of the kernel that was used"),
    "centre_": Tensor(("d",), optional=True, doc="the point that is taken from every row, where that keeps products small"),
    "n_iter_": Fact(int, low=0, doc="the passes over the rows (order='first-mistake': searches)"),
    "t_": Fact(int, low=0, doc="the rows visited so far, over all passes"),
    "mistakes_": Fact(int, low=0, doc="the mistakes made on the way, each of which changed a coefficient"),
    "dropped_": Fact(int, low=0, doc="the coefficients that went because the budget was full"),
    "seen_": Fact(int, low=0, doc="the number of rows of all fits so far"),
    "converged_": Fact(bool, doc="whether the last pass made no mistake"),
    "history_": Fact(str, doc="'fit' for one fit of all rows, 'pieces' where partial_fit brought rows"),
    "step_sum_": Fact(float, low=0, doc="the sum of all corrections' weights"),
    "step_squares_": Fact(float, low=0, doc="the sum of the squares of all corrections' weights"),
    "asked_": Tensor(("q",), dtype="<i8", index="seen_", low=0, optional=True, doc="the numbers of some rows whose decision values the certificate states"),
    "asked_values_": Tensor(("q", "p"), optional=True, doc="the decision values at these rows"),
    "radius_": Fact(float, low=0, optional=True, doc="R, the greatest length of a row in feature space"),
    "least_margin_": Fact(float, optional=True, doc="the least t·f(x) over all rows; positive where all are answered rightly"),
    "norm_": Fact(float, low=0, optional=True, doc="the length of the weights in feature space"),
    "rounding_": Fact(float, low=0, optional=True, doc="how far rounding can have moved a decision value"),
    "certain_": Fact(bool, optional=True, doc="whether no outcome of a visit hung on rounding"),
    "rows_": Fact(int, low=0, optional=True, doc="the number of rows of positive weight"),
    "weight_": Fact(float, low=0, optional=True, doc="the total weight of these rows"),
    "wrong_": Fact(int, low=0, optional=True, doc="the rows of the fit that are answered wrongly at the end"),
    "wrong_weight_": Fact(float, low=0, optional=True, doc="the weight of the rows that are answered wrongly"),
}  # fmt: skip
EVALUATED = (
    *("radius_", "least_margin_", "norm_", "rounding_", "certain_"),
    *("rows_", "weight_", "wrong_", "wrong_weight_", "asked_", "asked_values_"),
)
PAIRS = 3e10  # rows · rows · (columns + 16) up to which a comparison tries it: some seconds


class KernelPerceptron(Classifier):
    """The perceptron in the feature space of a kernel: α counts the mistakes at each row. Shape: ordered stream.

        f(x) = Σ_i α_i y_i K(x_i, x)        answer: the greater class (y = +1) where f(x) ≥ 0, else the lower one (−1)
        at a mistake at row i:  α_i ← α_i + 1         (K > 2 classes: argmax f_k;  α_ki + 1 for the right class, − 1 for the winner)

    With `kernel="affine"`, 1 + x·z, it is the `Perceptron`: w = Σ α_i y_i (1, x_i). `order`: "cyclic" visits row after row until a pass makes
    no mistake (`shuffle`: the rows of each block in a new random order in each pass); "first-mistake" corrects the first row with
    y f(x) ≤ 0 and searches again from the first row on (`max_iter` counts the searches). `variant="averaged"` answers with the average of all
    coefficients that there were. A weight of a row (or class) multiplies its step; rows of weight 0 are not visited.

    `budget` keeps at most so many rows: at a mistake of another one, a kept row drawn at random goes, with its coefficient (the random budget
    perceptron of Cavallanti, Cesa-Bianchi and Gentile, 2007). A visit then takes bounded time, whatever the number of rows, but no
    pass need ever be without mistakes.

    `kernel`: "linear", "affine", "poly", "rbf", "laplacian", "sigmoid", "precomputed" (fit on K(x_i, x_j), answer K(x, x_i)), or a function
    f(X, Z) of yours. `partial_fit` visits new rows once, in order. Exclusive or, which no line can do:

    Certificate
    -----------
    The visits, made again, give these coefficients with as many mistakes; the coefficients give the stated decision values; where
    all rows are answered rightly, no more mistakes than (R/γ)².

    See Also
    --------
    Perceptron : the same for the columns as they are.
    SVC : the widest margin in the same feature space.

    Examples
    --------
    >>> model = KernelPerceptron(gamma=1.0).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> model.predict([[0.1, 0.9], [0.9, 0.9]]), model.dual_coef_, model.mistakes_
    (array([1, 0]), array([[-1.,  1.,  1., -1.]]), 4)
    """

    title = "Kernel perceptron"
    name = "kernel-perceptron"
    step_word = "visit"
    ends_by_itself = False  # rows that nothing separates never end it
    depends_on_order = True
    kernel: Any = param("the kernel function; 'affine' makes it the perceptron", default="rbf", says=KERNEL_WORDS, check=Free("a function f(X, Z) of two arrays of rows", words=KERNELS, check=callable))  # fmt: skip
    gamma: float | str = param(
        "γ of rbf, laplacian, poly and sigmoid; 'scale': 1/(columns · variance), 'auto': 1/columns, 'median': by the median distance",
        default="scale",
        check=Range(low=0, open_low=True, open_high=True, words=("scale", "auto", "median")),
    )
    degree: float = param("the power of kernel='poly'", default=3, check=Range(low=0, open_high=True))
    coef0: float = param("the constant of kernel='poly' and 'sigmoid'", default=0.0, check=Range(low=-math.inf, high=math.inf, open_low=True, open_high=True))  # fmt: skip
    order: str = param("which row is visited next", default="cyclic", check=Choice(("cyclic", "first-mistake")))
    max_iter: int = param("most passes over the rows (order='first-mistake': most searches)", default=1000, check=Range(int, low=1))  # fmt: skip
    variant: str = param("answer with the last coefficients, or their average over all visits", default="last", check=Choice(("last", "averaged")))  # fmt: skip
    budget: int | None = param("most rows with a coefficient; where they are full, one drawn at random goes", default=None, check=Range(int, low=1, words=(None,)))  # fmt: skip
    shuffle: bool = param("order='cyclic': visit the rows of a block in a new random order in each pass", default=False)
    random_state: int | None = param("seed of shuffles and of what a budget drops; None: 0", default=0, check=Seed(high=1 << 63, words=(None,)))  # fmt: skip
    class_weight: Any = CLASS_WEIGHT
    n_jobs: int | None = N_JOBS
    coverage = COVERAGE
    layout: ClassVar[Layout] = LAYOUT
    slow_rows = 1024

    support_: Array = attribute()
    support_vectors_: Floats = attribute()
    dual_coef_: Floats = attribute()
    last_coef_: Floats = attribute()
    drift_: Floats = attribute()
    gamma_: float = attribute()
    centre_: Floats = attribute()
    seen_: int = attribute()
    t_: int = attribute()
    mistakes_: int = attribute()
    dropped_: int = attribute()
    step_sum_: float = attribute()
    step_squares_: float = attribute()
    asked_: Array = attribute()
    rows_: int = attribute()
    weight_: float = attribute()
    wrong_: int = attribute()
    history_: str = attribute()

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """The average over few passes, then the last coefficients over more; passes are bounded, as noisy rows take very many."""
        if kind != "classifier":
            return None
        unfit = None
        if features.rows**2 * (features.columns + 16) > PAIRS:
            unfit = "so many rows would be compared with each other for too long"
        tried = (("averaged", 5), ("last", 20))
        return SearchSpace(
            search=tuple({"kernel": "rbf", "gamma": "scale", "variant": v, "max_iter": n} for v, n in tried),
            scaled=True,
            unfit=unfit,
        )

    def complexity(self) -> float:
        """The coefficients ≠ 0."""
        self._check_fitted()
        return float(np.count_nonzero(self.dual_coef_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # where nothing separates the rows, nothing is promised of the last ones
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # --- learning ---------------------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Visit more rows once, in their order, from the present coefficients; γ stays that of the first rows.

        `classes` lists every class that can ever occur; the first call needs it, later calls may repeat it.
        """
        refuse_unlisted(self, classes)
        refuse_balanced(self)
        if self.kernel == "precomputed":
            raise ParameterError(
                "partial_fit needs the kernel's values between new rows and earlier ones, which a precomputed matrix does not hold: use fit."
            )
        return self._fit(X, y, sample_weight, afresh=False, classes=classes)

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        whole = afresh and classes is None
        rule = rule_of(self)
        labels = self._classes_of(engine, rows, afresh, classes)
        self.class_factor_ = class_factors(self.class_weight, engine, rows, labels, whole)
        kept = rows.in_memory()
        started = start_run(self, rule, labels, kept, afresh)
        run = started.run
        for _ in run.passes_of(int(self.max_iter)) if whole else run.one_pass(started.old):
            pass
        for name in EVALUATED:
            vars(self).pop(name, None)
        self._keep(started)
        self._provenance = {}
        self.history_ = "fit" if whole else "pieces"
        if whole:
            answering = run.beta if run.drift is None else mean_weights(run.beta, run.drift, run.visited)
            vars(self).update(evaluate(run, run.targets, answering))
            self.converged_ |= self.wrong_ == 0 and not rule.zero and run.drift is None
            self._provenance = {"fingerprint": fingerprint_of(rows, self.classes_)}
            if not self.converged_:
                self._warn()
        self._state_claims()

    def _keep(self, started: StartedRun) -> None:
        """What was learnt: rows with a coefficient, in the order of their numbers."""
        run = started.run
        self.seen_ = started.seen
        self.t_, self.mistakes_, self.dropped_ = run.visited, run.mistakes, run.dropped
        self.step_sum_, self.step_squares_ = run.step_sum, run.step_squares
        self.n_iter_, self.converged_ = run.passes, bool(run.converged)
        some = run.beta.any(axis=0)
        there = np.flatnonzero(some if run.drift is None else some | run.drift.any(axis=0))
        self.support_ = started.numbers[there]
        self.support_vectors_ = np.empty((len(there), 0)) if self.kernel == "precomputed" else started.X[there]
        last = np.ascontiguousarray(run.beta[:, there])
        if run.drift is None:
            self.dual_coef_ = last
        else:
            self.last_coef_, self.drift_ = last, np.ascontiguousarray(run.drift[:, there])
            self.dual_coef_ = mean_weights(last, self.drift_, run.visited)
        self._fitted_with = self.get_params()
        self._expand()

    def _warn(self) -> None:
        what = "searches" if self.order == "first-mistake" else "passes"
        advice = "Raise max_iter, or use variant='averaged'; a larger gamma (or degree) separates more."
        if self.budget is not None:
            advice = f"With a budget of {self.budget} rows that may never end: raise the budget, or take the result as it is."
        warn(
            f"KernelPerceptron: {self.max_iter} {what} did not end in one without a mistake; {self.wrong_} of {self.rows_} rows are on the "
            f"wrong side. {advice}",
            as_seen_by_sklearn(ConvergenceWarning),
        )

    # --- certificate, file, steps -----------------------------------------------------------------------------------

    def _make_claims(self) -> tuple[Claim, ...]:
        return claims_of(self)

    def to_record(self) -> Record:
        """The fitted model as plain data."""
        self._check_fitted()
        if callable(self._fitted_with["kernel"]):
            raise ModelFileError(
                "A model with a kernel function of yours cannot be saved: the function is code, and a model file holds data only. Use a kernel "
                "by its name, or kernel='precomputed' with the values of your function."
            )
        return super().to_record()

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        check_parts(self)
        self._expand()

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The visits of a fit, one after another (every `every`-th and the last).

        Each step's values: the `row` visited, its `score` before, the `prediction`, whether it was a `mistake`, the row that a budget
        `dropped` (−1: none), and the coefficients after it (`support_`, `dual_coef_`).
        """

        return some_of(steps_of(self, X, y, sample_weight, checked(every) or 1), every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """The visits of a whole fit; None before."""
        return shown_of(self.t_, every) if getattr(self, "history_", None) == "fit" else None

    # --- answering --------------------------------------------------------------------------------------------------

    def _kernel(self, vectors: Floats | None = None) -> Kernel:
        """The kernel function of the fit, or of a step of it with these support vectors."""
        with_ = self._fitted_with
        if callable(with_["kernel"]):
            return Kernel("own", own=with_["kernel"])
        centre = getattr(self, "centre_", None)
        kernel = Kernel(with_["kernel"], self.gamma_, float(with_["degree"]), float(with_["coef0"]), centre=centre)
        vectors = self.support_vectors_ if vectors is None else vectors
        return replace(kernel, by_differences=needs_differences(kernel, vectors))

    _f: Expansion = attribute()

    def _expand(self) -> None:
        """Make the function that answers."""
        self._f = self._function(self.support_vectors_, self.support_, self.dual_coef_)

    def _function(self, vectors: Floats, support: Array, coef: Floats) -> Expansion:
        kernel = self._kernel(vectors)
        rows = support if kernel.name == "precomputed" else vectors
        return Expansion(kernel, rows, coef, np.zeros(len(coef)))

    def _scores(self, X: Array) -> Floats:
        """(n, 1) for two classes, else (n, K)."""
        return self._f.values(np.asarray(X, dtype=np.float64))

    def _checked_scores(self, block: Block) -> Floats:
        refuse_non_finite(block.X, block.start, self._column_names())
        return super()._checked_scores(block)

    def decision_function(self, X: Any) -> Array:
        """f(x) of each row, ≥ 0 for the greater of two classes; (n, K) for more classes."""
        return self._answer(X, self._decision_block)

    def _decision_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        return Z[:, 0] if Z.shape[1] == 1 else Z

    def _scored_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        if Z.shape[1] == 1:
            return np.column_stack([Z[:, 0] >= 0, of_each_class(Z[:, 0])])
        return np.column_stack([Z.argmax(axis=1), Z])

    def _predict_block(self, block: Block) -> Array:
        if len(self.dual_coef_) == 1:  # signs are had sooner than values
            refuse_non_finite(block.X, block.start, self._column_names())
            codes = (self._f.signed(np.asarray(block.X, dtype=np.float64))[:, 0] >= 0).astype(np.intp)
        else:
            codes = self._checked_scores(block).argmax(axis=1)
        labels: Array = self.classes_[codes]
        return labels


def check_parts(model: KernelPerceptron) -> None:
    """Refuse a file whose parts do not belong together."""
    K, d = len(model.classes_), model.n_features_in_
    given = model.kernel == "precomputed"
    if model.dual_coef_.shape[0] != (1 if K == 2 else K) or model.support_vectors_.shape[1] != (0 if given else d):
        raise ModelFileError(f"The model file's coefficients and rows do not fit {K} classes and {d} columns.")
    if np.any(np.diff(model.support_) <= 0) or np.any(model.support_ >= (d if given else model.seen_)):
        raise ModelFileError("The model file's row numbers are not in order or beyond the rows of the fit.")
    if not (model.gamma_ > 0 and (model.gamma == model.gamma_ or isinstance(model.gamma, str) or _no_gamma(model))):
        raise ModelFileError("The model file's gamma is not the one that was asked for.")
    if model.budget is not None and len(model.support_) > model.budget:
        raise ModelFileError(f"The model file keeps {len(model.support_)} rows with a budget of {model.budget}.")
    if not isinstance(model.class_weight, str) and not np.array_equal(
        model.class_factor_, class_multipliers(model.class_weight, model.classes_, np.ones(K))
    ):
        raise ModelFileError(
            "The model file's weights of the classes are not those of its hyper-parameter class_weight."
        )
    averaged = {"last_coef_", "drift_"} & set(vars(model))
    if averaged != ({"last_coef_", "drift_"} if model.variant == "averaged" else set()):
        raise ModelFileError(f"The model file's parts are not those of variant={model.variant!r}.")
    if averaged and not np.array_equal(model.dual_coef_, mean_weights(model.last_coef_, model.drift_, model.t_)):
        raise ModelFileError("The model file's coefficients are not the average that its parts give.")
    _check_history(model)


def _no_gamma(model: KernelPerceptron) -> bool:
    return model.kernel in ("linear", "affine", "precomputed")


def _check_history(model: KernelPerceptron) -> None:
    there = {name for name in EVALUATED if hasattr(model, name)}
    if model.history_ not in ("fit", "pieces") or there != (set(EVALUATED) if model.history_ == "fit" else set()):
        raise ModelFileError(f"The model file's parts do not fit a history {model.history_!r}.")
    if model.history_ == "fit":
        asked = model.asked_
        if np.any(asked >= model.seen_) or np.any(np.diff(asked) <= 0):
            raise ModelFileError("The model file's rows that were asked are not in order or beyond those of the fit.")
        if not model.weight_ > 0 or model.wrong_ > model.rows_ or model.rows_ > model.seen_:
            raise ModelFileError("The model file's counts of rows and mistakes cannot be.")


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
