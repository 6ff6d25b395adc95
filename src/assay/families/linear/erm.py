"""Regularised empirical risk (lecture notes, 004): loss + penalty + solver. Shape: repeated fold.

    min_{w, b}  R_n(w, b) + λ·Ω(w),       R_n = (1/Σc) Σ_i c_i ℓ(t_i, w·x_i + b)

    Ω:  "l2" ‖w‖²     "l1" ‖w‖₁     "elasticnet" ρ‖w‖₁ + (1 − ρ)‖w‖²     None: no penalty

The other linear models are parameterisations: LogisticRegression(C) is ERM("log", lam=1/(2Cn)), LinearSVC(C, loss) is
ERM(loss, lam=1/(2Cn)), Ridge(alpha) is ERM("squared", lam=alpha/n). The loss says whether classes are told apart or a number
is predicted; `hasattr` follows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.errors import ModelFileError, ParameterError, SeparableWarning, warn
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, AvailableIf, Choice, Free, Range, param
from assay.estimator.regressor import Regressor
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.linear.claims import (
    boxed_gap_claim,
    custom_claim,
    estimate_claim,
    gap_claim,
    likelihood_claim,
    no_mistake_claim,
)
from assay.families.linear.fit import LAYOUT, PENALTY_WORDS, LinearClassifier, LinearTask, linear_scores
from assay.families.linear.paths import OVER_LAM, Path, regularisation_path
from assay.families.linear.problem import Objective, PosedProblem, RowStatistics, TargetMaker
from assay.numerics import Array, Floats, log_softmax, near_zero
from assay.risk.custom_surrogate import CustomSurrogate
from assay.risk.terms import HUBER, REGRESSION, Surrogate, surrogate
from assay.solvers.problem import Iterate, refuse_unsendable
from assay.store import Record

TITLES = {
    "log": "Logistic regression",
    "softmax": "Softmax regression",
    "hinge": "Hinge loss",
    "squared_hinge": "Squared hinge loss",
    "perceptron": "Perceptron loss",
    "squared": "Least squares",
    "huber": "Huber regression",
}
LOSSES = ("log", "softmax", "hinge", "squared_hinge", "perceptron", "squared", "huber")
SOLVERS = ("auto", "newton", "lbfgs", "proximal-newton", "coordinate-descent", "proximal-gradient", "smoothing", "dual-coordinate", "gd", "subgradient")  # fmt: skip
NUMBERS = ("squared", "huber")
LAMS = {  # from hardly any weight to nearly all: beyond the first of each, few columns of deviation one keep a weight
    "log": (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4),
    "huber": (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4),
}
BOUNDED = 200  # iterations of a search: targets far from any line make Huber's loss all but linear, and slow
WITH_PROBABILITIES = ("log", "softmax")
AS_REGRESSOR: Any = Regressor  # whose answers and score are those of the losses of numbers
MORE = 1.0 + 1e-9  # so that rounding leaves no row below one


class ERM(LinearClassifier):
    """Any loss with any penalty, by any solver that can take both. Shape: repeated fold.

        min_{w, b}  (1/Σc) Σ_i c_i ℓ(t_i, w·x_i + b) + lam·Ω(w),      Ω: ‖w‖², ‖w‖₁, or l1_ratio·‖w‖₁ + (1 − l1_ratio)·‖w‖²

    A classifier for the losses of labels ("log", "softmax", "hinge", "squared_hinge", "perceptron"), a regressor for
    "squared", (z − t)², and "huber"; `assay.surrogate(value, slope)` makes a loss of your own. More than two classes:
    "softmax" has a weight vector a class, the others set each class against the rest. "zero-one" can be measured
    (`assay.empirical_risk`) but not minimised. "perceptron" is the notes' batch perceptron: its risk is least at w = 0,
    so it ends at the first weights without a mistake, and takes no penalty.

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by a dual bound (losses of your own: by their slopes);
    of the perceptron's loss, that no mistake is left.

    See Also
    --------
    LogisticRegression : the log loss, with standard errors.
    LinearSVC : the hinge losses.
    Ridge : squared errors with a quadratic penalty, in closed form.

    Examples
    --------
    >>> model = ERM("hinge", lam=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[0.5], [2.5]]), round(model.risk_, 6)
    (array([0, 1]), 0.34375)
    """

    name = "erm"
    scores_are_log_joint = True
    layout: ClassVar[Layout] = {
        **LAYOUT,
        "margin_": Fact(float, optional=True, doc="of separable classes without penalty: the least margin of the weights over all rows"),
        "step_": Tensor(("m", "e"), optional=True, doc="without penalty: Newton's next step (w, b), which proves how near the optimum is"),
    }  # fmt: skip
    loss: str | CustomSurrogate = param(
        "what a score costs; 'zero-one' can be measured but not minimised",
        default="log",
        kw_only=False,
        check=Free(
            "a loss made by assay.surrogate(value, slope)",
            words=(*LOSSES, "zero-one"),
            check=lambda given: isinstance(given, CustomSurrogate),
        ),
    )
    penalty: str | None = param(
        "what keeps the weights small: ‖w‖², ‖w‖₁ (which sets many to zero), both, or nothing",
        default="l2",
        kw_only=False,
        says=PENALTY_WORDS,
        check=Choice(("l2", "l1", "elasticnet"), words=(None,)),
    )
    solver: str = param("how the minimum is found; 'gd' and 'subgradient' are the lecture notes'", default="auto", kw_only=False, check=Choice(SOLVERS))  # fmt: skip
    lam: float = param("λ, the strength of the penalty against the mean loss", default=1e-2, says="lambda={}", check=Range(low=0, high=np.inf, open_high=True))  # fmt: skip
    l1_ratio: float = param("ρ, the share of ‖w‖₁ in penalty='elasticnet'; the rest is ‖w‖²", default=0.5, check=Range(low=0, high=1))  # fmt: skip
    delta: float = param("of loss='huber': the error beyond which the loss grows no faster than a straight line", default=1.35, check=Range(low=0, open_low=True, high=np.inf, open_high=True))  # fmt: skip
    fit_intercept: bool = param("fit b as well; otherwise b = 0", default=True)
    tol: float = param("relative duality gap at which the fit is done", default=1e-6, check=Range(low=0, high=1))
    max_iter: int = param("most iterations of the solver; a fit that ends there warns", default=1000, check=Range(int, low=1))  # fmt: skip
    eta: float | str = param("learning speed of 'gd' and 'subgradient': times the gradient of the mean over the rows, as the risk is one (that of the sum over n rows is 1/n as long); 'auto': safe", default="auto", check=Range(low=0, open_low=True, words=("auto",)))  # fmt: skip
    init: Any = param("first weights (b, w_1, …, w_d); softmax: a row a class; None: zeros; 'random': drawn close to zero (always the same)", default=None, check=Free("numbers", words=(None, "random")))  # fmt: skip
    class_weight: Any = CLASS_WEIGHT
    warm_start: bool = param("begin at the weights of the fit before", default=False)
    n_jobs: int | None = N_JOBS

    @classmethod
    def kind_of(cls, params: Mapping[str, Any]) -> str:
        """By the loss."""
        loss = params.get("loss", "log")
        numbers = loss.kind == REGRESSION if isinstance(loss, CustomSurrogate) else loss in NUMBERS
        return "regressor" if numbers else "classifier"

    @classmethod
    def titled(cls, params: Mapping[str, Any]) -> str:
        """A loss has its own name among people."""
        return TITLES.get(str(params["loss"]), "Empirical risk")

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """What the other linear models do not do: ‖w‖₁ picks columns, and Huber's loss bears outliers.

        Huber's δ and λ are in units of the target: with its deviation as the unit, the search is the same whatever they are.
        """
        if kind == "classifier":
            search = [{"loss": "log", "penalty": "l1", "lam": lam} for lam in LAMS["log"]]
            return SearchSpace(search=tuple(search), scaled=True, rough={"tol": 1e-2})
        unit = features.spread if 0 < features.spread < np.inf else 1.0
        fixed = {"loss": "huber", "penalty": "l1", "delta": float(f"{1.35 * unit:.3g}"), "max_iter": BOUNDED}
        return SearchSpace(
            search=tuple({**fixed, "lam": float(f"{lam * unit:.3g}")} for lam in LAMS["huber"]),
            scaled=True,
            rough={"tol": 1e-2},
        )

    # --- what is made small -------------------------------------------------------------------------------------------

    def _surrogate(self) -> Surrogate | None:
        """The loss in the solvers' words; None is softmax."""
        if isinstance(self.loss, CustomSurrogate):
            return self.loss
        if self.loss == "zero-one":
            raise ParameterError(
                "ERM: the zero-one loss is flat wherever it has a slope, so no solver can follow it. Fit a surrogate of it: "
                "'log', 'hinge', 'squared_hinge', 'perceptron' or 'softmax', and measure with assay.empirical_risk(model, X, y, 'zero-one')."
            )
        if self.loss == "huber":
            return replace(HUBER, width=float(self.delta))
        return None if self.loss == "softmax" else surrogate(self.loss)

    @property
    def _half(self) -> float:
        """Solvers take ½(z − t)², which is half of what the squared loss is here."""
        return 0.5 if self.loss == "squared" else 1.0

    def _objective(self, n_classes: int) -> Objective:
        loss = self._surrogate()
        lam, share = strength_of(vars(self))
        self._refuse_senseless(lam)
        return Objective(
            loss,
            self._half * lam * share,
            self._half * 2.0 * lam * (1.0 - share),
            bool(self.fit_intercept),
            self.solver,
            float(self.tol),
            int(self.max_iter),
            per_weight=True,
            eta=self.eta if isinstance(self.eta, str) else float(self.eta) / self._half,
            init=self._given_start(n_classes),
        )

    def _refuse_senseless(self, lam: float) -> None:
        if self.loss == "perceptron" and lam > 0:
            raise ParameterError(
                "ERM: loss='perceptron' with a penalty is least at w = 0, whatever the rows. Take penalty=None (the batch perceptron of "
                "the notes), or loss='hinge', which asks for a margin."
            )
        if self.loss == "hinge" and lam == 0:
            raise ParameterError(
                "ERM: loss='hinge' without a penalty has no unique minimum, and no bound that proves one. Take penalty='l2' with a small "
                "lam, loss='squared_hinge', or LinearSVC(C=float('inf')) for the widest margin of separable classes."
            )

    def _given_start(self, n_classes: int) -> Floats | None:
        if self.init is None:
            return None
        d = self.n_features_in_
        shape = (n_classes, d + 1) if self.loss == "softmax" else (d + 1,)
        try:
            start = near_zero(shape, 0) if isinstance(self.init, str) else np.array(self.init, dtype=np.float64)
        except (TypeError, ValueError):
            start = np.empty(0)
        if start.shape != shape or not np.isfinite(start).all():
            each = " for each class" if self.loss == "softmax" else ""
            raise ParameterError(f"ERM: init must be finite numbers of shape {shape}: b, w_1, …, w_d{each}.")
        return start

    # --- fitting --------------------------------------------------------------------------------------------------------

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> TargetMaker:
        if self.kind_of(self.get_params()) == "classifier":
            return super()._targets(engine, rows, afresh, classes)
        if self.class_weight is not None:
            raise ParameterError(
                f"{type(self).__name__}: class_weight is for classes, and loss={self.loss!r} is for numbers: leave it out."
            )
        return TargetMaker(None, np.ones(1))

    def _check_statistics(self, statistics: RowStatistics) -> None:
        if self.kind_of(self.get_params()) == "classifier":
            super()._check_statistics(statistics)

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        if isinstance(self.loss, CustomSurrogate):
            refuse_unsendable(engine, self.loss)
        super()._learn(engine, rows, afresh, classes)

    def _settle(self, task: LinearTask, posed: PosedProblem, at: Iterate) -> Iterate:
        if task.objective.unpenalised and at.least > 0 and self.loss in ("log", "squared_hinge"):
            return beyond_all_bounds(posed, at)
        return at

    def _finish(self, task: LinearTask, solver: str, answers: list[Iterate], w: Floats) -> None:
        steps = [at.step for at in answers if at.step is not None]
        if len(steps) == len(answers):
            self.step_ = np.stack(steps)
        least = [at.least for at in answers if np.isinf(at.gap) and at.least > 0]
        if least and task.objective.unpenalised and self.loss == "log":
            self.margin_ = float(min(least))
        super()._finish(task, solver, answers, w)

    def _warn(self, objective: Objective) -> None:
        if hasattr(self, "margin_"):
            warn_separable(self)
        else:
            super()._warn(objective)

    def _make_claims(self) -> tuple[Claim, ...]:
        objective = self._objective(len(self.classes_) if hasattr(self, "classes_") else 0)
        if isinstance(objective.loss, CustomSurrogate):
            return (custom_claim(objective, self),)
        if self.loss == "perceptron":
            return (no_mistake_claim(objective, self),)
        if not objective.unpenalised:
            return (gap_claim(objective, self),)
        if hasattr(self, "margin_") and len(self.gap_) == 1:
            return (likelihood_claim(objective, self, self.margin_),)
        return (
            boxed_gap_claim(objective, self, self.step_) if hasattr(self, "step_") else estimate_claim(objective, self),
        )

    # --- what was learnt --------------------------------------------------------------------------------------------------

    def _unit(self, n: float) -> float:
        return 1.0 / (self._half * n)

    @property
    def risk_(self) -> float:
        """R_n + λ·Ω on the rows of the fit; summed over the classes where each is set against the rest."""
        self._check_fitted()
        half = 0.5 if self._fitted_with["loss"] == "squared" else 1.0
        return float(self.objective_.sum()) / (half * self.weight_)

    @property
    def empirical_risk_(self) -> float:
        """R_n, the mean loss without the penalty."""
        self._check_fitted()
        lam, share = strength_of(self._fitted_with)
        size = share * float(np.abs(self._part("coef_")).sum()) + (1.0 - share) * float(
            (self._part("coef_") ** 2).sum()
        )
        return self.risk_ - lam * size

    def path(self, X: Any, y: Any = None, sample_weight: Any = None, *, lams: Any = None) -> Path:
        """The fits for many λ, each started from the one before; the model itself stays as it is.

        Without `lams`, 50 from strong to weak: 10 … 1e-6, or with an L1 part from the least that leaves all weights zero.
        """
        return regularisation_path(self, OVER_LAM, lams, X, y, sample_weight)

    def to_record(self) -> Record:
        """The fitted model as plain data, where its loss has a name."""
        self._check_fitted()
        loss = self._fitted_with["loss"]
        if isinstance(loss, CustomSurrogate):
            raise ModelFileError(
                f"This ERM was fitted with the custom loss {loss.label!r}, and a model file holds data, no code. Keep its "
                "coef_ and intercept_, or fit with a loss that has a name."
            )
        return super().to_record()

    # --- answering: labels or numbers, as the loss says ------------------------------------------------------------------

    def _params_in_force(self) -> Mapping[str, Any]:
        return self._fitted_with if hasattr(self, "coef_") and hasattr(self, "_fitted_with") else self.get_params()

    def _regresses(self) -> bool:
        return self.kind_of(self._params_in_force()) == "regressor"

    def _classifies(self) -> bool:
        return not self._regresses()

    def _why_no_probabilities(self) -> str | None:
        known = self._params_in_force()["loss"] in WITH_PROBABILITIES
        return None if known else "only 'log' and 'softmax' have probabilities"

    def _predict_block(self, block: Block) -> Array:
        return AS_REGRESSOR._predict_block(self, block) if self._regresses() else super()._predict_block(block)  # type: ignore[no-any-return]

    def _values(self, X: Array) -> Floats:
        return linear_scores(X, self._part("coef_"), self.intercept_)[:, 0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows predicted rightly, or R² of a regression."""
        if self._regresses():
            return float(AS_REGRESSOR.score(self, X, y, sample_weight))
        return super().score(X, y, sample_weight)

    def _log_proba_block(self, block: Block) -> Array:
        Z = self._checked_scores(block)
        if self._fitted_with["loss"] == "log" and Z.shape[1] > 2:
            # each class against the rest, 1/(1 + e^−z), made to add up to one
            return log_softmax(-np.logaddexp(0.0, -Z))
        return log_softmax(Z)

    decision_function: ClassVar[Any] = AvailableIf(
        LinearClassifier.decision_function, _classifies, "a regression only predicts"
    )


def strength_of(params: Mapping[str, Any]) -> tuple[float, float]:
    """λ, and the share of ‖w‖₁ in the penalty."""
    penalty = params["penalty"]
    share = {"l2": 0.0, "l1": 1.0}.get(str(penalty), float(params["l1_ratio"]))
    return 0.0 if penalty is None else float(params["lam"]), share


def beyond_all_bounds(posed: PosedProblem, at: Iterate) -> Iterate:
    """Where a hyperplane puts every row on its right side, the risk of a margin loss without a penalty falls along it for ever
    or, of a loss that is zero from a margin of one on, becomes zero: the same direction with a least margin of one, whose gap
    is zero where the loss now is, else infinite."""
    problem = posed.problem
    w = at.w * (MORE / at.least)
    evaluation = problem.evaluate(w)
    gap = 0.0 if evaluation.loss == 0.0 else np.inf
    step = None if at.step is None else np.zeros_like(w)
    return at._replace(w=w, objective=evaluation.loss, gap=gap, least=evaluation.least, step=step)


def warn_separable(model: Any) -> None:
    """Say that no minimum exists, and what the weights are."""
    warn(
        f"{type(model).__name__}: a hyperplane separates classes, so that the {model.loss} risk without a penalty falls for ever and has "
        "no minimum. The weights are a separating direction (least margin 1). Take a penalty for weights that mean something.",
        SeparableWarning,
    )
