"""`assay evaluate` says whether the model has seen the rows, and gives every score with an interval."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, mean_absolute_error, r2_score, roc_auc_score

import assay


@pytest.fixture
def two():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0, "up", "down")
    lines = [f"{a:.6f},{b:.6f},{c}" for (a, b), c in zip(X.tolist(), y.tolist())]
    Path("t.csv").write_text("a,b,y\n" + "\n".join(lines[:300]) + "\n")
    Path("new.csv").write_text("a,b,y\n" + "\n".join(lines[300:]) + "\n")
    return "t.csv"


def by_name(outcome) -> dict:
    return {score["name"]: score for score in json.loads(outcome.out)["scores"]}


def test_of_the_table_of_the_fit_only_the_rows_held_out_are_measured(cli, two):
    trained = json.loads(cli("train", two, "--target", "y", "--out", "m.assay", "--json").out)["held_out"]
    outcome = cli("evaluate", "m.assay", two, "--json")
    found = json.loads(outcome.out)
    assert (found["rows"], found["error"], found["held_out_only"]) == (trained["rows"], trained["value"], True)
    assert "measured only on the rows that were held out" in outcome.err
    assert cli("evaluate", "m.assay", two).out.startswith("only the rows held out in training:\nerror: ")


def test_rows_seen_in_training_are_noted_with_the_claim_that_speaks_of_new_rows(cli, two):
    assert cli("train", two, "--target", "y", "--holdout", 0, "--out", "m.assay").code == 0
    outcome = cli("evaluate", "m.assay", two, "--json")
    assert "these rows were seen in training" in outcome.err
    assert "no claim of the certificate speaks of new rows" in outcome.err
    found = json.loads(outcome.out)
    assert (found["rows"], found["rows_of_fit"], found["held_out_only"]) == (300, True, False)
    words = ["--models", "naive-bayes,baseline", "--folds", 3, "--out", "c.assay"]
    assert cli("compare", two, "--target", "y", *words).code == 0
    outcome = cli("evaluate", "c.assay", two)
    assert "of new rows speaks the certificate's claim 'cross-validated error'" in outcome.err


def test_of_other_rows_nothing_is_noted(cli, two):
    assert cli("train", two, "--target", "y", "--out", "m.assay").code == 0
    outcome = cli("evaluate", "m.assay", "new.csv", "--json")
    assert "training" not in outcome.err
    assert (json.loads(outcome.out)["rows"], json.loads(outcome.out)["rows_of_fit"]) == (100, False)


@pytest.mark.parametrize("words", [("naive-bayes",), ("erm", "--loss", "log")])
def test_probabilities_are_scored(cli, two, words):
    assert cli("train", two, "--target", "y", "--model", *words, "--out", "m.assay").code == 0
    found = by_name(cli("evaluate", "m.assay", "new.csv", "--json"))
    y = [line.split(",")[2] for line in Path("new.csv").read_text().split()[1:]]
    P = assay.load("m.assay").predict_proba("new.csv")
    assert found["log loss"]["value"] == pytest.approx(log_loss(y, P))
    assert found["Brier score"]["value"] == pytest.approx(brier_score_loss(y, P[:, 1], pos_label="up"))
    assert found["AUC"]["value"] == pytest.approx(roc_auc_score(np.array(y) == "up", P[:, 1]))
    assert all(score["low"] <= score["value"] <= score["high"] for score in found.values())
    text = cli("evaluate", "m.assay", "new.csv").out
    assert all(name in text for name in ("log loss", "Brier score", "AUC", "95% interval"))


def test_models_without_probabilities_get_the_scores_of_labels(cli, two):
    assert cli("train", two, "--target", "y", "--model", "svm", "--no-calibrate", "--out", "m.assay").code == 0
    assert list(by_name(cli("evaluate", "m.assay", "new.csv", "--json"))) == ["error", "balanced error"]


def test_numbers_are_scored(cli):
    assert cli("train", "oaks", "--holdout", 0, "--out", "m.assay").code == 0
    found = by_name(cli("evaluate", "m.assay", "oaks", "--json"))
    data = assay.dataset("oaks")
    answers = assay.load("m.assay").predict(assay.rows(data.path))
    assert found["R²"]["value"] == pytest.approx(r2_score(data.y, answers))
    assert found["MAE"]["value"] == pytest.approx(mean_absolute_error(data.y, answers))
    assert found["RMSE"]["value"] == pytest.approx(found["MSE"]["value"] ** 0.5)
    assert "R²" in cli("evaluate", "m.assay", "oaks").out


def test_rows_of_weight_zero_do_not_count(cli):
    rows = "".join(f"{i % 9},{'pq'[i % 2]},{int(i % 5 > 0)}\n" for i in range(50))
    Path("t.csv").write_text("x,y,w\n" + rows)
    assert cli("train", "t.csv", "--target", "y", "--weight", "w", "--holdout", 0, "--out", "m.assay").code == 0
    assert by_name(cli("evaluate", "m.assay", "t.csv", "--json"))["log loss"]["n"] == 40


def test_a_model_of_arrays_is_measured_as_well(cli, two):
    assay.GaussianNB().fit(assay.rows(two, target="y")).save("m.assay")
    outcome = cli("evaluate", "m.assay", two, "--target", "y", "--json")
    assert "these rows were seen in training" in outcome.err
    assert "log loss" in by_name(outcome)
