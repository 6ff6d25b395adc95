"""The model file `.assay`: a fitted model as plain data, in a container whose metadata is one JSON document about it.

The document names the model class by its registry name, its hyper-parameters, columns, classes, claims and provenance, and the
SHA-256 of every array; a second entry holds the SHA-256 of the document itself. Later versions of Assay read every format that an
earlier one wrote.

Values that JSON cannot hold as they are (infinities, NaN, and tables whose keys are not text) are tagged; everything else stands for
itself, and tuples become lists:

    inf  ↔  {"$": "inf"}          {0: 1.5, 1: 2.0}  ↔  {"$": [[0, 1.5], [1, 2.0]]}

The container is the safetensors layout, written so that equal contents give equal bytes; reading allocates nothing that the file's own size
does not cover, and runs no code:

    8 bytes little-endian: length of the header | header: JSON | the arrays, one after another, without gaps
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

import msgspec
import numpy as np

from assay.errors import ModelFileError
from assay.numerics import Array
from assay.store.disk import read_whole, write_atomically

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
FORMAT = 2  # 1: without an encoding; a file says the least version that can read it
LABELS = (
    "|b1",
    "|i1",
    "|u1",
    *(order + kind for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8")),
)
LARGEST_LABELS = 1 << 26  # letters of all classes together, padded to the longest
TAG = "$"
HEAD = b'{"__metadata__"'  # what follows the length of the header in every model file
DEEPEST = 32  # lists and tables within each other; whoever reads what a file holds may walk it without looking how deep it goes
FAR = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
Number = float | Literal["inf", "-inf", "nan"] | None


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


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a model file does: enough to tell it from a table, not to trust it."""
    try:
        with open(path, "rb") as file:
            return file.read(8 + len(HEAD))[8:] == HEAD
    except (OSError, ValueError):
        return False


@dataclass
class Record:
    """Names, numbers and arrays; no code, no time, no machine, no engine."""

    model: str
    params: dict[str, Any]
    n_features: int
    arrays: dict[str, Array]
    facts: dict[str, Any] = field(default_factory=dict)
    classes: Array | None = None
    names: list[str] | None = None
    categories: list[list[str] | None] | None = None
    target: str | None = None
    claims: list[dict[str, Any]] = field(default_factory=list)
    provenance: dict[str, Any] = field(default_factory=dict)
    encoding: dict[str, Any] | None = None  # how the columns of a table become the model's; None: they are the model's


