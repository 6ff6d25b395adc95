"""JSON lines as a source: an object a line. Types are found in the first megabytes and then fixed, as for CSV.

Objects within objects become columns named a.b; arrays are refused where they are asked for, as no column of numbers or
text. Text that is an ISO date all along the first megabytes is a time. A file that is one array of objects is read too, if it
fits into memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.json as arrow_json
import pyarrow.types as types

from assay.errors import DataError
from assay.tables.sources.source import Reading, Source, named, refuse_repeats
from assay.tables.sources.text import (
    UTF16_MARKS,
    TextChunk,
    chunks,
    head_of,
    in_order,
    lines_before,
    plain_bytes,
    utf8_bytes,
)

GUESSED_FROM = 4 << 20
READ_AT_ONCE = 4 << 20
LARGEST_ARRAY = 1 << 29


class JsonLines(Source):
    """One or more files of JSON objects, one after another."""

    def __init__(self, paths: list[Path], where: str | None = None) -> None:
        self.paths = self.parsed_from = [str(path) for path in paths]
        self.where = where or named(paths)
        with self._explained():
            self._arrays = {path: lines for path in self.paths if (lines := self._array_of(path)) is not None}
            first = next(self._chunks(self.paths[0], GUESSED_FROM), None)
        if first is None:
            raise DataError(f"{self.where} is empty.")
        with self._parse_explained(self.paths[0], first, {}):
            found = leaves(_parse(first.text, None).schema)
        refuse_repeats([leaf.name for leaf in found], self.where)
        self._leaves = {leaf.name: leaf for leaf in found}
        self.types = {leaf.name: leaf.dtype for leaf in found}
        if not self.types:
            raise DataError(f"{self.where} holds objects without members.")

    def _array_of(self, path: str) -> bytes | None:
        """The elements of a file that is one JSON array, as lines; None for a file of lines."""
        head = head_of(path, 1 << 12)
        if head.startswith(UTF16_MARKS):
            raise DataError(f"{self.where} is UTF-16 text. Convert it: iconv -f utf-16 -t utf-8 old.json > new.json.")
        if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
            return None
        with plain_bytes(path) as stream:
            text = bytes(stream.read(LARGEST_ARRAY + 1)).removeprefix(b"\xef\xbb\xbf")
        if len(text) > LARGEST_ARRAY:
            raise DataError(
                f"{self.where} is one JSON array of more than {LARGEST_ARRAY >> 20} MB: write an object a line."
            )
        try:
            elements = msgspec.json.decode(text, type=list[msgspec.Raw])
        except msgspec.MsgspecError as error:
            raise DataError(f"{self.where} is not valid JSON: {error}") from None
        # a line end is white space between the parts of JSON, never within its text
        return b"\n".join(re.sub(rb"[\r\n]+", b" ", bytes(element)) for element in elements)

    def _chunks(self, path: str, size: int) -> Iterator[TextChunk]:
        with self.text_of(path) as stream:
            for chunk in chunks(stream, None, size, self.where):
                if chunk.text.strip():
                    yield chunk

    def text_of(self, path: str) -> Any:
        """A stream of the lines of a file."""
        return pa.BufferReader(self._arrays[path]) if path in self._arrays else utf8_bytes(path, "utf-8")

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        leaves_read = {name: self._leaf(name, reading) for name, reading in columns.items()}
        schema = nested(leaves_read)

        def parse(chunk: TextChunk) -> Any:
            return flat(_parse(chunk.text, schema), leaves_read)

        for path in self.paths:
            with self._explained():
                for chunk, parsed in in_order(parse, self._chunks(path, READ_AT_ONCE)):
                    with self._parse_explained(path, chunk, leaves_read):
                        table = parsed.result()
                    yield from table.to_batches()

    def _leaf(self, name: str, reading: Reading) -> Leaf:
        keys, dtype = self._leaves[name]
        if types.is_null(dtype) and reading != "as it is":
            dtype = pa.string() if reading == "text" else pa.float64()
        if types.is_integer(dtype) and reading == "number":
            dtype = pa.float64()
        return Leaf(keys, dtype)

    @contextmanager
    def _parse_explained(self, path: str, chunk: TextChunk, leaves_read: Mapping[str, Leaf]) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, UnicodeDecodeError) as error:
            with self.text_of(path) as stream:
                before = lines_before(stream, chunk.offset)
            raise _parse_error(str(error), chunk.text, before, leaves_read, self.where) from None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(f"{self.where} cannot be read: {error.strerror or error}.") from None


def _parse(text: bytes, schema: Any) -> Any:
    return arrow_json.read_json(
        pa.BufferReader(text),
        arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        arrow_json.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
        ),
    )


def _parse_error(message: str, text: bytes, before: int, leaves_read: Mapping[str, Leaf], where: str) -> DataError:
    """The error for the parser's message about a chunk with `before` lines before it: its first bad line and column."""
    lines = [(before + i + 1, line) for i, line in enumerate(text.splitlines()) if line.strip()]
    schema = nested(leaves_read) if leaves_read else None
    bad = next(((number, line) for number, line in lines if _fails(line, schema)), None)
    if bad is None:  # each line is well alone: a type changed between two of them
        change = re.search(r"Column\(/(.*)\) changed from (\w+) to (\w+) in row (\d+)", message)
        if not change:
            return DataError(f"{where} cannot be read as JSON lines: {message.splitlines()[0]}")
        name, old, new, row = change.groups()
        return DataError(
            f"Column {name.replace('/', '.')!r} holds a {old} in the first lines of {where}, but a {new} in line "
            f"{lines[int(row)][0]}. Write all values of a column as one type."
        )
    number, line = bad
    try:
        held = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return DataError(f"Line {number} of {where} is not valid JSON ({error}): every line has to be one object.")
    if not isinstance(held, dict):
        return DataError(f'Line {number} of {where} is not an object such as {{"size": 1.5}}: {line[:60].decode()}.')
    for name, leaf in leaves_read.items():
        if _fails(line, nested({name: leaf})):
            return DataError(
                f"Column {name!r} should hold {leaf.dtype}, as it does in the first lines, but holds "
                f"{_found(held, leaf.keys)!r} in line {number} of {where}. Correct the value or make it null, leave the "
                f"column out (features), or read it as text (--kind {name}=category in the shell)."
            )
    return DataError(f"Line {number} of {where} cannot be read: {message.splitlines()[0]}")


