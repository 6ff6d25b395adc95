"""The linear support vector machine, soft and hard. Shape: repeated fold.

    min_{w, b}  ½‖w‖² + C·Σ_i c_i ℓ(t_i (w·x_i + b)),      hinge max(0, 1 − m)  or squared hinge max(0, 1 − m)²

`C=inf` is the hard margin: min ½‖w‖² such that t_i (w·x_i + b) ≥ 1, which exists where the classes are separable.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.engines import Engine, Rows
from assay.errors import ParameterError
from assay.estimator.layout import Fact, Layout
from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Flag, Range, Seed, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Step, some_of
from assay.families.linear.fit import LAYOUT, PENALTY_WORDS, LinearClassifier
from assay.families.linear.hard_margin import hard_margin_claims, hard_steps, projected_steps, solve_hard
from assay.families.linear.paths import path_over_C
from assay.families.linear.problem import Objective
from assay.families.linear.statistics import count_rows
from assay.inputs.labels import Labels
from assay.risk.surrogates import surrogate
from assay.solvers.problem import Iterate

SOLVERS = (
    "auto",
    "newton",
    "smoothing",
    "lbfgs",
    "proximal-newton",
    "proximal-gradient",
    "dual-coordinate",
    "subgradient",
)


class LinearSVC(LinearClassifier):
    """A hyperplane with the widest margin, where rows inside the margin cost C each. Shape: repeated fold.

        min_{w, b}  ½‖w‖² + C·Σ_i c_i ℓ(t_i (w·x_i + b)),      hinge max(0, 1 − m)  or squared hinge max(0, 1 − m)²

    The intercept is free; with a number for `intercept_scaling` it is penalised as liblinear does, ½(b / scaling)². More than
    two classes: each against the rest. `tol` is the relative duality gap.

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by a dual bound; of the hard margin also the margin,
    and the leave-one-out error that the support rows bound.

    See Also
    --------
    SVC : the same with kernels.
    LogisticRegression : a loss with probabilities.
    ERM : any loss with any penalty.

    Examples
    --------
    >>> LinearSVC(C=1.0).fit([[0.0], [1.0], [9.0], [10.0]], [0, 0, 1, 1]).predict([[2.0], [7.0]])
    array([0, 1])
    """

    title = "Linear support vector machine"
    name = "linear-svc"
    layout: ClassVar[Layout] = {
        **LAYOUT,
        "rows_": Fact(int, low=0, optional=True, doc="of C=inf: the number of rows of the fit"),
    }
    penalty: str = param("what keeps the weights small: ½‖w‖², or ‖w‖₁, which sets many of them to zero", default="l2", says=PENALTY_WORDS, kw_only=False, check=Choice(("l2", "l1")))  # fmt: skip
    loss: str = param("what a row inside the margin costs: its distance from the margin, or the square of it", default="squared_hinge", kw_only=False, check=Choice(("squared_hinge", "hinge")))  # fmt: skip
    C: float = param("cost of a row; inf: the hard margin", default=1.0, check=Range(low=0, open_low=True))
    tol: float = param("relative duality gap at which the fit is done", default=1e-6, check=Range(low=0, high=1))
    solver: str = param("how the minimum is found; 'pgd' is projected gradient descent as in the lecture notes (C=inf)", default="auto", check=Choice((*SOLVERS, "pgd")))  # fmt: skip
    dual: bool | str = param("accepted for scikit-learn's sake; the solver chooses", default="auto", check=Flag(words=("auto",)))  # fmt: skip
    multi_class: str = param("more than two classes: each against the rest", default="ovr", check=Choice(("ovr",)))
    fit_intercept: bool = param("fit b as well; otherwise b = 0", default=True)
    intercept_scaling: float | None = param("None: b is free; a number: ½(b / it)² is added", default=None, check=Range(low=0, open_low=True, words=(None,)))  # fmt: skip
    class_weight: Any = CLASS_WEIGHT
    max_iter: int = param("most iterations of the solver; a fit that ends there warns", default=1000, check=Range(int, low=1))  # fmt: skip
    eta: float = param("learning speed of solver='pgd': how far a step goes along the slope", default=0.5, check=Range(low=0, high=2, open_low=True, open_high=True))  # fmt: skip
    warm_start: bool = param("begin at the weights of the fit before", default=False)
    random_state: int | None = param("accepted for scikit-learn's sake; nothing is random", default=None, check=Seed(words=(None,)))  # fmt: skip
    verbose: int = param("accepted for scikit-learn's sake; it changes nothing", default=0, check=Range(int, low=0))
    n_jobs: int | None = N_JOBS

    path = path_over_C

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever weaker penalties, which weigh all columns alike."""
        if kind != "classifier":
            return None
        return SearchSpace(search=tuple({"C": 10.0**power} for power in range(-3, 3)), scaled=True, rough={"tol": 1e-2})

    def _objective(self, n_classes: int) -> Objective:
        strength = 1.0 / float(self.C)
        l1, l2 = (strength, 0.0) if self.penalty == "l1" else (0.0, strength)
        scaling = self.intercept_scaling if self.fit_intercept else None
        bias = 0.0 if scaling is None else strength / float(scaling) ** 2
        return Objective(
            surrogate(self.loss),
            l1,
            l2,
            self.fit_intercept,
            self.solver,
            float(self.tol),
            self.max_iter,
            intercept_l2=bias,
        )

    def _ended_early(self) -> str:
        return "Liblinear failed to converge, increase the number of iterations. "

    # --- the hard margin ----------------------------------------------------------------------------------------------

    def _hard(self) -> bool:
        if np.isfinite(self.C):
            if self.solver == "pgd":
                raise ParameterError(
                    "LinearSVC: solver='pgd' is the hard margin of the lecture notes: it needs C=float('inf')."
                )
            return False
        if self.solver not in ("auto", "pgd"):
            raise ParameterError(
                f"LinearSVC: C=inf is the hard margin, which solver={self.solver!r} does not know: use 'auto' or 'pgd'."
            )
        if self.penalty != "l2" or (self.fit_intercept and self.intercept_scaling is not None):
            raise ParameterError(
                "LinearSVC: the hard margin C=inf minimises ½‖w‖² alone: penalty='l2', intercept_scaling=None."
            )
        return True

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        if not self._hard():
            super()._learn(engine, rows, afresh, classes)
            return
        task = self._task(engine, rows, afresh, classes)
        labels = task.prepared.targets.labels
        assert labels is not None
        answers = [self._solve_hard(engine, rows, labels, k) for k in task.problems if k is not None]
        self.rows_ = count_rows(engine, rows)
        solver = "pgd" if self.solver == "pgd" else "hard-margin"
        self._finish(task, solver, answers, np.stack([a.w for a in answers]))

    def _solve_hard(self, engine: Engine, rows: Rows, labels: Labels, positive: int) -> Iterate:
        found = solve_hard(engine, rows, labels, positive, self.fit_intercept)
        if self.solver != "pgd":
            return found
        last = deque(projected_steps(rows, labels, positive, self.fit_intercept, self.eta, self.max_iter), maxlen=1)[0]
        dual = found.objective * (1.0 - found.gap)
        gap = max(0.0, (last.objective - dual) / last.objective)
        w = np.append(last.w, last.intercept)
        return found._replace(number=last.t, w=w, objective=last.objective, gap=gap)

    def _make_claims(self) -> tuple[Claim, ...]:
        if np.isfinite(self.C):
            return super()._make_claims()
        return hard_margin_claims(self, float(self.tol))

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """The weights after each iteration; of C=inf after each projected gradient step of the notes."""
        if not self._hard():
            return super().steps(X, y, sample_weight, every=every)
        return some_of(hard_steps(self, X, y, sample_weight), every)
