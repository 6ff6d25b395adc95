"""The command as the shell sees it: exit codes, pipes, signals, a full disk, start-up."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import assay

COMMAND = [sys.executable, "-m", "assay.cli"]
HEAVY = ("numpy", "numba", "scipy", "pyarrow", "sklearn", "pandas", "dask", "rich", "assay.families", "assay.estimator")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["train", "--help"], 0),
        (["train", "coins", "--quiet"], 0),
        (["train"], 2),
        (["train", "nothing.csv", "--target", "y"], 3),
        (["inspect", "nothing.assay"], 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_exit_codes_reach_the_shell(process, words, code):
    assert process(*words).returncode == code


def test_data_and_models_flow_through_pipes(process, tmp_path):
    coins = assay.dataset("coins").path.read_bytes()
    trained = process("train", "-", "--target", "coin", "--model", "gaussian-nb", "--out", "-", stdin=coins)
    assert trained.returncode == 0, trained.stderr
    (tmp_path / "piped.assay").write_bytes(trained.stdout)
    process("train", "coins", "--model", "gaussian-nb", "--out", "named.assay")
    assert trained.stdout == (tmp_path / "named.assay").read_bytes()
    from_stdin = process("predict", "piped.assay", "-", stdin=coins)
    assert from_stdin.stdout == process("predict", "piped.assay", "coins").stdout
    assert from_stdin.stdout.startswith(b"prediction\n25c\n")
    assert process("inspect", "-", stdin=trained.stdout).returncode == 0
    parquet = pd.DataFrame({"size_mm": [18.0], "mass_g": [1.75]}).to_parquet()
    assert process("predict", "piped.assay", "-", stdin=parquet).stdout == b"prediction\n10c\n"


def test_a_cluster_trains_the_same_model_file(process, tmp_path, client):
    assert process("train", "coins", "--model", "gaussian-nb", "--out", "here.assay").returncode == 0
    words = [
        "train",
        "coins",
        "--model",
        "gaussian-nb",
        "--out",
        "there.assay",
        "--engine",
        f"cluster={client.scheduler.address}",
    ]
    done = process(*words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there.assay").read_bytes() == (tmp_path / "here.assay").read_bytes()


def test_a_terminal_without_the_letters_gets_the_result_all_the_same(process):
    done = process("train", "coins", "--model", "gaussian-nb", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert b"held-out error" in done.stdout


def test_a_reader_that_goes_away_is_no_drama(tmp_path):
    pipe = f"{' '.join(COMMAND)} datasets coins | head -1"
    done = subprocess.run(["sh", "-c", pipe], capture_output=True, cwd=tmp_path, text=True, timeout=60)
    assert done.stdout == "size_mm,mass_g,coin\n"
    assert done.stderr == ""


def unread(folder, *words: str) -> tuple[int, bytes]:
    """Exit code and complaints of a command whose reader has gone before its first word."""
    with subprocess.Popen([*COMMAND, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        said = running.stderr.read()
        return running.wait(timeout=120), said


def test_where_nobody_reads_on_a_command_ends_quietly_and_what_it_writes_elsewhere_is_written(tmp_path):
    assert unread(tmp_path, "schema", "coins") == (0, b"")
    assert unread(tmp_path, "schema", "coins", "--json") == (0, b"")
    assert unread(tmp_path, "datasets", "coins") == (0, b"")
    words = ["--models", "baseline,lda", "--folds", "2", "--quiet", "--out", "m.assay", "--report", "r.html"]
    assert unread(tmp_path, "compare", "coins", *words) == (0, b"")
    assert (tmp_path / "r.html").exists()
    assert unread(tmp_path, "predict", "m.assay", "coins", "--quiet") == (141, b"")  # answers without end for nobody


def two_classes(path: Path, rows: int, times: int = 1) -> Path:
    """A table of ten columns of noise, all its rows written so many times."""
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(rows, 10)).round(3), columns=[f"x{j}" for j in range(10)]
    )
    header, body = frame.assign(y=np.arange(rows) % 2).to_csv(index=False).split("\n", 1)
    path.write_text(header + "\n" + body * times)
    return path


@pytest.fixture(scope="module")
def long_table(tmp_path_factory) -> Path:
    return two_classes(tmp_path_factory.mktemp("long") / "long.csv", 100_000, 12)


@pytest.fixture
def ten_columns(tmp_path) -> Path:
    """A model that fits the long table."""
    features = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 10)), columns=[f"x{j}" for j in range(10)])
    assay.GaussianNB().fit(features, [0, 1] * 5).save(tmp_path / "m.assay")
    return tmp_path / "m.assay"


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def interrupted(words: list[str], folder: Path, begun: Callable[[subprocess.Popen[bytes]], object]) -> None:
    """Run, interrupt the run once it has begun its work, and see that the folder is as it was."""
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    running = subprocess.Popen([*COMMAND, *words], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    begun(running)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert errors.decode().splitlines()[-1] == "assay: interrupted; nothing was left half-written."
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_interrupted_training_leaves_the_old_model(tmp_path, long_table):
    (tmp_path / "model.assay").write_bytes(b"old")
    interrupted(["train", str(long_table), "--target", "y"], tmp_path, lambda running: running.stderr.readline())


def test_training_that_can_end_early_keeps_what_it_has_when_interrupted(tmp_path):
    table = str(two_classes(tmp_path / "t.csv", 20_000))
    words = ["train", table, "--target", "y", "--model", "mlp", "--max-iter", "100000", "--n-iter-no-change", "100000"]
    running = subprocess.Popen([*COMMAND, *words], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    for line in running.stderr:
        if b"epoch" in line:
            break
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "interrupted" in errors.decode().splitlines()[-1]
    assert assay.load(tmp_path / "model.assay").n_iter_ >= 1


def test_training_that_runs_out_of_its_seconds_says_so_by_its_exit_code(tmp_path):
    words = ["train", str(two_classes(tmp_path / "t.csv", 20_000)), "--target", "y", "--model", "mlp", "--tol", "0"]
    words += ["--max-iter", "100000", "--n-iter-no-change", "100000", "--max-seconds", "0.2"]
    ran = subprocess.run([*COMMAND, *words], cwd=tmp_path, capture_output=True, timeout=120)
    assert ran.returncode == 5
    assert (tmp_path / "model.assay").exists()


def test_interrupted_prediction_leaves_the_old_answers(tmp_path, ten_columns, long_table):
    (tmp_path / "m.csv").write_text("old")
    words = ["predict", ten_columns.name, str(long_table), "--out", "m.csv"]
    interrupted(words, tmp_path, lambda _: wait_for(lambda: len(list(tmp_path.iterdir())) > 2))


def test_termination_removes_what_was_half_written(tmp_path, ten_columns, long_table):
    words = ["predict", ten_columns.name, str(long_table), "--out", "m.csv"]
    running = subprocess.Popen([*COMMAND, *words], cwd=tmp_path)
    wait_for(lambda: len(list(tmp_path.iterdir())) > 1)
    running.terminate()
    assert running.wait(timeout=60) == 143
    assert [p.name for p in tmp_path.iterdir()] == ["m.assay"]


def no_room() -> None:
    """As on a full disk: no file may grow beyond 400 bytes (Numba's cache is there already)."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["train", "coins", "--model", "gaussian-nb"], "model.assay"),
        (["predict", "m.assay", "coins", "--out", "a.csv"], "a.csv"),
    ],
)
def test_a_full_disk_leaves_the_old_file_intact(tmp_path, process, words, kept):
    assert process("train", "coins", "--model", "gaussian-nb", "--out", "m.assay").returncode == 0
    (tmp_path / kept).write_text("old")
    before = sorted(p.name for p in tmp_path.iterdir())
    done = subprocess.run([*COMMAND, *words], cwd=tmp_path, capture_output=True, preexec_fn=no_room, timeout=120)
    assert done.returncode == 1, done.stderr
    assert b"could not be written" in done.stderr
    assert b"what was there is untouched" in done.stderr
    assert (tmp_path / kept).read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def loaded_after(code: str, *words: str, cwd: Path) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, cwd=cwd, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


