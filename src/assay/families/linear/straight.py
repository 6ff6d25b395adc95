"""Numbers by errors that cost in proportion, or nothing within a tube: support vector regression and quantiles. Shape: repeated fold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from assay.certify import Claim
from assay.engines import Engine, Rows
from assay.errors import ParameterError
from assay.estimator.layout import Layout, Tensor
from assay.estimator.params import N_JOBS, Choice, Flag, Free, Range, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.linear.claims import gap_claim
from assay.families.linear.elastic_net import FIT_INTERCEPT, RANDOM
from assay.families.linear.fit import LAYOUT, LinearTask
from assay.families.linear.problem import Objective
from assay.families.linear.regressor import NUMBER_LAYOUT, LinearRegressor
from assay.numerics import Floats
from assay.risk.terms import PINBALL, SQUARED_TUBE, TUBE

MULTIPLIERS: Layout = {
    "dual_problem_": LAYOUT["dual_problem_"],
    "dual_rows_": Tensor(("q",), dtype="<i8", low=0, optional=True, doc="of a loss of straight lines: the numbers of the rows near the fit, whose multipliers prove the gap"),
    "dual_values_": Tensor(("q",), optional=True, doc="of a loss of straight lines: the multipliers of these rows, minus the slopes of their losses"),
}  # fmt: skip


class LinearSVR(LinearRegressor):
    """A number as w·x + b, where errors up to epsilon cost nothing. Shape: repeated fold.

        min_{w, b}  ½‖w‖² + ½(b/intercept_scaling)² + C·Σ_i c_i ℓ(w·x_i + b − y_i),      ℓ(r) = max(0, |r| − epsilon)  or its square

    As in liblinear the intercept is penalised; `intercept_scaling=None` leaves it free. `tol` is the relative duality gap. Errors that
    cost in proportion are solved for exactly, in at most 2000 columns; their square takes any number.

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by a dual bound.

    See Also
    --------
    SVR : the same with kernels.
    QuantileRegressor : other costs above than below.
    HuberRegressor : errors that cost their square near the fit.

    Examples
    --------
    >>> model = LinearSVR(C=100.0, intercept_scaling=None).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[4.0]]).round(4)
    array([9.])
    """

    title = "Linear SVM regression"
    name = "linear-svr"
    layout: ClassVar[Layout] = {
        **NUMBER_LAYOUT,
        **MULTIPLIERS,
        "intercept_": Tensor(("m",), doc="the constant b, one number; 0 with fit_intercept=False"),
    }
    epsilon: float = param("errors up to here cost nothing", default=0.0, check=Range(low=0, open_high=True))
    tol: float = param("relative duality gap at which the fit is done", default=1e-4, check=Range(low=0, high=1))
    C: float = param("cost of an error", default=1.0, check=Range(low=0, open_low=True, open_high=True))
    loss: str = param("what an error beyond epsilon costs: its excess, or the square of it", default="epsilon_insensitive", check=Choice(("epsilon_insensitive", "squared_epsilon_insensitive")))  # fmt: skip
    fit_intercept: bool = FIT_INTERCEPT
    intercept_scaling: float | None = param("½(b / it)² is added; None: b is free", default=1.0, check=Range(low=0, open_low=True, open_high=True, words=(None,)))  # fmt: skip
    dual: bool | str = param("accepted for scikit-learn's sake; the solver chooses", default="auto", check=Flag(words=("auto",)))  # fmt: skip
    verbose: int = param("accepted for scikit-learn's sake; it changes nothing", default=0, check=Range(int, low=0))
    random_state: Any = RANDOM
    max_iter: int = param("most iterations of the solver; a fit that ends there warns", default=1000, check=Range(int, low=1))  # fmt: skip
    n_jobs: int | None = N_JOBS

    intercept_: Floats  # type: ignore[assignment]  # one number, as scikit-learn has it

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever weaker penalties, where somebody names it."""
        searched = tuple({"C": 10.0**power} for power in range(-3, 4))
        return SearchSpace(search=searched, scaled=True, when_named=True) if kind == "regressor" else None

    def _objective(self, n_classes: int) -> Objective:
        loss = TUBE if self.loss == "epsilon_insensitive" else SQUARED_TUBE
        scaling, strength = self.intercept_scaling if self.fit_intercept else None, 1.0 / float(self.C)
        bias = 0.0 if scaling is None else strength / float(scaling) ** 2
        return Objective(
            replace(loss, width=float(self.epsilon)),
            0.0,
            strength,
            bool(self.fit_intercept),
            "auto",
            float(self.tol),
            int(self.max_iter),
            intercept_l2=bias,
        )

    def _learnt(self, w: Floats) -> dict[str, Any]:
        return {"coef_": np.ascontiguousarray(w[0, :-1]), "intercept_": np.ascontiguousarray(w[:, -1])}

    def _ended_early(self) -> str:
        return "Liblinear failed to converge, increase the number of iterations. "


