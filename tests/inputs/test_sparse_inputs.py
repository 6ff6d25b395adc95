"""Sparse matrices at the public edge: any kind becomes canonical CSR without a change to the user's object, or an error."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from cases import CASES, IDS

from assay import GaussianNB, LinearDiscriminantAnalysis, MultinomialNB
from assay.engines.rows import SparseRows
from assay.errors import DataError, DataTypeError
from assay.inputs import as_rows, refuse_non_finite, refuse_overflow
from assay.inputs.rows import as_sparse

DENSE = np.random.default_rng(5).integers(-3, 4, (30, 12)) * (np.random.default_rng(6).random((30, 12)) < 0.3)


def is_canonical(m):
    lines = np.split(m.indices, m.indptr[1:-1])
    return (
        m.indices.dtype == np.int32
        and m.indptr.dtype == np.int64
        and m.indptr[0] == 0
        and all(np.all(np.diff(line) > 0) for line in lines)
        and np.all(m.data != 0)
    )


@pytest.mark.parametrize("array", [True, False], ids=["array", "matrix"])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_every_kind_of_sparse_matrix(kind, array):
    made = (sp.csr_array if array else sp.csr_matrix)(DENSE.astype(np.float64)).asformat(kind)
    found = as_sparse(made)
    assert np.array_equal(found.toarray(), DENSE)
    assert is_canonical(found)
    assert found.shape == DENSE.shape
    assert len(found) == 30


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble, np.int8, np.uint16, np.int64, bool])
def test_single_precision_stays_and_other_numbers_become_double(dtype):
    made = sp.csr_array(np.abs(DENSE)).astype(dtype)
    found = as_sparse(made)
    assert found.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert np.array_equal(found.toarray(), made.toarray().astype(np.float64))


def test_what_is_canonical_is_not_copied():
    made = sp.csr_matrix(DENSE.astype(np.float64))
    found = as_sparse(made)
    assert np.shares_memory(found.data, made.data)
    assert np.shares_memory(found.indices, made.indices)


def untidy():
    """Row 0 has a duplicate and wrong order, row 1 is empty, row 2 keeps a zero and two entries that cancel."""
    data = np.array([1.0, 2.0, 4.0, 0.0, 5.0, -5.0, 3.0])
    indices = np.array([3, 0, 3, 2, 1, 1, 0])
    return sp.csr_matrix((data, indices, np.array([0, 3, 3, 7])), shape=(3, 4))


def test_duplicates_order_and_kept_zeros_are_settled_on_a_copy():
    made = untidy()
    before = [a.copy() for a in (made.data, made.indices, made.indptr)]
    found = as_sparse(made)
    assert is_canonical(found)
    assert found.toarray().tolist() == [[2, 0, 0, 5], [0, 0, 0, 0], [3, 0, 0, 0]]
    assert all(np.array_equal(a, b) for a, b in zip(before, (made.data, made.indices, made.indptr)))


def test_scipys_own_notes_on_a_matrix_are_not_believed():
    made = untidy()
    made.has_canonical_format = True
    assert is_canonical(as_sparse(made))


def test_small_integers_do_not_overflow_when_duplicates_are_summed():
    made = sp.coo_array((np.full(3, 100, dtype=np.int8), ([0, 0, 0], [1, 1, 1])), shape=(1, 2))
    csr = sp.csr_array((np.full(3, 100, dtype=np.int8), np.array([1, 1, 1]), np.array([0, 3])), shape=(1, 2))
    assert as_sparse(csr).toarray().tolist() == [[0, 300]]
    assert as_sparse(made).toarray().tolist() == [[0, 300]]


def test_int64_indices_are_taken_and_too_many_columns_refused():
    made = sp.csr_array(DENSE.astype(np.float64))
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    assert np.array_equal(as_sparse(made).toarray(), DENSE)
    wide = sp.coo_array(([1.0], ([0], [1 << 31])), shape=(1, 1 << 32))
    with pytest.raises(DataError, match="columns, and sparse rows take at most"):
        as_sparse(wide)


def broken(**arrays):
    made = sp.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 5]]))
    for name, value in arrays.items():
        setattr(made, name, np.asarray(value))
    return made


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indices": [0, 2, 1, 0, 3]}, "row 2 names the column 3"),
        ({"indices": [0, 2, -1, 0, 2]}, "row 1 names the column -1"),
        ({"indices": [0, 1 << 30, 1, 0, 2]}, "row 0 names the column 1073741824"),
        ({"indptr": [0, 3, 2, 5]}, "indptr falls at row 1"),
        ({"indptr": [1, 2, 3, 5]}, "begins with 1"),
        ({"indptr": [0, 2, 3, 50]}, "row 2 ends at entry 50"),
        ({"indptr": [0, 2, 3]}, "indptr has shape"),
        ({"indices": [0, 2, 1, 0]}, "5 values and 4 indices"),
        ({"data": [1.0, 2.0]}, "2 values and 5 indices"),
        ({"indices": [0.0, 2.0, 1.0, 0.0, 2.0]}, "whole numbers"),
    ],
)
def test_broken_matrices_are_refused_before_anything_reads_by_them(arrays, message):
    with pytest.raises(DataError, match=message):
        MultinomialNB().fit(broken(**arrays), [0, 1, 0])


def test_broken_matrices_of_other_kinds():
    made, other = broken(indices=[0, 2, 1, 0, 9]), sp.csc_matrix((3, 3))
    other.data, other.indices, other.indptr = made.data, made.indices, made.indptr
    with pytest.raises(DataError, match="column 2 names the row 9"):
        as_sparse(other)
    pairs = sp.coo_matrix(DENSE)
    pairs.row = pairs.row.copy()
    pairs.row[4] = 77
    with pytest.raises(DataError, match="entry 4 names the row 77"):
        as_sparse(pairs)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (sp.csr_matrix((0, 3)), r"0 sample\(s\)"),
        (sp.csr_matrix((3, 0)), r"0 feature\(s\)"),
        (sp.csr_matrix(DENSE + 1j), "Complex data not supported"),
        (sp.coo_array(np.array([1.0, 0, 2])), "Expected 2D array"),
    ],
)
def test_matrices_that_cannot_be_used(X, message):
    with pytest.raises(DataError, match=message):
        GaussianNB().fit(X, np.zeros(X.shape[0]))


def test_objects_are_refused():
    made = sp.csr_matrix(DENSE)
    made.data = made.data.astype(object)
    with pytest.raises(DataTypeError, match="not numbers"):
        as_sparse(made)


@pytest.mark.filterwarnings("ignore:.*with the loss still falling.*")
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_models_that_do_not_take_sparse_rows_say_what_to_do(case):
    X, y = case.rows()
    if case.model().__sklearn_tags__().input_tags.sparse:
        assert case.model().fit(sp.csr_matrix(X), y).predict(sp.csc_array(X)).shape == y.shape
        return
    with pytest.raises(DataTypeError, match=r"X\.toarray\(\)"):
        case.model().fit(sp.csr_matrix(X), y)
    with pytest.raises(DataTypeError, match=r"X\.toarray\(\)"):
        case.model().fit(X, y).predict(sp.csr_matrix(X))


def test_sparse_rows_are_refused_where_a_model_takes_arrays_only():
    with pytest.raises(DataTypeError, match="toarray"):
        LinearDiscriminantAnalysis().fit(SparseRows(as_sparse(sp.csr_matrix(DENSE)), np.arange(30) % 2))


def test_cells_that_are_not_finite_are_named():
    made = sp.lil_array(DENSE.astype(np.float64))
    made[7, 3] = np.inf
    made[9, 1] = np.nan
    kept = as_sparse(made)
    with pytest.raises(DataError, match=r"infinity .* \(first in row 107, column 3\)"):
        refuse_non_finite(kept, 100)
    with pytest.raises(DataError, match=r"NaN .*row 1, column 'b'"):
        refuse_non_finite(kept[8:], 0, list("abcdefghijkl"))
    refuse_non_finite(kept[8:], 0, nan=False)
    with pytest.raises(DataError, match="Column 3 holds values as large as 1e"):
        refuse_overflow(kept.with_data(np.where(np.isinf(kept.data), 1e200, kept.data)))


def test_targets_and_weights_are_checked_as_for_arrays():
    X = sp.csr_matrix(DENSE)
    rows = as_rows(X, np.arange(30), np.ones(30), sparse=True)
    assert (rows.n_rows, rows.n_columns, rows.sparse, rows.has_target, rows.has_weight) == (30, 12, True, True, True)
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        as_rows(X, np.arange(29), sparse=True)
    with pytest.raises(DataError, match="one weight a row"):
        as_rows(X, np.arange(30), np.ones(3), sparse=True)


def test_importing_assay_does_not_import_scipy_sparse():
    code = "import assay, sys; from assay.inputs import as_rows; assert 'scipy.sparse' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
