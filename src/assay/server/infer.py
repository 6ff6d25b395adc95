"""`POST /v2/models/{model}/infer`: tensors in, tensors out, in JSON or as bytes behind it."""

from __future__ import annotations

import struct
from contextlib import suppress
from itertools import chain
from math import prod
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET

from assay.engines import Rows
from assay.http.replies import Refusal, Reply
from assay.numerics import Array
from assay.server.decoding import ExpectedColumn
from assay.server.schemas import InferAnswer, InferRequest, InputTensor, OutputTensor, read_infer
from assay.server.served import RequestedOutputs, ServedModel

HEADER_LENGTH = "inference-header-content-length"
NUMBERS: dict[str, Any] = {
    "BOOL": np.bool_, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
    **{f"{sign}INT{bits}": np.dtype(f"{'u' if sign else 'i'}{bits // 8}") for sign in ("", "U") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_LIMITS = {name: np.iinfo(kind) for name, kind in NUMBERS.items() if "INT" in name}
_encode = msgspec.json.Encoder().encode


def infer(served: ServedModel, body: bytes, header_length: bytes | None, most_rows: int) -> Reply:
    """The answer to a request; `header_length`: so many bytes are JSON, and those of tensors follow."""
    behind = memoryview(b"")
    if header_length is not None:
        if not (header_length.isdigit() and len(header_length) < 19) or int(header_length) > len(body):
            raise Refusal(400, f"The header {HEADER_LENGTH} is no length within the body.")
        body, behind = body[: int(header_length)], memoryview(body)[int(header_length) :]
    request = read_infer(body)
    n = request.inputs[0].shape[0]
    _check_rows(request, n, most_rows)
    rows = _rows(served, request.inputs, _values(request, behind), n)
    wanted, binary = _wanted(served, request)
    blocks = list(served.answers(rows, wanted))
    answer = blocks[0] if len(blocks) == 1 else _joined(blocks)
    found = [output_tensor(o, served.datatype(o), answer[o], binary.get(o, False)) for o in wanted.outputs]
    head = _encode(
        InferAnswer(
            model_name=served.name, model_version=served.version, outputs=[tensor for tensor, _ in found], id=request.id
        )
    )
    if not any(binary.values()):
        return Reply(head, rows=n)
    length = ((HEADER_LENGTH, str(len(head))),)
    return Reply(b"".join([head, *(data for _, data in found)]), "application/octet-stream", headers=length, rows=n)


def _check_rows(request: InferRequest, n: int, most_rows: int) -> None:
    if n == 0:
        raise Refusal(400, "The tensors have no rows: send at least one.")
    if n > most_rows:
        raise Refusal(413, f"The request has {n} rows, and {most_rows} are allowed: send fewer at a time.")
    for tensor in request.inputs:
        if tensor.shape[0] != n:
            first = request.inputs[0].name
            raise Refusal(400, f"The tensor {tensor.name!r} has {tensor.shape[0]} rows, but {first!r} has {n}.")


def _values(request: InferRequest, behind: memoryview) -> list[Any]:
    found, at = [], 0
    for tensor in request.inputs:
        size = tensor.parameters.binary_data_size if tensor.parameters is not None else None
        if size is None:
            found.append(values_of(tensor))
            continue
        if at + size > len(behind):
            raise Refusal(
                400, f"The bytes of the tensor {tensor.name!r} are cut short: give the header {HEADER_LENGTH}."
            )
        found.append(values_of_bytes(tensor, behind[at : at + size]))
        at += size
    if at != len(behind):
        raise Refusal(400, f"{len(behind) - at} bytes follow that belong to no tensor.")
    return found


def _rows(served: ServedModel, tensors: list[InputTensor], values: list[Any], n: int) -> Rows:
    d = len(served.columns)
    if len(tensors) == 1 and len(tensors[0].shape) == 2 and (tensors[0].shape[1] != 1 or d == 1):
        return served.rows(_matrix(served, tensors[0], values[0], n, d))
    given: dict[str, tuple[InputTensor, Any]] = {}
    for tensor, found in zip(tensors, values):
        if prod(tensor.shape) != n:
            raise Refusal(
                400, f"The tensor {tensor.name!r} has the shape {tensor.shape}; a column's is [{n}] or [{n}, 1]."
            )
        if tensor.name in given:
            raise Refusal(400, f"Two tensors are called {tensor.name!r}.")
        given[tensor.name] = tensor, found
    X = np.empty((n, d))
    if all(c.name in given and _put(X, j, c, *given[c.name]) for j, c in enumerate(served.columns)):
        return served.rows(X)
    from assay.tables.bodies import source_of_columns

    return served.table_rows(source_of_columns({name: found for name, (_, found) in given.items()}))


def _matrix(served: ServedModel, tensor: InputTensor, values: Any, n: int, d: int) -> Array:
    if tensor.shape[1] != d:
        raise Refusal(400, f"The tensor {tensor.name!r} has {tensor.shape[1]} columns, and the model takes {d}.")
    odd = next((c for c in served.columns if c.kind not in ("number", "boolean")), None)
    if odd is not None or tensor.datatype == "BYTES":
        why = f"column {odd.name!r} is a {odd.kind}" if odd is not None else f"{tensor.name!r} is BYTES"
        raise Refusal(400, f"One tensor for all columns must hold numbers, but {why}: send one tensor a column.")
    X = np.array(values, dtype=np.float64).reshape(n, d)
    for j, column in enumerate(served.columns):
        if column.kind == "boolean" and not _truths(X[:, j]):
            raise Refusal(400, f"Column {column.name!r} holds true and false: 1, 0, or null.")
    return X


def _put(X: Array, j: int, column: ExpectedColumn, tensor: InputTensor, values: Any) -> bool:
    """Put a column's numbers where they belong; False where it has to be read as a table's."""
    if column.kind == "category" and tensor.datatype == "BYTES":
        X[:, j] = column.numbers(values)
        return True
    if column.kind == "number" and tensor.datatype != "BYTES":
        X[:, j] = values
        return True
    if column.kind == "boolean" and tensor.datatype != "BYTES":
        X[:, j] = values
        return _truths(X[:, j])
    return False


def _truths(x: Array) -> bool:
    return bool(((x == 0) | (x == 1) | (x != x)).all())


def _wanted(served: ServedModel, request: InferRequest) -> tuple[RequestedOutputs, dict[str, bool]]:
    """The outputs, and which of them as bytes."""
    parameters = request.parameters
    if parameters is None and not request.outputs:
        return served.usual, {}
    threshold = parameters.threshold if parameters is not None else None
    everything = bool(parameters is not None and parameters.binary_data_output)
    asked = request.outputs or []
    names = list(dict.fromkeys(o.name for o in asked)) or list(served.outputs[:1])
    if threshold is not None and "abstained" not in names:
        names.append("abstained")
    binary = dict.fromkeys(names, everything)
    for output in asked:
        if output.parameters is not None and output.parameters.binary_data is not None:
            binary[output.name] = output.parameters.binary_data
    return RequestedOutputs(tuple(names), threshold, parameters.n_neighbors if parameters is not None else None), binary


def _joined(blocks: list[dict[str, Array]]) -> dict[str, Array]:
    masked = any(isinstance(a, np.ma.MaskedArray) for block in blocks for a in block.values())
    join: Any = np.ma.concatenate if masked else np.concatenate
    return {name: join([block[name] for block in blocks]) for name in blocks[0]}


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
