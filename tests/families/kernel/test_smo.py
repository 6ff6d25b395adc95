"""Working sets reach the optimum of the dual, whatever the kernel, the weights, and how the values of the kernel are had."""

import itertools
import math
from collections import deque

import numpy as np
import pytest

from assay.engines.engine import Threads
from assay.families.kernel.functions import Kernel, resolve
from assay.families.kernel.svm import smo as module
from assay.families.kernel.svm.dual import best_intercept, classes_problem, measure, numbers_problem
from assay.families.kernel.svm.kernel_cache import CachedKernelRows, ComputedKernelRows, source_of
from assay.families.kernel.svm.smo import smo
from assay.families.kernel.svm.sqp import sqp

KERNELS = ("linear", "affine", "poly", "rbf", "laplacian", "precomputed", "own")


def table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] * X[:, 1 % d] + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, rng.uniform(0.3, 3.0, size=n)


def last(states):
    return deque(states, maxlen=1)[0]


def true_gap(problem, state):
    """By kernel values of the definition."""
    X = np.arange(len(problem.X)) if problem.kernel.name == "precomputed" else problem.X
    f = problem.kernel.block(problem.X, X) @ problem.coefficients(state.alpha)
    return measure(problem, state.alpha, f, state.intercept)


def kernel_of(name, X):
    if name == "own":
        return resolve(lambda A, B: np.exp(-0.3 * ((A[:, None] - B) ** 2).sum(axis=2)), 1.0, 3, 0.0, X), X
    if name == "precomputed":
        return Kernel("precomputed"), X @ X.T + 0.1
    return resolve(name, 0.3, 2, 1.0, X), X


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("C", [0.05, 5.0])
def test_it_agrees_with_quadratic_programming(name, numbers, C):
    X, y, w = table(150, 3)
    kernel, rows = kernel_of(name, X)
    problem = (
        numbers_problem(kernel, rows, X.sum(axis=1), C * w, 0.2) if numbers else classes_problem(kernel, rows, y, C * w)
    )
    state, due = last(smo(problem, 1e-7)), last(sqp(problem, 1e-9))
    found = true_gap(problem, state)
    assert found.gap <= 2e-7
    assert state.gap <= 1e-7
    assert found.dual == pytest.approx(due.dual, rel=1e-6)
    assert np.all(state.alpha >= 0)
    assert np.all(state.alpha <= problem.upper)
    assert abs(problem.sign @ state.alpha) <= 1e-12 * state.alpha.sum()


@pytest.mark.parametrize("seed", range(12))
def test_random_problems_end_within_their_tolerance(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 700)), int(rng.integers(1, 9))
    X, y, w = table(n, d, seed)
    y[:2] = 1.0, -1.0
    X = np.round(X) if seed % 3 == 0 else X * rng.choice([0.1, 1.0, 10.0], size=d)
    kernel = resolve(("rbf", "laplacian", "poly")[seed % 3], float(rng.choice([0.02, 0.3, 4.0])), 2, 1.0, X)
    problem = classes_problem(kernel, X, y, float(rng.choice([0.01, 1.0, 50.0])) * w)
    state = last(smo(problem, 1e-4))
    assert true_gap(problem, state).gap <= 1.3e-4


def test_the_file_of_states_does_not_depend_on_threads():
    X, y, w = table(3000, 5)
    problem = classes_problem(resolve("rbf", 0.5, 3, 0.0, X), X, y, w)
    found = [list(smo(problem, 1e-3, workers=workers)) for workers in (None, Threads(1), Threads(3))]
    for a, b in itertools.pairwise(found):
        assert len(a) == len(b)
        assert all(np.array_equal(s.alpha, t.alpha) and s.gap == t.gap for s, t in zip(a, b))


@pytest.mark.parametrize("kind", ["kept", "few kept", "no shrinking"])
def test_other_ways_to_have_values_lead_to_the_same_optimum(kind, monkeypatch):
    X, y, w = table(1500, 4)
    problem = classes_problem(resolve("rbf", 1.0, 3, 0.0, X), X, y, 20 * w)
    plain = last(smo(problem, 1e-5))
    monkeypatch.setattr("assay.families.kernel.svm.kernel_cache.DEAR", 1 if "kept" in kind else 96)
    size = 1500 * 4 * 200 if kind == "few kept" else 1 << 28
    other = last(smo(problem, 1e-5, cache_bytes=size, shrinking=kind != "no shrinking"))
    assert other.dual == pytest.approx(plain.dual, rel=2e-5)
    assert true_gap(problem, other).gap <= 1.3e-5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kept_rows_are_the_computed_ones(dtype):
    X, _, _ = table(400, 5)
    kernel = resolve("rbf", 0.5, 3, 0.0, X)
    keep = np.arange(0, 400, 2)
    computed = ComputedKernelRows(kernel, X, keep, dtype, None)
    kept = CachedKernelRows(kernel, X, keep, dtype, Threads(2), 70 * 200 * np.dtype(dtype).itemsize)
    rng = np.random.default_rng(0)
    for _ in range(8):
        pick = rng.permutation(200)[:90]
        assert np.array_equal(kept.block(pick)[:90, :90], computed.block(pick)[:90, :90])
        coef = rng.normal(size=90)
        f, g = computed.zeros(), kept.zeros()
        computed.add(f, pick, coef)
        kept.add(g, pick, coef)
        np.testing.assert_allclose(g[:200], f[:200], atol=1e-12)


