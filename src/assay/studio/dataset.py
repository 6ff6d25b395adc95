"""What is learnt from and where it is looked at: a table with its columns, and the plane (or line) of the picture with the rows as its points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assay.engines import ArrayRows
from assay.engines.engine import Threads
from assay.errors import DataError, SchemaError, nearest
from assay.numerics import Array, Floats
from assay.pictures.geometry import Plane, plane
from assay.pictures.rows import PictureRows, some_of
from assay.report.raw_model import without_gaps
from assay.selection.data import TableData
from assay.studio.requests import Data, Points, PointsRequest, TableLocation
from assay.tables.schema.schema import TEXTUAL, Schema, infer, task_of
from assay.tables.sources.recognise import table_source
from assay.tables.sources.source import Source
from assay.tables.table_rows import TableRows

LABEL, TARGET = "label", "target"
PROJECTIONS = {"pca": "Principal components", "lda": "Discriminant axes"}  # as the page calls them
KINDS_SAID = {"id": "another in every row", "constant": "the same in every row", "ignored": "left out"}
TASKS = {"classes": "classification", "numbers": "regression"}
ROOM = 0.06  # of the rows' width on each side of a view
MOST_SHOWN = 1000  # points that a picture can hold
MOST_LEVELS = 50  # categories of a column that the page is told
TARGET_NAMES = ("target", "label", "class", "outcome", "response", "y")

Message = dict[str, Any]


@dataclass(frozen=True)
class PlottedDataset:
    """A table ready to be learnt from, and how the picture lies in it. `line`: one column and the target itself are drawn."""

    data: Data
    place: TableLocation | None
    source: Source
    schema: Schema
    table: TableData
    seen: PictureRows
    shown: Array  # the numbers of the rows that `seen` has
    plane: Plane
    line: bool
    filled: bool = False  # rows are shown with medians where values are missing
    texts: tuple[str, ...] = ()  # columns of words, which a picture has no axis for

    @property
    def target(self) -> str:
        assert self.schema.target is not None
        return self.schema.target.name

    @property
    def task(self) -> str:
        return "numbers" if self.table.classes is None else "classes"

    @property
    def classes(self) -> list[str] | None:
        """The classes in the order of codes, as text."""
        return None if self.table.classes is None else [str(c) for c in self.table.classes.tolist()]

    @property
    def drawn(self) -> bool:
        return self.place is None

    @property
    def scaling(self) -> str:
        """Drawn points are learnt from as they are drawn, so that a picture shows the model's own geometry."""
        return "off" if self.drawn and self.data.scaling == "auto" else self.data.scaling

    @cached_property
    def pointed(self) -> Array:
        """The places within `shown` of the rows that are points of the picture: all, or as many as it can hold."""
        return some_of(len(self.shown), MOST_SHOWN)

    @cached_property
    def where(self) -> Floats:
        """(m, 2): the rows of `seen` on the picture."""
        a = self.plane.coordinates(self.seen.X)
        return np.column_stack([a[:, 0], self.table.codes[self.shown]]) if self.line else a

    def axes(self) -> dict[str, Any]:
        """The names of the axes, and the categories where one has such."""
        names, levels = list(self.plane.labels), list(self.plane.levels)
        if self.line:
            names[1], levels[1] = self.target, None
        return {k: {"label": n, "levels": None if v is None else list(v)} for k, n, v in zip("xy", names, levels)}

    def view(self) -> dict[str, list[float]]:
        """A view that shows all rows."""
        low, high = self.where.min(axis=0), self.where.max(axis=0)
        room = np.where(high > low, ROOM * (high - low), 1.0)
        return {k: [float(low[j] - room[j]), float(high[j] + room[j])] for j, k in enumerate("xy")}

    def notes(self) -> list[str]:
        """What a user may not expect of the picture."""
        left_out = [f"{c.name} ({c.kind})" for c in self.schema.columns if c not in self.schema.used]
        left_out += [f"{name} (text)" for name in self.texts]
        words = f"Not learnt from: {', '.join(left_out[:8])}." if left_out and not self.drawn else ""
        gaps = "Missing values of columns not shown stand at their medians in the picture." if self.filled else ""
        return [note for note in (self.plane.note, self.seen.note, gaps, words, *self.source.notes) if note]


def plotted_dataset(data: Data, place: TableLocation | None, task: str | None = None) -> PlottedDataset:
    """The dataset that data ask for; `task` ("classification", "regression") is what the model needs, None: by the target."""
    if data.points is not None:
        return _of_points(data, data.points)
    if place is None:
        raise DataError("Give points, or the id of a table that was opened here.")
    return _of_table(data, place, task or TASKS.get(data.task or ""))


def _of_points(data: Data, points: Points) -> PlottedDataset:
    n = len(points.x)
    numbers = points.target is not None
    second = points.target if numbers else points.y
    if second is None or (not numbers and points.label is None):
        raise DataError("Points have x, y and a label each, or x and a target each.")
    if len(second) != n or (not numbers and len(points.label or ()) != n):
        raise DataError(f"There are {n} x, and another number of the others: each point needs all of them.")
    columns: dict[str, Any] = {"x": np.array(points.x)}
    columns |= {TARGET: np.array(second)} if numbers else {"y": np.array(second), LABEL: np.array(points.label)}
    source = table_source(columns, where="the points")
    target, task = (TARGET, "regression") if numbers else (LABEL, "classification")
    return _dataset(data, None, source, target, task, ["x"] if numbers else ["x", "y"], {"x": "number", "y": "number"})


