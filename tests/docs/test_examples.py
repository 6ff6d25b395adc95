"""Every example of the book runs, and prints what stands there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

import examples  # noqa: E402

MADE = {"_build", "gallery_made", "made"}
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if not MADE & set(page.parts) and "_ext" not in page.parts]
RUNNING = [page for page in PAGES if next(examples.blocks_of(page.read_text(encoding="utf-8")), None)]


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_the_examples_of_a_page_print_what_stands_there(page):
    assert examples.failures(page) == []


def test_an_example_that_prints_something_else_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```pycon\n>>> 1 + 1\n3\n```\n\n```console\n$ assay datasets coins\nnot this\n```\n", encoding="utf-8"
    )
    assert len(examples.failures(page)) == 2


def test_three_dots_stand_for_anything(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```pycon\n>>> print('from here to there')\nfrom … there\n```\n", encoding="utf-8")
    assert examples.failures(page) == []


def test_options_of_a_command_that_waits_for_people_are_read(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ assay serve model.assay --no-such-option\n```\n", encoding="utf-8")
    with pytest.raises(Exception, match="no-such-option"):
        examples.failures(page)
