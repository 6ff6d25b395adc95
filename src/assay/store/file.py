"""The model file `.assay`: a container whose metadata is one JSON document about the model.

Format 1. The document names the model class by its registry name, its hyper-parameters, columns, classes, claims and
provenance, and the SHA-256 of every array; a second entry holds the SHA-256 of the document itself. Later versions of Assay
read every format that an earlier one wrote.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.errors import ModelFileError
from assay.numerics import Array
from assay.store.container import pack, unpack
from assay.store.record import Record

FORMAT = 1
LARGEST_FILE = 16 << 30


class _Classes(msgspec.Struct, forbid_unknown_fields=True):
    dtype: str
    values: list[str | int | float | bool]


class _Claim(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    statement: str
    holds: bool
    check: str
    value: float | None
    bound: float | None
    kind: str
    witness: dict[str, Any]


class _Document(msgspec.Struct, forbid_unknown_fields=True):
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


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def encode(record: Record) -> bytes:
    """The bytes of a model file. Equal records give equal bytes."""
    arrays = dict(record.arrays)
    claims = [_pack_claim(i, claim, arrays) for i, claim in enumerate(record.claims)]
    document = _Document(
        format=FORMAT,
        model=record.model,
        params=record.params,
        n_features=record.n_features,
        facts=record.facts,
        classes=None if record.classes is None else _pack_classes(record.classes),
        names=record.names,
        categories=record.categories,
        target=record.target,
        claims=claims,
        provenance=record.provenance,
        sha256={name: _sha256(np.ascontiguousarray(a).tobytes()) for name, a in sorted(arrays.items())},
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
            raise ModelFileError(f"The model file has format {version}; this version of Assay reads up to {FORMAT}. Upgrade Assay.")
        document = msgspec.json.decode(text, type=_Document)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ModelFileError(f"The model file's description cannot be read: {error}") from None
    if document.format != FORMAT:
        raise ModelFileError(f"The model file has the impossible format {document.format}.")
    if set(document.sha256) != set(arrays):
        raise ModelFileError("The model file is damaged: its list of arrays does not match its arrays.")
    for name, array in arrays.items():
        if document.sha256[name] != _sha256(array.tobytes()):
            raise ModelFileError(f"The model file is damaged: the array {name!r} does not match its SHA-256.")
    claims = [_unpack_claim(claim, arrays) for claim in document.claims]
    return Record(
        model=document.model,
        params=document.params,
        n_features=document.n_features,
        arrays={n: a for n, a in arrays.items() if not n.startswith("witness.")},
        facts=document.facts,
        classes=None if document.classes is None else _unpack_classes(document.classes),
        names=document.names,
        categories=document.categories,
        target=document.target,
        claims=claims,
        provenance=document.provenance,
    )


def _pack_classes(classes: Array) -> _Classes:
    kind = "str" if classes.dtype.kind in "OUT" else classes.dtype.str
    if kind == "str" and not all(isinstance(c, str) for c in classes.tolist()):
        raise ModelFileError("The classes mix text and other objects: a model file holds classes of one kind.")
    return _Classes(kind, classes.tolist())


def _unpack_classes(classes: _Classes) -> Array:
    try:
        if classes.dtype == "str":
            values = np.array(msgspec.convert(classes.values, list[str]))
            return values if len(values) else np.array([], dtype="<U1")
        dtype = np.dtype(classes.dtype)
        if dtype.kind not in "iubf" or dtype.itemsize > 8:
            raise TypeError(f"labels of type {classes.dtype}")
        array = np.array(classes.values, dtype=dtype)
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"The model file's classes cannot be read: {error}") from None
    if array.tolist() != classes.values:
        raise ModelFileError("The model file's classes do not fit their type.")
    return array


def _pack_claim(number: int, claim: dict[str, Any], arrays: dict[str, Array]) -> _Claim:
    """Arrays of a witness that are parts of the model are named, not written twice."""
    witness: dict[str, Any] = {}
    known = {id(a): name for name, a in arrays.items()}
    for key, value in claim["witness"].items():
        if not isinstance(value, np.ndarray):
            witness[key] = value
            continue
        name = known.get(id(value), f"witness.{number}.{key}")
        arrays[name] = value
        witness[key] = {"array": name}
    return _Claim(**{**claim, "witness": witness})


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
            witness[key] = value
    return {**msgspec.structs.asdict(claim), "witness": witness}


def write(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a model file; it appears whole or not at all, and an older file stays intact until then."""
    write_atomically(encode(record), path)


def write_atomically(data: bytes, path: str | os.PathLike[str]) -> None:
    """Write bytes beside the target, make them durable, then rename."""
    target = Path(path)
    if target.is_dir():
        raise ModelFileError(f"{str(target)!r} is a directory: give the name of a file.")
    if not target.parent.is_dir():
        raise ModelFileError(f"The folder {str(target.parent)!r} does not exist: make it first.")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise ModelFileError(f"{str(target)!r} could not be written ({error.strerror or error}); what was there is untouched.") from error
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read(path: str | os.PathLike[str]) -> Record:
    """Read a model file."""
    source = Path(path)
    if source.is_dir():
        raise ModelFileError(f"{str(source)!r} is a directory, not a model file.")
    try:
        if source.stat().st_size > LARGEST_FILE:
            raise ModelFileError(f"{str(source)!r} is larger than any model file.")
        data = source.read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {str(source)!r}.") from None
    except OSError as error:
        raise ModelFileError(f"{str(source)!r} cannot be read: {error.strerror or error}.") from error
    return decode(data)
