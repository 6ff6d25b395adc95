"""Each verb does what its help says; standard output holds the result and nothing else."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

import assay
from assay.certify.held_out import clopper_pearson


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_train_saves_a_model_and_prints_error_interval_and_certificate(cli):
    outcome = cli("train", "coins", "--model", "gaussian-nb", "--out", "m.assay")
    assert outcome.code == 0
    assert "held-out error: 0." in outcome.out
    assert "95% interval [" in outcome.out
    assert "certificate:" in outcome.out
    assert "saved: m.assay" in outcome.out
    assert assay.load("m.assay").classes_.tolist() == ["10c", "25c", "50c", "5c"]


def test_train_counts_the_errors_of_the_rows_it_held_out(cli):
    found = json.loads(cli("train", "coins", "--model", "gaussian-nb", "--seed", 3, "--holdout", 0.5, "--json").out)
    assert found["schema"] == "assay.train/1"
    data = assay.dataset("coins")
    from assay.engines.derived import held_out_mask

    mask = held_out_mask(0, len(data.y), 0.5, 3)
    model = assay.GaussianNB().fit(data.X[~mask], data.y[~mask])
    errors = int((model.predict(data.X[mask]) != data.y[mask]).sum())
    held = found["held_out"]
    assert held["rows"] == mask.sum()
    assert held["value"] == errors / mask.sum()
    assert held["interval"] == pytest.approx(clopper_pearson(errors, int(mask.sum())))
    assert found["rows"] == 1200
    assert found["holds"] is True


def test_without_a_model_text_means_classes_and_many_numbers_a_regression(cli):
    assert "model: naive-bayes (the target is text" in cli("train", "coins").err
    assert "model: linear-regression (the target is a number" in cli("train", "oaks").err
    outcome = cli("train", "three-points", "--holdout", 0)
    assert "model: naive-bayes (the target has 2 different whole numbers" in outcome.err
    assert "nothing was held out" in outcome.out


def test_hyper_parameters_are_options(cli):
    outcome = cli(
        "train", "coins", "--model", "gaussian-nb", "--var-smoothing", "1e-3", "--class-weight", "balanced", "--json"
    )
    params = json.loads(outcome.out)["params"]
    assert params["var_smoothing"] == 1e-3
    assert params["class_weight"] == "balanced"
    assert "--var-smoothing VALUE" in cli("train", "--model=gaussian-nb", "--help").out


@pytest.mark.parametrize("engine", ["threads", "stream"])
def test_the_notes_projected_gradient_fits_a_small_table(cli, engine):
    told = "train three-points --target label --model linear-svc --loss hinge --C inf --solver pgd --holdout 0 --out m.assay --engine"
    assert cli(*told.split(), engine).code == 0
    assert cli("verify", "m.assay", "three-points").code == 0


def test_options_of_one_model_do_not_leak_into_the_next_run(cli):
    assert cli("train", "coins", "--model", "gaussian-nb", "--var-smoothing", "1e-3").code == 0
    assert cli("train", "coins", "--model", "lda", "--var-smoothing", "1e-3").code == 2


def test_train_is_repeatable_over_engines_and_jobs(cli):
    files = []
    for words in ([], ["--jobs", 1], ["--engine", "threads"], ["--engine", "stream", "--jobs", 2]):
        assert cli("train", "coins", "--model", "gaussian-nb", "--out", "m.assay", *words).code == 0
        files.append(Path("m.assay").read_bytes())
    assert len(set(files)) == 1


def test_features_and_weight_are_chosen_by_name(cli):
    Path("t.csv").write_text(
        "a;b;w;y\n" + "".join(f"{i};{i % 7};{1 + i % 2};{'yes' if i > 50 else 'no'}\n" for i in range(100))
    )
    words = [
        "train",
        "t.csv",
        "--target",
        "y",
        "--model",
        "gaussian-nb",
        "--features",
        "a, b",
        "--weight",
        "w",
        "--json",
    ]
    assert json.loads(cli(*words).out)["features"] == ["a", "b"]
    assert cli("verify", "model.assay", "t.csv").code == 0


def test_predict_keeps_the_order_of_the_rows_and_ignores_other_columns(cli, coins_model):
    outcome = cli("predict", coins_model, "coins")
    header, *rows = table(outcome.out)
    data = assay.dataset("coins")
    expected = assay.load(coins_model).predict(assay.rows(data.path))
    assert header == ["prediction"]
    assert [row[0] for row in rows] == expected.tolist()


def test_predict_proba_has_a_column_a_class_that_sum_to_one(cli, coins_model):
    header, *rows = table(cli("predict", coins_model, "coins", "--proba").out)
    assert header == ["prediction", "p(10c)", "p(25c)", "p(50c)", "p(5c)"]
    P = np.array([row[1:] for row in rows], dtype=float)
    assert np.allclose(P.sum(axis=1), 1)
    assert np.array_equal(P, assay.load(coins_model).predict_proba(assay.rows(assay.dataset("coins").path)))


def test_predict_writes_csv_and_parquet_files_with_the_same_answers(cli, coins_model):
    assert cli("predict", coins_model, "coins", "--out", "a.csv", "--proba").code == 0
    outcome = cli("predict", coins_model, "coins", "--out", "a.parquet", "--proba", "--json")
    assert json.loads(outcome.out) == {
        "schema": "assay.predict/1",
        "model": coins_model,
        "data": "coins",
        "out": "a.parquet",
        "rows": 1200,
    }
    answers = parquet.read_table("a.parquet").to_pydict()
    header, *rows = table(Path("a.csv").read_text())
    assert list(answers) == header
    assert [row[0] for row in rows] == answers["prediction"]
    assert [float(row[1]) for row in rows] == answers["p(10c)"]
    assert sorted(p.name for p in Path().iterdir()) == ["a.csv", "a.parquet", "coins.assay"]


def test_predict_json_holds_the_answers(cli, coins_model):
    found = json.loads(cli("predict", coins_model, "coins", "--json").out)
    assert found["schema"] == "assay.predict/1"
    assert found["columns"] == ["prediction"]
    assert len(found["answers"]) == 1200


def test_evaluate_gives_the_risk_its_interval_and_the_confusion(cli, coins_model):
    data = assay.dataset("coins")
    head, *lines = data.path.read_text().split()
    Path("t.csv").write_text("\n".join([head, *reversed(lines)]))
    found = json.loads(cli("evaluate", coins_model, "t.csv", "--json").out)  # in another order: another table
    assert found["held_out_only"] is False
    wrong = assay.load(coins_model).predict(assay.rows(data.path)) != data.y
    assert (found["errors"], found["rows"]) == (wrong.sum(), 1200)
    assert found["interval"] == pytest.approx(clopper_pearson(int(wrong.sum()), 1200))
    counts = np.array(found["confusion"])
    assert counts.sum() == 1200
    assert counts[:4].sum(axis=1).tolist() == [(data.y == c).sum() for c in found["classes"]]
    text = cli("evaluate", coins_model, "t.csv").out
    assert text.startswith("error: 0.0")
    assert "true \\ answer" in text


def test_evaluate_counts_labels_that_the_model_does_not_know_as_errors(cli, coins_model):
    Path("t.csv").write_text("size_mm,mass_g,coin\n18,1.75,10c\n28,7,1$\n")
    found = json.loads(cli("evaluate", coins_model, "t.csv", "--json").out)
    assert (found["errors"], found["rows"]) == (1, 2)
    assert sum(found["confusion"][4]) == 1


def test_regressors_are_measured_by_squared_error_and_r2(cli):
    assert cli("train", "oaks", "--holdout", 0, "--out", "oaks.assay").code == 0
    found = json.loads(cli("evaluate", "oaks.assay", "oaks", "--json").out)
    data = assay.dataset("oaks")
    slope, intercept = np.polyfit(data.X[:, 0], data.y, 1)
    losses = (data.y - slope * data.X[:, 0] - intercept) ** 2
    assert found["mse"] == pytest.approx(losses.mean())
    assert found["r2"] == pytest.approx(1 - losses.mean() / data.y.var())
    assert found["standard_error"] == pytest.approx(losses.std(ddof=1) / np.sqrt(12))


def test_the_held_out_loss_of_a_regression_is_in_the_certificate_and_verified(cli):
    outcome = cli("train", "oaks", "--out", "oaks.assay")
    assert "held-out squared error" in outcome.out
    outcome = cli("verify", "oaks.assay", "oaks")
    assert outcome.code == 0, outcome.out
    assert "held-out squared error" in outcome.out


def test_verify_rechecks_every_claim(cli, coins_model):
    found = json.loads(cli("verify", coins_model, "coins", "--json").out)
    assert found["holds"] is True
    assert {"held-out error", "encoding"} <= {v["claim"] for v in found["verdicts"]}


def test_verify_ends_with_4_where_a_claim_does_not_hold_for_the_rows(cli, coins_model):
    lines = assay.dataset("coins").path.read_text().splitlines()
    Path("other.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    outcome = cli("verify", coins_model, "other.csv")
    assert outcome.code == 4
    assert "FAILS" in outcome.out
    assert "NOT every claim holds" in outcome.out


def test_inspect_shows_what_is_in_the_file(cli, coins_model):
    text = cli("inspect", coins_model).out
    for words in ("gaussian-nb", "size_mm, mass_g", "coin", "10c, 25c, 50c, 5c", "fingerprint: ", "share 0.25, seed 0"):
        assert words in text
    found = json.loads(cli("inspect", coins_model, "--json").out)
    assert found["schema"] == "assay.inspect/1"
    assert found["provenance"]["split"] == {"fraction": 0.25, "seed": 0}


def test_datasets_lists_prints_and_locates(cli):
    listing = cli("datasets").out
    assert all(name in listing for name in ("coins", "papayas", "oaks", "three-points"))
    assert cli("datasets", "oaks").out.startswith("age_years,dbh_inch\n97,12.5\n")
    assert Path(cli("datasets", "oaks", "--path").out.strip()).is_file()
    assert json.loads(cli("datasets", "--json").out)["datasets"][0]["rows"] == 1200


def test_text_columns_go_through_train_predict_and_verify(cli):
    rows = "".join(f"{'red' if i % 3 else 'blue'},{i % 5},{'a' if i % 3 else 'b'}\n" for i in range(90))
    Path("t.csv").write_text("colour,size,y\n" + rows)
    assert cli("train", "t.csv", "--target", "y").code == 0
    assert cli("verify", "model.assay", "t.csv").code == 0
    Path("new.csv").write_text("size,colour,more\n1,blue,x\n2,red,y\n")
    assert cli("predict", "model.assay", "new.csv").out.split() == ["prediction", "b", "a"]


def test_quiet_says_nothing_but_the_result(cli):
    assert cli("train", "coins", "--quiet").err == ""
