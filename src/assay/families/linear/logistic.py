"""Logistic and softmax regression. Shape: repeated fold.

    two classes:  P(y = 1 | x) = 1 / (1 + e^−(w·x + b)),       min  Σ_i c_i log(1 + e^(−t_i z_i)) + penalty,    t = ±1
    more:         P(y = k | x) = e^(z_k) / Σ_l e^(z_l),         min  Σ_i c_i [log Σ_k e^(z_ik) − z_{i,y_i}] + penalty
    penalty:      (1/C)·(l1_ratio·‖w‖₁ + (1 − l1_ratio)·½‖w‖²),     C = inf: none, the maximum likelihood

With y ∈ {0, 1} the likelihood is p^y (1 − p)^(1 − y): the same function, so the same weights. Without a penalty one asks whether a maximum exists at
all, and how sure the coefficients are: the inverse of the loss's Hessian is their covariance, for many rows,

    se(w_j)² = (H⁻¹)_jj,    z_j = w_j / se(w_j)  is standard normal where w_j is zero
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.engines import Engine, Rows
from assay.errors import ParameterError, SeparableWarning, warn
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Free, Range, Seed, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.shown import Shown
from assay.families.linear.claims import (
    boxed_gap_claim,
    covariance_claim,
    estimate_claim,
    gap_claim,
    likelihood_claim,
    weak_claim,
)
from assay.families.linear.fit import LAYOUT, PENALTY_WORDS, LinearClassifier, LinearTask
from assay.families.linear.paths import path_over_C
from assay.families.linear.problem import Objective, PosedProblem, TargetMaker, about_centre, about_zero
from assay.families.linear.rounding import is_moved, least_class_margin
from assay.inputs.labels import plain_labels
from assay.numerics import Array, Floats, near_zero
from assay.risk.terms import LOG
from assay.solvers.newton import boxed_gap, newton_step
from assay.solvers.preconditioner import root_of_inverse, rounding_of
from assay.solvers.problem import Evaluation, Iterate, Problem
from assay.solvers.separation.separation import hard_margin, separate
from assay.solvers.softmax_problem import SoftmaxProblem

EPS = float(np.finfo(np.float64).eps)

NEARLY_ALL = 0.999  # of a column's curvature: what is left beside the intercept's has lost digits
FLAT = 1e-6  # a curvature below this, where the columns' products have 1, makes one ask whether the weights run away
OURS = ("auto", "newton", "lbfgs", "proximal-newton", "proximal-gradient", "gd")
THEIRS = ("newton-cholesky", "newton-cg", "liblinear", "sag", "saga")  # scikit-learn's names: they mean "auto"
ENDED = {
    "newton-cg": "newton-cg failed to converge at loss = {loss:.6g}: Increase the number of iterations. ",
    "newton-cholesky": "Newton solver did not converge after {n} iterations. ",
    "liblinear": "Liblinear failed to converge, increase the number of iterations. ",
    "sag": "The max_iter was reached which means the coef_ did not converge. ",
    "saga": "The max_iter was reached which means the coef_ did not converge. ",
    "lbfgs": "lbfgs failed to converge. ",
}  # as scikit-learn says it of its own solvers
FAR = 8.0  # a weight beyond this, in units of one over its column's scale, makes one ask whether it runs away
WARNINGS = {
    True: ("", "those of the widest margin (least margin 1), the direction in which it grows"),
    False: (
        ", at least but for rows that lie on it",
        "where the fit stopped; `direction_` is one in which it never falls",
    ),
}


def interval_width(se: Floats, level: float) -> Floats:
    """How far a confidence interval of this level reaches on either side of an estimate with standard error se."""
    out: Floats = _quantile(level) * se
    return out


def coefficient_table(names: list[str], coef: Floats, se: Floats, level: float) -> str:
    """One line a coefficient."""
    z, half = coef / se, interval_width(se, level)
    wide = max(len(n) for n in names)
    lines = [f"{'':<{wide}} {'coef':>12} {'std err':>11} {'z':>9} {'p':>9}   {level:.0%} interval"]
    for name, c, e, v, p, h in zip(names, coef, se, z, p_values(z), half):
        lines.append(f"{name:<{wide}} {c:>12.5g} {e:>11.4g} {v:>9.3f} {p:>9.2g}   [{c - h:.5g}, {c + h:.5g}]")
    return "\n".join(lines)


def p_values(z: Any) -> Floats:
    """The probability of so large a z by chance (two-sided)."""
    from scipy.special import ndtr

    return np.asarray(2 * ndtr(-np.abs(z)))


def _quantile(level: float) -> float:
    if not isinstance(level, float | int | np.number) or not 0 < level < 1:
        raise ParameterError(f"level={level!r} is not possible: it must be a number in (0, 1), such as 0.95.")
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def pseudo_inverse(H: Array) -> Floats:
    """H⁺ of a Hessian, in the columns' own scale: directions without curvature have no variance to state, and give zero."""
    d = np.sqrt(np.diag(H))
    unit = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)
    values, V = np.linalg.eigh(H * unit * unit[:, None])
    live = values > 1e-13 * len(H) * values[-1]
    R = unit[:, None] * V[:, live] / np.sqrt(values[live])
    out: Floats = R @ R.T
    return out


