"""What the tests of least squares share: the oaks of the lecture notes, random rows, and closeness to a peer."""

from __future__ import annotations

import numpy as np

OAKS_AGE = np.array([97, 93, 88, 81, 75, 57, 52, 45, 28, 15, 12, 11], dtype=float)
OAKS_DBH = np.array([12.5, 12.5, 8.0, 9.5, 16.5, 11.0, 10.5, 9.0, 6.0, 1.5, 1.0, 1.0])


def problem(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 3, d) + rng.normal(size=d)
    return X, X @ rng.normal(size=d) + 2 + 0.5 * rng.normal(size=n)


def close(model, peer, rtol=1e-9):
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=rtol, atol=rtol)
