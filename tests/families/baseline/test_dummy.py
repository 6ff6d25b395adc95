"""The baseline under scikit-learn's names: its strategies answer alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases import lines, uneven
from sklearn import dummy as theirs

import assay


@pytest.mark.parametrize(
    "params", [{}, {"strategy": "most_frequent"}, {"strategy": "constant", "constant": 2}, {"strategy": "uniform"}]
)
def test_classes_are_answered_as_by_scikit_learn(params):
    X, y = uneven(200, 3, 0)
    w = 0.5 + np.arange(200) % 3
    ours, peer = (module.DummyClassifier(**params).fit(X, y, sample_weight=w) for module in (assay, theirs))
    assert np.allclose(ours.predict_proba(X), peer.predict_proba(X))
    if params.get("strategy") != "uniform":
        assert np.array_equal(ours.predict(X), peer.predict(X))
    assert ours.certificate_.verify(X, y, w).holds


def test_classes_are_drawn_by_their_shares():
    X, y = uneven(4000, 2, 1)
    drawn = assay.DummyClassifier(strategy="stratified", random_state=3).fit(X, y)
    assert np.allclose(np.bincount(drawn.predict(X)) / 4000, drawn.class_prior_, atol=0.03)
    assert np.array_equal(drawn.predict(X), drawn.predict(X))


@pytest.mark.parametrize(
    "params",
    [{}, {"strategy": "median"}, {"strategy": "quantile", "quantile": 0.3}, {"strategy": "constant", "constant": 4.5}],
)
@pytest.mark.parametrize("n", [101, 200])
def test_numbers_are_answered_as_by_scikit_learn(params, n):
    X, y = lines(n, 3, 0)
    ours, peer = (module.DummyRegressor(**params).fit(X, y) for module in (assay, theirs))
    near = np.ptp(y) * 0.02 if params.get("strategy") == "quantile" else 1e-9  # there quantiles are interpolated
    assert np.allclose(ours.predict(X), peer.predict(X), atol=near)
    assert ours.certificate_.verify(X, y).holds


def test_what_is_missing_or_unknown_is_said():
    X, y = uneven(50, 2, 0)
    with pytest.raises(assay.errors.ParameterError, match="none of the classes"):
        assay.DummyClassifier(strategy="constant", constant=7).fit(X, y)
    with pytest.raises(assay.errors.ParameterError, match="quantile="):
        assay.DummyRegressor(strategy="quantile").fit(X, y)


@pytest.mark.parametrize("other", ["prior", "stratified", "uniform", "constant"])
def test_a_file_that_says_another_strategy_is_refused(other):
    X, y = uneven(60, 3, 0)
    model = assay.DummyClassifier(strategy="most_frequent", constant=0).fit(X, y)
    assert model.certificate_.verify(X, y).holds
    record = model.to_record()
    changed = replace(record, params={**record.params, "strategy": other})
    assert not assay.DummyClassifier.from_record(changed).certificate_.verify(X, y).holds


@pytest.mark.parametrize("model", [assay.Baseline(), assay.DummyClassifier(strategy="stratified")])
def test_a_file_of_shares_that_are_no_shares_is_refused(model):
    X, y = uneven(60, 3, 0)
    record = model.fit(X, y).to_record()
    changed = replace(record, arrays={**record.arrays, "class_prior_": record.arrays["class_prior_"] * 0.9})
    with pytest.raises(assay.errors.ModelFileError, match=r"add up to 0\.9"):
        type(model).from_record(changed)
