"""An Excel workbook (.xlsx): a zip of XML files, with sheets, shared strings, and the cell styles that say which numbers are dates.

It is read as a stream of cells, never as a tree, and nothing that it says of its size is believed. A few bytes of a zip can become a
gigabyte of XML, and a cell of a few bytes can refer to a string of any length: both are counted while they are read, and stopped.
"""

from __future__ import annotations

import datetime
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

import pyarrow as pa

from assay.errors import DataError, ParameterError, nearest
from assay.tables.sources.guessing import MISSING

MOST_UNPACKED = 100  # times its size that a workbook may hold,
FREELY_UNPACKED = 64 << 20  # or so many bytes
MOST_ROWS, MOST_COLUMNS = 1 << 20, 1 << 14  # of a sheet, as Excel has it
LONGEST_TEXT = 1 << 20  # characters of a cell: Excel has 32 767
DEEPEST = 64  # elements within each other
PIECE = 1 << 16  # bytes of XML at once
STRINGS = 1 << 14  # shared strings that are put together at once
DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(50, 59)}
NOT_LETTERS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h|m|s)[^\]]*\]', re.IGNORECASE)
LETTERS = re.compile("[A-Z]{1,4}")
ESCAPED = re.compile(r"_x(?![dD][89a-fA-F])([0-9A-Fa-f]{4})_")  # but for halves of characters
OLD_HINT = "Save it as .xlsx, or as CSV (UTF-8), in the program that wrote it"
NOTHING = frozenset(MISSING)
UNREADABLE = (
    zipfile.BadZipFile, expat.ExpatError, zlib.error, struct.error, KeyError, ValueError, IndexError, OverflowError, StopIteration,
    EOFError, RuntimeError,
)  # fmt: skip


class XmlEvent(NamedTuple):
    """An element begins ("start", with its attributes) or ends ("end"), or text ("text", in `name`). Names are without their namespace."""

    what: str
    name: str
    attributes: dict[str, str]


