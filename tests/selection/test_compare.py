"""A comparison is honest: test rows decide nothing, noise has no error below chance, and the same question has the same answer."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from odd_models import Guess, register

import assay
from assay import compare
from assay.certify.held_out import clopper_pearson
from assay.errors import DataError, OneClassError, ParameterError, SchemaError

FEW = ["baseline", "gaussian-nb", "lda", "linear-svc"]


def two_classes(n: int = 120, d: int = 4, seed: int = 0, shift: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = 5 + rng.normal(size=(n, d)) + shift * y[:, None] * (np.arange(d) < 2)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(d)]).assign(y=np.where(y, "yes", "no"))


def without_times(found: assay.Comparison) -> dict:
    """What a comparison says, but for what its time and memory were."""
    data = json.loads(found.to_json())
    data["provenance"].pop("seconds")
    for model in data["models"]:
        model.pop("seconds")
        model.pop("peak_bytes")
    return data


def test_on_noise_no_model_has_an_error_below_chance(monkeypatch):
    """The lots of `Guess` are searched for the luckiest: were test rows to decide, its error would be far below one half."""
    register(monkeypatch, Guess)
    wrong: dict[str, int] = {}
    for seed in range(4):
        found = compare(
            two_classes(100, seed=seed, shift=0), "y", models=["guess", *FEW], folds=5, seed=seed, workers=0
        )
        for entry in found.done:
            wrong[entry.name] = wrong.get(entry.name, 0) + round(entry.risk.value * 100)
    assert len(wrong) == 5
    for name, errors in wrong.items():
        assert clopper_pearson(errors, 400, 0.99).high >= 0.5, name


def test_a_search_that_saw_the_test_rows_would_be_caught_by_the_law_above(monkeypatch):
    """The luckiest lot on all rows errs less than chance: the law has the power to find a leak."""
    register(monkeypatch, Guess)
    table = two_classes(100, shift=0)
    lots = [compare(table, "y", models=["guess"], params={"guess": {"salt": s}}, folds=2, workers=0) for s in range(40)]
    assert min(found.entries[0].risk.value for found in lots) < 0.42


def test_the_rows_tested_decide_nothing():
    table = two_classes(200)
    split = [(np.arange(150), np.arange(150, 200))]
    before = compare(table, "y", models=FEW, resampling=split, workers=0)
    other = table.copy()
    other.loc[150:, "x0"] = 5 + np.random.default_rng(9).normal(size=50)  # other columns, other classes
    other.loc[150:, "y"] = np.where(np.arange(50) % 3, "yes", "no")
    after = compare(other, "y", models=FEW, resampling=split, workers=0)
    for name in FEW:
        assert before[name].trials[0].setting == after[name].trials[0].setting
        assert before[name].trials[0].train_risk == after[name].trials[0].train_risk
        searches = [found[name].trials[0].search for found in (before, after)]
        assert (searches[0] is None) == (searches[1] is None)
        if searches[0] is not None:
            assert np.array_equal(searches[0].risks, searches[1].risks)


def test_the_held_out_model_is_not_changed_by_the_rows_held_out():
    table = two_classes(200)
    before = compare(table, "y", models=["linear-svc"], resampling="holdout", workers=0)
    other = table.copy()
    other.loc[before.tested, "x1"] += 0.01
    after = compare(other, "y", models=["linear-svc"], resampling="holdout", workers=0)
    measured, again = (found["linear-svc"].model for found in (before, after))
    assert np.array_equal(measured.coef_, again.coef_)
    assert not np.array_equal(before.model.coef_, after.model.coef_)  # the one handed over is then fitted on all rows


def test_the_same_seed_gives_the_same_result_and_another_one_other_folds():
    table = two_classes()
    first, again = (compare(table, "y", models=FEW, seed=3, workers=0) for _ in range(2))
    assert without_times(first) == without_times(again)
    other = compare(table, "y", models=FEW, seed=4, workers=0)
    assert not np.array_equal(first.splits[0].test, other.splits[0].test)


def test_processes_and_engines_change_no_number():
    table = two_classes(150).assign(colour=np.where(np.arange(150) % 3, "red", "blue"))
    expected = without_times(compare(table, "y", models=FEW, folds=3, workers=0))
    for workers in (1, 2):
        assert without_times(compare(table, "y", models=FEW, folds=3, workers=workers)) == expected
    for name in ("stream", "threads"):
        with assay.engine(name):
            assert without_times(compare(table, "y", models=FEW, folds=3, workers=0)) == expected
            assert without_times(compare(table, "y", models=FEW, folds=3, workers=2)) == expected


def test_a_cluster_of_processes_gives_the_same_risks(client, tmp_path):
    two_classes(150).to_parquet(tmp_path / "t.parquet")
    options = {"models": ["baseline", "gaussian-nb", "lda", "qda"], "folds": 2}
    here = compare(tmp_path / "t.parquet", "y", **options)
    with assay.engine("cluster", client):
        there = compare(tmp_path / "t.parquet", "y", **options)
    for name in options["models"]:
        assert there[name].state == "done", there[name].message
        assert there[name].risk == here[name].risk
        assert there[name].setting == here[name].setting
    assert there.recommended == here.recommended


WAYS = {
    "k-fold": ({"resampling": "k-fold", "folds": 4}, 4, 120),
    "repeated": ({"resampling": "repeated", "folds": 3, "repeats": 2}, 6, 240),
    "leave-one-out": ({"resampling": "leave-one-out", "params": {"svm": {"C": 1.0}}}, 120, 120),
    "bootstrap": ({"resampling": "bootstrap", "repeats": 3}, 3, None),
    "holdout": ({"resampling": "holdout", "share": 0.3}, 1, None),
    "time": ({"resampling": "time", "folds": 3}, 3, 90),
    "plan": ({"resampling": assay.selection.splits.Resampling("k-fold", folds=3, seed=5)}, 3, 120),
    "auto": ({}, 10, 120),
    "auto repeated": ({"repeats": 2, "folds": 3}, 6, 240),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_set_rows_aside_runs(way):
    options, splits, tested = WAYS[way]
    found = compare(two_classes(), "y", models=["baseline", "lda", "linear-svc"], workers=0, **options)
    assert [e.state for e in found.entries] == ["done"] * 3, [e.message for e in found.entries]
    assert len(found.splits) == splits
    if tested is not None:
        assert len(found.tested) == tested
    for split in found.splits:
        assert not set(split.train) & set(split.test)
    for entry in found.entries:
        wrong = found.losses(entry.name)
        assert entry.risk.value == pytest.approx(wrong.mean())
        assert entry.risk.low <= entry.risk.value <= entry.risk.high
    assert found.model.predict(two_classes()).shape == (120,)


def test_given_splits_are_taken_as_they_are():
    table = two_classes()
    pairs = [(range(0, 120, 2), range(1, 120, 2)), (range(1, 120, 2), range(0, 120, 2))]
    found = compare(table, "y", models=["lda"], resampling=(pair for pair in pairs), workers=0)
    assert [s.test.tolist() for s in found.splits] == [list(range(1, 120, 2)), list(range(0, 120, 2))]
    codes = (table.y == "yes").to_numpy()
    X = table[["x0", "x1", "x2", "x3"]].to_numpy()
    wrong = 0
    for train, test in pairs:
        model = assay.LinearDiscriminantAnalysis().fit(X[list(train)], codes[list(train)])
        wrong += int((model.predict(X[list(test)]) != codes[list(test)]).sum())
    assert found["lda"].risk.value == wrong / 120


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ([], "No split was given"),
        ([([0, 1], [1, 2])], "row 1 on both sides"),
        ([([0, 1], [120])], "names the row 120 of 120 rows"),
        ([([-1, 1], [2])], "names the row -1"),
        ([([0.5], [1])], "whole numbers"),
        ([3], "not a pair"),
        ("given", "list of"),
        ("kfold", "Did you mean 'k-fold'"),
    ],
)
def test_splits_that_are_none_are_refused(splits, message):
    with pytest.raises(ParameterError, match=message):
        compare(two_classes(), "y", models=["lda"], resampling=splits, workers=0)


def test_no_group_lies_on_both_sides_of_any_split_and_inner_searches_keep_them_together():
    table = two_classes(160).assign(patient=[f"p{i}" for i in np.random.default_rng(1).integers(0, 7, 160)])
    found = compare(table, "y", models=["baseline", "linear-svc"], group="patient", workers=0)
    assert [e.state for e in found.entries] == ["done", "done"]
    assert len(found.splits) == 7  # as many folds as there are groups
    patient = table.patient.to_numpy()
    for split in found.splits:
        assert not set(patient[split.train]) & set(patient[split.test])
    assert "patient" not in [c.name for c in found.schema.columns]


def test_two_groups_are_enough():
    table = two_classes(80).assign(side=np.arange(80) % 2)
    found = compare(table, "y", models=["linear-svc"], group="side", workers=0)
    assert found.entries[0].state == "done"


def test_models_are_tested_on_later_rows_than_they_learn_from():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.permutation(150), unit="D")
    table = two_classes(150).assign(day=days)
    found = compare(table, "y", models=["baseline", "linear-svc"], time="day", workers=0)
    assert found.resampling.kind == "time"
    for split in found.splits:
        assert days[split.train].max() < days[split.test].min()
    held = compare(table, "y", models=["linear-svc"], time="day", resampling="holdout", workers=0)
    assert days[held.splits[0].train].max() < days[held.splits[0].test].min()
    assert held.model.certificate_.verify(table).holds


def test_few_moments_mean_few_folds():
    table = two_classes(100).assign(year=np.arange(100) // 25)
    found = compare(table, "y", models=["baseline", "linear-svc"], time="year", workers=0)
    assert len(found.splits) == 3
    assert [e.state for e in found.entries] == ["done", "done"]


def test_rows_of_weight_zero_are_neither_learnt_from_nor_tested_on():
    table = two_classes(120).assign(w=np.arange(120) % 3 / 2)
    found = compare(table, "y", models=["lda", "linear-svc"], weight="w", resampling="holdout", workers=0)
    assert (table.w.to_numpy()[found.tested] > 0).all()
    assert found.model.certificate_.verify(table).holds
    other = table.copy()
    other.loc[other.w == 0, "x0"] = 5.0
    again = compare(other, "y", models=["lda", "linear-svc"], weight="w", resampling="holdout", workers=0)
    assert again["lda"].risk == found["lda"].risk


BAD = {
    "no target": ({}, ParameterError, "Which column should be predicted"),
    "misspelt target": ({"target": "yy"}, SchemaError, "Did you mean 'y'"),
    "misspelt model": ({"target": "y", "models": ["ldaa"]}, ParameterError, "Did you mean 'lda'"),
    "misspelt exclusion": ({"target": "y", "without": ["ldaa"]}, ParameterError, "Did you mean 'lda'"),
    "misspelt hyper-parameter": ({"target": "y", "params": {"svm": {"CC": 1}}}, ParameterError, "Did you mean 'C'"),
    "hyper-parameter of no model": ({"target": "y", "params": {"swm": {"C": 1}}}, ParameterError, "no model 'swm'"),
    "misspelt loss": ({"target": "y", "loss": "zero"}, ParameterError, "zero-one"),
    "loss of numbers": ({"target": "y", "loss": "squared"}, ParameterError, "target of classes"),
    "regression of classes": ({"target": "y", "task": "regression"}, ParameterError, "regression is not possible"),
    "no model left": ({"target": "y", "models": ["ridge"]}, ParameterError, "No model is left"),
    "share": ({"target": "y", "share": 1.5}, ParameterError, "between 0 and 1"),
    "folds": ({"target": "y", "folds": 500}, ParameterError, "500 folds"),
    "group and time": ({"target": "y", "group": "x0", "time": "x1"}, ParameterError, "not by both"),
    "group is target": ({"target": "y", "group": "y"}, SchemaError, "both the target and the group"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_question_that_cannot_be_asked_is_refused_with_a_reason(what):
    options, error, message = BAD[what]
    with pytest.raises(error, match=message):
        compare(two_classes(40), workers=0, **options)


def test_a_target_that_names_rows_is_refused_before_anything_is_fitted():
    frame = pd.DataFrame({"x": np.arange(20.0), "name": [f"passenger {i}" for i in range(20)]})
    with pytest.raises(DataError, match="20 classes in 20 rows: it names rows"):
        compare(frame, "name")
    with pytest.raises(DataError, match="Choose a column whose values repeat"):
        compare(frame.assign(name=[f"{i // 2}" if i < 19 else "z" for i in range(20)]), "name")


def test_targets_that_cannot_be_learnt_are_refused():
    table = two_classes(40)
    with pytest.raises(OneClassError, match="single class"):
        compare(table.assign(y="yes"), "y", workers=0)
    with pytest.raises(DataError, match="missing in 1 of 40 rows"):
        compare(table.assign(y=[None, *table.y[1:]]), "y", workers=0)
    with pytest.raises(DataError, match="too few"):
        compare(table[:3], "y", workers=0)
    with pytest.raises(DataError, match="hold a single class"):
        compare(table.sort_values("y"), "y", resampling="time", folds=4, workers=0)


def test_a_bootstrap_needs_the_table_in_memory():
    with assay.engine("stream"), pytest.raises(ParameterError, match="in memory"):
        compare(two_classes(), "y", models=["lda"], resampling="bootstrap", workers=0)


def test_arrays_and_lists_of_rows_are_tables_too():
    X, y = two_classes().drop(columns="y").to_numpy(), two_classes().y
    found = compare(X, y=y, models=["lda"], folds=3, workers=0)
    assert [c.name for c in found.schema.used] == ["x0", "x1", "x2", "x3"]
    assert found["lda"].risk == compare(two_classes(), "y", models=["lda"], folds=3, workers=0)["lda"].risk
    assert found.model.predict(X).shape == (120,)
