"""What discriminant analysis proves, what it warns of, and that a lie is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import file_bytes

import assay
from assay import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

BOTH = [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis]
OPTIONS = [
    {},
    {"unbiased": True},
    {"covariance": "diagonal"},
    {"covariance": "isotropic"},
    {"covariance": "tied"},
    {"shrinkage": "auto"},
    {"shrinkage": 0.3},
    {"priors": [0.2, 0.8]},
    {"class_weight": "balanced"},
    {"class_weight": {0: 3.0}, "unbiased": True},
]


def rows(n=200, d=4, K=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * (1 + y[:, None]) + y[:, None], y


def singular_rows():
    """Class 1 has a column that never varies and one that doubles another; class 2 has a single row."""
    X, y = rows(K=2)
    X[y == 1, 2] = 0.1
    X[y == 1, 3] = 2 * X[y == 1, 0]
    return np.vstack([X, [[9.0, 9, 9, 9]]]), np.append(y, 2)


def altered(certificate, name, **witness):
    """A certificate that lies and is not held against the model's own parts: the checker alone must refuse it."""
    claims = tuple(
        dataclasses.replace(c, witness={**c.witness, **witness}) if c.name == name else c for c in certificate.claims
    )
    return dataclasses.replace(certificate, claims=claims, own=None)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("model", BOTH)
def test_the_claims_hold_and_are_verified(model, options):
    X, y = rows()
    w = 0.25 + np.arange(len(y)) % 3
    for weights in (None, w):
        certificate = model(**options).fit(X, y, weights).certificate_
        assert [c.name for c in certificate] == ["maximum likelihood", "boundary"]
        verdicts = certificate.verify(X, y, weights)
        assert certificate.holds
        assert verdicts.holds, str(verdicts)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize("part", ["mean", "priors", "whiten", "log_det", "added"])
def test_an_altered_estimate_is_refused(model, part):
    X, y = rows()
    certificate = model().fit(X, y).certificate_
    for at in (0, -1):
        wrong = certificate["maximum likelihood"].witness[part].copy()
        wrong.flat[at] += 1e-4
        assert not altered(certificate, "maximum likelihood", **{part: wrong}).verify(X, y).holds


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(
    "recipe", [{"unbiased": True}, {"covariance": "diagonal"}, {"reg_param": 0.1}, {"shrinkage": 0.1}]
)
def test_another_recipe_than_the_one_used_is_refused(model, recipe):
    X, y = rows()
    certificate = model().fit(X, y).certificate_
    assert not altered(certificate, "maximum likelihood", **recipe).verify(X, y).holds


@pytest.mark.parametrize("model", BOTH)
def test_an_altered_boundary_is_refused(model):
    X, y = rows()
    certificate = model().fit(X, y).certificate_
    witness = certificate["boundary"].witness
    for part, wrong in (("b", witness["b"] + 1e-2), ("w", witness["w"] * 1.01), ("M", witness["M"] + 1e-2)):
        assert not altered(certificate, "boundary", **{part: wrong}).verify(X, y).holds


def test_a_certificate_cannot_be_verified_without_the_target():
    X, y = rows()
    verdicts = QuadraticDiscriminantAnalysis().fit(X, y).certificate_.verify(X)
    assert not verdicts.holds
    assert "give verify(X, y)" in str(verdicts)


def test_an_estimate_from_other_rows_is_refused():
    X, y = rows()
    other, target = rows(seed=1)
    assert not QuadraticDiscriminantAnalysis().fit(X, y).certificate_.verify(other, target).holds


def test_a_singular_class_is_cured_and_the_certificate_says_which_and_how():
    X, y = singular_rows()
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    claim = model.certificate_["singular covariance"]
    assert claim.kind == "warning"
    assert "1 has rank 2, 2 has rank 0 (of 4)" in claim.statement
    assert f"by the share {model.pooled_share_:.3g}, that of least leave-one-out error of 8" in claim.statement
    assert model.rank_.tolist() == [4, 2, 0]
    assert not model.added_.any()  # the common covariance is not singular
    verdicts = model.certificate_.verify(X, y)
    assert verdicts.holds, str(verdicts)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.predict([[9.0, 9, 9, 9]])[0] == 2


