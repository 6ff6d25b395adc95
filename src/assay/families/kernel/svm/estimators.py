"""The kernel support vector machine, soft and hard (Boser, Guyon and Vapnik 1992; Cortes and Vapnik 1995), and support vector regression (Vapnik 1995)."""

from __future__ import annotations

from typing import Any

from assay.estimator.params import CLASS_WEIGHT, N_JOBS, Choice, Range, Seed, param
from assay.estimator.search_space import SearchSpace, TableTraits, paired
from assay.families.kernel.svm.fit import (
    CACHE_SIZE,
    COEF0,
    DEGREE,
    GAMMA,
    KERNEL,
    MAX_ITER,
    MAX_SECONDS,
    SHRINKING,
    SOLVER,
    TOL,
    VERBOSE,
    WARM_START,
)
from assay.families.kernel.svm.machines import ClassMachine, NumberMachine


class SVC(ClassMachine):
    """The widest margin in the feature space of a kernel, where rows inside it cost C each. Shape: pairwise blocks.

        min_{w, b}  ½‖w‖² + C Σ_i c_i max(0, 1 − t_i (w·φ(x_i) + b)),      K(x, z) = φ(x)·φ(z)
        f(x) = Σ_i t_i α_i K(x_i, x) + b,      0 ≤ α_i ≤ C c_i,  Σ_i t_i α_i = 0

    `C=inf` is the hard margin, which exists where the classes are separable in feature space; where they are not, the error says why.
    `kernel`: "linear", "affine" (1 + x·z), "poly", "rbf", "laplacian", "sigmoid", "precomputed" (X is the matrix of the rows' products), or
    a function f(X, Z) of yours. `tol` is the relative duality gap. Ctrl-C, `max_iter` and `max_seconds` end a fit with the best found so
    far and a warning that says its gap; of many problems each gets its share of the time, and some iterations at least.

    More than two classes: each against each (`multi_class="ovo"`, most votes, of equally many the lowest class, or the greatest sum of
    decision values with `break_ties`), or each against the rest ("ovr"). With `probability` two slopes (more classes: a temperature) turn
    decision values into shares of which the greatest is always the label's.

    Certificate
    -----------
    The multipliers are feasible, the objective is at most a share of tol above the least possible, and the KKT conditions hold to
    that; the margin 1/‖w‖; of the hard margin the leave-one-out error that the support vectors bound.

    See Also
    --------
    LinearSVC : linear, for tables of any length.
    KernelFeaturesClassifier : approximate kernels, for tables of any length.
    SVR : the same for a number.

    Examples
    --------
    >>> model = SVC(C=1.0).fit([[0.0], [1.0], [9.0], [10.0]], ["a", "a", "b", "b"])
    >>> model.predict([[2.0], [7.0]]).tolist(), model.n_support_.tolist()
    (['a', 'b'], [2, 2])
    """

    title = "Support vector machine"
    name = "svc"
    C: float = param("the most that one row may weigh; inf: no row may be inside the margin", default=1.0, check=Range(low=0, open_low=True))  # fmt: skip
    kernel: Any = KERNEL
    degree: float = DEGREE
    gamma: Any = GAMMA
    coef0: float = COEF0
    shrinking: bool = SHRINKING
    probability: bool = param("fit probabilities as well, by five more fits on four fifths of the rows", default=False)
    tol: float = TOL
    cache_size: float = CACHE_SIZE
    class_weight: Any = CLASS_WEIGHT
    verbose: bool = VERBOSE
    max_iter: int = MAX_ITER
    decision_function_shape: str = param("what decision_function gives for more than two classes: a number a class, or one a pair", default="ovr", check=Choice(("ovr", "ovo")))  # fmt: skip
    break_ties: bool = param("of classes with equally many votes the one of greater decision values, not the lowest", default=False)  # fmt: skip
    random_state: int | None = param("accepted for scikit-learn's sake; nothing is random", default=None, check=Seed(words=(None,)))  # fmt: skip
    solver: str = SOLVER
    multi_class: str = param("more than two classes: each against each, or against the rest", default="ovo", check=Choice(("ovo", "ovr")))  # fmt: skip
    max_seconds: float | None = MAX_SECONDS
    warm_start: bool = WARM_START
    n_jobs: int | None = N_JOBS

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """The Gaussian kernel, and rows that may weigh ever more."""
        if kind != "classifier":
            return None
        search = tuple({"C": C} for C in (0.1, 1.0, 10.0, 100.0))
        unfit = paired(features.classes) or cls._unfit(features)
        return SearchSpace(search=search, scaled=True, rough={"tol": 1e-2}, unfit=unfit, cost=3.0)


class SVR(NumberMachine):
    """A number from few rows: errors up to epsilon cost nothing, larger ones C a unit. Shape: pairwise blocks.

        min_{w, b}  ½‖w‖² + C Σ_i c_i max(0, |y_i − w·φ(x_i) − b| − ε),      K(x, z) = φ(x)·φ(z)
        f(x) = Σ_i β_i K(x_i, x) + b,      |β_i| ≤ C c_i,  Σ_i β_i = 0

    `tol` is the relative duality gap. The kernels, and what ends a fit early, are those of `SVC`.

    Certificate
    -----------
    The multipliers are feasible, the objective is at most a share of tol above the least possible, and the KKT conditions hold to
    that.

    See Also
    --------
    SVC : the same for classes.
    KernelFeaturesRegressor : approximate kernels, for tables of any length.

    Examples
    --------
    >>> model = SVR(kernel="linear", C=100.0, epsilon=0.1, tol=1e-6).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.predict([[3.0]]).round(2), model.support_
    (array([2.8]), array([0, 2]))
    """

    title = "Support vector regression"
    name = "svr"
    kernel: Any = KERNEL
    degree: float = DEGREE
    gamma: Any = GAMMA
    coef0: float = COEF0
    tol: float = TOL
    C: float = param("the most that one row may weigh, so what an error beyond epsilon costs a unit", default=1.0, check=Range(low=0, open_low=True, open_high=True))  # fmt: skip
    epsilon: float = param("half the width of the tube: errors up to this cost nothing", default=0.1, check=Range(low=0, open_high=True))  # fmt: skip
    shrinking: bool = SHRINKING
    cache_size: float = CACHE_SIZE
    verbose: bool = VERBOSE
    max_iter: int = MAX_ITER
    solver: str = SOLVER
    max_seconds: float | None = MAX_SECONDS
    warm_start: bool = WARM_START
    n_jobs: int | None = N_JOBS

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """A tube of a tenth of the target's deviation, and ever dearer errors beyond it."""
        if kind != "regressor":
            return None
        unit = features.spread if features.spread > 0 else 1.0
        search = tuple({"C": C * unit, "epsilon": 0.1 * unit} for C in (0.1, 1.0, 10.0, 100.0))
        return SearchSpace(search=search, scaled=True, rough={"tol": 1e-2}, unfit=cls._unfit(features), cost=3.0)
