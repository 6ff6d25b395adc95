"""Bytes and headers of files made to do harm: each is refused with a `ModelFileError`."""

from __future__ import annotations

import copy
import json
import random
from itertools import product

from cases import CASES, IDS
from hypothesis import given, settings
from hypothesis import strategies as st
from store.hostile import ONCE, altered, every_case, file_of, joined, json_values, outcome, parts, paths, refused


@every_case
def test_the_untouched_file_loads(case):
    assert outcome(file_of(case)) == "loaded"


@every_case
def test_every_single_byte_matters(case):
    """A changed byte is refused unless it is a blank or lies in the metadata's own syntax without changing its meaning."""
    data = bytearray(file_of(case))
    rng = random.Random(0)
    for at in sorted(rng.sample(range(len(data)), min(len(data), 100))):
        wrong = data.copy()
        wrong[at] ^= 1 << rng.randrange(8)
        refused(bytes(wrong))


@every_case
def test_every_truncation_and_addition_is_refused(case):
    data = file_of(case)
    for end in {0, 1, 7, 8, 9, 100, *range(0, len(data), 331), len(data) - 1}:
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

    filled = [n for n in names if len(set(header[n]["data_offsets"])) == 2]  # an array of no bytes may lie anywhere
    for name in (filled[0], filled[-1]):
        for shape in SHAPES:
            altered(name, "shape", shape)
        for dtype in ("F32", "F16", "I64", "BOOL", "U8", "object", "O", "<f8", "", "V8", "C64", None, 8, [], {}):
            altered(name, "dtype", dtype)
        for a, b in list(product(NUMBERS, NUMBERS))[
            ONCE.index(case) % 5 :: 5
        ]:  # all models read alike: they take turns
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


@every_case
@settings(max_examples=30)
@given(data=st.data())
def test_random_alterations_of_the_header_never_escape(case, data):
    header, body = parts(file_of(case))
    header = altered(header, data.draw(st.sampled_from(list(paths(header))[1:])), data.draw(json_values))
    cut = data.draw(st.integers(0, len(body)))
    outcome(joined(header, data.draw(st.sampled_from([body, body[:cut], body[cut:], body + body[:cut]]))))
