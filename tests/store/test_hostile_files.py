"""Files made to do harm: each is refused with a `ModelFileError`, or is a model that answers. Nothing else ever happens.

The mutations go through every layer: bytes, the container's header, the document (with its hash made right again, so that the
checks behind the hash are reached) and the arrays.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import random
import subprocess
import sys
import time
import tracemalloc
import warnings
from functools import lru_cache

import numpy as np
import pytest
from cases import CASES, IDS
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError, ModelFileError
from assay.select.loading import load
from assay.store import encode

ONCE = [case for i, case in enumerate(CASES) if case.name not in [c.name for c in CASES[:i]]]
every_case = pytest.mark.parametrize("case", ONCE, ids=str)


# --- taking a file apart and putting it together again ----------------------------------------------------------------


@lru_cache(maxsize=64)
def file_of(case):
    import pandas as pd

    X, y = case.rows(40, 3)
    names = np.array(["ash", "birch", "elm"])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = case.model().fit(frame, names[y] if case.classifies else y)
    model.add_claims(target="species", split={"fraction": 0.25, "seed": 7})
    return encode(model.to_record())


def parts(data):
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
    header["__metadata__"] = {"assay": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return joined(header, body)


def with_arrays(data, change):
    """The file with other arrays, all hashes right."""
    header, body = parts(data)
    doc, chunks, offset = document(data), [], 0
    names = sorted(n for n in header if n != "__metadata__")
    codes = {
        "<f8": "F64",
        "<f4": "F32",
        "<i8": "I64",
        "<i4": "I32",
        "<u4": "U32",
        "<u8": "U64",
        "|b1": "BOOL",
        "|u1": "U8",
    }
    kinds = {code: kind for kind, code in codes.items()}
    arrays = {
        n: np.frombuffer(body[slice(*header[n]["data_offsets"])], kinds[header[n]["dtype"]]).reshape(header[n]["shape"])
        for n in names
    }
    arrays = change({n: a.copy() for n, a in arrays.items()})
    fresh = {}
    for name in sorted(arrays):
        chunk = np.ascontiguousarray(arrays[name]).tobytes()
        fresh[name] = {
            "dtype": codes[arrays[name].dtype.str],
            "shape": list(arrays[name].shape),
            "data_offsets": [offset, offset + len(chunk)],
        }
        offset += len(chunk)
        chunks.append(chunk)
        kind = f"{arrays[name].dtype.str} {','.join(map(str, arrays[name].shape))} "
        doc["sha256"][name] = hashlib.sha256(kind.encode() + chunk).hexdigest()
    doc["sha256"] = {n: h for n, h in doc["sha256"].items() if n in arrays}
    text = json.dumps(doc)
    fresh["__metadata__"] = {"assay": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return joined(fresh, b"".join(chunks))


# --- what may happen --------------------------------------------------------------------------------------------------


class Memory:
    """A path whose content is given bytes: the real `assay.load`, without a disk in between."""

    folder = None


@pytest.fixture(autouse=True)
def _folder(tmp_path):
    Memory.folder = tmp_path


def outcome(data, case=None):
    """'refused', or 'loaded' for a model that answers or says in words why it cannot; anything else is an error."""
    path = Memory.folder / "hostile.assay"
    path.write_bytes(data)
    try:
        model = load(path)
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
            assert model.predict(X).shape == (3,)
        y = model.classes_[[0, -1, 0]] if hasattr(model, "classes_") else X[:, 0]
        verdicts = model.certificate_.verify(X, y)
        assert len(verdicts) >= len(model.certificate_.claims)
        assert all([str(model.certificate_), repr(model), model.certificate_._repr_html_()])
        encode(model.to_record())
    return "loaded"


def refused(data):
    assert outcome(data) == "refused"


# --- bytes ------------------------------------------------------------------------------------------------------------


@every_case
def test_the_untouched_file_loads(case):
    assert outcome(file_of(case)) == "loaded"


@every_case
def test_every_single_byte_matters(case):
    """A changed byte is refused unless it is a blank or lies in the metadata's own syntax without changing its meaning."""
    data = bytearray(file_of(case))
    rng = random.Random(0)
    for at in sorted(rng.sample(range(len(data)), min(len(data), 300))):
        wrong = data.copy()
        wrong[at] ^= 1 << rng.randrange(8)
        refused(bytes(wrong))


