"""What a kernel perceptron proves of itself holds on its rows, and nothing that was tampered with does."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from cases import blobs, file_bytes, pairs

import assay
from assay.errors import ConvergenceWarning, ModelFileError
from assay.families.kernel.functions import Kernel
from assay.families.kernel.perceptron import claims as claims_module
from assay.families.kernel.perceptron.estimators import KernelPerceptron

SETTINGS = [
    {},
    {"order": "first-mistake", "max_iter": 100_000},
    {"shuffle": True},
    {"variant": "averaged"},
    {"kernel": "laplacian"},
    {"kernel": "poly", "degree": 3, "coef0": 1.0},
    {"class_weight": {1: 3.0}},
    {"budget": 1000},
]


def clean(K, n=150, seed=0):
    """Classes that a curve of second degree tells apart, with a gap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * n, 3))
    Z = np.column_stack([X, X**2]) @ rng.normal(size=(6, K))
    top = np.sort(Z, axis=1)
    keep = np.flatnonzero(top[:, -1] - top[:, -2] > 0.5)[:n]
    return X[keep], Z[keep].argmax(axis=1)


def fitted(X, y, w=None, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KernelPerceptron(**settings).fit(X, y, sample_weight=w)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_novikoffs_bound_holds_in_feature_space(settings, K, weighted):
    X, y = clean(K)
    w = 0.25 * (np.arange(150) % 5) if weighted else None
    model = fitted(X, y, w, **settings)
    assert model.converged_
    claim = model.certificate_["mistake bound"]
    assert (claim.holds, claim.kind) == (True, "proof")
    assert claim.value <= claim.bound
    if not weighted and "class_weight" not in settings:
        assert claim.value == pytest.approx(model.mistakes_)
    verdicts = model.certificate_.verify(X, y, w)
    assert verdicts.holds, str(verdicts)
    assert model.certificate_["replay"].value == model.mistakes_


def test_the_bound_is_that_of_radius_and_margin():
    X, y = clean(2)
    model = fitted(X, y)
    coef = np.zeros(150)
    coef[model.support_] = model.dual_coef_[0]
    K = model._kernel().block(X, X)
    gamma = ((2 * y - 1) * (K @ coef)).min() / np.sqrt(coef @ K @ coef)
    claim = model.certificate_["mistake bound"]
    assert claim.bound == pytest.approx(1 / gamma**2, rel=1e-6)
    assert claim.value == model.mistakes_ == np.abs(coef).sum()


def test_the_affine_kernel_has_the_bound_of_the_perceptron():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.sign(X[:, 0]) * 0.2
    mine, theirs = fitted(X, y, kernel="affine"), assay.Perceptron().fit(X, y)
    a, b = (m.certificate_["mistake bound"] for m in (mine, theirs))
    assert (a.value, a.bound) == (pytest.approx(b.value), pytest.approx(b.bound, rel=1e-6))


def test_rows_of_weight_zero_have_no_part_in_the_bound():
    X, y = clean(2)
    w = (np.arange(150) % 3 > 0).astype(float)
    X = np.where(w[:, None] > 0, X, 1e3 * X)
    given = Kernel("poly", 1.0, 2.0, 1.0).block(X, X)
    for rows, settings in ((X, {"kernel": "rbf", "gamma": 0.5}), (given, {"kernel": "precomputed"})):
        model = fitted(rows, y, w, **settings)
        assert "mistake bound" in [c.name for c in model.certificate_]
        verdicts = model.certificate_.verify(rows, y, w)
        assert verdicts.holds, str(verdicts)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_rows_far_from_zero_keep_their_digits(kernel):
    X, y = clean(2)
    X = 1e-3 * X + 500.0
    model = fitted(X, y, kernel=kernel)
    verdicts = model.certificate_.verify(X, y)
    assert verdicts.holds, str(verdicts)


def test_no_bound_is_claimed_where_none_holds():
    X, y = pairs(150, 4, 0)
    for settings in ({"max_iter": 1}, {"kernel": "sigmoid", "max_iter": 5}, {"budget": 10, "max_iter": 5}):
        model = fitted(X, y, **settings)
        names = [c.name for c in model.certificate_]
        assert "mistake bound" not in names
        assert model.certificate_["mistakes left"].kind == "warning"
        assert ("budget" in names) == ("budget" in settings)
        assert model.certificate_.verify(X, y).holds


def test_a_fit_that_did_not_end_says_how_many_rows_are_wrong():
    X, y = pairs(150, 4, 0)
    for variant in ("last", "averaged"):
        model = fitted(X, y, max_iter=2, variant=variant)
        claim = model.certificate_["mistakes left"]
        assert claim.value == pytest.approx(np.mean(model.predict(X) != y))
        assert f"wrong on {model.wrong_} of 150 rows" in claim.statement


def test_claims_of_a_users_function_are_estimates():
    X, y = clean(2)
    model = fitted(X, y, kernel=lambda A, B: np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2)))
    kinds = {c.name: c.kind for c in model.certificate_}
    assert kinds["mistake bound"] == kinds["decision values"] == "estimate"
    assert model.certificate_.verify(X, y).holds


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("settings", [{}, {"variant": "averaged"}, {"budget": 10, "max_iter": 5}], ids=str)
def test_every_altered_witness_is_refused_by_the_checks_alone(K, settings):
    X, y = clean(K)
    certificate = fitted(X, y, **settings).certificate_
    changes = {
        "last": lambda a: np.where(np.arange(a.shape[1]) == 3, a + 1, a),
        "coef": lambda a: np.where(np.arange(a.shape[1]) == 3, a + 0.3, a),
        "vectors": lambda a: a + 1e-9,
        "support": lambda a: a + 1,
        "factor": lambda a: a * 1.1,
        "values": lambda a: a * 1.001,
        "gamma": lambda v: v * 1.1,
        "margin": lambda v: v * 1.1,
        "radius": lambda v: v * 0.9,
        "mistakes": lambda v: v - 1000,
        "wrong": lambda v: v + 1,
        "weight": lambda v: v + 1,
        "rows": lambda v: v + 1,
        "visits": lambda v: v + 1,
        "order": lambda v: "first-mistake" if v != "first-mistake" else "cyclic",
        "seed": lambda v: v + 1,
        "budget": lambda v: v + 1,
        "classes": lambda v: v[::-1],
        "kernel": lambda v: "laplacian",
    }
    for i, claim in enumerate(certificate.claims):
        for name in changes.keys() & claim.witness.keys():
            needed = claim.check in ("kernel_perceptron_values", "kernel_perceptron_replay")
            if name in ("gamma", "kernel", "coef") and not needed:
                continue  # a count of mistakes needs no kernel, and the rows may be right all the same
            if name in ("seed", "budget") and "budget" not in settings:
                continue  # nothing is drawn
            other = changes[name](claim.witness[name])
            wrong = dataclasses.replace(claim, witness={**claim.witness, name: other})
            alone = dataclasses.replace(certificate, claims=(wrong,), own=None)
            assert not alone.verify(X, y).holds, (claim.name, name)
            claims = (*certificate.claims[:i], wrong, *certificate.claims[i + 1 :])
            assert not dataclasses.replace(certificate, claims=claims).verify(X, y).holds, (claim.name, name)


