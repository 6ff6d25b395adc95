"""A file whose certificate says more than the model can prove is found out, however it was forged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import assay
from assay.assess.measure import confusion, residuals
from assay.certify import Claim
from assay.certify.claim import differs_in
from assay.certify.held_out import held_out_error, held_out_loss
from assay.engines import ArrayRows, split_rows

rng = np.random.default_rng(4)
Y = np.arange(160) % 3
X = rng.normal(size=(160, 2)) + Y[:, None]
SPLIT = {"fraction": 0.25, "seed": 3}


def measured_classifier():
    seen, held_out = split_rows(ArrayRows(X, Y), *SPLIT.values())
    model = assay.QuadraticDiscriminantAnalysis().fit(seen)
    counts = confusion(model, held_out)
    model.add_claims(held_out_error(counts.errors, counts.n, **SPLIT), split=SPLIT)
    return model, Y


def measured_regressor():
    target = X @ [1.0, 2.0] + rng.normal(size=len(X))
    seen, held_out = split_rows(ArrayRows(X, target), *SPLIT.values())
    model = assay.LinearRegression().fit(seen)
    sums = residuals(model, held_out)
    model.add_claims(held_out_loss(sums.loss, sums.standard_error, sums.n, **SPLIT), split=SPLIT)
    return model, target


def saved(model, path):
    model.save(path)
    return assay.load(path)


@pytest.mark.parametrize("make", [measured_classifier, measured_regressor])
def test_what_a_file_says_of_held_out_rows_is_counted_again(make, tmp_path):
    model, target = make()
    path = tmp_path / "m.assay"
    verdicts = saved(model, path).certificate_.verify(X, target)
    assert verdicts.holds, str(verdicts)
    assert verdicts.notes == ()
    *others, honest = model._claims
    wrongs = [
        replace(honest, statement="0 of 40 held-out rows wrong", value=0.0, bound=1e-4),
        replace(honest, statement="0 of 40 held-out rows wrong"),
        replace(honest, value=honest.value * 0.99),
        replace(honest, bound=honest.bound * 0.99),
        replace(honest, bound=None),
        replace(honest, name="proved error"),
        replace(honest, kind="proof"),
        replace(honest, witness={**honest.witness, "seed": 4}),
        replace(honest, witness={**honest.witness, "fraction": 0.5}),
        replace(honest, witness={**honest.witness, "more": 1}),
    ]
    if "hoeffding" in honest.witness:
        wrongs.append(replace(honest, witness={**honest.witness, "hoeffding": 0.01}))
    for wrong in wrongs:
        model._claims = (*others, wrong)
        assert not saved(model, path).certificate_.verify(X, target).holds, wrong


def test_rows_that_no_split_holds_out_prove_no_held_out_error(tmp_path):
    model = assay.QuadraticDiscriminantAnalysis().fit(X, Y)
    counts = confusion(model, ArrayRows(X, Y))
    model.add_claims(held_out_error(counts.errors, counts.n, **SPLIT))
    assert "the split" in str(model.certificate_.verify(X, Y))
    assert not model.certificate_.verify(X, Y).holds


def test_given_priors_cannot_pass_for_those_of_the_rows(tmp_path):
    model = assay.QuadraticDiscriminantAnalysis(priors=[0.9, 0.05, 0.05]).fit(X, Y)
    path = tmp_path / "m.assay"
    assert saved(model, path).certificate_.verify(X, Y).holds
    model._fitted_with = {**model._fitted_with, "priors": None}
    honest = model._claims
    for change in ({}, {"priors_given": False}):
        model._claims = tuple(
            replace(c, statement=c.statement.replace("as given", "N_k/N"), witness={**c.witness, **change})
            for c in honest
        )
        assert not saved(model, path).certificate_.verify(X, Y).holds


def test_a_claim_that_no_model_makes_is_refused():
    model = assay.GaussianNB().fit(X, Y)
    priors = model.certificate_["class priors"]
    model.add_claims(Claim("no mistakes", "it errs nowhere", True, priors.check, witness=priors.witness))
    verdicts = model.certificate_.verify(X, Y)
    assert [v.holds for v in verdicts] == [True, True, False]
    assert "no claim that follows" in str(verdicts)


@pytest.mark.parametrize("model", [assay.QuadraticDiscriminantAnalysis, assay.LinearDiscriminantAnalysis])
def test_rows_of_a_class_that_the_witness_does_not_know_are_refused(model):
    certificate = model().fit(X, Y).certificate_
    more = np.vstack([X, X[:5]]), np.append(Y, [7] * 5)
    verdicts = certificate.verify(*more)
    assert not verdicts.holds
    assert "does not know" in str(verdicts)
    assert verdicts.notes


def test_columns_with_names_are_verified_without_warnings(recwarn):
    import pandas as pd

    two = Y < 2
    frame = pd.DataFrame(X[two], columns=["u", "v"])
    model = assay.QuadraticDiscriminantAnalysis().fit(frame, Y[two])
    assert "boundary" in [c.name for c in model.certificate_]
    assert model.certificate_.verify(frame, Y[two]).holds
    assert not [str(w.message) for w in recwarn]


def test_rows_absorbed_in_several_calls_are_noted_not_refused():
    model = assay.GaussianNB().fit(X[:100], Y[:100]).partial_fit(X[100:], Y[100:])
    verdicts = model.certificate_.verify(X, Y)
    assert verdicts.holds
    assert "one fit" in verdicts.notes[0]


@pytest.mark.parametrize("as_kind", [int, float])
@pytest.mark.parametrize("model", [assay.Lasso(alpha=0.1), assay.Ridge(), assay.TweedieRegressor(alpha=0.1)])
def test_an_intercept_without_its_fraction_is_another_one(model, as_kind):
    target = X @ [1.0, 2.0] + 0.44
    record = model.fit(X, target).to_record()
    changed = replace(record, facts={**record.facts, "intercept_": as_kind(int(record.facts["intercept_"]))})
    read = type(model).from_record(changed)
    assert isinstance(read.intercept_, float)
    assert not read.certificate_.verify(X, target).holds


def test_entries_of_a_witness_are_compared_without_cutting_them_to_whole_numbers():
    stated = Claim("c", "s", True, "no check", witness={"b": np.array([1.44])})
    for due, same in ((np.array([1]), False), (np.array([1.44]), True), (np.array([True]), False)):
        assert (differs_in(stated, replace(stated, witness={"b": due})) is None) == same
