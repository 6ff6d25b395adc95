"""Files made to do harm: how they are taken apart and put together again, and what may happen when they are loaded."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import tempfile
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from cases import CASES
from hypothesis import strategies as st

from assay.errors import AssayError, ModelFileError
from assay.selection.loading import load
from assay.store import encode

ONCE = [case for i, case in enumerate(CASES) if case.name not in [c.name for c in CASES[:i]]]
every_case = pytest.mark.parametrize("case", ONCE, ids=str)


@lru_cache(maxsize=64)
def file_of(case):
    import pandas as pd

    X, y = case.rows(40, 3)
    names = np.array(["ash", "birch", "elm"])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = case.model().fit(frame, names[y] if case.classifies else y)
    model.add_claims(target="species", split={"fraction": 0.25, "seed": 7})
    return encode(model.to_record())


@lru_cache(maxsize=4)
def parts(data):
    """(header, arrays) of a file. Nobody may write into the header: it is read once."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def joined(header, body, text=None):
    text = json.dumps(header).encode() if text is None else text
    return len(text).to_bytes(8, "little") + text + body


def document(data):
    return json.loads(parts(data)[0]["__metadata__"]["assay"])


def with_document(data, doc, text=None):
    """The file with another document, whose hash is right."""
    header, body = parts(data)
    text = json.dumps(doc, allow_nan=False) if text is None else text
    metadata = {"assay": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return joined({**header, "__metadata__": metadata}, body)


CODES = {
    "<f8": "F64",
    "<f4": "F32",
    "<i8": "I64",
    "<i4": "I32",
    "<u4": "U32",
    "<u8": "U64",
    "|b1": "BOOL",
    "|u1": "U8",
}
KINDS = {code: kind for kind, code in CODES.items()}


def taken_apart(data):
    """(document, arrays) of a file."""
    header, body = parts(data)
    arrays = {
        name: np.frombuffer(body[slice(*info["data_offsets"])], KINDS[info["dtype"]]).reshape(info["shape"]).copy()
        for name, info in header.items()
        if name != "__metadata__"
    }
    return document(data), arrays


def put_together(doc, arrays):
    """The file of a document and arrays, all hashes right."""
    header, chunks, offset = {}, [], 0
    hashes = {}
    for name in sorted(arrays):
        chunk = np.ascontiguousarray(arrays[name]).tobytes()
        shape = list(arrays[name].shape)
        header[name] = {
            "dtype": CODES[arrays[name].dtype.str],
            "shape": shape,
            "data_offsets": [offset, offset + len(chunk)],
        }
        offset += len(chunk)
        chunks.append(chunk)
        kind = f"{arrays[name].dtype.str} {','.join(map(str, shape))} "
        hashes[name] = hashlib.sha256(kind.encode() + chunk).hexdigest()
    text = json.dumps({**doc, "sha256": hashes} if isinstance(doc, dict) else doc)
    header["__metadata__"] = {"assay": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return joined(header, b"".join(chunks))


def with_arrays(data, change):
    """The file with other arrays, all hashes right."""
    doc, arrays = taken_apart(data)
    return put_together(doc, change(arrays))


MEMORY = "/dev/shm"  # a disk takes longer to write a file than we to refuse it
FOLDER = tempfile.TemporaryDirectory(
    dir=MEMORY if os.path.isdir(MEMORY) else None
)  # of this process: one file after another


def from_bytes(data):
    """The real `assay.load` of a file with these bytes."""
    path = Path(FOLDER.name) / "hostile.assay"
    path.write_bytes(data)
    return load(path)


def outcome(data):
    """'refused', or 'loaded' for a model that answers or says in words why it cannot; anything else is an error."""
    try:
        model = from_bytes(data)
    except ModelFileError as error:
        return "refused" if 10 < len(str(error)) < 2000 else f"refused with a useless message: {error}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        X = (
            np.abs(np.arange(3 * model.n_features_in_, dtype=float).reshape(3, -1) % 3)
            if model.n_features_in_ < 1000
            else None
        )
        if X is None:
            return "loaded"
        with contextlib.suppress(AssayError):
            assert model.predict(X).shape in ((3,), (3, getattr(model, "n_outputs_", 1)))
        y = model.classes_[[0, -1, 0]] if hasattr(model, "classes_") else X[:, 0]
        verdicts = model.certificate_.verify(X, y)
        assert len(verdicts) >= len(model.certificate_.claims)
        assert all([str(model.certificate_), repr(model), model.certificate_._repr_html_()])
        encode(model.to_record())
    return "loaded"


def refused(data):
    assert outcome(data) == "refused"


HOSTILE = [
    None, True, False, -1, 0, 1, 3, 2**31, 2**63, 2**64, 10**30, -1.5, 0.5, 1e308, "", "x", "a\0b", "\u202e", "é" * 300, "0" * 32,
    [], [None], [[]], [1, 2, 3], ["a", "b", "c"], {}, {"a": 1}, {"array": "x"}, {"array": None}, {"$": "inf"}, {"$": "-inf"},
    {"$": "nan"}, {"$": "x"}, {"$": []}, {"$": [[1]]}, {"$": [[[], 1]]}, {"$": [[0, 1.0]]}, {"$": {"$": "inf"}}, {"$": "inf", "b": 1},
    "__import__('os').system('true')", {"__reduce__": ["os.system", ["true"]]},
]  # fmt: skip


def paths(value, here=()):
    yield here
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], (*here, key))
    elif isinstance(value, list):
        for i in range(min(len(value), 2)):
            yield from paths(value[i], (*here, i))


def altered(doc, path, value):
    """The document with another value at a place, or what a function makes of the old one; what lies beside the way there is shared."""
    if not path:
        return value(doc) if callable(value) else value
    changed = copy.copy(doc)
    changed[path[0]] = altered(doc[path[0]], path[1:], value)
    return changed


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**25), 10**25),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(codec="utf-8"), max_size=9),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.sampled_from(["array", "$", "a", "0", "b"]), inner, max_size=3)
    ),
    max_leaves=8,
)
