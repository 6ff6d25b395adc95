"""Formulas as MathML, made at build by docutils: nothing is fetched, no script runs, every browser of today draws it.

A formula that cannot be translated is a warning, and so ends the build.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", NAMESPACE)
ACCENTS = set("ˆ~→¯˙¨ˇ˘")
NAMED = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)\w+;")  # signs that HTML knows by name, and XML does not
TALL = re.compile(r"\\left\s*(?:\\[{|]|\\langle)")  # braces and norms that are to be as tall as what they hold


def translated(tex: str, block: bool) -> str:
    """MathML of a formula in LaTeX."""
    made = _with_indices(str(tex2mathml(tex, as_block=block)))
    return made if TALL.search(tex) else re.sub(r"<mo>([{}⟨⟩‖])</mo>", r'<mo stretchy="false">\1</mo>', made)


def _with_indices(made: str) -> str:
    r"""With the index of \hat{x}_k beside the letter: docutils takes a letter with an accent for an operator with limits, and writes k below."""
    whole = ElementTree.fromstring(NAMED.sub(lambda sign: unescape(sign[0]), made))
    for found in list(whole.iter(f"{{{NAMESPACE}}}munderover")):
        base, index, accent = found
        if accent.tag != f"{{{NAMESPACE}}}mo" or (accent.text or "").strip() not in ACCENTS:
            continue
        found.tag = f"{{{NAMESPACE}}}msub"
        letter = ElementTree.Element(f"{{{NAMESPACE}}}mover", accent="true")
        letter.extend([base, accent])
        found[:] = [letter, index]
    return ElementTree.tostring(whole, encoding="unicode")


def _made(node: Any, block: bool) -> str:
    try:
        return translated(node.astext(), block)
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{escape(node.astext())}</code>"


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(f'<span class="math">{_made(node, False)}</span>')
    raise nodes.SkipNode


def _block(writer: Any, node: Any) -> None:
    writer.body.append(f'<div class="math">{_made(node, True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
