"""CSV and TSV files as a source. Types are guessed from the first megabytes and then fixed: no later row can change them.

Whole numbers among the features are read as floats from the start, so that a column may go on with decimals. Blank lines
are no rows, but in a file of one column: there a blank line is a row whose value is missing.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.types as types

from assay.errors import DataError
from assay.tables.columns import kind_of, refuse_repeats
from assay.tables.source import Reading, Source, named

GUESSED_FROM = 4 << 20
READ_AT_ONCE = 1 << 20
SNIFFED = 1 << 16
DELIMITERS = ",;\t|"
UTF8_HINT = "Convert the file to UTF-8: iconv -f latin1 -t utf-8 old.csv > new.csv."


def sniff_delimiter(sample: str) -> str:
    """The delimiter that cuts the first lines into equally many fields, the most of them.

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
    return max(DELIMITERS, key=lambda d: lines[0].count(d)) if lines else ","  # ragged: the header decides


class DelimitedFiles(Source):
    """One or more text files with the same header, one after another."""

    typed = False

    def __init__(self, paths: list[Path], delimiter: str | None = None, where: str | None = None) -> None:
        self.paths = [str(path) for path in paths]
        self.where = where or named(paths)
        self._delimiter = delimiter or self._sniff(self.paths[0])
        self._blank_is_row = False
        self.types = self._guess(self.paths[0])
        if len(self.types) == 1:
            self._blank_is_row = True
            self.types = self._guess(self.paths[0])
        for path in self.paths[1:]:
            if list(self._guess(path)) != list(self.types):
                raise DataError(
                    f"{path!r} has other columns than {self.paths[0]!r}: files read as one table need the same header."
                )

    def _sniff(self, path: str) -> str:
        with self._explained([]), pa.input_stream(path) as stream:
            sample = stream.read(SNIFFED)
        if sample[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError(f"{self.where} is UTF-16 text. Convert it: iconv -f utf-16 -t utf-8 old.csv > new.csv.")
        if sample[:2] == b"PK" or b"\0" in sample:
            raise DataError(f"{self.where} is a binary file, not CSV. Save the sheet as CSV (UTF-8) or Parquet first.")
        if not sample.strip():
            raise DataError(f"{self.where} is empty.")
        return sniff_delimiter(sample.decode("utf-8", errors="replace"))

    def _guess(self, path: str) -> dict[str, Any]:
        reader = self._reader(path, [], {}, None, GUESSED_FROM)
        with self._explained([]):
            schema = reader.schema
            names = [str(name) for name in schema.names]
            batch = next(iter(reader), None)
        refuse_repeats(names, self.where)
        if batch is None or batch.num_rows == 0:
            raise DataError(f"{self.where} has a header but no rows.")
        return dict(zip(names, schema.types))

    def _reader(
        self, path: str, names: list[str], fixed: Mapping[str, Any], include: list[str] | None, block: int
    ) -> Any:
        with self._explained(names):
            return arrow_csv.open_csv(
                path,
                # one thread: errors then tell the row, and the engine's threads compute meanwhile
                read_options=arrow_csv.ReadOptions(
                    use_threads=False,
                    block_size=block,
                    skip_rows=_lines_before_header(path) if self._blank_is_row else 0,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=True, ignore_empty_lines=not self._blank_is_row
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=fixed, include_columns=include, strings_can_be_null=True
                ),
            )

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        fixed = {name: self._type(name, reading) for name, reading in columns.items()}
        for path in self.paths:
            reader = self._reader(path, list(self.types), fixed, list(columns), READ_AT_ONCE)
            while True:
                with self._explained(list(self.types)):
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        break
                yield batch

    def _type(self, name: str, reading: Reading) -> Any:
        guessed = self.types[name]
        if reading == "text":
            return pa.string()
        if reading == "number":
            return guessed if types.is_boolean(guessed) else pa.float64()
        kind_of(name, guessed)
        return guessed

    @contextmanager
    def _explained(self, names: list[str]) -> Iterator[None]:
        """Arrow's errors in the user's words."""
        try:
            yield
        except UnicodeDecodeError:
            raise DataError(f"The header of {self.where} is not UTF-8 text. {UTF8_HINT}") from None
        except pa.ArrowInvalid as error:
            raise DataError(_explanation(str(error), names, self.where)) from None
        except OSError as error:
            raise DataError(f"{self.where} cannot be read: {error.strerror or error}.") from None


def _lines_before_header(path: str) -> int:
    """How many blank lines a file begins with."""
    with pa.input_stream(path) as stream:
        lines = stream.read(SNIFFED).removeprefix(b"\xef\xbb\xbf").splitlines()
    return next((i for i, line in enumerate(lines) if line), 0)


def _explanation(message: str, names: list[str], where: str) -> str:
    if "Empty CSV" in message:
        return f"{where} is empty."
    row = re.search(r"Row #(\d+)", message)
    at = f"in row {row[1]} of {where} (the header is row 1)" if row else f"in {where}"
    if ragged := re.search(r"Expected (\d+) columns, got (\d+)(: .*)?", message, re.DOTALL):
        line = (ragged[3] or "")[:80]
        return f"There are {ragged[2]} fields where the header has {ragged[1]}, {at}{line}. Correct the row, or quote its text."
    column = re.search(r"CSV column #(\d+)", message)
    name = repr(names[int(column[1])]) if column and int(column[1]) < len(names) else "a column"
    if "UTF8" in message:
        return f"Column {name} is not UTF-8 text {at}. {UTF8_HINT}"
    if clash := re.search(r"conversion error to (\S+): invalid value '(.*)'", message, re.DOTALL):
        wanted = {"double": "a number", "int64": "a whole number", "bool": "true or false"}.get(clash[1], clash[1])
        return (
            f"Column {name} should hold {wanted}, as it does in the first rows or as the model was fitted, but holds "
            f"{clash[2][:80]!r} {at}. Correct the value or leave it empty, leave the column out (features), or store the "
            "table as Parquet with the type you mean."
        )
    return f"{where} cannot be read as CSV: {message.splitlines()[0]}"
