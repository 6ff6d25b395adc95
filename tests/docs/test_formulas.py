"""Every formula of the book can be drawn without anything from elsewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the book needs pip install 'assay-ml[docs]'")
DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

import mathml  # noqa: E402

BLOCKS = re.compile(r"^```\{math\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<![\\$])\$([^$\n]+)\$(?!\$)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", sorted((DOCS / "notes").glob("*.md")), ids=lambda page: page.name)
def test_the_formulas_of_a_page_become_mathml(page):
    text = page.read_text(encoding="utf-8")
    for tex in BLOCKS.findall(text):
        assert mathml.translated(tex, True).startswith("<math")
    for tex in INLINE.findall(CODE.sub("", BLOCKS.sub("", text))):
        assert mathml.translated(tex, False).startswith("<math")
