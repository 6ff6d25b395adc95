"""What a unit makes of its sum z, and its slope, for whole arrays.

identity z      relu max(0, z)      logistic 1/(1 + e^−z)      tanh      gelu ½z(1 + tanh(√(2/π)(z + 0.044715 z³)))
"""

from __future__ import annotations

from assay.compiled.decorator import inner
from assay.compiled.simd.activations import gelu_of, gelu_slope_of, keep_above, logistic_of, relu_of, tanh_of
from assay.compiled.simd.networks import NARROW

IDENTITY, RELU, LOGISTIC, TANH, GELU = range(5)
NAMES = ("identity", "relu", "logistic", "tanh", "gelu")


@inner
def needs_no_sums(what):  # type: ignore[no-untyped-def]
    """Whether φ may be taken in place, since its outputs alone say what its slopes are."""
    return what != GELU


@inner
def activate(what, Z, A, at, many):  # type: ignore[no-untyped-def]
    """A[at + i] = φ(Z[at + i]) for i < many, a multiple of NARROW; addresses, of one array where φ needs no sums."""
    if what == RELU:
        for i in range(at, at + many, NARROW):
            relu_of(Z, A, i)
    elif what == LOGISTIC:
        for i in range(at, at + many, NARROW):
            logistic_of(Z, A, i)
    elif what == TANH:
        for i in range(at, at + many, NARROW):
            tanh_of(Z, A, i)
    elif what == GELU:
        for i in range(at, at + many, NARROW):
            gelu_of(Z, A, i)


@inner
def times_slope(what, Z, A, D, S, at, many):  # type: ignore[no-untyped-def]
    """D[i] *= φ′(Z[i]), by A = φ(Z) where that says it; S: room as large as Z."""
    if what == RELU:
        for i in range(at, at + many, NARROW):
            keep_above(A, D, i)
    elif what == LOGISTIC:
        for i in range(at, at + many):
            D[i] *= A[i] - A[i] * A[i]
    elif what == TANH:
        for i in range(at, at + many):
            D[i] -= D[i] * A[i] * A[i]
    elif what == GELU:
        for i in range(at, at + many, NARROW):
            gelu_slope_of(Z, S, i)
        for i in range(at, at + many):
            D[i] *= S[i]
