"""The .632+ bootstrap: closed cases, and what the paper says of it."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import DataError, ParameterError
from assay.select.bootstrap import bootstrap_risk, combine, no_information_risk


def nearest_neighbour(X, y):
    """fit(rows) of the 1-nearest-neighbour rule."""

    def fit(train):
        def predict(rows):
            far = ((X[rows][:, None] - X[train][None]) ** 2).sum(axis=2)
            return y[train][far.argmin(axis=1)]

        return predict

    return fit


def nearest_mean(X, y):
    def fit(train):
        centres = np.array([X[train][y[train] == k].mean(axis=0) for k in (0, 1)])
        return lambda rows: ((X[rows][:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)

    return fit


def test_on_pure_noise_632_is_far_too_hopeful_and_632_plus_is_not():
    y = np.arange(120) % 2
    tables = [np.random.default_rng(t).standard_normal((120, 3)) for t in range(20)]
    found = [bootstrap_risk(nearest_neighbour(X, y), y, rounds=30) for X in tables]
    assert {f.apparent for f in found} == {0.0}  # each row is its own nearest neighbour
    assert {f.no_information for f in found} == {0.5}
    assert np.mean([f.err632 for f in found]) == pytest.approx(0.316, abs=0.02)
    assert np.mean([f.err632plus for f in found]) == pytest.approx(0.48, abs=0.04)  # min(Err1, γ) never exceeds 0.5
    assert np.mean([f.overfitting for f in found]) > 0.9


def test_a_constant_answer_has_its_own_risk_under_every_estimate():
    y = np.repeat([0, 1], [30, 10])
    found = bootstrap_risk(lambda train: lambda rows: np.zeros(len(rows), dtype=int), y, rounds=400)
    assert found.apparent == found.no_information == 0.25
    assert found.err632plus == pytest.approx(0.25, abs=1e-9)
    assert found.err632 == pytest.approx(0.25, abs=1e-9)


def test_the_estimates_lie_between_the_apparent_risk_and_no_information():
    for apparent, left_out, gamma in [(0.1, 0.2, 0.5), (0.0, 0.6, 0.5), (0.3, 0.2, 0.5), (0.2, 0.3, 0.2)]:
        plus, _, R = combine(apparent, left_out, gamma)
        assert min(apparent, left_out) - 1e-12 <= plus <= max(apparent, gamma) + 1e-12
        assert 0 <= R <= 1
    assert combine(0.1, 0.1, 0.5)[:2] == pytest.approx((0.1, 0.1))  # no overfitting: all agree


@pytest.mark.parametrize("loss", ["zero-one", "squared"])
def test_no_information_is_the_mean_over_all_pairs(loss):
    rng = np.random.default_rng(1)
    y, answers = rng.integers(0, 4, (2, 50)).astype(float)
    pairs = y[:, None] != answers if loss == "zero-one" else (y[:, None] - answers) ** 2
    assert no_information_risk(y, answers, loss) == pytest.approx(pairs.mean())


def test_labels_may_be_words():
    y = np.array(["cat", "dog"] * 10)
    found = bootstrap_risk(lambda train: lambda rows: y[rows], y, rounds=10)
    assert found.err632plus == 0.0
    assert found.no_information == 0.5


def test_the_standard_error_is_about_the_spread_over_fresh_tables():
    estimates, errors = [], []
    for t in range(60):
        rng = np.random.default_rng(t)
        y = np.arange(60) % 2
        X = rng.standard_normal((60, 2)) + 0.8 * y[:, None]
        found = bootstrap_risk(nearest_mean(X, y), y, rounds=60)
        estimates.append(found.err632plus)
        errors.append(found.standard_error)
    true_risk = 0.286  # Φ(−0.8·√2 / 2)
    assert np.mean(estimates) == pytest.approx(true_risk, abs=0.03)
    assert 0.6 < np.mean(errors) / np.std(estimates) < 1.7
    inside = np.abs(np.array(estimates) - true_risk) < 1.96 * np.array(errors)
    assert inside.mean() > 0.8


def test_squared_loss_of_the_mean_is_the_variance():
    y = np.random.default_rng(3).standard_normal(200) * 2
    found = bootstrap_risk(lambda train: lambda rows: np.full(len(rows), y[train].mean()), y, rounds=50, loss="squared")
    assert found.apparent == pytest.approx(y.var())
    assert found.err632plus == pytest.approx(y.var(), rel=0.02)
    plain = np.std((y - y.mean()) ** 2) / np.sqrt(200)
    assert found.standard_error == pytest.approx(plain, rel=0.9)
    assert found.standard_error >= 0.9 * plain


def test_the_same_seed_gives_the_same_bits():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((40, 2)), np.arange(40) % 2
    first, again, other = (bootstrap_risk(nearest_neighbour(X, y), y, rounds=9, seed=s) for s in (1, 1, 2))
    assert first == again != other


def test_what_cannot_be_estimated_is_refused():
    with pytest.raises(ParameterError, match="at least 2"):
        bootstrap_risk(lambda rows: lambda r: r, np.zeros(9), rounds=1)
    with pytest.raises(ParameterError, match="no loss 'hinge'"):
        bootstrap_risk(lambda rows: lambda r: r, np.zeros(9), loss="hinge")
    with pytest.raises(DataError, match="2 rows"):
        bootstrap_risk(lambda rows: lambda r: r, np.zeros(2))
    with pytest.raises(DataError, match="shape"):
        bootstrap_risk(lambda rows: lambda r: r[:1], np.zeros(9))
