"""How much a single column says about the target by itself.

    r² = 1 − (variance of the target that a column leaves) / (variance of the target)

of a straight line for numbers; for classes η² = between-class share of the column's variance.
"""

from __future__ import annotations

import numpy as np

from assay.numerics import Array, Floats


def correlation(X: Array, target: Array, classes: bool) -> Floats:
    """(d,): η² or r² of each column of X (n, d), between 0 and 1; missing values count as the column's mean.

    >>> correlation(np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 2.0]]), np.array([0, 0, 1, 1]), True)
    array([1., 0.])
    """
    X = np.asarray(X, dtype=np.float64)
    known = np.isfinite(X)
    count = np.maximum(known.sum(axis=0), 1)
    filled = np.where(known, X, 0.0)
    centred = np.where(known, X - filled.sum(axis=0) / count, 0.0)
    total = (centred**2).sum(axis=0)
    if classes:
        K = int(target.max()) + 1
        sums = np.stack([centred[target == k].sum(axis=0) for k in range(K)])
        explained = (sums**2 / np.maximum(np.bincount(target, minlength=K), 1)[:, None]).sum(axis=0)
    else:
        t = target - target.mean()
        explained = (centred * t[:, None]).sum(axis=0) ** 2 / max(float(t @ t), 1e-300)
    return np.asarray(np.where(total > 0, explained / np.where(total > 0, total, 1.0), 0.0))
