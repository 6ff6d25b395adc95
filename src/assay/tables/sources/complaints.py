"""What went wrong in a text file, in the user's words: which row, which column, which value, and what to do."""

from __future__ import annotations

import re
from typing import Any, Protocol

from assay.errors import DataError
from assay.tables.sources.guessing import THOUSANDS
from assay.tables.sources.lines import Piece, lines_before, row_at

UTF8_HINT = "Convert the file to UTF-8: iconv -f latin1 -t utf-8 old.csv > new.csv."
WANTED = {"double": "a number", "int64": "a whole number", "bool": "true or false", "date32[day]": "a date"}


class TextFile(Protocol):
    """What the messages need to know of a file."""

    where: str
    names: list[str]
    delimiter: str
    _blank_is_row: bool

    def text_of(self, path: str) -> Any: ...


def complain(message: str, file: TextFile, path: str, piece: Piece, rows: int) -> DataError:
    """The error for the parser's message about a piece that has `rows` rows before it."""
    row = re.search(r"Row #(\d+)", message)
    at, lines = f"in {file.where}", ""
    if row:
        number = rows + int(row[1]) + 1
        begin, end = row_at(piece.text, file.delimiter, int(row[1]), file._blank_is_row)
        with file.text_of(path) as stream:
            line = lines_before(stream, piece.offset + begin) + 1
        at = f"in row {number}{f' (line {line})' if line != number else ''} of {file.where} (the header is row 1)"
        if b"\n" in piece.text[begin:end]:
            lines = f" The row begins in line {line} and goes on over several lines: is a quote not closed?"
    if ragged := re.search(r"Expected (\d+) columns, got (\d+)(: .*)?", message, re.DOTALL):
        text = (ragged[3] or "")[:80]
        return DataError(
            f"There are {ragged[2]} fields where the header has {ragged[1]}, {at}{text}. Correct the row, or quote its text.{lines}"
        )
    column = re.search(r"CSV column #(\d+)", message)
    name = file.names[int(column[1])] if column and int(column[1]) < len(file.names) else None
    if "UTF8" in message:
        return DataError(f"Column {name!r} is not UTF-8 text {at}, though the file begins so. {UTF8_HINT}")
    if clash := re.search(r"conversion error to (.+?): invalid value '(.*)'", message, re.DOTALL):
        return DataError(_clash(name, clash[1], clash[2], at) + lines)
    return DataError(f"{file.where} cannot be read as CSV: {message.splitlines()[0]}")


def _clash(name: str | None, dtype: str, value: str, at: str) -> str:
    wanted = WANTED.get(dtype, "a date and time" if dtype.startswith("timestamp") else dtype)
    said = f"Column {name!r} should hold {wanted}, as it does in the first rows or as the model was fitted, but holds {value[:80]!r} {at}."
    if dtype == "double" and re.match(THOUSANDS.replace(r"\x{a0}\x{202f}", "\xa0\u202f"), value):
        return f"{said} Write numbers without separators between thousands: 1234, not 1,234."
    return (
        f"{said} Correct the value or leave it empty, read the column as text (--kind {name}=category in the shell), leave the "
        "column out (features), or store the table as Parquet with the type you mean."
    )


def unclosed(file: TextFile, path: str, at: int) -> DataError:
    """The error for a quote that opens at byte `at` and is not closed."""
    with file.text_of(path) as stream:
        line = lines_before(stream, at) + 1
    with file.text_of(path) as stream:
        stream.read(at)
        text = bytes(stream.read(60)).decode("utf-8", errors="replace").splitlines()[0]
    return DataError(
        f"A quote opens in line {line} of {file.where} and is not closed: {text}. Close it, or double it if it is part of the text."
    )
