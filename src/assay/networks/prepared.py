"""Rows as the loops want them; no compiler is needed to say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from assay.networks.shape import Shape
from assay.numerics import Array, Floats

AT_A_TIME = 512  # rows that are changed while they are near the processor


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
    change: Callable[[Array], Array] | None = None,
) -> Prepared:
    """Rows after their `change`, columns filled up to the first width; what is not there (codes, numbers, weights) is given a place."""
    n, d = X.shape
    filled = np.zeros((n, int(shape.wide[0])), dtype=dtype)
    if change is None:
        filled[:, :d] = X
    else:
        for first in range(0, n, AT_A_TIME):
            filled[first : first + AT_A_TIME, :d] = change(X[first : first + AT_A_TIME])
    codes = np.zeros(n, dtype=np.int64) if codes is None else np.ascontiguousarray(codes, dtype=np.int64)
    targets = (
        np.zeros((1, 1), dtype=dtype) if numbers is None else np.ascontiguousarray(numbers.reshape(n, -1), dtype=dtype)
    )
    return Prepared(
        filled, codes, targets, np.ones(n) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    )
