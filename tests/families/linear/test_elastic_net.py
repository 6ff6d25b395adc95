"""Lasso and elastic net: scikit-learn's minima, on ordinary tables, and their certificates."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import linear_model as theirs

import assay


def table(kind: str, n: int = 150, d: int = 12, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, 1:] = 0.6 * X[:, :-1] + 0.8 * X[:, 1:]
    beta = np.where(np.arange(d) % 3 == 0, rng.standard_normal(d), 0.0)
    y = X @ beta + 0.5 * rng.standard_normal(n) + 3.0
    if kind == "far from zero":
        return X + 1e5, y - 4e4
    if kind == "unscaled":
        return X * np.logspace(-3, 3, d), 50 * y
    if kind == "duplicates":
        X[:, -1] = X[:, 0]
        return np.vstack([X, X[:40]]), np.append(y, y[:40])
    return X, y


KINDS = ["plain", "far from zero", "unscaled", "duplicates", "wide"]


def rows_of(kind):
    return table(kind, 60, 400) if kind == "wide" else table(kind)


def objective(X, y, model, alpha, share, w=None):
    loss = np.average((y - X @ model.coef_ - model.intercept_) ** 2, weights=w) / 2
    return loss + alpha * (share * np.abs(model.coef_).sum() + (1 - share) / 2 * (model.coef_**2).sum())


@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize("kind", KINDS)
def test_no_fit_of_scikit_learn_has_a_smaller_objective(kind, share):
    X, y = rows_of(kind)
    alpha = 0.05 * float(np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max()) / len(y)
    for w in (None, 0.5 + np.arange(len(y)) % 3):
        ours = assay.ElasticNet(alpha, l1_ratio=share, tol=1e-10).fit(X, y, w)
        peer = theirs.ElasticNet(alpha=alpha, l1_ratio=share, tol=1e-12, max_iter=100_000).fit(X, y, sample_weight=w)
        least = objective(X, y, peer, alpha, share, w)
        assert objective(X, y, ours, alpha, share, w) <= least * (1 + 1e-7)
        assert ours.certificate_.verify(X, y, w).holds
        if kind not in ("duplicates", "unscaled"):
            assert np.allclose(ours.coef_, peer.coef_, atol=1e-4 * np.abs(peer.coef_).max())


def test_a_lasso_is_an_elastic_net_of_one_norm():
    X, y = table("plain")
    one, other = assay.Lasso(0.1).fit(X, y), assay.ElasticNet(0.1, l1_ratio=1.0).fit(X, y)
    assert np.array_equal(one.coef_, other.coef_)
    assert one.coef_.shape == (12,)
    assert isinstance(one.intercept_, float)
    assert one.sparse_coef_.toarray()[0] == pytest.approx(one.coef_)
    assert 0 <= one.dual_gap_ <= 1e-4


def test_without_penalty_it_is_least_squares():
    X, y = table("plain")
    plain = assay.LinearRegression().fit(X, y)
    model = assay.Lasso(0.0, tol=1e-9).fit(X, y)
    assert np.allclose(model.coef_, plain.coef_, atol=1e-6)
    assert model.certificate_.verify(X, y).holds


def test_from_the_strongest_alpha_on_all_weights_are_zero():
    X, y = table("wide", 60, 400)
    most = float(np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max()) / len(y)
    assert not assay.Lasso(most * 1.0001).fit(X, y).coef_.any()
    assert assay.Lasso(most * 0.99).fit(X, y).coef_.any()


def test_sparse_rows_give_the_weights_of_dense_ones():
    from scipy.sparse import csr_array

    X, y = table("plain")
    X = np.where(np.abs(X) > 1, X, 0.0)
    dense, sparse = assay.Lasso(0.05, tol=1e-9).fit(X, y), assay.Lasso(0.05, tol=1e-9).fit(csr_array(X), y)
    assert np.allclose(dense.coef_, sparse.coef_, atol=1e-8)


def test_positive_weights_are_refused_with_words():
    with pytest.raises(assay.errors.ParameterError, match="positive"):
        assay.Lasso(positive=True).fit(*table("plain"))


# --- strengths chosen by cross-validation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False, "cv": 3}, {"alphas": [0.5, 0.1, 0.02]}])
@pytest.mark.parametrize("kind", ["plain", "unscaled", "duplicates", "wide"])
def test_cross_validation_chooses_as_scikit_learn_does(kind, settings):
    X, y = table(kind, 60, 230) if kind == "wide" else table(kind)
    number = {"alphas": 12, "eps": 1e-2, **settings}
    tol = 1e-6 if kind == "unscaled" else 1e-8  # columns of 1000 beside an l1 of 3: rounding alone hides 2e-8
    ours = assay.LassoCV(tol=tol, **number).fit(X, y)
    peer = theirs.LassoCV(tol=1e-10, max_iter=100_000, **number).fit(X, y)
    assert ours.alpha_ == pytest.approx(peer.alpha_)
    assert np.allclose(ours.alphas_, peer.alphas_)
    assert np.allclose(ours.mse_path_, peer.mse_path_, rtol=1e-3)
    assert ours.certificate_.verify(X, y).holds


def test_the_share_is_chosen_as_well_and_weights_count():
    X, y = table("plain")
    w = 1.0 + np.arange(len(y)) % 3
    number = {"alphas": 15, "l1_ratio": [0.1, 0.5, 0.9]}
    ours = assay.ElasticNetCV(tol=1e-8, **number).fit(X, y, w)
    peer = theirs.ElasticNetCV(tol=1e-10, max_iter=10_000, **number).fit(X, y, sample_weight=w)
    assert (ours.alpha_, ours.l1_ratio_) == pytest.approx((peer.alpha_, peer.l1_ratio_))
    assert np.allclose(ours.mse_path_, peer.mse_path_, rtol=1e-4)
    assert np.allclose(ours.coef_, peer.coef_, atol=1e-6)
    assert ours.certificate_.verify(X, y, w).holds


def test_another_choice_is_not_verified():
    from dataclasses import replace

    X, y = table("plain")
    model = assay.LassoCV(alphas=10, cv=3).fit(X, y)
    claim = model.certificate_.claims[1]
    other = replace(claim, witness={**claim.witness, "chosen": [0, 0]})
    assert model.certificate_.verify(X, y).holds
    assert not replace(model.certificate_, claims=(other,), own=None).verify(X, y).holds


def test_folds_may_be_given_and_a_file_keeps_them(tmp_path):
    from sklearn.model_selection import KFold

    X, y = table("plain")
    folds = KFold(4, shuffle=True, random_state=0)
    peer = theirs.LassoCV(cv=folds, alphas=9, tol=1e-10).fit(X, y)
    for cv in (folds, list(folds.split(X))):
        model = assay.LassoCV(cv=cv, alphas=9, tol=1e-8).fit(X, y)
        assert np.allclose(model.mse_path_, peer.mse_path_, rtol=1e-5)
        model.save(tmp_path / "folds.assay")
        again = assay.load(tmp_path / "folds.assay")
        assert again.certificate_.verify(X, y).holds
        assert again.cv == 4
    with pytest.raises(assay.errors.ParameterError, match="each row"):
        assay.LassoCV(cv=[(np.arange(10), np.arange(10))] * 2).fit(X, y)


def test_more_folds_than_rows_are_refused():
    with pytest.raises(assay.errors.DataError, match="folds"):
        assay.LassoCV(cv=7).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])
