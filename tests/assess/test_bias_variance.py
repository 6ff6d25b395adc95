"""The pieces add up to the loss exactly, and move as the notes say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeRegressor

import assay
from assay.assess import bias_variance
from assay.errors import ParameterError


class Polynomial:
    """Least squares on powers of one column."""

    def __init__(self, degree):
        self.degree = degree

    def __call__(self, X, y):
        fitted = Polynomial(self.degree)
        fitted.w = np.linalg.lstsq(X ** np.arange(self.degree + 1), y, rcond=None)[0]
        return fitted

    def predict(self, X):
        return X ** np.arange(self.degree + 1) @ self.w


def wave(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    f = np.sin(3 * X[:, 0])
    return X, f + 0.3 * rng.normal(size=n), f


def test_squared_pieces_add_up_to_the_mean_loss():
    (X, y, _), (X_new, y_new, f_new) = wave(60, 0), wave(300, 1)
    both = bias_variance(Polynomial(3), X, y, X_new, y_new, rounds=20)
    assert sum(s.value for s in both.pieces.values()) == pytest.approx(both.mean_loss.value, rel=1e-12)
    assert list(both.pieces) == ["bias² + noise", "variance"]
    known = bias_variance(Polynomial(3), X, y, X_new, y_new, rounds=20, f_test=f_new)
    assert list(known.pieces) == ["bias²", "noise", "cross", "variance"]
    assert sum(s.value for s in known.pieces.values()) == pytest.approx(known.mean_loss.value, rel=1e-12)
    assert known.pieces["noise"].value == pytest.approx(((y_new - f_new) ** 2).mean())
    assert known.pieces["noise"].low < 0.09 < known.pieces["noise"].high
    assert known.mean_loss == both.mean_loss
    json.dumps(known.to_data())


def test_richer_classes_have_less_bias_and_more_variance():
    (X, y, _), (X_new, y_new, f_new) = wave(40, 2), wave(500, 3)
    line, cubic, rich = (bias_variance(Polynomial(k), X, y, X_new, y_new, f_test=f_new) for k in (1, 3, 9))
    assert line.pieces["bias²"].value > 5 * cubic.pieces["bias²"].value
    assert line.variance.value < cubic.variance.value < rich.variance.value


def test_the_variance_of_a_mean_is_that_of_the_bootstrap():
    class Mean:
        def __init__(self, X, y):
            self.m = y.mean()

        def predict(self, X):
            return np.full(len(X), self.m)

    y = np.random.default_rng(4).normal(size=50)
    found = bias_variance(Mean, np.zeros((50, 1)), y, np.zeros((10, 1)), np.zeros(10), rounds=2000)
    assert found.variance.value == pytest.approx(y.var() / 50, rel=0.1)


def test_few_rounds_take_no_part_of_the_variance_for_bias():
    """A model that guesses N(0, 1) has bias 0 and variance 1; of two rounds' mean alone, bias² would be ½ and variance ½."""
    rng = np.random.default_rng(8)

    class Guess:
        def __init__(self, X, y): ...

        def predict(self, X):
            return rng.normal(size=len(X))

    zero = np.zeros(20_000)
    found = bias_variance(Guess, zero[:, None], zero, zero[:, None], zero, rounds=2, f_test=zero)
    assert found.variance.value == pytest.approx(1, abs=0.04)
    assert found.pieces["bias²"].value == pytest.approx(0, abs=0.04)
    assert sum(s.value for s in found.pieces.values()) == pytest.approx(found.mean_loss.value, rel=1e-12)


@pytest.mark.parametrize("K", [2, 4])
def test_zero_one_pieces_add_up_for_two_and_for_more_classes(K):
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(K, 2))
    y, y_new = rng.integers(0, K, 120), rng.integers(0, K, 300)
    X, X_new = centres[y] + rng.normal(size=(120, 2)), centres[y_new] + rng.normal(size=(300, 2))
    names = np.array(["a", "b", "c", "d"])
    fit = lambda X, y: KNeighborsClassifier(1).fit(X, y)  # noqa: E731
    found = bias_variance(fit, X, names[y], X_new, names[y_new], loss="zero_one", rounds=15)
    p = {name: s.value for name, s in found.pieces.items()}
    assert p["bias"] + p["unbiased variance"] - p["biased variance"] == pytest.approx(found.mean_loss.value, abs=1e-12)
    if K == 2:  # any departure from a wrong main answer is right
        assert p["unbiased variance"] + p["biased variance"] == pytest.approx(found.variance.value)
    stiff = bias_variance(lambda X, y: assay.GaussianNB().fit(X, y), X, names[y], X_new, names[y_new], loss="zero-one", rounds=15)  # fmt: skip
    assert stiff.variance.value < found.variance.value


def test_the_same_seed_gives_the_same_pieces_and_each_round_its_own_rows():
    (X, y, _), (X_new, y_new, _) = wave(60, 6), wave(100, 7)
    fit = lambda X, y: DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)  # noqa: E731
    a, b, c = (bias_variance(fit, X, y, X_new, y_new, rounds=5, seed=s) for s in (1, 1, 2))
    assert a == b != c
    assert a.variance.value > 0


def test_other_losses_and_single_rounds_are_refused():
    with pytest.raises(ParameterError, match="not of 'hinge'"):
        bias_variance(Polynomial(1), np.ones((3, 1)), np.ones(3), np.ones((3, 1)), np.ones(3), loss="hinge")
    with pytest.raises(ParameterError, match="rounds=1"):
        bias_variance(Polynomial(1), np.ones((3, 1)), np.ones(3), np.ones((3, 1)), np.ones(3), rounds=1)
