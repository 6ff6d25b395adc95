"""Certificates of trees: what holds is established from the rows, what was changed is refused by the checkers alone."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import assay
from assay import DecisionTreeClassifier, DecisionTreeRegressor
from assay.families.trees.check.splits import running_costs
from assay.families.trees.check.witness import ends_of

rng = np.random.default_rng(5)
N = 300
X = np.round(rng.normal(size=(N, 3)), 2)
SIGNAL = X[:, 0] + (X[:, 1] > 0.3) + 0.4 * rng.normal(size=N)
TWO = (SIGNAL > 0.5).astype(int)
THREE = np.digitize(SIGNAL, [-0.3, 1.0])
WEIGHTS = rng.integers(0, 4, N) * rng.random(N)
GAPS = np.where(rng.random(X.shape) < 0.15, np.nan, X)
LEVELS = np.array(["oak", "elm", "ash", "fir", "yew"])[rng.integers(0, 5, N)]
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(tree=np.where(rng.random(N) < 0.1, None, LEVELS))


def classes(y=TWO, data=X, w=None, **settings):
    return DecisionTreeClassifier(**settings), data, y, w


def numbers(data=X, y=SIGNAL, w=None, **settings):
    return DecisionTreeRegressor(**settings), data, y, w


FITS = {
    "two classes": classes(),
    "three classes, entropy": classes(THREE, criterion="entropy"),
    "names": classes(np.array(["no", "yes"])[TWO], max_depth=4),
    "weights": classes(THREE, w=WEIGHTS),
    "wild weights": classes(w=10 ** rng.uniform(-6, 3, N)),
    "wild weights of three classes": classes(THREE, w=10 ** rng.uniform(-6, 3, N)),
    "balanced": classes(TWO, class_weight="balanced", criterion="log_loss"),
    "class weights": classes(THREE, class_weight={0: 5, 2: 0.5}, max_depth=5),
    "missing": classes(THREE, GAPS),
    "missing, weights": classes(TWO, GAPS, WEIGHTS, criterion="entropy"),
    "categories of two classes": classes(TWO, FRAME, min_samples_leaf=5),
    "categories of three classes": classes(THREE, FRAME),
    "float32": classes(TWO, GAPS.astype(np.float32)),
    "few leaves": classes(THREE, max_leaf_nodes=6),
    "pruned": classes(TWO, ccp_alpha=0.01),
    "trend": classes(TWO, monotonic_cst=[1, 0, -1]),
    "least leaves": classes(TWO, w=WEIGHTS, min_samples_leaf=7, min_weight_fraction_leaf=0.05),
    "random": classes(THREE, splitter="random", random_state=3),
    "two columns a node": classes(TWO, max_features=2),
    "bins": classes(THREE, GAPS, bins=9),
    "one leaf": classes(min_samples_leaf=N),
    "squared": numbers(),
    "squared, weights, missing": numbers(GAPS, w=WEIGHTS),
    "squared, categories": numbers(FRAME),
    "squared, far from zero": numbers(y=SIGNAL * 1e-3 + 1e6),
    "squared, trend": numbers(monotonic_cst={0: 1}, max_depth=6),
    "absolute": numbers(criterion="absolute_error", max_depth=5),
    "absolute, weights, missing": numbers(GAPS, w=WEIGHTS, criterion="absolute_error", max_depth=5),
    "absolute, categories": numbers(FRAME, criterion="absolute_error", max_depth=4),
    "poisson": numbers(y=np.exp(SIGNAL), criterion="poisson"),
    "poisson of counts": numbers(FRAME, y=np.round(np.exp(SIGNAL)), w=WEIGHTS, criterion="poisson"),
    "bins of numbers": numbers(bins=16, max_leaf_nodes=20),
}


@pytest.mark.parametrize("name", FITS)
def test_every_claim_of_an_honest_fit_holds_also_from_a_file(name, tmp_path):
    model, data, y, w = FITS[name]
    model.fit(data, y, sample_weight=w)
    expected = {"leaves", "gains"} | (
        {"best splits"} if name not in ("random", "two columns a node", "one leaf") else set()
    )
    assert {c.name for c in model.certificate_} == expected
    model.save(tmp_path / "tree.assay")
    verdicts = assay.load(tmp_path / "tree.assay").certificate_.verify(data, y, sample_weight=w)
    assert verdicts.holds, str(verdicts)
    assert verdicts.notes == ()


def test_the_witness_adds_no_second_copy_of_the_tree(tmp_path):
    model = DecisionTreeClassifier().fit(X, TWO)
    model.save(tmp_path / "tree.assay")
    record = model.to_record()
    own = {id(a) for a in record.arrays.values()}
    for claim in model.certificate_:
        assert {id(v) for v in claim.witness.values() if isinstance(v, np.ndarray)} <= own


@pytest.mark.parametrize("settings", [{}, {"bins": 12}])
def test_rows_that_are_read_from_a_file_give_the_same_claims(settings, tmp_path):
    path = tmp_path / "rows.csv"
    frame = pd.DataFrame(GAPS, columns=["a", "b", "c"])
    frame.assign(y=TWO).to_csv(path, index=False)
    rows = assay.rows(path, target="y")
    assert rows.home == "stream"
    model = DecisionTreeClassifier(**settings).fit(rows)
    assert model.certificate_.verify(rows).holds
    verdicts = model.certificate_.verify(frame, TWO)
    assert verdicts.holds
    assert verdicts.notes == ()


def forged(certificate, name, value=None, **witness):
    """The certificate with one claim altered, for the checkers alone: nothing compares it with the model."""
    claim = certificate[name]
    claim = dataclasses.replace(
        claim, value=claim.value if value is None else value, witness={**claim.witness, **witness}
    )
    return dataclasses.replace(certificate, claims=(claim,), own=None, predict=None)


def changed(array, at, by):
    out = array.copy()
    out[at] = by(out[at])
    return out


def refused(certificate, data, y, w=None):
    (verdict,) = certificate.verify(data, y, sample_weight=w)
    return not verdict.holds


@pytest.fixture(scope="module")
def honest():
    return DecisionTreeClassifier(max_depth=4, criterion="entropy").fit(GAPS, THREE)


@pytest.mark.parametrize("claim", ["leaves", "gains", "best splits"])
def test_trees_that_send_rows_elsewhere_are_refused(honest, claim):
    certificate = honest.certificate_
    assert not refused(forged(certificate, claim), GAPS, THREE)
    w = certificate[claim].witness
    numbers = np.flatnonzero(w["feature"] >= 0)
    for split in range(len(numbers)):
        assert refused(forged(certificate, claim, cut=changed(w["cut"], split, lambda c: c + 0.5)), GAPS, THREE)
        other = changed(w["feature"], numbers[split], lambda f: (f + 1) % 3)
        assert refused(forged(certificate, claim, feature=other), GAPS, THREE)
    missing = changed(w["missing_left"], 0, lambda m: 1 - m)
    assert refused(forged(certificate, claim, missing_left=missing), GAPS, THREE)


def test_a_threshold_moved_between_the_same_rows_is_no_longer_halfway():
    certificate = DecisionTreeClassifier(max_depth=3).fit(X, TWO).certificate_
    cut = changed(certificate["best splits"].witness["cut"], 0, lambda c: c + 1e-9)
    assert refused(forged(certificate, "best splits", cut=cut), X, TWO)


def test_forged_leaves_are_refused(honest):
    certificate = honest.certificate_
    w = certificate["leaves"].witness
    for row in range(len(w["table"])):
        more = changed(w["table"], (row, 0), lambda x: x + 1)
        assert refused(forged(certificate, "leaves", table=more), GAPS, THREE)
    swapped = w["leaf"].copy()
    first = int(np.flatnonzero(swapped != swapped[0])[0])
    swapped[[0, first]] = swapped[[first, 0]]
    assert refused(forged(certificate, "leaves", leaf=swapped), GAPS, THREE)
    assert refused(forged(certificate, "leaves", value=0.0), GAPS, THREE)
    assert refused(forged(certificate, "leaves", class_weight="balanced"), GAPS, THREE)
    assert refused(forged(certificate, "leaves", tolerance=1.0), GAPS, THREE)


def test_numbers_of_leaves_are_as_exact_as_the_statement_says():
    """A target that is tiny beside the others is rounded to a unit of them, and the claim says so."""
    y = np.array([1.0452341728188606e106, 1000.0, 2.090468345637721e106])
    model = DecisionTreeRegressor().fit(np.eye(3), y)
    claim = model.certificate_["leaves"]
    assert "to 1e-09 of how far the targets are apart" in claim.statement
    assert np.abs(model.predict(np.eye(3)) - y).max() <= 1e-9 * np.ptp(y)
    assert model.certificate_.verify(np.eye(3), y).holds


def test_swapped_children_are_refused(honest):
    certificate = honest.certificate_
    w = certificate["leaves"].witness
    ends = ends_of(w["feature"] == -1)
    right = ends[1]
    feature = np.concatenate([w["feature"][:1], w["feature"][right:], w["feature"][1:right]])
    is_leaf, split = w["feature"] == -1, w["feature"] != -1
    of_leaf, of_split = np.cumsum(is_leaf), np.cumsum(split)
    a, b = of_leaf[right - 1], of_split[right - 1]
    leaf = np.concatenate([w["leaf"][a:], w["leaf"][:a]])
    cut, missing = (np.concatenate([w[k][:1], w[k][b:], w[k][1:b]]) for k in ("cut", "missing_left"))
    assert refused(
        forged(certificate, "leaves", feature=feature, leaf=leaf, cut=cut, missing_left=missing), GAPS, THREE
    )


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error", "poisson"])
def test_forged_gains_are_refused(criterion):
    model = (
        DecisionTreeClassifier(max_depth=4)
        if criterion == "gini"
        else DecisionTreeRegressor(criterion=criterion, max_depth=4)
    )
    y = TWO if criterion == "gini" else np.exp(SIGNAL)
    certificate = model.fit(X, y).certificate_
    gain = certificate["gains"].witness["gain"]
    for k in range(len(gain)):
        assert refused(forged(certificate, "gains", gain=changed(gain, k, lambda g: g * 1.001 + 1e-4)), X, y)
    assert refused(forged(certificate, "gains", value=certificate["gains"].value + 1e-3), X, y)
    assert refused(forged(certificate, "gains", gain=gain[:-1]), X, y)
    assert refused(forged(certificate, "gains", least_rows=200), X, y)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "absolute_error", "poisson"])
def test_a_tree_of_random_splits_is_not_one_of_best_splits(criterion):
    kind = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    y = TWO if kind is DecisionTreeClassifier else np.exp(SIGNAL)
    best = kind(criterion=criterion, max_depth=3).fit(FRAME, y).certificate_
    worse = kind(criterion=criterion, max_depth=3, splitter="random").fit(FRAME, y)
    lie = {
        **best["best splits"].witness,
        **{k: v for k, v in worse.certificate_["gains"].witness.items() if k != "gain"},
    }
    (verdict,) = forged(best, "best splits", value=float(len(worse.cut_)), **lie).verify(FRAME, y)
    assert not verdict.holds
    assert "more than the" in verdict.reason or "halfway" in verdict.reason


def test_the_best_split_of_all_rows_beats_one_found_for_larger_leaves():
    certificate = DecisionTreeClassifier(min_samples_leaf=40).fit(X, THREE).certificate_
    assert not refused(forged(certificate, "best splits"), X, THREE)
    assert refused(forged(certificate, "best splits", least_rows=1), X, THREE)


def test_bins_are_found_again_from_the_rows():
    certificate = DecisionTreeClassifier(bins=4, max_depth=3).fit(X, TWO).certificate_
    assert "4 quantile bins" in certificate["best splits"].statement
    assert refused(forged(certificate, "best splits", bins=64), X, TWO)
    assert refused(forged(certificate, "best splits", bins=None), X, TWO)


def test_large_trees_are_searched_at_some_of_their_splits(monkeypatch):
    from assay.families.trees import claims

    monkeypatch.setattr(claims, "MOST_WORK", 2000.0)
    certificate = DecisionTreeClassifier().fit(X, THREE).certificate_
    claim = certificate["best splits"]
    assert 1 <= claim.value < len(certificate["gains"].witness["gain"])
    assert claim.witness["searched"][0] == 0
    assert f"at {claim.value:.0f} of the" in claim.statement
    assert certificate.verify(X, THREE).holds
    assert refused(forged(certificate, "best splits", searched=claim.witness["searched"][:-1]), X, THREE)


def test_parts_that_are_no_tree_cannot_be_checked(honest):
    certificate = honest.certificate_
    w = certificate["leaves"].witness
    for lie in (
        {"feature": w["feature"][1:]},
        {"nodes": w["nodes"] + 1},
        {"criterion": "chi"},
        {"leaf": w["leaf"] + 999},
    ):
        assert refused(forged(certificate, "leaves", **lie), GAPS, THREE)


def test_a_certificate_that_differs_from_the_model_is_refused(honest):
    claims = honest.certificate_.claims
    for k, part in ((0, {"value": 0.0}), (1, {"statement": "all gains are great"}), (2, {"kind": "estimate"})):
        lying = dataclasses.replace(
            honest.certificate_, claims=(*claims[:k], dataclasses.replace(claims[k], **part), *claims[k + 1 :])
        )
        assert not lying.verify(GAPS, THREE).holds
    assert not dataclasses.replace(honest.certificate_, claims=claims[:2]).verify(GAPS, THREE).holds


def test_other_rows_do_not_establish_the_claims(honest):
    verdicts = honest.certificate_.verify(GAPS[::-1], THREE[::-1])
    assert verdicts.holds  # in another order they are the same rows
    assert verdicts.notes
    assert not honest.certificate_.verify(GAPS[1:], THREE[1:]).holds


def test_running_costs_are_those_of_the_definition():
    y, u = rng.normal(size=40).round(1), rng.integers(1, 5, 40)
    for m, (cost, median) in enumerate(zip(*running_costs(y, u)), 1):
        repeated = np.repeat(y[:m], u[:m])
        assert cost == pytest.approx(np.abs(repeated - np.median(repeated)).sum())
        assert median == np.median(repeated)


def test_the_shell_verifies_a_tree(tmp_path):
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True).frame
    iris.to_csv(tmp_path / "iris.csv", index=False)

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "assay", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    trained = run("train", "iris.csv", "--target", "target", "--model", "decision-tree", "--out", "m.assay")
    assert trained.returncode == 0, trained.stderr
    verified = run("verify", "m.assay", "iris.csv")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "best splits" in verified.stdout
    iris.iloc[5:].to_csv(tmp_path / "less.csv", index=False)
    assert run("verify", "m.assay", "less.csv").returncode == 4
