"""A sheet of an Excel workbook (.xlsx) as a source. The sheet is held in memory: workbooks have at most a million rows.

The first row that is not empty is the header. A column is
- text where any of its cells is text (its numbers are then written as they are, 3 as "3"), or where dates and numbers mix;
- dates where all its cells are shown as dates: days, or times where any cell has a time of day;
- truth values where all its cells are; else numbers, true as 1.
Empty cells, errors such as #N/A, and the spellings of missing values that CSV files know (NA, ?, null, …) are missing. A formula
counts as the value that was last computed. Columns without name and values are left out; one with values is called "column 3".

A workbook is a zip of XML files: its sheets, shared strings, and the cell styles that say which numbers are dates.
"""

from __future__ import annotations

import datetime
import posixpath
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa

from assay.errors import DataError, ParameterError, nearest
from assay.tables.sources.frames import FrameSource
from assay.tables.sources.guessing import MISSING
from assay.tables.sources.source import refuse_repeats

MAIN = re.compile(r"\{.*\}")
DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(50, 59)}
NOT_LETTERS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h|m|s)[^\]]*\]', re.IGNORECASE)
OLD_HINT = "Save it as .xlsx, or as CSV (UTF-8), in the program that wrote it"
OLD_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
NOTHING = frozenset(MISSING)
SheetCells = dict[int, Any]  # row → value, without the missing ones


class ExcelSheet(FrameSource):
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


def _read(workbook: Workbook, sheet: str | None) -> tuple[dict[int, Any], dict[int, SheetCells], int]:
    """(header by column, values by column and row from 0, how many cells hold errors)."""
    header: dict[int, Any] = {}
    columns: dict[int, SheetCells] = {}
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


def _without_gaps(columns: dict[int, SheetCells]) -> dict[int, SheetCells]:
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


def _names(header: dict[int, Any], columns: dict[int, SheetCells]) -> dict[int, str]:
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


def _column(cells: SheetCells, n_rows: int) -> Any:
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


class Workbook:
    """An open workbook. `serial_1904`: its days are counted from 1904 and not from 1900."""

    def __init__(self, path: str, where: str) -> None:
        self.where = where
        with self.explained():
            self._zip = zipfile.ZipFile(path)
        self._refuse_others()
        with self.explained():
            root = ElementTree.fromstring(self._zip.read("xl/workbook.xml"))
            links = self._links()
            self.sheets = {
                str(sheet.get("name")): links[next(value for key, value in sheet.attrib.items() if key.endswith("}id"))]
                for sheet in root.iter()
                if tag(sheet) == "sheet"
            }
            settings = [part for part in root.iter() if tag(part) == "workbookPr"]
            self.serial_1904 = any(part.get("date1904") in ("1", "true") for part in settings)
            self.strings = list(self._shared_strings())
            self.dates = self._date_styles()

    def _refuse_others(self) -> None:
        names = set(self._zip.namelist())
        if "xl/workbook.xml" in names:
            return
        if "xl/workbook.bin" in names:
            raise DataError(f"{self.where} is a binary workbook (.xlsb). {OLD_HINT}.")
        if "content.xml" in names:
            raise DataError(f"{self.where} is an OpenDocument file. {OLD_HINT}.")
        raise DataError(f"{self.where} is a zip file without a workbook in it. Unpack it and give the path of a table.")

    def _links(self) -> dict[str, str]:
        """Part names by the ids that the workbook calls them."""
        root = ElementTree.fromstring(self._zip.read("xl/_rels/workbook.xml.rels"))
        return {
            str(link.get("Id")): posixpath.normpath(posixpath.join("/xl", str(link.get("Target")))).lstrip("/")
            for link in root
        }

    def _shared_strings(self) -> Iterator[str]:
        if "xl/sharedStrings.xml" in self._zip.namelist():
            with self._zip.open("xl/sharedStrings.xml") as file:
                for _, element in ElementTree.iterparse(file):
                    if tag(element) == "si":
                        yield text_of(element)
                        element.clear()

    def _date_styles(self) -> set[int]:
        """The cell styles that show a number as a date."""
        if "xl/styles.xml" not in self._zip.namelist():
            return set()
        root = ElementTree.fromstring(self._zip.read("xl/styles.xml"))
        codes = {int(f.get("numFmtId", 0)): str(f.get("formatCode")) for f in root.iter() if tag(f) == "numFmt"}
        dates = DATE_FORMATS | {number for number, code in codes.items() if is_date_format(code)}
        dates -= {number for number, code in codes.items() if not is_date_format(code)}
        formats = [list(part) for part in root if tag(part) == "cellXfs"]
        return {i for i, style in enumerate(formats[0] if formats else []) if int(style.get("numFmtId", 0)) in dates}

    def rows(self, sheet: str | None) -> Iterator[tuple[int, list[Any]]]:
        """(row number, its <c> elements) of the first sheet or of the named one."""
        if sheet is not None and sheet not in self.sheets:
            raise ParameterError(f"{self.where} has no sheet {sheet!r}. {nearest(sheet, self.sheets)}")
        part = self.sheets[sheet] if sheet is not None else next(iter(self.sheets.values()))
        number = 0
        with self.explained(), self._zip.open(part) as file:
            for _, element in ElementTree.iterparse(file):
                if tag(element) == "row":
                    number = int(element.get("r", number + 1))
                    yield number, [cell for cell in element if tag(cell) == "c"]
                    element.clear()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Errors of the zip and its XML in the user's words."""
        try:
            yield
        except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, StopIteration, EOFError, RuntimeError) as error:
            raise DataError(
                f"{self.where} is a binary file, and no workbook that can be read ({error}): it may be damaged or protected. "
                "Save the sheet as CSV (UTF-8) or Parquet first."
            ) from None
        except OSError as error:
            raise DataError(f"{self.where} cannot be read: {error.strerror or error}.") from None


def is_date_format(code: str) -> bool:
    """Whether a number format shows a date: a letter of a date outside quotes, and no count of hours such as [h].

    >>> is_date_format("dd.mm.yyyy"), is_date_format('0.00" days"'), is_date_format("[h]:mm"), is_date_format("[Red]0.0")
    (True, False, False, False)
    """
    letters = NOT_LETTERS.sub("", code.split(";")[0]).lower()
    return bool(re.search("[dmyhs]", letters)) and "[" not in letters and letters != "general"


def tag(element: Any) -> str:
    """An element's name without its namespace."""
    return MAIN.sub("", element.tag)


def text_of(element: Any) -> str:
    """The text of a string: its <t> parts, without the readings (<rPh>) that Japanese workbooks add."""
    readings = {id(t) for part in element.iter() if tag(part) == "rPh" for t in part.iter()}
    parts = (t.text or "" for t in element.iter() if tag(t) == "t" and id(t) not in readings)
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m[1], 16)), "".join(parts))
