"""Tensors of the Open Inference Protocol, in JSON or as bytes behind it: to columns of values, and from arrays of answers."""

from __future__ import annotations

import struct
from contextlib import suppress
from itertools import chain
from math import prod
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET

from assay.http.replies import Refusal
from assay.numerics import Array
from assay.server.schemas import InputTensor, OutputTensor

NUMBERS: dict[str, Any] = {
    "BOOL": np.bool_, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
    **{f"{sign}INT{bits}": np.dtype(f"{'u' if sign else 'i'}{bits // 8}") for sign in ("", "U") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_LIMITS = {name: np.iinfo(kind) for name, kind in NUMBERS.items() if "INT" in name}


def _readers(kind: Any) -> tuple[Any, Any]:
    return msgspec.json.Decoder(list[kind]).decode, msgspec.json.Decoder(list[list[kind]]).decode


_FLOATS, _WHOLE, _TRUTHS, _TEXTS = (_readers(kind | None) for kind in (float, int, bool, str))
READERS = {n: _FLOATS if n[0] == "F" else _TRUTHS if n == "BOOL" else _WHOLE for n in NUMBERS} | {"BYTES": _TEXTS}


def values_of(tensor: InputTensor) -> Any:
    """The values of a tensor in JSON, flat: a list, in which None is a missing value, or an array."""
    if tensor.data is UNSET:
        raise Refusal(400, f"The tensor {tensor.name!r} has neither data nor parameters.binary_data_size.")
    raw = bytes(tensor.data)  # type: ignore[arg-type]
    flat, nested = READERS[tensor.datatype]
    try:
        if raw[1:].lstrip(b" \t\r\n")[:1] == b"[":
            rows = nested(raw)
            if [len(rows), *{len(row) for row in rows}] != tensor.shape:
                raise Refusal(400, f"The data of the tensor {tensor.name!r} have not the shape {tensor.shape}.")
            found = list(chain.from_iterable(rows))
        else:
            found = flat(raw)
    except msgspec.MsgspecError as error:
        raise Refusal(400, f"The data of the tensor {tensor.name!r} are not {tensor.datatype}: {error}.") from None
    if len(found) != prod(tensor.shape):
        raise Refusal(
            400,
            f"The tensor {tensor.name!r} has {len(found)} values where its shape {tensor.shape} needs {prod(tensor.shape)}.",
        )
    if tensor.datatype in _LIMITS:
        _check_whole(found, tensor)
    if tensor.datatype[0] == "F":
        with suppress(struct.error):  # where none is missing
            return np.frombuffer(struct.pack(f"{len(found)}d", *found))
    return found


def _check_whole(values: list[Any], tensor: InputTensor) -> None:
    limits = _LIMITS[tensor.datatype]
    if any(v is not None and not limits.min <= v <= limits.max for v in values):
        raise Refusal(400, f"The tensor {tensor.name!r} holds a value that is no {tensor.datatype}.")


def values_of_bytes(tensor: InputTensor, data: memoryview) -> Any:
    """The values of a tensor whose bytes followed the JSON: an array, or a list of texts."""
    if tensor.datatype == "BYTES":
        return _texts(tensor, data)
    kind = np.dtype(NUMBERS[tensor.datatype]).newbyteorder("<")
    if len(data) != prod(tensor.shape) * kind.itemsize:
        raise Refusal(
            400,
            f"The tensor {tensor.name!r} has {len(data)} bytes where its shape {tensor.shape} needs {prod(tensor.shape) * kind.itemsize}.",
        )
    if tensor.datatype == "BOOL":
        return np.frombuffer(data, np.uint8) != 0
    return np.frombuffer(data, kind)


def _texts(tensor: InputTensor, data: memoryview) -> list[str]:
    """Each text is its length, four bytes with the least first, and its UTF-8."""
    found, at = [], 0
    while at < len(data):
        if at + 4 > len(data):
            raise Refusal(400, f"The bytes of the tensor {tensor.name!r} are cut short.")
        (size,) = struct.unpack_from("<I", data, at)
        at += 4
        if at + size > len(data):
            raise Refusal(400, f"The bytes of the tensor {tensor.name!r} are cut short.")
        found.append(str(data[at : at + size], "utf-8"))
        at += size
    if len(found) != prod(tensor.shape):
        raise Refusal(
            400,
            f"The tensor {tensor.name!r} holds {len(found)} texts where its shape {tensor.shape} needs {prod(tensor.shape)}.",
        )
    return found


def output_tensor(name: str, datatype: Any, answer: Array, binary: bool) -> tuple[OutputTensor, bytes]:
    """An output as a tensor of the answer, and its bytes where these are wanted."""
    shape = list(answer.shape)
    if not binary:
        return OutputTensor(name=name, shape=shape, datatype=datatype, data=answer.ravel().tolist()), b""
    if datatype == "BYTES":
        texts = [b"" if text is None else str(text).encode() for text in answer.ravel().tolist()]
        data = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    else:
        plain = answer.filled(_lowest(answer)) if isinstance(answer, np.ma.MaskedArray) else answer
        data = plain.astype(np.dtype(NUMBERS[datatype]).newbyteorder("<")).tobytes()
    size = {"binary_data_size": len(data)}
    return OutputTensor(name=name, shape=shape, datatype=datatype, parameters=size), data


def _lowest(answer: Any) -> Any:
    """What stands for an abstention among numbers: the least that there is."""
    kind = answer.dtype
    return False if kind.kind == "b" else np.nan if kind.kind == "f" else np.iinfo(kind).min