@every_case
def test_every_truncation_and_addition_is_refused(case):
    data = file_of(case)
    for end in {0, 1, 7, 8, 9, 100, *range(0, len(data), 97), len(data) - 1}:
        refused(data[:end])
    for more in (b"\0", b"x" * 8, data):
        refused(data + more)
        refused(more + data)


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data):
    refused(data)
    refused(len(data).to_bytes(8, "little") + data)


@settings(max_examples=200)
@given(length=st.integers(0, 2**64 - 1))
def test_the_length_of_the_header_is_never_trusted(length):
    data = file_of(CASES[IDS.index("gaussian-nb")])
    if length != int.from_bytes(data[:8], "little"):
        refused(length.to_bytes(8, "little") + data[8:])


# --- the header -------------------------------------------------------------------------------------------------------

NUMBERS = [-1, 0, 1, 2, 2**31, 2**32 + 1, 2**62, 2**63, 2**64, 2**70, 10**30, 1.5, 1e300, None, True, "3", [], {}]
SHAPES = [
    [], [0], [0, 0], [-1, -24], [2**62, 4], [2**32, 2**32], [2**63, 2], [2**64], [0, 2**62], [0, 2**70], [2**62, 0, 2**62],
    [1] * 9, [1] * 100, [1.0], ["3"], None, "3", {}, [None], [[3]], [True],
]  # fmt: skip


@every_case
def test_tensors_that_lie_about_their_shape_type_or_place_are_refused(case):
    header, body = parts(file_of(case))
    names = [n for n in header if n != "__metadata__"]

    def altered(name, key, value):
        wrong = copy.deepcopy(header)
        if wrong[name].get(key, ...) == value and type(value) is not bool:
            return
        wrong[name][key] = value
        refused(joined(wrong, body))

    for name in (names[0], names[-1]):
        for shape in SHAPES:
            altered(name, "shape", shape)
        for dtype in ("F32", "F16", "I64", "BOOL", "U8", "object", "O", "<f8", "", "V8", "C64", None, 8, [], {}):
            altered(name, "dtype", dtype)
        for a in NUMBERS:
            for b in NUMBERS:
                altered(name, "data_offsets", [a, b])
        for offsets in ([], [0], [0, 8, 16], None, "0,8", {"0": 8}):
            altered(name, "data_offsets", offsets)
        altered(name, "extra", 1)
    for key in ("dtype", "shape", "data_offsets"):
        wrong = copy.deepcopy(header)
        del wrong[names[0]][key]
        refused(joined(wrong, body))


@every_case
def test_arrays_that_overlap_leave_gaps_or_change_places_are_refused(case):
    header, body = parts(file_of(case))
    names = [n for n in header if n != "__metadata__"]
    for a in names:
        for b in names:
            if a < b and header[a]["shape"] == header[b]["shape"] and 0 not in header[a]["shape"]:
                wrong = copy.deepcopy(header)
                wrong[a]["data_offsets"], wrong[b]["data_offsets"] = (
                    header[b]["data_offsets"],
                    header[a]["data_offsets"],
                )
                spans = [body[slice(*header[n]["data_offsets"])] for n in (a, b)]
                if spans[0] != spans[1]:
                    refused(joined(wrong, body))
                wrong[a]["data_offsets"] = header[a]["data_offsets"]
                wrong[b]["data_offsets"] = header[a]["data_offsets"]
                refused(joined(wrong, body))
        gone = {k: v for k, v in header.items() if k != a}
        refused(joined(gone, body))
        refused(joined({**gone, "renamed": header[a]}, body))
        refused(joined({**header, "more": header[a]}, body))


@every_case
def test_headers_that_are_no_headers_are_refused(case):
    header, body = parts(file_of(case))
    for wrong in (None, [], "text", 3, {}, [header], {"__metadata__": {}}):
        refused(joined(wrong, body))
    for metadata in (
        None,
        [],
        "text",
        3,
        {},
        {"assay": 3},
        {"assay": None},
        {"assay": "{}"},
        {"sha256": "x"},
        {"assay": {"format": 1}},
    ):
        refused(joined({**header, "__metadata__": metadata}, body))
    text = json.dumps(header).encode()
    deep = b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    double = text[:-1] + b"," + text[1:]
    for wrong in (
        b"",
        b"{",
        text[:-1],
        text + b"}",
        b"\xff" + text,
        text.replace(b'"', b"'"),
        deep,
        double,
        text + b"\0",
        b"NaN",
    ):
        refused(joined(None, body, wrong))
    assert outcome(joined(None, body, text + b"   ")) == "loaded"


