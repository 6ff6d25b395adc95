"""A sheet of an Excel workbook (.xlsx) as a source. The sheet is held in memory: workbooks have at most a million rows.

The first row that is not empty is the header. A column is
- text where any of its cells is text (its numbers are then written as they are, 3 as "3"), or where dates and numbers mix;
- dates where all its cells are shown as dates: days, or times where any cell has a time of day;
- truth values where all its cells are; else numbers, true as 1.
Empty cells, errors such as #N/A, and the spellings of missing values that CSV files know (NA, ?, null, …) are missing. A formula
counts as the value that was last computed. Columns without name and values are left out; one with values is called "column 3".
"""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.errors import DataError
from assay.tables.columns import refuse_repeats
from assay.tables.sources.frames import Frame
from assay.tables.sources.guessing import MISSING
from assay.tables.sources.workbook import OLD_HINT, Workbook, tag, text_of

OLD_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ZIP_MAGIC = b"PK\x03\x04"
NOTHING = frozenset(MISSING)


class ExcelSheet(Frame):
    """One sheet of a workbook: the first, or the one that is named."""

    def __init__(self, path: Path, sheet: str | None = None, where: str | None = None) -> None:
        self.where = where or repr(str(path))
        _refuse_old(path, self.where)
        workbook = Workbook(str(path), self.where)
        header, columns, errors = _read(workbook, sheet)
        names = _names(header, columns)
        refuse_repeats(list(names.values()), self.where)
        if not names:
            raise DataError(f"{self.where} has an empty sheet. {_others(workbook)}")
        if not any(columns.values()):
            raise DataError(f"{self.where} has a header but no rows.")
        n_rows = 1 + max(max(cells) for cells in columns.values() if cells)
        table = pa.table({name: _column(columns.get(j, {}), n_rows) for j, name in names.items()})
        super().__init__(table, self.where)
        self.notes = [f"{errors} cells of {self.where} hold errors such as #N/A: they are missing."] if errors else []
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


Cells = dict[int, Any]  # row → value, without the missing ones


def _read(workbook: Workbook, sheet: str | None) -> tuple[dict[int, Any], dict[int, Cells], int]:
    """(header by column, values by column and row from 0, how many cells hold errors)."""
    header: dict[int, Any] = {}
    columns: dict[int, Cells] = {}
    errors = first = 0
    for number, cells in workbook.rows(sheet):
        values = {}
        for at, cell in enumerate(cells):
            errors += cell.get("t") == "e"
            if (value := _value(cell, workbook)) is not None:
                values[_column_number(cell, at)] = value
        if not header:
            header, first = values, number + 1
            continue
        for j, value in values.items():
            columns.setdefault(j, {})[number - first] = value
    return header, _without_gaps(columns), errors


def _without_gaps(columns: dict[int, Cells]) -> dict[int, Cells]:
    """The same cells with rows counted without the empty ones; in a sheet of one column an empty row is a missing value."""
    if len(columns) == 1:
        return columns
    full = {row: i for i, row in enumerate(sorted({row for cells in columns.values() for row in cells}))}
    return {j: {full[row]: value for row, value in cells.items()} for j, cells in columns.items()}


def _column_number(cell: Any, at: int) -> int:
    """The place of a cell such as AB12, counted from 0."""
    letters = re.match("[A-Z]+", cell.get("r", ""))
    if letters is None:
        return at
    number = 0
    for letter in letters[0]:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _value(cell: Any, workbook: Workbook) -> Any:
    """What a cell holds: float, bool, str, datetime, or None."""
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return _text(text_of(cell))
    held = next((part.text for part in cell if tag(part) == "v"), None)
    if held is None or kind == "e":
        return None
    if kind == "s":
        return _text(workbook.strings[int(held)])
    if kind == "b":
        return held.strip() in ("1", "true")
    if kind == "d":
        return datetime.datetime.fromisoformat(held)
    if kind != "n":
        return _text(held)
    number = float(held)
    return moment(number, workbook.serial_1904) if int(cell.get("s", 0)) in workbook.dates else number


def _text(text: str) -> str | None:
    return None if text.strip() in NOTHING else text


def moment(serial: float, since_1904: bool = False) -> datetime.datetime:
    """The date of a serial number. Serials of the 1900 system count a 29 February 1900 that never was.

    >>> moment(43831.5), moment(1), moment(0, since_1904=True)
    (datetime.datetime(2020, 1, 1, 12, 0), datetime.datetime(1900, 1, 1, 0, 0), datetime.datetime(1904, 1, 1, 0, 0))
    """
    if since_1904:
        start = datetime.datetime(1904, 1, 1)
    else:
        start = datetime.datetime(1899, 12, 31 if serial < 60 else 30)
    return start + datetime.timedelta(milliseconds=round(serial * 86_400_000))


def _names(header: dict[int, Any], columns: dict[int, Cells]) -> dict[int, str]:
    """Column names by place."""
    return {j: _written(header[j]) if j in header else f"column {j + 1}" for j in sorted({*header, *columns})}


def _written(value: Any) -> str:
    """A value as it is written into a column of text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    return str(value)


def _column(cells: Cells, n_rows: int) -> Any:
    kinds = set(map(type, cells.values()))
    values = [cells.get(i) for i in range(n_rows)]
    if not kinds:
        return pa.nulls(n_rows)
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds <= {bool, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if kinds == {datetime.datetime}:
        times = pa.array(values, pa.timestamp("ms"))
        return times.cast(pa.date32()) if all(v.time() == datetime.time() for v in cells.values()) else times
    return pa.array([None if v is None else _written(v) for v in values], pa.string())
