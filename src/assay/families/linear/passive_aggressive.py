"""Passive-aggressive learning: a row that is answered well changes nothing, any other the least that mends it. Shape: ordered stream."""

from __future__ import annotations

from typing import Any

from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Range, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.linear.epochs import StochasticRule
from assay.families.linear.sgd import (
    AVERAGE,
    EARLY,
    FIT_INTERCEPT,
    HELD,
    MAX_ITER,
    PATIENCE,
    RANDOM,
    SHUFFLE,
    TOL,
    VERBOSE,
    WARM_START,
    StochasticClassifier,
    StochasticRegressor,
    rule_of,
)

C = param("the most that one row may move the weights; of a squared loss half of one over what softens it", default=1.0, check=Range(low=0, open_low=True, open_high=True))  # fmt: skip
SCHEDULE = {"hinge": "pa1", "epsilon_insensitive": "pa1", "squared_hinge": "pa2", "squared_epsilon_insensitive": "pa2"}
SEARCHED = tuple({"C": 10.0**power} for power in range(-4, 2))


def _rule(model: Any, straight: str) -> StochasticRule:
    """The rule: PA-I of the loss itself, PA-II of its square, both by the loss itself (Crammer et al. 2006)."""
    found = rule_of(model, None, 0.0, "pa1", float(model.C), straight)
    return found._replace(schedule=SCHEDULE[model.loss])


class PassiveAggressiveClassifier(StochasticClassifier):
    """A row on the right side of its margin changes nothing, any other the least that brings it there. Shape: ordered stream.

        w ← w + τ·t_i·x_i,    ℓ = max(0, 1 − t_i(w·x_i + b)),    τ = min(C, ℓ/‖x_i‖²)  (PA-I, loss='hinge')  or  ℓ/(‖x_i‖² + 1/(2C))  (PA-II, 'squared_hinge')

    The intercept moves by τ·t_i; of sparse rows by a hundredth of it. More than two classes: each against the rest. `partial_fit` goes on with new rows.

    Certificate
    -----------
    What the weights cost on the rows, measured again; nothing bounds how far above the least that is.

    See Also
    --------
    SGDClassifier : steps of a given length.
    Perceptron : a step at each mistake.

    Examples
    --------
    >>> PassiveAggressiveClassifier(random_state=0).fit([[0.0], [1.0], [9.0], [10.0]], [0, 0, 1, 1]).predict([[-1.0], [12.0]])
    array([0, 1])
    """

    title = "Passive aggressive"
    name = "passive-aggressive"
    C: float = C
    fit_intercept: bool = FIT_INTERCEPT
    max_iter: int = MAX_ITER
    tol: float | None = TOL
    early_stopping: bool = EARLY
    validation_fraction: float = HELD
    n_iter_no_change: int = PATIENCE
    shuffle: bool = SHUFFLE
    verbose: int = VERBOSE
    loss: str = param("the step's rule: 'hinge' is PA-I, 'squared_hinge' PA-II", default="hinge", check=Choice(("hinge", "squared_hinge")))  # fmt: skip
    n_jobs: int | None = N_JOBS
    random_state: Any = RANDOM
    warm_start: bool = WARM_START
    class_weight: Any = CLASS_WEIGHT
    average: Any = AVERAGE

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever longer steps, where somebody names it."""
        return SearchSpace(search=SEARCHED, scaled=True, when_named=True) if kind == "classifier" else None

    def _rule(self) -> StochasticRule:
        return _rule(self, "hinge")


class PassiveAggressiveRegressor(StochasticRegressor):
    """A row that is met up to epsilon changes nothing, any other the least that brings it there. Shape: ordered stream.

        w ← w + τ·sgn(y_i − z)·x_i,    z = w·x_i + b,    ℓ = max(0, |y_i − z| − epsilon),    τ = min(C, ℓ/‖x_i‖²)  or  ℓ/(‖x_i‖² + 1/(2C))

    The first τ is PA-I (loss='epsilon_insensitive'), the second PA-II. The intercept moves by τ·sgn(y_i − z); of sparse rows by a hundredth of it.

    Certificate
    -----------
    What the weights cost on the rows, measured again; nothing bounds how far above the least that is.

    See Also
    --------
    SGDRegressor : steps of a given length.
    LinearSVR : the minimum of such a cost and ½‖w‖².

    Examples
    --------
    >>> model = PassiveAggressiveRegressor(epsilon=0.01).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[4.0]]).round()
    array([9.])
    """

    title = "Passive aggressive regression"
    name = "passive-aggressive-regressor"
    C: float = C
    fit_intercept: bool = FIT_INTERCEPT
    max_iter: int = MAX_ITER
    tol: float | None = TOL
    early_stopping: bool = EARLY
    validation_fraction: float = HELD
    n_iter_no_change: int = PATIENCE
    shuffle: bool = SHUFFLE
    verbose: int = VERBOSE
    loss: str = param("the step's rule: 'epsilon_insensitive' is PA-I, its square PA-II", default="epsilon_insensitive", check=Choice(("epsilon_insensitive", "squared_epsilon_insensitive")))  # fmt: skip
    epsilon: float = param("errors up to here cost nothing", default=0.1, check=Range(low=0, open_high=True))
    random_state: Any = RANDOM
    warm_start: bool = WARM_START
    average: Any = AVERAGE
    n_jobs: int | None = N_JOBS

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever longer steps, where somebody names it."""
        return SearchSpace(search=SEARCHED, scaled=True, when_named=True) if kind == "regressor" else None

    def _rule(self) -> StochasticRule:
        return _rule(self, "epsilon_insensitive")
