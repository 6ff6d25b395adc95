"""CSV and TSV files as a source. Types are guessed from the first megabytes and then fixed: no later row can change them.

Whole numbers among the features are read as floats from the start, so that a column may go on with decimals. Blank lines
are no rows, but in a file of one column: there a blank line is a row whose value is missing. The rules for missing values,
numbers, dates and truth values are those of `guessing`. A file that is not UTF-8 in its first megabytes is read as Latin
text (Windows-1252) with a note. Threads parse chunks of the file; the rows keep their order, and few chunks are held.

DuckDB's own `sniff_csv` (2.0) was measured against this on the 119 uncompressed files that tests/tables reads, with the words for missing values
given to it. Same delimiter: 112, the other 7 are refused (UTF-16, Latin text, blank lines before the header). Same names: 109. Same
kinds of all columns: 93 (not with decimal commas, leading zeros, infinities, blanks for missing values; yes and no become truth values).
It takes 18 ms on 6.6 MB, the delimiter alone 0.4 ms here. All that it finds as well is the delimiter: the 17 lines of `sniff_delimiter`, which
what it refuses would need all the same.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.types as types

from assay.errors import DataError
from assay.tables.sources.guessing import (
    LINES_LOOKED_AT,
    Parse,
    guess,
    header_place,
    numbered_names,
    options,
    repeats_note,
    skipped_note,
    totals_note,
    without_missing,
)
from assay.tables.sources.source import Reading, Source, named
from assay.tables.sources.text import (
    TextChunk,
    Unclosed,
    chunks,
    encoding_of,
    head_of,
    in_order,
    last_line_end,
    lines_before,
    row_at,
    utf8_bytes,
)
from assay.tables.written.writing import WritingOptions

GUESSED_FROM = 4 << 20
READ_AT_ONCE = 1 << 20
BYTES_A_COLUMN = 2 << 10  # wide tables are read in larger chunks: a chunk costs some microseconds a column
SNIFFED = FEW_BYTES = 1 << 16
LAST_BYTES = 1 << 12
LONG = 256 << 20  # bytes from which the compiled parser pays for its loading
DELIMITERS = ",;\t|"
UTF8_HINT = "Convert the file to UTF-8: iconv -f cp1252 -t utf-8 old.csv > new.csv."
TYPE_NAMES = {"double": "a number", "int64": "a whole number", "bool": "true or false", "date32[day]": "a date"}


class DelimitedFiles(Source):
    """One or more text files with the same header, one after another."""

    typed = False

    def __init__(
        self,
        paths: list[Path],
        delimiter: str | None = None,
        where: str | None = None,
        check_header: Callable[[list[str]], None] | None = None,
        said: WritingOptions | None = None,
        skip: int | None = None,
    ) -> None:
        self._said, self._skip = said or WritingOptions(), skip
        self.paths = self.parsed_from = [str(path) for path in paths]
        self.where = where or named(paths)
        self.notes: list[str] = []
        with self._explained(self.paths[0]):
            self._encodings = {path: self._encoding(path) for path in self.paths}
            sample = without_lines(self._sample(self.paths[0], SNIFFED), skip or 0)
            self.delimiter = delimiter or sniff_delimiter(sample)
            self._body: dict[str, int] = {}
            names = self._header(self.paths[0])
            if check_header is not None:
                check_header(names)
            self._refuse_delimiter(names, sample, delimiter)
            for path in self.paths[1:]:
                if self._header(path) != names:
                    raise DataError(
                        f"{path!r} has other columns than {self.paths[0]!r}: files read as one table need the same header."
                    )
            self.names = self._filled(names)
            self.blank_is_row = len(names) == 1
            self._guess()

    def _encoding(self, path: str) -> str:
        sample = head_of(path, GUESSED_FROM)
        encoding = encoding_of(sample)
        if encoding != "utf-16" and b"\0" in sample:
            raise DataError(f"{self.where} is a binary file, not CSV. Save the table as CSV (UTF-8) or Parquet first.")
        if not sample.strip():
            raise DataError(f"{self.where} is empty.")
        if encoding in ("cp1252", "latin-1"):
            self.notes.append(f"{path!r} is not UTF-8 text: it is read as {encoding}. {UTF8_HINT}")
        return encoding

    def _sample(self, path: str, size: int) -> str:
        with utf8_bytes(path, self._encodings[path]) as stream:
            return bytes(stream.read(size)).decode("utf-8", errors="replace")

    def _header(self, path: str) -> list[str]:
        """The names in the first line that is not blank; where the rows begin is kept."""
        first = next(self._chunks(path, GUESSED_FROM), TextChunk(b"", 0))
        try:
            rows, ends = first_rows_of(first.text, self.delimiter, self._skip or 0)
        except csv.Error as error:
            raise DataError(f"The header of {self.where} cannot be read: {error}. Is a quote not closed?") from None
        place = header_place(rows) if self._skip is None else 0
        place = next((k for k in range(place, len(rows)) if rows[k]), len(rows))
        if place == len(rows):
            raise DataError(f"{self.where} is empty{' below the lines that are skipped' if self._skip else ''}.")
        self._body[path] = ends[place]
        if path == self.paths[0] and self._skip is None:
            self.notes += skipped_note(self.where, [" ".join(filter(None, row)) for row in rows[:place]])
        return rows[place]

    def _refuse_delimiter(self, names: list[str], sample: str, given: str | None) -> None:
        if given is None or len(names) > 1:
            return
        better = sniff_delimiter(sample)
        if better != given and better in names[0]:
            raise DataError(
                f"delimiter={given!r} leaves {self.where} with the single column {names[0][:60]!r}: it seems to be cut at "
                f"{better!r}. Leave the delimiter out to have it found."
            )

    def _filled(self, names: list[str]) -> list[str]:
        """Names for columns without one; a header of nothing but numbers is pointed out."""
        if all(name.lstrip("+-").replace(".", "", 1).isdigit() for name in names):
            self.notes.append(
                f"The header of {self.where} holds numbers only: put names in its first line if it has none."
            )
        filled, self.repeated = numbered_names(names)
        self.notes += [*repeats_note(self.where, self.repeated), *totals_note(self.where, self._last_row())]
        return filled

    def _last_row(self) -> list[str]:
        """The fields of the last line, as far as they can be seen from the end of the file; none of compressed ones."""
        path = self.paths[-1]
        if self._encodings[path] == "utf-16" or head_of(path, 4) != read_at(path, 0, 4):
            return []
        lines = read_at(path, max(0, os.path.getsize(path) - LAST_BYTES), LAST_BYTES).strip().splitlines()
        text = lines[-1].decode(self._encodings[path], errors="replace") if len(lines) > 1 else ""
        return next(csv.reader([text], delimiter=self.delimiter), [])

    def _guess(self) -> None:
        path = self.paths[0]
        first = next(self._rows(path, GUESSED_FROM), None)
        if first is None:
            raise DataError(f"{self.where} has a header but no rows.")
        with self._parse_explained(path, first, 0):
            head = first.text[: last_line_end(first.text[:FEW_BYTES], self.delimiter)[0]] or first.text
            parse: Parse = lambda how, whole=True: self._parse(first.text if whole else head, how)  # noqa: E731
            found = guess(parse, first.text, self.delimiter, self._said)
        self.types, self.point, self._missing_numbers = found.types, found.decimal, found.missing_numbers
        self.written, self.decimal = found.written, found.decimal if found.proved else ""
        self._first_texts = found.first_texts
        self.usual_decimal = "," if self.delimiter == ";" else ""
        self.notes += found.notes

    def first_rows(self, names: list[str]) -> Any:
        known = self._first_texts
        return known.select(names) if set(names) <= set(known.column_names) else super().first_rows(names)

    def _chunks(self, path: str, size: int) -> Iterator[TextChunk]:
        with utf8_bytes(path, self._encodings[path]) as stream:
            yield from chunks(stream, self.delimiter, size, self.where)

    def _rows(self, path: str, size: int) -> Iterator[TextChunk]:
        """The chunks of a file behind its header that hold rows."""
        skip = self._body[path]
        for text, offset in self._chunks(path, size):
            if offset < skip:
                text, offset = text[skip - offset :], min(skip, offset + len(text))
            if text.strip(b"\r\n") or (self.blank_is_row and text):
                yield TextChunk(text, offset)

    def _parse(self, text: bytes, how: Any) -> Any:
        quotes = b'"' in text
        return arrow_csv.read_csv(
            pa.BufferReader(text),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=self.names),
            arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char='"' if quotes else False,
                newlines_in_values=quotes,
                ignore_empty_lines=not self.blank_is_row,
            ),
            how,
        )

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        dtypes = {name: self._type(name, reading) for name, reading in columns.items()}
        how = options(dtypes, list(columns), self.point, self._missing_numbers)
        plain = self._plain_parser(dtypes)

        def parse(chunk: TextChunk) -> Any:
            table = None if plain is None else plain.parse(chunk.text)
            if table is not None:
                return table
            table = self._parse(chunk.text, how)
            return without_missing(table) if self._missing_numbers else table

        for path in self.paths:
            rows = 0
            with self._explained(path):
                for chunk, parsed in in_order(parse, self._rows(path, self._at_once())):
                    with self._parse_explained(path, chunk, rows):
                        table = parsed.result()
                    rows += table.num_rows
                    yield from table.to_batches()

    def _plain_parser(self, dtypes: dict[str, Any]) -> Any:
        """The compiled parser, for files so long that loading it pays."""
        if self.blank_is_row or sum(os.path.getsize(path) for path in self.paths) < LONG:
            return None
        from assay.tables.sources.plain_csv import PlainParser  # compiled, and loaded only where that pays

        if not PlainParser.takes(dtypes):
            return None
        return PlainParser(self.names, dtypes, self.delimiter, self.point, self._missing_numbers)

    def _at_once(self) -> int:
        return max(READ_AT_ONCE, BYTES_A_COLUMN * len(self.names))

    def _type(self, name: str, reading: Reading) -> Any:
        guessed = self.types[name]
        if reading == "text":
            return pa.string()
        if reading == "number":
            return guessed if types.is_boolean(guessed) else pa.float64()
        return guessed

    def text_of(self, path: str) -> Any:
        """A stream of the file's text, for messages that count lines."""
        return utf8_bytes(path, self._encodings[path])

    @contextmanager
    def _parse_explained(self, path: str, chunk: TextChunk, rows: int) -> Iterator[None]:
        """The parser's errors in the user's words; `rows` are those before the chunk."""
        try:
            yield
        except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
            raise parse_error(str(error), self, path, chunk, rows) from None

    @contextmanager
    def _explained(self, path: str) -> Iterator[None]:
        """Errors of the file itself in the user's words."""
        try:
            yield
        except Unclosed as error:
            raise unclosed_quote(self, path, error.at) from None
        except UnicodeDecodeError:
            raise DataError(f"{self.where} is not {self._encodings[path]} text throughout. {UTF8_HINT}") from None
        except pa.ArrowInvalid as error:
            raise DataError(f"{self.where} cannot be read: {str(error).splitlines()[0]}") from None
        except OSError as error:
            raise DataError(f"{self.where} cannot be read: {error.strerror or error}.") from None


