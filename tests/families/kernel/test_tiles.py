"""Compiled values of kernel functions are those of the definition, and the same in any block."""

import numpy as np
import pytest
from other_processes import printed_by_both

from assay.compiled.simd.kernels import ASKED
from assay.engines.engine import Threads
from assay.families.kernel.expansion import Expansion
from assay.families.kernel.functions import resolve
from assay.families.kernel.tiles import Tiles, has_tiles

NAMES = ("linear", "affine", "poly", "rbf", "laplacian", "sigmoid")
CLOSE = {np.float32: 3e-6, np.float64: 1e-13}


def rows_and_others(d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(133, d)) + 3.0, rng.normal(size=(45, d)) + 3.0


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("d", [1, 7, 40])
def test_values_are_those_of_the_definition(name, dtype, d):
    X, Z = rows_and_others(d)
    kernel = resolve(name, 0.1, 3, 0.5, X)
    tiles = Tiles(kernel, X, np.arange(len(X)), dtype)
    due = kernel.block(Z, X)
    found = tiles.values(tiles.group(Z, np.arange(len(Z))))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, due, rtol=30 * CLOSE[dtype], atol=30 * CLOSE[dtype])


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("name", NAMES)
def test_sums_and_sizes_are_those_of_the_values(name, dtype):
    X, Z = rows_and_others(5)
    kernel = resolve(name, 0.1, 3, 0.5, X)
    tiles = Tiles(kernel, X, np.arange(len(X)), dtype)
    others, coef = tiles.group(Z, np.arange(len(Z))), np.random.default_rng(1).normal(size=len(Z))
    K = tiles.values(others).astype(np.float64)
    f, g, sizes = tiles.zeros(), tiles.zeros(), tiles.zeros()
    tiles.add(f, others, coef, None)
    tiles.add(g, others, coef, None, sizes)
    top = np.abs(K).max() * np.abs(coef).sum()
    np.testing.assert_allclose(f[: len(X)], coef @ K, atol=1e-14 * top)
    np.testing.assert_allclose(g[: len(X)], coef @ K, atol=1e-14 * top)
    np.testing.assert_allclose(sizes[: len(X)], np.abs(coef) @ np.abs(K), atol=1e-14 * top)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("name", NAMES)
def test_a_value_depends_on_its_two_rows_alone_and_is_symmetric(name, dtype):
    X, _ = rows_and_others(6)
    kernel = resolve(name, 0.1, 3, 0.5, X)
    everyone = np.arange(len(X))
    whole = Tiles(kernel, X, everyone, dtype)
    K = whole.values(whole.group(X, everyone))
    assert np.array_equal(K, K.T)
    pick = np.array([7, 3, 100, 3, 66])
    some = Tiles(kernel, X, pick, dtype)
    assert np.array_equal(some.values(some.group(X, everyone)), K[:, pick])
    stretch = whole.stretch(64, 120).values(whole.group(X, everyone).stretch(2 * ASKED, 60))
    assert np.array_equal(stretch, K[2 * ASKED : 60, 64:120])


def test_sums_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 4))
    tiles = Tiles(resolve("rbf", 0.3, 3, 0.0, X), X, np.arange(5000), np.float32)
    others, coef = tiles.group(X, np.arange(0, 5000, 11)), rng.normal(size=455)
    sums = []
    for workers in (None, Threads(1), Threads(2), Threads(5)):
        f = tiles.zeros()
        tiles.add(f, others, coef, workers)
        sums.append(f)
    assert all(np.array_equal(sums[0], f) for f in sums[1:])


def test_the_exponential_is_close_everywhere():
    far = np.concatenate([np.linspace(0, 90, 4000), 10.0 ** np.linspace(-12, 3, 999)])
    X = np.sqrt(far)[:, None]
    kernel = resolve("rbf", 1.0, 3, 0.0, np.zeros((1, 1)))
    for dtype, close, least in ((np.float32, 4e-6, 1e-37), (np.float64, 4e-14, 1e-300)):
        tiles = Tiles(kernel, X, np.arange(len(X)), dtype)
        found = tiles.values(tiles.group(np.zeros((1, 1)), np.zeros(1, dtype=np.int64)))[0]
        due = np.exp(-far)
        seen = due > least
        assert np.abs(found[seen] / due[seen] - 1).max() < close * 10
        assert np.all(found[~seen] <= 2 * least)


def test_kernels_without_tiles():
    X = np.ones((3, 2))
    assert not has_tiles(resolve(lambda A, B: A @ B.T, 1.0, 3, 0.0, X))
    assert not has_tiles(resolve("precomputed", 1.0, 3, 0.0, X))
    assert not has_tiles(resolve("poly", 1.0, 2.5, 0.0, X))
    assert has_tiles(resolve("poly", 1.0, 0, 0.0, X))


@pytest.mark.parametrize("outputs", [1, 4])
@pytest.mark.parametrize("name", NAMES)
def test_many_rows_are_answered_as_few(name, outputs):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(700, 9)), rng.normal(size=(900, 9))
    kernel = resolve(name, 0.05, 2, 0.5, X)
    answers = Expansion(kernel, X, rng.normal(size=(outputs, 700)), rng.normal(size=outputs))
    due = kernel.block(Z, X) @ answers.coef.T + answers.intercept
    np.testing.assert_allclose(answers.values(Z), due, atol=1e-11 * np.abs(due).max())
    assert np.array_equal(np.sign(answers.signed(Z)), np.sign(answers.values(Z)))


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 3.0])
def test_signs_are_those_of_float64_however_close_to_zero(outputs, gamma):
    """The intercept brings one row after another to within what float32 cannot see of zero."""
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(700, 6)), rng.normal(size=(512, 6))
    kernel, coef = resolve("rbf", gamma, 3, 0.0, X), rng.normal(size=(outputs, 700))
    due = Expansion(kernel, X, coef, np.zeros(outputs)).values(Z)
    for row in range(0, 512, 16):
        for side in (1.0, -1.0):
            near = Expansion(kernel, X, coef, side * 1e-9 - due[row])
            found = near.signed(Z)
            assert np.all(np.sign(found[row]) == side)
            assert np.array_equal(np.sign(found), np.sign(near.values(Z)))


WITHOUT = """
import numpy as np
from assay.families.kernel.functions import resolve
from assay.families.kernel.tiles import Tiles
from assay.families.kernel.svm.dual import classes_problem
from assay.families.kernel.svm.smo import smo
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
for name in ("linear", "affine", "poly", "rbf", "laplacian", "sigmoid"):
    kernel = resolve(name, 0.2, 3, 0.5, X)
    for dtype in (np.float32, np.float64):
        tiles = Tiles(kernel, X, np.arange(40), dtype)
        f, g = tiles.zeros(), tiles.zeros()
        tiles.add(f, tiles.group(X, np.arange(20)), np.arange(20.0), None, g)
        print(name, np.round(f.sum(), 2), np.round(g.sum(), 2), np.round(tiles.values(tiles.group(X, np.arange(20))).sum(), 3))
for state in smo(classes_problem(resolve("rbf", 0.5, 3, 0.0, X), X, y, np.full(40, 10.0)), 1e-6):
    pass
print(np.flatnonzero(state.alpha).tolist(), round(state.dual, 3))
"""


def test_the_loops_say_the_same_without_the_compiler():
    compiled, plain = printed_by_both(WITHOUT)
    assert compiled == plain
