"""Seeded tables for the workloads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).with_name("data")
SCALE = float(os.environ.get("ASSAY_BENCH_SCALE", "1"))


def scaled(rows: int, least: int = 100) -> int:
    """So many rows, times ASSAY_BENCH_SCALE: 0.01 for a quick look whether a workload runs."""
    return max(least, round(rows * SCALE))


def real_data() -> Path | None:
    """The folder of real data that ASSAY_DATA names; None without one."""
    named = os.environ.get("ASSAY_DATA", "")
    return Path(named) if named and Path(named).is_dir() else None


def written(name: str, columns: Mapping[str, Any]) -> Path:
    """A Parquet file of these columns."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / name
    parquet.write_table(pa.table(dict(columns)), path)
    return path


def two_classes(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping normal classes with different means and spreads."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d))
    X[y == 1] *= 1.1
    X[y == 1] += 0.1
    return X, y


def linear_target(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A linear function of normal columns plus noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 3 + rng.normal(size=n)


def noisy_sign(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes by a linear function of correlated columns with logistic noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    z = X @ rng.normal(size=d) / np.sqrt(d) * 1.5 + 0.3
    return X, (z + rng.logistic(size=n) > 0).astype(np.int64)


def made_classes(n: int, d: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's own generator: half of the columns informative, a quarter linear combinations of these, the rest noise."""
    from sklearn.datasets import make_classification

    clusters = 2 if K == 2 else 1
    X, y = make_classification(
        n, d, n_informative=d // 2, n_redundant=d // 4, n_classes=K, n_clusters_per_class=clusters, random_state=seed
    )
    return X, y.astype(np.int64)


def easy_classes(n: int, d: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """K classes by linear functions of hardly correlated columns of one scale: first-order methods are at their best."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    Z = X @ rng.normal(size=(d, K)) * (2 / np.sqrt(d)) + rng.gumbel(size=(n, K))
    return X, Z.argmax(axis=1)


def bad_units(X: np.ndarray, seed: int = 1) -> np.ndarray:
    """The same columns in other units: each times 10 to a power between −4 and 4."""
    return np.ascontiguousarray(X * 10.0 ** np.random.default_rng(seed).uniform(-4, 4, X.shape[1]))


def texts(n: int, d: int, entries: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Sparse rows like those of texts: columns drawn by a power law, weights like tf-idf, each row of length one."""
    from scipy.sparse import csr_matrix, diags

    rng = np.random.default_rng(seed)
    popularity = 1.0 / (np.arange(d) + 10.0)
    columns = rng.choice(d, size=n * entries, p=popularity / popularity.sum())
    X = csr_matrix((np.ones(n * entries), columns, np.arange(0, n * entries + 1, entries)), shape=(n, d))
    X.sum_duplicates()
    rarity = np.log((1 + n) / (1 + np.bincount(X.indices, minlength=d))) + 1
    X = csr_matrix(X.multiply(rarity))
    X = csr_matrix(diags(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X)
    X.sort_indices()
    z = X @ rng.normal(size=d) * 3
    return X, (z + rng.logistic(size=n) > 0).astype(np.int64)


def letters(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Like the letter images: 26 classes, 16 whole numbers 0–15, classes of several shapes and spreads that overlap."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(7.5, 1.2, size=(26, 16))
    shapes = rng.normal(size=(26, 16, 16)) * 0.15 + 1.5 * np.eye(16)
    y = rng.integers(0, 26, n)
    X = np.einsum("nij,nj->ni", shapes[y], rng.normal(size=(n, 16))) + centres[y]
    return np.clip(np.rint(X), 0, 15).astype(np.int64), y