def read_at(path: str, start: int, size: int) -> bytes:
    """Some bytes of a file as they lie there."""
    with open(path, "rb") as file:
        file.seek(start)
        return file.read(size)


def without_lines(text: str, skip: int) -> str:
    """A text without its first lines."""
    return "".join(text.splitlines(keepends=True)[skip:]) if skip else text


def first_rows_of(text: bytes, delimiter: str, skip: int) -> tuple[list[list[str]], list[int]]:
    """(the fields of the first rows, blank ones empty; the number of bytes up to the end of each), behind `skip` lines."""
    lines = io.TextIOWrapper(io.BytesIO(text), "utf-8", newline="")
    at = sum(len(line.encode()) for line in islice(lines, skip))

    def counted() -> Iterator[str]:
        nonlocal at
        for line in lines:
            at += len(line.encode())
            yield line

    rows: list[list[str]] = []
    ends: list[int] = []
    reader = csv.reader(counted(), delimiter=delimiter)
    while len(rows) < LINES_LOOKED_AT or not any(rows):
        try:
            row = next(reader, None)
        except csv.Error:
            if any(rows):  # the header is there; what is wrong below it is told by the parser
                break
            raise
        if row is None:
            break
        rows.append(row)
        ends.append(at)
    return rows, ends


def sniff_delimiter(sample: str) -> str:
    """The delimiter that cuts the first lines into equally many fields, the most of them; titles above the header do not count.

    >>> sniff_delimiter("a;b\\n1,5;2\\n")
    ';'
    """
    lines = [line for line in sample.splitlines()[:21] if line.strip()]
    complete = lines[:-1] if len(lines) > 2 else lines  # the sample may end within a line
    best, most = ",", 1
    for delimiter in DELIMITERS:
        widths = {len(row) for row in csv.reader(complete, delimiter=delimiter)}
        if len(widths) == 1 and max(widths) > most:
            best, most = delimiter, max(widths)
    if most > 1:
        return best
    for delimiter in DELIMITERS:
        rows = list(csv.reader(complete, delimiter=delimiter))
        below = rows[header_place(rows) :]
        if len(below) < len(rows) and {len(row) for row in below} == {len(below[0])} and len(below[0]) > most:
            best, most = delimiter, len(below[0])
    if most > 1:
        return best
    return max(DELIMITERS, key=lambda d: lines[0].count(d)) if lines else ","  # ragged: the header decides


