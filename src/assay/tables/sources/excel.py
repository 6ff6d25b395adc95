"""A sheet of an Excel workbook (.xlsx) as a source. The sheet is held in memory, as Arrow columns: workbooks have at most a million rows.

The first row that is not empty is the header, but for titles above it (`guessing.py`). A column is
- text where any of its cells is text (its numbers are then written as they are, 3 as "3"), or where dates and numbers mix;
- dates where all its cells are shown as dates: days, or times where any cell has a time of day;
- truth values where all its cells are; else numbers, true as 1.
Empty cells, errors such as #N/A, and the spellings of missing values that CSV files know (NA, ?, null, …) are missing. A formula
counts as the value that was last computed. Columns without name and values are left out; one with values is called "column 3".
"""

from __future__ import annotations

import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from assay.errors import DataError
from assay.tables.sources import guessing
from assay.tables.sources.source import FrameSource
from assay.tables.sources.workbook import OLD_HINT, Workbook

OLD_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
AT_ONCE = 1 << 16  # cells that are held as Python's values before they become columns
MOST_EMPTY = 20  # cells of a table for each that is filled, from
SOME_CELLS = 10_000_000  # cells on


class ExcelSheet(FrameSource):
    """One sheet of a workbook: the first, or the one that is named."""

    def __init__(self, path: Path, sheet: str | None = None, where: str | None = None, skip: int | None = None) -> None:
        self.where = where or repr(str(path))
        _refuse_old(path, self.where)
        workbook = Workbook(path, self.where)
        titles, header, columns = _read(workbook, sheet, skip)
        places = sorted({*header, *columns.pieces})
        given = {j: _written(header[j]) if j in header else f"column {j + 1}" for j in places}
        numbered, self.repeated = guessing.numbered_names(list(given.values()))
        names = dict(zip(places, numbered))
        if not names:
            raise DataError(f"{self.where} has an empty sheet. {_others(workbook)}")
        if not columns.pieces:
            raise DataError(f"{self.where} has a header but no rows.")
        super().__init__(pa.table({name: columns.column(j) for j, name in names.items()}), self.where)
        errors = workbook.errors
        self.notes = [*guessing.skipped_note(self.where, titles), *guessing.repeats_note(self.where, self.repeated)]
        self.notes += guessing.totals_note(self.where, columns.last)
        self.notes += [f"{errors} cells of {self.where} hold errors such as #N/A: they are missing."] if errors else []
        if sheet is None and len(workbook.sheets) > 1:
            used, *others = workbook.sheets
            self.notes.append(
                f"The sheet {used!r} is read; there are also {', '.join(map(repr, others))} (sheet=, --sheet)."
            )


def _refuse_old(path: Path, where: str) -> None:
    with path.open("rb") as file:
        if file.read(8) != OLD_MAGIC:
            return
        start = file.read(1 << 20)
    if "EncryptedPackage".encode("utf-16-le") in start:
        raise DataError(f"{where} is a workbook with a password. Save it without one first.")
    raise DataError(f"{where} is a workbook of the old kind (.xls). {OLD_HINT}.")


def _others(workbook: Workbook) -> str:
    return f"Its sheets are {', '.join(map(repr, workbook.sheets))}: choose one with sheet= (--sheet in the shell)."


def _read(workbook: Workbook, sheet: str | None, skip: int | None) -> tuple[list[str], dict[int, Any], SheetColumns]:
    """(titles above the header, header by the place of the column, the columns below it); `skip` rows of the sheet are no part of it."""
    rows = ((number, values) for number, values in workbook.rows(sheet) if values)
    if skip is not None:
        rows = ((number, values) for number, values in rows if number > skip)
    first = list(islice(rows, guessing.LINES_LOOKED_AT))
    place = 0 if skip is not None else guessing.header_place(_padded([values for _, values in first]))
    number, header = first[place] if first else (0, {})
    columns = SheetColumns(workbook.where, number + 1)
    for at, values in chain(first[place + 1 :], rows):
        columns.add(at, values)
    columns.flush()
    return [" ".join(map(_written, values.values())) for _, values in first[:place]], header, columns


def _padded(rows: list[dict[int, Any]]) -> list[list[str]]:
    """Rows as lists of texts, all as wide as the widest."""
    width = max((max(values) for values in rows), default=-1) + 1
    left = min((min(values) for values in rows), default=0)
    return [[_written(values[j]) if j in values else "" for j in range(left, width)] for values in rows]


