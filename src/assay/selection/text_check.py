"""What an encoding learnt of strings and texts, checked anew against the rows of the fit.

Strings are counted again, plainly, value by value. The components of texts are judged by what they are and not by how they were found:

    VᵀV = I          the columns of A V are orthogonal, the longest first          ‖A V‖² ≥ 99 % of the most that as many directions reach

A is made of the raw counts once more, in NumPy; the most that can be reached is found from another start with more steps.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from assay.engines import Rows
from assay.numerics import Array, Floats
from assay.tables.encoding import Encoding
from assay.tables.encoding.columns import StringValues, TextComponents
from assay.tables.encoding.components import FEWEST_ROWS as OF_A_WORD
from assay.tables.encoding.components import MOST_BUCKETS, due_components, stride_of
from assay.tables.encoding.strings import FEWEST_ROWS as OF_A_VALUE
from assay.tables.encoding.strings import MOST_MEANS, MOST_VALUES, PARTS, SHRINKAGE, part_of
from assay.tables.encoding.words import BUCKETS

WITHIN = 1e-9  # of the greatest sum: that of rounding in another order
ORTHONORMAL = 1e-5
ORTHOGONAL = 1e-4  # of the longest projection's squared length
REACHED = 0.99
STATED = 1e-5
STEPS, MORE = 16, 20


def wrong_strings(encoding: Encoding, raw: Rows) -> str | None:
    """What is wrong with the values of the encoding's strings; None where nothing is."""
    stated, columns = encoding.statistics.strings, encoding.groups.strings
    if len(stated) != len(columns):
        return "the values of some column of strings are not stated"
    if not stated:
        return None
    blocks = [part.load() for part in raw.blocks()]
    keys = np.concatenate([encoding.groups.expand(block.X).keys for block in blocks])
    y = np.concatenate([block.y for block in blocks]) if raw.has_target else None
    labels, T = _targets(y, encoding.encoding_spec.target, len(keys))
    for k, (values, column) in enumerate(zip(stated, columns)):
        wrong = "are of other classes" if values.labels != labels else _wrong_values(values, keys[:, k], T)
        if wrong is not None:
            return f"the values of the strings {column.name!r} {wrong}"
    return None


def _targets(y: Array | None, target: str, n: int) -> tuple[tuple[str, ...], Floats]:
    """Names and columns of the targets that means are taken of."""
    if y is None or target == "":
        return (), np.zeros((n, 0))
    if target == "number":
        return ("",), np.array([[float(each)] for each in y])
    rows = {label: np.flatnonzero(y == label) for label in sorted(set(y.tolist()))}
    shown = list(rows)[1:]
    if len(shown) > MOST_MEANS:
        shown = sorted(sorted(rows, key=lambda label: -len(rows[label]))[:MOST_MEANS])
    T = np.zeros((n, len(shown)))
    for k, label in enumerate(shown):
        T[rows[label], k] = 1.0
    return tuple(str(label) for label in shown), T


def _wrong_values(values: StringValues, keys: Floats, T: Floats) -> str | None:
    part = part_of(0, len(keys))
    rows: dict[float, list[int]] = defaultdict(list)
    for i in np.flatnonzero(~np.isnan(keys)):
        rows[float(keys[i])].append(int(i))
    often = sorted((key for key in rows if len(rows[key]) >= OF_A_VALUE), key=lambda key: (-len(rows[key]), key))
    if sorted(often[:MOST_VALUES]) != values.keys.tolist() or values.missing != int(np.isnan(keys).sum()):
        return "are not those that occur more than once"
    least = WITHIN * max(1.0, float(np.abs(T).sum(axis=0).max(initial=0.0)))
    if _differ([np.flatnonzero(part == p) for p in range(PARTS)], values.parts, values.totals, T, least):
        return "have other means in the parts"
    for u, key in enumerate(values.keys.tolist()):
        mine = np.array(rows[key])
        if _differ([mine[part[mine] == p] for p in range(PARTS)], values.counts[u], values.sums[u], T, least):
            return "occur elsewhere, or with other targets"
    return _wrong_scale(values, keys, T, rows, part)


def _differ(parts: list[Array], counts: Array, sums: Floats, T: Floats, least: float) -> bool:
    found = np.array([T[rows].sum(axis=0) for rows in parts])
    return [len(rows) for rows in parts] != counts.tolist() or bool((np.abs(found - sums) > least).any())


def _wrong_scale(
    values: StringValues, keys: Floats, T: Floats, rows: dict[float, list[int]], part: Array
) -> str | None:
    """Means and deviations of the columns that the rows of the fit become: each row by the rows of other parts."""
    Z = np.zeros((len(keys), 1 + T.shape[1]))
    prior = [T[part != p].sum(axis=0) / max(int((part != p).sum()), 1) for p in range(PARTS)]
    Z[:, 1:] = np.array(prior)[part]
    for _u, key in enumerate(values.keys.tolist()):
        mine = np.array(rows[key])
        Z[mine, 0] = np.log(len(mine))
        for p in range(PARTS):
            others, own = mine[part[mine] != p], mine[part[mine] == p]
            Z[own, 1:] = (T[others].sum(axis=0) + SHRINKAGE * prior[p]) / (len(others) + SHRINKAGE)
    deviation = Z.std(axis=0)
    near = np.maximum(deviation, np.abs(Z).max(axis=0, initial=0.0) * 1e-6) * 1e-6 + 1e-12
    constant = deviation <= near
    scale = np.where(constant & (values.scale == 1.0), 1.0, deviation)
    if (np.abs(Z.mean(axis=0) - values.mean) > near).any() or (np.abs(scale - values.scale) > near).any():
        return "have another mean or deviation in the rows of the fit"
    return None


# --- texts ------------------------------------------------------------------------------------------------------------


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
    known = [b for b in range(BUCKETS) if documents[b] >= OF_A_WORD]
    return np.array(sorted(sorted(known, key=lambda b: (-documents[b], b))[:MOST_BUCKETS]), dtype=np.int64)


def _weighed(counts: Any, documents: Array, n: int) -> Any:
    from scipy.sparse import diags_array

    idf = np.where(documents >= OF_A_WORD, 1.0 + np.log((1.0 + n) / (1.0 + documents)), 0.0)
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