def parse_error(message: str, file: DelimitedFiles, path: str, chunk: TextChunk, rows: int) -> DataError:
    """The error for the parser's message about a chunk that has `rows` rows before it."""
    row = re.search(r"Row #(\d+)", message)
    at, lines = f"in {file.where}", ""
    if row:
        number = rows + int(row[1]) + 1
        begin, end = row_at(chunk.text, file.delimiter, int(row[1]), file.blank_is_row)
        with file.text_of(path) as stream:
            line = lines_before(stream, chunk.offset + begin) + 1
        at = f"in row {number}{f' (line {line})' if line != number else ''} of {file.where} (the header is row 1)"
        if b"\n" in chunk.text[begin:end]:
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
        return DataError(_wrong_value(name, clash[1], clash[2], at) + lines)
    return DataError(f"{file.where} cannot be read as CSV: {message.splitlines()[0]}")


def _wrong_value(name: str | None, dtype: str, value: str, at: str) -> str:
    expected = TYPE_NAMES.get(dtype, "a date and time" if dtype.startswith("timestamp") else dtype)
    message = f"Column {name!r} should hold {expected}, as it does in the first rows or as the model was fitted, but holds {value[:80]!r} {at}."
    if dtype == "double" and re.search(r"\d[.,' \xa0\u202f]\d", value):
        message += " If numbers are written so, say how: decimal=',', thousands='.' (--decimal, --thousands)."
    return (
        f"{message} Correct the value or leave it empty, read the column as text (--kind {name}=category in the shell), leave the "
        "column out (features), or store the table as Parquet with the type you mean."
    )


def unclosed_quote(file: DelimitedFiles, path: str, at: int) -> DataError:
    """The error for a quote that opens at byte `at` and is not closed."""
    with file.text_of(path) as stream:
        line = lines_before(stream, at) + 1
    with file.text_of(path) as stream:
        stream.read(at)
        text = bytes(stream.read(60)).decode("utf-8", errors="replace").splitlines()[0]
    return DataError(
        f"A quote opens in line {line} of {file.where} and is not closed: {text}. Close it, or double it if it is part of the text."
    )
