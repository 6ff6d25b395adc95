"""The columns of rows as codes: ranks of their values, or numbers of their quantile bins, both found again from the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certify.rows import Array, CheckedRows, Floats, between_0_and_1, row_keys
from assay.families.trees.check.witness import Stated, TreeRows, category_codes

SAMPLE = 50_000  # rows of which quantiles are taken
GONE = 255  # the code of a missing category


class Columns(NamedTuple):
    """Of each column its codes (n,), the code of a missing value, the rows in the order of their codes, and whether it holds categories."""

    codes: list[Array]
    missing: list[int]
    order: list[Array]
    categories: Array


def columns_of(stated: Stated, seen: TreeRows, rows: CheckedRows, bins: Any) -> Columns:
    """All columns; bins: None for ranks, else how many quantile bins there are at most."""
    d, categories = rows.n_columns, stated.levels > 0
    if bins is not None and not 2 <= int(bins) <= GONE:
        raise ValueError(f"{bins} bins that cannot be")
    edges = None if bins is None else _all_edges(stated, seen, int(bins))
    codes: list[Array] = [
        np.empty(seen.n, dtype=np.uint8 if categories[j] or bins is not None else np.int32) for j in range(d)
    ]
    missing = [GONE if categories[j] else -1 if edges is None else len(edges[j]) + 1 for j in range(d)]
    if edges is None:
        X = np.concatenate([X for _, X in seen.blocks()])
        for j in np.flatnonzero(~categories).tolist():
            values, codes[j] = np.unique(X[:, j], return_inverse=True)
            missing[j] = len(values) - 1 if len(values) and np.isnan(values[-1]) else -1
    for start, X in seen.blocks() if edges is not None or categories.any() else ():
        for j in range(d):
            x, own = X[:, j].astype(np.float64), slice(start, start + len(X))
            if categories[j]:
                code, known = category_codes(stated, x, np.full(len(x), j))
                codes[j][own] = np.where(known, code, GONE)
            elif edges is not None:
                codes[j][own] = np.where(np.isnan(x), missing[j], np.searchsorted(edges[j], x))
    return Columns(codes, missing, [np.argsort(c, kind="stable") for c in codes], categories)


def _all_edges(stated: Stated, seen: TreeRows, bins: int) -> list[Floats]:
    """The edges of each column's bins, from a sample of the rows that is drawn again: one of every n / SAMPLE."""
    picked = np.arange(seen.n)
    if seen.n > SAMPLE:
        j = np.arange(SAMPLE)
        picked = ((j + between_0_and_1(row_keys(SAMPLE, 0))) * (seen.n / SAMPLE)).astype(np.int64)
    if seen.given is not None:
        picked = picked[seen.given[picked] > 0]
    parts = []
    for start, X in seen.blocks():
        a, b = np.searchsorted(picked, [start, start + len(X)])
        parts.append(X[picked[a:b] - start])
    some = np.concatenate(parts).astype(np.float64)
    return [
        np.zeros(0) if stated.levels[j] else edges_of(np.sort(some[~np.isnan(some[:, j]), j]), bins)
        for j in range(some.shape[1])
    ]


def edges_of(x: Floats, bins: int) -> Floats:
    """Halfway between neighbouring values where these are few, else between those at the ends of the quantiles' equal values."""
    after = np.flatnonzero(x[1:] > x[:-1])
    if len(after) >= bins:
        ends = [int(np.searchsorted(x, x[k * len(x) // bins - 1], side="right")) for k in range(1, bins)]
        after = np.array(sorted({e - 1 for e in ends if e < len(x)}), dtype=np.int64)
    low, high = x[after], x[after + 1]
    middle = 0.5 * low + 0.5 * high
    return np.where((low <= middle) & (middle < high), middle, low)
