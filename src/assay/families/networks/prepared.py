"""Rows as the loops want them; no compiler is needed to say so."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from assay.families.networks.architecture import NetworkShape
from assay.numerics import Array, Floats

LINE = 64  # bytes


def aligned(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """Zeros that begin where a line of the cache does: a vector of 64 bytes then never lies on two of them (4 % of a batch of digits).

    >>> aligned((2, 3), np.float32).ctypes.data % 64
    0
    """
    shape = (shape,) if isinstance(shape, int) else shape
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + LINE, dtype=np.uint8)
    first = -room.ctypes.data % LINE
    found: Array = room[first : first + size].view(dtype).reshape(shape)
    return found


AT_A_TIME = 512  # rows that are standardised while they are near the processor
FEW = 1 << 15  # numbers for which the compiled loop is not worth its loading


class NetworkRows(NamedTuple):
    """Rows as the loops want them: X (n, filled width), codes (n,) of classes or numbers (n, outputs), weights (n,) of mean 1."""

    X: Array
    codes: Array
    targets: Array
    weights: Floats


def prepare(
    shape: NetworkShape,
    X: Array,
    codes: Array | None,
    numbers: Array | None,
    weights: Array | None,
    dtype: Any,
    standard: tuple[Floats, Floats] | None = None,
) -> NetworkRows:
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
    return NetworkRows(
        filled, codes, targets, np.ones(n) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    )


def _standardise(X: Array, mean: Floats, scale: Floats, filled: Array) -> None:
    """The same bits either way."""
    if X.size > FEW and X.flags.c_contiguous:
        from assay.families.networks.loops.minibatch import fill

        fill(X, mean, scale, filled)
        return
    for first in range(0, len(X), AT_A_TIME):
        Z = X[first : first + AT_A_TIME] - mean
        Z /= scale
        filled[first : first + AT_A_TIME, : X.shape[1]] = Z
