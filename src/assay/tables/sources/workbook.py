"""The parts of an Excel workbook (.xlsx): its sheets, shared strings and which cell styles are dates. A zip of XML files."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

from assay.errors import DataError, ParameterError, nearest

MAIN = re.compile(r"\{.*\}")
DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(50, 59)}
NOT_LETTERS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h|m|s)[^\]]*\]', re.IGNORECASE)
OLD_HINT = "Save it as .xlsx, or as CSV (UTF-8), in the program that wrote it"


def is_date_format(code: str) -> bool:
    """Whether a number format shows a date: a letter of a date outside quotes, and no count of hours such as [h].

    >>> is_date_format("dd.mm.yyyy"), is_date_format('0.00" days"'), is_date_format("[h]:mm"), is_date_format("[Red]0.0")
    (True, False, False, False)
    """
    letters = NOT_LETTERS.sub("", code.split(";")[0]).lower()
    return bool(re.search("[dmyhs]", letters)) and "[" not in letters and letters != "general"


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


def tag(element: Any) -> str:
    """An element's name without its namespace."""
    return MAIN.sub("", element.tag)


def text_of(element: Any) -> str:
    """The text of a string: its <t> parts, without the readings (<rPh>) that Japanese workbooks add."""
    readings = {id(t) for part in element.iter() if tag(part) == "rPh" for t in part.iter()}
    parts = (t.text or "" for t in element.iter() if tag(t) == "t" and id(t) not in readings)
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m[1], 16)), "".join(parts))