def _fails(text: bytes, schema: Any) -> bool:
    try:
        _parse(text, schema)
    except (pa.ArrowException, UnicodeDecodeError):
        return True
    return False


def _found(held: Any, keys: tuple[str, ...]) -> Any:
    for name in keys:
        held = held.get(name) if isinstance(held, dict) else held
    return held


class Leaf(NamedTuple):
    """A value within nested objects: the keys that lead to it, and its Arrow type."""

    keys: tuple[str, ...]
    dtype: Any

    @property
    def name(self) -> str:
        return ".".join(self.keys)


def leaves(fields: Any, before: tuple[str, ...] = ()) -> list[Leaf]:
    """The values of a schema or a struct type, in order.

    >>> [leaf.name for leaf in leaves(pa.schema({"a": pa.struct({"b": pa.int64(), "c": pa.string()}), "d": pa.bool_()}))]
    ['a.b', 'a.c', 'd']
    """
    found = []
    for field in fields:
        keys = (*before, field.name)
        found += leaves(field.type, keys) if types.is_struct(field.type) else [Leaf(keys, field.type)]
    return found


def nested(leaves_read: Mapping[str, Leaf]) -> Any:
    """The schema that holds these leaves and nothing else."""
    tree: dict[str, Any] = {}
    for keys, dtype in leaves_read.values():
        node = tree
        for name in keys[:-1]:
            node = node.setdefault(name, {})
        node[keys[-1]] = dtype
    return pa.schema(_fields(tree))


def _fields(tree: dict[str, Any]) -> list[Any]:
    return [pa.field(name, pa.struct(_fields(sub)) if isinstance(sub, dict) else sub) for name, sub in tree.items()]


def flat(table: Any, leaves_read: Mapping[str, Leaf]) -> Any:
    """The leaves as the columns of a table; missing where an object above it is missing."""
    columns = {}
    for name, (keys, _) in leaves_read.items():
        column = table[keys[0]]
        columns[name] = column if len(keys) == 1 else compute.struct_field(column, list(keys[1:]))
    return pa.table(columns)
