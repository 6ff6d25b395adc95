"""How the tests of the command line run it: in process for speed, or as a process of its own where that matters."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

import pytest
from click.testing import CliRunner

from assay.cli import app

COMMAND = [sys.executable, "-m", "assay.cli"]


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def cli(monkeypatch, capfd, tmp_path):
    """Run the command line in this process, in an empty folder, with its real exit code."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Outcome:
        capfd.readouterr()
        code = app.run([str(word) for word in words])
        out, err = capfd.readouterr()
        return Outcome(code, out, err)

    return run


@pytest.fixture
def process(tmp_path):
    """Run the command line as a process."""

    def run(*words: object, stdin: bytes | None = None, **environment: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*COMMAND, *map(str, words)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **environment},
            timeout=120,
        )

    return run


@pytest.fixture
def runner() -> CliRunner:
    return CliRunner()


@pytest.fixture
def coins_model(cli):
    """A model of the coins, saved as coins.assay in the test's folder."""
    outcome = cli("train", "coins", "--model", "gaussian-nb", "--out", "coins.assay")
    assert outcome.code == 0, outcome.err
    return "coins.assay"
