"""Small tables in which everything that is hard for arithmetic happens often.

A table begins as one of a few plain kinds (normal, whole numbers, counts, bits) and goes through faults drawn by lot: rows
twice, columns constant, alike or nearly so, of any scale, far from zero; classes of one to three rows; weights of zero and of parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Rng = np.random.Generator
MOST_ROWS, MOST_COLUMNS, MOST_CLASSES = 60, 5, 4
LARGEST = 150  # the largest power of ten of a scale


@dataclass(frozen=True, eq=False)
class Table:
    """Rows X (n, d), targets y and weights w or None; `sparse`: the rows are given as scipy's CSR."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray | None = None
    sparse: bool = False

    @property
    def rows(self) -> Any:
        """X as the fit is given it."""
        if not self.sparse:
            return self.X
        import scipy.sparse

        return scipy.sparse.csr_matrix(self.X)

    def taking(self, keep: Any) -> Table:
        """The table with some of its rows."""
        return replace(self, X=self.X[keep], y=self.y[keep], w=None if self.w is None else self.w[keep])

    @property
    def dense(self) -> np.ndarray:
        """X as numbers of 64 bits."""
        return np.asarray(self.X, dtype=np.float64)


def maybe(rng: Rng, share: float) -> bool:
    """True in so many draws of one."""
    return bool(rng.random() < share)


def one_of(rng: Rng, *options: Any) -> Any:
    """One of the options, as it is."""
    return options[int(rng.integers(len(options)))]


# --- plain rows ------------------------------------------------------------------------------------------------------


def _normal(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d))


