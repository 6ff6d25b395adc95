"""Whatever goes wrong: one message, the right exit code, nothing on standard output, nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest

COINS = "size_mm,mass_g,coin\n"

USAGE = [
    (["trian"], "no command 'trian'. Did you mean 'train'"),
    (["train", "coins", "--modle", "lda"], "--model"),
    (["train", "coins", "--model", "gausian-nb"], "no model 'gausian-nb'. Did you mean 'gaussian-nb'"),
    (["train", "coins", "--model", "gaussian-nb", "--var-smoothin", "1"], "Did you mean '--var-smoothing'"),
    (["train", "coins", "--model", "gaussian-nb", "--var-smoothing", "-1"], "var_smoothing=-1.0 is not possible"),
    (["train", "coins", "--model", "gaussian-nb", "--var-smoothing", "much"], "var_smoothing='much' is not possible"),
    (["train", "coins", "--holdout", "1.5"], "1.5"),
    (["train", "coins", "--engine", "thread"], "no engine 'thread'. Did you mean 'threads'"),
    (["train", "coins", "--engine", "cluster=tcp://h:1", "--jobs", "2"], "--jobs is for threads"),
    (["train", "coins", "--engine", "cluster="], "--engine cluster=tcp://host:8786"),
    (["train", "coins", "--engine", "cluster"], "--engine cluster=tcp://host:8786"),
    (["train", "coins", "--delimiter", ";;"], "delimiter=';;' is not possible"),
    (["predict", "m.assay", "coins", "--out", "x.xlsx"], "cannot be written as '.xlsx'"),
    (["predict", "m.assay", "coins", "--out", "x.csv.gz"], ".csv (as without an ending), .parquet, .pq"),
    (["train", "coins", "--out", "nowhere/m.assay"], "folder 'nowhere' does not exist"),
    (["train", "t.csv"], "Give --target"),
    (["train"], "Missing argument 'DATA'"),
    (["datasets", "coin"], "Did you mean 'coins'"),
]


@pytest.mark.parametrize(("words", "message"), USAGE, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_wrong_usage_ends_with_2_and_says_what_to_type(cli, words, message):
    Path("t.csv").write_text(COINS + "1,2,a\n3,4,b\n")
    outcome = cli(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in " ".join(outcome.err.split())


BAD_TABLES = {
    "missing target": (COINS + "1,2,a\n3,4,\n", "target 'coin' is missing in 1 of 2 rows"),
    "one class": (COINS + "1,2,a\n3,4,a\n", "single class in all 2 rows"),
    "infinite": (COINS + "1,2,a\ninf,4,b\n3,3,a\n4,4,b\n", "Column 'size_mm' is infinite in row 1"),
    "huge": (COINS + "1e300,2,a\n-1e300,4,b\n1,1,a\n2,2,b\n", "'size_mm' holds numbers too large to square"),
    "ragged": (COINS + "1,2,a\n3,4\n", "2 fields where the header has 3"),
    "header only": (COINS, "no rows"),
    "empty": ("", "is empty"),
    "nothing but ids": (
        "id,coin\n" + "".join(f"x{i},{'ab'[i % 2]}\n" for i in range(30)),
        "No column is left to learn from",
    ),
    "repeated target": ("coin,x,coin\na,1,a\n", "two columns named 'coin'"),
    "nothing to learn from": ("coin\na\nb\n", "No column is left to learn from"),
}


@pytest.mark.parametrize("what", BAD_TABLES)
def test_a_bad_table_ends_with_3_and_leaves_the_old_model_alone(cli, what):
    text, message = BAD_TABLES[what]
    Path("t.csv").write_text(text)
    Path("model.assay").write_text("old")
    outcome = cli("train", "t.csv", "--target", "coin", "--model", "gaussian-nb", "--holdout", 0)
    assert (outcome.code, outcome.out) == (3, "")
    assert message in outcome.err
    assert Path("model.assay").read_text() == "old"
    assert sorted(p.name for p in Path().iterdir()) == ["model.assay", "t.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "none.csv", "--target", "y"], "There is no file 'none.csv'"),
        (["train", "coinz"], "no file 'coinz', nor a bundled dataset of that name. Did you mean 'coins'"),
        (["train", "coinz", "--target", "y"], "Did you mean 'coins'"),
        (["predict", "coins.assay", "oak"], "Did you mean 'oaks'"),
        (["train", "headles.csv"], "Did you mean 'headless.csv'"),
        (["train", "coins", "--weight", "coin"], "both the target and the weight"),
        (["train", "folder", "--target", "y"], "is a directory without tables"),
        (["train", "coins", "--target", "coine"], "no column 'coine' (the target). Did you mean 'coin'"),
        (["train", "coins", "--features", "size"], "no column 'size' (a feature). Did you mean 'size_mm'"),
        (["train", "coins", "--weight", "w"], "no column 'w' (the weight)"),
        (["train", "bad.parquet", "--target", "y"], "not a readable Parquet file"),
        (["predict", "none.assay", "coins"], "There is no file 'none.assay'"),
        (["predict", "bad.assay", "coins"], "'bad.assay'"),
        (["predict", "folder", "coins"], "directory"),
        (["predict", "coins.assay", "oaks"], "no column 'size_mm', which the model was fitted on"),
        (["predict", "coins.assay", "headless.csv"], "no rows"),
        (["evaluate", "coins.assay", "coins", "--target", "con"], "Did you mean 'coin'"),
        (["evaluate", "coins.assay", "coins", "--target", "mass_g"], "classes are text"),
        (["inspect", "none.assay"], "There is no file"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_bad_files_end_with_3_and_a_message_that_names_them(cli, coins_model, words, message):
    Path("bad.parquet").write_bytes(b"PAR1 and then nothing")
    Path("bad.assay").write_bytes(b"no model at all, whatever its name says")
    Path("folder").mkdir()
    Path("headless.csv").write_text("size_mm,mass_g\n")
    outcome = cli(*words)
    assert outcome.code == 3, outcome.err
    assert outcome.out == ""
    assert message in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_predicting_probabilities_with_a_regression_is_wrong_usage(cli):
    assert cli("train", "oaks", "--out", "m.assay").code == 0
    outcome = cli("predict", "m.assay", "oaks", "--proba")
    assert outcome.code == 2
    assert "gives no probabilities" in outcome.err


def test_a_split_that_holds_out_nothing_is_explained(cli):
    outcome = cli("train", "three-points", "--model", "gaussian-nb", "--holdout", 0.001)
    assert outcome.code == 3
    assert "hold out a larger share" in outcome.err


def test_a_class_that_was_held_out_altogether_is_explained(cli):
    outcome = cli("train", "three-points")
    assert outcome.code == 3
    assert "only one class, 1: " in outcome.err
    assert "among the rows left after a share of 0.25 was held out: --holdout 0 fits on all rows" in outcome.err
    Path("t.csv").write_text("x,y\n1,a\n2,a\n")
    assert "held out" not in cli("train", "t.csv", "--target", "y", "--holdout", 0).err


def test_a_regression_with_one_row_held_out_is_explained(cli):
    outcome = cli("train", "oaks", "--holdout", 0.09, "--seed", 1)
    assert outcome.code == 3
    assert "1 held-out row(s) has no interval" in outcome.err


def test_an_unexpected_error_is_one_line_unless_asked_for_more(cli, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("out of luck")

    monkeypatch.setattr("assay.cli.inspect.load_model", fail)
    outcome = cli("inspect", "m.assay")
    assert outcome.code == 1
    assert outcome.err == "assay: unexpected RuntimeError: out of luck (ASSAY_DEBUG=1 shows where)\n"
    monkeypatch.setenv("ASSAY_DEBUG", "1")
    with pytest.raises(RuntimeError):
        cli("inspect", "m.assay")


def test_row_numbers_of_a_split_table_are_explained(tmp_path, cli):
    (tmp_path / "inf.csv").write_text("a,b\n1,x\n2,y\ninf,x\n4,y\n5,x\n1,y\n3,x\n")
    done = cli("train", str(tmp_path / "inf.csv"), "--target", "b", "--model", "qda")
    assert done.code == 3
    assert "olumn 'a'" in done.err
    assert "infini" in done.err
    assert "counted on their side of that split" in done.err
    whole = cli("train", str(tmp_path / "inf.csv"), "--target", "b", "--model", "qda", "--holdout", "0")
    assert "Column 'a' is infinite in row 2" in whole.err
    assert "side of that split" not in whole.err


def test_missing_values_and_text_are_encoded_and_refused_no_more(cli):
    rows = "".join(f"{i % 5 if i % 7 else ''},{'big' if i % 3 else 'small'},{'ab'[i % 2]}\n" for i in range(60))
    Path("t.csv").write_text(COINS + rows)
    for model in ("qda", "gaussian-nb", "linear-svc", "perceptron"):
        assert cli("train", "t.csv", "--target", "coin", "--model", model, "--out", "m.assay").code in (0, 4)
        assert cli("verify", "m.assay", "t.csv").code in (0, 4)
