"""What is claimed of kernel ridge regression: how far its coefficients are from the solution of the linear system that defines them."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify import Claim
from assay.families.kernel.svm.claims import GIVEN, is_positive, kernel_witness

LOOSEST = 1e-1  # a share beyond this says little


def kernel_ridge_claims(model: Any) -> tuple[Claim, ...]:
    """One claim for all targets: a bound where the kernel has a feature space and penalties are above zero, else what is left of the system."""
    coef, kernel = vars(model)["dual_coef_"], model._kernel()
    alphas = np.broadcast_to(np.asarray(model.alpha, dtype=np.float64), (coef.shape[1],)).copy()
    witness = {
        **kernel_witness(kernel),
        "cosine": model.kernel == "cosine",
        "vectors": model.X_fit_,
        "dual_coef": coef,
        "alpha": alphas,
    }
    positive, worst = is_positive(witness), float(model.errors_.max())
    if positive is not False and worst <= LOOSEST:
        statement = (
            f"what is left of (K + alpha / weights) a = y shows the coefficients to be within a share of {worst:.3g} of the exact ones, in the "
            "norm of the rows' weights" + (GIVEN if positive is None else "")
        )
        return (Claim("linear system", statement, True, "kernel_ridge", worst, LOOSEST, witness=witness),)
    left = float(model.residuals_.max())
    statement = f"(K + alpha / weights) a = y holds but for a share of {left:.3g} of y; how far the coefficients are from the exact ones is not known"
    return (Claim("linear system", statement, True, "kernel_ridge_left", left, kind="warning", witness=witness),)
