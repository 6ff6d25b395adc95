"""The report of a comparison: one HTML file that needs nothing else, neither a network nor a script.

    assay.report.write_report(comparison, "report.html")

Figures need matplotlib: pip install 'assay-ml[plot]'.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from assay.errors import MissingExtraError, install

if TYPE_CHECKING:
    from assay.selection.comparison import Comparison


def check_possible() -> None:
    """Raise where figures cannot be drawn, before any work is done."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise MissingExtraError(f"A report has figures, which need matplotlib: {install('plot')}.")


def report_html(comparison: Comparison) -> str:
    """The report as one HTML text."""
    check_possible()
    from assay.report.page import page

    return page(comparison)


def write_report(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write the report to a file: whole, or not at all."""
    from assay.store.disk import write_atomically

    write_atomically(report_html(comparison).encode("utf-8", errors="replace"), path)
