"""Text as a few dense columns, for models that take no sparse rows: latent semantic analysis (Deerwester et al. 1990).

    A (m, b)   the weighed words of a column of text in the rows of the fit (`words.tf_idf`)
    V (b, k)   orthonormal directions of greatest ‖A v‖², by subspace iteration from random ones (Halko, Martinsson and Tropp 2011)
    a row becomes a V: k ≤ 30 numbers

V is learnt from at most 16 384 rows of the fit, evenly spread: they are gathered in one fold, in the order of the rows, and all the
rest is done where they are gathered. Hence the same bits on every engine, and one pass more whatever the number of steps.
"""

from __future__ import annotations

import base64
import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.engines.csr import SparseMatrix, stack
from assay.engines.engine import one_thread_blas
from assay.numerics import Array, Floats
from assay.tables.encoding.columns import ColumnGroups, EncodingStatistics, TextComponents
from assay.tables.encoding.words import BUCKETS, tf_idf, words_of_buckets

MOST_COMPONENTS = 30
ROWS_A_COMPONENT = 20  # fewer rows than this to a component, and the last ones are noise
MOST_GATHERED = 1 << 14
MOST_BUCKETS = 1 << 13  # of a column, the most frequent: they bound the model file
FEWEST_ROWS = 2  # of the fit in which a word must occur to count
OVERSAMPLED, ITERATIONS = 10, 8
NOTHING = 1e-12  # a share of the greatest squared length below which a direction is rounding
MOST_NAMED = 3  # words in the name of a component


def components_of(
    engine: Engine, groups: ColumnGroups, statistics: EncodingStatistics, rows: Rows
) -> tuple[TextComponents, ...]:
    """The components of each column of text, learnt from the rows of the fit; the same bits on every engine."""
    if not groups.texts:
        return ()
    gather = _Gather(groups, statistics.documents, statistics.n)
    sample = fold(engine, rows.blocks(), gather, _below)
    assert sample is not None
    with one_thread_blas():
        return tuple(_learnt(sample, statistics, t) for t in range(len(groups.texts)))


