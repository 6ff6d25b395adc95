"""The certificates of naive Bayes: honest ones are established, tampered ones refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import assay
from assay.certify import Certificate

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 300)
X = np.minimum(rng.poisson(1 + Y[:, None] * [0.2, 0.5, 1.0]), 4).astype(float)
DENSITIES = {"gaussian": "theta", "poisson": "rate", "multinomial": "theta", "categorical": "p", "bernoulli": "p"}


def fitted(density: str):
    data = np.minimum(X, 1) if density == "bernoulli" else X
    return data, assay.NaiveBayes(density).fit(data, Y)


def tampered(model, name: str, **changes) -> Certificate:
    """The certificate with one claim's witness changed."""
    certificate = model.certificate_
    claims = tuple(
        dataclasses.replace(c, witness={**c.witness, **changes}) if c.name == name else c for c in certificate.claims
    )
    return dataclasses.replace(certificate, claims=claims)


@pytest.mark.parametrize("density", DENSITIES)
def test_the_parameters_are_established_from_the_rows(density):
    data, model = fitted(density)
    assert model.certificate_.holds
    verdicts = model.certificate_.verify(data, Y)
    assert verdicts.holds, str(verdicts)
    assert f"{density} maximum likelihood" in str(model.certificate_)


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("error", [1e-6, -0.01, np.nan, np.inf])
def test_a_wrong_parameter_is_refused(density, error):
    data, model = fitted(density)
    name = f"{density} maximum likelihood"
    wrong = model.certificate_[name].witness[DENSITIES[density]].copy()
    wrong[1, 2] *= 1 + error
    assert not tampered(model, name, **{DENSITIES[density]: wrong}).verify(data, Y).holds


@pytest.mark.parametrize(
    ("what", "value"),
    [("var", 1.0001), ("epsilon", 1.1), ("var_smoothing", 2.0), ("class_factor", np.array([1.0, 1.0, 2.0]))],
)
def test_a_wrong_variance_or_epsilon_is_refused(what, value):
    data, model = fitted("gaussian")
    model = assay.NaiveBayes("gaussian", var_smoothing=0.1).fit(data, Y)
    right = model.certificate_["gaussian maximum likelihood"].witness[what]
    assert not tampered(model, "gaussian maximum likelihood", **{what: right * value}).verify(data, Y).holds


@pytest.mark.parametrize("density", DENSITIES)
def test_other_rows_or_labels_are_refused(density):
    data, model = fitted(density)
    assert not model.certificate_.verify(data, np.roll(Y, 1)).holds
    assert not model.certificate_.verify(data[:-1], Y[:-1]).holds
    assert not model.certificate_.verify(data, Y, sample_weight=np.arange(300.0)).holds
    assert not model.certificate_.verify(data, Y + 1).holds
    assert not model.certificate_.verify(data[:, :2], Y).holds


@pytest.mark.parametrize("priors", [[0.5, 0.25, 0.25], [0.9, 0.3, -0.2], [1 / 3, 1 / 3], [np.nan] * 3])
def test_wrong_priors_are_refused(priors):
    data, model = fitted("gaussian")
    assert not tampered(model, "class priors", priors=np.array(priors)).verify(data, Y).holds


def test_priors_that_were_given_or_uniform_are_claimed_as_such():
    given = assay.GaussianNB(priors=[0.2, 0.3, 0.5]).fit(X, Y)
    assert "given" in given.certificate_["class priors"].statement
    assert given.certificate_.verify(X, Y).holds
    uniform = assay.MultinomialNB(fit_prior=False).fit(X, Y)
    assert "equal" in uniform.certificate_["class priors"].statement
    assert uniform.certificate_.verify(X, Y).holds


def test_a_tolerance_that_proves_nothing_is_refused():
    data, model = fitted("gaussian")
    assert not tampered(model, "gaussian maximum likelihood", tolerance=1.0).verify(data, Y).holds


def test_a_variance_that_is_mostly_smoothing_is_warned_of():
    data = np.column_stack([X[:, 0], np.where(Y == 1, 7.0, rng.normal(size=300))])
    model = assay.GaussianNB().fit(data, Y)
    claim = model.certificate_["variance smoothing"]
    assert claim.kind == "warning"
    assert claim.witness["pairs"].tolist() == [[1, 1]]
    assert "column 1" in claim.statement
    assert "zero" in claim.statement
    assert model.certificate_.verify(data, Y).holds
    for pairs in (np.empty((0, 2), dtype=int), np.array([[1, 1], [0, 0]])):
        assert not tampered(model, "variance smoothing", pairs=pairs).verify(data, Y).holds
    assert "variance smoothing" not in str(assay.GaussianNB().fit(X, Y).certificate_)


@pytest.mark.parametrize("density", DENSITIES)
def test_the_witness_is_the_model_itself_and_stored_once(density, tmp_path):
    data, model = fitted(density)
    witness = model.certificate_[f"{density} maximum likelihood"].witness[DENSITIES[density]]
    assert any(witness is a for a in model.to_record().arrays.values())
    model.save(tmp_path / "m.assay")
    loaded = assay.load(tmp_path / "m.assay")
    assert loaded.certificate_.verify(data, Y).holds
    again = loaded.certificate_[f"{density} maximum likelihood"].witness[DENSITIES[density]]
    assert any(again is a for a in loaded.to_record().arrays.values())
