"""Answers written as they come, block by block: CSV, JSON or Parquet. A file appears whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, TextIO

from assay.errors import AssayError
from assay.numerics import Array
from assay.store.disk import file_beside

Write = Callable[[Sequence[Array]], int]


@contextmanager
def answer_file(out: str, form: str, names: list[str], schema: str = "") -> Iterator[Write]:
    """`write(columns)` appends rows and returns their number; `out` is a path, or - for standard output."""
    if out == "-":
        with (_json if form == "json" else _csv)(sys.stdout, names, schema) as write:
            yield write
        return
    with _whole(Path(out)) as beside:
        if form == "parquet":
            with _parquet(beside, names) as write:
                yield write
        else:
            with beside.open("w", encoding="utf-8", newline="") as file, _csv(file, names, schema) as write:
                yield write


@contextmanager
def answers_into(file: IO[bytes], form: str, names: list[str]) -> Iterator[Write]:
    """As `answer_file`, into an open file: csv, parquet or arrow (a stream)."""
    if form != "csv":
        with (_parquet if form == "parquet" else _arrow)(file, names) as write:
            yield write
        return
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    with _csv(text, names, "") as write:
        yield write
    text.detach()


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A file beside the target that becomes the target at the end, or vanishes where anything goes wrong."""
    if target.exists() and not target.is_file():  # a pipe or a device is written to, never replaced
        yield target
        return
    target = Path(os.path.realpath(target))
    try:
        with file_beside(target) as (_, beside):
            yield beside
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        why = error.strerror or error
        raise AssayError(f"{str(target)!r} could not be written ({why}); what was there is untouched.") from error


@contextmanager
def _csv(file: TextIO, names: list[str], schema: str) -> Iterator[Write]:
    writer = csv.writer(file, lineterminator="\n")
    header = [names]  # written with the first answers: what fails before leaves standard output empty

    def write(columns: Sequence[Array]) -> int:
        while header:
            writer.writerow(header.pop())
        writer.writerows(
            zip(*(column.tolist() for column in columns))
        )  # of Arrow's a missing value is None: an empty cell
        return len(columns[0])

    yield write
    file.flush()


@contextmanager
def _json(file: TextIO, names: list[str], schema: str) -> Iterator[Write]:
    """{"schema": …, "columns": [names], "answers": [[…], …]}, streamed."""
    before = f'{{"schema": {json.dumps(schema)}, "columns": {json.dumps(names)}, "answers": ['

    def write(columns: Sequence[Array]) -> int:
        nonlocal before
        for row in zip(*(column.tolist() for column in columns)):
            file.write(before + json.dumps(row, ensure_ascii=False, default=str))
            before = ", "
        return len(columns[0])

    yield write
    file.write("]}\n")
    file.flush()


def _parquet(file: Any, names: list[str]) -> AbstractContextManager[Write]:
    import pyarrow.parquet as parquet

    return _tables(lambda schema: parquet.ParquetWriter(file, schema), names)


def _arrow(file: Any, names: list[str]) -> AbstractContextManager[Write]:
    import pyarrow.ipc as ipc

    return _tables(lambda schema: ipc.new_stream(file, schema), names)


@contextmanager
def _tables(opened: Callable[[Any], Any], names: list[str]) -> Iterator[Write]:
    import pyarrow as pa

    writer: Any = None

    def write(columns: Sequence[Array]) -> int:
        nonlocal writer
        table = pa.table(dict(zip(names, (c if isinstance(c, pa.Array) else pa.array(c) for c in columns))))
        if writer is None:
            writer = opened(table.schema)
        writer.write_table(table)
        return len(columns[0])

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
