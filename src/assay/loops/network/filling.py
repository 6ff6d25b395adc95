"""Rows standardised on their way to the loops: out[i, j] = (x_ij − mean_j) / scale_j, in float64 before it is rounded."""

from __future__ import annotations

from assay.compiled import jit


@jit(error_model="numpy")
def fill(X, mean, scale, out):  # type: ignore[no-untyped-def]
    """The columns of X at the beginning of the wider rows of out."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] = (X[i, j] - mean[j]) / scale[j]
