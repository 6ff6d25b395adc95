"""`assay docs` finds the book where it was built, and says how to build it where it was not."""

from __future__ import annotations

import json

import pytest

from assay.cli import docs


@pytest.fixture
def built(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    for page in ("index.html", "notes/index.html"):
        (tmp_path / page).write_text("<p>a page</p>", encoding="utf-8")
    monkeypatch.setattr(docs, "PLACES", (tmp_path / "nowhere", tmp_path))
    return tmp_path


def test_the_first_page_or_another_is_found(cli, built):
    assert cli("docs", "--no-browser").out == f"{built / 'index.html'}\n"
    found = json.loads(cli("docs", "notes/index", "--no-browser", "--json").out)
    assert found == {"schema": "assay.docs/1", "path": str(built / "notes" / "index.html")}


def test_a_page_that_is_not_there_or_not_of_the_book_is_refused(cli, built):
    (built.parent / "secret.html").write_text("no page of the book", encoding="utf-8")
    assert cli("docs", "notes/no", "--no-browser").code == 3
    assert cli("docs", "../secret", "--no-browser").code == 3


def test_where_it_was_not_built_it_says_how(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(docs, "PLACES", (tmp_path,))
    outcome = cli("docs", "--no-browser")
    assert outcome.code == 3
    assert "make docs" in outcome.err


def test_a_figure_that_is_not_there_comes_with_the_nearest(cli):
    outcome = cli("studio", "--figure", "worked-exampel", "--no-browser")
    assert outcome.code == 2
    assert "Did you mean 'worked-example'?" in outcome.err
    assert cli("studio", "coins", "--figure", "worked-example", "--no-browser").code == 2