def _of_table(data: Data, place: TableLocation, task: str | None) -> PlottedDataset:
    source = table_source(place.path, where=place.name)
    target = data.target or place.target
    if target is None:
        raise DataError("Which column should be predicted? Choose the target.")
    return _dataset(data, place, source, target, task, data.columns, {})


def _dataset(
    data: Data,
    place: TableLocation | None,
    source: Source,
    target: str,
    task: str | None,
    columns: Any,
    kinds: dict[str, str],
) -> PlottedDataset:
    kinds = {name: kind for name, kind in kinds.items() if name in source.types}
    schema = infer(source, target=target, features=data.only, kinds=kinds)
    texts = [c.name for c in schema.used if c.kind in TEXTUAL]
    if texts and data.only is None:  # a picture has no axis for words
        names = [c.name for c in schema.columns if c.kind not in TEXTUAL]
        schema = infer(source, target=target, features=names)
    elif texts:
        raise DataError(f"Column {texts[0]!r} holds text, which a picture has no axis for: leave it out.")
    if place is not None and schema.n_rows > place.most_rows:
        raise DataError(f"The table has {schema.n_rows} rows, the studio takes {place.most_rows}: use assay compare.")
    table = _opened(source, schema, task or task_of(schema)[0])
    assert isinstance(table.rows, ArrayRows)
    used = schema.used
    if not used:
        raise _nothing_to_learn_from(schema, texts)
    if columns is None:
        columns = _usual_columns(schema, table.classes is None)
    for name in columns:
        if name not in [c.name for c in used]:
            raise SchemaError(f"Column {name!r} is not learnt from here. {nearest(name, [c.name for c in used])}")
    at = [c.name for c in used]
    shown = [at.index(name) for name in columns] if data.projection == "slice" else []
    X, whole, filled = without_gaps(table.rows.X, shown)
    if not whole.any():
        raise DataError("Every row lacks a value in a column shown: there is nothing to show. Choose other columns.")
    levels = tuple(tuple(c.levels or ()) if c.kind == "category" else None for c in used)
    categories = levels if any(level is not None for level in levels) else None
    if categories is not None and data.projection != "slice":
        raise DataError(
            f"{PROJECTIONS[data.projection]} are of numbers, and some columns hold categories: leave these out of what "
            "the model learns from, or look at two columns."
        )
    left_out = int((~whole).sum())
    seen = PictureRows(X[whole], table.y[whole], tuple(c.name for c in used), left_out, categories)
    line = len(columns) == 1
    if line and table.classes is not None:
        raise DataError("Classes are shown on two columns: choose a second one.")
    on = _line_of(seen, columns[0], data.at) if line else plane(seen, data.projection, columns, data.at)
    return PlottedDataset(
        data, place, source, schema, table, seen, np.flatnonzero(whole), on, line, filled, tuple(texts)
    )


def _nothing_to_learn_from(schema: Schema, texts: list[str]) -> DataError:
    found = [f"{c.name!r} is {KINDS_SAID.get(c.kind, c.kind)}" for c in schema.columns]
    found += [f"{name!r} holds text, which a picture has no axis for" for name in texts]
    return DataError(f"There is no column to learn from: {', '.join(found[:4]) or 'there is none but the target'}.")


def _opened(source: Source, schema: Schema, task: str) -> TableData:
    """The table in memory, as a fit opens it."""
    assert schema.target is not None
    task_of(schema, task)  # a target that cannot be learnt so is refused
    classes = task == "classification"
    text = classes and schema.target.kind == "category" and not source.typed
    rows = TableRows(source, schema, schema.target.name, text_target=text)
    return TableData.of(schema, Threads().open(rows), classes)


def _usual_columns(schema: Schema, numbers: bool) -> list[str]:
    """The first two columns of numbers (else of anything); of one column that one."""
    used = schema.used
    ranked = sorted(used, key=lambda c: c.kind not in ("number", "date"))
    if len(ranked) < 2 and not numbers:
        raise DataError("Classes are shown on two columns, and the table has one to learn from.")
    return [c.name for c in ranked[: 1 if numbers and len(ranked) == 1 else 2]]


def _line_of(seen: PictureRows, column: str, at: Any) -> Plane:
    """The line on which one column varies, as a plane whose second direction goes nowhere."""
    j, d = seen.column(column), seen.X.shape[1]
    if d > 1:
        other = next(name for name in seen.names if name != column)
        on = plane(seen, "slice", (column, other), {k: v for k, v in (at or {}).items() if k != column and k != other})
        k = seen.column(other)
        origin = on.origin.copy()
        origin[k] = np.quantile(seen.X[:, k], 0.5, method="lower")
        flat = np.vstack([on.basis[0], np.zeros(d)])
        return on._replace(origin=origin, basis=flat, back=flat.T, labels=(column, ""), levels=(on.levels[0], None))
    scale = np.array([float(seen.X.std()) or 1.0])
    basis = np.array([[1.0], [0.0]])
    return Plane(np.zeros(1), basis, basis.T, np.array([scale[0], 1.0]), scale, (seen.names[j], ""), "")


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
