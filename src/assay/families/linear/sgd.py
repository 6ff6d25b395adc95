"""Linear models by stochastic gradient descent: one row at a time. Shape: ordered stream."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import Block, Engine, Rows
from assay.engines.engine import Threads, one_thread_blas
from assay.errors import ConvergenceWarning, DataError, ParameterError, as_seen_by_sklearn, warn
from assay.estimator.estimator import Estimator, fresh_and_rows
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Free, Range, Seed, attribute, param
from assay.estimator.regressor import r2_score
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Measure, Step, answering, measures, some_of
from assay.families.linear.epochs import StochasticRule, StochasticRun, Visited, VisitState, blocks_of, epochs, worth
from assay.families.linear.fit import LinearClassifier, LinearModel, count_free, linear_scores
from assay.families.linear.problem import Objective, TargetedRows, prepare, row_statistics
from assay.families.linear.regressor import LinearRegressor
from assay.inputs.labels import plain_labels
from assay.inputs.refusals import refuse_balanced, refuse_unlisted
from assay.numerics import Array, Floats
from assay.store import Record

MARGINS = ("hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron")
NUMBERS = ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")
#: the names of losses, with the width that those have which need one
LOSS_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    name: (name, 0.1) if name in ("huber", *NUMBERS[2:]) else (name,) for name in (*MARGINS, *NUMBERS)
}
WITH_PROBABILITIES = ("log_loss", "modified_huber")
LAYOUT: Layout = {
    "coef_": Tensor(("m", "d"), doc="the weights w of the columns: one row for two classes, else one a class"),
    "intercept_": Tensor(("m",), doc="the constant b of each row of `coef_`"),
    "multipliers_": Tensor(("K",), low=0, doc="the factor of each class's rows, from class_weight; ones for a number"),
    "weight_": Fact(float, low=0, doc="the total weight of the rows"),
    "objective_": Tensor(("p",), low=0, optional=True, doc="the sum of losses and penalty at the weights, of each problem; absent after partial_fit"),
    "gap_": Tensor(("p",), low=0, optional=True, doc="by which share each objective is above its least at most"),
    "standard_": Tensor(("m", "e"), optional=True, doc="where weights are averaged: the last ones (w, b), from which partial_fit goes on"),
    "average_": Tensor(("m", "e"), optional=True, doc="where weights are averaged: their mean since averaging began"),
    "n_iter_": Fact(int, low=0, doc="the epochs, of the class that took most"),
    "t_": Fact(float, low=0, doc="the visits of a class, and one"),
    "converged_": Fact(bool, doc="whether the loss settled before max_iter"),
}  # fmt: skip
COVERAGE = Coverage(
    proof={"stochastic_risk": "objective_"},
    nothing="coef_ intercept_ multipliers_ weight_ gap_ standard_ average_ n_iter_ t_ converged_",
    but="what the weights cost on the rows is measured again, and bounded against the least there is, but not that these rows lead to these weights",
)
PENALTY = param("what keeps the weights small", default="l2", says={"l1": "L1", "elasticnet": "elastic net"}, check=Choice(("l2", "l1", "elasticnet"), words=(None,)))  # fmt: skip
ALPHA = param("strength of the penalty against the mean loss", default=1e-4, check=Range(low=0, open_high=True))
L1_RATIO = param("penalty='elasticnet': the share of ‖w‖₁", default=0.15, check=Range(low=0, high=1, words=(None,)))
FIT_INTERCEPT = param("fit b as well; otherwise b = 0", default=True)
MAX_ITER = param("most epochs; a fit that ends there warns", default=1000, check=Range(int, low=1))
TOL = param("an epoch that lowers the mean loss by less counts as none; None: all epochs are run", default=1e-3, check=Range(low=0, open_high=True, words=(None,)))  # fmt: skip
SHUFFLE = param("visit the rows of a block in a new random order in each epoch", default=True)
VERBOSE = param("accepted for scikit-learn's sake; it changes nothing", default=0, check=Range(int, low=0))
EPSILON = param("width of the losses 'huber' and '…epsilon_insensitive'", default=0.1, check=Range(low=0, open_high=True))  # fmt: skip
RANDOM = param("seed of shuffles and of the rows held out; None: 0", default=None, check=Seed(words=(None,)))
SPEEDS = ("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2")
POWER = "exponent of learning_rate='invscaling': eta0 / visits^power_t"
EARLY = param("hold out rows, and end where their score no longer rises", default=False)
HELD = param("the share of rows held out for early_stopping", default=0.1, check=Range(low=0, high=1, open_low=True, open_high=True))  # fmt: skip
PATIENCE = param("so many epochs without a gain end the fit", default=5, check=Range(int, low=1))
WARM_START = param("begin at the weights of the fit before", default=False)
EARLY_IN_PIECES = "early_stopping should be False with partial_fit"
AVERAGE = param("answer with the mean of the weights over all visits, or from this visit on", default=False, check=Free("True, False or a number of visits"))  # fmt: skip


class StochasticModel(LinearModel):
    """What models by stochastic gradient descent share. Subclasses give `_rule`."""

    coverage = COVERAGE
    layout: ClassVar[Layout] = LAYOUT
    step_word = "epoch"
    depends_on_order = True
    ends_by_itself = False
    loss_functions: ClassVar[dict[str, tuple[Any, ...]]] = LOSS_FUNCTIONS

    _given: tuple[Any, Any] = attribute(default=(None, None))
    _whole: bool = attribute(default=True)
    t_: float = attribute()
    standard_: Floats = attribute()
    average_: Floats = attribute()

    def _rule(self) -> StochasticRule:
        """What a visit does, and when visits end."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, coef_init: Any = None, intercept_init: Any = None) -> Self:  # fmt: skip
        """Fit on rows X and targets y, from these first weights where they are given."""
        self._given, self._whole = (coef_init, intercept_init), True
        try:
            return self._fit(X, y, sample_weight)
        finally:
            self._given = (None, None)

    def _go_on(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Self:
        if getattr(self, "early_stopping", False):
            raise ParameterError(EARLY_IN_PIECES)
        self._whole = False
        return self._fit(X, y, sample_weight, afresh=False, classes=classes)

    def _forget(self) -> None:
        first = self._given
        if self.warm_start and self._whole and hasattr(self, "coef_") and first == (None, None):
            W = self._weights() if not hasattr(self, "standard_") else self.standard_
            self._given = (W[:, :-1], W[:, -1])
        super()._forget()

    def _first(self, m: int, d: int) -> Floats:
        """The first weights (m, d + 1)."""
        W = np.zeros((m, d + 1))
        coef, intercept = self._given
        if coef is not None:
            given = np.asarray(coef, dtype=np.float64)
            if given.size != m * d or (given.ndim == 2 and given.shape != (m, d)):
                raise DataError(f"Provided coef_init does not match dataset: it has shape {given.shape}, not {(m, d)}.")
            W[:, :-1] = given.reshape(m, d)
        if intercept is not None:
            given = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
            if given.shape != (m,):
                raise DataError(f"Provided intercept_init does not match dataset: it has shape {given.shape}, not {(m,)}.")  # fmt: skip
            W[:, -1] = given
        return W

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        rule = self._rule()
        rule = rule if self._whole else rule._replace(epochs=1)
        targets = self._targets(engine, rows, afresh, classes)
        rows = rows.at_hand()
        statistics = row_statistics(engine, rows, targets, 0)
        if self._whole:
            self._check_statistics(statistics)
        prepared = prepare(rows, targets)
        positives: list[int | None] = [None] if targets.labels is None else [1] if len(targets.multipliers) == 2 else list(range(len(targets.multipliers)))  # fmt: skip
        m, d = len(positives), rows.n_columns
        start = self._first(m, d) if afresh else (self.standard_ if hasattr(self, "standard_") else self._weights())
        visits = 1.0 if afresh else self.t_
        means = getattr(self, "average_", None)
        runs = [
            self._run(engine, prepared, rule, positive, start[k], visits, None if means is None else means[k])
            for k, positive in enumerate(positives)
        ]
        self._keep(runs, rule)
        self.multipliers_, self.weight_ = targets.multipliers, statistics.n
        self._provenance = {"fingerprint": statistics.mark.hex()} if self._whole else {}
        if self._whole:
            W = self._weights()
            found = [worth(engine, *prepared.of(p), rule, W[k], statistics.n) for k, p in enumerate(positives)]
            self.objective_, self.gap_ = (np.array(each) for each in zip(*found))
            if not self.converged_ and rule.tol is not None:
                warn(
                    f"{type(self).__name__}: Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the fit "
                    f"({self.n_iter_} epochs; the loss still fell by more than tol={rule.tol:g}).",
                    as_seen_by_sklearn(ConvergenceWarning),
                )
        else:
            for name in ("objective_", "gap_"):
                vars(self).pop(name, None)
        self._state_claims()

    def _run(
        self, engine: Engine, prepared: TargetedRows, rule: StochasticRule, positive: int | None, w: Floats, visits: float, mean: Floats | None
    ) -> StochasticRun:  # fmt: skip
        rows, encode = prepared.of(positive)
        state = VisitState(w, visits, mean, rule, rows.sparse)
        blocks = blocks_of(engine, rows, rule, encode)
        epoch, settled = deque(epochs(blocks, rule, state, self._score_of if rule.held_out > 0 else None), maxlen=1)[0]
        mean = state.averaged if rule.average else None
        return StochasticRun(state.weights, mean, epoch, float(state.s[4]), settled)

    def _score_of(self, at: Visited, w: Floats) -> tuple[float, float]:
        """(rows answered rightly, or R² times the rows; rows) of those held out."""
        y, X = np.asarray(at.block.y)[at.held], at.block.X[at.held]
        z = linear_scores(X, w[None, :-1], w[-1:])[:, 0]
        if self._kind == "classifier":
            return float(np.sum((z > 0) == (y > 0))), float(len(y))
        return r2_score(y, z) * len(y), float(len(y))

    def _keep(self, runs: Sequence[StochasticRun], rule: StochasticRule) -> None:
        W = np.stack([run.w for run in runs])
        self.n_iter_ = max(run.epochs for run in runs)
        self.t_ = runs[-1].visits
        self.converged_ = all(run.settled for run in runs)
        for name in ("standard_", "average_"):
            vars(self).pop(name, None)
        if rule.average:
            self.standard_, self.average_ = W, np.stack([run.mean for run in runs if run.mean is not None])
            W = self.average_ if rule.average < self.t_ else W
        vars(self).update(self._learnt(W))

    def _restore(self, record: Record) -> None:
        Estimator._restore(self, record)

    def complexity(self) -> float:
        """The weights and intercepts ≠ 0."""
        self._check_fitted()
        W = self._weights()
        return count_free(W[:, :-1], W[:, -1], False)

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A fit for each of the settings."""
        return Estimator.fit_each(self, X, settings)

    def _objective(self, n_classes: int) -> Objective:
        raise NotImplementedError

    def _make_claims(self) -> tuple[Claim, ...]:
        if not hasattr(self, "objective_"):
            return ()
        rule, gap = self._rule(), float(self.gap_.max())
        classes = getattr(self, "classes_", None)
        bound = (
            f"at most a share of {gap:.4g} above the least there is"
            if gap < 1
            else "nothing bounds how far above the least there is"
        )
        return (
            Claim(
                name="risk",
                statement=f"sum of {rule.loss} losses and penalty at the weights = {float(self.objective_.sum()):.10g} (to the rounding of scores): {bound}, by slopes and convexity",
                holds=True,
                check="stochastic_risk",
                value=gap,
                bound=min(1.0, gap * (1 + 1e-6) + 1e-9),
                witness={
                    "coef": np.atleast_2d(self.coef_),
                    "intercept": np.atleast_1d(self.intercept_),
                    "classes": None if classes is None else plain_labels(classes),
                    "class_factor": self.multipliers_,
                    "balanced": getattr(self, "class_weight", None) == "balanced",
                    "loss": rule.loss,
                    "epsilon": rule.epsilon,
                    "strengths": np.array([rule.alpha * rule.share, rule.alpha * (1.0 - rule.share)]),
                    "objective": self.objective_,
                    "fit_intercept": rule.fitted,
                },
            ),
        )

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The weights after each epoch (of each class in turn)."""
        return some_of(_steps_of(self, X, y, sample_weight), every)

    @property
    def _standard_coef(self) -> Floats:
        return self.standard_[:, :-1]

    @property
    def _standard_intercept(self) -> Floats:
        return self.standard_[:, -1]

    @property
    def _average_coef(self) -> Floats:
        return self.average_[:, :-1]

    @property
    def _average_intercept(self) -> Floats:
        return self.average_[:, -1]


def _steps_of(model: StochasticModel, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    with one_thread_blas():
        engine, rule = Threads(1), fresh._rule()
        targets = fresh._targets(engine, rows, True, None)
        prepared, K = prepare(rows, targets), 0 if targets.labels is None else len(targets.multipliers)
        positives: list[int | None] = [None] if K == 0 else [1] if K == 2 else list(range(K))
        W, number = np.zeros((len(positives), rows.n_columns + 1)), 0
        for k, positive in enumerate(positives):
            encoded, encode = prepared.of(positive)
            state = VisitState(W[k], 1.0, None, rule, rows.sparse)
            for _, _ in epochs(
                blocks_of(engine, encoded, rule, encode), rule, state, fresh._score_of if rule.held_out > 0 else None
            ):
                number += 1
                averaged = 0 < rule.average < state.s[4]
                W[k] = state.averaged if averaged else state.weights
                learnt = fresh._learnt(W.copy())
                mean = float(state.s[5] / max(1, len(rows.X)))
                told = measures(Measure("mean loss", mean, None, f"mean loss of the epoch's visits {mean:.6g}"))
                yield Step(
                    number, len(rows.X), {**learnt, "problem": positive, "loss": mean}, told, answering(fresh, learnt)
                )


def rule_of(
    model: Any, penalty: str | None, alpha: float, schedule: str, eta0: float, loss: str = ""
) -> StochasticRule:
    """The rule of a model's hyper-parameters."""
    share = {None: 0.0, "l2": 0.0, "l1": 1.0}.get(penalty)
    if share is None:
        if model.l1_ratio is None:
            raise ParameterError("l1_ratio must be set when penalty is 'elasticnet'")
        share = float(model.l1_ratio)
    strength = 0.0 if penalty is None else alpha
    if schedule == "optimal" and not alpha > 0:
        raise ParameterError("alpha must be > 0 since learning_rate is 'optimal'. alpha is used to compute the optimal learning rate.")  # fmt: skip
    loss = loss or str(model.loss)
    known = loss in ("hinge", "epsilon_insensitive")
    if schedule in ("pa1", "pa2") and not known:
        raise ParameterError(f"learning_rate={schedule!r} needs loss='hinge' or 'epsilon_insensitive', not {loss!r}.")
    power = float(getattr(model, "power_t", 0.5))
    if power < 0:
        warnings.warn("Negative values for `power_t` are deprecated: use one in [0, inf).", FutureWarning, stacklevel=4)
    return StochasticRule(
        loss,
        float(getattr(model, "epsilon", 0.1)),
        strength if schedule != "optimal" else alpha,
        share,
        schedule,
        eta0,
        power,
        bool(model.fit_intercept),
        int(model.average),
        int(model.max_iter),
        None if model.tol is None else float(model.tol),
        int(model.n_iter_no_change),
        bool(model.shuffle),
        float(model.validation_fraction) if model.early_stopping else 0.0,
        int(model.random_state or 0),
    )


class StochasticClassifier(StochasticModel, LinearClassifier):
    """Of classes: one problem for two, else each class against the rest."""

    loss: str = attribute(default="hinge")
    early_stopping: bool = attribute(default=False)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """One more epoch over these rows, from the present weights; the first call names all `classes`."""
        if self.early_stopping:
            raise ParameterError(EARLY_IN_PIECES)
        refuse_unlisted(self, classes)
        refuse_balanced(self)
        return self._go_on(X, y, sample_weight, classes)


class StochasticRegressor(StochasticModel, LinearRegressor):
    """Of a number."""

    layout: ClassVar[Layout] = {
        **LAYOUT,
        "coef_": Tensor(("d",), doc="the weight w of each column"),
        "intercept_": Tensor((1,), doc="the constant b, one number; 0 with fit_intercept=False"),
    }
    intercept_: Floats  # type: ignore[assignment]

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """One more epoch over these rows, from the present weights."""
        return self._go_on(X, y, sample_weight, None)

    def _learnt(self, w: Floats) -> dict[str, Any]:
        return {"coef_": np.ascontiguousarray(w[0, :-1]), "intercept_": np.ascontiguousarray(w[:, -1])}

    def _make_claims(self) -> tuple[Claim, ...]:
        return StochasticModel._make_claims(self)


class SGDClassifier(StochasticClassifier):
    """A linear classifier, one row at a time. Shape: ordered stream.

        min_{w, b}  1/n Σ_i c_i ℓ(t_i, w·x_i + b) + alpha·(½‖w‖², ‖w‖₁ or both)       by  w ← (1 − η·alpha)·w − η·c_i ℓ'(t_i, w·x_i + b)·x_i

    η is said by `learning_rate`. It comes near the minimum, for tables of any length in little memory. More than two classes: each against the
    rest. `shuffle` and held-out rows stay within a block of rows. Of sparse rows the intercept moves at a hundredth of the speed.

    Certificate
    -----------
    What the weights cost on the rows, and by which share that is above the least there is at most, by slopes and convexity; it may be wide.

    See Also
    --------
    LogisticRegression : the minimum itself, of the log loss.
    LinearSVC : the minimum itself, of hinge losses.
    Perceptron : no step where the answer is right.
    PassiveAggressiveClassifier : steps as long as a row needs.

    Examples
    --------
    >>> SGDClassifier(random_state=0).fit([[0.0], [1.0], [9.0], [10.0]], [0, 0, 1, 1]).predict([[-1.0], [12.0]])
    array([0, 1])
    """

    title = "Stochastic gradient descent"
    name = "sgd"
    loss: str = param("what a row costs", default="hinge", kw_only=False, check=Choice((*MARGINS, *NUMBERS)))
    penalty: str | None = PENALTY
    alpha: float = ALPHA
    l1_ratio: float | None = L1_RATIO
    fit_intercept: bool = FIT_INTERCEPT
    max_iter: int = MAX_ITER
    tol: float | None = TOL
    shuffle: bool = SHUFFLE
    verbose: int = VERBOSE
    epsilon: float = EPSILON
    n_jobs: int | None = N_JOBS
    random_state: Any = RANDOM
    learning_rate: str = param("the length η of a step, visit by visit", default="optimal", check=Choice(SPEEDS))
    eta0: float = param("the first η of 'constant', 'invscaling' and 'adaptive'; the most of 'pa1', and C of 'pa2'", default=0.01, check=Range(low=0, open_low=True, open_high=True))  # fmt: skip
    power_t: float = param(POWER, default=0.5, check=Range(low=-np.inf, open_low=True, open_high=True))
    early_stopping: bool = EARLY
    validation_fraction: float = HELD
    n_iter_no_change: int = PATIENCE
    class_weight: Any = CLASS_WEIGHT
    warm_start: bool = WARM_START
    average: Any = AVERAGE

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever weaker penalties, where somebody names it."""
        searched = tuple({"alpha": 10.0**power} for power in range(-1, -7, -1))
        return SearchSpace(search=searched, scaled=True, when_named=True) if kind == "classifier" else None

    def _rule(self) -> StochasticRule:
        return rule_of(self, self.penalty, float(self.alpha), self.learning_rate, float(self.eta0))

    def _why_no_probabilities(self) -> str | None:
        known = self.loss in WITH_PROBABILITIES
        return None if known else f"probability estimates are not available for loss={self.loss!r}"

    def _proba_block(self, block: Block) -> Array:
        Z = linear_scores(block.X, self._weights()[:, :-1], self._weights()[:, -1])
        P = (np.clip(Z, -1.0, 1.0) + 1.0) / 2.0 if self.loss == "modified_huber" else np.exp(-np.logaddexp(0.0, -Z))
        if P.shape[1] == 1:
            return np.column_stack([1.0 - P[:, 0], P[:, 0]])
        total = P.sum(axis=1, keepdims=True)
        out: Array = np.divide(P, total, out=np.full_like(P, 1.0 / P.shape[1]), where=total > 0)
        return out

    def _log_proba_block(self, block: Block) -> Array:
        with np.errstate(divide="ignore"):
            out: Array = np.log(self._proba_block(block))
        return out


class SGDRegressor(StochasticRegressor):
    """A number by a linear model, one row at a time. Shape: ordered stream.

        min_{w, b}  1/n Σ_i c_i ℓ(w·x_i + b, y_i) + alpha·(½‖w‖², ‖w‖₁ or both)       by  w ← (1 − η·alpha)·w − η·c_i ℓ'(w·x_i + b, y_i)·x_i

    η is said by `learning_rate`. It comes near the minimum, for tables of any length in little memory. Columns should be standardised.

    Certificate
    -----------
    What the weights cost on the rows, and by which share that is above the least there is at most, by slopes and convexity; it may be wide.

    See Also
    --------
    ElasticNet : the minimum itself, of squared errors.
    HuberRegressor : the minimum itself, of Huber's loss.

    Examples
    --------
    >>> X, y = [[-1.0], [0.0], [1.0], [2.0]] * 25, [0.0, 1.0, 2.0, 3.0] * 25
    >>> SGDRegressor(max_iter=2000, tol=1e-6).fit(X, y).predict([[3.0]]).round(1)
    array([4.])
    """

    title = "SGD regression"
    name = "sgd-regressor"
    loss: str = param("what an error costs", default="squared_error", kw_only=False, check=Choice(NUMBERS))
    penalty: str | None = PENALTY
    alpha: float = ALPHA
    l1_ratio: float | None = L1_RATIO
    fit_intercept: bool = FIT_INTERCEPT
    max_iter: int = MAX_ITER
    tol: float | None = TOL
    shuffle: bool = SHUFFLE
    verbose: int = VERBOSE
    epsilon: float = EPSILON
    random_state: Any = RANDOM
    learning_rate: str = param("the length η of a step, visit by visit", default="invscaling", check=Choice(SPEEDS))
    eta0: float = param("the first η of 'constant', 'invscaling' and 'adaptive'; the most of 'pa1', and C of 'pa2'", default=0.01, check=Range(low=0, open_low=True, open_high=True))  # fmt: skip
    power_t: float = param(POWER, default=0.25, check=Range(low=-np.inf, open_low=True, open_high=True))
    early_stopping: bool = EARLY
    validation_fraction: float = HELD
    n_iter_no_change: int = PATIENCE
    warm_start: bool = WARM_START
    average: Any = AVERAGE
    n_jobs: int | None = N_JOBS

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever weaker penalties, where somebody names it."""
        searched = tuple({"alpha": 10.0**power} for power in range(-1, -7, -1))
        return SearchSpace(search=searched, scaled=True, when_named=True) if kind == "regressor" else None

    def _rule(self) -> StochasticRule:
        return rule_of(self, self.penalty, float(self.alpha), self.learning_rate, float(self.eta0))
