"""The pages of the documentation speak of the house as it is: every file and folder that they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    "docs/architecture.md",
    "docs/events.md",
    "docs/service.md",
    "docs/studio.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
]
PATHS = re.compile(r"`((?:[\w-]+/)*[\w-]+(?:\.(?:py|md)|/))`")
FILES = [
    "/" + path.relative_to(ROOT).as_posix()
    for folder in ("src", "tests", "docs", "bench", "tools")
    for path in (ROOT / folder).rglob("*")
    if not {"__pycache__", "_build"} & set(path.parts)
] + [f"/{page}" for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]


@pytest.mark.parametrize("page", PAGES)
def test_files_and_folders_that_a_page_names_exist(page):
    named = set(PATHS.findall((ROOT / page).read_text(encoding="utf-8")))
    assert [name for name in sorted(named) if not any(path.endswith("/" + name.rstrip("/")) for path in FILES)] == []