def test_many_columns_and_given_matrices_are_kept():
    X, _, _ = table(50, 2)
    wide = np.zeros((50, 200))
    assert isinstance(
        source_of(resolve("rbf", 1.0, 3, 0.0, wide), wide, np.arange(50), np.float32, None, 1 << 20), CachedKernelRows
    )
    assert isinstance(
        source_of(resolve("rbf", 1.0, 3, 0.0, X), X, np.arange(50), np.float32, None, 1 << 20), ComputedKernelRows
    )
    assert isinstance(source_of(Kernel("precomputed"), X @ X.T, np.arange(50), np.float64, None, 0), CachedKernelRows)


def test_float32_gives_way_where_it_matters():
    """A large C on rows far apart: rounding of values, times C, is more than the gap that is asked for."""
    X, y, _ = table(600, 2)
    problem = classes_problem(resolve("poly", 1.0, 3, 1.0, 5 * X), 5 * X, y, np.full(600, 1e2))
    state = last(smo(problem, 1e-6))
    assert true_gap(problem, state).gap <= 1.5e-6


def test_a_start_is_taken_up():
    X, y, w = table(2500, 4)
    problem = classes_problem(resolve("rbf", 0.5, 3, 0.0, X), X, y, w)
    done = last(smo(problem, 1e-4))
    again = list(smo(problem, 1e-3, start=done.alpha))
    assert len(again) == 1
    assert np.array_equal(again[0].alpha, done.alpha)


def test_it_stops_where_it_is_told():
    X, y, w = table(2500, 4)
    problem = classes_problem(resolve("rbf", 0.5, 3, 0.0, X), X, y, w)
    states = list(smo(problem, 1e-9, most=3))
    assert [s.number for s in states] == [0, 1, 2, 3]
    duals = [s.dual for s in states]
    assert duals == sorted(duals)


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_were_left_out_learn_what_changed_since(seed, monkeypatch):
    """In float32 all the way: nothing takes the values anew before the end."""
    monkeypatch.setattr(module, "EVERY", 2)
    X, y, w = table(3000, 4, seed)
    problem = classes_problem(resolve("rbf", 0.5, 3, 0.0, X), X, y, 3 * w)
    run = module.Smo(problem, 1e-3, None, 1 << 28, True)
    run.start_at(None)
    states = list(run.run(10**9))
    assert min(s.share for s in states) < 0.7
    assert states[-1].share == 1
    assert run.dtype == np.float32
    due = problem.kernel.block(X, X) @ problem.coefficients(states[-1].alpha)
    np.testing.assert_allclose(states[-1].values, due, atol=2e-5 * np.abs(due).max())


def test_states_are_copies_of_what_is_known():
    X, y, w = table(1200, 4)
    problem = classes_problem(resolve("rbf", 1.0, 3, 0.0, X), X, y, 100 * w)
    states = list(smo(problem, 1e-4))
    assert any(s.share < 1 for s in states)
    assert states[-1].share == 1
    sums = [float(s.alpha.sum()) for s in states]
    assert len(set(sums)) > 1
    assert sums == [float(s.alpha.sum()) for s in states]
    due = problem.kernel.block(X, X) @ problem.coefficients(states[-1].alpha)
    np.testing.assert_allclose(states[-1].values, due, atol=1e-4 * np.abs(due).max())


class TestHardMargin:
    def problem(self, X, y, name="rbf", gamma=0.5):
        return classes_problem(resolve(name, gamma, 3, 1.0, X), X, y, np.full(len(X), math.inf))

    def test_a_margin_that_exists(self):
        X, _, _ = table(300, 2)
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        X[:, 0] += 0.3 * y
        for name in ("linear", "rbf"):
            problem = self.problem(X, y, name)
            state, due = last(smo(problem, 1e-8)), last(sqp(problem, 1e-10))
            assert state.gap <= 1e-8
            assert state.dual == pytest.approx(due.dual, rel=1e-7)
            f = problem.kernel.block(X, X) @ problem.coefficients(state.alpha)
            assert np.min(y * (f + state.intercept)) >= 1 - 1e-6
            assert state.bound == pytest.approx(1 / math.sqrt(2 * state.dual), rel=1e-6)

    def test_equal_rows_of_both_classes(self):
        X, y, _ = table(100, 2)
        state = last(smo(self.problem(np.vstack([X, X[:1]]), np.append(y, -y[0]), gamma=5.0), 1e-6))
        assert state.gap == math.inf
        assert state.bound < 1e-7

    @pytest.mark.parametrize("name", ["linear", "poly"])
    def test_labels_by_chance_end(self, name):
        X, _, _ = table(400, 2)
        y = np.where(np.random.default_rng(3).random(400) < 0.5, 1.0, -1.0)
        state = last(smo(self.problem(X, y, name), 1e-6))
        assert state.gap == math.inf
        assert state.bound < 1e-3

    def test_many_rows_that_nothing_separates_end(self, monkeypatch):
        monkeypatch.setattr(module, "STALLED", 20)
        X, _, _ = table(2500, 6)
        y = np.where(np.random.default_rng(3).random(2500) < 0.5, 1.0, -1.0)
        state = last(smo(self.problem(X, y, "linear"), 1e-6))
        assert state.gap == math.inf
        assert state.bound < 0.1


def test_two_rows():
    X = np.array([[0.0], [2.0]])
    problem = classes_problem(Kernel("linear"), X, np.array([-1.0, 1.0]), np.full(2, 10.0))
    state = last(smo(problem, 1e-9))
    assert state.alpha == pytest.approx([0.5, 0.5])
    assert state.intercept == pytest.approx(-1.0)
    assert best_intercept(problem, state.values) == pytest.approx(-1.0)