RUN = "from assay.cli.app import run\nassert run(sys.argv[1:]) == 0"


def test_import_assay_loads_nothing_heavy(tmp_path):
    assert loaded_after("import assay", cwd=tmp_path) & set(HEAVY) == set()


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["predict", "--help"], ["datasets"]], ids=" ".join)
def test_help_and_listings_load_nothing_heavy(tmp_path, words):
    assert loaded_after(RUN, *words, cwd=tmp_path) & set(HEAVY) == set()


def seconds_of(run: Callable[[], subprocess.CompletedProcess[bytes]]) -> float:
    """The least processor time of three runs, which does not depend on what else the machine does."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run().returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_predict_needs_neither_numba_nor_scipy_and_a_second_at_most(tmp_path, process):
    assert process("train", "coins", "--model", "gaussian-nb", "--out", "m.assay").returncode == 0
    lines = assay.dataset("coins").path.read_text().splitlines()[:101]
    (tmp_path / "hundred.csv").write_text("\n".join(lines) + "\n")
    loaded = loaded_after(RUN, "predict", "m.assay", "hundred.csv", cwd=tmp_path)
    assert loaded & {"numba", "scipy", "sklearn", "pandas", "dask"} == set()
    assert seconds_of(lambda: process("predict", "m.assay", "hundred.csv")) < 1.0


def test_help_feels_instant(process):
    assert seconds_of(lambda: process("--help")) < 0.4


def test_colours_are_for_terminals_that_want_them(tmp_path):
    script = f"script -qec '{' '.join(COMMAND)} inspect none.assay' /dev/null"
    if subprocess.run(["sh", "-c", "command -v script"], capture_output=True).returncode:
        pytest.skip("no `script` here to make a terminal with")
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)

    def seen(**more: str) -> bytes:
        done = subprocess.run(
            ["sh", "-c", script], capture_output=True, cwd=tmp_path, env={**environment, **more}, timeout=60
        )
        return done.stdout

    assert b"\x1b[1;31m" in seen()
    assert b"31m" not in seen(NO_COLOR="1")
