"""What is handed out: answers written as they come, block by block (CSV, JSON or Parquet; a file appears whole or not at all), with columns of
the table beside them (an id, a name, or all); and tables as frames of the library that the user works with: pandas, polars, Arrow, or another.

For the columns beside, the table is read once more, at the pace of the answers: neither has to fit into memory.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO

from assay.errors import AssayError, MissingExtraError, ParameterError
from assay.numerics import Array
from assay.store.disk import file_beside

if TYPE_CHECKING:
    from assay.tables.sources.source import Reading, Source

Write = Callable[[Sequence[Array]], int]
AT_A_TIME = 1 << 16  # rows
LIBRARIES = ("pandas", "polars", "pyarrow")  # the last is always there


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


def kept_beside(
    blocks: Iterator[list[Any]], source: Source, names: Sequence[str], reading: Reading
) -> Iterator[list[Any]]:
    """The columns of a source, then the answers, block by block as the answers come.

    `reading`: "text" keeps the characters of a file as they are, "as it is" its numbers and dates.
    """
    import pyarrow as pa

    from assay.tables.sources.source import check_known

    check_known(names, source.types, "to be kept", source.where)
    columns: Mapping[str, Reading] = dict.fromkeys(names, reading)
    batches = source.batches(columns, AT_A_TIME)
    held: list[Any] = []
    for answers in blocks:
        held, rows = _at_least(held, batches, len(answers[0])), len(answers[0])
        table = pa.Table.from_batches(held)
        yield [*(table[name].slice(0, rows).combine_chunks() for name in names), *answers]
        held = table.slice(rows).to_batches()


def _at_least(held: list[Any], batches: Iterator[Any], rows: int) -> list[Any]:
    """What is held, with as many further batches as these rows need."""
    held = list(held)
    missing = rows - sum(batch.num_rows for batch in held)
    while missing > 0:
        held.append(next(batches))
        missing -= held[-1].num_rows
    return held


def library_of(data: Any) -> str | None:
    """The library of a frame; None where data is no frame of one that frames are handed out in.

    >>> library_of("trees.csv")
    """
    name = type(data).__module__.partition(".")[0]
    return name if name in LIBRARIES else None


def usual_library() -> str:
    """Of the libraries that are installed one that is in use already, else the first."""
    here = [name for name in LIBRARIES if find_spec(name) is not None]
    return next((name for name in here[:-1] if name in sys.modules), here[0])


def new_frame(columns: Mapping[str, Sequence[Any]], library: str | None = None) -> Any:
    """A frame of these columns, each of one type, in which None is a missing value."""
    import narwhals.stable.v2 as nw

    chosen = library or usual_library()
    schema = {name: _type(values) for name, values in columns.items()}
    try:
        return nw.from_dict({k: list(v) for k, v in columns.items()}, schema, backend=chosen).to_native()  # type: ignore[arg-type]
    except ModuleNotFoundError:
        raise MissingExtraError(f"A table of {chosen} needs {chosen}: pip install {chosen}.") from None
    except (TypeError, ValueError):
        raise ParameterError(f"No frames can be made by {chosen!r}. Known: {', '.join(LIBRARIES)}.") from None


def _type(values: Sequence[Any]) -> Any:
    import narwhals.stable.v2 as nw

    known = {type(value) for value in values if value is not None}
    for kind, made in ((str, nw.String), (bool, nw.Boolean), (int, nw.Int64)):
        if known == {kind}:
            return made()
    return nw.Float64()