# --- the document, its hash made right again --------------------------------------------------------------------------

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
    doc = copy.deepcopy(doc)
    if not path:
        return value
    inside = doc
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return doc


def hostile_values(path, turn):
    """All values for what each model reads in its own way; where all read alike, the models take turns with them."""
    if path[:1] in (("params",), ("facts",)):
        return HOSTILE
    claimed = path[:1] == ("claims",) and len(path) > 2
    step = 7 if claimed else 9 if path[:1] == ("sha256",) else 4
    return HOSTILE[turn % step :: step]


@every_case
def test_every_field_of_the_document_with_every_hostile_value(case):
    data = file_of(case)
    doc = document(data)
    places = list(paths(doc))
    assert len(places) > 25
    start, count, loaded = time.perf_counter(), 0, 0
    for path in places:
        for value in hostile_values(path, ONCE.index(case)):
            count += 1
            loaded += outcome(with_document(data, altered(doc, path, value))) == "loaded"
    assert count > 300
    assert loaded < count / 2
    assert (time.perf_counter() - start) / count < 0.05


@every_case
def test_fields_that_are_missing_doubled_or_unknown_are_refused(case):
    data = file_of(case)
    doc = document(data)
    for key in doc:
        refused(with_document(data, {k: v for k, v in doc.items() if k != key}))
    refused(with_document(data, {**doc, "code": "print()"}))
    text = json.dumps(doc)
    refused(with_document(data, None, text[:-1] + ',"model":"qda"}'))
    refused(with_document(data, None, text.replace('"params": {', '"params": {"n_jobs": 2, "n_jobs": 1, ', 1)))
    refused(with_document(data, None, text[:-1] + ',"provenance":' + "[" * 100_000 + "]" * 100_000 + "}"))
    refused(with_document(data, {**doc, "format": 2}))
    refused(with_document(data, {**doc, "params": {**doc["params"], "n_jobs": 10**9}}))
    refused(with_document(data, {**doc, "params": {**doc["params"], "nothing": 1}}))


@every_case
def test_a_file_cannot_name_another_model(case):
    from assay.hypotheses import REGISTRY

    data = file_of(case)
    for name in (*REGISTRY, "os.system", "../x", "", "assay.learner:Learner"):
        if name != case.name:
            assert outcome(with_document(data, {**document(data), "model": name})) in ("refused", "loaded")
    refused(with_document(data, {**document(data), "model": "os.system"}))


CLASSES = [
    {"dtype": "str", "values": ["b", "a", "c"]},
    {"dtype": "str", "values": ["a", "a", "c"]},
    {"dtype": "str", "values": ["a", "b"]},
    {"dtype": "str", "values": []},
    {"dtype": "str", "values": ["a", 1, "c"]},
    {"dtype": "str", "values": ["a", "b", None]},
    {"dtype": "object", "values": ["a", "b", "c"]},
    {"dtype": "O", "values": ["a", "b", "c"]},
    {"dtype": "V99999999999", "values": [1, 2, 3]},
    {"dtype": "(1000000000,)f8", "values": [1, 2, 3]},
    {"dtype": "f8,f8", "values": [1, 2, 3]},
    {"dtype": "U999999999", "values": ["a", "b", "c"]},
    {"dtype": "M8[s]", "values": [1, 2, 3]},
    {"dtype": "|u1", "values": [1, 2, 300]},
    {"dtype": "|u1", "values": [-1, 2, 3]},
    {"dtype": "<i8", "values": [1, 2, 10**30]},
    {"dtype": "<i8", "values": [1, 2, 2.5]},
    {"dtype": "<f8", "values": ["1", "2", "3"]},
    {"dtype": "<i8", "values": [3, 2, 1]},
    {"dtype": "(", "values": [1, 2, 3]},
    {"dtype": "<i8 ", "values": [1, 2, 3]},
    {"dtype": "", "values": [1, 2, 3]},
]


@every_case
def test_classes_that_cannot_be_are_refused(case):
    data = file_of(case)
    for classes in CLASSES:
        refused(with_document(data, {**document(data), "classes": classes}))
    refused(
        with_document(
            data, {**document(data), "classes": None if case.classifies else {"dtype": "<i8", "values": [0, 1]}}
        )
    )