def write(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a model file; it appears whole or not at all, and an older file stays intact until then."""
    write_atomically(encode(record), path)


def read(path: str | os.PathLike[str]) -> Record:
    """Read a model file."""
    return decode(read_whole(path, LARGEST_HEADER))


def encode(record: Record) -> bytes:
    """The bytes of a model file. Equal records give equal bytes."""
    arrays = dict(record.arrays)
    claims = [_pack_claim(i, claim, arrays) for i, claim in enumerate(record.claims)]
    document = _Document(
        format=1 if record.encoding is None else FORMAT,
        model=record.model,
        params=to_plain(record.params),
        n_features=record.n_features,
        facts=to_plain(record.facts),
        classes=None if record.classes is None else _pack_classes(record.classes),
        names=to_plain(record.names),
        categories=to_plain(record.categories),
        target=to_plain(record.target),
        claims=claims,
        provenance=to_plain(record.provenance),
        sha256={name: _digest(a) for name, a in sorted(arrays.items())},
        encoding=None if record.encoding is None else to_plain(record.encoding),
    )
    text = msgspec.json.encode(document, order="deterministic").decode()
    return pack(arrays, {"assay": text, "sha256": _sha256(text.encode())})


def decode(data: bytes) -> Record:
    """A record from the bytes of a model file; every part is checked against its hash."""
    arrays, metadata = unpack(data)
    if "assay" not in metadata:
        raise ModelFileError("This is a safetensors file, but not an Assay model: it has no 'assay' entry.")
    text = metadata["assay"].encode()
    if metadata.get("sha256") != _sha256(text):
        raise ModelFileError("The model file is damaged: its description does not match its SHA-256.")
    try:
        version = msgspec.json.decode(text, type=dict[str, Any]).get("format")
        if isinstance(version, int) and version > FORMAT:
            raise ModelFileError(
                f"The model file has format {version}; this version of Assay reads up to {FORMAT}. Upgrade Assay."
            )
        document = msgspec.json.decode(text, type=_Document)
        refuse_doubles(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ModelFileError(f"The model file's description cannot be read: {error}") from None
    if document.format != (1 if document.encoding is None else FORMAT):
        raise ModelFileError(f"The model file has the impossible format {document.format}.")
    if set(document.sha256) != set(arrays):
        raise ModelFileError("The model file is damaged: its list of arrays does not match its arrays.")
    for name, array in arrays.items():
        if document.sha256[name] != _digest(array):
            raise ModelFileError(f"The model file is damaged: the array {name!r} does not match its SHA-256.")
    try:
        return _record(document, arrays)
    except RecursionError:
        raise ModelFileError("The model file's description is nested too deeply.") from None


def _record(document: _Document, arrays: dict[str, Array]) -> Record:
    claims = [_unpack_claim(claim, arrays) for claim in document.claims]
    return Record(
        model=document.model,
        params=_table(document.params),
        n_features=document.n_features,
        arrays={n: a for n, a in arrays.items() if not n.startswith("witness.")},
        facts=_table(document.facts),
        classes=None if document.classes is None else _unpack_classes(document.classes),
        names=document.names,
        categories=document.categories,
        target=document.target,
        claims=claims,
        provenance=_table(document.provenance),
        encoding=None if document.encoding is None else _table(document.encoding),
    )


def _table(value: dict[str, Any]) -> dict[str, Any]:
    """A table with names as keys: not something else that was written as a table."""
    table = from_plain(value)
    if not isinstance(table, dict) or not all(isinstance(key, str) for key in table):
        raise ModelFileError("The model file's description holds something else where a table is due.")
    return table


class _Classes(msgspec.Struct, forbid_unknown_fields=True):
    dtype: str
    values: list[str | int | float | bool]


class _Claim(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    statement: str
    holds: bool
    check: str
    value: Number
    bound: Number
    kind: str
    witness: dict[str, Any]


class _Document(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    format: int
    model: str
    params: dict[str, Any]
    n_features: int
    facts: dict[str, Any]
    classes: _Classes | None
    names: list[str] | None
    categories: list[list[str] | None] | None
    target: str | None
    claims: list[_Claim]
    provenance: dict[str, Any]
    sha256: dict[str, str]
    encoding: dict[str, Any] | None = None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest(array: Array) -> str:
    """The SHA-256 of an array's type, shape and bytes in C order, such as `<f8 2,3 …`."""
    shape = ",".join(map(str, array.shape))
    return _sha256(f"{array.dtype.str} {shape} ".encode() + array.tobytes())


def _pack_classes(classes: Array) -> _Classes:
    kind = "str" if classes.dtype.kind in "OUT" else classes.dtype.str
    values = to_plain(classes.tolist())
    if kind == "str" and not all(isinstance(c, str) for c in values):
        raise ModelFileError("The classes mix text and other objects: a model file holds classes of one kind.")
    if kind != "str" and kind not in LABELS:
        raise ModelFileError(
            f"The classes are {classes.dtype}, which a model file cannot hold: use text or numbers as labels."
        )
    return _Classes(kind, values)


def _unpack_classes(classes: _Classes) -> Array:
    try:
        if classes.dtype == "str":
            return _unpack_text(msgspec.convert(classes.values, list[str]))
        if classes.dtype not in LABELS:
            raise TypeError(f"labels of type {classes.dtype!r}")
        array = np.array(classes.values, dtype=classes.dtype)
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"The model file's classes cannot be read: {error}") from None
    if array.tolist() != classes.values:
        raise ModelFileError("The model file's classes do not fit their type.")
    return array


