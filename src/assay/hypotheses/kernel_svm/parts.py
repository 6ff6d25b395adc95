"""Hyper-parameters and learnt parts that SVC and SVR share."""

from __future__ import annotations

from assay.hypotheses.kernel_svm.solving import SOLVERS
from assay.kernels import KERNELS
from assay.layout import Fact, Layout, Tensor
from assay.params import Choice, Free, Range, param

GAMMA_KERNELS = ("poly", "rbf", "laplacian", "sigmoid")

KERNEL = param("the kernel K(x, z), the product of two rows in feature space", default="rbf", check=Free("a function f(X, Z) of yours", words=KERNELS, check=callable))  # fmt: skip
DEGREE = param("the power of kernel='poly'", default=3, check=Range(low=0, open_high=True))
GAMMA = param(
    "how fast the kernel falls: 'scale' is 1 / (columns · variance), 'auto' 1 / columns, 'median' by the median distance",
    default="scale",
    check=Range(low=0, open_low=True, open_high=True, words=("scale", "auto", "median")),
)
COEF0 = param("the constant of kernel='poly' and 'sigmoid'", default=0.0, check=Range())
TOL = param("relative duality gap at which the fit is done", default=1e-4, check=Range(low=0, open_low=True))
SOLVER = param("working sets, or quadratic programming as in the lecture notes (few rows)", default="smo", check=Choice(SOLVERS))  # fmt: skip
SHRINKING = param("accepted for scikit-learn's sake: rows that cannot change are always left out", default=True)
CACHE_SIZE = param("memory for kernel values in MB; more saves computing them again", default=200, check=Range(low=0, open_low=True, open_high=True))  # fmt: skip
MAX_ITER = param("most working sets a problem; -1: no limit", default=-1, check=Range(int, low=-1))
MAX_SECONDS = param("the fit ends then with the best found; None: no limit", default=None, check=Range(low=0, open_low=True, words=(None,)))  # fmt: skip
WARM_START = param("begin at the multipliers of the fit before", default=False)
VERBOSE = param("say a line a second on standard error: gap, support rows, time left", default=False)
LAYOUT: Layout = {
    "support_": Tensor(("m",), dtype="<i8", low=0, doc="the numbers of the support vectors among the rows of the fit; m is how many there are"),
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
