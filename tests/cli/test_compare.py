"""`assay compare` from the shell: a verdict on standard output, progress on standard error, files whole or not at all."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import assay

COMMAND = [sys.executable, "-m", "assay.cli"]
FEW = ["--models", "baseline,lda,linear-svc", "--folds", "3"]
TWO = [
    "--models",
    "baseline,gaussian-nb",
    "--folds",
    "2",
]  # where it matters how the command runs and not what it finds


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """A table on which a comparison takes a while."""
    rng = np.random.default_rng(0)
    y = np.arange(120_000) % 5
    X = rng.normal(size=(120_000, 30)) + y[:, None] * rng.normal(size=30)
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    pd.DataFrame(X, columns=[f"x{j}" for j in range(30)]).assign(y=y).to_parquet(path)
    return path


def test_the_verdict_is_on_standard_output_and_progress_on_standard_error(cli):
    outcome = cli("compare", "coins", *FEW)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("'coins': 1200 rows")
    assert "\nTake " in outcome.out
    assert "→ " in outcome.out
    assert "1200 rows, 3 models: Baseline; Linear discriminant; Linear support vector machine" in outcome.err
    assert "[3/3] " in outcome.err
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert cli("compare", "coins", *FEW, "--quiet").err == ""


def test_json_has_a_schema_no_nan_and_intervals(cli):
    outcome = cli("compare", "coins", *FEW, "--json", "--quiet")
    found = json.loads(outcome.out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert found["schema"] == "assay.compare/1"
    assert len(outcome.out.splitlines()) == 1
    assert (found["rows"], found["target"], found["task"]) == (1200, "coin", "classification")
    for model in found["models"]:
        for score in (model["risk"], model["train_risk"], *model["scores"]):
            assert score["low"] <= score["value"] <= score["high"]
    assert found["question"]["command"] == f"assay compare coins {' '.join(FEW)} --json --quiet"
    assert (found["out"], found["report"], found["interrupted"]) == (None, None, False)


def test_the_model_is_saved_certified_and_answers(cli):
    outcome = cli("compare", "coins", *FEW, "--out", "m.assay", "--json")
    assert outcome.code == 0
    found = json.loads(outcome.out)
    assert found["out"] == "m.assay"
    assert assay.load("m.assay").name == found["recommended"]
    verified = json.loads(cli("verify", "m.assay", "coins", "--json").out)
    assert verified["holds"]
    assert {"encoding", "cross-validated error"} <= {v["claim"] for v in verified["verdicts"]}
    assert cli("predict", "m.assay", "coins").out.startswith("prediction\n25c\n")
    assert json.loads(cli("evaluate", "m.assay", "coins", "--json").out)["error"] < 0.2


def test_the_model_can_go_to_standard_output(process):
    done = process("compare", "coins", *TWO, "--out", "-")
    assert done.returncode == 0, done.stderr
    assert process("inspect", "-", stdin=done.stdout).returncode == 0
    assert b"Take " in done.stderr


def test_options_reach_the_comparison(cli):
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "w": 1.0, "who": np.arange(n) % 8})
    frame["y"] = (frame.a > 0).astype(int)
    frame.to_csv("t.csv", index=False)
    words = ["compare", "t.csv", "--target", "y", "--group", "who", "--weight", "w", "--loss", "log", "--seed", 5]
    words += ["--models", "lda,logistic", "--param", "logistic.C=2", "--kind", "b=category", "--features", "a,b"]
    found = json.loads(cli(*words, "--folds", 4, "--json", "--quiet").out)
    assert found["question"]["group"] == "who"
    assert found["loss"] == "log"
    assert found["resampling"] | {"folds": 4, "seed": 5, "kind": "k-fold"} == found["resampling"]
    models = {m["model"]: m for m in found["models"]}
    assert set(models) == {"lda", "logistic-regression"}
    assert models["logistic-regression"]["settings"]["C"] == 2.0
    columns = {c["name"]: c["kind"] for c in found["table"]["columns"]}
    assert columns == {"a": "number", "b": "category"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare"], "Missing argument 'DATA'"),
        (["compare", "t.csv"], "Give --target COLUMN"),
        (["compare", "coins", "--models", "ldaa"], "Did you mean 'lda'"),
        (["compare", "coins", "--models", "ridge"], "No model is left to compare"),
        (["compare", "coins", "--param", "svm"], "write MODEL.NAME=VALUE"),
        (["compare", "coins", "--param", "svm.CC=1"], "Did you mean 'C'"),
        (["compare", "coins", "--param", "svm.C=-1", "--models", "svm"], "C=-1"),
        (["compare", "coins", "--timeout", "soon"], "90, 90s, 5m or 1h"),
        (["compare", "coins", "--memory", "-2G"], "500M or 2G"),
        (["compare", "coins", "--loss", "squared"], "target of classes"),
        (["compare", "coins", "--resampling", "kfold"], "k-fold"),
        (["compare", "coins", "--folds", "1"], "--folds"),
        (["compare", "coins", "--out", "nowhere/m.assay"], "folder 'nowhere' does not exist"),
        (["compare", "coins", "--report", "nowhere/r.html"], "for --report: the folder 'nowhere'"),
        (["compare", "coins", "--report", "-"], "a report is written to a file"),
        (["compare", "coins", "--kind", "size_mm"], "write COLUMN=KIND"),
        (["compare", "coins", "--task", "regression"], "regression is not possible"),
    ],
    ids=lambda v: " ".join(v[1:]) if isinstance(v, list) else "",
)
def test_wrong_usage_ends_with_2(cli, words, message):
    Path("t.csv").write_text("a,y\n1,p\n2,q\n")
    outcome = cli(*words)
    assert (outcome.code, outcome.out) == (2, ""), outcome.err
    assert message in " ".join(outcome.err.split())


ALL = ["--without", "erm"]
SOME = ["--models", "baseline,naive-bayes,logistic-regression,decision-tree"]


@pytest.mark.parametrize(("name", "models"), [("iris", SOME), ("penguins", SOME), ("longley", ALL), ("german", SOME)])
def test_text_fits_eighty_columns_for_real_tables(cli, data_dir, name, models):
    outcome = cli("compare", data_dir / f"{name}.csv", "--target", "target", "--folds", 3, *models, "--quiet")
    assert outcome.code == 0, outcome.err
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert outcome.err == ""


def test_a_budget_that_ends_too_early_is_told_with_5_and_what_is_finished(process, large):
    done = process("compare", large, "--target", "y", "--budget", "5s", "--models", "baseline,lda,logistic,erm")
    assert done.returncode == 5, done.stderr
    said = (
        b"Take ",
        b"Nothing but the baseline was finished",
        b"No model was finished",
    )  # the latter on a busy machine
    assert any(words in done.stdout for words in said), done.stdout
    assert b"out of time" in done.stdout or b"learnt from" in done.stdout


def test_a_timeout_stops_one_model_and_not_the_others(process, large):
    words = ["compare", large, "--target", "y", "--timeout", "6s", "--models", "baseline,logistic", "--json", "-q"]
    done = process(*words, "--param", "logistic.tol=1e-14", "--param", "logistic.max_iter=100000")
    found = json.loads(done.stdout)
    states = {m["model"]: m["state"] for m in found["models"]}
    assert states["baseline"] == "done"
    assert states["logistic-regression"] in ("timeout", "done")
    without_evidence = states["logistic-regression"] == "timeout"  # nothing but the baseline is no verdict
    assert done.returncode == (5 if without_evidence else 0), done.stderr
    assert (found["recommended"] is None) == without_evidence


def test_colours_and_cursor_moves_are_for_terminals(process):
    done = process("compare", "coins", *TWO)
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"\x1b" not in process("compare", "coins", *TWO, NO_COLOR="1").stderr


def in_terminal(words: list[str], folder: Path, **environment: str) -> tuple[int, bytes]:
    """Run the command with a terminal as its standard error, and take what it shows there."""
    import pty

    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm", **environment}
    running = subprocess.Popen([*COMMAND, *words], cwd=folder, stdout=subprocess.PIPE, stderr=slave, env=env)
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the last writer has gone
            break
        if not piece:
            break
        seen += piece
    os.close(master)
    out, _ = running.communicate(timeout=60)
    assert b"\nTake " in out, seen
    return running.returncode, seen


def test_a_terminal_sees_a_live_table_that_is_gone_at_the_end(tmp_path):
    code, seen = in_terminal(["compare", "coins", *TWO], tmp_path)
    assert code == 0
    assert b"of 2 models" in seen
    assert b"Gaussian naive Bayes" in seen
    assert b"Traceback" not in seen
    assert seen.count(b"\x1b[?25l") == seen.count(b"\x1b[?25h")  # the cursor is back
    code, seen = in_terminal(["compare", "coins", *TWO], tmp_path, NO_COLOR="1")
    assert code == 0
    assert not re.search(rb"\x1b\[([349]\d|10\d)(;|m)", seen)  # no colour


def children_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []


def gone(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def stopped(words: list[object], folder: Path, number: int, after: bytes) -> tuple[int, str, str]:
    """Run, send a signal once a line with `after` has been said, and see that no child is left."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = subprocess.Popen([*COMMAND, *map(str, words)], cwd=folder, **pipes)
    said = b""
    while after not in said:
        line = running.stderr.readline()
        assert line, said
        said += line
    children = children_of(running.pid)
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert all(gone(pid) for pid in children)
    return running.returncode, out.decode(), (said + err).decode()