@every_case
def test_a_claim_altered_in_the_file_is_refused_by_verification_or_loading(case):
    X, y = case.rows()
    model = case.model().fit(X, y)
    data = encode(model.to_record())
    path = Memory.folder / "m.assay"
    doc = document(data)
    for number, claim in enumerate(doc["claims"]):
        if claim["kind"] != "proof":
            continue
        wrong = copy.deepcopy(doc)
        wrong["claims"][number]["witness"] = {}
        path.write_bytes(with_document(data, wrong))
        assert not load(path).certificate_.verify(X, y).holds, claim["name"]
        wrong = copy.deepcopy(doc)
        wrong["claims"][number]["check"] = "nothing"
        path.write_bytes(with_document(data, wrong))
        assert not load(path).certificate_.verify(X, y).holds
    path.write_bytes(with_document(data, {**doc, "claims": []}))
    assert not load(path).certificate_.verify(X, y).holds


# --- the arrays, their hashes made right again ------------------------------------------------------------------------

VALUES = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e-308, 1e308, 5e-324, -1e308, 0.5, 7.0]


@every_case
def test_every_array_with_every_hostile_value(case):
    data = file_of(case)
    names = [n for n, info in parts(data)[0].items() if n != "__metadata__" and 0 not in info["shape"]]
    for name in names:
        for value in VALUES:
            for place in (0, -1, slice(None)):

                def change(arrays, name=name, value=value, place=place):
                    a = arrays[name]
                    if a.dtype.kind == "f":
                        a.ravel()[place] = value
                    elif np.isfinite(value):
                        most = np.iinfo(a.dtype if a.dtype.kind in "iu" else np.uint8)
                        a.ravel()[place] = min(max(int(value), int(most.min)), int(most.max))
                    return arrays

                outcome(with_arrays(data, change))


@every_case
def test_every_array_of_another_type_or_shape_is_refused_or_not_needed(case):
    data = file_of(case)
    names = [n for n in parts(data)[0] if n != "__metadata__" and not n.startswith("witness.")]

    def reshaped(name, how):
        return lambda arrays: {**arrays, name: how(arrays[name])}

    for name in names:
        for dtype in ("<f4", "<i8", "|b1"):
            if np.dtype(dtype).kind != "i" or parts(data)[0][name]["dtype"] != "I64":
                refused(with_arrays(data, reshaped(name, lambda a, t=dtype: a.astype(t))))
        for how in (lambda a: a[..., None], lambda a: a.reshape(1, *a.shape)):
            refused(with_arrays(data, reshaped(name, how)))
        outcome(with_arrays(data, reshaped(name, lambda a: np.concatenate([a, a]))))
        outcome(with_arrays(data, reshaped(name, lambda a: a.ravel()[:0])))
        outcome(with_arrays(data, reshaped(name, lambda a: a[:-1])))
        outcome(with_arrays(data, lambda arrays, name=name: {n: a for n, a in arrays.items() if n != name}))
    refused(with_arrays(data, lambda arrays: {**arrays, "stranger": np.zeros(3)}))


@every_case
def test_a_model_whose_parts_were_altered_is_refused_by_its_certificate(case):
    """Even where the witness still tells the truth, it must be a witness about the parts that answer."""
    X, y = case.rows()
    model = case.model().fit(X, y)
    record = model.to_record()
    record.claims = [
        {**c, "witness": {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in c["witness"].items()}}
        for c in record.claims
    ]
    told = [id(v) for c in record.claims for v in c["witness"].values()]
    assert told
    altered_parts = 0
    for name, array in record.arrays.items():
        if name.startswith("state.") or array.dtype.kind != "f" or not array.size:
            continue
        wrong = array.copy()
        wrong.ravel()[0] = wrong.ravel()[0] * 0.9 + 0.01
        path = Memory.folder / "m.assay"
        path.write_bytes(encode(type(record)(**{**vars(record), "arrays": {**record.arrays, name: wrong}})))
        try:
            loaded = load(path)
        except ModelFileError:
            continue
        if np.array_equal(loaded.predict(X), model.predict(X)) and not hasattr(model, "predict_proba"):
            continue
        if hasattr(model, "predict_proba") and np.allclose(loaded.predict_proba(X), model.predict_proba(X)):
            continue
        altered_parts += 1
        assert not loaded.certificate_.verify(X, y).holds, name
    assert altered_parts


# --- random mutations of everything -----------------------------------------------------------------------------------

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


@every_case
@settings(max_examples=100)
@given(data=st.data())
def test_random_alterations_of_the_document_never_escape(case, data):
    original = file_of(case)
    doc = document(original)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(paths(doc))[1:]))
        doc = altered(doc, path, data.draw(json_values))
    outcome(with_document(original, doc))


