"""Tables that stay where they are: files, databases and frames as rows in blocks. Arrow is loaded when one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.tables.file_rows import rows

__all__ = ["rows"]


def __getattr__(name: str) -> Any:
    if name != "rows":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from assay.tables.file_rows import rows

    return rows
