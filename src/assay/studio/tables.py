"""The studio's private folder: tables that were sent, models and reports that were made. It goes when the studio ends.

Everything has a random name of its own; no name that comes from outside is ever part of a path.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import DataError
from assay.studio.asks import PointsAsk
from assay.studio.protocol import TableLocation
from assay.studio.scene import scene_of
from assay.tables.schema.schema import Schema, infer
from assay.tables.sources.recognise import table_source

MOST_MODELS, MOST_REPORTS = 200, 20
IDENTITY = re.compile(r"[0-9a-f]{16}")


def new_identity() -> str:
    return secrets.token_hex(8)


class Shelf:
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
        kept = sorted(self.folder.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime_ns)
        for path in kept[:-most]:
            path.unlink(missing_ok=True)


# Tables: what their columns are, and the rows of one as points of the picture.

Message = dict[str, Any]
MOST_LEVELS = 50  # categories of a column that the page is told
TARGET_NAMES = ("target", "label", "class", "outcome", "response", "y")


def table(_ask: None, place: TableLocation | None, _shelf: Any) -> Iterator[Message]:
    """The columns of a table, and a column that may be meant as the target."""
    assert place is not None
    source = table_source(place.path, where=place.name)
    schema = infer(source)
    if schema.n_rows > place.most_rows:
        raise DataError(
            f"{place.name} has {schema.n_rows} rows, and the studio takes up to {place.most_rows}: assay compare takes any number."
        )
    yield {
        "name": place.name,
        "n_rows": schema.n_rows,
        "columns": [
            {
                "name": c.name,
                "kind": c.kind,
                "levels": None if c.levels is None else list(c.levels[:MOST_LEVELS]),
                "missing": c.missing,
            }
            for c in schema.columns
        ],
        "target": place.target or suggested(schema),
        "notes": list(source.notes),
    }


def suggested(schema: Schema) -> str | None:
    """A column that is called so, else the last one of few categories, else the last that can be learnt."""
    few = [c.name for c in schema.used if c.kind in ("category", "boolean") and 2 <= c.distinct <= 20]
    used = [c.name for c in schema.used if c.kind in ("number", "category", "boolean")]
    called = [name for name in used if name.lower() in TARGET_NAMES]
    return next((names[-1] for names in (called, few, used) if names), None)


def points(ask: PointsAsk, place: TableLocation | None, _shelf: Any) -> Iterator[Message]:
    """The rows of a table on the picture, or as many of them as it can hold."""
    scene = scene_of(ask.data, place)
    rows = scene.pointed
    at, y = scene.where[rows], scene.table.y[scene.shown[rows]]
    notes = scene.notes()
    if len(rows) < len(scene.shown):
        notes.append(f"{len(rows)} of {len(scene.shown):,} rows are drawn; models learn from all.")
    classes = scene.classes
    yield {
        "x": at[:, 0].tolist(),
        "y": at[:, 1].tolist(),
        "label": None if classes is None else [str(v) for v in y.tolist()],
        "target": None if classes is not None else np.asarray(y, dtype=np.float64).tolist(),
        "row": scene.shown[rows].tolist(),
        "axes": scene.axes(),
        "view": scene.view(),
        "classes": classes,
        "notes": notes,
    }
