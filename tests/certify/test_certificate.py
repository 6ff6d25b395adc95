"""A certificate prints what it proves, finds its claims by name, and refuses what it cannot check."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import assay
from assay.certify import Certificate, Claim
from assay.errors import DataError

X = np.random.default_rng(0).random((60, 3))
y = (X[:, 0] > 0.5).astype(int)
GOOD = Claim("a <good> claim", "it is so & no other way", True, "held_out_error", value=0.123456, bound=0.2)
BAD = Claim("a bad claim", "it is not so", False, "nothing", kind="warning")


def test_what_does_not_hold_is_never_printed_as_if_it_did():
    text = str(Certificate((GOOD, BAD)))
    assert "holds  proof     a <good> claim: 0.1235 (bound 0.2)" in text
    assert "FAILS  warning   a bad claim" in text
    assert not Certificate((GOOD, BAD)).holds
    assert Certificate((GOOD,)).holds


def test_the_page_is_escaped():
    page = Certificate((GOOD, BAD))._repr_html_()
    assert "a &lt;good&gt; claim" in page
    assert "it is so &amp; no other way" in page
    assert "<b>no</b>" in page


def test_claims_are_found_by_name():
    certificate = Certificate((GOOD, BAD))
    assert certificate["a bad claim"] is BAD
    assert [c.name for c in certificate] == [GOOD.name, BAD.name]
    with pytest.raises(KeyError, match=r"there are: a <good> claim, a bad claim"):
        certificate["other"]


def test_a_claim_without_a_checker_or_with_a_broken_witness_is_refused():
    verdicts = Certificate((GOOD, BAD)).verify(X, y)
    assert [v.holds for v in verdicts] == [False, False]
    assert "cannot be checked" in str(verdicts)
    assert "no checker is known for 'nothing'" in str(verdicts)


def test_verification_needs_rows_of_the_right_columns():
    certificate = assay.GaussianNB().fit(X, y).certificate_
    assert certificate.verify(X, y).holds
    assert not certificate.verify(X[:, :2], y).holds
    with pytest.raises(DataError, match="inconsistent"):
        certificate.verify(X, y[:-1])


def test_a_claim_that_was_taken_away_is_missed():
    certificate = assay.GaussianNB().fit(X, y).certificate_
    verdicts = dataclasses.replace(certificate, claims=certificate.claims[1:]).verify(X, y)
    assert not verdicts.holds
    assert "the claim is missing" in str(verdicts)


def test_a_model_altered_after_its_fit_has_no_certificate_any_more():
    model = assay.LinearRegression().fit(X, X[:, 0] + 2)
    assert model.certificate_.verify(X, X[:, 0] + 2).holds
    model.coef_ = model.coef_ + 1e-3
    verdicts = model.certificate_.verify(X, X[:, 0] + 2)
    assert not verdicts.holds
    assert "not about the parts of this model" in str(verdicts)


def test_changing_a_hyper_parameter_without_a_fit_changes_no_certificate():
    model = assay.GaussianNB().fit(X, y)
    assert model.set_params(var_smoothing=0.5).certificate_.verify(X, y).holds


def test_no_claim_is_no_proof():
    nothing = Certificate(())
    assert nothing.holds is False
    assert nothing.verify(X, y).holds is False
    assert str(nothing) == "no claims"
    assert nothing._repr_html_() == "<p>no claims</p>"


def test_a_claim_that_says_itself_that_it_does_not_hold_is_not_verified():
    certificate = assay.GaussianNB().fit(X, y).certificate_
    doubted = dataclasses.replace(certificate.claims[0], holds=False)
    verdicts = dataclasses.replace(certificate, claims=(doubted, *certificate.claims[1:]), own=None).verify(X, y)
    assert [v.holds for v in verdicts] == [False, *(True for _ in certificate.claims[1:])]
    assert "the claim itself says that it does not hold" in str(verdicts)