def with_step(problem: Problem, evaluation: Evaluation, at: Iterate) -> Iterate:
    """The answer of any solver with Newton's next step and the gap that it proves; `evaluation` has the Hessian there."""
    if at.step is not None:
        return at
    v = newton_step(problem, evaluation, at.w)
    return at._replace(step=v, gap=boxed_gap(problem, at.w, v))


def runs_away(posed: PosedProblem, evaluation: Evaluation) -> bool:
    """Whether some direction is nearly flat: along it the weights may grow for ever.

    The least eigenvalue of H against G = Σ c x̃x̃ᵀ: where rows lie ever further on their side, their curvature vanishes.
    """
    problem = posed.problem
    assert isinstance(problem, Problem)
    assert posed.gram is not None
    assert evaluation.hessian is not None
    root = root_of_inverse(posed.gram, rounding_of(problem, float(sum(problem.reach.weights))), problem.intercept)
    values = np.linalg.eigvalsh(root.T @ evaluation.hessian @ root)
    rank = int((np.abs(root).sum(axis=0) > 0).sum())
    return bool(rank > 0 and values[len(values) - rank] < FLAT)


def _about_curvature(problem: Problem, evaluation: Evaluation, w: Floats) -> tuple[Problem, Evaluation]:
    """The same problem and Hessian about the mean of the rows by their curvature, where hardly any is left beside that of a few rows."""
    H, d = evaluation.hessian, len(problem.centre)
    assert H is not None
    if not (problem.intercept and H[d, d] > 0):
        return problem, evaluation
    centre = problem.centre + H[:d, d] / H[d, d]
    if not np.any(H[:d, d] ** 2 > NEARLY_ALL * H[d, d] * np.diag(H)[:d]):
        return problem, evaluation
    moved = replace(problem, centre=centre)
    at = np.append(w[:-1], w[-1] + (centre - problem.centre) @ w[:-1])
    return moved, moved.evaluate(at, hessian=True)


def covariance_about_zero(problem: Problem, evaluation: Evaluation, w: Floats) -> Floats:
    """The inverse of the loss's Hessian at w, (d + 1, d + 1), for the weights (w, b) of the user's coordinates."""
    d = len(problem.centre)
    size = d + 1 if problem.intercept else d
    assert evaluation.hessian is not None
    # a column that varies by the rounding of its mean alone has no direction of its own
    noise = float(sum(problem.reach.weights)) * (16 * EPS * np.abs(problem.centre)) ** 2
    moving = np.append(np.diag(evaluation.hessian)[:d] > noise, True)
    problem, evaluation = _about_curvature(problem, evaluation, w)
    assert evaluation.hessian is not None
    H = np.where(moving & moving[:, None], evaluation.hessian, 0.0)
    T = np.eye(d + 1)
    T[d, :d] = -problem.centre
    covariance = np.zeros((d + 1, d + 1))
    covariance[:size, :size] = pseudo_inverse(H[:size, :size])
    out: Floats = T @ covariance @ T.T
    return out


