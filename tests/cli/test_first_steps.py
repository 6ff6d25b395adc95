"""What someone new to the command line tries first, and what it says then."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from assay.cli.watching import Lines, LiveTable

ALIASES = [("svm", "linear-svc", ("--C", "10")), ("nb", "naive-bayes", ()), ("logistic", "logistic-regression", ())]


@pytest.mark.parametrize(("alias", "name", "words"), ALIASES)
def test_a_model_may_go_by_another_name_with_options_of_its_own(cli, alias, name, words):
    outcome = cli("train", "coins", "--model", alias, *words, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["model"] == name
    assert cli("train", "--model", alias, "--help").out == cli("train", "--model", name, "--help").out


def test_probabilities_of_a_loss_that_has_them(cli):
    assert cli("train", "coins", "--model", "erm", "--loss", "log").code == 0
    lines = cli("predict", "model.assay", "coins", "--proba").out.splitlines()
    assert lines[0] == "prediction,p(10c),p(25c),p(50c),p(5c)"
    names = ["10c", "25c", "50c", "5c"]
    for line in lines[1:50]:
        label, *p = line.split(",")
        assert np.sum(np.array(p, dtype=float)) == pytest.approx(1)
        assert label == names[int(np.argmax(np.array(p, dtype=float)))]


@pytest.mark.parametrize("words", [("erm", "--loss", "hinge"), ("svm",)])
def test_models_without_probabilities_get_calibrated_ones_unless_asked_not_to(cli, words):
    assert cli("train", "coins", "--model", *words).code == 0
    lines = cli("predict", "model.assay", "coins", "--proba").out.splitlines()
    for line in lines[1:50]:
        label, *p = line.split(",")
        assert label == ["10c", "25c", "50c", "5c"][int(np.argmax(np.array(p, dtype=float)))]
    assert cli("train", "coins", "--no-calibrate", "--model", *words).code == 0
    outcome = cli("predict", "model.assay", "coins", "--proba")
    assert outcome.code == 2
    assert "gives no probabilities (fitted again" in outcome.err


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "assay", "--version"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split()[0]) == (0, "assay")


def test_the_help_names_every_kind_of_table(cli):
    text = cli("--help").out
    for kind in (
        "CSV",
        "TSV",
        ".zst",
        "Parquet",
        "JSON lines",
        "Arrow IPC",
        "Excel",
        "DuckDB",
        "SQLite",
        "postgresql://",
        "images",
    ):
        assert kind in text


def test_values_out_of_range_are_told_in_plain_per_cent(cli):
    Path("t.csv").write_text("a,y\n" + "".join(f"{i % 9},{'pq'[i % 2]}\n" for i in range(60)))
    Path("new.csv").write_text("a\n" + "".join(f"{i + 50}\n" for i in range(30)))
    assert cli("train", "t.csv", "--target", "y").code == 0
    assert "column 'a': 100 % of the values lie outside" in cli("predict", "model.assay", "new.csv").err


def test_verify_says_first_that_the_rows_are_others(cli, coins_model):
    Path("t.csv").write_text("size_mm,mass_g,coin\n" + "18,1.75,10c\n28,7,50c\n" * 20)
    assert cli("verify", coins_model, "t.csv").out.startswith("note   fingerprint: the rows are not those of one fit")
    assert "note" not in cli("verify", coins_model, "coins").out


def test_the_live_table_begins_with_the_reading(cli):
    board = LiveTable()
    assert board._title(None) == "reading the table"
    board("", ("plan", ["lda"], SimpleNamespace(loss="zero-one"), 10))
    assert board._title(None).startswith("0 of 1 models")


@pytest.mark.parametrize(
    ("loss", "value", "said"), [("zero-one", 0.0441, "error 4.4 %"), ("squared", 9.0, "RMSE 3.00")]
)
def test_progress_speaks_in_the_words_of_the_ranking(loss, value, said):
    asked, events = SimpleNamespace(loss=loss), []
    board, lines = LiveTable(), Lines(SimpleNamespace(note=events.append))
    for show in (board, lines):
        show("", ("plan", ["svc", "logistic-regression", "erm"], asked, 10))
        show("svc", ("ended", "done", "", 1.25, value))
    console = Console(width=100, file=io.StringIO())
    console.print(board)
    shown = console.file.getvalue()
    assert events == [
        "10 rows, 3 models: Support vector machine, RBF; Logistic regression; Logistic regression (erm)",
        f"[1/3] Support vector machine, RBF: done in 1.2 s, {said}",
    ]
    assert "Support vector machine, RBF" in shown
    assert f"{said} " in shown
    assert "best so far" in shown
    assert not any(word in shown for word in ("risk", "svc", "logistic-regression"))


def test_compare_says_that_numbers_were_taken_as_classes(cli):
    Path("t.csv").write_text("a,y\n" + "".join(f"{i % 9},{i % 2}\n" for i in range(80)))
    words = ["compare", "t.csv", "--target", "y", "--models", "naive-bayes,erm", "--folds", 3]
    assert "task: classification (the target has 2 different whole numbers" in (found := cli(*words)).err
    assert "--task regression for a number" in found.err
    assert "task:" not in cli(*words, "--task", "classification").err
    assert "task:" not in cli("compare", "coins", "--models", "naive-bayes", "--folds", 2).err


def test_models_that_did_not_finish_are_named(cli):
    outcome = cli("compare", "coins", "--models", "mlp,lda", "--folds", 2, "--timeout", "0.001s")
    assert "not finished: " in outcome.err
    line = next(line for line in outcome.err.splitlines() if line.startswith("not finished: "))
    assert "Neural network" in line
    assert "(It took longer than the 0.001 s" in line
