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


def test_an_index_stands_beside_a_letter_with_an_accent():
    for tex in (r"\hat{\mu}_k", r"\tilde{\mathbf{x}}_{k+1}", r"\vec{w}_0"):
        made = mathml.translated(tex, True)
        assert "munder" not in made, made
        assert made.index("<msub>") < made.index("<mover") < made.index("</mover>") < made.index("</msub>")
    assert "munderover" in mathml.translated(r"\sum_{i=1}^n x_i", True)


def test_braces_within_tall_brackets_keep_the_height_of_their_line():
    assert 'stretchy="false">{' in mathml.translated(r"\left(\frac{a}{b} - \mathbf{1}\{y = 1\}\right)", True)
    assert 'stretchy="false">{' not in mathml.translated(r"\left\{\frac{a}{b}\right\}", True)