class Workbook:
    """An open workbook. `serial_1904`: its days are counted from 1904 and not from 1900; `errors`: cells that held one."""

    def __init__(self, path: Path, where: str) -> None:
        self.where, self.errors, self.serial_1904 = where, 0, False
        self._left = self._most = max(MOST_UNPACKED * path.stat().st_size, FREELY_UNPACKED)
        with self.explained():
            self._zip = zipfile.ZipFile(path)
        self._refuse_others()
        with self.explained():
            links = self._links()
            self.sheets: dict[str, str] = {}
            for event in self._events("xl/workbook.xml"):
                if event.what == "start" and event.name == "sheet":
                    self.sheets[event.attributes["name"]] = links[_identity(event.attributes)]
                if event.what == "start" and event.name == "workbookPr":
                    self.serial_1904 = event.attributes.get("date1904") in ("1", "true")
            self._strings = self._shared_strings()
            self._dates = self._date_styles()

    def rows(self, sheet: str | None) -> Iterator[tuple[int, dict[int, Any]]]:
        """(row number, its values by the place of their column) of the first sheet or of the named one, without what is missing."""
        if sheet is not None and sheet not in self.sheets:
            raise ParameterError(f"{self.where} has no sheet {sheet!r}. {nearest(sheet, self.sheets)}")
        with self.explained():
            part = self.sheets[sheet] if sheet is not None else next(iter(self.sheets.values()))
            number, place = 0, -1
            cell: dict[str, str] = {}
            values: dict[int, Any] = {}
            text: list[str] = []
            for event in _with_text(self._events(part), ("v", "t"), text, self.where):
                if event.what == "start" and event.name == "row":
                    number, place, values = self._row_number(event.attributes, number), -1, {}
                elif event.what == "start" and event.name == "c":
                    cell, place = event.attributes, self._place(event.attributes, place)
                    text.clear()
                elif event.what == "end" and event.name == "c":
                    if (value := self._value(cell, "".join(text))) is not None:
                        values[place] = value
                elif event.what == "end" and event.name == "row":
                    yield number, values

    # --- the parts ------------------------------------------------------------------------------------------------------

    def _refuse_others(self) -> None:
        names = set(self._zip.namelist())
        if "xl/workbook.xml" in names:
            return
        if "xl/workbook.bin" in names:
            raise DataError(f"{self.where} is a binary workbook (.xlsb). {OLD_HINT}.")
        if "content.xml" in names:
            raise DataError(f"{self.where} is an OpenDocument file. {OLD_HINT}.")
        raise DataError(f"{self.where} is a zip file without a workbook in it. Unpack it and give the path of a table.")

    def _events(self, part: str) -> Iterator[XmlEvent]:
        """What a part of the workbook says, as it is unpacked."""
        found: list[XmlEvent] = []
        parser = _parser(found, self.where)
        with self._zip.open(part) as file:
            while piece := file.read(PIECE):
                self._spend(len(piece))
                parser.Parse(piece, False)
                yield from found
                found.clear()
        parser.Parse(b"", True)
        yield from found

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise DataError(
                f"{self.where} unpacks to more than {self._most >> 20} MB, which is too much for its size: no table is packed so "
                "tightly. Save the sheet as CSV (UTF-8) or Parquet first."
            )

    def _links(self) -> dict[str, str]:
        """Part names by the ids that the workbook calls them."""
        return {
            event.attributes["Id"]: posixpath.normpath(posixpath.join("/xl", event.attributes["Target"])).lstrip("/")
            for event in self._events("xl/_rels/workbook.xml.rels")
            if event.what == "start" and "Id" in event.attributes
        }

    def _shared_strings(self) -> Any:
        if "xl/sharedStrings.xml" not in self._zip.namelist():
            return pa.array([], pa.large_string())
        text: list[str] = []
        held, chunks = [], [pa.array([], pa.large_string())]
        for event in _with_text(self._events("xl/sharedStrings.xml"), ("t",), text, self.where):
            if event.name == "si" and event.what == "start":
                text.clear()
            elif event.name == "si" and event.what == "end":
                held.append(_unescaped("".join(text)))
                if len(held) >= STRINGS:
                    chunks.append(pa.array(held, pa.large_string()))
                    held = []
        return pa.concat_arrays([*chunks, pa.array(held, pa.large_string())])

    def _date_styles(self) -> set[int]:
        """The cell styles that show a number as a date."""
        if "xl/styles.xml" not in self._zip.namelist():
            return set()
        codes: dict[int, str] = {}
        styles: list[int] = []
        within = False
        for event in self._events("xl/styles.xml"):
            if event.name == "cellXfs":
                within = event.what == "start"
            elif event.what == "start" and event.name == "numFmt":
                codes[int(event.attributes.get("numFmtId", 0))] = event.attributes.get("formatCode", "")
            elif event.what == "start" and event.name == "xf" and within:
                styles.append(int(event.attributes.get("numFmtId", 0)))
        dates = DATE_FORMATS | {number for number, code in codes.items() if is_date_format(code)}
        dates -= {number for number, code in codes.items() if not is_date_format(code)}
        return {i for i, number in enumerate(styles) if number in dates}

    # --- cells ----------------------------------------------------------------------------------------------------------

    def _row_number(self, attributes: dict[str, str], before: int) -> int:
        number = int(attributes.get("r", before + 1))
        if not before < number <= MOST_ROWS:
            raise DataError(
                f"{self.where} has a row {number} after row {before}: a sheet has rows 1 to {MOST_ROWS}, in order."
            )
        return number

    def _place(self, attributes: dict[str, str], before: int) -> int:
        """The place of a cell such as AB12, counted from 0."""
        place, letters = before + 1, LETTERS.match(attributes.get("r", ""))
        if letters is not None:
            number = 0
            for letter in letters[0]:
                number = 26 * number + ord(letter) - 64
            place = number - 1
        if place >= MOST_COLUMNS:
            raise DataError(f"{self.where} has a cell in column {place + 1}: a sheet has at most {MOST_COLUMNS}.")
        return place

    def _value(self, cell: dict[str, str], held: str) -> Any:
        """What a cell holds: float, bool, str, datetime, or None."""
        kind = cell.get("t", "n")
        self.errors += kind == "e"
        if kind == "inlineStr":
            return _text(_unescaped(held))
        if not held or kind == "e":
            return None
        if kind == "s":
            return self._shared(int(held))
        if kind == "b":
            return held.strip() in ("1", "true")
        if kind == "d":
            return datetime.datetime.fromisoformat(held)
        if kind != "n":
            return _text(held)
        number = float(held)
        return moment(number, self.serial_1904) if self._dates and int(cell.get("s", 0)) in self._dates else number

    def _shared(self, index: int) -> str | None:
        if not 0 <= index < len(self._strings):
            raise ValueError(f"there is no shared string {index}")
        text = _text(self._strings[index].as_py())
        self._spend(len(text or ""))
        return text

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Errors of the zip and its XML in the user's words."""
        try:
            yield
        except OSError as error:
            raise DataError(f"{self.where} cannot be read: {error.strerror or error}.") from None
        except UNREADABLE as error:
            if isinstance(error, DataError):
                raise
            raise DataError(
                f"{self.where} is a binary file, and no workbook that can be read ({error}): it may be damaged or protected. "
                "Save the sheet as CSV (UTF-8) or Parquet first."
            ) from None


