"""Sparse rows: the matrix behaves like its array, the blocks are of fixed size, the fingerprint tells matrices apart."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from assay.engines import Block, SparseMatrix, SparseRows, rechunk, split_rows
from assay.engines.csr import stack
from assay.engines.fingerprint import leaf_of
from assay.engines.rows import SPARSE_BLOCK
from assay.inputs.rows import as_sparse


def made(n=40, d=9, seed=0, density=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    return as_sparse(sp.csr_matrix(X)), X


def same(m, X):
    assert m.indptr[0] == 0
    assert (m.indices.dtype, m.indptr.dtype) == (np.int32, np.int64)
    assert m.shape == X.shape
    assert np.array_equal(m.toarray(), X)
    again = sp.csr_matrix(X)
    assert np.array_equal(m.indices, again.indices)
    return True


@given(st.slices(40))
def test_slices_are_those_of_the_array(cut):
    m, X = made()
    assert same(m[cut], X[cut])


@given(st.lists(st.booleans(), min_size=40, max_size=40), st.lists(st.integers(-40, 39)), st.sets(st.integers(0, 8)))
def test_masks_row_numbers_and_columns_too(mask, numbers, columns):
    m, X = made()
    assert same(m[np.array(mask)], X[np.array(mask)])
    numbers = np.array(numbers, dtype=int)
    assert same(m[numbers], X[numbers])
    wanted = np.array(sorted(columns), dtype=int)
    assert same(m.columns(wanted), X[:, wanted])


def test_a_slice_shares_its_entries_and_travels_alone():
    m, X = made(4000)
    part = m[10:12]
    assert np.shares_memory(part.data, m.data)
    sent = pickle.dumps(part, protocol=5)
    assert len(sent) < 2000
    assert same(pickle.loads(sent), X[10:12])


def test_stacking_and_cutting_anew():
    m, X = made()
    assert same(stack([m[:7], m[7:7], m[7:]]), X)
    pieces = [(m[a : a + 7], np.arange(a, min(40, a + 7)), None) for a in range(0, 40, 7)]
    blocks = list(rechunk(iter(pieces), 16))
    assert [len(b.X) for b in blocks] == [16, 16, 8]
    assert all(same(b.X, X[b.start : b.start + 16]) and b.y[0] == b.start for b in blocks)


def test_a_matrix_cannot_be_assigned_to():
    with pytest.raises(AttributeError):
        made()[0].data = np.zeros(3)


def test_blocks_at_odd_addresses_are_settled():
    m, X = made()
    odd = np.frombuffer(b"x" + m.data.tobytes(), dtype=np.float64, offset=1)
    assert not odd.flags.aligned
    block = Block(m.with_data(odd), None, None, 0).load()
    assert block.X.data.flags.aligned
    assert same(block.X, X)


@pytest.mark.parametrize("n", [1, SPARSE_BLOCK, SPARSE_BLOCK + 1, 2 * SPARSE_BLOCK + 3])
def test_blocks_have_a_fixed_number_of_rows_whatever_the_columns(n):
    X = SparseMatrix(np.ones(n), np.zeros(n, np.int32), np.arange(n + 1), 100_000)
    rows = SparseRows(X, np.arange(n), np.ones(n))
    blocks = [part.load() for part in rows.blocks()]
    assert rows.sparse
    assert [b.start for b in blocks] == list(range(0, n, SPARSE_BLOCK))
    assert np.array_equal(np.concatenate([b.y for b in blocks]), np.arange(n))
    assert sum(len(b.X) for b in blocks) == n
    assert np.array_equal(np.concatenate([part.load().y for part in rows.targets()]), np.arange(n))


def test_a_split_is_that_of_the_array():
    m, X = made(500)
    y = np.arange(500)
    from assay.engines import ArrayRows

    for sparse, dense in zip(split_rows(SparseRows(m, y), 0.3, 7), split_rows(ArrayRows(X, y), 0.3, 7)):
        assert same(sparse.X, dense.X)
        assert np.array_equal(sparse.y, dense.y)


class TestFingerprint:
    def test_it_depends_on_every_number_and_place(self):
        m, X = made(200)
        y, w = np.arange(200.0), np.ones(200)
        marks = {leaf_of(m, y, None), leaf_of(m, y, w), leaf_of(m, None, w), leaf_of(m[:199], y[:199], None)}
        other = m.data.copy()
        other[17] = np.nextafter(other[17], 9)
        marks |= {leaf_of(m.with_data(other), y, None), leaf_of(m[::-1], y, None)}
        moved = X.copy()
        moved[[3, 4]] = moved[[4, 3]]
        marks |= {leaf_of(as_sparse(sp.csr_matrix(moved)), y, None), leaf_of(m.with_data(m.data.astype("f4")), y, None)}
        marks |= {leaf_of(SparseMatrix(m.data, m.indices, m.indptr, 10), y, None), leaf_of(X, y, None)}
        assert len(marks) == 10

    def test_the_same_matrix_has_the_same_mark_whatever_it_came_as(self):
        _, X = made(200)
        marks = {leaf_of(as_sparse(sp.csr_array(X).asformat(k)), None, None) for k in ("csr", "csc", "coo", "lil")}
        assert len(marks) == 1
