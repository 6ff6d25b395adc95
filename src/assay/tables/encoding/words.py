"""Text as counts of hashed words: any text fits into the same columns, and nothing has to be learnt before.

count(row, bucket) = number of the row's words whose hash falls into the bucket
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from assay.engines.csr import SparseMatrix, pointers_of
from assay.numerics import Array

BUCKETS = 1 << 15
NOT_A_WORD = r"[^\pL\pN_]+"


def word_counts(column: Any) -> SparseMatrix:
    """(m, BUCKETS): words are stretches of two or more letters, digits and underscores, in lower case; missing text has none.

    >>> word_counts(pa.chunked_array([["Free prize, free!", None]])).data.tolist()
    [1.0, 2.0]
    """
    text = compute.utf8_lower(compute.fill_null(column.cast(pa.large_string()), ""))
    rows, words = _split(text)
    encoded = words.dictionary_encode()
    hashes = np.array([zlib.crc32(w.encode()) % BUCKETS for w in encoded.dictionary.to_pylist()], dtype=np.int64)
    code = np.asarray(encoded.indices, dtype=np.int64)
    at, counts = np.unique(rows * BUCKETS + hashes[code] if len(code) else np.empty(0, np.int64), return_counts=True)
    lengths = np.bincount(at // BUCKETS, minlength=len(text))
    return SparseMatrix(counts.astype(np.float64), (at % BUCKETS).astype(np.int32), pointers_of(lengths), BUCKETS)


def _split(text: Any) -> tuple[Array, Any]:
    """(row of each word, the words)."""
    lists = compute.split_pattern_regex(text, NOT_A_WORD)
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    rows = np.repeat(np.arange(len(lists)), np.asarray(compute.list_value_length(lists)))
    words = lists.flatten()
    long = compute.greater_equal(compute.utf8_length(words), 2)
    return rows[np.asarray(long)], words.filter(long)
