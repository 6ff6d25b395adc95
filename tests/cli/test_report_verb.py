"""`assay report` and `--report`: one HTML file of a saved model or of a comparison."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")


def test_a_saved_model_on_its_own_table_is_judged_on_the_rows_held_out(cli, coins_model):
    outcome = cli("report", coins_model, "coins", "--out", "r.html", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["schema"] == "assay.report/1"
    assert found["bytes"] == Path("r.html").stat().st_size < 3_000_000
    text = Path("r.html").read_text()
    assert text.lower().startswith("<!doctype html>")
    assert "gaussian-nb" in text
    held = json.loads(cli("inspect", coins_model, "--json").out)
    error = next(c["value"] for c in held["claims"] if c["name"] == "held-out error")
    assert f"{100 * error:.2g}" in text
    assert f"assay report {coins_model} coins" in text


def test_the_report_needs_nothing_else(cli, coins_model):
    assert cli("report", coins_model, "coins", "--out", "r.html", "--quiet").err == ""
    text = Path("r.html").read_text()
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    assert "<script src" not in text
    assert "@import" not in text


def test_another_table_is_judged_whole(cli, coins_model):
    lines = Path(cli("datasets", "coins", "--path").out.strip()).read_text().splitlines()
    Path("new.csv").write_text("\n".join(lines[:200]) + "\n")
    outcome = cli("report", coins_model, "new.csv", "--out", "r.html")
    assert outcome.code == 0, outcome.err
    assert "new.csv" in Path("r.html").read_text()


def test_a_regression_has_a_report_too(cli):
    assert cli("train", "oaks", "--out", "oaks.assay").code == 0
    assert cli("report", "oaks.assay", "oaks", "--out", "r.html").code == 0


def test_a_comparison_writes_its_report(cli):
    words = ["compare", "coins", "--models", "baseline,lda", "--folds", 3, "--report", "r.html"]
    outcome = cli(*words)
    assert outcome.code == 0, outcome.err
    assert "report: r.html" in outcome.out
    text = Path("r.html").read_text()
    assert "assay compare coins --models baseline,lda --folds 3 --report r.html" in text
    assert Path("r.html").stat().st_size < 3_000_000


@pytest.mark.parametrize("json_too", [False, True])
@pytest.mark.parametrize(("trouble", "code"), [(KeyboardInterrupt(), 130), (MemoryError("no room"), 1)])
def test_a_report_that_is_not_finished_costs_neither_the_verdict_nor_the_model(
    cli, monkeypatch, trouble, code, json_too
):
    import assay.report

    def fails(*_):
        assert Path("m.assay").exists()  # saved before
        raise trouble

    monkeypatch.setattr(assay.report, "report_html", fails)
    words = ["compare", "coins", "--models", "baseline,lda", "--folds", 3, "--report", "r.html", "--out", "m.assay"]
    outcome = cli(*words, *["--json"][:json_too])
    assert outcome.code == code
    if json_too:
        found = json.loads(outcome.out)
        assert (found["recommended"], found["out"], found["report"]) == ("lda", "m.assay", None)
    else:
        assert "Take Linear discriminant" in outcome.out
        assert "saved: m.assay" in outcome.out
    assert not Path("r.html").exists()
    assert cli("inspect", "m.assay").code == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["report", "none.assay", "coins"], 3, "There is no file"),
        (["report", "coins.assay", "oaks"], 3, "no column 'size_mm'"),
        (["report", "coins.assay", "nolabel.csv"], 3, "no column 'coin' (the target)"),
        (["report", "coins.assay", "coins", "--out", "nowhere/r.html"], 2, "folder 'nowhere' does not exist"),
        (["report", "coins.assay", "coins", "--out", "-"], 2, "written to a file"),
        (["report", "plain.assay", "coins"], 2, "was not fitted on a table"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_what_cannot_be_reported_is_said_and_nothing_is_written(cli, coins_model, words, code, message):
    import assay

    assay.GaussianNB().fit([[0.0], [1.0]], [0, 1]).save("plain.assay")
    Path("nolabel.csv").write_text("size_mm,mass_g\n18,1.75\n19,1.8\n")
    before = sorted(p.name for p in Path().iterdir())
    outcome = cli(*words)
    assert (outcome.code, outcome.out) == (code, ""), outcome.err
    assert message in " ".join(outcome.err.split())
    assert "Traceback" not in outcome.err
    assert sorted(p.name for p in Path().iterdir()) == before


def test_whose_pages_a_report_unfolds_is_checked_before_any_work(cli):
    assert "no model 'forrest'" in cli("compare", "coins", "--report", "r.html", "--report-models", "forrest").err
    outcome = cli("compare", "coins", "--report-models", "all")
    assert (outcome.code, outcome.out) == (2, "")
    assert "give --report FILE" in outcome.err
