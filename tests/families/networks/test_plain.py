"""The definition of networks agrees with the lecture notes, with closed forms and with scikit-learn, and keeps far scores finite."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from assay.families.networks.architecture import ACTIVATIONS, Layer, NetworkShape, activated, losses, outputs, wrong

FORMULA = {
    "identity": lambda z: z,
    "relu": lambda z: max(0.0, z),
    "logistic": lambda z: 1.0 / (1.0 + math.exp(-z)),
    "tanh": math.tanh,
    "gelu": lambda z: 0.5 * z * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (z + 0.044715 * z**3))),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_units_do_what_their_formula_says(name):
    z = np.linspace(-8, 8, 161)
    np.testing.assert_allclose(activated(name, z), [FORMULA[name](t) for t in z], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_units_stay_finite_far_away(name):
    far = np.array([-1e4, -800.0, 0.0, 800.0, 1e4])
    assert np.isfinite(activated(name, far)).all()


def test_one_hidden_layer_is_the_form_of_the_lecture_notes():
    """f(x) = Σ_i α_i σ(w_i·x + w_{i,0}): no bias of the output."""
    rng = np.random.default_rng(0)
    w, w0, alpha, X = rng.normal(size=(6, 3)), rng.normal(size=6), rng.normal(size=6), rng.normal(size=(9, 3))
    due = [sum(alpha[i] * FORMULA["logistic"](w[i] @ x + w0[i]) for i in range(6)) for x in X]
    layers = [Layer(w.T, w0), Layer(alpha[:, None], np.zeros(1))]
    np.testing.assert_allclose(outputs(layers, "logistic", X)[:, 0], due, rtol=1e-13)
    assert not NetworkShape((3, 6, 1), "logistic", output_bias=False).drawn(rng)[-1].biases.any()


@pytest.mark.parametrize("activation", ["identity", "relu", "logistic", "tanh"])
@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_are_those_of_scikit_learn_with_the_same_weights(activation, classes):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 4)), np.arange(50) % classes
    peer = MLPClassifier((7, 5), activation=activation, max_iter=2, random_state=0)
    with pytest.warns(UserWarning, match="iterations"):
        peer.fit(X, y)
    F = outputs([Layer(W, b) for W, b in zip(peer.coefs_, peer.intercepts_)], activation, X)
    own = peer.predict_proba(X)[np.arange(50), y]
    np.testing.assert_allclose(losses("log", F, y), -np.log(own), rtol=1e-10)
    assert np.array_equal(wrong(F, y), peer.predict(X) != y)


def test_losses_by_hand():
    two = np.array([[0.5], [-2.0]])
    np.testing.assert_allclose(losses("log", two, np.array([1, 1])), np.log1p(np.exp([-0.5, 2.0])))
    np.testing.assert_allclose(losses("hinge", two, np.array([1, 0])), [0.5, 0.0])
    three = np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 1.5]])
    np.testing.assert_allclose(losses("hinge", three, np.array([0, 0])), [2.0, 0.0])
    np.testing.assert_allclose(losses("squared", three, np.zeros((2, 3))), [2.5, 5.625])
    np.testing.assert_allclose(losses("squared", two, np.array([1.0, 1.0])), [0.125, 4.5])
    np.testing.assert_allclose(losses("signs", two, np.array([1, 0])), [0.125, 0.5])
    np.testing.assert_allclose(losses("signs", three, np.array([0, 0])), [5.0, 5.625])


@pytest.mark.parametrize("outputs_", [1, 3])
def test_far_scores_have_finite_losses(outputs_):
    F = np.array([-1e5, 1e5])[:, None] * np.eye(outputs_)[0]
    for loss in ("log", "hinge"):
        found = losses(loss, F, np.array([0, 0]))
        assert np.isfinite(found).all()
        assert found.min() == 0.0
        assert found.max() >= 1e5
