"""What a perceptron proves of itself holds on its rows, and nothing that was tampered with does."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from assay.errors import ConvergenceWarning, DataError
from assay.families.perceptron.check import StatedRun, _bound
from assay.families.perceptron.estimators import Perceptron
from assay.families.separability.separability import separability

SETTINGS = [
    {},
    {"order": "random"},
    {"order": "first-mistake"},
    {"order": "batch"},
    {"shuffle": True},
    {"variant": "averaged"},
    {"variant": "voted"},
    {"fit_intercept": False},
    {"eta0": 0.01, "init": [0.5, 1.0, -1.0, 0.0]},
    {"class_weight": {1: 3.0}},
]


def data(K=2, seed=0, gap=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3))
    Z = X @ rng.normal(size=(3, K))
    top = np.sort(Z, axis=1)
    keep = top[:, -1] - top[:, -2] > gap
    return X[keep], Z[keep].argmax(axis=1)


def noisy(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 2))
    return X, (X[:, 0] + rng.normal(size=100) > 0).astype(int)


def fitted(X, y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Perceptron(**settings).fit(X, y)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_novikoffs_bound_is_claimed_and_verified(settings):
    X, y = data()
    model = fitted(X, y, **settings)
    claim = model.certificate_["mistake bound"]
    assert model.converged_
    assert claim.holds
    assert claim.kind == "proof"
    assert claim.value <= claim.bound
    if "class_weight" not in settings and settings.get("order") != "batch":
        assert claim.value == pytest.approx(model.mistakes_)
    assert model.certificate_.verify(X, y).holds
    assert model.certify(X, y)["greatest margin: 1 from the rest"].holds
    assert model.certificate_.verify(X, y).holds


def test_the_bound_is_r_squared_over_gamma_squared_and_scale_free():
    X, y = data()
    model = Perceptron().fit(X, y)
    Z, s = np.column_stack([np.ones(len(X)), X]), 2 * y - 1
    w = np.append(model.intercept_, model.coef_[0])
    R, gamma = np.linalg.norm(Z, axis=1).max(), (s * (Z @ w)).min() / np.linalg.norm(w)
    claim = model.certificate_["mistake bound"]
    assert claim.bound == pytest.approx(R**2 / gamma**2)
    assert f"{gamma / R:.4g}"[:5] in claim.statement
    scaled = Perceptron(fit_intercept=False).fit(X[:, :], y).certificate_["mistake bound"]
    again = Perceptron(fit_intercept=False).fit(1024 * X, y).certificate_["mistake bound"]
    assert again.bound == pytest.approx(scaled.bound)


def test_three_classes_have_twice_the_bound():
    X, y = data(3)
    model = fitted(X, y)
    W, Z = np.column_stack([model.intercept_, model.coef_]), np.column_stack([np.ones(len(X)), X])
    S = Z @ W.T
    own = S[np.arange(len(y)), y].copy()
    S[np.arange(len(y)), y] = -np.inf
    gamma = (own - S.max(axis=1)).min() / np.linalg.norm(W)
    claim = model.certificate_["mistake bound"]
    assert claim.bound == pytest.approx(2 * (Z**2).sum(axis=1).max() / gamma**2)
    assert model.certificate_.verify(X, y).holds
    assert len(model.certify(X, y).claims) == len(model.certificate_.claims)


def test_the_bound_from_other_weights_than_zero_is_the_root_of_its_quadratic():
    start, unit = np.array([[3.0, -4.0]]), np.array([[0.6, 0.8]])
    plan = StatedRun([0, 1], np.ones(2), start, "cyclic", 0.5, 1.0, 0, 1, 1)
    M = _bound(plan, plan.eta, unit, 2.0, 0.1, False)
    a = float((start * unit).sum())
    assert 0.1 * 0.5 * M + a == pytest.approx(np.sqrt(25 + 4 * 0.25 * M))


def test_rows_that_cannot_be_separated_come_with_the_proof():
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    model = fitted(X, y)
    certificate = model.certificate_
    assert certificate["not separable: 1 from the rest"].holds
    assert certificate["mistakes left"].kind == "warning"
    assert certificate.verify(X, y).holds
    assert not certificate.verify(X, [0, 0, 0, 1]).holds


def test_large_tables_get_the_proof_from_certify(monkeypatch):
    import assay.families.perceptron.estimators as module

    monkeypatch.setattr(module, "CHEAP", 10)
    X, y = noisy()
    model = fitted(X, y, max_iter=3)
    assert all("separable" not in claim.name for claim in model.certificate_)
    model.certify(X, y)
    assert model.certificate_["not separable: 1 from the rest"].holds
    assert model.certificate_.verify(X, y).holds
    with pytest.raises(DataError, match="the rows of the fit"):
        fitted(X, y, max_iter=3).certify(X[::-1], y[::-1])
    again = type(model).from_record(model.to_record())
    assert again.certificate_.verify(X, y).holds


def test_a_run_too_long_to_replay_is_no_proof(monkeypatch):
    import assay.families.perceptron.claims as module

    monkeypatch.setattr(module, "MOST_CORRECTIONS", 3)
    X, y = data()
    model = fitted(X, y)
    claim = model.certificate_["mistake bound"]
    assert claim.kind == "estimate"
    assert "too many visits" in claim.statement
    assert model.certificate_.verify(X, y).holds
    lying = dataclasses.replace(claim, kind="proof")
    assert not dataclasses.replace(model.certificate_, claims=(lying,), own=None).verify(X, y).holds


def test_a_margin_that_rounding_could_hide_is_not_claimed():
    X = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, -1.0]])
    model = Perceptron(init=[0.0, 0.0, 1.0], fit_intercept=False).fit(X, [1, 1, 0])
    model2 = Perceptron(init=[0.0, 1.0, 0.0], fit_intercept=False).fit([[1.0, 5.0], [0.0, 1.0], [-1.0, 0.0]], [1, 1, 0])
    assert model.converged_
    assert model2.converged_
    assert [c.name for c in model2.certificate_] == ["replay", "mistakes left"]  # the second row lies on the border


@pytest.mark.parametrize("settings", SETTINGS[:7], ids=str)
def test_each_tampered_number_is_refused_by_the_checkers_alone(settings):
    X, y = data()
    certificate = fitted(X, y, **settings).certificate_
    for i, claim in enumerate(certificate.claims):
        for key, entry in claim.witness.items():
            if key in ("classes", "intercept", "replayed", "passes", "seed") or (
                key == "order" and claim.name != "replay"
            ):
                continue
            if isinstance(entry, np.ndarray) and claim.name == "mistakes left":
                continue  # other weights may be right on all rows too
            wrong = {**claim.witness, key: other(entry)}
            claims = [*certificate.claims]
            claims[i] = dataclasses.replace(claim, witness=wrong)
            assert not dataclasses.replace(certificate, claims=tuple(claims), own=None).verify(X, y).holds, (
                claim.name,
                key,
            )


def other(entry):
    if isinstance(entry, np.ndarray):
        wrong = entry.copy()
        wrong.flat[0] += 1 if wrong.dtype.kind == "i" else 0.01 + 0.01 * abs(wrong.flat[0])
        return wrong
    if isinstance(entry, str):
        return "batch" if entry != "batch" else "cyclic"
    return entry * 1.01 if isinstance(entry, float) else entry + 1


@pytest.mark.parametrize("settings", SETTINGS[:7], ids=str)
def test_a_file_with_altered_parts_is_refused_or_fails_verification(settings):
    from assay.errors import ModelFileError

    X, y = data()
    for name in Perceptron.layout:
        model = fitted(X, y, **settings)
        value = getattr(model, name, None)
        if value is None or name in ("sparse_", "votes_") or isinstance(value, str):
            continue
        changed = (not value) if isinstance(value, bool) else other(value)
        setattr(model, name, changed)
        try:
            again = Perceptron.from_record(model.to_record())
        except ModelFileError:
            continue
        tied = name not in ("converged_", "weight_", "n_iter_", "wrong_weight_")
        assert not again.certificate_.verify(X, y).holds or not tied, name


def test_other_rows_and_other_weights_are_refused():
    X, y = noisy()
    certificate = fitted(X, y, max_iter=3).certificate_
    assert certificate.verify(X, y).holds
    assert not certificate.verify(*noisy(1)).holds
    assert not certificate.verify(X, y, 1.0 + (np.arange(100) % 7 == 0)).holds


def test_sparse_rows_of_32_bits_are_measured_in_64():
    rng = np.random.default_rng(3)
    X, y = sp.csr_matrix(rng.standard_normal((6, 4)).astype(np.float32)), [0, 1, 2, 0, 1, 2]
    model = fitted(X, y, max_iter=200)
    verdicts = model.certificate_.verify(X, y)
    assert "perceptron_bound" in {claim.check for claim in model.certificate_}
    assert verdicts.holds, str(verdicts)


def test_a_perceptron_without_an_intercept_claims_the_notes_bound():
    rows, y = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -0.5], [-2.0, 1.0]]), np.array([1, 1, 0, 0])
    model = Perceptron(fit_intercept=False).fit(rows, y)
    certificate = model.certify(rows, y)
    bounds = [claim for claim in certificate.claims if claim.check == "separability_bound"]
    assert [claim.value for claim in bounds] == pytest.approx([separability(rows, y, fit_intercept=False).bound])
    assert certificate.verify(rows, y).holds


def test_a_random_start_is_close_to_zero_and_the_seeds():
    rows, y = np.array([[2.0, -1.0], [2.0, 1.0], [1.0, 3.0]]), np.array([1, 1, 0])
    first, again, other = (Perceptron(init="random", random_state=seed).fit(rows, y) for seed in (1, 1, 2))
    assert np.array_equal(first.start_, again.start_)
    assert not np.array_equal(first.start_, other.start_)
    assert 0 < np.abs(first.start_).max() < 0.1
    assert first.certificate_.verify(rows, y).holds


@pytest.mark.parametrize("weights", [None, [0.4, 0.3], [2.0, 2.0]])
def test_equal_steps_from_other_weights_than_zero_have_a_bound_whatever_the_rows_weigh(weights):
    X, y = np.array([[3.2, -6.0, -2.4], [3.2, 2.5, 3.6]]), np.array(["b", "a"])
    model = Perceptron(init=[-0.1, -1.7, 1.2, -0.4], class_weight="balanced").fit(X, y, weights)
    assert model.mistakes_ == 1
    claim = model.certificate_["mistake bound"]
    assert claim.holds
    assert model.certificate_.verify(X, y, weights).holds, model.certificate_.verify(X, y, weights)