def _whole(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.integers(-3, 4, (n, d)).astype(float)


def _counts(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.poisson(one_of(rng, 0.3, 2.0, 40.0), (n, d)).astype(float)


def _bits(rng: Rng, n: int, d: int) -> np.ndarray:
    return (rng.random((n, d)) < rng.random(d)).astype(float)


def _codes(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.integers(0, one_of(rng, 1, 2, 5), (n, d)).astype(float)


def _heavy(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_cauchy((n, d))


PLAIN: dict[str, tuple[Callable[..., np.ndarray], ...]] = {
    "numbers": (_normal, _normal, _whole, _counts, _bits, _heavy),
    "counts": (_counts, _counts, _bits),
    "bits": (_bits, _bits, _normal),
    "codes": (_codes, _codes, _bits),
}


# --- faults ----------------------------------------------------------------------------------------------------------


def _power(rng: Rng, most: float) -> float:
    return float(10.0 ** rng.uniform(-most, most))


def _some(rng: Rng, n: int) -> np.ndarray:
    return rng.random(n) < one_of(rng, 0.1, 0.5, 0.9)


def twice(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Some rows are those of others."""
    X[_some(rng, len(X))] = X[rng.integers(len(X))]
    return X


def constant(rng: Rng, X: np.ndarray) -> np.ndarray:
    """A column of one number, or of one and its neighbours among the floats."""
    value = one_of(rng, 0.0, 1.0, -7.0, _power(rng, 12), 0.1)
    X[:, rng.integers(X.shape[1])] = value
    if maybe(rng, 0.3):
        j = rng.integers(X.shape[1])
        X[:, j] = value * (1.0 + rng.integers(0, 3, len(X)) * 2.0**-52)
    return X


def collinear(rng: Rng, X: np.ndarray) -> np.ndarray:
    """A column that follows from others, exactly or nearly."""
    j, k = rng.integers(X.shape[1], size=2)
    X[:, j] = one_of(rng, 1.0, -2.0, 0.1) * X[:, k] + one_of(rng, 0.0, 0.0, 3.0)
    X[:, j] += one_of(rng, 0.0, 0.0, 1e-12, 1e-7) * rng.standard_normal(len(X))
    return X


def scaled(rng: Rng, X: np.ndarray) -> np.ndarray:
    """All columns, or each by itself, on another scale: mildly most often, to the ends of the floats now and then."""
    most = one_of(rng, 3, 8, 8, 40, LARGEST)
    return X * (_power(rng, most) if maybe(rng, 0.5) else [_power(rng, most) for _ in range(X.shape[1])])


def far(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Far from zero, compared with how far apart the rows are."""
    size = float(np.abs(X).max(initial=0.0)) or 1.0
    return X + size * 10.0 ** rng.uniform(1, one_of(rng, 4, 9, 16)) * one_of(rng, 1.0, rng.random(X.shape[1]))


def halves(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Numbers of 32 bits."""
    with np.errstate(all="ignore"):
        return X.astype(np.float32)


def zeros(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Mostly nothing."""
    return X * (rng.random(X.shape) < one_of(rng, 0.1, 0.5))


FAULTS = (twice, twice, constant, collinear, scaled, scaled, far, zeros, halves)
OF_COUNTS = (twice, constant, zeros, halves)


def _columns(rng: Rng, kind: str, n: int, d: int) -> np.ndarray:
    X = one_of(rng, *PLAIN[kind])(rng, n, d)
    faults = FAULTS if kind in ("numbers", "bits") else OF_COUNTS
    for number in sorted(rng.permutation(len(faults))[: rng.integers(0, 4)]):
        X = faults[number](rng, X)
    if kind in ("counts", "codes"):
        X = np.abs(X) if kind == "counts" else np.abs(np.rint(X)) % 50
    largest = 10.0**LARGEST if X.dtype == np.float64 else 1e38
    return X if np.isfinite(X).all() else np.clip(np.nan_to_num(X), -largest, largest)


# --- targets and weights ---------------------------------------------------------------------------------------------


def _signal(rng: Rng, X: np.ndarray) -> np.ndarray:
    """A number a row that depends on its columns, each on the same scale."""
    Z = X.astype(float)
    spread = np.abs(Z).max(axis=0)
    Z = Z / np.where(spread > 0, spread, 1.0)
    Z -= Z.mean(axis=0)
    deviation = Z.std(axis=0)
    return (Z / np.where(deviation > 0, deviation, 1.0)) @ rng.standard_normal(X.shape[1])


def _labels(rng: Rng, X: np.ndarray) -> np.ndarray:
    n, K = len(X), one_of(rng, 2, 2, 2, 3, MOST_CLASSES)
    noise = one_of(rng, 0.0, 0.5, 5.0) * rng.standard_normal(n)
    order = np.argsort(np.argsort(_signal(rng, X) + noise, kind="stable"))
    y = order * K // n
    if maybe(rng, 0.2):  # one to three rows of every class but one
        y = np.zeros(n, dtype=int)
        for k in range(1, K):
            y[rng.integers(n, size=rng.integers(1, 4))] = k
    names = one_of(rng, np.arange(K), np.arange(K), np.array(["a", "b", "c", "d"])[:K], np.array([-1, 1, 7, 100])[:K])
    return names[y]


def _numbers(rng: Rng, X: np.ndarray) -> np.ndarray:
    n = len(X)
    y = one_of(rng, _signal(rng, X), rng.standard_normal(n), rng.integers(0, 3, n).astype(float))
    y = y + one_of(rng, 0.0, 0.1) * rng.standard_normal(n)
    if maybe(rng, 0.15):
        y = np.full(n, one_of(rng, 0.0, 1.0, 0.1, -3e7))
    if maybe(rng, 0.25):
        y = y * _power(rng, one_of(rng, 5, 20, LARGEST))
    return y + one_of(rng, 0.0, 0.0, 0.0, 1e3, 1e9) if maybe(rng, 0.5) else y


def several(rng: Rng, table: Table) -> Table:
    """The table with one to three targets beside each other, each on a scale of its own."""
    with np.errstate(all="ignore"):
        more = [_numbers(rng, table.X) for _ in range(int(rng.integers(3)))]
    return replace(table, y=np.column_stack([table.y, *more]))


def _weights(rng: Rng, n: int) -> np.ndarray | None:
    kind = rng.integers(8)
    if kind < 4:
        return None
    w = rng.random(n) if kind < 6 else rng.integers(0, 3, n).astype(float)
    if kind == 5:
        w = w * _power(rng, one_of(rng, 2, 10, 100))
    return w if w.any() else w + 1.0


def draw_table(rng: Rng, kind: str, *, classes: bool, missing: bool, sparse: bool, positive: bool = False) -> Table:
    """A table of a kind ("numbers", "counts", "bits", "codes") for a model that may take missing values and sparse rows."""
    n = int(one_of(rng, rng.integers(1, 6), rng.integers(4, 13), rng.integers(10, 31), rng.integers(20, MOST_ROWS + 1)))
    X = _columns(rng, kind, n, int(rng.integers(1, MOST_COLUMNS + 1)))
    with np.errstate(all="ignore"):
        y = _labels(rng, X) if classes else _numbers(rng, X)
    y = np.abs(y) if positive and not classes else y
    table = Table(X, y, _weights(rng, n), sparse and maybe(rng, 0.2))
    if missing and not table.sparse and maybe(rng, 0.3):
        table.X[_some(rng, n), rng.integers(X.shape[1])] = np.nan
    return table
