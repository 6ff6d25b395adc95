"""A finding made small: fewer rows and columns, hyper-parameters back to their defaults, rounder numbers, as long as it is still found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.settings import ALWAYS

SECONDS = 20.0  # of computing, for one finding


def shrunk(finding: Any, asked: Callable[[Case], list[Any]]) -> Any:
    """The same finding of the smallest case that a greedy search comes to in some seconds."""
    until, best, gained = time.process_time() + SECONDS, finding, True
    while gained:
        gained = False
        for smaller in smaller_cases(best.case):
            if time.process_time() > until:
                return best
            again = next((f for f in asked(smaller) if f.key == finding.key), None)
            if again is not None:
                best, gained = again, True
                break
    return best


def smaller_cases(case: Case) -> Iterator[Case]:
    """Cases that are a little simpler, the greatest steps first."""
    yield from _fewer_rows(case)
    yield from _plainer_params(case)
    yield from _plainer_tables(case)
    yield from _fewer_columns(case)
    yield from _rounder(case)


def _fewer_rows(case: Case) -> Iterator[Case]:
    n = len(case.table.y)
    precomputed = case.params.get("kernel") == "precomputed"
    step = n // 2
    while step >= 1:
        for start in range(0, n, step):
            keep = np.r_[0:start, min(start + step, n) : n]
            if len(keep):
                table = case.table.taking(keep)
                yield case.with_table(replace(table, X=table.X[:, keep]) if precomputed else table)
        step //= 2


def _plainer_params(case: Case) -> Iterator[Case]:
    needed = {key for more in ALWAYS.values() for key in more}
    for key in case.params:
        if key not in needed:
            yield replace(case, params={k: v for k, v in case.params.items() if k != key})


def _plainer_tables(case: Case) -> Iterator[Case]:
    table = case.table
    if table.w is not None:
        yield case.with_table(replace(table, w=None))
        if (table.w != 1).any() and (table.w != np.rint(table.w)).any():
            yield case.with_table(replace(table, w=np.ceil(table.w)))
    if table.sparse:
        yield case.with_table(replace(table, sparse=False))
    if table.X.dtype == np.float32:
        yield case.with_table(replace(table, X=table.X.astype(float)))


def _fewer_columns(case: Case) -> Iterator[Case]:
    d = case.table.X.shape[1]
    by_column = ("monotonic_cst", "init", "metric_params", "categorical_features", "columns")
    if d == 1 or case.params.get("kernel") == "precomputed" or any(key in case.params for key in by_column):
        return
    for j in range(d):
        yield case.with_table(replace(case.table, X=np.delete(case.table.X, j, axis=1)))


def _rounder(case: Case) -> Iterator[Case]:
    """Numbers of fewer digits, column by column."""
    X, y = case.table.X, case.table.y
    for digits in (1, 3):
        for j in range(X.shape[1]):
            column = _rounded(X[:, j], digits)
            if not np.array_equal(column, X[:, j], equal_nan=True):
                changed = X.copy()
                changed[:, j] = column
                yield case.with_table(replace(case.table, X=changed))
        if y.dtype.kind == "f" and (_rounded(y, digits) != y).any():
            yield case.with_table(replace(case.table, y=_rounded(y, digits)))
        w = case.table.w
        if w is not None and (_rounded(w, digits) != w).any():
            yield case.with_table(replace(case.table, w=_rounded(w, digits)))


def _rounded(column: np.ndarray, digits: int) -> np.ndarray:
    flat = [float(f"{value:.{digits - 1}e}") for value in column.ravel()]
    return np.array(flat, dtype=column.dtype).reshape(column.shape)