def doubled_rows():
    """No class has a covariance of more than rank 3 of 4: a column doubles another in all of them."""
    X, y = rows()
    X[:, 3] = 2 * X[:, 0]
    return X, y


def test_what_was_added_is_the_least_that_cures():
    X, y = doubled_rows()
    for tol in (1e-4, 1e-2, 0.0):
        model = LinearDiscriminantAnalysis(tol=tol).fit(X, y)
        unit = np.sqrt(np.diag(model.covariance_))
        least = np.linalg.eigvalsh((model.covariance_ + np.diag(model.added_[0])) / np.outer(unit, unit))[0]
        assert np.isclose(least, max(tol**2, 8 * 4 * np.finfo(float).eps), rtol=1e-2)
        assert model.certificate_.verify(X, y).holds


def test_where_all_classes_are_singular_alike_they_get_the_same_ridge():
    X, y = doubled_rows()
    plain = QuadraticDiscriminantAnalysis().fit(X[:, :3], y)
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    assert np.all(model.added_ > 0)
    assert np.array_equal(model.added_[0], model.added_[1])
    assert "the common one is singular too" in model.certificate_["singular covariance"].statement
    assert model.certificate_.verify(X, y).holds
    assert abs(model.score(X, y) - plain.score(X[:, :3], y)) < 0.05


def test_a_duplicated_column_of_linear_analysis_changes_no_probability():
    X, y = rows(K=3)
    twice = np.column_stack([X, X[:, 0]])
    model = LinearDiscriminantAnalysis().fit(twice, y)
    assert "the common covariance has rank 4 of 5" in model.certificate_["singular covariance"].statement
    assert np.allclose(model.predict_proba(twice), LinearDiscriminantAnalysis().fit(X, y).predict_proba(X), atol=1e-6)
    assert model.certificate_.verify(twice, y).holds


def test_a_constant_column_of_linear_analysis_changes_no_probability():
    X, y = rows(K=3)
    more = np.column_stack([X, np.full(len(X), 0.1)])
    model = LinearDiscriminantAnalysis().fit(more, y)
    assert np.allclose(model.predict_proba(more), LinearDiscriminantAnalysis().fit(X, y).predict_proba(X), atol=1e-9)
    assert model.certificate_.verify(more, y).holds


@pytest.mark.parametrize("part", ["rank", "added"])
def test_an_altered_warning_is_refused(part):
    X, y = doubled_rows()
    for model in BOTH:
        certificate = model().fit(X, y).certificate_
        witness = certificate["singular covariance"].witness[part]
        assert not altered(certificate, "singular covariance", **{part: witness + 1}).verify(X, y).holds
        assert not altered(certificate, "singular covariance", **{part: witness * 0}).verify(X, y).holds


@pytest.mark.parametrize("part", ["errors", "pooled_share"])
def test_an_altered_choice_of_the_share_is_refused(part):
    X, y = singular_rows()
    certificate = QuadraticDiscriminantAnalysis().fit(X, y).certificate_
    witness = certificate["singular covariance"].witness
    wrong = {"errors": [*(witness["errors"][:-1]), 0.0], "pooled_share": 0.5}[part]
    assert not altered(certificate, "singular covariance", **{part: wrong}).verify(X, y).holds
    fewer = {"errors": witness["errors"][:1], "pooled_share": 1.0}
    assert not altered(certificate, "singular covariance", **fewer).verify(X, y).holds


@pytest.mark.parametrize("name", ["pooled_share_", "pooled_errors_"])
def test_a_forged_share_in_a_file_is_refused(name, tmp_path):
    X, y = singular_rows()
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    setattr(model, name, {"pooled_share_": 0.25, "pooled_errors_": model.pooled_errors_[:2]}[name])
    model.save(tmp_path / "m.assay")
    assert not assay.load(tmp_path / "m.assay").certificate_.verify(X, y).holds


