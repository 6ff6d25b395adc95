"""The page's files, read as text: nothing from elsewhere, nothing evaluated, every name that one file uses is there in another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "assay" / "studio" / "page"
SCRIPTS = sorted(PAGE.glob("*.js"))
INDEX = (PAGE / "index.html").read_text(encoding="utf-8")


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [p for p in sorted(PAGE.iterdir()) if p.suffix != ".json"], ids=lambda p: p.name)
def test_a_file_of_the_page_names_no_other_site(path: Path) -> None:
    found = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text(path).replace("http://www.w3.org/2000/svg", ""))
    assert found == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_a_script_never_hands_text_to_a_parser_of_markup_or_code(path: Path) -> None:
    dangerous = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(\"(?:style|on\w+)\""
    assert re.findall(dangerous, text(path)) == []


def test_markup_has_no_script_or_style_of_its_own_which_the_policy_would_forbid() -> None:
    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", INDEX) == []


def test_every_file_that_the_page_asks_for_is_there() -> None:
    asked = re.findall(r"(?:href|src)=\"/page/([^\"]+)\"", INDEX)
    for path in SCRIPTS:
        asked += re.findall(r"from \"\./([^\"]+)\"", text(path))
    assert asked
    assert [name for name in asked if not (PAGE / name).is_file()] == []


def test_every_element_and_picture_that_a_script_looks_up_is_in_the_markup() -> None:
    there = set(re.findall(r"\bid=\"([^\"]+)\"", INDEX))
    for path in SCRIPTS:
        wanted = re.findall(r"byId\(\"([\w-]+)\"", text(path))
        wanted += [f"i-{name}" for name in re.findall(r"\bicon\(\"([\w-]+)\"\)", text(path))]
        assert [name for name in wanted if name not in there] == [], path.name


def test_colours_of_classes_are_those_of_the_report() -> None:
    style = text(ROOT / "src" / "assay" / "plots" / "canvas.py")
    of_report = re.search(r"^COLOURS = \(([^)]*)\)", style, re.MULTILINE)
    of_page = re.search(r"CLASS_COLOURS = \[([^\]]*)\]", text(PAGE / "colours.js"))
    assert of_report
    assert of_page
    assert re.findall(r"#\w{6}", of_page[1]) == re.findall(r"#\w{6}", of_report[1])