def test_rows_too_many_to_check_all_are_checked_in_part(monkeypatch):
    X, y = clean(2, 400)
    monkeypatch.setattr(claims_module, "MOST_VALUES", 1_000)
    model = fitted(X, y)
    claim = model.certificate_["mistakes left"]
    assert claim.kind == "estimate"
    assert claim.witness["every"] > 1
    assert "mistake bound" not in [c.name for c in model.certificate_]
    assert model.certificate_.verify(X, y).holds
    lying = dataclasses.replace(claim, kind="proof")
    assert not dataclasses.replace(model.certificate_, claims=(lying,), own=None).verify(X, y).holds


def test_a_file_whose_parts_do_not_belong_together_is_refused():
    X, y = blobs(120, 3, 0)
    for settings in ({}, {"variant": "averaged"}, {"budget": 50, "max_iter": 4}):
        model = fitted(X, y, **settings)
        assert file_bytes(type(model).from_record(model.to_record())) == file_bytes(model)
        changes = {
            "support_": model.support_[::-1].copy(),
            "seen_": int(model.support_[-1]),
            "support_vectors_": np.zeros((len(model.support_), 2)),
            "dual_coef_": model.dual_coef_[:2],
            "asked_": model.asked_ + 1000,
            "history_": "pieces",
            "gamma_": 0.0,
            "wrong_": 10**6,
            "weight_": 0.0,
            "class_factor_": np.array([1.0, 2.0, 1.0]),
        }
        if "variant" in settings:
            changes["drift_"] = model.drift_ + 1
        for name, other in changes.items():
            record = model.to_record()
            there = record.arrays if name in record.arrays else record.facts
            there[name] = other
            with pytest.raises(ModelFileError):
                type(model).from_record(record)
        record = model.to_record()
        record.params["budget"] = 2
        with pytest.raises(ModelFileError):
            type(model).from_record(record)


