"""Text and categories as sparse columns: words (of strings stretches of letters) counted in hashed buckets and weighed, one column a category, all side by side.

    count(row, bucket) = number of the row's words whose hash falls into the bucket
    tf·idf = count · (1 + log((1 + n)/(1 + documents with the word))),  then each row's words to length 1

Any text fits into the same columns, and nothing has to be learnt before. A bucket is called by the frequent words that fall into it,
which the schema knows: review: "excellent", "film".
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from assay.engines.csr import SparseMatrix, pointers_of
from assay.numerics import Array, Floats

BUCKETS = 1 << 15
NARROW = 256  # columns of words for models that take dense rows only
NOT_A_WORD = r"[^\pL\pN_]+"
MOST_SHOWN = 3  # words in the name of a bucket
GRAMS = (3, 4)
LONGEST = 256  # letters of a string that are looked at


def term_counts(column: Any, kind: str) -> SparseMatrix:
    """(m, BUCKETS): words of texts, stretches of letters of strings; what is missing has none.

    >>> term_counts(pa.chunked_array([["Free prize, free!", None]]), "text").data.tolist()
    [1.0, 2.0]
    """
    rows, words = terms_in(column, kind)
    encoded = words.dictionary_encode()
    hashes = np.array([bucket_of(w) for w in encoded.dictionary.to_pylist()], dtype=np.int64)
    code = np.asarray(encoded.indices, dtype=np.int64)
    at, counts = np.unique(rows * BUCKETS + hashes[code] if len(code) else np.empty(0, np.int64), return_counts=True)
    lengths = np.bincount(at // BUCKETS, minlength=len(column))
    return SparseMatrix(counts.astype(np.float64), (at % BUCKETS).astype(np.int32), pointers_of(lengths), BUCKETS)


def bucket_of(word: str) -> int:
    """The bucket that a word falls into."""
    return zlib.crc32(word.encode()) % BUCKETS


def terms_in(column: Any, kind: str) -> tuple[Array, Any]:
    """(row of each term, the terms) of a column of the kind "text" or "string"."""
    return _letters_in(column) if kind == "string" else _words_in(column)


def _letters_in(column: Any) -> tuple[Array, Any]:
    """Stretches of 3 and 4 letters; every different string is taken apart once."""
    encoded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    pieces = [n_grams(value) for value in encoded.dictionary.to_pylist()]
    codes = np.asarray(compute.fill_null(encoded.indices, -1), dtype=np.int64)
    present = np.flatnonzero(codes >= 0)
    lengths = np.array([len(piece) for piece in pieces], dtype=np.int64)
    first = pointers_of(lengths)
    many = lengths[codes[present]]
    at = np.arange(many.sum()) + np.repeat(first[codes[present]] - pointers_of(many)[:-1], many)
    terms = pa.array([gram for piece in pieces for gram in piece], pa.large_string())
    return np.repeat(present, many), terms.take(pa.array(at))


def n_grams(value: str) -> list[str]:
    """Stretches of 3 and 4 letters within the words of a string, whose ends are marked.

    >>> n_grams("PC 17")
    ['_pc', 'pc_', '_pc_', '_17', '17_', '_17_']
    """
    words = [f"_{word}_" for word in value[:LONGEST].lower().split()]
    return [word[i : i + n] for word in words for n in GRAMS for i in range(len(word) - n + 1)]


def _words_in(column: Any) -> tuple[Array, Any]:
    """Words are stretches of two or more letters, digits and underscores, in lower case."""
    text = compute.utf8_lower(compute.fill_null(column.cast(pa.large_string()), ""))
    lists = compute.split_pattern_regex(text, NOT_A_WORD)
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    rows = np.repeat(np.arange(len(lists)), np.asarray(compute.list_value_length(lists)))
    words = lists.flatten()
    long = compute.greater_equal(compute.utf8_length(words), 2)
    return rows[np.asarray(long)], words.filter(long)


def bucket_names(column: str, words: Iterable[str], known: Array, narrow: int | None = None) -> list[str]:
    """What the `known` buckets of a column are called: by the words in them, the most frequent first, else by their number.

    `narrow`: the buckets are folded into that many, all of which are named.

    >>> bucket_names("review", ["good", "film"], np.array([bucket_of("film"), 9]))
    ['review: "film"', 'review#9']
    """
    if narrow is None:
        named = _names_of_buckets(column, tuple(words))
        return [named.get(k) or f"{column}#{k}" for k in known.tolist()]
    there = set(known.tolist())
    inside = words_of_buckets((word for word in words if bucket_of(word) in there), narrow)
    return [f"{column}: {_listed(inside[k])}" if k in inside else f"{column}#{k}" for k in range(narrow)]


@lru_cache(maxsize=64)
def _names_of_buckets(column: str, words: tuple[str, ...]) -> dict[int, str]:
    """Found once for all fits: each learns an encoding of its own, with the same words."""
    return {bucket: f"{column}: {_listed(inside)}" for bucket, inside in words_of_buckets(words).items()}


def words_of_buckets(words: Iterable[str], buckets: int = BUCKETS) -> dict[int, list[str]]:
    """The words in each bucket, in their order."""
    inside: dict[int, list[str]] = {}
    for word in words:
        inside.setdefault(bucket_of(word) % buckets, []).append(word)
    return inside


def _listed(words: list[str]) -> str:
    more = ["…"] if len(words) > MOST_SHOWN else []
    return ", ".join([f'"{word}"' for word in words[:MOST_SHOWN]] + more)


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


def one_hot_sparse(place: Array, width: int) -> SparseMatrix:
    """A one in the column place[i] of row i; −1: none."""
    kept = place >= 0
    return SparseMatrix(
        np.ones(int(kept.sum())), place[kept].astype(np.int32), pointers_of(kept.astype(np.int64)), width
    )


def hstack(dense: Floats, pieces: Sequence[SparseMatrix]) -> SparseMatrix:
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
