"""Certificates of forests: bootstraps are drawn again from (seed, tree), and rows are judged again by the trees that did not see them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

import assay
from assay import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from assay.families.trees.check.witness import times_drawn
from assay.families.trees.claims import checked_trees
from assay.families.trees.grow import RowSample

rng = np.random.default_rng(8)
N = 250
X = np.round(rng.normal(size=(N, 4)), 2)
SIGNAL = X[:, 0] + (X[:, 1] > 0.2) + 0.6 * rng.normal(size=N)
TWO = (SIGNAL > 0.5).astype(int)
THREE = np.digitize(SIGNAL, [-0.3, 1.0])
WEIGHTS = rng.integers(0, 3, N) * rng.random(N)
GAPS = np.where(rng.random(X.shape) < 0.15, np.nan, X)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(name=np.array(["oak", "elm", "ash"])[rng.integers(0, 3, N)])
MANY = pd.DataFrame(X, columns=list("abcd")).assign(name=[f"n{k}" for k in rng.integers(0, 400, N)])


def forest(kind, data, y, w=None, **settings):
    return kind(n_estimators=12, **settings), data, y, w


FITS = {
    "classes": forest(RandomForestClassifier, GAPS, THREE),
    "two classes": forest(RandomForestClassifier, X, TWO, random_state=3, criterion="entropy"),
    "majority": forest(RandomForestClassifier, X, THREE, voting="majority"),
    "weights": forest(RandomForestClassifier, GAPS, THREE, WEIGHTS),
    "balanced": forest(RandomForestClassifier, X, THREE, class_weight="balanced"),
    "few rows a tree": forest(RandomForestClassifier, X, TWO, max_samples=0.3),
    "more rows a tree": forest(RandomForestClassifier, X, TWO, max_samples=1.5, max_depth=4),
    "without replacement": forest(RandomForestClassifier, X, TWO, bootstrap=False, max_samples=100),
    "categories": forest(RandomForestClassifier, FRAME, THREE),
    "many categories": forest(RandomForestClassifier, MANY, TWO),
    "float32": forest(RandomForestClassifier, GAPS.astype(np.float32), TWO),
    "bins": forest(RandomForestClassifier, GAPS, THREE, bins=8),
    "pruned": forest(RandomForestClassifier, X, THREE, max_leaf_nodes=7, ccp_alpha=0.001),
    "trend": forest(RandomForestClassifier, X, TWO, monotonic_cst=[1, 0, 0, 0]),
    "numbers": forest(RandomForestRegressor, GAPS, SIGNAL),
    "numbers with weights": forest(RandomForestRegressor, FRAME, SIGNAL, WEIGHTS),
    "numbers far from zero": forest(RandomForestRegressor, X, SIGNAL * 1e-3 + 1e6),
    "medians": forest(RandomForestRegressor, X, SIGNAL, WEIGHTS, criterion="absolute_error", max_depth=5),
    "poisson": forest(RandomForestRegressor, X, np.exp(SIGNAL), criterion="poisson", monotonic_cst={0: 1}),
    "extra trees": forest(ExtraTreesClassifier, GAPS, THREE),
    "extra trees of numbers": forest(ExtraTreesRegressor, X, SIGNAL, WEIGHTS),
    "extra trees of drawn rows": forest(ExtraTreesRegressor, GAPS, SIGNAL, bootstrap=True),
}


@pytest.mark.parametrize("name", FITS)
def test_every_claim_of_an_honest_fit_holds_also_from_a_file(name, tmp_path):
    model, data, y, w = FITS[name]
    model.fit(data, y, sample_weight=w)
    names = [c.name for c in model.certificate_]
    drawn = (
        "leaves" if name.startswith("extra") and "drawn" not in name else "draws" if "without" in name else "bootstrap"
    )
    judged = "out-of-bag error" if hasattr(model, "classes_") else "out-of-bag squared error"
    assert names == ([drawn] if drawn == "leaves" else [drawn, judged])
    model.save(tmp_path / "forest.assay")
    verdicts = assay.load(tmp_path / "forest.assay").certificate_.verify(data, y, sample_weight=w)
    assert verdicts.holds, str(verdicts)
    assert verdicts.notes == ()


def test_the_checker_draws_the_rows_of_the_fit():
    for n, m, replace in ((50, 50, True), (37, 90, True), (1000, 10, True), (60, 20, False), (60, 60, False)):
        for seed in (0, 7, 2**40):
            for tree in (0, 1, 99):
                assert np.array_equal(
                    times_drawn(seed, tree, n, m, replace), RowSample(seed, m, replace).times(tree, n)
                )


def forged(certificate, name, value=None, bound=None, **witness):
    """The certificate with one claim altered, for the checkers alone: nothing compares it with the model."""
    c = certificate[name]
    value, bound = c.value if value is None else value, c.bound if bound is None else bound
    claim = dataclasses.replace(c, value=value, bound=bound, witness={**c.witness, **witness})
    return dataclasses.replace(certificate, claims=(claim,), own=None)


def refused(certificate, y, w=None, data=X):
    (verdict,) = certificate.verify(data, y, sample_weight=w)
    return not verdict.holds


@pytest.fixture(scope="module")
def honest():
    return RandomForestClassifier(n_estimators=10, random_state=4).fit(X, THREE).certificate_


def test_other_draws_are_refused(honest):
    for name in ("bootstrap", "out-of-bag error"):
        assert not refused(forged(honest, name), THREE)
        for lie in ({"seed": 5}, {"draws": 240}, {"replace": False}):
            assert refused(forged(honest, name, **lie), THREE)
        assert refused(forged(honest, name), THREE[::-1], data=X[::-1])  # rows are drawn by their numbers


def test_changed_trees_are_refused(honest):
    w = honest["bootstrap"].witness
    for k in range(0, len(w["cut"]), 7):
        cut = w["cut"].copy()
        cut[k] += 99
        assert refused(forged(honest, "bootstrap", cut=cut), THREE)
    for k in range(0, len(w["leaf"]), 11):
        leaf = w["leaf"].copy()
        leaf[k] = (leaf[k] + 1) % len(w["table"])
        assert refused(forged(honest, "bootstrap", leaf=leaf), THREE)
    feature = w["feature"].copy()
    feature[0] = (feature[0] + 1) % 4
    assert refused(forged(honest, "bootstrap", feature=feature), THREE)
    assert refused(forged(honest, "bootstrap", trees=[0, 1]), THREE)


def test_forged_out_of_bag_errors_are_refused(honest):
    claim = honest["out-of-bag error"]
    name, low, high = claim.name, *claim.witness["interval"].tolist()
    assert refused(forged(honest, name, value=claim.value - 1 / N), THREE)
    assert refused(forged(honest, name, rows=claim.witness["rows"] - 1), THREE)
    assert refused(forged(honest, name, interval=np.array([low, high - 0.001]), bound=high - 0.001), THREE)
    assert refused(forged(honest, name, interval=np.array([low + 0.001, high])), THREE)
    assert refused(forged(honest, name, bound=high - 0.01), THREE)
    assert refused(forged(honest, name, weighted=True), THREE)
    assert refused(forged(honest, name, confidence=0.9), THREE)


def test_forged_out_of_bag_losses_are_refused():
    model = RandomForestRegressor(n_estimators=8).fit(X, SIGNAL, sample_weight=WEIGHTS)
    certificate = model.certificate_
    claim = certificate["out-of-bag squared error"]
    assert not refused(forged(certificate, claim.name), SIGNAL, WEIGHTS)
    low, high = claim.witness["interval"].tolist()
    assert low < claim.value < high == claim.bound
    assert refused(forged(certificate, claim.name, value=claim.value * 0.999), SIGNAL, WEIGHTS)
    assert refused(forged(certificate, claim.name, standard_error=claim.witness["standard_error"] / 2), SIGNAL, WEIGHTS)
    assert refused(
        forged(certificate, claim.name, interval=np.array([low, high * 0.99]), bound=high * 0.99), SIGNAL, WEIGHTS
    )


def test_the_interval_of_unweighted_rows_is_exact(honest):
    claim = honest["out-of-bag error"]
    assert claim.kind == "estimate"
    assert "Clopper-Pearson" in claim.statement
    assert claim.value == pytest.approx(
        1 - RandomForestClassifier(n_estimators=10, random_state=4).fit(X, THREE).oob_score_
    )


def test_a_forest_grown_in_two_fits_is_as_good_as_one():
    model = RandomForestClassifier(n_estimators=4, warm_start=True).fit(X, THREE)
    model.set_params(n_estimators=9).fit(X, THREE)
    once = RandomForestClassifier(n_estimators=9).fit(X, THREE)
    assert model.certificate_.verify(X, THREE).holds
    assert [c.value for c in model.certificate_] == [c.value for c in once.certificate_]


def test_nothing_is_claimed_of_trees_from_fits_that_were_not_alike():
    model = RandomForestClassifier(n_estimators=4, warm_start=True).fit(X, THREE)
    model.set_params(n_estimators=9, random_state=1).fit(X, THREE)
    assert not list(model.certificate_)


def test_a_file_that_grows_on_claims_what_a_forest_of_one_go_does(tmp_path):
    RandomForestClassifier(n_estimators=4, warm_start=True).fit(X, THREE).save(tmp_path / "m.assay")
    model = assay.load(tmp_path / "m.assay").set_params(n_estimators=9).fit(X, THREE)
    once = RandomForestClassifier(n_estimators=9).fit(X, THREE)
    assert [(c.name, c.value) for c in model.certificate_] == [(c.name, c.value) for c in once.certificate_]
    assert model.certificate_.verify(X, THREE).holds


def test_of_many_rows_some_trees_are_checked():
    assert checked_trees(100, 20_000) == list(range(100))
    some = checked_trees(100, 800_000)
    assert len(some) == 12
    assert some[0] == 0
    assert some[-1] == 99
    assert checked_trees(3, 10**9) == [0]