LEAST_GAP = 1e-12  # what rounding leaves of a relative gap


class LogisticRegression(LinearClassifier):
    """Logistic regression for two classes, softmax regression for more. Shape: repeated fold.

        P(y = 1 | x) = 1 / (1 + e^−(w·x + b)),   of more classes  P(y = k | x) = e^(z_k) / Σ_l e^(z_l),  z_k = w_k·x + b_k
        min_{w, b}  −Σ_i c_i log P(y_i | x_i) + (1/C)·(l1_ratio·‖w‖₁ + (1 − l1_ratio)·½‖w‖²)

    `C=inf` (or `penalty=None`) fits the maximum likelihood, with `std_errors_`, `conf_int` and `summary`. Where the classes
    are separable that does not exist: a warning says so, `separable_` is True, and the weights are those of the widest
    margin, the direction in which the likelihood grows for ever. Where the classes only touch, a warning says so as well;
    `direction_` (w, b) is then the direction in which the likelihood never falls.

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by a dual bound; without penalty also the covariance
    of the weights, or, where the maximum likelihood does not exist, a direction in which it never falls.

    See Also
    --------
    LinearSVC : another loss, without probabilities.
    ERM : any loss with any penalty.
    LinearDiscriminantAnalysis : a linear boundary from normal densities.

    Examples
    --------
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict_proba([[1.5]]).round(6)
    array([[0.5, 0.5]])
    """

    title = "Logistic regression"
    name = "logistic-regression"
    scores_are_log_joint = True
    layout: ClassVar[Layout] = {
        **LAYOUT,
        "separable_": Fact(bool, doc="whether the classes are separable, so that the maximum likelihood does not exist"),
        "margin_": Fact(float, optional=True, doc="of separable classes: the least margin of the weights over all rows"),
        "direction_": Tensor(("e",), optional=True, doc="(w, b) along which the likelihood never falls; absent where there is none"),
        "away_": Fact(int, low=0, optional=True, doc="the class that the direction takes away from the others, as a place in `classes_`"),
        "step_": Tensor(("m", "e"), optional=True, doc="without penalty: Newton's next step (w, b), which proves how near the optimum is"),
        "covariance_": Tensor(("e", "e"), optional=True, doc="of two classes without penalty: the estimated covariance of the weights (w_1, …, w_d, b)"),
    }  # fmt: skip
    penalty: str | None = param("'auto': by C and l1_ratio; the other words are scikit-learn's of old", default="auto", says=PENALTY_WORDS, kw_only=False, check=Choice(("auto", "l2", "l1", "elasticnet"), words=(None,)))  # fmt: skip
    C: float = param("one over the strength of the penalty; inf: no penalty", default=1.0, check=Range(low=0, open_low=True))  # fmt: skip
    l1_ratio: float | None = param("share of ‖w‖₁ in the penalty; the rest is ½‖w‖²", default=0.0, check=Range(low=0, high=1, words=(None,)))  # fmt: skip
    tol: float = param(
        "relative duality gap at which the fit is done; its root for solvers of scikit-learn, which bound the gradient",
        default=1e-6,
        check=Range(low=0, high=1),
    )
    fit_intercept: bool = param("fit b as well; otherwise b = 0", default=True)
    solver: str = param("how the minimum is found; 'gd' is gradient descent as in the notes", default="auto", check=Choice((*OURS, *THEIRS)))  # fmt: skip
    max_iter: int = param("most iterations of the solver; a fit that ends there warns", default=1000, check=Range(int, low=0))  # fmt: skip
    eta: float | str = param("learning speed of solver='gd': times the gradient of the sum over the rows, as the formula above is one (that of the mean over n rows is n times as long); 'auto': as large as is safe", default="auto", check=Range(low=0, open_low=True, words=("auto",)))  # fmt: skip
    init: Any = param("first weights (b, w_1, …, w_d), a row a class; None: zeros; 'random': drawn close to zero", default=None, check=Free("numbers", words=(None, "random")))  # fmt: skip
    class_weight: Any = CLASS_WEIGHT
    warm_start: bool = param("begin at the weights of the fit before", default=False)
    dual: bool = param("accepted for scikit-learn's sake; it changes nothing", default=False)
    intercept_scaling: float = param("s of solver='liblinear', which adds ½(b/s)² to the L2 penalty; the others never penalise b", default=1.0, check=Range(low=0, open_low=True))  # fmt: skip
    random_state: int | None = param("seed of init='random'; nothing else is random", default=None, check=Seed(words=(None,)))  # fmt: skip
    verbose: int = param("accepted for scikit-learn's sake; it changes nothing", default=0, check=Range(int, low=0))
    n_jobs: int | None = N_JOBS

    n_iter_ = Shown(lambda model, kept: np.array([kept], dtype=np.int32))
    path = path_over_C

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever weaker penalties, which weigh all columns alike."""
        if kind != "classifier":
            return None
        return SearchSpace(search=tuple({"C": 10.0**power} for power in range(-3, 4)), scaled=True, rough={"tol": 1e-2})

    def _objective(self, n_classes: int) -> Objective:
        share = self._penalty_share()
        strength = 0.0 if self.penalty is None else 1.0 / float(self.C)
        return Objective(
            LOG if n_classes == 2 else None,
            share * strength,
            (1.0 - share) * strength,
            self.fit_intercept,
            "auto" if self.solver in THEIRS else self.solver,
            self._gap(),
            self.max_iter,
            eta=self.eta,
            init=self._given_start(n_classes),
            intercept_l2=strength / float(self.intercept_scaling) ** 2
            if self.solver == "liblinear" and self.fit_intercept and share == 0
            else 0.0,
        )

    def _penalty_share(self) -> float:
        """The share of ‖w‖₁ in the penalty."""
        return {"l2": 0.0, "l1": 1.0}.get(str(self.penalty), float(self.l1_ratio or 0.0))

    def _gap(self) -> float:
        """The relative duality gap to reach. scikit-learn's solvers bound the gradient by tol, and a gap is of its square."""
        tol = float(self.tol)
        return max(min(tol, tol * tol), min(tol, LEAST_GAP)) if self.solver in (*THEIRS, "lbfgs") else tol

    def _given_start(self, n_classes: int) -> Floats | None:
        if self.init is None:
            return None
        shape = (self.n_features_in_ + 1,) if n_classes == 2 else (n_classes, self.n_features_in_ + 1)
        try:
            drawn = isinstance(self.init, str)
            start = near_zero(shape, self.random_state or 0) if drawn else np.array(self.init, dtype=np.float64)
        except (TypeError, ValueError):
            start = np.empty(0)
        if start.shape != shape or not np.isfinite(start).all():
            raise ParameterError(
                f"LogisticRegression: init={self.init!r} must be finite numbers of shape {shape}: b, w_1, …, w_d"
                + (" for each class." if n_classes > 2 else ".")
            )
        return start

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        self._check_options()
        super()._learn(engine, rows, afresh, classes)

    def _check_options(self) -> None:
        """Say which of the hyper-parameters that were given are not used."""
        share = self.l1_ratio
        if self.penalty == "elasticnet" and share is None:
            raise ParameterError("LogisticRegression: penalty='elasticnet' needs l1_ratio, a number in [0, 1].")
        if self.penalty is None and (self.C != 1.0 or share):
            warn("Setting penalty=None will ignore the C and l1_ratio parameters.", UserWarning)
        if (self.penalty == "l1" and share not in (None, 0, 1)) or (self.penalty == "l2" and share):
            warn(
                f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={self.penalty}). "
                f"Inconsistent values: penalty={self.penalty} with l1_ratio={share}.",
                UserWarning,
            )
        if self.solver == "liblinear" and self.fit_intercept and self._penalty_share() > 0:
            warn(
                "LogisticRegression: scikit-learn's solver='liblinear' puts |b| into an L1 penalty too, which is not done here: "
                "the weights are those of solver='saga'.",
                UserWarning,
            )

    def _targets(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> TargetMaker:
        found = super()._targets(engine, rows, afresh, classes)
        if self.solver == "liblinear" and len(self.classes_) > 2:
            raise ParameterError(
                f"LogisticRegression: The 'liblinear' solver does not support multiclass classification. y has {len(self.classes_)} classes: use "
                "solver='auto', which fits softmax regression."
            )
        return found

    def _ended_early(self) -> str:
        said = ENDED.get(self.solver, "")
        return said.format(n=vars(self)["n_iter_"], loss=float(self.objective_[0]))

    # --- without a penalty --------------------------------------------------------------------------------------------

    def _settle(self, task: LinearTask, posed: PosedProblem, at: Iterate) -> Iterate:
        self.separable_ = False
        if not task.objective.unpenalised:
            return at
        if not isinstance(posed.problem, Problem):
            least = least_class_margin(posed.problem, at.w)
            if least > 0:
                return self._separated(posed.problem, at._replace(least=least))
            self._ask_each_class(task, posed, at)
            return at
        return self._without_penalty(task, posed, posed.problem, at)

    def _without_penalty(self, task: LinearTask, posed: PosedProblem, problem: Problem, at: Iterate) -> Iterate:
        """Two classes: the likelihood's maximum with its witness, or why there is none."""
        if is_moved(
            problem, at, saved := about_zero(at.w, problem.centre)
        ):  # all that follows is of the weights as they are saved
            at = at._replace(w=about_centre(saved, problem.centre), step=None)
        evaluation = None if posed.gram is None else problem.evaluate(at.w, hessian=True)
        if evaluation is not None and not at.least > 0:
            at = with_step(problem, evaluation, at)
        if (
            at.least > 0
            or not at.gap <= task.objective.tol
            or (evaluation is not None and runs_away(posed, evaluation))
        ):
            space: Any = "affine" if task.objective.fit_intercept else "linear"
            found = separate(task.engine, task.prepared.rows, task.prepared.labels(), space=space)
            if found.separable:
                hard = hard_margin(found)
                w = about_centre(np.append(hard.coef, hard.intercept), problem.centre)
                at = at._replace(w=w, least=problem.evaluate(w).least)
            if at.least > 0:
                return self._separated(problem, at)
            if found.weak:
                self.direction_ = np.append(found.coef, found.intercept)
        if evaluation is not None and at.step is not None:
            self.step_ = about_zero(at.step, problem.centre)[None, :]
            if not hasattr(self, "direction_") and np.isfinite(at.gap):
                self.covariance_ = covariance_about_zero(problem, evaluation, at.w)
        return at

    def _ask_each_class(self, task: LinearTask, posed: PosedProblem, at: Iterate) -> None:
        """Softmax whose weights grow far: where one class parts from the rest, its weights would grow for ever."""
        far = float(np.abs(at.w[:, :-1] * posed.problem.scale[:-1]).max())
        if at.gap <= task.objective.tol and far < FAR:
            return
        space: Any = "affine" if task.objective.fit_intercept else "linear"
        for k in range(len(self.classes_)):
            found = separate(task.engine, task.prepared.rows, task.prepared.labels(), space=space, positive=k)
            if found.separable or found.weak:
                self.direction_, self.away_ = np.append(found.coef, found.intercept), k
                return

    def _separated(self, problem: Problem | SoftmaxProblem, at: Iterate) -> Iterate:
        """The separating weights, scaled so that the least margin is 1."""
        w = at.w / at.least
        evaluation = problem.evaluate(w)
        self.separable_ = True
        self.margin_ = evaluation.least if isinstance(problem, Problem) else least_class_margin(problem, w)
        return at._replace(w=w, objective=evaluation.loss, gap=np.inf, least=self.margin_)

    def _finish(self, task: LinearTask, solver: str, answers: list[Iterate], w: Floats) -> None:
        if self.separable_:
            self.margin_ = answers[0].least
        super()._finish(task, solver, answers, w)
        if self.converged_ and hasattr(self, "direction_"):
            self._warn(task.objective)

    def _warn(self, objective: Objective) -> None:
        if not self.separable_ and not hasattr(self, "direction_"):
            super()._warn(objective)
            return
        what, weights = WARNINGS[self.separable_]
        who = (
            f"class {plain_labels(self.classes_)[self.away_]!r} from the rest"
            if hasattr(self, "away_")
            else "the classes"
        )
        warn(
            f"LogisticRegression: a hyperplane separates {who}{what}, so that the likelihood grows for ever and its maximum does "
            f"not exist. The weights are {weights}. Use a penalty (finite C) for probabilities that mean something.",
            SeparableWarning,
        )

    def _make_claims(self) -> tuple[Claim, ...]:
        objective = self._objective(len(self.classes_))
        if self.separable_:
            return (likelihood_claim(objective, self, self.margin_),)
        if not objective.unpenalised:
            return (gap_claim(objective, self),)
        if objective.loss is None or not hasattr(self, "step_"):
            return (estimate_claim(objective, self), *([weak_claim(self)] if hasattr(self, "direction_") else []))
        if hasattr(self, "direction_"):
            return (boxed_gap_claim(objective, self, self.step_), weak_claim(self))
        errors = [covariance_claim(objective, self)] if hasattr(self, "covariance_") else []
        return (boxed_gap_claim(objective, self, self.step_), *errors)

    # --- how sure the coefficients of an unpenalised fit of two classes are ---------------------------------------------

    def _covariance(self) -> Floats:
        self._check_fitted()
        found: Floats | None = getattr(self, "covariance_", None)
        if found is None:
            raise ParameterError(
                f"{type(self).__name__}: standard errors belong to a maximum-likelihood fit of two classes that exists: fit with "
                "C=float('inf') (a penalty pulls the coefficients towards zero), on classes that are not separable."
            )
        return found

    @property
    def std_errors_(self) -> Floats:
        """Standard errors of `coef_`, of shape (1, d); NaN where dependent columns leave a coefficient undetermined."""
        out: Floats = np.sqrt(np.diag(self._covariance())[:-1])[None, :]
        return np.where(out > 0, out, np.nan)

    @property
    def intercept_std_error_(self) -> float:
        """Standard error of `intercept_`; NaN where none is fitted."""
        value = float(np.sqrt(self._covariance()[-1, -1]))
        return value if self._fitted_with["fit_intercept"] else float("nan")

    @property
    def z_values_(self) -> Floats:
        """coef_ / std_errors_: the statistic of the test that a coefficient is zero, (1, d)."""
        out: Floats = self._part("coef_") / self.std_errors_
        return out

    @property
    def p_values_(self) -> Floats:
        """The probability of so large a z by chance, were the coefficient zero (two-sided), (1, d)."""
        return p_values(self.z_values_)

    def conf_int(self, level: float = 0.95) -> Floats:
        """Confidence intervals (d, 2) of `coef_`."""
        half = interval_width(self.std_errors_[0], level)
        return np.stack([self._part("coef_")[0] - half, self._part("coef_")[0] + half], axis=1)

    def summary(self, level: float = 0.95) -> str:
        """A table of coefficients with standard error, z, p and interval."""
        se = np.append(self.intercept_std_error_, self.std_errors_[0])
        coef = np.append(self.intercept_[0], self._part("coef_")[0])
        names = ["intercept", *(self._column_names() or [f"x{j}" for j in range(len(coef) - 1)])]
        first = 0 if self._fitted_with["fit_intercept"] else 1
        return coefficient_table(names[first:], coef[first:], se[first:], level)
