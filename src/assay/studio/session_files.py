"""The studio's private folder: tables that were sent, models and reports that were made. It goes when the studio ends.

Everything has a random name of its own; no name that comes from outside is ever part of a path. Nothing here loads NumPy: the server needs it.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Any

from assay.errors import DataError

MOST_MODELS, MOST_REPORTS = 200, 20
IDENTITY = re.compile(r"[0-9a-f]{16}")


def new_identity() -> str:
    return secrets.token_hex(8)


class SessionFiles:
    """Files by their identity."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, kind: str, identity: str) -> Path:
        """Where a file of a kind is, or will be."""
        if not IDENTITY.fullmatch(identity):
            raise DataError(f"There is no {kind} {identity[:20]!r} here.")
        return self.folder / f"{kind}-{identity}"

    def find(self, kind: str, identity: str) -> Path:
        """Where a file is that was put here."""
        path = self.path(kind, identity)
        if not path.is_file():
            raise DataError(f"There is no {kind} {identity!r} here any more: make it again.")
        return path

    def put_model(self, model: Any) -> str:
        """Keep a fitted model; its identity. The oldest of very many go."""
        identity = new_identity()
        model.save(self.path("model", identity))
        self._tidy("model", MOST_MODELS)
        return identity

    def put_report(self, html: str) -> str:
        identity = new_identity()
        self.path("report", identity).write_text(html, encoding="utf-8", errors="replace")
        self._tidy("report", MOST_REPORTS)
        return identity

    def _tidy(self, kind: str, most: int) -> None:
        for path in sorted(self.folder.glob(f"{kind}-*"), key=_written)[:-most]:
            path.unlink(missing_ok=True)


def _written(path: Path) -> int:
    """When a file was written; 0 where another process has tidied it away meanwhile."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
