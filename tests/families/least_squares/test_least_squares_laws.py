"""What a fit of least squares may depend on: weights, pieces, threads, precision and constant columns."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from families.least_squares.problems import close, problem
from sklearn import linear_model
from small_blocks import small_blocks

import assay


@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_a_weight_is_a_repetition(cls):
    X, y = problem()
    w = np.random.default_rng(4).integers(0, 4, len(y))
    weighted, repeated = cls().fit(X, y, w), cls().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    close(weighted, repeated, 1e-11)
    assert weighted.sigma2_ == pytest.approx(repeated.sigma2_, rel=1e-11)
    if cls is assay.LinearRegression:
        np.testing.assert_allclose(weighted.std_errors_, repeated.std_errors_, rtol=1e-10)


@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_partial_fit_agrees_with_fit(cls):
    X, y = problem()
    whole, parts = cls().fit(X, y), cls()
    for a in range(0, len(y), 130):
        parts.partial_fit(X[a : a + 130], y[a : a + 130])
    close(parts, whole, 1e-11)
    assert parts.certificate_.verify(X, y).holds


@pytest.mark.parametrize("ill", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_files_are_equal_on_any_number_of_threads_and_as_a_stream(tmp_path, ill, weighted):
    X, y = problem(2000, 30)
    if ill:
        X[:, 1] = X[:, 0] + 1e-6 * X[:, 1]
    w = np.random.default_rng(6).uniform(0, 2, len(y)) if weighted else None
    files = []
    for name, workers in (("threads", 1), ("threads", 2), ("stream", 3)):
        with small_blocks(), assay.engine(name, workers=workers):
            assay.LinearRegression().fit(X, y, w).save(tmp_path / "m.assay")
        files.append((tmp_path / "m.assay").read_bytes())
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("solver", ["normal", "gd"])
@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_a_saved_model_answers_and_learns_on_as_before(tmp_path, cls, solver):
    X, y = problem()
    model = cls(solver=solver).fit(X[:300], y[:300])
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_.verify(X[:300], y[:300]).holds
    if cls is assay.LinearRegression:
        assert again.summary() == model.summary()
    close(again.partial_fit(X[300:], y[300:]), model.partial_fit(X[300:], y[300:]), 1e-15)


def test_float32_rows_are_summed_in_float64():
    X, y = problem(70_000, 3)
    narrow = (X + 100).astype(np.float32)
    close(assay.LinearRegression().fit(narrow, y), assay.LinearRegression().fit(narrow.astype(float), y), 1e-11)


@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_constant_columns_and_targets_cost_nothing(cls):
    X = np.column_stack([np.full(50, 0.1), np.arange(50.0)])
    model = cls().fit(X, np.full(50, 0.3))
    np.testing.assert_array_equal(model.coef_, [0, 0])
    assert model.intercept_ == 0.3
    assert model.certificate_.verify(X, np.full(50, 0.3)).holds
    assert cls().fit(X[:1], [5.0]).predict(X[:1]) == pytest.approx([5.0])


def test_many_columns_take_the_blas_path_with_the_same_sums():
    from assay.statistics.gram import NO_WEIGHTS, _sums_of_few, _sums_of_many

    X, y = problem(700, 40)
    for root in (NO_WEIGHTS, np.sqrt(np.random.default_rng(0).uniform(0, 2, 700))):
        few, many = (np.zeros(40, dtype=np.uint64) for _ in range(2))
        p = X[0]
        A, B = _sums_of_few(X, y, root, p, 1.0, few), _sums_of_many(X, y, root, p, 1.0, many)
        np.testing.assert_allclose(np.triu(A), np.triu(B), rtol=1e-11, atol=1e-9)
        np.testing.assert_array_equal(few, many)
    X, y = problem(1000, 200)
    close(assay.LinearRegression().fit(X, y), linear_model.LinearRegression().fit(X, y), 1e-10)
    assert assay.LinearRegression().fit(X, y).certificate_.verify(X, y).holds


def test_answering_from_a_file_needs_neither_numba_nor_scipy(tmp_path):
    X, y = problem()
    assay.LinearRegression().fit(X, y).save(tmp_path / "m.assay")
    code = (
        "import sys, assay; m = assay.load(sys.argv[1]); m.predict([[0.0] * 6]); "
        "print(sorted({'numba', 'scipy', 'sklearn', 'pyarrow'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.assay")], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"