@pytest.mark.parametrize("options", [{"reg_param": 0.1}, {"shrinkage": 0.1}])
def test_regularised_covariances_need_no_cure(options):
    X, y = rows()
    X[:, 3] = X[:, 2]
    model = QuadraticDiscriminantAnalysis(**options).fit(X, y)
    assert [c.name for c in model.certificate_] == ["maximum likelihood", "boundary"]


def test_fewer_rows_than_columns_and_single_rows_are_fine():
    X, y = rows(n=12, d=30, K=3)
    for model in BOTH:
        fitted = model().fit(X, y)
        assert fitted.certificate_.verify(X, y).holds
        assert (fitted.predict(X) == y).all()
    lonely = QuadraticDiscriminantAnalysis().fit([[0.0], [1.0]], ["a", "b"])
    assert lonely.predict([[0.1], [0.9]]).tolist() == ["a", "b"]
    assert lonely.certificate_.verify([[0.0], [1.0]], ["a", "b"]).holds


@pytest.mark.parametrize("model", BOTH)
def test_a_loaded_model_verifies_and_saves_to_the_same_bytes(model, tmp_path):
    X, y = singular_rows()
    fitted = model(shrinkage="auto", class_weight="balanced").fit(X, y)
    fitted.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert file_bytes(again) == file_bytes(fitted)
    assert np.array_equal(again.predict_log_proba(X), fitted.predict_log_proba(X))
    assert np.array_equal(again.covariance_, fitted.covariance_)
    assert again.certificate_.verify(X, y).holds
    if model is LinearDiscriminantAnalysis:
        assert np.array_equal(again.transform(X), fitted.transform(X))
        assert np.array_equal(again.coef_, fitted.coef_)


def test_forged_directions_are_refused():
    X, y = rows(K=3)
    fitted = LinearDiscriminantAnalysis().fit(X, y)
    assert fitted.certificate_.verify(X, y).holds
    for forged in (fitted.scalings_ * 1.01, fitted.scalings_[:, ::-1], fitted.scalings_ + 1e-3):
        fitted.scalings_ = np.ascontiguousarray(forged)
        assert "not the directions" in str(fitted.certificate_.verify(X, y))


def test_a_boundary_far_from_zero_holds():
    X, y = rows()
    X = np.column_stack([X + 1e7, np.full(len(X), 3e8)])
    for model in BOTH:
        certificate = model().fit(X, y).certificate_
        assert certificate.holds, str(certificate)
        assert certificate.verify(X, y).holds


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize("scale", [1e-155, 1e-200, 1e160])
def test_columns_whose_squares_leave_float64_are_refused_or_certified(model, scale):
    X, y = rows()
    try:
        fitted = model().fit(X * scale, y)
    except assay.errors.DataError:
        return
    assert np.allclose(fitted.predict_proba(X * scale).sum(axis=1), 1)
    assert fitted.certificate_.verify(X * scale, y).holds


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()], ids=["lda", "qda"])
def test_columns_that_vary_by_roundings_are_verified_beside_one_that_never_does(model):
    """One column varies within the classes by a few roundings, another never; what is counted in their units is the same in fit and check."""
    rng, y = np.random.default_rng(1), np.arange(7) % 2
    first, steps, never = rng.standard_normal(7), rng.integers(0, 3, 7), np.full(7, 8.171091383430356e10)
    X, w = np.column_stack([first, 8.17e10 + 2.0**-16 * steps, never]), rng.random(7)
    verdicts = model.fit(X, y, w).certificate_.verify(X, y, w)
    assert verdicts.holds, str(verdicts)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_decision_values_of_classes_without_weight_do_not_warn():
    X, y = np.random.default_rng(0).standard_normal((6, 2)), [0, 1, 2, 0, 1, 2]
    model = LinearDiscriminantAnalysis(class_weight={0: 0.0, 1: 0.0}).fit(X, y)
    assert np.isneginf(model.decision_function(X)[:, :2]).all()
