"""The loops of the kernel perceptron agree with the definitions of the kernels, and with what the certificate's checks draw."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from assay.engines.engine import Threads
from assay.families.kernel.functions import Kernel
from assay.families.kernel.perceptron.check import _drawn
from assay.families.kernel.perceptron.loops import drawn
from assay.families.kernel.perceptron.values import TALL, WIDE, KernelValues

NAMED = [
    Kernel("rbf", 0.3),
    Kernel("rbf", 0.3, centre=np.full(5, 0.7)),
    Kernel("laplacian", 0.3),
    Kernel("poly", 0.3, 3.0, 1.0),
    Kernel("sigmoid", 0.3, coef0=-0.2),
    Kernel("affine"),
    Kernel("own", own=lambda A, B: A @ B.T),
]


@pytest.mark.parametrize("kernel", NAMED, ids=lambda k: k.name)
def test_tiles_are_the_kernels_values(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(WIDE + 300, 5))
    values = KernelValues(kernel, X, Threads(2))
    rows, changed = rng.permutation(len(X))[: 2 * TALL + 7], rng.permutation(len(X))[: WIDE + 13]
    K = kernel.block(X[rows], X[changed])
    assert np.allclose(values.block(rows, changed), K, rtol=1e-12, atol=1e-13)
    delta, S = rng.normal(size=(3, len(changed))), np.ones((3, len(rows)))
    values.add(S, rows, changed, delta)
    assert np.allclose(S, 1 + delta @ K.T, atol=1e-9)
    assert values.largest_square(rows) == pytest.approx(kernel.diagonal(X[rows]).max())


@pytest.mark.parametrize("kernel", NAMED[:-1], ids=lambda k: k.name)
def test_rounding_stays_below_its_bound(kernel):
    X = np.random.default_rng(0).normal(size=(200, 5)) + 3.0
    values, rows = KernelValues(kernel, X, Threads(1)), np.arange(200)
    A = X.astype(np.longdouble)
    P, gamma = A @ A.T, np.longdouble(kernel.gamma)
    exact = {
        "rbf": lambda: np.exp(-gamma * ((A[:, None] - A) ** 2).sum(axis=2)),
        "laplacian": lambda: np.exp(-gamma * np.abs(A[:, None] - A).sum(axis=2)),
        "poly": lambda: (gamma * P + np.longdouble(kernel.coef0)) ** 3,
        "sigmoid": lambda: np.tanh(gamma * P + np.longdouble(kernel.coef0)),
        "affine": lambda: 1 + P,
    }[kernel.name]()
    assert np.abs(values.block(rows, rows) - exact).max() <= values.rounding(rows)


def test_the_checks_draw_what_the_loop_draws():
    for seed, count, n in [(0, 0, 5), (1, 7, 60), (2**63 - 1, 10**9, 1), (12345, 99, 2**31)]:
        assert int(drawn(seed, count, n)) == _drawn(seed, count, n)
    found = np.bincount([int(drawn(3, count, 4)) for count in range(4000)], minlength=4)
    assert found.min() > 900


CODE = """
import warnings
import numpy as np, assay
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
for y in (np.arange(90) % 2, np.arange(90) % 3):
    for settings in ({}, {"kernel": "laplacian", "order": "first-mistake", "max_iter": 40}, {"budget": 9}):
        model = assay.KernelPerceptron(**{"max_iter": 3, **settings}).fit(X, y)
        print(model.mistakes_, model.t_, model.support_.tolist(), model.dual_coef_.tolist(), model.certificate_.holds)
"""


def test_visits_are_the_same_without_the_compiler():
    def output(**environment: str) -> str:
        run = subprocess.run(
            [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert output() == output(NUMBA_DISABLE_JIT="1")
