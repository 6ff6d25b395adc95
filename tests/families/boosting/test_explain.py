"""What columns add to a boosted score adds up to the score."""

from __future__ import annotations

import numpy as np
import pytest

import assay

RNG = np.random.default_rng(7)
X = RNG.normal(size=(300, 4))
X[::17, 2] = np.nan
NUMBERS = np.where(np.isnan(X[:, 2]), 1.0, X[:, 0] * X[:, 1])


def _scores(model, rows):
    return model.predict(rows) if isinstance(model, assay.GradientBoostingRegressor) else model.decision_function(rows)


@pytest.mark.parametrize(
    "model",
    [
        assay.GradientBoostingRegressor(n_estimators=20).fit(X, NUMBERS),
        assay.GradientBoostingClassifier(n_estimators=20).fit(X, NUMBERS > 0.2),
        assay.GradientBoostingClassifier(n_estimators=20).fit(X, np.digitize(NUMBERS, [-0.3, 0.3])),
    ],
    ids=["numbers", "two classes", "three classes"],
)
@pytest.mark.parametrize("background", [None, X[:20]], ids=["by shares", "against rows"])
def test_shap_values_and_their_base_add_up_to_the_scores(model, background):
    values = model.shap_values(X[:50], background)
    base = model.shap_base_ if background is None else _scores(model, background).mean(axis=0)
    np.testing.assert_allclose(values.sum(axis=1) + base, _scores(model, X[:50]), rtol=0, atol=1e-9)


def test_contributions_of_boosting_are_its_shap_values():
    model = assay.GradientBoostingRegressor(n_estimators=5).fit(X, NUMBERS)
    base, added = model.contributions(X[:9])
    assert base == model.shap_base_
    assert np.array_equal(added, model.shap_values(X[:9]))


def test_the_check_adds_up_by_itself_and_refuses_values_of_other_rows():
    model = assay.GradientBoostingClassifier(n_estimators=5).fit(X, np.digitize(NUMBERS, [-0.3, 0.3]))
    for background in (None, X[100:110]):
        stated = model.shap_certificate(X[:30], background)
        assert np.array_equal(stated["SHAP values"].witness["values"], model.shap_values(X[:30], background))
        assert stated.verify(X[:30]).holds
        assert not stated.verify(X[30:60]).holds
        assert not stated.verify(X[:29]).holds
