"""`assay predict` with models of tables: rows in order, files whole, and a word about what the fit never saw."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest

import assay


def table(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = rng.normal(size=n).round(3)
    colour = rng.choice(["red", "blue", "green"], n)
    return pd.DataFrame({"size": size, "colour": colour, "y": np.where(size + (colour == "red") > 0.4, "in", "out")})


@pytest.fixture
def model(cli) -> str:
    table().to_csv("t.csv", index=False)
    outcome = cli(
        "compare", "t.csv", "--target", "y", "--models", "baseline,logistic,lda", "--folds", 3, "--out", "m.assay"
    )
    assert outcome.code == 0, outcome.err
    return "m.assay"


def answers(text: str) -> list[str]:
    return [row[0] for row in csv.reader(io.StringIO(text))][1:]


def test_answers_are_those_of_python_in_the_order_of_the_rows(cli, model):
    new = table().sample(frac=1, random_state=1)[["colour", "size"]]  # other rows, other columns' order
    new.to_csv("new.csv", index=False)
    expected = assay.load(model).predict(new).tolist()
    outcome = cli("predict", model, "new.csv")
    assert answers(outcome.out) == expected
    assert outcome.err == ""
    for out in ("a.csv", "a.parquet"):
        assert cli("predict", model, "new.csv", "--out", out).code == 0
    assert answers(Path("a.csv").read_text()) == expected
    assert parquet.read_table("a.parquet")["prediction"].to_pylist() == expected
    assert sorted(p.name for p in Path().iterdir()) == ["a.csv", "a.parquet", "m.assay", "new.csv", "t.csv"]


def test_long_tables_are_answered_block_by_block_in_order(cli, model):
    new = pd.concat([table()] * 600, ignore_index=True)  # 120 000 rows: several blocks
    new.to_parquet("long.parquet", row_group_size=7000)
    assert cli("predict", model, "long.parquet", "--out", "a.parquet").code == 0
    found = parquet.read_table("a.parquet")["prediction"].to_pylist()
    once = assay.load(model).predict(table()).tolist()
    assert found == once * 600


def test_probabilities_stand_beside_the_answers(cli, model):
    header, *rows = csv.reader(io.StringIO(cli("predict", model, "t.csv", "--proba").out))
    assert header == ["prediction", "p(in)", "p(out)"]
    P = np.array([row[1:] for row in rows], dtype=float)
    assert np.allclose(P.sum(axis=1), 1)
    assert [row[0] for row in rows] == [header[1:][k][2:-1] for k in P.argmax(axis=1)]
    assert np.allclose(P, assay.load(model).predict_proba("t.csv"))


def test_categories_never_seen_and_missing_values_are_noted_and_answered(cli, model):
    Path("new.csv").write_text("size,colour\n0.5,purple\n,red\n99,blue\n")
    outcome = cli("predict", model, "new.csv")
    assert outcome.code == 0, outcome.err
    assert len(answers(outcome.out)) == 3
    assert "column 'colour' has 1 category the fit never saw, in 1 of 3 rows: 'purple'" in outcome.err
    assert "column 'size' lacks a value in 1 of 3 rows" in outcome.err
    assert "outside what the fit saw" in outcome.err
    quiet = cli("predict", model, "new.csv", "--quiet")
    assert (quiet.err, quiet.out) == ("", outcome.out)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size\n1\n", "no column 'colour'"),
        ("size,color\n1,red\n", "Did you mean 'color'"),
        ("size,colour\nbig,red\n", "Column 'size' holds text"),
        ("size,colour\n", "no rows"),
        ("size,colour\n1,red,more\n", "fields"),
    ],
)
def test_a_table_of_another_kind_is_refused_with_the_column_and_nothing_is_written(cli, model, text, message):
    Path("new.csv").write_text(text)
    Path("a.csv").write_text("old")
    outcome = cli("predict", model, "new.csv", "--out", "a.csv")
    assert (outcome.code, outcome.out) == (3, ""), outcome.err
    assert message in outcome.err
    assert Path("a.csv").read_text() == "old"


def test_an_error_late_in_the_table_leaves_no_half_written_file(cli, model):
    lines = ["size,colour", *(f"{i % 5},red" for i in range(400_000)), "huge,red"]
    Path("new.csv").write_text("\n".join(lines) + "\n")
    Path("a.csv").write_text("old")
    outcome = cli("predict", model, "new.csv", "--out", "a.csv")
    assert outcome.code == 3, outcome.err
    assert Path("a.csv").read_text() == "old"
    assert not [p for p in Path().iterdir() if p.name.startswith(".")]


def test_targets_and_further_columns_in_the_table_change_nothing(cli, model):
    full = cli("predict", model, "t.csv").out
    table().assign(more=1).drop(columns="y").to_csv("new.csv", index=False)
    outcome = cli("predict", model, "new.csv")
    assert outcome.out == full
    assert "not used, for the model does not know them: 'more'" in outcome.err


def test_numbers_are_predicted_too(cli):
    outcome = cli(
        "compare", "oaks", "--models", "baseline-regressor,linear-regression", "--folds", 3, "--out", "o.assay"
    )
    assert outcome.code == 0, outcome.err
    found = [float(value) for value in answers(cli("predict", "o.assay", "oaks").out)]
    assert np.allclose(found, assay.load("o.assay").predict(assay.dataset("oaks").path))
    assert cli("predict", "o.assay", "oaks", "--proba").code == 2


def test_columns_are_kept_beside_the_answers_as_they_stand_in_the_file(cli, model):
    new = table().assign(code=[f"{i:05}" for i in range(200)], note=["", "a,b"] * 100)
    new.to_csv("new.csv", index=False)
    expected = answers(cli("predict", model, "new.csv", "--quiet").out)
    header, *rows = csv.reader(io.StringIO(cli("predict", model, "new.csv", "--keep", "code,note").out))
    assert header == ["code", "note", "prediction"]
    assert rows == [[f"{i:05}", ["", "a,b"][i % 2], answer] for i, answer in enumerate(expected)]
    header, *rows = csv.reader(io.StringIO(cli("predict", model, "new.csv", "--all", "--proba").out))
    assert header == ["size", "colour", "y", "code", "note", "prediction", "p(in)", "p(out)"]
    assert [row[5] for row in rows] == expected


def test_kept_columns_stay_with_their_rows_through_many_blocks_and_keep_their_types(cli, model):
    new = pd.concat([table()] * 600, ignore_index=True).assign(id=range(120_000))
    new["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(new["id"] % 300, unit="D")
    new.to_parquet("long.parquet", row_group_size=7000)
    assert cli("predict", model, "long.parquet", "--keep", "day,id", "--out", "a.parquet").code == 0
    found = parquet.read_table("a.parquet").to_pandas()
    assert list(found) == ["day", "id", "prediction"]
    assert found["id"].tolist() == list(range(120_000))
    assert (found["day"] == new["day"]).all()
    assert found["prediction"].tolist() == assay.load(model).predict(table()).tolist() * 600
    as_json = cli("predict", model, "long.parquet", "--keep", "day", "--json").out
    assert '"columns": ["day", "prediction"], "answers": [["2024-01-01 00:00:00", ' in as_json


def test_columns_that_cannot_be_kept_are_named(cli, model):
    table().assign(prediction="old").to_csv("new.csv", index=False)
    for words, code, message in [
        (["--keep", "colr"], 3, "no column 'colr' (to be kept)"),
        (["--keep", "prediction"], 2, "the answers stand in a column of that name"),
        (["--keep", "size", "--all"], 2, "leave out --keep"),
    ]:
        outcome = cli("predict", model, "new.csv", *words)
        assert (outcome.code, outcome.out) == (code, ""), outcome.err
        assert message in " ".join(outcome.err.split())
    outcome = cli("predict", model, "new.csv", "--all")
    assert outcome.out.startswith("size,colour,y,prediction\n")
    assert "'prediction' of the table is left out" in outcome.err


def test_model_and_data_in_the_other_order_are_taken_as_meant_with_a_note(cli, model):
    right = cli("predict", model, "t.csv")
    swapped = cli("predict", "t.csv", model)
    assert (swapped.code, swapped.out) == (0, right.out)
    assert "t.csv as the table" in swapped.err
    assert cli("evaluate", "t.csv", model, "--quiet").err == ""
    assert cli("verify", "t.csv", model).code == 0
    both = cli("predict", model, model)
    assert both.code == 3
    assert "other order" not in both.err