class ColumnPiece(NamedTuple):
    """Some rows of a column, the first of them row `start`: the kinds of its values, the values, and their text where kinds mix."""

    start: int
    kinds: frozenset[type]
    values: Any
    text: Any


class SheetColumns:
    """The columns of a sheet, by their place, as they grow row by row; rows without values are left out."""

    def __init__(self, where: str, first: int) -> None:
        self._where, self._first = where, first
        self.pieces: dict[int, list[ColumnPiece]] = {}
        self._held: dict[int, dict[int, Any]] = {}
        self._count = self._filled = self._start = 0
        self._numbers: list[Any] = []  # of rows that are there, piece by piece
        self._new: list[int] = []
        self.last: list[str] = []  # the texts of the last row

    def add(self, number: int, values: dict[int, Any]) -> None:
        """A row with values."""
        at = len(self._new)
        self.last = [value for value in values.values() if isinstance(value, str)]
        self._new.append(number - self._first)
        for j, value in values.items():
            self._held.setdefault(j, {})[at] = value
        self._count += len(values)
        if self._count >= AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Make columns of what is held."""
        n = len(self._new)
        self._filled += self._count
        cells = (self._start + n) * len({*self.pieces, *self._held})
        if cells > max(MOST_EMPTY * self._filled, SOME_CELLS):
            raise DataError(f"{self._where} has {cells} cells of which {self._filled} are filled: it is no table.")
        for j, held in self._held.items():
            self.pieces.setdefault(j, []).append(_piece(self._start, held, n))
        self._numbers.append(np.array(self._new, dtype=np.int64))
        self._start, self._held, self._new, self._count = self._start + n, {}, [], 0

    def column(self, j: int) -> Any:
        """A column from its first row to its last; in a sheet of one column an empty row is a missing value."""
        found = _joined(self.pieces.get(j, []), self._start)
        if len(self.pieces) > 1:
            return found
        numbers = np.concatenate(self._numbers)
        places = np.full(numbers[-1] + 1, -1)
        places[numbers] = np.arange(len(numbers))
        return found.take(pa.array(places, mask=places < 0))


def _piece(start: int, held: dict[int, Any], n: int) -> ColumnPiece:
    values = [held.get(i) for i in range(n)]
    kinds = frozenset(map(type, held.values()))
    if kinds == {bool}:
        return ColumnPiece(start, kinds, pa.array(values, pa.bool_()), None)
    if kinds == {datetime.datetime}:
        return ColumnPiece(start, kinds, pa.array(values, pa.timestamp("ms")), None)
    if kinds == {float}:
        return ColumnPiece(start, kinds, pa.array(values, pa.float64()), None)
    text = pa.array([None if v is None else _written(v) for v in values], pa.large_string())
    if kinds <= {bool, float}:
        return ColumnPiece(
            start, kinds, pa.array([None if v is None else float(v) for v in values], pa.float64()), text
        )
    return ColumnPiece(start, kinds, text, text)


def _joined(pieces: list[ColumnPiece], n: int) -> Any:
    """The pieces of a column as one of n rows."""
    kinds = frozenset[type]().union(*(piece.kinds for piece in pieces))
    if not kinds:
        return pa.nulls(n)
    if kinds == {datetime.datetime}:
        times = _filled([(p.start, p.values) for p in pieces], n, pa.timestamp("ms"))
        days = times.cast(pa.date32(), safe=False)
        return days if compute.all(compute.equal(days.cast(pa.timestamp("ms")), times)).as_py() else times
    if kinds <= {bool, float}:
        dtype = pa.bool_() if kinds == {bool} else pa.float64()
        return _filled([(p.start, p.values.cast(dtype)) for p in pieces], n, dtype)
    found = _filled([(p.start, _as_text(p)) for p in pieces], n, pa.large_string())
    return found.cast(pa.string()) if found.nbytes < 1 << 31 else found


def _filled(pieces: list[tuple[int, Any]], n: int, dtype: Any) -> Any:
    """Arrays one after another, with missing values where there is none."""
    found, at = [], 0
    for start, array in pieces:
        found += [pa.nulls(start - at, dtype), array]
        at = start + len(array)
    return pa.concat_arrays([*found, pa.nulls(n - at, dtype)])


def _as_text(piece: ColumnPiece) -> Any:
    if piece.text is not None:
        return piece.text
    return pa.array([None if v is None else _written(v) for v in piece.values.to_pylist()], pa.large_string())


def _written(value: Any) -> str:
    """A value as it is written into a column of text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    return str(value)
