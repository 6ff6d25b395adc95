"""What a kernel machine has learnt: the kernel function and the support rows, as a file holds them, and what is claimed of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import ModelFileError
from assay.hypotheses.kernel_svm.parts import GAMMA_KERNELS
from assay.kernels import Kernel
from assay.learner import attribute
from assay.learner.asked_claims import ClaimsWhenAsked
from assay.numerics import Array, Floats
from assay.store import Record


class LearntMachine(ClaimsWhenAsked):
    """f(x) = Σ β_i K(x_i, x) + b of each problem."""

    kernel: Any = attribute()

    support_: Array = attribute()
    support_vectors_: Floats = attribute()
    dual_coef_: Floats = attribute()
    intercept_: Floats = attribute()
    objective_: Floats = attribute()
    dual_objective_: Floats = attribute()
    gap_: Floats = attribute()
    n_iter_: Array = attribute()
    upper_: Floats = attribute()
    weights_: Floats | None = attribute()
    gamma_: float = attribute()
    rows_: int = attribute()
    n_rows_: int = attribute()
    converged_: bool = attribute()

    def _kernel(self) -> Kernel:
        """The kernel function of the fit."""
        given = self._fitted_with
        if callable(given["kernel"]):
            return Kernel("own", own=given["kernel"])
        if given["kernel"] not in GAMMA_KERNELS:
            return Kernel(given["kernel"])
        numbers = self.gamma_, float(given["degree"]), float(given["coef0"])
        return Kernel(
            given["kernel"], *numbers, centre=self._centre() if given["kernel"] in ("rbf", "laplacian") else None
        )

    def _centre(self) -> Floats | None:
        """Where rows are counted from: the mean of the support rows."""
        if not len(self.support_):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            mean: Floats = self.support_vectors_.mean(axis=0)
        return mean if np.isfinite(mean).all() else None

    def _support_rows(self) -> Array:
        """The rows that answer; of a precomputed kernel their numbers."""
        return self.support_ if self._fitted_with["kernel"] == "precomputed" else self.support_vectors_

    # --- file -------------------------------------------------------------------------------------------------------

    def to_record(self) -> Record:
        """The fitted model as plain data."""
        self._check_fitted()
        if callable(self._fitted_with["kernel"]):
            raise ModelFileError(
                f"This {type(self).__name__} was fitted with a kernel function of yours, and a model file holds data, no code. Use one of "
                "the named kernels, or kernel='precomputed' with the matrix of your function's values."
            )
        return super().to_record()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_machine", "_before", "on_progress")}

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        self.weights_ = getattr(self, "weights_", None)
        m, given = len(self.support_), self.kernel == "precomputed"
        if self.support_vectors_.shape[1] != (0 if given else self.n_features_in_):
            raise ModelFileError("The model file's support vectors do not have the columns of its rows.")
        if not 0 < self.n_rows_ <= self.rows_ or m > self.n_rows_:
            raise ModelFileError("The model file has more support rows than rows.")
        if m and int(self.support_.max()) >= self.rows_:
            raise ModelFileError("The model file's support rows are none of the fit.")
        if given and self.n_features_in_ != self.rows_:
            raise ModelFileError("The model file's precomputed kernel was not of its rows.")
        if not self.gamma_ > 0:
            raise ModelFileError("The model file's gamma is not above zero.")
        if self.weights_ is not None and not np.all(self.weights_ > 0):
            raise ModelFileError("The model file's support rows have weights of zero.")

    def _check_order(self, starts: Array) -> None:
        """Support rows come in ascending order within each class; starts: where classes begin."""
        again = np.diff(self.support_) <= 0
        again[starts[(starts > 0) & (starts < len(self.support_))] - 1] = False
        if np.any(again) or len(np.unique(self.support_)) < len(self.support_):
            raise ModelFileError("The model file's support rows are not in order, or come twice.")
