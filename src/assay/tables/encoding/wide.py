"""Wide columns as sparse rows: one column a category, weighed words, and the joining of such pieces.

tf·idf = count · (1 + log((1 + n)/(1 + documents with the word))),  then each row's words to length 1
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.engines.csr import SparseMatrix, pointers_of
from assay.numerics import Array, Floats
from assay.tables.encoding.words import BUCKETS

NARROW = 256  # columns of words for models that take dense rows only


def one_hot_sparse(place: Array, width: int) -> SparseMatrix:
    """A one in the column place[i] of row i; −1: none."""
    kept = place >= 0
    return SparseMatrix(
        np.ones(int(kept.sum())), place[kept].astype(np.int32), pointers_of(kept.astype(np.int64)), width
    )


def tf_idf(words: SparseMatrix, documents: Array, n: int, texts: int) -> SparseMatrix:
    """The counts weighed by how rare a word is; the words of each of the text columns have length 1 in a row."""
    idf = 1.0 + np.log((1.0 + n) / (1.0 + documents))
    data = words.data * idf[words.indices]
    group = words.row_numbers() * texts + words.indices // BUCKETS
    length = np.sqrt(np.bincount(group, weights=data * data, minlength=len(words) * texts))
    return words.with_data(data / length[group])


def hashed_narrow(words: SparseMatrix, texts: int) -> Floats:
    """The weighed words folded into NARROW columns a text column, each row again of length 1."""
    out = np.zeros((len(words), texts, NARROW))
    np.add.at(out, (words.row_numbers(), words.indices // BUCKETS, words.indices % NARROW), words.data)
    length = np.sqrt(np.einsum("itk,itk->it", out, out))
    out /= np.where(length > 0, length, 1.0)[:, :, None]
    return out.reshape(len(words), NARROW * texts)


def beside(dense: Floats, pieces: Sequence[SparseMatrix]) -> SparseMatrix:
    """One matrix of dense columns and sparse pieces side by side."""
    rows, columns = np.nonzero(dense)
    row, column, data = [rows], [columns], [dense[rows, columns].astype(np.float64)]
    width = dense.shape[1]
    for piece in pieces:
        row.append(piece.row_numbers())
        column.append(piece.indices.astype(np.int64) + width)
        data.append(piece.data)
        width += piece.n_columns
    at = np.concatenate(row)
    order = np.argsort(at, kind="stable")  # pieces lie in the order of their columns: a stable sort keeps that
    lengths = np.bincount(at, minlength=len(dense))
    values, places = np.concatenate(data)[order], np.concatenate(column)[order].astype(np.int32)
    return SparseMatrix(values, places, pointers_of(lengths), width)
