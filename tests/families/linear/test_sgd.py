"""Stochastic gradient descent and passive-aggressive learning: scikit-learn's visits, one by one, where rows are not shuffled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import linear_model as theirs

import assay
from assay.certify import Certificate
from assay.families.linear.sgd import MARGINS, NUMBERS

pytestmark = pytest.mark.filterwarnings("ignore")
ORDERED = {"shuffle": False, "tol": None, "max_iter": 3}


def rows(n=200, d=5):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n), (np.arange(n) % 4) / 2


def same(ours, peer):
    assert np.allclose(ours.coef_, peer.coef_, rtol=1e-9, atol=1e-12)
    assert np.allclose(ours.intercept_, peer.intercept_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", [*MARGINS, *NUMBERS])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_visits_of_a_classifier_are_those_of_scikit_learn(loss, sparse):
    X, y, _ = rows()
    X, t = csr_array(X) if sparse else X, np.digitize(y, [-1, 1])
    strong = {"alpha": 0.1}  # first steps are not so long that roundings grow
    for more in (strong, {"penalty": "l1", **strong}, {"learning_rate": "invscaling", "penalty": None, "eta0": 0.01}):
        given = {**ORDERED, "loss": loss, **more}
        ours = assay.SGDClassifier(**given).fit(X, t)
        same(ours, theirs.SGDClassifier(**given).fit(X, t))
        assert ours.certificate_.verify(X, t).holds


@pytest.mark.parametrize("loss", NUMBERS)
def test_the_visits_of_a_regressor_are_those_of_scikit_learn(loss):
    X, y, _ = rows()
    for more in ({}, {"average": 50}, {"penalty": "elasticnet", "alpha": 0.01}, {"learning_rate": "adaptive"}):
        given = {**ORDERED, "loss": loss, **more}
        ours = assay.SGDRegressor(**given).fit(X, y)
        same(ours, theirs.SGDRegressor(**given).fit(X, y))
        assert ours.certificate_.verify(X, y).holds


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_passive_aggressive_steps_are_those_of_scikit_learn(C):
    X, y, w = rows()
    w = w + 0.5
    for loss in ("hinge", "squared_hinge"):
        given = {**ORDERED, "loss": loss, "C": C}
        ours = assay.PassiveAggressiveClassifier(**given).fit(X, y > 0)
        same(ours, theirs.PassiveAggressiveClassifier(**given).fit(X, y > 0))
        assert ours.certificate_.verify(X, y > 0).holds
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        given = {**ORDERED, "loss": loss, "C": C}
        same(assay.PassiveAggressiveRegressor(**given).fit(X, y), theirs.PassiveAggressiveRegressor(**given).fit(X, y))


def test_rows_in_pieces_are_one_epoch():
    X, y, w = rows()
    whole = assay.SGDRegressor(max_iter=1, tol=None, shuffle=False).fit(X, y, w)
    pieces = assay.SGDRegressor(shuffle=False)
    for part in (slice(0, 90), slice(90, 200)):
        pieces.partial_fit(X[part], y[part], w[part])
    assert np.allclose(whole.coef_, pieces.coef_, rtol=1e-12)
    assert whole.t_ == pieces.t_
    assert not hasattr(pieces, "gap_")


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_hinge"])
def test_the_least_objective_lies_within_the_stated_gap(loss):
    X, y, _ = rows()
    t = y > 0
    model = assay.SGDClassifier(loss=loss, alpha=0.1, random_state=3).fit(X, t)
    name = {"log_loss": "log"}.get(loss, loss)
    least = assay.ERM(loss=name, penalty="l2", lam=0.05, tol=1e-8).fit(X, t).objective_[0]
    assert model.objective_[0] * (1 - model.gap_[0]) <= least * (1 + 1e-9) <= model.objective_[0] * (1 + 1e-8)
    assert model.gap_[0] < 1
    claim = next(iter(model.certificate_))
    for part, wrong in (("objective", model.objective_ * 0.99), ("coef", model.coef_ * 1.01), ("strengths", claim.witness["strengths"] * 1.1)):  # fmt: skip
        forged = replace(claim, witness={**claim.witness, part: wrong})
        assert not Certificate((forged,)).verify(X, t).holds, part


def test_held_out_rows_are_not_learnt_from_and_end_the_fit():
    X, y, _ = rows()
    model = assay.SGDClassifier(early_stopping=True, random_state=0).fit(X, y > 0)
    assert model.n_iter_ < 1000
    with pytest.raises(ValueError, match="validation_fraction"):
        assay.SGDClassifier(early_stopping=True, validation_fraction=0.99).fit(X[:8], np.arange(8) % 2)


def test_a_risk_that_overflows_is_not_the_one_stated():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X @ [1.0, 2.0, 3.0]
    (claim,) = (c for c in assay.SGDRegressor().fit(X, y).certificate_.claims if c.check == "stochastic_risk")
    forged = replace(claim, witness={**claim.witness, "coef": np.full((1, 3), 1e160)}, value=1.0, bound=1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        assert not Certificate((forged,)).verify(X, y).holds
