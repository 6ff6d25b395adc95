"""Splits by exhaustive search, in plain NumPy: what the loops of trees must find."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np


class Split(NamedTuple):
    """A column, and the rows that go to the left."""

    column: int
    left: np.ndarray


def impurity(y: np.ndarray, w: np.ndarray, criterion: str) -> float:
    """u(C) of the rows: Gini, entropy in bits, mean squared or absolute deviation, half the mean Poisson deviance but for constants."""
    if criterion in ("gini", "entropy"):
        p = np.bincount(y, weights=w) / w.sum()
        p = p[p > 0]
        return float(1 - (p * p).sum()) if criterion == "gini" else float(-(p * np.log2(p)).sum())
    mean = np.average(y, weights=w)
    if criterion == "squared_error":
        return float(np.average((y - mean) ** 2, weights=w))
    if criterion == "absolute_error":
        return min(float(np.average(np.abs(y - m), weights=w)) for m in np.unique(y))
    return (
        np.inf
        if mean <= 0
        else float(np.average(np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / mean), 0.0), weights=w))
    )


def gain(y: np.ndarray, w: np.ndarray, left: np.ndarray, criterion: str) -> float:
    """u(C) − (p_L u(C_L) + p_R u(C_R))."""
    p = w[left].sum() / w.sum()
    sides = p * impurity(y[left], w[left], criterion) + (1 - p) * impurity(y[~left], w[~left], criterion)
    return impurity(y, w, criterion) - sides


def number_splits(x: np.ndarray) -> Iterator[np.ndarray]:
    """Every threshold from the lowest, what is missing on the right; then the same with it on the left."""
    gone = np.isnan(x)
    values = np.unique(x[~gone])
    for lost in (False, True) if gone.any() else (False,):
        for value in values:
            yield (x <= value) | (gone & lost)


def category_splits(x: np.ndarray) -> Iterator[np.ndarray]:
    """Every set of categories; what is missing is a category too."""
    codes = np.where(np.isnan(x), -1, x)
    there = np.unique(codes)
    for size in range(1, len(there)):
        for chosen in combinations(there, size):
            yield np.isin(codes, chosen)


def splits(X: np.ndarray, categories: tuple[int, ...] = ()) -> Iterator[Split]:
    """All splits of all columns that leave rows on both sides."""
    for j in range(X.shape[1]):
        for left in category_splits(X[:, j]) if j in categories else number_splits(X[:, j]):
            if 0 < left.sum() < len(left):
                yield Split(j, left)


def best_gain(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, criterion: str, categories: tuple[int, ...] = (), least: int = 1
) -> float:
    """The greatest gain of any split with at least so many rows on each side; −∞ where there is none."""
    found = [
        gain(y, w, s.left, criterion) for s in splits(X, categories) if min(s.left.sum(), (~s.left).sum()) >= least
    ]
    return max((g for g in found if not np.isnan(g)), default=-np.inf)
