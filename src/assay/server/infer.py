"""`POST /v2/models/{model}/infer`: tensors in, tensors out."""

from __future__ import annotations

from math import prod
from typing import Any

import msgspec
import numpy as np

from assay.engines import Rows
from assay.http.replies import Refusal, Reply
from assay.numerics import Array
from assay.server.answers import RequestedOutputs
from assay.server.decoding import ExpectedColumn
from assay.server.schemas import InferAnswer, InferRequest, InputTensor, read_infer
from assay.server.served import ServedModel
from assay.server.tensors import output_tensor, values_of, values_of_bytes

HEADER_LENGTH = "inference-header-content-length"
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
