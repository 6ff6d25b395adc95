"""Losses and empirical risk: their formulas, their laws, and every kind of predictor."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import hinge_loss, log_loss

import assay
from assay.engines import ArrayRows
from assay.errors import DataError, ParameterError
from assay.risk import HAMMING, HINGE, LOG, LOSSES, PERCEPTRON, SQUARED, ZERO_ONE, custom, empirical_risk

Z = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
Y = np.array([1, 1, -1, -1, 1])


def data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, "yes", "no")


def test_losses_are_their_formulas():
    np.testing.assert_array_equal(ZERO_ONE.value(["a", "b"], ["a", "a"]), [0, 1])
    np.testing.assert_array_equal(HAMMING.value([[1, 0], [1, 1]], [[1, 1], [1, 1]]), [0.5, 0])
    np.testing.assert_array_equal(SQUARED.value([1.0, 4.0], [1, 2]), [0, 4])
    np.testing.assert_array_equal(HINGE.value(Z, Y), np.maximum(0, 1 - Y * Z))
    np.testing.assert_array_equal(PERCEPTRON.value(Z, Y), np.maximum(0, -Y * Z))
    np.testing.assert_allclose(LOG.value(Z, Y), np.log1p(np.exp(-Y * Z)))
    np.testing.assert_allclose(LOG.value([[0.25, 0.75]], ["b"], classes=["a", "b"]), -np.log(0.75))


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_no_loss_is_negative_and_far_scores_stay_finite(name):
    values = (
        LOSSES[name].value(np.array([-1e300, -1.0, 1.0, 1e3]), np.array([-1, 1, -1, 1])) if name != "squared" else [0.0]
    )
    assert np.all(np.asarray(values) >= 0)
    assert np.isfinite(values).all()


def test_margin_losses_take_any_two_classes():
    words = np.where(Y == 1, "yes", "no")
    np.testing.assert_array_equal(HINGE.value(Z, words), HINGE.value(Z, Y))
    np.testing.assert_array_equal(HINGE.value(Z[:2], words[:2], classes=["no", "yes"]), HINGE.value(Z[:2], Y[:2]))
    with pytest.raises(DataError, match="two classes, but there are 3"):
        HINGE.value(Z[:3], [0, 1, 2])
    with pytest.raises(DataError, match="none of the classes"):
        HINGE.value(Z[:2], ["no", "maybe"], classes=["no", "yes"])


def test_a_custom_loss_is_held_to_the_laws_of_a_loss():
    assert empirical_risk(lambda X: X[:, 0], np.array([[1.0], [4.0]]), [1.0, 2.0], loss=lambda p, y: abs(p - y)) == 1.0
    with pytest.raises(ParameterError, match=r"ℓ\(.*-1.0.*0.0.*\) is -1.*≥ 0"):
        custom(lambda p, y: p - y)
    with pytest.raises(ParameterError, match="right prediction must cost nothing"):
        custom(lambda p, y: (p - y) ** 2 + 1)
    with pytest.raises(ParameterError, match="one number a row"):
        custom(lambda p, y: 0.0)
    late = custom(lambda p, y: np.where(y == 7, -1.0, (p - y) ** 2))
    with pytest.raises(ParameterError, match=r"7\.0"):
        late.value([1.0], [7.0])
    assert custom(lambda p, y: p != y, samples=["a", "b"]).value(["a"], ["b"])[0] == 1


def test_risk_is_the_mean_loss_and_weights_are_repetitions():
    X, y = data()
    model = assay.GaussianNB().fit(X, y)
    assert empirical_risk(model, X, y) == pytest.approx(1 - model.score(X, y))
    w = np.random.default_rng(1).integers(0, 3, len(y))
    twice = empirical_risk(model, np.repeat(X, w, axis=0), np.repeat(y, w))
    assert empirical_risk(model, X, y, sample_weight=w) == pytest.approx(twice)


def test_risk_agrees_with_scikit_learn_for_its_own_models():
    X, y = data()
    model = LogisticRegression().fit(X, y)
    assert empirical_risk(model, X, y, "log") == pytest.approx(log_loss(y, model.predict_proba(X)))
    assert empirical_risk(model, X, y, "hinge") == pytest.approx(hinge_loss(y, model.decision_function(X)))
    assert empirical_risk(model.decision_function, X, y, "hinge") == pytest.approx(empirical_risk(model, X, y, "hinge"))


@pytest.mark.parametrize("engine", ["threads", "stream"])
def test_risk_over_blocks_is_the_risk_in_memory(engine):
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(70_000, 40)), rng.uniform(0, 1, 70_000)
    y = X[:, 0] + rng.normal(size=70_000)
    model = assay.LinearRegression().fit(X, y)
    whole = empirical_risk(model, X, y, "squared", w)
    with assay.engine(engine, workers=2):
        assert empirical_risk(model, ArrayRows(X, y, w), loss="squared") == pytest.approx(whole, rel=1e-12)
    names = tuple(f"c{j}" for j in range(40))
    named = assay.LinearRegression().fit(ArrayRows(X, y, w, names=names))
    assert empirical_risk(named, ArrayRows(X, y, names=names), loss="squared") == pytest.approx(1, rel=0.05)


def test_what_cannot_be_measured_is_refused():
    X, y = data()
    model = assay.LinearRegression().fit(X, (y == "yes").astype(float))
    with pytest.raises(ParameterError, match="needs decision_function"):
        empirical_risk(model, X, y, "hinge")
    with pytest.raises(ParameterError, match="Did you mean 'squared'"):
        empirical_risk(model, X, y, "sqared")
    with pytest.raises(ParameterError, match="neither a name"):
        empirical_risk(model, X, y, 3)
    with pytest.raises(DataError, match="true targets"):
        empirical_risk(model, X)
    with pytest.raises(DataError, match="have no target"):
        empirical_risk(model, ArrayRows(X), loss="squared")
    with pytest.raises(DataError, match="weights are zero"):
        empirical_risk(model, X, np.zeros(len(X)), "squared", np.zeros(len(X)))
    with pytest.raises(DataError, match="≥ 0"):
        empirical_risk(model, X, np.zeros(len(X)), "squared", np.full(len(X), -1.0))
    with pytest.raises(DataError, match="cannot be compared"):
        empirical_risk(model, X, np.zeros(len(X) - 1), "squared")
