"""Hyper-parameters and learnt parts that SVC and SVR share."""

from __future__ import annotations

from assay.hypotheses.kernel_svm.solving import SOLVERS
from assay.kernels import KERNELS
from assay.layout import Fact, Layout, Tensor
from assay.params import N_JOBS, Choice, Flag, Free, Param, Range

GAMMA_KERNELS = ("poly", "rbf", "laplacian", "sigmoid")

PARAMS: dict[str, Param] = {
    "C": Range(low=0, open_low=True, doc="the most that one row may weigh; inf: no row may be inside the margin"),
    "kernel": Free(
        words=KERNELS, what="a function f(X, Z) of yours", check=callable, doc="the product in feature space"
    ),
    "degree": Range(low=0, open_high=True, doc="of kernel='poly'"),
    "gamma": Range(
        low=0,
        open_low=True,
        open_high=True,
        words=("scale", "auto", "median"),
        doc="how fast the kernel falls: 'scale' is 1 / (columns · variance), 'auto' 1 / columns, 'median' by the median distance",
    ),
    "coef0": Range(doc="of kernel='poly' and 'sigmoid'"),
    "tol": Range(low=0, open_low=True, doc="relative duality gap at which the fit is done"),
    "solver": Choice(options=SOLVERS, doc="working sets, or quadratic programming as in the lecture notes (few rows)"),
    "shrinking": Flag(doc="accepted for scikit-learn's sake: rows that cannot change are always left out"),
    "cache_size": Range(low=0, open_low=True, open_high=True, doc="memory for kernel values in MB"),
    "max_iter": Range(kind=int, low=-1, doc="most working sets a problem; -1: no limit"),
    "max_seconds": Range(low=0, open_low=True, words=(None,), doc="the fit ends then with the best found; None: no limit"),
    "warm_start": Flag(doc="begin at the multipliers of the fit before"),
    "verbose": Flag(doc="say a line a second on standard error: gap, support rows, time left"),
    "n_jobs": N_JOBS,
}  # fmt: skip
LAYOUT: Layout = {
    "support_": Tensor(("m",), dtype="<i8", low=0),
    "support_vectors_": Tensor(("m", "c")),
    "dual_coef_": Tensor(("R", "m")),
    "intercept_": Tensor(("P",)),
    "objective_": Tensor(("P",), finite=False),
    "dual_objective_": Tensor(("P",)),
    "gap_": Tensor(("P",), low=0, finite=False),
    "n_iter_": Tensor(("P",), dtype="<i8", low=1),
    "upper_": Tensor(("U",), low=0, finite=False),
    "weights_": Tensor(("m",), low=0, optional=True),
    "gamma_": Fact(float, low=0),
    "rows_": Fact(int, low=1),
    "n_rows_": Fact(int, low=1),
    "converged_": Fact(bool),
}
