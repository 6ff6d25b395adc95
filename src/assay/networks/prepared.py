"""Rows as the loops want them; no compiler is needed to say so."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.networks.aligned import aligned
from assay.networks.shape import Shape
from assay.numerics import Array, Floats

AT_A_TIME = 512  # rows that are standardised while they are near the processor
FEW = 1 << 15  # numbers for which the compiled loop is not worth its loading


class Prepared(NamedTuple):
    """Rows as the loops want them: X (n, filled width), codes (n,) of classes or numbers (n, outputs), weights (n,) of mean 1."""

    X: Array
    codes: Array
    targets: Array
    weights: Floats


def prepare(
    shape: Shape,
    X: Array,
    codes: Array | None,
    numbers: Array | None,
    weights: Array | None,
    dtype: Any,
    standard: tuple[Floats, Floats] | None = None,
) -> Prepared:
    """Rows, at mean 0 and deviation 1 where `standard` gives those of the columns, filled up to the first width; what is not there (codes, numbers, weights) is
    given a place."""
    n, d = X.shape
    filled = aligned((n, int(shape.wide[0])), dtype)
    if standard is None:
        filled[:, :d] = X
    else:
        _standardise(X, *standard, filled)
    codes = np.zeros(n, dtype=np.int64) if codes is None else np.ascontiguousarray(codes, dtype=np.int64)
    targets = (
        np.zeros((1, 1), dtype=dtype) if numbers is None else np.ascontiguousarray(numbers.reshape(n, -1), dtype=dtype)
    )
    return Prepared(
        filled, codes, targets, np.ones(n) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    )


def _standardise(X: Array, mean: Floats, scale: Floats, filled: Array) -> None:
    """The same bits either way."""
    if X.size > FEW and X.flags.c_contiguous:
        from assay.loops.network.filling import fill

        fill(X, mean, scale, filled)
        return
    for first in range(0, len(X), AT_A_TIME):
        Z = X[first : first + AT_A_TIME] - mean
        Z /= scale
        filled[first : first + AT_A_TIME, : X.shape[1]] = Z
