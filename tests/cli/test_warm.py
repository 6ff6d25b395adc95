"""`assay warm` compiles ahead, in processes, and says what came of it."""

from __future__ import annotations

import json

import pytest

from assay.cli.shell import Shell
from assay.cli.warm import _progress


def test_warming_a_model_does_all_of_its_kinds(cli):
    outcome = cli("warm", "baseline", "--jobs", "2", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert (found["schema"], found["done"], found["failed"]) == ("assay.warm/1", 5, {})


def test_a_name_that_is_none_is_told_with_the_nearest(cli):
    wrong = cli("warm", "random-forrest")
    assert wrong.code == 2
    assert "Did you mean 'random-forest'" in wrong.err


def test_where_nothing_can_be_kept_it_does_not_begin(cli, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr("assay.compiled.cache.users_folder", lambda: tmp_path / "file" / "loops")
    outcome = cli("warm", "baseline")
    assert outcome.code != 0
    assert "cannot be written to" in outcome.err
    assert "ASSAY_CACHE" in outcome.err


def test_what_fails_is_named_and_the_rest_goes_on(cli, monkeypatch):
    def broken(name: str) -> None:
        raise RuntimeError("no memory for it")

    monkeypatch.setattr("assay.warming.compare_tables", broken)
    outcome = cli("warm", "baseline-regressor")
    assert outcome.code == 1
    assert "2 of 3 kinds of fits done" in outcome.out
    assert "baseline-regressor, a table: RuntimeError: no memory for it" in outcome.err


@pytest.mark.parametrize("terminal", [True, False])
def test_how_far_it_is_goes_to_standard_error(capsys, monkeypatch, terminal):
    monkeypatch.setattr("assay.cli.shell.LONG", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    with _progress(2, Shell("warm", False, False)) as done:
        done("svc, a table")
        done("knn, a table")
    shown = capsys.readouterr().err
    assert "compiling" in shown
    assert "knn, a table" in shown
