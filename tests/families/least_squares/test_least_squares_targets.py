"""Several targets, weights that are not negative, sparse rows and scikit-learn's names of solvers."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn import linear_model

import assay
from assay import errors


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6)) + 3
    return X, X @ rng.normal(size=(6, 3)) + rng.normal(size=(80, 3))


MODELS = (
    assay.LinearRegression(),
    assay.LinearRegression(positive=True),
    assay.LinearRegression(fit_intercept=False),
    assay.Ridge(2.0),
    assay.Ridge(0.5, positive=True),
    assay.Ridge([0.1, 10.0, 0.0]),
)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_each_target_gets_the_weights_it_would_get_alone(model, table):
    X, Y = table
    several = type(model)(**model.get_params()).fit(X, Y)
    for t in range(3):
        alpha = {"alpha": model.alpha[t]} if np.ndim(model.alpha) else {}
        alone = type(model)(**{**model.get_params(), **alpha}).fit(X, Y[:, t])
        np.testing.assert_allclose(several.coef_[t], alone.coef_, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(several.predict(X)[:, t], alone.predict(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_certificate_speaks_of_every_target_and_survives_a_file(model, table, tmp_path):
    X, Y = table
    fitted = type(model)(**model.get_params()).fit(X, Y)
    verdicts = fitted.certificate_.verify(X, Y)
    assert verdicts.holds, str(verdicts)
    assert {f"normal equations, target {t}" for t in range(3)} <= {v.claim for v in verdicts}
    other = Y.copy()
    other[:, 1] += X[:, 0]
    wrong = [v.claim for v in fitted.certificate_.verify(X, other) if not v.holds]
    assert "normal equations, target 1" in wrong
    assert "normal equations, target 2" not in wrong
    fitted.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert again.certificate_.verify(X, Y).holds


def test_a_forged_weight_of_one_target_is_found(table):
    X, Y = table
    model = assay.Ridge().fit(X, Y)
    model.coef_[2, 3] += 1e-3
    assert not model.certificate_.verify(X, Y).holds


@pytest.mark.parametrize("intercept", [True, False])
def test_nonnegative_weights_are_those_of_lawson_and_hanson(intercept, table):
    X, Y = table
    for y in Y.T:
        model = assay.LinearRegression(positive=True, fit_intercept=intercept).fit(X, y)
        shift, level = (X.mean(axis=0), y.mean()) if intercept else (0.0, 0.0)
        np.testing.assert_allclose(model.coef_, nnls(X - shift, y - level)[0], atol=1e-10)
        assert model.certificate_.verify(X, y).holds


def test_a_negative_weight_breaks_the_claim_of_nonnegative_ones(table):
    X, Y = table
    free, bounded = assay.LinearRegression().fit(X, Y[:, 0]), assay.LinearRegression(positive=True).fit(X, Y[:, 0])
    assert (free.coef_ < 0).any()
    bounded.coef_, bounded.intercept_ = free.coef_, free.intercept_
    assert not bounded.certificate_.verify(X, Y[:, 0]).holds


@pytest.mark.parametrize("columns", [3, 40])
def test_nonnegative_weights_of_dependent_columns_are_a_minimum(columns):
    rng = np.random.default_rng(columns)
    X = rng.normal(size=(30, columns))
    X = np.hstack([X, X[:, :2] + X[:, 1:3], np.ones((30, 1))])
    y = rng.normal(size=30)
    model = assay.LinearRegression(positive=True).fit(X, y)
    best = nnls(X - X.mean(axis=0), y - y.mean())[1] ** 2
    assert ((model.predict(X) - y) ** 2).sum() <= best * (1 + 1e-9) + 1e-12
    assert model.certificate_.verify(X, y).holds


@pytest.mark.parametrize("solver", ["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"])
def test_every_solver_of_scikit_learn_is_exact(solver, table):
    X, Y = table
    ours = assay.Ridge(1.5, solver=solver, max_iter=None, random_state=np.random.RandomState(0)).fit(X, Y)
    theirs = linear_model.Ridge(1.5, solver="svd").fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-11)


def test_sparse_rows_give_the_file_of_dense_ones(tmp_path):
    S = sp.random(300, 20, 0.2, format="csr", random_state=0)
    y = S @ np.arange(20.0) + np.random.default_rng(0).normal(size=300)
    for name, X in (("sparse", S), ("dense", S.toarray())):
        model = assay.Ridge().fit(X, y)
        assert model.certificate_.verify(X, y).holds
        model.save(tmp_path / name)
    assert (tmp_path / "sparse").read_bytes() == (tmp_path / "dense").read_bytes()


def test_penalties_that_do_not_fit_the_targets_are_refused(table):
    X, Y = table
    with pytest.raises(
        errors.ParameterError, match="Number of targets and number of penalties do not correspond: 2 != 3"
    ):
        assay.Ridge([1.0, 2.0]).fit(X, Y)


def test_standard_errors_of_several_targets_are_refused(table):
    with pytest.raises(errors.DataError, match="one target"):
        _ = assay.LinearRegression().fit(*table).std_errors_


def test_a_stream_of_random_numbers_gives_each_fit_a_seed_that_its_file_knows(table, tmp_path):
    X, Y = table
    stream = np.random.RandomState(3)
    model = assay.Ridge(solver="gd", random_state=stream, tol=1e-3)
    first = model.fit(X, Y[:, 0]).fitted_params_["random_state"]
    model.save(tmp_path / "m.assay")
    assert model.random_state is stream
    assert assay.load(tmp_path / "m.assay").random_state == first
    assert model.fit(X, Y[:, 0]).fitted_params_["random_state"] != first
    assert assay.Ridge(solver="gd", random_state=first, tol=1e-3).fit(X, Y[:, 0]).coef_.tobytes() == (
        assay.load(tmp_path / "m.assay").coef_.tobytes()
    )