def _unpack_text(values: list[str]) -> Array:
    longest = max(map(len, values), default=1)
    if longest * len(values) > LARGEST_LABELS or any(v.endswith("\0") for v in values):
        return np.array(values, dtype=object)  # fixed-width text would be huge, or would lose the zeros at the end
    return np.array(values, dtype=f"<U{max(1, longest)}")


def _pack_claim(number: int, claim: dict[str, Any], arrays: dict[str, Array]) -> _Claim:
    """Arrays of a witness that are parts of the model are named, not written twice."""
    witness: dict[str, Any] = {}
    known = {id(a): name for name, a in arrays.items()}
    for key, value in claim["witness"].items():
        if not isinstance(value, np.ndarray):
            witness[key] = to_plain(value)
            continue
        name = known.get(id(value), f"witness.{number}.{key}")
        arrays[name] = value
        witness[key] = {"array": name}
    plain = {key: to_plain(value) for key, value in claim.items() if key != "witness"}
    for key in ("value", "bound"):
        plain[key] = plain[key]["$"] if isinstance(plain[key], dict) else plain[key]
    return _Claim(**plain, witness=witness)


def _unpack_claim(claim: _Claim, arrays: dict[str, Array]) -> dict[str, Any]:
    if claim.kind not in ("proof", "estimate", "warning"):
        raise ModelFileError(f"The model file holds a claim of unknown kind {claim.kind!r}.")
    witness: dict[str, Any] = {}
    for key, value in claim.witness.items():
        if isinstance(value, dict) and set(value) == {"array"}:
            if not isinstance(value["array"], str) or value["array"] not in arrays:
                raise ModelFileError(f"The claim {claim.name!r} refers to an array that the file does not hold.")
            witness[key] = arrays[value["array"]]
        else:
            witness[key] = from_plain(value)
    value, bound = (None if v is None else float(v) for v in (claim.value, claim.bound))
    return {**msgspec.structs.asdict(claim), "value": value, "bound": bound, "witness": witness}


def to_plain(value: Any) -> Any:
    """The value as JSON can hold it; `ModelFileError` for what is not plain data.

    >>> to_plain({"C": float("inf"), "class_weight": {1: 2.0}})
    {'C': {'$': 'inf'}, 'class_weight': {'$': [[1, 2.0]]}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {TAG: str(float(value))}
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, list | tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, Mapping):
        pairs = [[to_plain(k), to_plain(v)] for k, v in value.items()]
        if all(isinstance(k, str) and k != TAG for k, _ in pairs):
            return dict(pairs)
        return {TAG: sorted(pairs, key=lambda pair: (str(type(pair[0])), repr(pair[0])))}
    raise ModelFileError(f"A model file cannot hold {value!r}: {type(value).__name__} is not plain data.")


def from_plain(value: Any, depth: int = 0) -> Any:
    """The value that `to_plain` wrote; `ModelFileError` for a tag that it does not write."""
    if not isinstance(value, list | dict):
        return value
    if depth > DEEPEST:
        raise ModelFileError("The model file's description is nested too deeply.")
    if isinstance(value, list):
        return [from_plain(v, depth + 1) for v in value]
    if TAG not in value:
        return {k: from_plain(v, depth + 1) for k, v in value.items()}
    inside = value[TAG]
    if len(value) == 1 and isinstance(inside, str) and inside in FAR:
        return FAR[inside]
    if len(value) == 1 and isinstance(inside, list) and all(map(_is_pair, inside)):
        return {k: from_plain(v, depth + 1) for k, v in inside}
    raise ModelFileError(f"The model file's description holds a value that cannot be read: {str(value)[:100]}.")


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and (pair[0] is None or isinstance(pair[0], str | int | float))


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ModelFileError(f"A model file cannot hold {value!r}: it is not valid Unicode text.") from None
    return str(value)