def _parser(found: list[XmlEvent], where: str) -> Any:
    """A parser that puts what it reads into `found`."""
    parser, depth = expat.ParserCreate(), 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise DataError(f"{where} is no workbook that can be read: its XML is nested too deeply.")
        found.append(XmlEvent("start", name.rpartition(":")[2], attributes))

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        found.append(XmlEvent("end", name.rpartition(":")[2], {}))

    def refuse(*_: Any) -> None:
        raise DataError(f"{where} is no workbook that can be read: its XML declares a document type.")

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: found.append(XmlEvent("text", text, {}))
    parser.StartDoctypeDeclHandler = refuse
    return parser


def _with_text(events: Iterator[XmlEvent], names: tuple[str, ...], text: list[str], where: str) -> Iterator[XmlEvent]:
    """The events, while the text of the elements `names` is put into `text`, without the readings (<rPh>) that Japanese workbooks add;
    whoever asks for the events empties it."""
    within = reading = size = 0
    for event in events:
        if event.what == "text":
            if within and not reading:
                size = size + len(event.name) if text else len(event.name)
                if size > LONGEST_TEXT:
                    raise DataError(f"{where} has a cell of more than {LONGEST_TEXT} characters: it is no table.")
                text.append(event.name)
            continue
        step = 1 if event.what == "start" else -1
        within += step * (event.name in names)
        reading += step * (event.name == "rPh")
        yield event


def _identity(attributes: dict[str, str]) -> str:
    return next(value for name, value in attributes.items() if name.endswith(":id"))


def _text(text: str) -> str | None:
    return None if text.strip() in NOTHING else text


def _unescaped(text: str) -> str:
    return ESCAPED.sub(lambda m: chr(int(m[1], 16)), text) if "_x" in text else text


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


def is_date_format(code: str) -> bool:
    """Whether a number format shows a date: a letter of a date outside quotes, and no count of hours such as [h].

    >>> is_date_format("dd.mm.yyyy"), is_date_format('0.00" days"'), is_date_format("[h]:mm"), is_date_format("[Red]0.0")
    (True, False, False, False)
    """
    letters = NOT_LETTERS.sub("", code.split(";")[0]).lower()
    return bool(re.search("[dmyhs]", letters)) and "[" not in letters and letters != "general"
