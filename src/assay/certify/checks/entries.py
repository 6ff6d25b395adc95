"""Sums over the columns of sparse rows, by definition: over the entries that are kept, and over the zeros that are not."""

from __future__ import annotations

import numpy as np

from assay.certify.rows import Array, CsrBlock, Floats


def entry_sums(
    X: CsrBlock, weight: Array, about: Floats | None, power: int, threshold: float | None
) -> tuple[Floats, Floats]:
    """Σ w and Σ w (x − about)^power of each column, over the values present; with a threshold ≥ 0, x is 1 above it, else 0."""
    c, at = X.n_columns, X.indices
    x = X.data if threshold is None else np.where(np.isnan(X.data), np.nan, threshold < X.data)
    middle = np.zeros(c) if about is None else about
    row = X.row_numbers()
    there = ~np.isnan(x)
    terms = weight[row[there]] * (x[there] - middle[at[there]]) ** power
    absent, n = _weights_without(X, weight, at), _weights_without(X, weight, at, ~there)
    s: Floats = np.bincount(at[there], terms, minlength=c) + absent * (-middle) ** power
    return n, s


def _weights_without(X: CsrBlock, weight: Array, at: Array, which: Array | None = None) -> Floats:
    """For each column the weight of the rows without a kept entry (of those marked in `which`).

    Weights are cut into a coarse part, whose sums and differences are exact, and a fine rest: the weight of a few light
    rows survives being the difference of two large sums. Where no row is left it is zero.
    """
    c, row = X.n_columns, X.row_numbers()
    at, row = (at, row) if which is None else (at[which], row[which])
    unit = 2.0 ** (np.ceil(np.log2(max(weight.max(initial=0.0), 1e-300))) - 26)
    coarse = np.floor(weight / unit) * unit
    parts = (part.sum() - np.bincount(at, part[row], minlength=c) for part in (coarse, weight - coarse))
    left = sum(parts)
    return np.where(np.bincount(at, minlength=c) < len(X), left, 0.0)


def first_entries(X: CsrBlock) -> Floats:
    """Some value of each column: zero where a row keeps no entry, else the first entry present; NaN where there is none."""
    there = ~np.isnan(X.data)
    first = np.full(X.n_columns, np.nan)
    first[X.indices[there][::-1]] = X.data[there][::-1]
    return np.where(np.bincount(X.indices, minlength=X.n_columns) < len(X), 0.0, first)
