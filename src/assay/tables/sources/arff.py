"""ARFF files (Weka, OpenML), dense and sparse, as a source. The table is held in memory, as Arrow columns.

    @relation coins
    @attribute 'size mm' numeric
    @attribute minted date "yyyy-MM-dd"
    @attribute coin {1c, '5 c', 10c}
    @data
    12.5, 2001-03-31, '5 c'
    {0 12.5, 2 10c}             the same row sparsely: what is left out is 0, or the first of the categories

A nominal attribute is a column of categories, a date one of times, ? is missing. A weight in braces at the end of a row is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as compute

from assay.errors import DataError
from assay.tables.sources.guessing import numbered_names, repeats_note
from assay.tables.sources.source import FrameSource
from assay.tables.sources.text import encoding_of, head_of, plain_bytes

TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"@attribute\s+({TEXT}|[^\s{{]+)\s*(.+)", re.IGNORECASE)
DATE = re.compile(rf"date\s*({TEXT}|\S+)?", re.IGNORECASE)
VALUE = re.compile(rf"\s*({TEXT}|[^,]*?)\s*(?:,|$)")
ENTRY = re.compile(rf"\s*(\d+)\s+({TEXT}|[^,]*?)\s*(?:,|$)")
WEIGHT = re.compile(r",?\s*\{\s*[-+.\deE]+\s*\}$")
NUMBERS = ("numeric", "real", "integer")
USUAL_DATE = "yyyy-MM-dd'T'HH:mm:ss"
LETTERS = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
START = re.compile(rb"(?i)(\s*(%[^\n]*)?[\r\n]+)*\s*@relation\b")
MOST_CELLS = 200_000_000


class ArffAttribute(NamedTuple):
    """A declared column: "number", "whole", "date" (in strptime's words), "text" or "category" with its levels."""

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    form: str = ""


class ArffFile(FrameSource):
    """One ARFF file."""

    def __init__(self, path: Path, where: str | None = None) -> None:
        self.where = where or repr(str(path))
        with plain_bytes(str(path)) as stream:
            data = bytes(stream.read())
        encoding = encoding_of(head_of(str(path), 1 << 20))
        try:
            lines = enumerate(data.removeprefix(b"\xef\xbb\xbf").decode(encoding).splitlines(), 1)
        except UnicodeDecodeError:
            raise DataError(f"{self.where} is not {encoding} text throughout.") from None
        attributes = _header(lines, self.where)
        values = _rows(lines, attributes, self.where)
        names, self.repeated = numbered_names([a.name for a in attributes])
        columns = [_column(a, cells, self.where) for a, cells in zip(attributes, values)]
        if not columns or not len(columns[0]):
            raise DataError(f"{self.where} has attributes but no rows.")
        super().__init__(pa.table(dict(zip(names, columns))), self.where)
        self.notes = repeats_note(self.where, self.repeated)


def is_arff(head: bytes) -> bool:
    """Whether a file begins as ARFF files do."""
    return START.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


def _header(lines: Iterator[tuple[int, str]], where: str) -> list[ArffAttribute]:
    found: list[ArffAttribute] = []
    for number, line in lines:
        text = line.strip()
        if text.lower().startswith("@data"):
            return found
        if text.lower().startswith("@attribute"):
            found.append(_attribute(text, number, where))
        elif text and not text.startswith("%") and not text.lower().startswith("@relation"):
            raise DataError(f"Line {number} of {where} is no part of an ARFF header: {text[:60]!r}.")
    raise DataError(f"{where} has no line @data: it is no whole ARFF file.")


def _attribute(text: str, number: int, where: str) -> ArffAttribute:
    match = ATTRIBUTE.fullmatch(text)
    if match is None:
        raise DataError(f"Line {number} of {where} declares no attribute that can be read: {text[:60]!r}.")
    name, kind = _unquoted(match[1]), match[2].strip()
    if kind.startswith("{") and kind.endswith("}"):
        levels = tuple(dict.fromkeys(_unquoted(m[1]) for m in _cells(VALUE, kind[1:-1])))
        return ArffAttribute(name, "category", levels)
    if kind.lower() in NUMBERS:
        return ArffAttribute(name, "whole" if kind.lower() == "integer" else "number")
    if date := DATE.fullmatch(kind):
        form = _strptime(_unquoted(date[1]) if date[1] else USUAL_DATE)
        return ArffAttribute(name, "date" if form else "text", form=form)
    if kind.lower() == "string":
        return ArffAttribute(name, "text")
    raise DataError(
        f"Line {number} of {where} declares {name!r} as {kind[:40]!r}, which no column can be: leave it out."
    )


def _strptime(pattern: str) -> str:
    """A pattern of Java in the words of strptime; "" where it says more than days and times.

    >>> _strptime("yyyy-MM-dd'T'HH:mm:ss")
    '%Y-%m-%dT%H:%M:%S'
    """
    whole = re.findall(r"'[^']*'|[A-Za-z]+|[^A-Za-z']+", pattern)
    found = [p.strip("'") if p[0] == "'" else LETTERS.get(p, "") if p[0].isalpha() else p for p in whole]
    return "".join(found) if all(found) else ""


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _cells(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches of a line from its beginning to its end; ValueError where something else stands."""
    at = 0
    while at <= len(text):
        match = pattern.match(text, at)
        if match is None:
            raise ValueError(text[at : at + 40])
        yield match
        if not match[0].endswith(","):
            return
        at = match.end()


def _rows(lines: Iterator[tuple[int, str]], attributes: list[ArffAttribute], where: str) -> list[list[str | None]]:
    """The cells of each column as text; None where missing."""
    columns: list[list[str | None]] = [[] for _ in attributes]
    absent = [a.levels[0] if a.levels else "" if a.kind == "text" else "0" for a in attributes]
    for number, line in lines:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        try:
            row = _sparse(text, absent) if text.startswith("{") else _dense(text)
        except (ValueError, IndexError) as error:
            raise DataError(f"Line {number} of {where} cannot be read at {str(error)[:60]!r}: {text[:60]!r}.") from None
        if len(row) != len(columns):
            raise DataError(
                f"Line {number} of {where} has {len(row)} values where {len(columns)} attributes are declared."
            )
        for column, value in zip(columns, row):
            column.append(value)
        if len(columns) * len(columns[0]) > MOST_CELLS:
            raise DataError(
                f"{where} has more than {MOST_CELLS} cells: store it as Parquet, which need not fit into memory."
            )
    return columns


def _dense(text: str) -> list[str | None]:
    if "'" not in text and '"' not in text:  # most lines of most files
        text = WEIGHT.sub("", text) if text.endswith("}") else text
        return [None if cell == "?" else cell for cell in map(str.strip, text.split(","))]
    text = WEIGHT.sub("", text)
    return [None if m[1] == "?" else _unquoted(m[1]) for m in _cells(VALUE, text)]


def _sparse(text: str, absent: list[str]) -> list[str | None]:
    row: list[str | None] = list(absent)
    inside = text[1 : text.index("}") if "'" not in text and '"' not in text else text.rindex("}")].strip()
    for match in _cells(ENTRY, inside) if inside else ():
        row[int(match[1])] = None if match[2] == "?" else _unquoted(match[2])
    return row


def _column(attribute: ArffAttribute, cells: list[str | None], where: str) -> Any:
    text = pa.array(cells, pa.large_string())
    if attribute.kind == "text":
        return text.cast(pa.string())
    if attribute.kind == "category":
        return _categories(attribute, text, where)
    try:
        if attribute.kind == "date":
            return compute.strptime(text, format=attribute.form, unit="us")
        numbers = text.cast(pa.float64())
    except pa.ArrowInvalid as error:
        raise DataError(
            f"Column {attribute.name!r} of {where} is declared as {attribute.kind}: {str(error).splitlines()[0]}"
        ) from None
    whole = attribute.kind == "whole" and compute.all(compute.equal(numbers, compute.floor(numbers))).as_py()
    return numbers.cast(pa.int64()) if whole else numbers


def _categories(attribute: ArffAttribute, text: Any, where: str) -> Any:
    levels = pa.array(attribute.levels, pa.string())
    places = compute.index_in(text, value_set=levels.cast(pa.large_string()))
    if places.null_count > text.null_count:
        row = next(
            i for i, (place, value) in enumerate(zip_longest(places, text)) if value.is_valid and not place.is_valid
        )
        raise DataError(
            f"Column {attribute.name!r} of {where} holds {text[row].as_py()[:40]!r} in row {row} (counted from 0), which is none of its "
            "declared values."
        )
    return pa.DictionaryArray.from_arrays(places, levels)
