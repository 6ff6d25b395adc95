"""The bytes of a file as text to read: decompressed (gzip, zstd, bzip2, lz4) and turned into UTF-8, by content and not by name."""

from __future__ import annotations

import codecs
from typing import Any

import pyarrow as pa

COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def plain_bytes(path: str) -> Any:
    """A stream of the file's bytes, decompressed where it is compressed."""
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