@pytest.mark.skipif(sys.platform != "linux", reason="children are looked up in /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_what_is_finished_and_leaves_no_child(tmp_path, large, number, code):
    words = ["compare", large, "--target", "y", "--models", "baseline,gaussian-nb,erm,logistic", "--out", "m.assay"]
    found, out, err = stopped(words, tmp_path, number, b"[2/4]")  # more than the baseline
    assert found == code, err
    assert "Traceback" not in err
    assert "\nTake " in out
    assert "interrupted: Stopped by SIG" in out
    assert [p.name for p in tmp_path.iterdir()] == ["m.assay"]  # the best of those finished, whole
    saved = assay.load(tmp_path / "m.assay")
    assert out.split("\nTake ")[1].startswith(type(saved.model_).title)


@pytest.mark.skipif(sys.platform != "linux", reason="children are looked up in /proc")
def test_a_signal_before_anything_is_finished_leaves_nothing(tmp_path, large):
    words = ["compare", large, "--target", "y", "--models", "erm,logistic", "--out", "m.assay", "--report", "r.html"]
    code, out, err = stopped(words, tmp_path, signal.SIGINT, b"2 models")
    assert code == 130, err
    assert "Traceback" not in err
    assert "Take" not in out
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_fills_up_costs_the_file_but_not_the_verdict(process, tmp_path):
    import resource

    def no_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))

    process("compare", "coins", *TWO)  # the compiler's cache is there from now on
    (tmp_path / "m.assay").write_text("old")
    words = [*COMMAND, "compare", "coins", *TWO, "--out", "m.assay"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, preexec_fn=no_room, timeout=120)
    assert done.returncode == 1, done.stderr
    assert b"\nTake " in done.stdout
    assert b"saved:" not in done.stdout
    assert b"could not be written" in done.stderr
    assert (tmp_path / "m.assay").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.assay"]


def test_a_full_standard_output_is_told(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    line = f"{' '.join(COMMAND)} compare coins {' '.join(TWO)} -q > /dev/full"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_compare_help_names_its_exit_codes_and_loads_nothing_heavy(process):
    done = process("compare", "--help")
    assert done.returncode == 0
    for word in (b"--budget", b"--report", b"5 the budget", b"130"):
        assert word in done.stdout
