"""Least squares with penalties that set weights to zero: elastic net and lasso. Shape: repeated fold.

    min_{w, b}  1/(2n) Σ_i (y_i − w·x_i − b)² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)·½‖w‖²)

The loss is its own quadratic model: from the products of the columns that carry weights the minimum over these follows without
the rows (`solvers/proximal_newton.py`), and an evaluation of all columns tells which are missing (`solvers/quadratic.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import ParameterError
from assay.estimator.params import N_JOBS, Choice, Free, Range, param
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.linear.problem import Objective
from assay.families.linear.regressor import LinearRegressor
from assay.risk.terms import SQUARED

SHARES = (
    0.5,
    0.2,
    0.1,
    0.05,
    0.02,
    0.01,
    1e-3,
)  # of the target's deviation: no column of deviation one keeps a weight from 1 on
ALPHA = param("strength of the penalty against half the mean square error; 0: none", default=1.0, kw_only=False, check=Range(low=0, open_high=True))  # fmt: skip
FIT_INTERCEPT = param("fit b as well; otherwise b = 0", default=True)
PRECOMPUTE = param("accepted for scikit-learn's sake: products of columns are taken where they pay", default=False, check=Free("True, False or a Gram matrix", words=("auto",)))  # fmt: skip
MAX_ITER = param("most iterations of the solver; a fit that ends there warns", default=1000, check=Range(int, low=1))
COPY_X = param("accepted for scikit-learn's sake; X is never changed", default=True)
TOL = param("relative duality gap at which the fit is done", default=1e-4, check=Range(low=0, high=1))
WARM_START = param("begin at the weights of the fit before", default=False)
POSITIVE = param("not supported: weights of either sign are fitted", default=False)
RANDOM = param(
    "accepted for scikit-learn's sake; nothing is random", default=None, check=Range(int, low=0, words=(None,))
)
SELECTION = param("accepted for scikit-learn's sake; the minimum is the same", default="cyclic", check=Choice(("cyclic", "random")))  # fmt: skip


def weaker_and_weaker(cls: Any, kind: str, features: TableTraits) -> SearchSpace | None:
    """Ever weaker penalties, which weigh all columns alike; alpha has the unit of the target."""
    if kind != "regressor":
        return None
    unit = features.spread if 0 < features.spread < np.inf else 1.0
    alphas = tuple({"alpha": float(f"{share * unit:.3g}")} for share in SHARES)
    return SearchSpace(search=alphas, scaled=True, rough={"tol": 1e-3}, when_named=cls.name != "lasso")


def penalised_squares(model: Any, alpha: float, share: float) -> Objective:
    """Half the squared errors with a penalty of strength alpha, of which `share` is ‖w‖₁."""
    if model.positive:
        raise ParameterError(
            f"{type(model).__name__}: positive=True is not supported: weights of either sign are fitted. Use positive=False."
        )
    limits = float(model.tol), int(model.max_iter)
    return Objective(SQUARED, alpha * share, alpha * (1.0 - share), bool(model.fit_intercept), "auto", *limits, per_weight=True)  # fmt: skip


@property  # type: ignore[misc]  # shared by classes that are no kin
def dual_gap(model: Any) -> float:
    """By how much 1/(2n) Σ(…)² + penalty is at most above its least value."""
    model._check_fitted()
    return float(model.gap_[0] * model.objective_[0] / model.weight_)


@property  # type: ignore[misc]
def sparse_coef(model: Any) -> Any:
    """The weights as a sparse matrix (1, n_features) of SciPy's."""
    from scipy.sparse import csr_array

    model._check_fitted()
    return csr_array(model.coef_[None, :])


class ElasticNet(LinearRegressor):
    """Least squares with a penalty of ‖w‖₁, which sets weights to zero, and ‖w‖². Shape: repeated fold.

        min_{w, b}  1/(2n) Σ_i (y_i − w·x_i − b)² + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)·½‖w‖²)

    A sample weight is a count of rows: n is their sum. scikit-learn stops at a duality gap of tol·‖y‖², which is never
    less than the tol of the objective at which this fit stops.

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by a dual bound (of alpha=0: within a box).

    See Also
    --------
    Lasso : the penalty ‖w‖₁ alone.
    ElasticNetCV : chooses alpha and l1_ratio by cross-validation.
    Ridge : the penalty ‖w‖² alone, in closed form.
    ERM : other losses.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [0.0, 1.0, 2.0, 3.0]
    >>> model = ElasticNet(alpha=0.1).fit(X, y)
    >>> model.coef_.round(4), round(model.intercept_, 4)
    (array([0.9231, 0.    ]), 0.1154)
    """

    title = "Elastic net"
    name = "elastic-net"
    alpha: float = ALPHA
    l1_ratio: float = param("share of ‖w‖₁ in the penalty; the rest is ½‖w‖²", default=0.5, check=Range(low=0, high=1))
    fit_intercept: bool = FIT_INTERCEPT
    precompute: Any = PRECOMPUTE
    copy_X: bool = COPY_X
    max_iter: int = MAX_ITER
    tol: float = TOL
    warm_start: bool = WARM_START
    positive: bool = POSITIVE
    random_state: Any = RANDOM
    selection: str = SELECTION
    n_jobs: int | None = N_JOBS

    search_space = classmethod(weaker_and_weaker)
    dual_gap_: Any = dual_gap
    sparse_coef_: Any = sparse_coef

    def _objective(self, n_classes: int) -> Objective:
        return penalised_squares(self, float(self.alpha), float(self.l1_ratio))


class Lasso(LinearRegressor):
    """Least squares with the penalty ‖w‖₁, which sets weights to zero. Shape: repeated fold.

        min_{w, b}  1/(2n) Σ_i (y_i − w·x_i − b)² + alpha·‖w‖₁

    Certificate
    -----------
    The objective is at most a share of tol above the least value there is, by a dual bound (of alpha=0: within a box).

    See Also
    --------
    ElasticNet : with ‖w‖² besides.
    LassoCV : chooses alpha by cross-validation.
    ERM : other losses.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [0.0, 1.0, 2.0, 3.0]
    >>> model = Lasso(alpha=0.1).fit(X, y)
    >>> model.coef_.round(4), round(model.intercept_, 4)
    (array([0.92, 0.  ]), 0.12)
    """

    title = "Lasso"
    name = "lasso"
    alpha: float = ALPHA
    fit_intercept: bool = FIT_INTERCEPT
    precompute: Any = PRECOMPUTE
    copy_X: bool = COPY_X
    max_iter: int = MAX_ITER
    tol: float = TOL
    warm_start: bool = WARM_START
    positive: bool = POSITIVE
    random_state: Any = RANDOM
    selection: str = SELECTION
    n_jobs: int | None = N_JOBS

    search_space = classmethod(weaker_and_weaker)
    dual_gap_: Any = dual_gap
    sparse_coef_: Any = sparse_coef

    def _objective(self, n_classes: int) -> Objective:
        return penalised_squares(self, float(self.alpha), 1.0)
