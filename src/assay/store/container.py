"""The container: the safetensors layout, written so that equal contents give equal bytes.

    8 bytes little-endian: length of the header | header: JSON | the arrays, one after another, without gaps

Reading allocates nothing that the file's own size does not cover, and runs no code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

import msgspec
import numpy as np

from assay.errors import ModelFileError
from assay.numerics import Array

DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "U8": "|u1",
    "U32": "<u4",
    "U64": "<u8",
    "BOOL": "|b1",
}
NAMES = {v: k for k, v in DTYPES.items()}
LARGEST_HEADER = 100_000_000
MOST_DIMENSIONS = 8


class _TensorInfo(msgspec.Struct, forbid_unknown_fields=True):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


def pack(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a container; arrays sorted by name."""
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    chunks: list[bytes] = []
    offset = 0
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        if array.dtype.str not in NAMES:
            raise ModelFileError(f"The array {name!r} holds {array.dtype}, which a model file cannot hold.")
        data = array.tobytes()
        header[name] = {
            "dtype": NAMES[array.dtype.str],
            "shape": list(arrays[name].shape),
            "data_offsets": [offset, offset + len(data)],
        }
        chunks.append(data)
        offset += len(data)
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *chunks])


def unpack(data: bytes) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays and metadata of a container; `ModelFileError` for anything that is not exactly one."""
    if len(data) < 8:
        raise ModelFileError("This is no model file: it is shorter than 8 bytes.")
    length = int.from_bytes(data[:8], "little")
    if length > LARGEST_HEADER or length > len(data) - 8:
        raise ModelFileError(
            "This is no model file, or it is cut short: the length of its header does not fit its size."
        )
    header = _header(data[8 : 8 + length])
    metadata = _metadata(header.pop("__metadata__", None))
    body = memoryview(data)[8 + length :]
    arrays: dict[str, Array] = {}
    spans: list[tuple[int, int]] = []
    for name, raw in header.items():
        try:
            info = msgspec.json.decode(raw, type=_TensorInfo)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ModelFileError(f"The model file is damaged: array {name!r}: {error}") from None
        arrays[name] = _tensor(name, info, body)
        spans.append(info.data_offsets)
    end = 0
    for start, stop in sorted(spans):
        if start != end:
            raise ModelFileError("The model file is damaged: its arrays overlap or leave gaps.")
        end = stop
    if end != len(body):
        raise ModelFileError("The model file is damaged: it has bytes behind its last array.")
    return arrays, metadata


def _header(text: bytes) -> dict[str, msgspec.Raw]:
    try:
        header = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        refuse_doubles(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ModelFileError(f"This is no model file, or it is damaged: its header cannot be read ({error}).") from None
    return header


def refuse_doubles(text: bytes) -> None:
    """Raise where a JSON object names a key twice: two readers could understand such a text differently."""
    try:
        json.loads(text, object_pairs_hook=_without_doubles)
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(f"The model file is damaged: its description cannot be read ({error}).") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise ModelFileError(f"The model file is damaged: its description names {name!r} twice.")
        seen.add(name)


def _metadata(raw: msgspec.Raw | None) -> dict[str, str]:
    try:
        return msgspec.json.decode(raw or b"null", type=dict[str, str])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise ModelFileError("This is no Assay model file: its metadata is missing or not text.") from None


def _tensor(name: str, info: _TensorInfo, body: memoryview) -> Array:
    dtype = DTYPES.get(info.dtype)
    if dtype is None:
        raise ModelFileError(f"The array {name!r} holds {info.dtype!r}, which no model uses.")
    start, stop = info.data_offsets
    if len(info.shape) > MOST_DIMENSIONS or any(s < 0 for s in info.shape) or not 0 <= start <= stop <= len(body):
        raise ModelFileError(
            f"The model file is damaged or cut short: array {name!r} has an impossible shape or place."
        )
    # Python's integers do not overflow: a shape that multiplies to something else than the bytes there are is refused
    if prod(info.shape) * np.dtype(dtype).itemsize != stop - start:
        raise ModelFileError(
            f"The model file is damaged: array {name!r} has {stop - start} bytes for shape {info.shape}."
        )
    flat = np.frombuffer(body[start:stop], dtype=dtype)
    if dtype == "|b1" and stop > start and np.frombuffer(body[start:stop], np.uint8).max() > 1:
        raise ModelFileError(f"The model file is damaged: array {name!r} holds bytes that are neither true nor false.")
    try:
        return flat.reshape(info.shape).copy()
    except (ValueError, OverflowError):  # a size of zero beside one that no machine can address
        raise ModelFileError(
            f"The model file is damaged: array {name!r} has the impossible shape {info.shape}."
        ) from None
