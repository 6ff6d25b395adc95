"""The components of texts in an encoding, checked anew against the rows of the fit, by what they are and not by how they were found.

    VᵀV = I          the columns of A V are orthogonal, the longest first          ‖A V‖² ≥ 99 % of the most that as many directions reach

A is made of the raw counts once more, in NumPy; the most that can be reached is found from another start with more steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.engines import Rows
from assay.numerics import Array, Floats
from assay.tables.encoding import Encoding
from assay.tables.encoding.columns import TextComponents
from assay.tables.encoding.components import FEWEST_ROWS, MOST_BUCKETS, due_components, stride_of
from assay.tables.encoding.words import BUCKETS

ORTHONORMAL = 1e-5
ORTHOGONAL = 1e-4  # of the longest projection's squared length
REACHED = 0.99
STATED = 1e-5
STEPS, MORE = 16, 20


def wrong_components(encoding: Encoding, raw: Rows) -> str | None:
    """What is wrong with the components of the encoding's texts; None where nothing is."""
    spec, texts, columns = encoding.encoding_spec, encoding.statistics.texts, encoding.groups.texts
    if len(texts) != (len(columns) if spec.components else 0):
        return None if not texts else "there are components of texts that the model does not use"  # files of version 1
    if not texts:
        return None
    sample = _sampled(encoding, raw)
    for t, (text, column) in enumerate(zip(texts, columns)):
        wrong = _wrong_text(text, sample[:, t * BUCKETS : (t + 1) * BUCKETS], encoding, t)
        if wrong is not None:
            return f"the components of the text {column.name!r} {wrong}"
    return None


def _sampled(encoding: Encoding, raw: Rows) -> Any:
    """The raw word counts of every s-th row."""
    from scipy.sparse import csr_array, vstack

    step, pieces = stride_of(encoding.statistics.n), []
    for part in raw.blocks():
        block = part.load()
        words = encoding.groups.expand(block.X).words
        assert words is not None
        whole = csr_array((words.data, words.indices, words.indptr), shape=words.shape)
        pieces.append(whole[np.arange(len(block.X))[(block.start + np.arange(len(block.X))) % step == 0]])
    return vstack(pieces).tocsr()


def _wrong_text(text: TextComponents, counts: Any, encoding: Encoding, t: int) -> str | None:
    s = encoding.statistics
    documents = s.documents[t * BUCKETS : (t + 1) * BUCKETS]
    if not np.array_equal(text.buckets, _frequent(documents)):
        return "are not those of its most frequent words"
    A = _weighed(counts, documents, s.n)[:, text.buckets]
    V, k = text.V.astype(np.float64), text.V.shape[1]
    if np.abs(V.T @ V - np.eye(k)).max(initial=0.0) > ORTHONORMAL:
        return "are not orthonormal"
    Z = A @ V
    return _wrong_projection(Z, text) or _too_short(A, Z)


def _frequent(documents: Array) -> Array:
    """The words in two rows or more, the 8192 most frequent of them."""
    known = [b for b in range(BUCKETS) if documents[b] >= FEWEST_ROWS]
    return np.array(sorted(sorted(known, key=lambda b: (-documents[b], b))[:MOST_BUCKETS]), dtype=np.int64)


def _weighed(counts: Any, documents: Array, n: int) -> Any:
    from scipy.sparse import diags_array

    idf = np.where(documents >= FEWEST_ROWS, 1.0 + np.log((1.0 + n) / (1.0 + documents)), 0.0)
    A = counts @ diags_array(idf)
    length = np.sqrt(A.multiply(A).sum(axis=1))
    return (diags_array(1.0 / np.where(length > 0, length, 1.0)) @ A).tocsc()


def _wrong_projection(Z: Floats, text: TextComponents) -> str | None:
    G = Z.T @ Z
    lengths = np.diag(G)
    most = ORTHOGONAL * lengths.max(initial=0.0)
    if (np.diff(lengths) > most).any() or np.abs(G - np.diag(lengths)).max(initial=0.0) > most:
        return "are not principal directions of its rows"
    mean = Z.mean(axis=0)
    spread = np.sqrt(((Z - mean) ** 2).sum() / len(Z))
    if np.abs(mean - text.mean).max(initial=0.0) > STATED or abs(spread - text.spread) > STATED * max(spread, 1.0):
        return None if spread <= STATED and text.spread == 1.0 else "have another mean or spread than stated"
    return None


def _too_short(A: Any, Z: Floats) -> str | None:
    """Directions that reach less than as many others do."""
    k = min(due_components(A.shape[0]), A.shape[1])
    if k == 0 or not A.nnz:
        return None
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((A.shape[1], min(A.shape[1], k + MORE))))[0]
    for _ in range(STEPS):
        Q = np.linalg.qr(A.T @ (A @ Q))[0]
    reached = np.sort(np.linalg.svd(A @ Q, compute_uv=False) ** 2)[::-1][:k].sum()
    return None if (Z**2).sum() >= REACHED * reached else "hold less of its rows than others would"
