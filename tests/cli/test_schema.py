"""`assay schema` shows what each column is and what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.tables.schema.schema import Schema


def test_the_table_names_kinds_gaps_ranges_and_the_target(cli, data_dir):
    outcome = cli("schema", data_dir / "titanic.csv", "--target", "target", "--kind", "Pclass=category")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["column", "kind", "missing", "distinct", "values"]
    assert lines[1].split() == ["Pclass", "category", "3", "1,", "2,", "3"]
    assert lines[4].split() == ["Age", "number", "19.9", "%", "88", "0.42", "…", "80"]
    assert "Classes: 0: 549 (61.6 %), 1: 342 (38.4 %)" in lines
    assert "Target 'target': classification, because the target has 2 different whole" in lines
    assert any(line.startswith("  text      its words") for line in lines)


def test_json_carries_the_schema_and_what_becomes_of_each_column(cli, data_dir):
    data = json.loads(cli("schema", data_dir / "mushroom.csv", "--target", "target", "--json").out)
    assert data["schema"] == "assay.schema/1"
    assert data["task"] == "classification"
    assert data["fates"]["veil-type"] == "left out, for it tells no rows apart"
    stored = {key: data[key] for key in ("schema", "n_rows", "columns", "target", "roles")}
    assert Schema.from_data(stored)["odor"].counts["n"] == 3528


def test_a_bundled_dataset_brings_its_target(cli):
    outcome = cli("schema", "coins")
    assert "Target 'coin': classification, because the target is text or true/false." in outcome.out
    assert cli("schema", "coins.csv").code == 3


def test_columns_left_out_come_with_their_reason(cli):
    Path("t.csv").write_text("row,unit,x,y\n" + "".join(f"{i},mm,{i % 7 / 2},{i % 2}\n" for i in range(40)))
    out = cli("schema", "t.csv", "--target", "y").out
    assert "Left out: row, unit." in out
    assert "id        left out, for it names rows: row (counts the rows)" in out
    assert "constant  left out, for it tells no rows apart: unit (one value in all rows)" in out


def test_a_target_with_gaps_is_pointed_out(cli):
    Path("t.csv").write_text("x,y\n1.5,a\n2.5,\n3.5,b\n")
    assert "It is missing in 1 row: drop" in cli("schema", "t.csv", "--target", "y").out


def test_a_typing_error_that_makes_text_of_numbers_is_noted(cli):
    Path("t.csv").write_text("x,y\n" + "".join(f"{i / 7},{i % 2}\n" for i in range(40)) + "1.2.3,1\n")
    outcome = cli("schema", "t.csv", "--target", "y")
    assert "column 'x' is text, numbers but for 1 value such as '1.2.3'" in outcome.err
    assert cli("schema", "t.csv", "--target", "y", "--quiet").err == ""


WRONG = {
    "no such target": (["--target", "taget"], 3, "Did you mean 'target'?"),
    "no such column": (["--kind", "sexx=text"], 3, "Did you mean 'sex'?"),
    "no such kind": (["--kind", "sex=categry"], 2, "Did you mean 'category'?"),
    "no kind": (["--kind", "sex"], 2, "write COLUMN=KIND"),
    "twice": (["--kind", "sex=text", "--kind", "sex=id"], 2, "names the column 'sex' twice"),
    "impossible": (["--kind", "sex=number"], 3, "'MALE'"),
    "no such feature": (["--features", "sex,islnd"], 3, "Did you mean 'island'?"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_usage_is_refused_with_its_exit_code(cli, data_dir, name):
    words, code, message = WRONG[name]
    outcome = cli("schema", data_dir / "penguins.csv", *words)
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


def test_what_an_office_writes_is_shown_before_and_after_and_overruled(cli):
    lines = "".join(
        f"{i}.250,5{i % 7};{1 + i % 9}/{1 + i % 8}/2023;0{1000 + i % 5};{'ja' if i % 3 else 'nein'}\n"
        for i in range(1, 60)
    )
    Path("amt.csv").write_text("betrag;tag;plz;kauf\n" + lines)
    outcome = cli("schema", "amt.csv", "--target", "kauf")
    assert "  betrag  59.250,53 → 59250.53" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert "'tag' has no day above 12" in outcome.err
    assert "'plz' holds codes such as '01001'" in outcome.err
    data = json.loads(cli("schema", "amt.csv", "--json", "--month-first", "--kind", "plz=number").out)
    assert data["written"]["tag"]["order"] == "mdy"
    assert data["columns"][2]["high"] == 1004
    train = ("train", "amt.csv", "--target", "kauf", "--model", "lda", "--day-first", "--out", "m.assay")
    assert cli(*train).code == 0
    Path("neu.csv").write_text("betrag;tag;plz\n1.250,5;5/3/2023;01001\n")
    Path("plain.csv").write_text("betrag,tag,plz\n1250.5,2023-03-05,01001\n")
    answers = [cli("predict", "m.assay", file, "--proba").out for file in ("neu.csv", "plain.csv")]
    assert answers[0] == answers[1] != ""
