"""The container is a safetensors file like any other, and equal contents give equal bytes."""

from __future__ import annotations

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.errors import ModelFileError
from assay.store.file import DTYPES, pack, unpack

arrays = st.dictionaries(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(lambda name: name != "__metadata__"),
    st.sampled_from(sorted(DTYPES.values())).flatmap(
        lambda dtype: hnp.arrays(np.dtype(dtype), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    ),
    max_size=4,
)


def same(a, b):
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes() for k in a
    )


@given(arrays=arrays, metadata=st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3))
def test_what_is_packed_is_what_is_unpacked(arrays, metadata):
    found, said = unpack(pack(arrays, metadata))
    assert same(found, arrays)
    assert said == metadata


@given(arrays=arrays)
def test_the_safetensors_library_reads_what_we_write(arrays):
    assert same(safetensors.numpy.load(pack(arrays, {"a": "b"})), arrays)


@given(arrays=arrays)
def test_we_read_what_the_safetensors_library_writes(arrays):
    data = safetensors.numpy.save(arrays, metadata={"format": "np"})
    found, metadata = unpack(data)
    assert same(found, arrays)
    assert metadata == {"format": "np"}


@given(arrays=arrays)
def test_the_bytes_do_not_depend_on_the_order_of_the_arrays(arrays):
    assert pack(arrays, {"b": "1", "a": "2"}) == pack(dict(reversed(arrays.items())), {"a": "2", "b": "1"})


def test_arrays_that_are_not_contiguous_are_packed_by_value():
    A = np.arange(12.0).reshape(3, 4)
    assert pack({"A": A.T}, {}) == pack({"A": A.T.copy()}, {})
    assert same(unpack(pack({"A": A[:, ::2]}, {}))[0], {"A": A[:, ::2]})


@pytest.mark.parametrize("dtype", [complex, "U3", object, "datetime64[s]", ">f8", np.float16])
def test_types_that_no_model_uses_cannot_be_packed(dtype):
    with pytest.raises(ModelFileError, match="cannot hold"):
        pack({"a": np.zeros(2).astype(dtype)}, {})


def test_unpacked_arrays_can_be_written_to():
    found, _ = unpack(pack({"a": np.zeros(3)}, {}))
    found["a"][0] = 1.0
    assert found["a"].flags.owndata