def stride_of(n: int) -> int:
    """Every how many rows of the fit one is gathered."""
    return -(-n // MOST_GATHERED)


def due_components(rows: int) -> int:
    """How many components are learnt from so many rows, at most.

    >>> [due_components(n) for n in (5, 200, 100_000)]
    [1, 10, 30]
    """
    return max(1, min(MOST_COMPONENTS, rows // ROWS_A_COMPONENT))


@dataclass(frozen=True)
class _Gather:
    """The weighed words of every s-th row."""

    groups: ColumnGroups
    documents: Array
    n: int

    def __call__(self, block: Block) -> SparseMatrix:
        step = stride_of(self.n)
        words = self.groups.expand(block.X[np.arange(-block.start % step, len(block.X), step)]).words
        assert words is not None
        return weighed(words, self.documents, self.n, len(self.groups.texts))


def _below(a: SparseMatrix, b: SparseMatrix) -> SparseMatrix:
    return stack([a, b])


def weighed(words: SparseMatrix, documents: Array, n: int, texts: int) -> SparseMatrix:
    """The known words weighed; the others are dropped before the rest is brought to length 1."""
    return tf_idf(words.keep((documents >= FEWEST_ROWS)[words.indices]), documents, n, texts)


def _learnt(sample: SparseMatrix, statistics: EncodingStatistics, t: int) -> TextComponents:
    documents = statistics.documents[t * BUCKETS : (t + 1) * BUCKETS]
    order = np.lexsort((np.arange(BUCKETS), -documents))[:MOST_BUCKETS]
    buckets = np.sort(order[documents[order] >= FEWEST_ROWS])
    A = as_csr(sample.columns(t * BUCKETS + buckets))
    V = _directions(A, min(due_components(len(sample)), len(buckets))).astype(np.float32)
    Z = A @ V.astype(np.float64)
    mean = Z.mean(axis=0)
    return TextComponents(buckets, V, mean, spread_of(Z, mean))


def as_csr(words: SparseMatrix) -> Any:
    """The matrix as SciPy's, whose products go row by row in a fixed order."""
    from scipy.sparse import csr_array

    return csr_array((words.data, words.indices, words.indptr), shape=words.shape)


def spread_of(Z: Floats, mean: Floats) -> float:
    """The root of the sum of all variances: a text then weighs as much as one number of deviation 1."""
    total = float(np.sqrt(((Z - mean) ** 2).sum() / max(len(Z), 1)))
    return total if total > 0 else 1.0


def _directions(A: Any, k: int) -> Floats:
    """(b, ≤ k): the leading right singular vectors of A, the greatest first; the largest entry of each is positive."""
    if k == 0 or not A.nnz:
        return np.empty((A.shape[1], 0))
    start = np.random.default_rng(0).standard_normal((A.shape[1], min(A.shape[1], k + OVERSAMPLED)))
    Q = np.linalg.qr(start)[0]
    for _ in range(ITERATIONS):
        Q = np.linalg.qr(A.T @ (A @ Q))[0]
    B = A @ Q
    values, U = np.linalg.eigh(B.T @ B)
    kept = np.argsort(-values, kind="stable")[:k]
    V = Q @ U[:, kept[values[kept] > NOTHING * values[-1]]]
    largest = np.argmax(np.abs(V), axis=0)
    return np.asarray(V * np.where(V[largest, np.arange(V.shape[1])] < 0, -1.0, 1.0))


def projected(known: SparseMatrix, texts: tuple[TextComponents, ...], scaled: bool) -> Floats:
    """The dense columns of weighed words; `scaled`: with mean 0, and all those of a text together with deviation 1."""
    pieces = []
    for t, text in enumerate(texts):
        Z = as_csr(known.columns(t * BUCKETS + text.buckets)) @ text.V.astype(np.float64)
        pieces.append((Z - text.mean) / text.spread if scaled else Z)
    return np.concatenate(pieces, axis=1)


def component_names(column: str, words: tuple[str, ...], text: TextComponents) -> list[str]:
    """What the components are called: by the words that weigh most in each."""
    inside = _word_of_each_bucket(words)
    named = np.array([inside.get(b, "") for b in text.buckets.tolist()], dtype=object)
    known = np.flatnonzero(named != "")
    order = np.argsort(-np.abs(text.V[known]), axis=0, kind="stable")[:MOST_NAMED]
    found = []
    for k in range(text.V.shape[1]):
        said = ", ".join(f'"{word}"' for word in named[known[order[:, k]]])
        found.append(f"{column} ~ {k + 1}: {said}" if said else f"{column} ~ {k + 1}")
    return found


@lru_cache(maxsize=64)
def _word_of_each_bucket(words: tuple[str, ...]) -> dict[int, str]:
    """Found once for all fits: each learns an encoding of its own, with the same words."""
    return {bucket: inside[0] for bucket, inside in words_of_buckets(words).items()}


def components_to_data(text: TextComponents) -> dict[str, Any]:
    """As plain data; the directions as the bytes of their numbers, for there are many."""
    V = base64.b64encode(np.ascontiguousarray(text.V, "<f4").tobytes()).decode()
    return {"buckets": text.buckets.tolist(), "V": V, "mean": text.mean.tolist(), "spread": text.spread}


def components_from_data(data: Any) -> TextComponents:
    """From plain data that has not been trusted; ValueError unless it fits together."""
    if not isinstance(data, dict) or set(data) != {"buckets", "V", "mean", "spread"}:
        raise ValueError("components without their entries")
    buckets, mean, spread = data["buckets"], data["mean"], data["spread"]
    if not isinstance(buckets, list) or not all(type(b) is int and 0 <= b < BUCKETS for b in buckets):
        raise ValueError("components of words that there are not")
    if any(a >= b for a, b in itertools.pairwise(buckets)) or len(buckets) > MOST_BUCKETS:
        raise ValueError("components of words out of order, or of too many")
    if not isinstance(mean, list) or len(mean) > MOST_COMPONENTS or not all(type(m) in (int, float) for m in mean):
        raise ValueError("components without means")
    if type(spread) not in (int, float) or not 0 < spread < np.inf or not isinstance(data["V"], str):
        raise ValueError("components without a spread or directions")
    V = np.frombuffer(base64.b64decode(data["V"], validate=True), "<f4")
    if len(V) != len(buckets) * len(mean) or not np.isfinite(V).all() or not np.isfinite(mean).all():
        raise ValueError("directions that do not fit their words, or are not finite")
    V = V.reshape(len(buckets), len(mean)).astype(np.float32)
    return TextComponents(np.array(buckets, np.int64), V, np.array(mean, np.float64), float(spread))
