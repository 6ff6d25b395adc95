"""Where values of the kernel come from while a dual problem is solved: computed each time, or kept rows of them.

At 20 columns a value is computed in the time that it takes to fetch it from memory; at hundreds it is not, and a user's function never is.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import numpy as np

from assay.compiled.simd.kernels import LANES
from assay.engines.engine import Threads
from assay.families.kernel.functions import Kernel
from assay.families.kernel.loops import add_kept_rows
from assay.families.kernel.tiles import Tiles, has_tiles
from assay.numerics import Array, Floats

DEAR = 96  # columns from which values are kept
STRETCH = 4096  # columns of kept rows added up at a time
LEAST_KEPT = 64  # rows that are kept whatever memory is allowed


class KernelRows(Protocol):
    """Values among rows 0 … size − 1 of those that it was made of."""

    size: int

    def zeros(self) -> Floats:
        """Zeros for the sums of `add`, at least one a row."""

    def block(self, pick: Array) -> Array:
        """K among the rows pick, and whatever beyond: at least as many rows, and columns up to a multiple of LANES."""

    def add(self, f: Floats, pick: Array, coef: Floats) -> None:
        """f += Σ_i coef_i K(pick_i, ·)."""


def source_of(
    kernel: Kernel, X: Floats, keep: Array, dtype: Any, workers: Threads | None, cache_bytes: int
) -> KernelRows:
    """Values among the rows keep of X."""
    held = cache_bytes // (np.dtype(dtype).itemsize * max(1, len(keep)))
    if has_tiles(kernel) and (
        X.shape[1] < DEAR or 2 * held < len(keep)
    ):  # few that are cached are rarely those that are needed
        return ComputedKernelRows(kernel, X, keep, dtype, workers)
    return CachedKernelRows(kernel, X, keep, dtype, workers, cache_bytes)


def _padded(q: int, dtype: Any) -> Array:
    size = -(-q // LANES) * LANES
    return np.zeros((size, size), dtype=dtype)


class ComputedKernelRows:
    """Every value is computed when it is needed; for some of the rows alone where others are left out."""

    def __init__(self, kernel: Kernel, X: Floats, keep: Array, dtype: Any, workers: Threads | None) -> None:
        self.kernel, self.X, self.keep, self.dtype, self.workers = kernel, X, keep, dtype, workers
        self.size, self.tiles = len(keep), Tiles(kernel, X, keep, dtype)
        self.scratch: Array | None = None  # of the block before: fresh memory takes longer than its values

    def zeros(self) -> Floats:
        return self.tiles.zeros()

    def block(self, pick: Array) -> Array:
        own = Tiles(self.kernel, self.X, self.keep[pick], self.dtype)
        K = own.padded_values(own.group(self.X, self.keep[pick]), self.scratch)
        if self.scratch is None or K.size > self.scratch.size:
            self.scratch = K.reshape(-1)
        return K

    def add(self, f: Floats, pick: Array, coef: Floats) -> None:
        self.tiles.add(f, self.tiles.group(self.X, self.keep[pick]), coef, self.workers)

    def sums_at(self, rows: Array, f: Floats, pick: Array, coef: Floats) -> Floats:
        some = self.narrowed(rows)
        sums = some.zeros()
        sums[: len(f)] = f
        some.tiles.add(sums, some.tiles.group(self.X, self.keep[pick]), coef, self.workers)
        return sums[: len(f)]

    def narrowed(self, keep: Array) -> ComputedKernelRows:
        return ComputedKernelRows(self.kernel, self.X, self.keep[keep], self.dtype, self.workers)


class CachedKernelRows:
    """Rows of values are kept as long as there is room; those that were not used for longest go first."""

    def __init__(
        self, kernel: Kernel, X: Floats, keep: Array, dtype: Any, workers: Threads | None, cache_bytes: int
    ) -> None:
        self.kernel, self.X, self.keep, self.workers, self.bytes = kernel, X, keep, workers, cache_bytes
        self.compiled = has_tiles(kernel)
        self.dtype = np.dtype(dtype if self.compiled else np.float64)
        self.size = len(keep)
        self.tiles = Tiles(kernel, X, keep, dtype) if self.compiled else None
        slots = max(LEAST_KEPT, min(self.size, cache_bytes // (self.dtype.itemsize * max(1, self.size))))
        self.rows = np.empty((slots, self.size), dtype=self.dtype)
        self.slot = np.full(self.size, -1, dtype=np.int64)  # of each row, −1: not kept
        self.owner = np.full(slots, -1, dtype=np.int64)
        self.used = np.zeros(slots, dtype=np.int64)  # when
        self.clock = 0
        self.spare: list[Array] = []

    def zeros(self) -> Floats:
        return np.zeros(self.size)

    def _fetch(self, pick: Array) -> Array:
        """The slots of rows, of which there may be no more than slots."""
        self.clock += 1
        there = self.slot[pick] >= 0
        self.used[self.slot[pick[there]]] = self.clock
        missing = np.unique(pick[~there])
        if len(missing):
            free = np.argpartition(self.used, len(missing) - 1)[: len(missing)]
            gone = self.owner[free]
            self.slot[gone[gone >= 0]] = -1
            self.slot[missing], self.owner[free], self.used[free] = free, missing, self.clock
            step = 96
            parts = [(missing[i : i + step], free[i : i + step]) for i in range(0, len(missing), step)]
            run = self.workers.map if self.workers is not None and self.compiled and len(parts) > 1 else map
            for _ in run(self._compute, parts):
                pass
        return self.slot[pick]

    def _compute(self, part: tuple[Array, Array]) -> None:
        rows, slots = part
        if self.tiles is not None:
            room = (
                self.spare.pop() if self.spare else None
            )  # of a part before: fresh memory takes as long as its values
            K = self.tiles.padded_values(self.tiles.group(self.X, self.keep[rows]), room)
            self.rows[slots] = K[: len(rows), : self.size]
            self.spare.append(K.reshape(-1))
        elif self.kernel.name == "precomputed":
            self.rows[slots] = self.X[np.ix_(self.keep[rows], self.keep)]
        else:
            self.rows[slots] = self.kernel.block(self.X[self.keep[rows]], self.X[self.keep])

    def block(self, pick: Array) -> Array:
        K = _padded(len(pick), self.dtype)
        for i in range(0, len(pick), len(self.owner)):
            part = pick[i : i + len(self.owner)]
            K[i : i + len(part), : len(pick)] = self.rows[self._fetch(part)[:, None], pick]
        return K

    def add(self, f: Floats, pick: Array, coef: Floats) -> None:
        for i in range(0, len(pick), len(self.owner)):
            part = slice(i, i + len(self.owner))
            work = partial(self._add_stretch, f, self._fetch(pick[part]), np.ascontiguousarray(coef[part]))
            firsts = range(0, self.size, STRETCH)
            for _ in map(work, firsts) if self.workers is None or len(firsts) == 1 else self.workers.map(work, firsts):
                pass

    def _add_stretch(self, f: Floats, slots: Array, coef: Floats, first: int) -> None:
        add_kept_rows(self.rows, slots, coef, first, min(first + STRETCH, self.size), f)
