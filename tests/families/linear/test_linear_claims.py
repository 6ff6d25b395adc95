"""The certificates of linear models: honest ones are established, on every engine; tampered ones are refused."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse

import assay
from assay.certify import Certificate

INF = float("inf")
rng = np.random.default_rng(0)
N, D = 200, 4
X = np.where(rng.random((N, D)) < 0.8, rng.normal(size=(N, D)), 0.0)
SCORE = X @ np.array([1.0, -2.0, 0.5, 0.0])
Y = (SCORE + rng.logistic(size=N) > 0.3).astype(int)
Y3 = np.digitize(SCORE + rng.logistic(size=N), [-1, 1])
APART = (SCORE > 0.2).astype(int)
TOUCH = np.where(np.arange(N) % 40 == 0, 1, Y)
DUMMY = np.column_stack([X, np.arange(N) % 40 == 0])
W = rng.uniform(0.2, 2, N)

LR, SVC = assay.LogisticRegression, assay.LinearSVC
MODELS = {
    "log": (LR(), X, Y),
    "log l1": (LR(l1_ratio=0.5, C=0.5), X, Y),
    "log without intercept": (LR(fit_intercept=False), X, Y),
    "softmax": (LR(), X, Y3),
    "softmax l1": (LR(l1_ratio=1.0, C=0.5), X, Y3),
    "unpenalised": (LR(C=INF), X, Y),
    "unpenalised softmax": (LR(C=INF), X, Y3),
    "separable": (LR(C=INF), X, APART),
    "touching": (LR(C=INF), DUMMY, TOUCH),
    "squared hinge": (SVC(), X, Y),
    "squared hinge of three": (SVC(class_weight="balanced"), X, Y3),
    "hinge": (SVC(loss="hinge"), X, Y),
    "hinge of three": (SVC(loss="hinge"), X, Y3),
    "hinge l1": (SVC(loss="hinge", penalty="l1", C=0.5), X, Y),
    "hinge by its dual": (SVC(loss="hinge", solver="dual-coordinate", intercept_scaling=1.0, max_iter=5000), X, Y),
    "hard margin": (SVC(C=INF), X, APART),
}


def fitted(name, weight=None, rows=None):
    model, data, y = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", assay.errors.SeparableWarning)
        return type(model)(**model.get_params()).fit(data if rows is None else rows, y, weight), data, y


def changed(certificate: Certificate, claim: str, **parts) -> Certificate:
    """The certificate on its own (no model to compare it with) with one claim changed."""
    claims = tuple(dataclasses.replace(c, **parts) if c.name == claim else c for c in certificate.claims)
    return dataclasses.replace(certificate, claims=claims, own=None)


def tampered(certificate: Certificate, claim: str, **witness) -> Certificate:
    return changed(certificate, claim, witness={**certificate[claim].witness, **witness})


def verdict(certificate, claim, *rows):
    return next(v for v in certificate.verify(*rows) if v.claim == claim)


@pytest.mark.parametrize("name", MODELS)
def test_honest_claims_are_established(name):
    for weight in (None, W):
        model, data, y = fitted(name, weight)
        assert model.certificate_.holds
        for certificate in (model.certificate_, dataclasses.replace(model.certificate_, own=None)):
            verdicts = certificate.verify(data, y, weight)
            assert verdicts.holds, str(verdicts)


@pytest.mark.parametrize("name", MODELS)
def test_claims_hold_for_sparse_rows_and_out_of_core(name):
    model, data, y = fitted(name, rows=scipy.sparse.csr_matrix(MODELS[name][1].astype(float)))
    for rows in (scipy.sparse.csr_matrix(data.astype(float)), data):
        verdicts = model.certificate_.verify(rows, y)
        assert verdicts.holds, str(verdicts)
    with assay.engine("stream", workers=1):
        assert model.certificate_.verify(data, y).holds


#: what every claim must refuse, and by how much a number of it was changed
CHANGES = {
    "coef": 1.3,
    "intercept": 1.3,
    "objective": 1 - 1e-6,
    "strengths": 2.0,
    "step": 1.5,
    "covariance": 1.01,
    "class_factor": 1.1,
    "dual_values": 0.7,
}


@pytest.mark.parametrize("name", MODELS)
def test_every_array_of_every_witness_is_checked(name):
    model, data, y = fitted(name)
    for claim in model.certificate_:
        for key, factor in CHANGES.items():
            right = claim.witness.get(key)
            if right is None or not np.any(right) or (claim.check == "separability_weak"):
                continue
            if claim.check in ("small_slope", "separating_weights", "inverse_hessian") and key in (
                "objective",
                "class_factor",
            ):
                continue  # scale does not matter there, or another claim states it
            if name == "touching" and key in ("coef", "intercept", "step"):
                continue  # along the flat direction nothing changes
            wrong = np.array(right, dtype=float)
            wrong.flat[int(np.argmax(np.abs(wrong)))] *= factor
            bad = tampered(model.certificate_, claim.name, **{key: wrong})
            assert not verdict(bad, claim.name, data, y).holds, (claim.name, key)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("bad", [np.nan, INF, -INF, 1e308])
def test_numbers_that_are_none_prove_nothing(name, bad):
    model, data, y = fitted(name)
    for claim in model.certificate_:
        for key, right in claim.witness.items():
            if isinstance(right, np.ndarray) and right.dtype.kind == "f" and right.size and key != "width":
                wrong = right.copy()
                wrong.flat[0] = bad
                if claim.check == "inverse_hessian" and key in ("objective", "strengths"):
                    continue  # stated there for the reader; the gap's claim checks it
                if claim.check == "separating_weights" and (
                    key == "objective" or (key == "class_factor" and bad == 1e308)
                ):
                    continue  # a direction separates whatever the rows weigh
                certificate = tampered(model.certificate_, claim.name, **{key: wrong})
                assert not verdict(certificate, claim.name, data, y).holds, (claim.name, key)


@pytest.mark.parametrize("name", MODELS)
def test_arrays_of_another_shape_prove_nothing(name):
    model, data, y = fitted(name)
    for claim in model.certificate_:
        for key in ("coef", "intercept", "step", "covariance", "dual_values"):
            right = claim.witness.get(key)
            if not isinstance(right, np.ndarray) or right.size < 2:
                continue
            for wrong in (right[..., :-1], right[:0], np.zeros((2, 2, 2))):
                certificate = tampered(model.certificate_, claim.name, **{key: wrong})
                assert not verdict(certificate, claim.name, data, y).holds, (claim.name, key)


@pytest.mark.parametrize("name", MODELS)
def test_other_rows_are_refused(name):
    model, data, y = fitted(name)
    flipped = y.copy()
    flipped[np.flatnonzero(y == y[0])[:40]] = next(k for k in np.unique(y) if k != y[0])
    moved = data.astype(float) + np.where(np.arange(N)[:, None] % 2, 0.5, -0.5)
    for rows in ((data, flipped), (moved, y), (data[: N // 2], y[: N // 2])):
        certificate = dataclasses.replace(model.certificate_, own=None)
        first = certificate.claims[0]
        if first.check in ("separating_weights",) and len(rows[1]) < N:
            continue  # what separates all rows separates half of them
        if len(rows[1]) < N and first.check in ("small_slope",):
            continue
        assert not certificate.verify(*rows).holds


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tolerance", [0.5, 1e6, INF, -1.0, np.nan])
def test_a_tolerance_that_says_nothing_is_refused(name, tolerance):
    model, data, y = fitted(name)
    for claim in model.certificate_:
        if claim.bound is None:
            continue
        witness = {**claim.witness, "tolerance": tolerance}
        certificate = changed(model.certificate_, claim.name, witness=witness, bound=tolerance)
        assert not verdict(certificate, claim.name, data, y).holds
        certificate = changed(model.certificate_, claim.name, bound=0.05)
        assert not verdict(certificate, claim.name, data, y).holds


def test_a_fit_that_did_not_converge_does_not_become_one_by_saying_so():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LR(max_iter=1).fit(X, Y)
    certificate = changed(model.certificate_, "duality gap", holds=True, value=0.0)
    assert not certificate.verify(X, Y).holds


def test_multipliers_that_do_not_balance_or_leave_their_bounds_are_refused():
    model, data, y = fitted("hard margin")
    alpha, rows = model.dual_values_, model.dual_rows_
    for change in (
        {"dual_values": -alpha},
        {"dual_values": alpha * 1.01},
        {"dual_rows": rows + 1},
        {"dual_rows": rows[::-1].copy()},
        {"dual_rows": rows + N},
        {"dual_values": alpha[:-1], "dual_rows": rows[:-1], "dual_problem": model.dual_problem_[:-1]},
        {"fit_intercept": False},
    ):
        assert not tampered(model.certificate_, "hard margin", **change).verify(data, y).holds, change
    model, data, y = fitted("hinge")
    beyond = model.dual_values_.copy()
    beyond[0] = 1.0 + 1e-6
    for change in ({"dual_values": beyond}, {"dual_values": -model.dual_values_}, {"dual_rows": model.dual_rows_ + N}):
        assert not tampered(model.certificate_, "duality gap", **change).verify(data, y).holds, change


def test_fewer_support_rows_than_there_are_bound_nothing():
    model, data, y = fitted("hard margin")
    certificate = changed(model.certificate_, "leave-one-out error", value=0.0)
    assert not verdict(certificate, "leave-one-out error", data, y).holds


def test_a_direction_that_does_not_separate_is_refused():
    model, data, y = fitted("separable")
    turned = model.coef_ * np.array([1.0, -1.0, 1.0, 1.0])
    assert not tampered(model.certificate_, "no maximum likelihood", coef=turned).verify(data, y).holds
    touching, data, y = fitted("touching")
    for coef in (-touching.direction_[:-1], np.zeros(D + 1), np.eye(D + 1)[0]):
        assert not verdict(
            tampered(touching.certificate_, "no maximum likelihood", coef=coef), "no maximum likelihood", data, y
        ).holds


def test_a_box_too_small_to_mean_anything_is_refused():
    model, data, y = fitted("unpenalised")
    for box in (0.0, 1.0, -1e3, np.nan):
        assert not verdict(tampered(model.certificate_, "duality gap", box=box), "duality gap", data, y).holds


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_carries_the_same_certificate(name, tmp_path):
    model, data, y = fitted(name)
    model.save(tmp_path / "m.assay")
    loaded = assay.load(tmp_path / "m.assay")
    assert loaded.certificate_.verify(data, y).holds
    loaded.coef_ = loaded.coef_ * 1.01
    assert not loaded.certificate_.verify(data, y).holds
