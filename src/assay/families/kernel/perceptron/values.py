"""Values of a kernel function among the rows of a fit, in stretches of fixed size: the bits do not depend on who computes which."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from assay.engines.engine import Threads
from assay.errors import DataError
from assay.families.kernel.functions import COARSE, Kernel
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.kernel.tiles import PanelGroup, Tiles

TALL = 64  # rows and, where several sums are made of the same values,
WIDE = 768  # others of a block: it stays near the processor
WORTH = 1 << 17  # values from which on threads share the work
EPS = float(np.finfo(np.float64).eps)


class KernelValues:
    """K(x_i, x_j) of rows by their numbers. X (n, d) float64 in C order; of kernel "precomputed" the (n, n) matrix."""

    def __init__(self, kernel: Kernel, X: Floats, workers: Threads) -> None:
        from assay.families.kernel.tiles import has_tiles

        self.kernel, self.X, self.workers = kernel, X, workers
        self.compiled = (
            has_tiles(kernel) and kernel.name != "sigmoid"
        )  # the loops' tanh of next to nothing is 0, by which visits are taken for ties
        self.diagonal = kernel.diagonal(X)
        if kernel.name == "rbf" and not np.isfinite(self._squares(np.arange(len(X)))).all():
            raise DataError(
                "Squares of the values overflow float64: divide the columns by a constant (or standardise them)."
            )

    def block(self, a: Array, b: Array) -> Floats:
        """(len(a), len(b))."""
        if not self.compiled:
            return self._plain(a, b)
        tiles = self._tiles(b)
        return np.ascontiguousarray(tiles.values(tiles.group(self.X, a)))

    def add(self, S: Floats, rows: Array, changed: Array, delta: Floats, laid: Tiles | None = None) -> None:
        """S (m, len(rows)) += Σ_j delta_kj K(x_j, x_i) over the rows `changed`, delta (m, len(changed)); `laid`: the rows, laid out before."""
        if not len(changed) or not len(rows):
            return
        work: Callable[[slice], None]
        if self.compiled:
            tiles = self._tiles(rows) if laid is None else laid
            work = partial(self._add_tiles, S, tiles, tiles.group(self.X, changed), np.ascontiguousarray(delta))
        else:
            work = partial(self._add_plain, S, rows, changed, delta)
        small = len(rows) * len(changed) < WORTH
        step = len(rows) if small else TALL
        parts = [slice(a, min(len(rows), a + step)) for a in range(0, len(rows), step)]
        for _ in map(work, parts) if small or self.kernel.own is not None else self.workers.map(work, parts):
            pass

    def lay_out(self, rows: Array) -> Tiles | None:
        """Rows to which something will be added again and again."""
        return self._tiles(rows) if self.compiled and len(rows) else None

    def _tiles(self, rows: Array) -> Tiles:
        from assay.families.kernel.tiles import Tiles

        return Tiles(self.kernel, self.X, rows, np.float64)

    def _add_tiles(self, S: Floats, tiles: Tiles, others: PanelGroup, delta: Floats, part: slice) -> None:
        some, here = tiles.stretch(part.start, part.stop), S[:, part]
        if len(delta) == 1:
            f = some.zeros()
            some.add(f, others, delta[0], None)
            here[0] += f[: some.size]
            return
        for b in range(0, others.size, WIDE):
            K = some.values(others.stretch(b, b + WIDE))
            here += delta[:, b : b + WIDE] @ K

    def _add_plain(self, S: Floats, rows: Array, changed: Array, delta: Floats, part: slice) -> None:
        for b in range(0, len(changed), WIDE):
            S[:, part] += delta[:, b : b + WIDE] @ self._plain(changed[b : b + WIDE], rows[part])

    def _plain(self, a: Array, b: Array) -> Floats:
        if self.kernel.name == "precomputed":
            given: Floats = self.X[np.ix_(a, b)]
            return given
        return self.kernel.block(self.X[a], self.X[b])

    def _centred(self, rows: Array) -> Floats:
        found: Floats = self.X[rows] if self.kernel.centre is None else self.X[rows] - self.kernel.centre
        return found

    def _squares(self, rows: Array) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            X = self._centred(rows)
            found: Floats = np.einsum("ij,ij->i", X, X)
        return found

    def largest_square(self, rows: Array) -> float:
        """R² = max K(x, x)."""
        return float(self.diagonal[rows].max(initial=0.0))

    def largest(self, rows: Array) -> float:
        """A bound of |K(x, z)|: R², but for a given matrix, which need be no kernel."""
        if self.kernel.name != "precomputed":
            return self.largest_square(rows)
        steps = [rows[a : a + TALL] for a in range(0, len(rows), TALL)]
        return max((float(np.abs(self.X[np.ix_(some, rows)]).max()) for some in steps), default=0.0)

    def rounding(self, rows: Array) -> float:
        """A bound of what rounding changes a value K(x, z) of these rows by: products of d numbers, and what the kernel makes of their errors."""
        k, X = self.kernel, self.X
        if k.name in ("precomputed", "own"):
            return 8 * EPS * self.largest(rows)
        u: float = (X.shape[1] + 8) * EPS
        if k.name == "laplacian":
            top = float(np.abs(self._centred(rows)).sum(axis=1).max(initial=0.0))
        else:
            top = float(self._squares(rows).max(initial=0.0))
        if k.normed:  # beyond that, distances are taken column by column
            return min(4 * u * k.gamma * top, 4 * COARSE) + u + 8 * EPS
        if k.name in ("linear", "affine"):
            return u * (top + 1.0)
        base = k.gamma * top + abs(k.coef0)
        return 2 * u * (k.degree + 1) * base**k.degree if k.name == "poly" else u * base + 8 * EPS
