"""Tables that arrive as bytes: a body in memory or spooled to a file, of a form that its sender named, as a source.

Unlike with a user's own files nothing is recognised by content: a body that says it is CSV is read as CSV or refused. And nothing is
believed: a few bytes can claim to be any number of rows, and a text may claim to begin where no text is.

What an Arrow stream says that it holds is read from its messages before anything is unpacked or put into memory. A message begins
with a FlatBuffers table, which Arrow has checked by the time it hands the message over (Arrow's `Message.fbs`):
Message(version, kind of header, header, …), Schema(endianness, fields, …), RecordBatch(rows, nodes, buffers, compression), DictionaryBatch(id, RecordBatch, …).
A packed buffer begins with its size unpacked, or −1 where it is not packed after all.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from struct import Struct
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as parquet
import pyarrow.types as types

from assay.errors import DataError, TooLargeError
from assay.tables.sources.arrow_ipc import FILE_MAGIC
from assay.tables.sources.source import FrameSource, Source

Form = Literal["csv", "parquet", "arrow"]
WHERE = "the body"
MOST_UNPACKED = 20  # times its size that a body may hold,
FREELY_UNPACKED = 64 << 20  # or so many bytes
MOST_SUGGESTED = 1000  # columns among which a missing one is looked for
MOST_OTHERS = 10_000  # columns of a body besides those of the model
DICTIONARY, BATCH, SCHEMA = 2, 3, 1  # kinds of header
_PLACE, _SHORT, _OFFSET, _WHOLE, _BUFFER = map(Struct, ("<i", "<H", "<I", "<q", "<qq"))


def source_of_body(body: bytes | Path, form: Form, names: Iterable[str], most_rows: int) -> Source:
    """The table of a body (of CSV always a file); in memory only the columns `names` are kept, where all are there.

    Of more than `most_rows` rows none is read, where the form tells their number beforehand.
    """
    read: Any = {"csv": _csv, "parquet": _parquet, "arrow": _arrow}[form]
    return read(body, list(names), most_rows)  # type: ignore[no-any-return]


def check_width(width: int, names: Sized) -> None:
    """Raise for more columns than a table of the model can have: each costs time and memory, whatever it holds."""
    if width > len(names) + MOST_OTHERS:
        raise DataError(
            f"{WHERE} has more than {len(names) + MOST_OTHERS} columns, and the model knows {len(names)}: send these alone."
        )


def source_of_columns(columns: Mapping[str, Any]) -> Source:
    """The table of columns of any values."""
    return FrameSource(columns, WHERE)


def columns_to_read(names: Iterable[str], there: Iterable[str]) -> list[str]:
    """Those of `names`; where one of them is missing some others too, so that an error can tell which of these may be meant."""
    wanted, given = set(names), list(dict.fromkeys(there))
    found = [name for name in given if name in wanted]
    others = (name for name in given if name not in wanted)
    return found if len(found) == len(wanted) else [*found, *islice(others, MOST_SUGGESTED)]


def _csv(path: bytes | Path, names: list[str], most_rows: int) -> Source:
    from assay.tables.sources.delimited import DelimitedFiles
    from assay.tables.sources.text import COMPRESSIONS

    assert isinstance(path, Path)
    with path.open("rb") as file:
        if file.read(4).startswith(tuple(COMPRESSIONS)):
            raise DataError(f"{WHERE} is packed: send it with the header Content-Encoding: gzip, or as it is.")
    return DelimitedFiles([path], where=WHERE, check_header=lambda header: check_width(len(header), names), skip=0)


def _parquet(body: bytes | Path, names: list[str], most_rows: int) -> Source:
    from assay.tables.sources.parquet import ParquetFiles

    size = len(body) if isinstance(body, bytes) else body.stat().st_size
    with _explained("Parquet"):
        file = parquet.ParquetFile(pa.BufferReader(body) if isinstance(body, bytes) else body)
        check_width(file.metadata.num_columns, names)
        wanted = columns_to_read(names, file.schema_arrow.names)
        groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
        unpacked = sum(group.total_byte_size for group in groups)
        _check_size(size, unpacked, sum(group.num_rows for group in groups), most_rows)
        if isinstance(body, bytes):
            return FrameSource(_gathered(file, wanted, size, most_rows), WHERE)
    return ParquetFiles([body], WHERE)


def _gathered(file: Any, names: list[str], size: int, most_rows: int) -> Any:
    """The rows of a Parquet file a little at a time: there may be more than it said."""
    batches, rows = [], 0
    for batch in file.iter_batches(columns=names, use_threads=False):
        rows += batch.num_rows
        _check_size(size, 0, rows, most_rows)
        batches.append(batch)
    table = pa.Table.from_batches(batches, None if batches else file.schema_arrow)
    table.validate(full=True)
    return table


def _arrow(body: bytes | Path, names: list[str], most_rows: int) -> Source:
    with _explained("Arrow"):
        source = pa.BufferReader(body) if isinstance(body, bytes) else pa.memory_map(str(body))
        start = 8 if source.read(len(FILE_MAGIC)) == FILE_MAGIC else 0  # behind its magic a file is a stream
        source.seek(start)
        held = stream_contents(source)
        check_width(held.width, names)
        _check_size(source.size(), held.unpacked, held.rows, most_rows)
        source.seek(start)
        there = ipc.open_stream(source).schema.names
        source.seek(start)
        wanted = sorted({there.index(name) for name in columns_to_read(names, there)})
        table = ipc.open_stream(source, options=ipc.IpcReadOptions(included_fields=wanted)).read_all()
        table.validate(full=True)  # else a damaged text or category is read from anywhere in memory
        return FrameSource(without_stray_views(table), WHERE)


def _check_size(size: int, unpacked: int, rows: int, most_rows: int) -> None:
    if rows > most_rows:
        raise TooLargeError(f"{WHERE} has {rows} rows, and {most_rows} are allowed: send fewer at a time.")
    if unpacked > max(MOST_UNPACKED * size, FREELY_UNPACKED):
        raise TooLargeError(f"{WHERE} unpacks to {unpacked} bytes, which is too much: send fewer rows at a time.")


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Arrow's errors in the user's words."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, IndexError, struct.error) as error:
        if isinstance(error, DataError):
            raise
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{WHERE} is not readable {what}, it may be damaged or cut short: {text}") from None


class StreamContents(NamedTuple):
    """Columns, rows of all batches, and the bytes of packed buffers once they are unpacked."""

    width: int
    rows: int
    unpacked: int


def stream_contents(source: Any) -> StreamContents:
    """What the stream that begins where `source` stands says that it holds."""
    width = rows = unpacked = 0
    for message in ipc.MessageReader.open_stream(source):
        head = memoryview(message.metadata)
        (root,) = _OFFSET.unpack_from(head)
        kind = head[at] if (at := _field(head, root, 1)) else 0
        if kind == SCHEMA:
            schema = _target(head, _field(head, root, 2))
            width += _OFFSET.unpack_from(head, _target(head, at))[0] if (at := _field(head, schema, 1)) else 0
        if kind not in (DICTIONARY, BATCH):
            continue
        batch = _target(head, _field(head, root, 2))
        if kind == DICTIONARY:
            batch = _target(head, _field(head, batch, 1))
        elif at := _field(head, batch, 0):
            rows += _WHOLE.unpack_from(head, at)[0]
        if _field(head, batch, 3):
            unpacked += _unpacked(head, batch, message.body)
    return StreamContents(width, rows, unpacked)


def _field(head: memoryview, table: int, number: int) -> int:
    """Where a field of a table stands; 0 where it is left out."""
    names = table - _PLACE.unpack_from(head, table)[0]
    if 4 + 2 * number >= _SHORT.unpack_from(head, names)[0]:
        return 0
    (at,) = _SHORT.unpack_from(head, names + 4 + 2 * number)
    return table + at if at else 0


def _target(head: memoryview, at: int) -> int:
    """Where the table or vector is that a field refers to."""
    return at + int(_OFFSET.unpack_from(head, at)[0])


def _unpacked(head: memoryview, batch: int, body: Any) -> int:
    """The bytes of a packed batch's buffers once they are unpacked."""
    if body is None or not (at := _field(head, batch, 2)):
        return 0
    bytes_, vector, found = memoryview(body), _target(head, at), 0
    for k in range(_OFFSET.unpack_from(head, vector)[0]):
        start, size = _BUFFER.unpack_from(head, vector + 4 + 16 * k)
        if size >= 8 and 0 <= start <= len(bytes_) - 8:
            found += max(0, _WHOLE.unpack_from(bytes_, start)[0])
    return found


def without_stray_views(table: Any) -> Any:
    """A table that has been validated, with views of missing values that refer to nothing.

    A view is 16 bytes that say how long a text is and where. Those of missing values may hold anything, and Arrow's own check passes
    them, but its casts read them.
    """
    for j, field in enumerate(table.schema):
        if _is_view(field.type.value_type if types.is_dictionary(field.type) else field.type):
            chunks = [_harmless(chunk) for chunk in table.column(j).chunks]
            table = table.set_column(j, field, pa.chunked_array(chunks, field.type))
    return table


def _is_view(dtype: Any) -> bool:
    return bool(types.is_string_view(dtype) or types.is_binary_view(dtype))


def _harmless(array: Any) -> Any:
    if types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, _harmless(array.dictionary))
    if not array.null_count:
        return array
    given, views, *texts = array.buffers()
    end = array.offset + len(array)
    kept = np.frombuffer(views, np.uint8, 16 * end).reshape(end, 16).copy()
    kept[np.unpackbits(np.frombuffer(given, np.uint8), count=end, bitorder="little") == 0] = 0
    return pa.Array.from_buffers(array.type, len(array), [given, pa.py_buffer(kept), *texts], offset=array.offset)
