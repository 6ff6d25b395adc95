"""Tables: what their columns are, and the rows of one as points of the picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from assay.errors import DataError
from assay.studio.dataset import plotted_dataset
from assay.studio.requests import PointsRequest, TableLocation
from assay.tables.schema.schema import Schema, infer
from assay.tables.sources.recognise import table_source

Message = dict[str, Any]
MOST_LEVELS = 50  # categories of a column that the page is told
TARGET_NAMES = ("target", "label", "class", "outcome", "response", "y")


def table(_request: None, place: TableLocation | None, _files: Any) -> Iterator[Message]:
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


def points(request: PointsRequest, place: TableLocation | None, _files: Any) -> Iterator[Message]:
    """The rows of a table on the picture, or as many of them as it can hold."""
    dataset = plotted_dataset(request.data, place)
    rows = dataset.pointed
    at, y = dataset.where[rows], dataset.table.y[dataset.shown[rows]]
    notes = dataset.notes()
    if len(rows) < len(dataset.shown):
        notes.append(f"{len(rows)} of {len(dataset.shown):,} rows are drawn; models learn from all.")
    classes = dataset.classes
    yield {
        "x": at[:, 0].tolist(),
        "y": at[:, 1].tolist(),
        "label": None if classes is None else [str(v) for v in y.tolist()],
        "target": None if classes is not None else np.asarray(y, dtype=np.float64).tolist(),
        "row": dataset.shown[rows].tolist(),
        "axes": dataset.axes(),
        "view": dataset.view(),
        "classes": classes,
        "notes": notes,
    }
