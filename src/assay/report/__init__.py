"""The report of a comparison: one HTML file that needs nothing else, neither a network nor a script.

    assay.report.write_report(comparison, "report.html")

Figures need matplotlib: pip install 'assay-ml[plot]'.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.errors import MissingExtraError, install

if TYPE_CHECKING:
    from assay.selection.comparison import Comparison


def check_possible() -> None:
    """Raise where figures cannot be drawn, before any work is done."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise MissingExtraError(f"A report has figures, which need matplotlib: {install('plot')}.")


def report_html(comparison: Comparison, models: str | Sequence[str] | None = None) -> str:
    """The report as one HTML text. Every finished model has a page in it; those of `models` are unfolded, and printed: the recommended
    one's (None), "all", or those of some names."""
    check_possible()
    from assay.report.page import page

    return page(comparison, models)


def write_report(
    comparison: Comparison, path: str | os.PathLike[str], models: str | Sequence[str] | None = None
) -> None:
    """Write the report to a file: whole, or not at all."""
    from assay.store.disk import write_atomically

    write_atomically(report_html(comparison, models).encode("utf-8", errors="replace"), path)
