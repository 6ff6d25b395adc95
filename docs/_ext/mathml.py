"""Formulas as MathML, made at build by docutils: nothing is fetched, no script runs, every browser of today draws it.

A formula that cannot be translated is a warning, and so ends the build.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def translated(tex: str, block: bool) -> str:
    """MathML of a formula in LaTeX."""
    made = str(tex2mathml(tex, as_block=block))
    return made if r"\left" in tex else re.sub(r"<mo>([{}⟨⟩‖])</mo>", r'<mo stretchy="false">\1</mo>', made)


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