class QuantileRegressor(LinearRegressor):
    """A quantile of a number as w·x + b: errors cost in proportion, above the fit otherwise than below. Shape: repeated fold.

        min_{w, b}  1/n Σ_i c_i ℓ(y_i − w·x_i − b) + alpha·‖w‖₁,      ℓ(r) = max(quantile·r, (quantile − 1)·r)

    A linear programme, solved by interior points in at most 2000 columns. Where several weights are as good, they lie in the middle of these.

    Certificate
    -----------
    The objective is at most a share of 1e-6 above the least value there is, by the multipliers of the rows near the fit (of alpha=0: within a box).

    See Also
    --------
    LinearSVR : the same cost on both sides, and none within a tube.
    GradientBoostingRegressor : quantiles by trees.

    Examples
    --------
    >>> X, y = [[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]], [1.0, 2.0, 9.0, 3.0, 4.0, 7.0]
    >>> QuantileRegressor(alpha=0.0).fit(X, y).predict([[0.0], [1.0]]).round(4)
    array([2., 4.])
    """

    title = "Quantile regression"
    name = "quantile-regressor"
    layout: ClassVar[Layout] = {**NUMBER_LAYOUT, **MULTIPLIERS}
    quantile: float = param("the share of rows below the fit", default=0.5, check=Range(low=0, high=1, open_low=True, open_high=True))  # fmt: skip
    alpha: float = param("strength of the penalty ‖w‖₁ against the mean cost; 0: none", default=1.0, check=Range(low=0, open_high=True))  # fmt: skip
    fit_intercept: bool = FIT_INTERCEPT
    solver: str = param("accepted for scikit-learn's sake; the minimum is the same", default="highs", check=Choice(("highs-ds", "highs-ipm", "highs", "interior-point", "revised simplex")))  # fmt: skip
    solver_options: Any = param("accepted for scikit-learn's sake; they change nothing", default=None, check=Free("a dictionary", words=(None,)))  # fmt: skip
    n_jobs: int | None = N_JOBS

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever weaker penalties, where somebody names it; the median unless told otherwise."""
        unit = features.spread if 0 < features.spread < np.inf else 1.0
        shares = (0.3, 0.1, 0.03, 0.01, 1e-3, 0.0)
        searched = tuple({"alpha": float(f"{share * unit:.3g}")} for share in shares)
        return SearchSpace(search=searched, scaled=True, when_named=True) if kind == "regressor" else None

    def _objective(self, n_classes: int) -> Objective:
        loss = replace(PINBALL, width=float(self.quantile))
        return Objective(loss, float(self.alpha), 0.0, bool(self.fit_intercept), "auto", 1e-6, 1000, per_weight=True)

    def _make_claims(self) -> tuple[Claim, ...]:
        return (gap_claim(self._objective(0), self),)

    def _task(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> LinearTask:
        if self.solver == "interior-point":
            raise ParameterError(
                "QuantileRegressor: Solver interior-point is not anymore available in SciPy >= 1.11.0. Use solver='highs': the minimum is the same."
            )
        return super()._task(engine, rows, afresh, classes)
