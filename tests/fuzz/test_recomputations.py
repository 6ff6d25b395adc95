"""That each recomputation says nothing against an honest fit, and something against every lie about what it recomputes."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from fuzz.case import Case
from fuzz.optima import against_optima
from fuzz.splitmix import content_key, key, times_drawn
from fuzz.tables import Table

SETTINGS = {
    "mlp": {"hidden_layer_sizes": [4], "max_iter": 15, "activation": "tanh"},
    "mlp-regressor": {"hidden_layer_sizes": [4, 3], "max_iter": 15},
    "random-forest": {"n_estimators": 5, "oob_score": True},
    "forest-regressor": {"n_estimators": 5, "oob_score": True},
    "perceptron": {},
    "kernel-perceptron": {},
    "kernel-features": {"n_components": 6},
    "features-regressor": {"n_components": 6},
    "sgd": {"loss": "log_loss", "alpha": 0.1},
    "sgd-regressor": {},
    "passive-aggressive": {},
}
#: of a separable table and model, all checks about which a recomputation is asked
CHECKS = {
    "mlp": ("network_loss", "network_errors", "network_gradient", "network_best_epoch"),
    "mlp-regressor": ("network_loss", "network_gradient", "network_best_epoch"),
    "random-forest": ("out_of_bag",),
    "forest-regressor": ("out_of_bag",),
    "perceptron": ("perceptron_replay", "perceptron_bound", "perceptron_errors"),
    "kernel-perceptron": (
        "kernel_perceptron_replay",
        "kernel_perceptron_counts",
        "kernel_perceptron_bound",
        "kernel_perceptron_errors",
    ),
    "kernel-features": ("kernel_approximation",),
    "features-regressor": ("kernel_approximation",),
    "sgd": ("stochastic_risk",),
    "sgd-regressor": ("stochastic_risk",),
    "passive-aggressive": ("stochastic_risk",),
}
#: what is learnt, and what must be said against it with another number in it
PARTS = [
    ("mlp", "weights_", "network_loss"),
    ("mlp-regressor", "weights_", "network_loss"),
    ("random-forest", "table_", "forest_leaves"),
    ("forest-regressor", "table_", "forest_leaves"),
    ("random-forest", "cut_", "forest_leaves"),
    ("perceptron", "coef_", "perceptron_replay"),
    ("kernel-perceptron", "dual_coef_", "kernel_perceptron_replay"),
    ("kernel-features", "feature_coef_", "kernel_features"),
    ("kernel-features", "landmarks_", "kernel_approximation"),
    ("features-regressor", "feature_coef_", "kernel_features"),
    ("features-regressor", "map_", "kernel_approximation"),
    ("sgd", "coef_", "stochastic_risk"),
    ("sgd-regressor", "coef_", "stochastic_risk"),
    ("passive-aggressive", "intercept_", "stochastic_risk"),
]


@pytest.fixture(scope="module")
def honest():
    """Cases with their fits, each made once."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((24, 2))
    value = X @ [1.0, 2.0] + 0.3
    X = X[np.abs(value) > 0.2]
    value = X @ [1.0, 2.0] + 0.3

    def fitted(name: str):
        case = Case(name, SETTINGS[name], Table(X, value if name.endswith("regressor") else (value > 0).astype(int)))
        return case, case.model().fit(case.table.X, case.table.y)

    return {name: fitted(name) for name in SETTINGS}


@pytest.mark.parametrize("name", SETTINGS)
def test_nothing_is_said_against_an_honest_fit(honest, name):
    case, model = honest[name]
    assert {claim.check for claim in model.certificate_} >= set(CHECKS[name])
    assert list(against_optima(case, model)) == []


@pytest.mark.parametrize(("name", "check"), [(name, check) for name, checks in CHECKS.items() for check in checks])
def test_a_false_value_of_a_claim_is_found(honest, name, check):
    case, model = honest[name]
    lie = copy(model)
    lie._claims = tuple(
        replace(claim, value=claim.value * 1.5 + 1.0) if claim.check == check else claim for claim in model.certificate_
    )
    assert any(word.startswith(check) for word, _ in against_optima(case, lie))


@pytest.mark.parametrize(("name", "part", "check"), PARTS)
def test_another_number_in_a_model_is_found(honest, name, part, check):
    case, model = honest[name]
    lie = copy(model)
    changed = getattr(model, part).copy()
    changed.flat[0] = changed.flat[0] * 1.5 + 1.0
    setattr(lie, part, changed)
    lie._claims = model.certificate_.claims
    assert any(word.startswith(check) for word, _ in against_optima(case, lie))


@pytest.mark.parametrize(
    ("name", "check", "key"),
    [
        ("perceptron", "perceptron_bound", "gamma"),
        ("perceptron", "perceptron_bound", "radius"),
        ("perceptron", "perceptron_replay", "visits"),
        ("perceptron", "perceptron_errors", "wrong"),
        ("kernel-perceptron", "kernel_perceptron_bound", "margin"),
        ("kernel-perceptron", "kernel_perceptron_bound", "radius"),
        ("kernel-perceptron", "kernel_perceptron_values", "values"),
        ("random-forest", "out_of_bag", "interval"),
        ("forest-regressor", "out_of_bag", "interval"),
        ("mlp", "network_slopes", "measured"),
        ("kernel-features", "kernel_approximation", "largest"),
        ("kernel-features", "kernel_approximation", "trace"),
        ("sgd", "stochastic_risk", "objective"),
    ],
)
def test_another_number_in_a_witness_is_found(honest, name, check, key):
    case, model = honest[name]
    lie = copy(model)
    lie._claims = tuple(_altered(claim, key) if claim.check == check else claim for claim in model.certificate_)
    assert any(word.startswith(check) for word, _ in against_optima(case, lie))


def _altered(claim, name):
    entry = claim.witness[name]
    return replace(claim, witness={**claim.witness, name: entry * 1.5 + 1 if np.ndim(entry) == 0 else entry * 1.5})


def test_a_false_gap_in_the_features_is_found(honest):
    case, model = honest["kernel-features"]
    lie = copy(model)
    lie.feature_coef_ = model.feature_coef_ * 0.5
    lie._claims = model.certificate_.claims
    words = [word for word, _ in against_optima(case, lie)]
    assert any("there are better weights" in word for word in words)


def test_a_bag_that_was_not_drawn_is_found(honest):
    case, model = honest["random-forest"]
    lie = copy(model)
    lie.random_state = 7
    lie._claims = model.certificate_.claims
    assert any(word.startswith(("forest_leaves", "out_of_bag")) for word, _ in against_optima(case, lie))


def test_hashes_are_those_that_fits_draw_by():
    from assay.certify.rows import content_keys, row_keys
    from assay.families.trees.check.witness import times_drawn as of_checker

    X = np.array([[1.5, -0.0], [3e40, 2.0]])
    assert [key(i, 9) for i in range(3)] == row_keys(3, 9).tolist()
    for code, dtype in (("f", np.float32), ("d", np.float64)):
        with np.errstate(over="ignore"):
            due = content_keys(X, 5, dtype).tolist()
        assert [content_key(row, 5, code) for row in X] == due
    for replaced in (True, False):
        assert times_drawn(3, 2, 11, 7, replaced) == of_checker(3, 2, 11, 7, replaced).tolist()
