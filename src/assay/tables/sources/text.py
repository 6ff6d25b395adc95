"""Text files as bytes to parse: decompressed and turned into UTF-8, cut where lines end, and worked on by a few threads in order.

A quote opens a field where it is the field's first character and closes it where it is not doubled; a line end between the
two belongs to the value. Any other quote is a character like the rest. (The parser reads quotes in the same way.)
"""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from assay.engines.engine import worker_count
from assay.errors import DataError

MOST_WORKERS = 8
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
LONGEST_LINE = 1 << 26
QUOTE = ord('"')
LOOKED_AT = 16  # quoted stretches that are looked behind one by one for a line end
Item = TypeVar("Item")


def plain_bytes(path: str) -> Any:
    """A stream of the file's bytes, decompressed where it is compressed (gzip, zstd, bzip2, lz4): by content and not by name."""
    file = pa.OSFile(path)
    first = file.read(4)
    file.seek(0)
    for magic, name in COMPRESSIONS.items():
        if first.startswith(magic):
            return pa.CompressedInputStream(file, name)
    return file


def head_of(path: str, size: int) -> bytes:
    """The first bytes of a file, decompressed."""
    with plain_bytes(path) as stream:
        return bytes(stream.read(size))


def encoding_of(sample: bytes) -> str:
    """The encoding that a file's first bytes show: UTF-16 by its mark, UTF-8 where they are that, else Windows' or ISO's Latin.

    >>> encoding_of("Größe".encode()), encoding_of("Größe".encode("latin-1")), encoding_of("a,b".encode("utf-16"))
    ('utf-8', 'cp1252', 'utf-16')
    """
    if sample.startswith(UTF16_MARKS):
        return "utf-16"
    for encoding in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(sample)  # the sample may end within a character
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def utf8_bytes(path: str, encoding: str) -> Any:
    """A stream of the file's text in UTF-8, without a byte order mark."""
    stream = plain_bytes(path)
    if encoding != "utf-8":
        return pa.transcoding_input_stream(stream, encoding, "utf-8")
    mark = stream.read(3)
    if mark == codecs.BOM_UTF8:
        return stream
    stream.close()
    return plain_bytes(path)


class TextChunk(NamedTuple):
    """Whole lines, and the number of bytes before them."""

    text: bytes
    offset: int


def chunks(stream: Any, delimiter: str | None, size: int, where: str) -> Iterator[TextChunk]:
    """The stream in chunks of about `size` bytes. `delimiter` None: quotes have no meaning (JSON lines)."""
    held, offset, wanted = b"", 0, size
    while True:
        more = stream.read(wanted)
        held += more
        try:
            end, opened = last_line_end(held, delimiter)
        except Unclosed as error:
            raise Unclosed(offset + error.at) from None
        if not more:
            if opened is not None:
                raise Unclosed(offset + opened)
            if held:
                yield TextChunk(held, offset)
            return
        if end:
            yield TextChunk(held[:end], offset)
            held, offset, wanted = held[end:], offset + end, size
        elif len(held) > LONGEST_LINE:
            if opened is not None:
                raise Unclosed(offset + opened)
            raise DataError(f"{where} has a line of more than {LONGEST_LINE >> 20} MB: it is no table of lines.")
        else:
            wanted = len(held)  # twice as much: what is held is looked through again


def in_order(work: Callable[[Item], Any], items: Iterator[Item]) -> Iterator[tuple[Item, Future[Any]]]:
    """(item, its future result) in order; no more items are held than there are threads, and one more."""
    workers = min(worker_count(), MOST_WORKERS)
    with ThreadPoolExecutor(workers, thread_name_prefix="assay-parse") as pool:
        waiting = deque((item, pool.submit(work, item)) for item in islice(items, workers + 1))
        try:
            while waiting:
                yield waiting.popleft()
                waiting.extend((item, pool.submit(work, item)) for item in islice(items, 1))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class Unclosed(DataError):
    """A quote opens at byte `at` and is not closed where its value ends."""

    def __init__(self, at: int) -> None:
        super().__init__("A quote is not closed.")
        self.at = at


