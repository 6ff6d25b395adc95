"""A record comes out of the file as it went in."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ModelFileError
from assay.store import Record, decode, encode
from assay.store.file import from_plain, to_plain

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.text(st.characters(codec="utf-8"), max_size=6),
)
plain = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=4),
        st.dictionaries(st.integers(-5, 5), inner, max_size=4),
    ),
    max_leaves=12,
)


def record(**more):
    return Record(**{"model": "gaussian-nb", "params": {}, "n_features": 2, "arrays": {"a": np.arange(3.0)}, **more})


def same(a, b):
    if isinstance(a, float) and math.isnan(a):
        return isinstance(b, float) and math.isnan(b)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


@given(value=plain)
def test_plain_values_survive_the_file(value):
    again = decode(encode(record(params={"p": value}, facts={"f": value}, provenance={"q": value})))
    assert same(again.params["p"], value)
    assert same(again.facts["f"], value)
    assert same(again.provenance["q"], value)
    assert same(from_plain(to_plain(value)), value)


@given(value=plain)
def test_equal_records_give_equal_bytes(value):
    first = encode(record(params={"p": value, "a": 1}))
    assert encode(record(params={"a": 1, "p": value})) == first
    assert encode(decode(first)) == first


@pytest.mark.parametrize(
    "classes",
    [
        np.array(["a", "bc"]),
        np.array(["a", "b\0"], dtype=object),
        np.array(["", "\u00e9"], dtype=object),
        np.array([0, 5]),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([-1.5, 2.0]),
        np.array([-1.5, 2.0], dtype=np.float32),
        np.array([False, True]),
        np.array([-3, 4], dtype=np.int8),
    ],
    ids=str,
)
def test_classes_of_every_kind_survive_the_file(classes):
    again = decode(encode(record(classes=classes))).classes
    assert again.tolist() == classes.tolist()
    assert again.dtype.kind == classes.dtype.kind or classes.dtype.kind in "OU"


@pytest.mark.parametrize(
    "classes", [np.array([1, "a"], dtype=object), np.array([1j, 2]), np.array(["2020", "2021"], "M8[Y]")], ids=str
)
def test_classes_that_are_no_labels_cannot_be_saved(classes):
    with pytest.raises(ModelFileError):
        encode(record(classes=classes))


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", print, 1j, {"a": [object()]}, "\ud800"])
def test_what_is_not_plain_data_cannot_be_saved(value):
    with pytest.raises(ModelFileError, match="cannot hold"):
        encode(record(params={"p": value}))


@given(value=st.floats(), bound=st.one_of(st.none(), st.floats()))
def test_claims_survive_the_file(value, bound):
    array, own = np.arange(4), np.arange(3.0)
    claim = {
        "name": "n",
        "statement": "s",
        "holds": True,
        "check": "c",
        "value": value,
        "bound": bound,
        "kind": "proof",
    }
    claim["witness"] = {
        "x": value,
        "far": array,
        "own": own,
        "table": {0: 1.5},
        "flag": np.bool_(True),
        "k": np.int64(3),
    }
    again = decode(encode(record(arrays={"a": own}, claims=[claim])))
    assert set(again.arrays) == {"a"}
    found = again.claims[0]
    assert same(found["value"], value)
    assert same(found["bound"], bound)
    assert found["witness"]["own"] is again.arrays["a"]  # a part of the model is stored once
    assert np.array_equal(found["witness"]["far"], array)
    assert found["witness"]["table"] == {0: 1.5}
    assert found["witness"]["flag"] is True
    assert encode(again) == encode(record(arrays={"a": own}, claims=[claim]))