def test_a_class_without_weight_leaves_no_support_rows():
    model = assay.KernelPerceptron(class_weight={0: 0.0}).fit([[2.0], [-0.1]], [1, 0])
    assert model.certificate_.verify([[2.0], [-0.1]], [1, 0]).holds


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_rows_nearer_to_each_other_than_products_can_tell_are_told_apart(kernel):
    """gamma='median' follows rows that differ in their last digits, of which squares of the rows themselves leave nothing."""
    X = 449.0 + np.array([[-4.0], [0.0], [1e-12], [7e-13], [9e-13]])
    y = np.array([1, -1, -1, 1, -1])
    model = fitted(X, y, kernel=kernel, gamma="median", max_iter=30)
    far = np.abs(X.astype(np.longdouble) - X[model.support_, 0]) ** (2 if kernel == "rbf" else 1)
    due = np.exp(-np.longdouble(model.gamma_) * far) @ model.dual_coef_[0]
    assert model.decision_function(X) == pytest.approx(due.astype(float), abs=1e-9 * np.abs(model.dual_coef_).sum())
    assert model.certificate_["decision values"].witness["values"][:, 0] == pytest.approx(due.astype(float), abs=1e-6)
    assert model.certificate_.verify(X, y).holds


def test_decision_values_that_rounding_hides_are_not_stated():
    """Two coefficients of opposite sign leave the last digits of products alone."""
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    near, far = (fitted(X + away, y, kernel="linear", max_iter=1) for away in (1.0, 1e15))
    assert near.dual_coef_.tolist() == far.dual_coef_.tolist() == [[-1.0, 1.0]]
    assert "decision values" in {claim.name for claim in near.certificate_}
    assert "decision values" not in {claim.name for claim in far.certificate_}
    forged = dataclasses.replace(far.certificate_, claims=(claims_module._values(far, claims_module._witness(far)),))
    assert not forged.verify(X + 1e15, y).holds


def test_values_of_next_to_nothing_are_no_ties():
    """tanh of 1e-28 is 1e-28: a visit whose outcome it decides hangs on rounding, and the run is not said to be repeatable."""
    X, y = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1e14], [0.0, 1e14]]), np.array([0, 1, 2, 2])
    for budget in (None, 2):
        model = fitted(X, y, kernel="sigmoid", gamma=1e-28, budget=budget, max_iter=30)
        assert "replay" not in {claim.name for claim in model.certificate_}
        assert model.certificate_.verify(X, y).holds


def test_tiny_values_of_the_sigmoid_are_not_rounded_to_none():
    X, y = np.array([[3.5e-59], [1.76e-59], [1.7e-59], [1.75e-59]]), [3, 0, 1, 2]
    with pytest.warns(ConvergenceWarning):
        model = KernelPerceptron(kernel="sigmoid", gamma=715.0, max_iter=30).fit(X, y, [0.027, 0.051, 0.1, 0.002])
    assert model.asked_values_.any()
    np.testing.assert_allclose(model.asked_values_, model.decision_function(X), rtol=1e-9)
    verdicts = model.certificate_.verify(X, y, [0.027, 0.051, 0.1, 0.002])
    assert verdicts.holds, str(verdicts)


def test_rows_of_no_weight_hide_no_decision_values_of_a_given_matrix():
    K, y = np.zeros((6, 6)), np.array(list("ababcc"))
    K[4:, 4:] = 1.0
    model = KernelPerceptron(kernel="precomputed", order="first-mistake", max_iter=30, class_weight={"c": 0.0})
    with pytest.warns(ConvergenceWarning):
        model.fit(K, y)
    assert model.certificate_.verify(K, y).holds, str(model.certificate_.verify(K, y))


def test_a_replayed_score_without_terms_is_zero():
    from assay.families.kernel.perceptron.check import KernelReplay, ReplayRows, StatedMachine

    X, y = np.array([[0.3], [1.0], [2.0], [5.0]]), np.array([0, 1, 0, 1])
    claim = KernelPerceptron(kernel="rbf", gamma=1.0).fit(X, y).certificate_["replay"]
    table = ReplayRows(X, y, np.ones(4), [4])
    run = KernelReplay(claim, table, StatedMachine.of(claim, table, "last"))
    for i, step in ((0, 0.1), (1, 0.2), (2, 0.7)):
        run._add(i, np.array([step]))
    for i in range(3):
        run._add(i, -run.coef[:, i])
    assert not run.S.any()