def last_line_end(text: bytes, delimiter: str | None) -> tuple[int, int | None]:
    """(the number of bytes up to the last line end outside quotes, where a quote stands open at the end or None).

    >>> last_line_end(b'a,b\\n"x\\ny",2\\n"z', ",")
    (12, 12)
    """
    if delimiter is None or b'"' not in text:
        return _line_end(text, 0, len(text)), None
    starts, ends = quoted(text, delimiter)
    stop, opened = len(text), None
    if len(starts) > len(ends):
        opened = stop = int(starts[-1])
    for k in range(len(ends) - 1, max(-1, len(ends) - 1 - LOOKED_AT), -1):
        if end := _line_end(text, int(ends[k]), stop):
            return end, opened
        stop = int(starts[k])
    return _far_line_end(text, starts[: len(ends)], ends, stop), opened


def _far_line_end(text: bytes, starts: Any, ends: Any, stop: int) -> int:
    """One past the last line end in text[:stop] outside of quoted stretches, of which there may be millions, or 0."""
    if len(ends) <= LOOKED_AT:
        return _line_end(text, 0, stop)
    codes = np.frombuffer(text, np.uint8)[:stop]
    at = np.flatnonzero((codes == 10) | ((codes == 13) & (np.arange(stop) < len(text) - 1)))
    k = np.searchsorted(starts, at, "right") - 1  # the stretch that begins last before each
    at = at[(k < 0) | (at >= np.asarray(ends)[k])]
    if not len(at):
        return 0
    last = int(np.searchsorted(starts, at[-1], "right"))
    end = min(stop, int(starts[last])) if last < len(starts) else stop
    return _line_end(text, int(ends[last - 1]) if last else 0, end)


def _line_end(text: bytes, start: int, stop: int) -> int:
    """One past the last line end in text[start:stop], or 0. A carriage return counts where no line feed is found."""
    end = text.rfind(b"\n", start, stop) + 1
    return end or text.rfind(b"\r", start, min(stop, len(text) - 1)) + 1


def quoted(text: bytes, delimiter: str) -> tuple[Any, Any]:
    """Where quoted stretches start and end; one more start than ends where the last one stays open."""
    codes = np.frombuffer(text, np.uint8)
    at = np.flatnonzero(codes == QUOTE)
    starts, ends = at[0::2], at[1::2]
    edge = np.zeros(256, bool)
    edge[[ord(delimiter), 10, 13]] = True
    opens = edge[codes[starts - 1]]
    opens[1:] |= starts[1:] == ends[: len(starts) - 1] + 1  # a doubled quote: the value goes on
    opens[0] |= starts[0] == 0
    inner = ends[: len(starts) - 1]
    closes = edge[codes[inner + 1]] | (starts[1:] == inner + 1)
    last_closes = len(ends) < len(starts) or ends[-1] == len(text) - 1 or bool(edge[codes[ends[-1] + 1]])
    if opens.all() and closes.all() and last_closes:
        return starts, ends + 1
    return _quoted_exactly(text, delimiter)


def _quoted_exactly(text: bytes, delimiter: str) -> tuple[list[int], list[int]]:
    """The same, character by character: for texts in which quotes stand within fields.

    A value that goes over a line end and closes in the midst of other characters is one whose own closing quote is missing.
    """
    field = re.compile(rb"(?:(?<=[\r\n" + re.escape(delimiter.encode()) + rb'])|\A)"(?:[^"]+|"")*("?)')
    starts, ends = [], []
    for match in field.finditer(text):
        starts.append(match.start())
        if match[1]:
            ends.append(match.end())
            after = text[match.end() : match.end() + 1]
            if after not in (b"", b"\r", b"\n", delimiter.encode()) and b"\n" in match[0]:
                raise Unclosed(match.start())
    return starts, ends


def lines_before(stream: Any, offset: int) -> int:
    """How many lines end within the first `offset` bytes of a stream."""
    feeds = returns = 0
    while offset > 0 and (text := stream.read(min(offset, 1 << 22))):
        feeds, returns, offset = feeds + text.count(b"\n"), returns + text.count(b"\r"), offset - len(text)
    return feeds or returns


def row_at(text: bytes, delimiter: str, row: int, blank_is_row: bool) -> tuple[int, int]:
    """Where the row with this number (from 1) begins and ends in a chunk."""
    starts, ends = quoted(text, delimiter) if b'"' in text else ([], [])
    stretches = chain(zip(starts, ends), [(len(text), len(text))])
    start, inside = next(stretches)
    begin = 0
    for match in re.finditer(rb"\r\n|\n|\r|\Z", text):
        while match.start() >= inside:
            start, inside = next(stretches, (len(text) + 1, len(text) + 1))
        if start <= match.start():
            continue
        row -= blank_is_row or match.start() > begin
        if row == 0:
            return begin, match.start()
        begin = match.end()
    return begin, len(text)
