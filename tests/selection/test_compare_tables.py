"""Tables of every kind go through a comparison: numbers, categories, text, dates, missing values, many columns, few rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import assay
from assay import compare

QUICK = ["baseline", "naive-bayes", "gaussian-nb", "lda", "linear-svc"]
QUICK_NUMBERS = ["baseline-regressor", "linear-regression", "ridge"]


def all_done(found: assay.Comparison) -> bool:
    wrong = {e.name: e.message for e in found.entries if e.state != "done"}
    assert not wrong, wrong
    return bool(found.done)


def claims(found: assay.Comparison, table: object) -> set[str]:
    verdicts = found.model.certificate_.verify(table)
    assert verdicts.holds, str(verdicts)
    return {v.claim for v in verdicts}


@pytest.mark.parametrize("name", ["penguins", "titanic", "heart_cleveland", "pima_missing"])
def test_mixed_tables_with_missing_values(data_dir, name):
    path = data_dir / f"{name}.csv"
    found = compare(path, "target", models=QUICK, folds=3)
    assert all_done(found)
    assert found[found.best].risk.value < found["baseline"].risk.value
    assert claims(found, path) >= {"encoding", "cross-validated error"}


def test_a_table_of_categories_alone(data_dir):
    table = pd.read_csv(data_dir / "mushroom.csv")[::8]
    found = compare(table, "target", models=[*QUICK, "categorical-nb"], folds=3)
    assert all_done(found)
    assert found["linear-svc"].risk.value < 0.02


def test_messages_as_text(data_dir):
    table = pd.read_csv(data_dir / "sms_spam.csv")[:600]
    found = compare(table, "target", models=["baseline", "multinomial-nb", "linear-svc"], folds=3)
    assert all_done(found)
    assert [c.kind for c in found.schema.used] == ["text"]
    assert found[found.best].risk.value < 0.6 * found["baseline"].risk.value
    answers = found.model.predict(pd.DataFrame({"text": ["WINNER! claim your free prize now, call 09061701461"]}))
    assert answers.tolist() == ["spam"]


def test_dates_become_numbers_that_can_be_learnt():
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1400, 300), unit="D")
    table = pd.DataFrame({"day": day, "noise": rng.normal(size=300), "y": np.where(day.month <= 6, "winter", "summer")})
    found = compare(table, "y", models=["baseline", "naive-bayes", "linear-svc"], folds=3)
    assert all_done(found)
    assert found[found.best].risk.value < 0.15


@pytest.mark.parametrize("name", ["longley", "prostate", "concrete", "winequality_red"])
def test_numbers_are_regressed(data_dir, name):
    task = {"task": "regression"} if name == "winequality_red" else {}
    found = compare(data_dir / f"{name}.csv", "target", models=QUICK_NUMBERS, folds=4, **task)
    assert all_done(found)
    assert found.task == "regression"
    assert [s.name for s in found.entries[0].scores][:1] == ["MSE"]
    assert found[found.best].risk.value < found["baseline-regressor"].risk.value
    absolute = compare(data_dir / f"{name}.csv", "target", models=QUICK_NUMBERS, folds=4, loss="absolute", **task)
    assert absolute.entries[0].risk.name == "MAE"
    assert absolute.entries[0].risk.value == pytest.approx(absolute.losses(absolute.entries[0].name).mean())


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 500)) + 1.5 * y[:, None] * (np.arange(500) < 10)
    found = compare(X, y=y, models=["baseline", "gaussian-nb", "lda", "linear-svc", "ridge", "perceptron"], folds=3)
    assert [e.state for e in found.entries if e.name != "ridge"] == ["done"] * 5
    assert any(name == "ridge" and "predicts numbers" in why for name, why in found.left_out)


def test_a_category_in_one_fold_alone_and_a_class_of_few_rows():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=90), "c": ["a", "b", "c"] * 30, "y": ["p", "q"] * 45})
    table.loc[7, "c"] = "only once"
    table.loc[[3, 50], "y"] = "rare"
    assert all_done(compare(table, "y", models=QUICK, workers=0))


def test_a_model_that_saw_fewer_classes_in_a_fold_is_judged_all_the_same():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"] * 30 + ["c"] * 10)
    X = rng.normal(size=(70, 3)) + (y == "c")[:, None] + 2 * (y == "b")[:, None]
    first, last = np.arange(60), np.arange(60, 70)
    half = np.arange(70) % 2 == 0
    splits = [(first, last), (np.flatnonzero(half), np.flatnonzero(~half))]
    found = compare(X, y=y, models=[*QUICK, "perceptron", "qda", "logistic-regression"], resampling=splits, workers=0)
    assert all_done(found)
    assert all(e.trials[0].test_risk == 1.0 for e in found.done)  # none could know the class it never saw
    log = compare(X, y=y, models=[*QUICK, "logistic-regression"], resampling=splits, loss="log", workers=0)
    assert np.isfinite([e.risk.value for e in log.done]).all()


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_a_loss_of_probabilities_leaves_nobody_out(loss):
    X = np.random.default_rng(0).normal(size=(80, 3))
    found = compare(X, y=X[:, 0] > 0, loss=loss, folds=3, workers=0)
    assert not any("probabilities" in why for _, why in found.left_out)
    assert {"perceptron", "linear-svc", "svc"} <= {entry.name for entry in found.done}
    assert found.loss == loss
    assert all_done(found)


def test_streams_of_rows_that_are_read_again_and_again(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=2500), "c": rng.choice(["a", "b"], 2500)})
    table["y"] = np.where(table.x + (table.c == "a") > 0.5, "in", "out")
    table.to_csv(tmp_path / "t.csv", index=False)
    with assay.engine("stream"):
        found = compare(tmp_path / "t.csv", "y", models=QUICK)
    assert found.resampling.kind == "holdout"
    assert all_done(found)
    assert not found.data.in_memory
    assert claims(found, tmp_path / "t.csv") >= {"encoding", "held-out error of the measured fit"}
