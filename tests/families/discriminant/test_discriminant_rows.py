"""Weights, classes, precision, engines and bad input for discriminant analysis."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cases import file_bytes

import assay
from assay import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from assay.errors import DataError, ModelFileError, ParameterError

BOTH = [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis]
pytestmark = pytest.mark.parametrize("model", BOTH)


def rows(n=300, d=4, K=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * (1 + y[:, None]) + y[:, None], y


@pytest.mark.parametrize("options", [{}, {"shrinkage": "auto"}, {"unbiased": True}, {"class_weight": "balanced"}])
def test_a_weight_is_a_number_of_repetitions(model, options):
    X, y = rows()
    w = np.arange(len(y)) % 4
    weighted = model(**options).fit(X, y, w)
    repeated = model(**options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.allclose(weighted.covariance_, repeated.covariance_, rtol=1e-10)
    assert np.allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_a_row_of_weight_zero_is_absent_even_where_it_is_not_finite(model):
    X, y = rows()
    dirty = np.vstack([X, [[np.nan] * 4], [[1e300] * 4]])
    w = np.append(np.ones(len(y)), [0, 0])
    clean = model().fit(X, y)
    assert np.array_equal(model().fit(dirty, np.append(y, [0, 1]), w).covariance_, clean.covariance_)


def test_a_class_weight_multiplies_the_weights_of_its_rows(model):
    X, y = rows()
    ours = model(class_weight={1: 3.0, 2: 0.5}).fit(X, y)
    theirs = model().fit(X, y, np.array([1, 3, 0.5])[y])
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    assert np.allclose(model(class_weight="balanced").fit(X, y, 1.0 + y).priors_, 1 / 3)


def test_absorbing_in_parts_is_fitting_at_once(model):
    X, y = rows()
    order = np.argsort(y, kind="stable")  # the first part has one class only
    for options in ({}, {"shrinkage": "auto"}):
        parts = model(**options)
        for a in range(0, 300, 90):
            take = order[a : a + 90]
            parts.partial_fit(X[take], y[take], classes=[0, 1, 2])
            assert np.isfinite(parts.means_).all()
            assert set(parts.predict(X)) <= set(y[order[: a + 90]])
        whole = model(**options).fit(X, y)
        assert np.allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-9)
        assert parts.certificate_.verify(X, y).holds


def test_shrinkage_cannot_be_turned_to_auto_between_parts(model):
    X, y = rows()
    fitted = model().fit(X, y).set_params(shrinkage="auto")
    with pytest.raises(ParameterError, match="fit again"):
        fitted.partial_fit(X, y)


def test_a_parameter_changed_after_the_fit_changes_no_answer(model):
    X, y = rows()
    fitted = model().fit(X, y)
    before = fitted.predict_proba(X)
    fitted.set_params(covariance="tied" if model is QuadraticDiscriminantAnalysis else "isotropic", priors=[1, 0, 0])
    assert np.array_equal(fitted.predict_proba(X), before)


def test_the_steps_end_in_the_fit(model):
    X, y = rows()
    steps = list(model().steps(X, y, every=50))
    assert [s.rows for s in steps] == [50, 100, 150, 200, 250, 300]
    assert np.allclose(steps[-1].values["means_"], model().fit(X, y).means_)
    assert np.allclose(steps[-1].values["covariance_"], model().fit(X, y).covariance_)


def test_single_precision_is_summed_in_double(model):
    X, y = rows()
    single, double = model().fit(X.astype(np.float32), y), model().fit(X.astype(np.float32).astype(np.float64), y)
    assert single.covariance_.dtype == np.float64
    assert np.array_equal(single.covariance_, double.covariance_)
    assert np.array_equal(single.predict_proba(X.astype(np.float32)), double.predict_proba(np.float64(np.float32(X))))


@pytest.mark.parametrize("options", [{}, {"shrinkage": "auto"}])
def test_threads_and_stream_write_the_same_bytes(model, options):
    X, y = rows(n=150_000, d=7)
    w = 0.5 + np.arange(len(y)) % 3
    files = set()
    for name, workers in (("threads", 1), ("threads", 2), ("stream", 1), ("stream", 2)):
        with assay.engine(name, workers=workers):
            files.add(file_bytes(model(**options).fit(X, y, w)))
    assert len(files) == 1


def test_prediction_from_a_file_needs_neither_numba_nor_scipy(model, tmp_path):
    X, y = rows()
    model().fit(X, y).save(tmp_path / "m.assay")
    code = (
        "import sys, assay; m = assay.load(sys.argv[1]); m.predict_proba([[0.0] * 4] * 3000)\n"
        "sys.exit(any(n in sys.modules for n in ('numba', 'scipy', 'sklearn')))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "m.assay")], check=False).returncode == 0


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "message"), [(np.nan, "contains NaN"), (np.inf, "contains infinity")])
def test_a_cell_that_is_not_finite_is_named(model, value, message):
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = model().fit(frame, y)
    for i, j in ((0, 0), (17, 2), (299, 3)):
        wrong = frame.copy()
        wrong.iloc[i, j] = value
        with pytest.raises(DataError, match=f"{message}.*row {i}, column '{'abcd'[j]}'"):
            model().fit(wrong, y)
        with pytest.raises(DataError, match=f"{message}.*row {i}, column '{'abcd'[j]}'"):
            fitted.predict(wrong)


def test_values_whose_squares_overflow_are_named(model):
    X, y = rows()
    X[5, 1] = 1e300
    with pytest.raises(DataError, match=r"Column 1 holds values as large as 1e\+300, whose squares overflow"):
        model().fit(X, y)
    far = np.repeat(rows(n=3, K=3)[0], 70_000, axis=0)  # each block is constant, the blocks are far apart
    far[:, 1] = np.repeat([0.0, 1e200, 0.0], 70_000)
    with pytest.raises(DataError, match=r"Column 1 .* overflow"):
        model().fit(far, np.arange(210_000) % 2)


def test_constant_columns_and_huge_constants_are_no_error(model):
    X, y = rows()
    X[:, 1] = 1e300
    fitted = model().fit(X, y)
    assert np.isfinite(fitted.predict_proba(X)).all()
    assert "singular covariance" in str(fitted.certificate_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X, y * 0), "only one class"),
        (lambda X, y: (X, None), "requires y"),
        (lambda X, y: (X, X[:, 0]), "continuous"),
        (lambda X, y: (X, y[:-1]), "inconsistent"),
        (lambda X, y: (X[0], y), "Expected 2D"),
        (lambda X, y: ([[1, 2], [3]], [0, 1]), "ragged"),
        (lambda X, y: ([["a", 1], ["b", 2]], [0, 1]), "not a number"),
        (lambda X, y: (X, y, -np.ones(len(y))), "Negative"),
        (lambda X, y: (X, y, np.zeros(len(y))), "zero"),
        (lambda X, y: (X, y, np.full(len(y), np.nan)), "NaN"),
    ],
)
def test_rows_that_cannot_be_used_are_refused(model, change, message):
    with pytest.raises(DataError, match=message):
        model().fit(*change(*rows()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priors": [0.5, 0.5]}, "priors has 2 values where there are 3 classes"),
        ({"priors": [-1, 1, 1]}, "non-negative"),
        ({"priors": "equal"}, "non-negative"),
        ({"covariance": "round"}, "'diagonal', 'isotropic'"),
        ({"shrinkage": 2}, r"in \[0, 1\] or None or 'auto'"),
        ({"tol": -1}, "tol"),
        ({"solver": "magic"}, "'svd'"),
        ({"class_weight": {9: 1.0}}, "does not occur"),
        ({"class_weight": {0: 0, 1: 0, 2: 0}}, "no class with any weight"),
    ],
)
def test_parameters_that_cannot_be_are_refused(model, options, message):
    with pytest.raises(ParameterError, match=message):
        model(**options).fit(*rows())


def test_priors_that_do_not_sum_to_one_are_scaled_with_a_warning(model):
    X, y = rows()
    with pytest.warns(UserWarning, match="do not sum to 1"):
        scaled = model(priors=[2, 1, 1]).fit(X, y)
    assert np.allclose(scaled.predict_proba(X), model(priors=[0.5, 0.25, 0.25]).fit(X, y).predict_proba(X))


def test_too_many_components_are_refused(model):
    if model is LinearDiscriminantAnalysis:
        with pytest.raises(ParameterError, match=r"n_components cannot be larger than .* it is 3"):
            model(n_components=3).fit(*rows())


def test_a_file_whose_parts_do_not_fit_together_is_refused(model):
    record = model().fit(*rows()).to_record()
    groups = 2 if model is QuadraticDiscriminantAnalysis else 1
    for name in ("whiten_", "log_det_", "rank_", "added_"):
        record.arrays[name] = record.arrays[name][:groups].copy()
    record.params = {**record.params, "shrinkage": "auto"}
    with pytest.raises(ModelFileError, match=r"covariances for 3 classes|fourth moments"):
        model.from_record(record)
