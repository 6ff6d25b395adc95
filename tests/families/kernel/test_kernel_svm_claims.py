"""Claims of kernel SVMs: true ones are established, and whatever is changed in their witness is refused."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest
from kernel_machines import svc, svr

from assay.certify import Certificate
from assay.families.kernel.functions import Kernel
from assay.families.kernel.svm.claims import svc_claims, svr_claims

INF = float("inf")
rng = np.random.default_rng(0)
N = 90
X = rng.normal(size=(N, 3))
SCORE = X[:, 0] + X[:, 1] ** 2
Y = np.array(["no", "yes"])[(SCORE + 0.5 * rng.normal(size=N) > 0.7).astype(int)]
Y4 = np.digitize(SCORE + 0.3 * rng.normal(size=N), [-0.2, 0.6, 1.5]) * 10
APART = (SCORE > 0.7).astype(int)
NUMBERS = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=N)
W = np.where(np.arange(N) % 7 == 0, 0.0, rng.uniform(0.2, 3, N))
RBF, POLY = Kernel("rbf", 0.4), Kernel("poly", 0.5, 2.0, 1.0)
GRAM = Kernel("precomputed")
K_X = RBF.block(X, X)


def own(A, B):
    return (1.0 + A @ B.T) ** 2


#: how to fit, the rows, the target, the weights
MODELS = {
    "two classes": (lambda: svc(X, Y, RBF, 2.0), X, Y, None),
    "linear": (lambda: svc(X, Y, Kernel("linear"), 0.3), X, Y, None),
    "laplacian": (lambda: svc(X, Y, Kernel("laplacian", 0.3)), X, Y, None),
    "weights": (lambda: svc(X, Y, RBF, 2.0, w=W), X, Y, W),
    "class weights": (lambda: svc(X, Y, RBF, 2.0, factor=np.array([0.5, 3.0])), X, Y, None),
    "one against one": (lambda: svc(X, Y4, RBF, 2.0), X, Y4, None),
    "one against the rest": (lambda: svc(X, Y4, POLY, 2.0, w=W, multi_class="ovr"), X, Y4, W),
    "weighted pairs": (lambda: svc(X, Y4, POLY, 5.0, w=W, factor=np.array([1.0, 2.0, 0.5, 1.0])), X, Y4, W),
    "hard": (lambda: svc(X, APART, POLY, INF), X, APART, None),
    "hard pairs": (lambda: svc(X, Y4, Kernel("rbf", 3.0), INF), X, Y4, None),
    "precomputed": (lambda: svc(K_X, Y, GRAM, 2.0, w=W), K_X, Y, W),
    "own": (lambda: svc(X, Y, Kernel("own", own=own), 0.5), X, Y, None),
    "loose": (lambda: svc(X, Y, RBF, 2.0, target=1e-2, tol=1e-2), X, Y, None),
    "numbers": (lambda: svr(X, NUMBERS, RBF, 3.0), X, NUMBERS, None),
    "weighted numbers": (lambda: svr(X, NUMBERS, RBF, 3.0, 0.05, w=W), X, NUMBERS, W),
    "precomputed numbers": (lambda: svr(K_X, NUMBERS, GRAM), K_X, NUMBERS, None),
}


@cache
def claims_of(name):
    model = MODELS[name][0]()
    return svc_claims(model) if hasattr(model, "classes_") else svr_claims(model)


def verdicts(name, claims=None, rows=None):
    _, data, y, w = MODELS[name]
    return Certificate(claims_of(name) if claims is None else tuple(claims)).verify(*(rows or (data, y, w)))


def tampered(claim, **witness):
    return dataclasses.replace(claim, witness={**claim.witness, **witness})


@pytest.mark.parametrize("name", MODELS)
def test_true_claims_are_established(name):
    found = verdicts(name)
    assert all(claim.holds for claim in claims_of(name))
    assert found.holds, str(found)


@pytest.mark.parametrize("name", MODELS)
def test_there_are_the_claims_that_there_should_be(name):
    names = [claim.name for claim in claims_of(name)]
    assert names[:2] == ["duality gap", "KKT"]
    assert ("margin" in names) == ("numbers" not in name)
    assert ("leave-one-out error" in names) == ("numbers" not in name and "pairs" not in name and "against" not in name)


#: what is changed in a witness, and how
CHANGES = {
    "dual_coef": 0.9,
    "intercept": 1.1,
    "objective": 1 - 1e-2,
    "dual_objective": 1 + 1e-2,
    "upper": 0.5,
    "support_vectors": 1.01,
    "gamma": 1.1,
    "epsilon": 1.2,
}
NOT_OF = {  # what a claim states nothing about
    "KKT": ("objective", "dual_objective"),
    "margin": ("objective", "dual_objective", "intercept"),
    "leave-one-out error": ("objective", "dual_objective"),
}


@pytest.mark.parametrize("key", CHANGES)
@pytest.mark.parametrize("name", MODELS)
def test_every_number_of_every_witness_is_checked(name, key):
    for claim in claims_of(name):
        right = claim.witness.get(key)
        if right is None or not np.size(right) or not np.any(right) or key in NOT_OF.get(claim.name, ()):
            continue
        if np.isinf(right).any() or (key == "gamma" and claim.witness["kernel"] in ("linear", "precomputed", "own")):
            continue
        wrong = np.array(right, dtype=float)
        wrong.flat[int(np.argmax(np.abs(wrong)))] *= CHANGES[key]
        assert not verdicts(name, [tampered(claim, **{key: wrong})]).holds, claim.name


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("bad", [np.nan, INF, -INF, 1e308])
def test_numbers_that_are_none_prove_nothing(name, bad):
    for claim in claims_of(name):
        for key, right in claim.witness.items():
            if not isinstance(right, np.ndarray) or right.dtype.kind != "f" or not right.size:
                continue
            if key in NOT_OF.get(claim.name, ()) or (key == "upper" and np.isinf(right).any() and bad == INF):
                continue
            if claim.name == "margin" and bad == 1e308 and key == "upper":
                continue  # how dear errors are is nothing to the margin of a hyperplane
            wrong = right.copy()
            wrong.flat[0] = bad
            assert not verdicts(name, [tampered(claim, **{key: wrong})]).holds, (claim.name, key)


@pytest.mark.parametrize("name", MODELS)
def test_arrays_of_another_shape_prove_nothing(name):
    for claim in claims_of(name):
        for key in ("support", "support_vectors", "dual_coef", "intercept", "upper", "n_support"):
            right = claim.witness.get(key)
            if right is None or not right.size:
                continue
            for wrong in (right[..., :-1], right[:0], np.zeros((2, 2, 2))):
                assert not verdicts(name, [tampered(claim, **{key: wrong})]).holds, (claim.name, key)


@pytest.mark.parametrize("name", MODELS)
def test_other_support_rows_are_refused(name):
    for claim in claims_of(name):
        right = claim.witness["support"]
        for wrong in (right[::-1].copy(), right + 1, right - N, np.zeros_like(right), right.astype(float)):
            assert not verdicts(name, [tampered(claim, support=wrong)]).holds, claim.name


@pytest.mark.parametrize("name", MODELS)
def test_what_is_stated_is_what_is_found(name):
    for claim in claims_of(name):
        shift = 0.5 if claim.bound is None else claim.bound
        stated = dataclasses.replace(claim, value=claim.value + shift)
        if not (claim.name == "KKT" and "hard" in name):  # stated as an upper bound there
            assert not verdicts(name, [stated]).holds, claim.name
        assert not verdicts(name, [dataclasses.replace(claim, value=None)]).holds
        assert not verdicts(name, [dataclasses.replace(claim, holds=False)]).holds


@pytest.mark.parametrize("tolerance", [0.5, 0.0, -1.0, INF, np.nan])
@pytest.mark.parametrize("name", ["two classes", "hard", "numbers"])
def test_a_tolerance_that_says_nothing_is_refused(name, tolerance):
    for claim in claims_of(name):
        if claim.bound is not None:
            changed = dataclasses.replace(tampered(claim, tolerance=tolerance), bound=tolerance)
            assert not verdicts(name, [changed]).holds
            assert not verdicts(name, [dataclasses.replace(claim, bound=0.05)]).holds


@pytest.mark.parametrize("name", [name for name in MODELS if "precomputed" not in name])
def test_other_rows_are_refused(name):
    _, data, y, w = MODELS[name]
    flipped = y.copy()
    flipped[:20] = y[-20:]
    for rows in ((data, flipped, w), (data + 0.01, y, w), (data[1:], y[1:], None if w is None else w[1:])):
        assert not verdicts(name, rows=rows).holds
    heavier = np.ones(N) if w is None else w.copy()
    heavier *= 3.0
    if "hard" not in name:
        assert not verdicts(name, claims_of(name)[:1], (data, y, heavier)).holds


def test_a_fit_that_did_not_converge_does_not_become_one_by_saying_so():
    model = svc(X, Y, RBF, 50.0, target=1e-2, tol=1e-6)
    claim = svc_claims(model)[0]
    assert model.gap_[0] > 1e-6
    assert not claim.holds
    assert not Certificate((dataclasses.replace(claim, holds=True, value=0.0),)).verify(X, Y).holds
    assert not Certificate((dataclasses.replace(claim, holds=True),)).verify(X, Y).holds


def test_multipliers_must_balance_and_keep_their_bounds():
    claim = claims_of("two classes")[0]
    beta = claim.witness["dual_coef"]
    free = int(np.argmax(np.minimum(np.abs(beta[0]), 2.0 - np.abs(beta[0]))))
    for change in (1e-6, -1e-6):
        wrong = beta.copy()
        wrong[0, free] += change
        found = verdicts("two classes", [tampered(claim, dual_coef=wrong)])
        assert not found.holds
        assert "balance" in str(found)
    assert "bounds" in str(verdicts("two classes", [tampered(claim, dual_coef=beta * 1.01)]))
    assert "bounds" in str(verdicts("two classes", [tampered(claim, dual_coef=-beta)]))


def test_the_margin_of_a_hard_margin_is_the_least_distance_of_a_row():
    model = MODELS["hard"][0]()
    beta, Z = model.dual_coef_[0], model.support_vectors_
    length = np.sqrt(beta @ POLY.block(Z, Z) @ beta)
    far = np.abs(POLY.block(X, Z) @ beta + model.intercept_[0]) / length
    margin = next(claim for claim in claims_of("hard") if claim.name == "margin")
    assert margin.value == pytest.approx(far.min(), rel=1e-6)
    assert margin.value == pytest.approx(1 / length, rel=1e-6)


def test_the_leave_one_out_error_is_below_what_is_claimed():
    for name, target, kernel, C in (("two classes", Y, RBF, 2.0), ("hard", APART, POLY, INF)):
        wrong = 0
        for i in range(N):
            rest = np.delete(np.arange(N), i)
            left = svc(X[rest], target[rest], kernel, C)
            score = kernel.block(X[i : i + 1], left.support_vectors_) @ left.dual_coef_[0] + left.intercept_[0]
            wrong += left.classes_[int(score[0] > 0)] != target[i]
        claim = claims_of(name)[-1]
        assert claim.name == "leave-one-out error"
        assert claim.kind == "estimate"
        assert wrong / N <= claim.value < 1


def test_free_rows_of_small_multiplier_do_not_count_under_a_kernel_that_is_at_most_one():
    model = svc(X, APART, Kernel("rbf", 3.0), 100.0)
    small = np.abs(model.dual_coef_[0]) < 0.5
    assert small.any()
    *_, claim = svc_claims(model)
    assert claim.value == pytest.approx((~small).sum() / N)
    assert Certificate((claim,)).verify(X, APART).holds


def test_a_kernel_without_a_feature_space_makes_no_proof_of_a_gap():
    model = svc(X, Y, Kernel("sigmoid", 0.2, 3.0, 0.0), 0.5)
    first, kkt = svc_claims(model)
    assert (first.name, first.kind, kkt.name) == ("stationary point", "warning", "KKT")
    assert Certificate((first, kkt)).verify(X, Y).holds
    assert not Certificate((dataclasses.replace(first, kind="proof"),)).verify(X, Y).holds


def test_a_given_matrix_that_is_not_positive_semidefinite_proves_nothing():
    K = K_X - 0.5 * np.eye(N)
    model = svc(K, Y, GRAM, 0.01)
    found = Certificate(svc_claims(model)).verify(K, Y)
    assert not found.holds
    assert "not positive semidefinite" in str(found)


def test_one_pass_over_the_rows_serves_all_claims(monkeypatch):
    from assay.families.kernel.svm.check import sums as check

    calls = []
    real = check.bounded_sums
    monkeypatch.setattr(check, "bounded_sums", lambda *args: calls.append(1) or real(*args))
    assert verdicts("two classes").holds
    assert len(calls) == 2  # one a class
