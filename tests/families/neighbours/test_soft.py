"""F and its gradient are those of the formula, whatever the map, the weights and the number of workers."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from assay.engines.engine import Threads
from assay.families.neighbours.metric_learning import sorted_rows, value, value_and_gradient

ONE = Threads(1)
RNG = np.random.default_rng(3)
X, Y, W = RNG.normal(size=(50, 6)), RNG.integers(0, 3, 50), 3.0 * RNG.random(50)
WEIGHTS = [None, W, np.floor(W)]


def formula(Z, y, w, L):
    """F as it is written down."""
    w = np.ones(len(Z)) if w is None else w
    A = Z @ L
    D = ((A[:, None] - A) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    E = w * np.exp(-(D - D.min(axis=1, keepdims=True)))
    P = E / E.sum(axis=1, keepdims=True)
    return (w * (P * (y[:, None] == y)).sum(axis=1)).sum() / w.sum()


@pytest.mark.parametrize("weights", WEIGHTS, ids=["ones", "weights", "some zero"])
@pytest.mark.parametrize("r", [1, 2, 6])
@pytest.mark.parametrize("scale", [0.05, 0.5, 3.0])
def test_the_value_is_the_formulas(weights, r, scale):
    L = scale * RNG.normal(size=(6, r))
    F, _ = value_and_gradient(sorted_rows(X, Y, weights), L, ONE)
    assert np.isclose(F, formula(X, Y, weights, L), rtol=1e-12)
    assert value(sorted_rows(X, Y, weights), L, ONE) == F


@pytest.mark.parametrize("weights", WEIGHTS, ids=["ones", "weights", "some zero"])
@pytest.mark.parametrize("r", [1, 2, 3, 6])
def test_the_gradient_is_the_slope_of_the_value(weights, r):
    rows, L, h = sorted_rows(X, Y, weights), 0.5 * RNG.normal(size=(6, r)), 1e-5
    _, G = value_and_gradient(rows, L, ONE)
    for i, j in np.ndindex(6, r):
        step = np.zeros_like(L)
        step[i, j] = h
        assert np.isclose(
            G[i, j], (value(rows, L + step, ONE) - value(rows, L - step, ONE)) / (2 * h), rtol=1e-5, atol=1e-8
        )


@pytest.mark.parametrize("r", [2, 6])
def test_the_bits_do_not_depend_on_the_number_of_workers(r):
    Z, y, L = RNG.normal(size=(900, 6)), RNG.integers(0, 4, 900), RNG.normal(size=(6, r))
    rows = sorted_rows(Z, y, None)
    F, G = value_and_gradient(rows, L, ONE)
    for workers in (2, 3):
        other = value_and_gradient(rows, L, Threads(workers))
        assert other[0] == F
        assert np.array_equal(other[1], G)


def test_rows_far_apart_neither_overflow_nor_vanish():
    Z, y = np.array([[0.0], [1e4], [3e4], [9e4]]), np.array([0, 0, 1, 1])
    F, G = value_and_gradient(sorted_rows(Z, y, None), np.ones((1, 1)), ONE)
    assert F == 0.75  # the nearest of the third is the second
    assert np.isfinite(G).all()
    assert np.isnan(value(sorted_rows(Z, y, None), np.full((1, 1), 1e160), ONE))


def test_weight_zero_is_absence_and_a_common_factor_nothing():
    L, some = RNG.normal(size=(6, 3)), W > 1
    assert value(sorted_rows(X, Y, W * some), L, ONE) == value(sorted_rows(X[some], Y[some], W[some]), L, ONE)
    assert np.isclose(value(sorted_rows(X, Y, 7 * W), L, ONE), value(sorted_rows(X, Y, W), L, ONE), rtol=1e-14)


def test_a_weighted_row_is_so_many_rows_that_do_not_ask_each_other():
    times, L = 1 + np.arange(50) % 3, 0.7 * RNG.normal(size=(6, 6))
    origin = np.repeat(np.arange(50), times)
    A = X[origin] @ L
    E = np.exp(-((A[:, None] - A) ** 2).sum(axis=2)) * (origin[:, None] != origin)
    right = (E * (Y[origin][:, None] == Y[origin])).sum(axis=1) / E.sum(axis=1)
    assert np.isclose(value(sorted_rows(X, Y, times.astype(float)), L, ONE), right.mean(), rtol=1e-12)


def test_rows_of_one_class_are_always_right():
    F, G = value_and_gradient(sorted_rows(X, np.zeros(50, int), None), np.eye(6), ONE)
    assert np.isclose(F, 1.0, rtol=1e-14)
    assert not G.any()


def test_it_is_the_same_without_the_compiler():
    code = (
        "import numpy as np; from assay.engines.engine import Threads; from assay.families.neighbours.metric_learning import *;"
        "g = np.random.default_rng(0); rows = sorted_rows(g.normal(size=(90, 3)), np.arange(90) % 4, g.random(90));"
        "F, G = value_and_gradient(rows, g.normal(size=(3, 3)), Threads(1)); print(round(F, 12), (G + 0.0).round(10).tolist())"
    )

    def output(**environment: str) -> str:
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert output() == output(NUMBA_DISABLE_JIT="1")
