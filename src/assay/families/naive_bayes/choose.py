"""Which density each column gets: as the user says, or by what the column holds.

The rule of "auto", column by column:
1. text and categories of a frame: categorical;
2. only 0 and 1 (or false and true): bernoulli;
3. whole numbers ≥ 0: poisson or gaussian, whichever has the larger maximised likelihood given the classes;
4. anything else: gaussian.
A whole number stands for an interval of length one, so the gaussian's variance gets the 1/12 of rounding added (Sheppard).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, SparseMatrix, fold
from assay.errors import ParameterError, nearest
from assay.families.naive_bayes.densities import gaussian
from assay.families.naive_bayes.densities.columns import NO_WEIGHTS, ColumnsOfClasses, take
from assay.families.naive_bayes.densities.counts import ValueSums, absorb_ranges, merge_sums
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats
from assay.statistics.scatter import ClassMoments, merge_moments

FAMILIES = ("gaussian", "bernoulli", "poisson", "multinomial", "categorical")
LOG_FACTORIALS = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, 256.0)))])


class ColumnProfile(NamedTuple):
    """What the rule needs to know of some columns: moments and sums by class, range, fractions, Σ log x!."""

    moments: ClassMoments
    sums: ValueSums
    low: Floats
    high: Floats
    rest: Floats
    log_factorials: Floats


def choose(given: Any, engine: Engine, rows: Rows, labels: Labels) -> list[str]:
    """The density of each column."""
    requested = _requested(given, rows)
    if isinstance(given, str) and given != "auto" and rows.categories is None:
        return requested
    codes = rows.categories or (None,) * rows.n_columns
    for j, (word, levels) in enumerate(zip(requested, codes)):
        if levels is None:
            continue
        if word == "auto":
            requested[j] = "categorical"
        elif word != "categorical" and not (word == "bernoulli" and len(levels) <= 2):
            name = rows.names[j] if rows.names is not None else j
            raise ParameterError(
                f"columns gives the density {word!r} to column {name!r}, which holds text: only 'categorical' "
                "(or 'bernoulli' for two values) is possible there."
            )
    open_columns = np.array([j for j, word in enumerate(requested) if word == "auto"], dtype=np.int64)
    if len(open_columns):
        absorb = partial(_absorb, labels, open_columns, rows.names)
        profile = fold(engine, rows.blocks(), absorb, _merge)
        for j, word in zip(open_columns, _decide(profile) if profile is not None else []):
            requested[j] = word
    return requested


def _requested(given: Any, rows: Rows) -> list[str]:
    if isinstance(given, str):
        return [given] * rows.n_columns
    requested = ["auto"] * rows.n_columns
    for key, word in given.items():
        requested[_position(key, rows)] = word
    return requested


def _position(key: Any, rows: Rows) -> int:
    names = list(rows.names or [])
    if isinstance(key, str) and key in names:
        return names.index(key)
    number = int(key) if isinstance(key, str) and key.isdigit() else key  # a model file keeps numbers as text
    if isinstance(number, int | np.integer) and -rows.n_columns <= number < rows.n_columns:
        return int(number)
    hint = nearest(str(key), names) if names else f"There are the columns 0 … {rows.n_columns - 1}."
    raise ParameterError(f"columns names {key!r}, which is no column of the data. {hint}")


def is_choice(given: Any) -> bool:
    """Whether a mapping has the form {column name or number: density}."""
    return isinstance(given, Mapping) and all(
        isinstance(k, str | int | np.integer) and isinstance(v, str) and v in (*FAMILIES, "auto")
        for k, v in given.items()
    )


def _absorb(labels: Labels, columns: Array, names: Sequence[str] | None, block: Block) -> ColumnProfile:
    assert block.y is not None
    X = take(block.X, columns)
    part = ColumnsOfClasses(X, labels.encode(block.y), block.w, len(labels.classes), columns, block.start, names)
    moments, _ = gaussian.absorb(part)
    found, (low, high, rest) = absorb_ranges(part)
    total = np.zeros(len(columns))
    whole = np.flatnonzero((low >= 0) & (rest == 0))
    if len(whole):
        total[whole] = _log_factorials(take(X, whole), block.w)
    return ColumnProfile(moments, found.sums, low, high, rest, total)


def _log_factorials(X: Any, w: Array | None) -> Floats:
    """Σ w log x! of each column."""
    from assay.families.naive_bayes.loops import add_entry_log_factorials, add_log_factorials

    weights = NO_WEIGHTS if w is None else w
    total = np.zeros(X.shape[1])
    if isinstance(X, SparseMatrix):
        add_entry_log_factorials(X.data, X.indices, X.indptr, weights, LOG_FACTORIALS, total)
    else:
        add_log_factorials(X, weights, LOG_FACTORIALS, total)
    return total


def _merge(a: ColumnProfile, b: ColumnProfile) -> ColumnProfile:
    return ColumnProfile(
        merge_moments(a.moments, b.moments),
        merge_sums(a.sums, b.sums),
        np.minimum(a.low, b.low),
        np.maximum(a.high, b.high),
        a.rest + b.rest,
        a.log_factorials + b.log_factorials,
    )


def _decide(p: ColumnProfile) -> list[str]:
    better = poisson_likelihood(p) > gaussian_likelihood(p)
    words = []
    for j in range(len(p.low)):
        if not (p.low[j] >= 0 and p.rest[j] == 0) or p.low[j] == np.inf:
            words.append("gaussian")
        elif p.high[j] <= 1:
            words.append("bernoulli")
        else:
            words.append("poisson" if better[j] else "gaussian")
    return words


def poisson_likelihood(p: ColumnProfile) -> Floats:
    """Σ_k S_k log(S_k / N_k) − S_k − Σ log x!, column by column."""
    n, s = p.sums
    seen = (n > 0) & (s > 0)
    rate = np.divide(s, n, out=np.ones_like(s), where=seen)
    likelihood: Floats = (s * np.log(rate) - s).sum(axis=0) - p.log_factorials
    return likelihood


def gaussian_likelihood(p: ColumnProfile) -> Floats:
    """−½ Σ_k [ N_k log 2π u_k + M_k / u_k ] with u_k = M_k / N_k + 1/12, column by column."""
    n, m2 = p.moments.n, p.moments.m2
    u = np.divide(m2, n, out=np.zeros_like(m2), where=n > 0) + 1 / 12
    likelihood: Floats = -0.5 * (n * np.log(2 * np.pi * u) + m2 / u).sum(axis=0)
    return likelihood
