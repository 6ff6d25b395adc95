"""Train and inspect say what each column was taken for, and which column a typing error turned into text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.cli.train import default_model
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source

COLUMNS = "numbers 2 (size, one), categories 1 (colour: 2 categories)"
DENSITIES = "gaussian 1 (size), bernoulli 1 (one), categorical 1 (colour)"


@pytest.fixture
def mixed():
    rows = "".join(f"{i / 7},{'red' if i % 3 else 'blue'},{i % 2},{'a' if i % 5 else 'b'}\n" for i in range(60))
    return "size,colour,one,y\n" + rows


def test_train_and_inspect_show_kinds_and_densities(cli, mixed):
    Path("t.csv").write_text(mixed)
    trained = cli("train", "t.csv", "--target", "y", "--out", "m.assay").out
    assert f"columns: {COLUMNS}\n" in trained
    assert f"densities: {DENSITIES}\n" in trained
    inspected = cli("inspect", "m.assay").out
    assert f"columns:     {COLUMNS}\n" in inspected
    assert f"densities:   {DENSITIES}\n" in inspected
    for words in (["inspect", "m.assay"], ["train", "t.csv", "--target", "y"]):
        found = json.loads(cli(*words, "--json").out)
        assert found["kinds"] == {"size": "number", "colour": "category", "one": "number"}
        assert found["encoded"] == ["size", "one", "colour"]
        assert found["densities"] == ["gaussian", "bernoulli", "categorical"]


def test_models_without_densities_show_the_kinds_alone(cli):
    outcome = cli("train", "oaks")
    assert "columns: numbers 1 (age_years)" in outcome.out
    assert "densities" not in outcome.out
    assert json.loads(cli("inspect", "model.assay", "--json").out)["densities"] is None


def note_of(cli, values: list[str], *words: str) -> str:
    Path("t.csv").write_text("x,y\n" + "".join(f"{v},{'ab'[i % 2]}\n" for i, v in enumerate(values)))
    return cli("train", "t.csv", "--target", "y", "--model", "naive-bayes", "--holdout", 0, *words).err


def test_a_text_column_of_nearly_all_numbers_is_noted_with_the_value_that_made_it_so(cli):
    numbers = [str(i) for i in range(9)]
    assert note_of(cli, [*numbers, "abc"]) == "column 'x' is text, numbers but for 1 value such as 'abc'\n"
    assert "numbers but for 2 values such as 'abc'" in note_of(cli, [*map(str, range(18)), "abc", "!"])
    assert note_of(cli, [*numbers, "abc", "!"]) == ""  # fewer than nine in ten
    assert note_of(cli, [*numbers[1:], "abc"]) == ""  # fewer than ten
    assert note_of(cli, [*numbers, "9"]) == ""
    assert note_of(cli, [*numbers, "abc"], "--quiet") == ""


@pytest.mark.parametrize(
    ("y", "model"),
    [
        ([*range(16)], "linear-regression"),
        ([0, 1, 2] * 4, "linear-regression"),
        ([0, 1, 2] * 5, "naive-bayes"),
        ([-1, 1, 1], "naive-bayes"),
        ([*range(21)] * 10, "linear-regression"),
        ([0.5, 1, 1, 1], "linear-regression"),
        (["a", "b"], "naive-bayes"),
    ],
)
def test_whole_numbers_are_classes_where_they_repeat(y, model):
    schema = infer(table_source({"x": np.arange(len(y)) / 2, "y": np.array(y)}), target="y")
    assert default_model(schema)[0] == model


def test_where_a_column_holds_text_the_usual_classifier_is_logistic_regression(cli):
    words = ["good", "bad", "fine", "awful", "nice", "poor", "great", "sad", "happy", "dull", "bright", "dark"]
    texts = (" ".join(words[(i * k + k) % 12] for k in range(1, 11)) + f" item {i}" for i in range(200))
    Path("t.csv").write_text("review,y\n" + "".join(f"{text},{'pn'[i % 2]}\n" for i, text in enumerate(texts)))
    outcome = cli("train", "t.csv", "--target", "y")
    assert outcome.code == 0
    assert "model: logistic-regression (the target is text or true/false; column 'review' holds text" in outcome.err


def test_class_weights_name_whole_numbers(cli):
    rows = "".join(f"{i % 7},{int(i > 40)}\n" for i in range(60))
    Path("t.csv").write_text("x,y\n" + rows)
    words = ["train", "t.csv", "--target", "y", "--model", "naive-bayes", "--class-weight", '{"0": 1, "1": 5}']
    assert cli(*words).code == 0
    assert cli("verify", "model.assay", "t.csv").code == 0


def test_answers_line_up_with_the_lines_of_a_file_of_one_column(cli):
    assert cli("train", "coins", "--features", "size_mm").code == 0
    Path("new.csv").write_text("size_mm\n18\n\n27\n")
    prediction = cli("predict", "model.assay", "new.csv").out.split()
    assert len(prediction) == 4
    assert (prediction[1], prediction[3]) == ("10c", "50c")


@pytest.mark.parametrize("name", ["a", "a.CSV", "a.csv"])
def test_names_without_an_ending_and_in_capitals_are_csv(cli, coins_model, name):
    assert cli("predict", coins_model, "coins", "--out", name).code == 0
    assert Path(name).read_text().startswith("prediction\n")


def test_a_tab_can_be_typed_as_backslash_t(cli, coins_model):
    Path("new.csv").write_text("size_mm\tmass_g\n18\t1.75\n")
    assert cli("predict", coins_model, "new.csv", "--delimiter", r"\t").out.split() == ["prediction", "10c"]


def test_inspect_shows_what_the_certificate_covers(cli, mixed):
    Path("t.csv").write_text(mixed)
    cli("train", "t.csv", "--target", "y", "--out", "m.assay")
    found = json.loads(cli("inspect", "m.assay", "--json").out)["covers"]
    assert {"class_prior_", "theta_", "category_prob_", "encoding"} <= set(found["proof"])
    assert "columns_" in found["nothing"]
    shown = " ".join(cli("inspect", "m.assay").out.split())
    assert f"by proof: {', '.join(found['proof'])}" in shown
    assert found["but"] in shown