@every_case
@settings(max_examples=100)
@given(data=st.data())
def test_random_alterations_of_the_header_never_escape(case, data):
    header, body = parts(file_of(case))
    header = altered(header, data.draw(st.sampled_from(list(paths(header))[1:])), data.draw(json_values))
    cut = data.draw(st.integers(0, len(body)))
    outcome(joined(header, data.draw(st.sampled_from([body, body[:cut], body[cut:], body + body[:cut]]))))


# --- memory and time --------------------------------------------------------------------------------------------------


def bombs():
    """Small files that ask for much."""
    data = file_of(CASES[IDS.index("gaussian-nb")])
    header, body = parts(data)
    doc = document(data)
    name = next(n for n in header if n != "__metadata__")
    for shape in ([2**40], [2**20, 2**20], [0, 2**45], [2**31, 2**31, 2**31, 2**31]):
        yield joined({**header, name: {**header[name], "shape": shape}}, body)
        yield joined(
            {
                **header,
                name: {
                    "dtype": "F64",
                    "shape": shape,
                    "data_offsets": [0, 8 * int(np.prod([float(s) for s in shape]))],
                },
            },
            body,
        )
    for count in (2**31, 2**40, 10**30):
        yield with_document(data, {**doc, "n_features": count})
        yield count.to_bytes(16, "little")[:8] + data[8:]
    yield with_document(
        data, {**doc, "classes": {"dtype": "str", "values": ["a" * 300_000, *(str(i) for i in range(20_000))]}}
    )
    yield with_document(data, {**doc, "classes": {"dtype": "V2000000000", "values": [0]}})
    yield with_document(data, {**doc, "classes": {"dtype": "U500000000", "values": ["a", "b"]}})
    yield with_document(data, {**doc, "names": ["x"] * 100_000})
    yield with_document(data, {**doc, "params": {**doc["params"], "var_smoothing": [0] * 100_000}})
    yield with_document(data, {**doc, "provenance": {"fingerprint": "0" * 1_000_000}})
    yield with_document(data, None, '{"a":' * 50_000 + "1" + "}" * 50_000)
    yield with_document(data, None, json.dumps(doc)[:-1] + ',"x":1' * 100_000 + "}")
    claim = doc["claims"][0] if doc["claims"] else None
    if claim is not None:
        yield with_document(data, {**doc, "claims": [claim] * 2_000})


def test_no_file_makes_us_reserve_more_than_its_size_can_explain():
    outcome(file_of(CASES[IDS.index("gaussian-nb")]))  # imports are not counted
    tracemalloc.start()
    try:
        for bomb in bombs():
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            start = time.perf_counter()
            path = Memory.folder / "bomb.assay"
            path.write_bytes(bomb)
            with contextlib.suppress(ModelFileError):
                load(path)
            peak = tracemalloc.get_traced_memory()[1] - before
            assert peak < 4_000_000 + 40 * len(bomb), (peak, len(bomb))
            assert time.perf_counter() - start < 5
    finally:
        tracemalloc.stop()


UNDER_LIMIT = """
import resource, sys
from pathlib import Path
import assay
from assay.errors import ModelFileError
assay.models()
limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + (192 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
count = 0
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        assay.load(path)
    except ModelFileError:
        pass
    count += 1
print(count, "hostutils" in sys.modules)
"""


def test_a_process_with_little_memory_survives_them_all(tmp_path):
    folder = tmp_path / "bombs"
    folder.mkdir()
    files = list(bombs())
    for i, bomb in enumerate(files):
        (folder / f"{i:03}.assay").write_bytes(bomb)
    run = subprocess.run([sys.executable, "-c", UNDER_LIMIT, str(folder)], capture_output=True, text=True, timeout=120)
    assert run.stdout.split()[:1] == [str(len(files))], run.stderr


def test_loading_runs_no_code_and_imports_nothing_that_the_file_names(tmp_path):
    import sys as system

    case = CASES[IDS.index("gaussian-nb")]
    (tmp_path / "evil.py").write_text("raise SystemExit('code was run')")
    system.path.insert(0, str(tmp_path))
    try:
        data = file_of(case)
        for name in ("evil:Evil", "evil", "assay.hypotheses.naive_bayes:GaussianNB"):
            refused(with_document(data, {**document(data), "model": name}))
            doc = document(data)
            for claim in doc["claims"]:
                claim["check"] = name
            assert outcome(with_document(data, doc)) == "loaded"
    finally:
        system.path.remove(str(tmp_path))
    assert "evil" not in system.modules
