"""Claims of networks: true ones are established, and whatever is changed in their witness is refused."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

from assay.certify import Certificate
from assay.families.networks.architecture import ACTIVATIONS
from assay.families.networks.check import back, bent, lost, net_of, through
from assay.families.networks.claims import Measured, network_claims
from assay.families.networks.estimators import MLPClassifier, MLPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

rng = np.random.default_rng(0)
N = 700
X = rng.normal(size=(N, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 100.0, 5.0, 0.0]
SCORE = X[:, 0] + (X[:, 1] - 100) / 20 + 0.3 * rng.normal(size=N)
Y = np.array(["no", "yes"])[(SCORE > 0.2).astype(int)]
Y3 = np.digitize(SCORE, [-0.5, 0.5]) * 10
NUMBERS = 50 * np.sin(SCORE) + 300
W = np.where(np.arange(N) % 7 == 0, 0.0, rng.uniform(0.2, 3, N))
SHORT = {"max_iter": 8, "learning_rate_init": 0.01}

#: the model, the target, the weights
MODELS = {
    "two classes": (MLPClassifier((6,), **SHORT), Y, None),
    "three classes": (MLPClassifier((6, 5), "tanh", **SHORT), Y3, W),
    "hinge": (MLPClassifier((6,), "gelu", loss="hinge", **SHORT), Y3, None),
    "two hinges": (MLPClassifier((6,), loss="hinge", solver="sgd", alpha=1.0, **SHORT), Y, W),
    "squares": (MLPClassifier((6,), "tanh", loss="squared", **SHORT), Y3, W),
    "two squares": (MLPClassifier((6,), loss="squared", solver="lbfgs", max_iter=50), Y, None),
    "the notes' form": (MLPClassifier((9,), "logistic", output_bias=False, momentum=0.0, nesterovs_momentum=False, solver="sgd", max_iter=8), Y, None),
    "all rows at once": (MLPClassifier((6,), "tanh", solver="lbfgs", alpha=0.5, max_iter=400), Y3, W),
    "class weights": (MLPClassifier((6,), class_weight="balanced", **SHORT), Y3, W),
    "early stopping": (MLPClassifier((6,), early_stopping=True, **SHORT), Y3, None),
    "dropout in float64": (MLPClassifier((20,), dropout=0.3, dtype="float64", **SHORT), Y, None),
    "as they are": (MLPClassifier((6,), "identity", standardize=False, **SHORT), Y3, None),
    "linear": (MLPClassifier((), **SHORT), Y3, W),
    "numbers": (MLPRegressor((6,), **SHORT), NUMBERS, None),
    "weighted numbers": (MLPRegressor((6, 3), "gelu", solver="lbfgs", max_iter=30), NUMBERS, W),
}  # fmt: skip


@cache
def claims_of(name):
    model, y, w = MODELS[name]
    return model.fit(X, y, sample_weight=w).certificate_.claims


def verdicts(name, claims=None, rows=None):
    _, y, w = MODELS[name]
    return Certificate(claims_of(name) if claims is None else tuple(claims)).verify(*(rows or (X, y, w)))


def tampered(claim, **witness):
    return dataclasses.replace(claim, witness={**claim.witness, **witness})


@pytest.mark.parametrize("name", MODELS)
def test_true_claims_are_established(name):
    found = verdicts(name)
    assert all(claim.holds for claim in claims_of(name))
    assert found.holds, str(found)
    names = ["back-propagation", "training loss", "training error", "gradient", "best epoch"]
    assert [c.name for c in claims_of(name)] == [n for n in names if n != "training error" or "numbers" not in name]
    assert [c.kind for c in claims_of(name)][-1] == "estimate"


@pytest.mark.parametrize("name", MODELS)
def test_what_is_stated_is_what_the_model_does(name):
    model, y, w = MODELS[name]
    claims = {c.name: c for c in claims_of(name)}
    c = np.ones(N) if w is None else w
    if "numbers" in name:
        assert claims["training loss"].value == pytest.approx(c @ (model.predict(X) - y) ** 2 / c.sum())
        return
    if model.class_weight is not None:
        c = c * model.class_factor_[np.searchsorted(model.classes_, y)]
    assert claims["training error"].value == pytest.approx(c @ (model.predict(X) != y) / c.sum())
    assert model.error_ == claims["training error"].value
    if model.loss == "log":
        own = model.predict_proba(X)[np.arange(N), np.searchsorted(model.classes_, y)]
        assert claims["training loss"].value == pytest.approx(c @ -np.log(own) / c.sum())


def test_the_gradient_of_all_rows_at_once_is_as_small_as_was_asked_for():
    claim = next(c for c in claims_of("all rows at once") if c.name == "gradient")
    assert MODELS["all rows at once"][0].converged_
    assert claim.value < 1e-2
    assert "not convex" in claim.statement


@pytest.mark.parametrize("bad", [1.01, np.nan, np.inf, 1e308])
@pytest.mark.parametrize("key", ["weights", "mean", "scale"])
@pytest.mark.parametrize("name", MODELS)
def test_every_number_of_what_predicts_is_checked(name, key, bad):
    for claim in claims_of(name):
        if key in claim.witness:
            wrong = claim.witness[key].copy()
            at = int(np.argmax(np.abs(wrong)))
            wrong.flat[at] = wrong.flat[at] * bad + 0.02 if bad < 2 else bad
            assert not verdicts(name, [tampered(claim, **{key: wrong})]).holds or _says_nothing_of(claim), claim.name


def _says_nothing_of(claim):
    return claim.name == "training error"  # a small change of the weights answers no row otherwise


OF = {  # the numbers of `measured` that a claim is about: weight, loss, wrong, p, ‖W‖², ‖∇J‖, every, few, top, then slopes
    "back-propagation": (0, 8, 9, 10, 12, 13, 17, 21, 24),
    "training loss": (0, 1, 3, 4),
    "training error": (0, 2),
    "gradient": (0, 3, 5),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_measure_is_checked_by_the_claim_about_it(name):
    for claim in claims_of(name)[:-1]:
        right = claim.witness["measured"]
        for place in OF[claim.name]:
            for wrong_number in (right[place] * 1.01 + 0.02, right[place] - 0.02, np.nan, np.inf):
                wrong = right.copy()
                wrong[place] = wrong_number
                assert not verdicts(name, [tampered(claim, measured=wrong)]).holds, (claim.name, place)
        for place in (6, 7):  # every how many rows
            for wrong_number in (0.0, -1.0, 1.5, 1e6, np.nan):
                wrong = right.copy()
                wrong[place] = wrong_number
                assert not verdicts(name, [tampered(claim, measured=wrong)]).holds, (claim.name, place)


@pytest.mark.parametrize("name", MODELS)
def test_other_words_are_refused(name):
    for claim in claims_of(name)[:-1]:
        w = claim.witness
        changes = [{"hidden": [3]}, {"hidden": [*w["hidden"], 1]}, {"activation": "sine"}, {"loss": "other"}]
        if claim.name in ("training loss", "gradient"):
            changes += [{"alpha": w["alpha"] + 1.0}, {"alpha": -1.0}, {"batch": w["batch"] + 7}]
        if "classes" in w:
            changes += [{"classes": w["classes"][:-1]}, {"classes": [*w["classes"], "more"]}, {"loss": "squared"}]
        else:
            changes += [{"target_scale": 2 * w["target_scale"]}, {"target_mean": w["target_mean"] + 100}]
        if w["output_bias"]:
            changes.append({"output_bias": False})
        for change in changes:
            assert not verdicts(name, [tampered(claim, **change)]).holds, (claim.name, change)


@pytest.mark.parametrize("name", MODELS)
def test_arrays_of_another_shape_prove_nothing(name):
    for claim in claims_of(name)[:-1]:
        for key in ("weights", "mean", "scale", "measured"):
            for wrong in (claim.witness[key][:-1], claim.witness[key][:0], np.zeros((2, 2))):
                assert not verdicts(name, [tampered(claim, **{key: wrong})]).holds, (claim.name, key)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_stated_is_what_is_found(name):
    for claim in claims_of(name):
        shift = 0.05 * (1.0 + abs(claim.value))
        assert not verdicts(name, [dataclasses.replace(claim, value=claim.value + shift)]).holds, claim.name
        assert not verdicts(name, [dataclasses.replace(claim, value=None)]).holds
        assert not verdicts(name, [dataclasses.replace(claim, holds=False)]).holds
        if claim.bound is not None:
            for bound in (None, 0.0, -1.0, 0.1, np.inf, np.nan):
                assert not verdicts(name, [dataclasses.replace(claim, bound=bound)]).holds


@pytest.mark.parametrize("name", MODELS)
def test_other_rows_are_refused(name):
    _, y, w = MODELS[name]
    moved = X.copy()
    moved[::3, 0] += 0.5
    heavier = np.ones(N) if w is None else w.copy()
    heavier[1] += 3.0
    for rows in ((moved, y, w), (X, np.roll(y, 1), w), (X, y, heavier), (X[2:], y[2:], None if w is None else w[2:])):
        assert not all(v.holds for v in verdicts(name, rows=rows))
    assert not verdicts(name, rows=(X[:, :3], y, w)).holds


def test_another_best_epoch_is_refused():
    for name in ("two classes", "early stopping"):
        claim = claims_of(name)[-1]
        curve, best = claim.witness["curve"], claim.witness["best"]
        assert best == int(curve.argmin() if name == "two classes" else claim.witness["scores"].argmax()) + 1
        key = "curve" if name == "two classes" else "scores"
        lower = claim.witness[key].copy()
        lower[0 if best > 1 else 1] = -9.0 if key == "curve" else 9.0
        for change in ({"best": best + 1}, {"best": 0}, {key: lower}, {"curve": curve[:0]}, {"curve": curve * np.nan}):
            assert not verdicts(name, [tampered(claim, **change)]).holds, change
        assert not verdicts(name, [dataclasses.replace(claim, kind="proof")]).holds


def test_a_wrong_gradient_is_told_from_a_right_one():
    """A slope that is off by a thousandth of its size is refused, though every other number is right."""
    claim = claims_of("three classes")[0]
    measured = Measured.of(claim.witness["measured"])
    wrong = measured._replace(slopes=measured.slopes + 1e-3 * measured.size).packed()
    assert not verdicts("three classes", [tampered(claim, measured=wrong)]).holds


def test_rows_in_pieces_leave_the_epochs_to_be_claimed():
    model = MLPClassifier((6,))
    for _ in range(3):
        model.partial_fit(X, Y, classes=["no", "yes"])
    assert [c.name for c in model.certificate_] == ["best epoch"]
    assert model.certificate_.verify(X, Y).holds


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("loss", ["log", "hinge", "signs", "squared"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_checker_s_own_gradient_is_the_derivative_of_its_own_loss(activation, loss, outputs):
    outputs = 1 if loss == "squared" else outputs
    rows = np.random.default_rng(1)
    Z, numbers = rows.normal(size=(20, 3)), 0.7 * rows.normal(size=3 * 5 + 5 + 5 * outputs + outputs)
    y = rows.normal(size=20) if loss == "squared" else rows.integers(max(2, outputs), size=20)
    witness = {"hidden": [5], "activation": activation, "loss": loss}

    def total(numbers):
        return float(lost(loss, through(net_of(witness, 3, outputs, numbers), Z)[0], y)[0].sum())

    net = net_of(witness, 3, outputs, numbers)
    F, way = through(net, Z)
    gradient = back(net, way, lost(loss, F, y)[1], True)
    for k in range(len(numbers)):
        step = np.zeros(len(numbers))
        step[k] = 1e-6
        assert (total(numbers + step) - total(numbers - step)) / 2e-6 == pytest.approx(gradient[k], abs=1e-7)


def test_units_of_the_checker_are_those_of_the_definition():
    from assay.families.networks.architecture import activated

    z = np.linspace(-9, 9, 301)
    for name in ACTIVATIONS:
        np.testing.assert_allclose(bent(name, z)[0], activated(name, z), atol=1e-15)


def test_slopes_that_differences_do_not_bear_out_claim_no_gradient():
    model = MLPRegressor([3], max_iter=3).fit(X[:40], NUMBERS[:40])
    found = Measured.of(model.measured_)
    model.measured_ = found._replace(slopes=found.high + found.size + 1.0).packed()
    holds = {claim.check: claim.holds for claim in network_claims(model)}
    assert not holds["network_slopes"]
    assert not holds["network_gradient"]
