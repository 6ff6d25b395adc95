"""What an Arrow stream says that it holds, read from its messages before anything is unpacked or put into memory.

A message begins with a FlatBuffers table, which Arrow has checked by the time it hands the message over (Arrow's `Message.fbs`):
Message(version, kind of header, header, …), RecordBatch(rows, nodes, buffers, compression), DictionaryBatch(id, RecordBatch, …).
A packed buffer begins with its size unpacked, or −1 where it is not packed after all.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, NamedTuple

import pyarrow.ipc as ipc

DICTIONARY, BATCH = 2, 3  # kinds of header
_PLACE, _SHORT, _OFFSET, _WHOLE, _BUFFER = map(Struct, ("<i", "<H", "<I", "<q", "<qq"))


class Held(NamedTuple):
    """Rows of all batches, and the bytes of packed buffers once they are unpacked."""

    rows: int
    unpacked: int


def held_by(source: Any) -> Held:
    """What the stream that begins where `source` stands will hold."""
    rows = unpacked = 0
    for message in ipc.MessageReader.open_stream(source):
        head = memoryview(message.metadata)
        (root,) = _OFFSET.unpack_from(head)
        kind = head[at] if (at := _field(head, root, 1)) else 0
        if kind not in (DICTIONARY, BATCH):
            continue
        batch = _target(head, _field(head, root, 2))
        if kind == DICTIONARY:
            batch = _target(head, _field(head, batch, 1))
        elif at := _field(head, batch, 0):
            rows += _WHOLE.unpack_from(head, at)[0]
        if _field(head, batch, 3):
            unpacked += _unpacked(head, batch, message.body)
    return Held(rows, unpacked)


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
