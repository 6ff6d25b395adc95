"""Functions f_p(z) = Σ_i β_pi K(x_i, z) + b_p: what kernel machines answer with.

Few pairs of rows are answered in NumPy, so that a model from a file needs no compiler; many by compiled loops, in float64. Where only signs are
asked for, float32 comes first, with a proved bound on its error, and float64 for the rows within it:

    |x·z| is off by at most (d + 8) u max(|x|, |z|)² in float32 (u = 2⁻²⁴, rows rounded, products added one after another), and so is the exponent of
    exp(x·z − ½|x|² − ½|z|²); so the value is off by a share of e^that − 1, and f by that share of Σ |β_i| K(x_i, z)
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.families.kernel.functions import Kernel
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.kernel.tiles import PanelGroup, Tiles

AT_A_TIME = 1 << 21  # values of the kernel in memory at a time
FEW = 1 << 20  # numbers that pairs of rows compare, up to which NumPy answers
PIECE = 256  # rows of every block are a multiple of so many: how they are answered must not depend on where blocks end
ROWS, OTHERS = 512, 768  # of a block whose products with many coefficients are taken
UNIT = 2.0**-24
ROUNDED = 8  # roundings besides those of the columns
SERIES = 3e-7  # what the exponential itself may be off by, in float32
NOTHING = 2e-38  # a value that is taken for the least there is
USELESS = 0.01  # share of error at which float32 decides too little


class Expansion:
    """`rows` (m, d) float64 (of "precomputed": their numbers (m,)), `coef` (p, m), `intercept` (p,)."""

    def __init__(self, kernel: Kernel, rows: Array, coef: Floats, intercept: Floats) -> None:
        self.kernel, self.rows, self.coef, self.intercept = kernel, rows, coef, intercept

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in ("kernel", "rows", "coef", "intercept")}

    def values(self, Z: Array) -> Floats:
        """(n, p) in float64."""
        found = np.empty((len(Z), len(self.coef)))
        for piece in self._pieces(Z):
            found[piece] = self._values(Z[piece])
        return found

    def _pieces(self, Z: Array) -> list[slice]:
        """Rows that are answered together: all but the last few at once where PIECE of them are many, else PIECE by PIECE."""
        n, whole = len(Z), len(Z) - len(Z) % PIECE
        if n <= PIECE:
            return [slice(0, n)]
        step = max(PIECE, whole) if self._is_large(Z[:PIECE]) else PIECE
        return [slice(i, min(i + step, whole)) for i in range(0, whole, step)] + [slice(whole, n)] * (n > whole)

    def _values(self, Z: Array) -> Floats:
        if self._is_large(Z):
            return self._compiled_values(np.ascontiguousarray(Z, dtype=np.float64)) + self.intercept
        found = np.empty((len(Z), len(self.coef)))
        step = max(1, AT_A_TIME // max(1, len(self.rows)))
        for i in range(0, len(Z), step):
            found[i : i + step] = self.kernel.block(Z[i : i + step], self.rows) @ self.coef.T
        return found + self.intercept

    def signed(self, Z: Array) -> Floats:
        """Numbers (n, p) that have the signs of `values`, and where rows are many and the kernel is rbf are had sooner."""
        if self.kernel.name != "rbf" or not self._is_large(Z):
            return self.values(Z)
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        tiles = self._tiles(Z, np.float32)
        wide = float(max(self._group32.halves.max(initial=0.0), tiles.halves.max(initial=0.0)))
        share = float(np.expm1(UNIT * (Z.shape[1] + ROUNDED) * 2.0 * wide)) + SERIES
        if not share < USELESS:
            return self.values(Z)
        if len(self.coef) == 1:
            f, sizes = tiles.zeros(), tiles.zeros()
            tiles.add(f, self._group32, self.coef[0], None, sizes)
            found, off = f[: len(Z), None], sizes[: len(Z), None] * (1.1 * share)
        else:
            found = self._products(tiles, self._group32)
            off = np.broadcast_to(np.abs(self.coef).sum(axis=1) * (1.1 * (share + UNIT * len(self.rows))), found.shape)
        found += self.intercept
        size = np.abs(self.coef).sum(axis=1) * NOTHING + np.abs(self.intercept) * 1e-15
        unsure = np.flatnonzero((np.abs(found) <= off + size).any(axis=1))
        if len(unsure):
            found[unsure] = self.values(Z[unsure])
        return found

    def _is_large(self, Z: Array) -> bool:
        if self.kernel.own is not None or self.kernel.name == "precomputed" or len(self.rows) == 0:
            return False
        if len(Z) * len(self.rows) * (Z.shape[1] + 8) <= FEW:
            return False
        from assay.families.kernel.tiles import has_tiles

        return has_tiles(self.kernel)

    def _tiles(self, Z: Floats, dtype: Any) -> Tiles:
        from assay.families.kernel.tiles import Tiles

        return Tiles(self.kernel, Z, np.arange(len(Z)), dtype)

    @cached_property
    def _group32(self) -> PanelGroup:
        return self._tiles(self.rows[:1], np.float32).group(self.rows, np.arange(len(self.rows)))

    @cached_property
    def _group64(self) -> PanelGroup:
        return self._tiles(self.rows[:1], np.float64).group(self.rows, np.arange(len(self.rows)))

    def _compiled_values(self, Z: Floats) -> Floats:
        tiles = self._tiles(Z, np.float64)
        if len(self.coef) > 1:
            return self._products(tiles, self._group64)
        f = tiles.zeros()
        tiles.add(f, self._group64, self.coef[0], None)
        return f[: len(Z), None]

    def _products(self, tiles: Tiles, others: PanelGroup) -> Floats:
        """Blocks of values times the coefficients, in the width of the tiles."""
        found = np.zeros((len(self.coef), tiles.size))
        coef = self.coef.astype(tiles.dtype)
        room = None
        for first in range(0, tiles.size, ROWS):
            rows = tiles.stretch(first, first + ROWS)
            for start in range(0, others.size, OTHERS):
                some = others.stretch(start, start + OTHERS)
                block = rows.padded_values(some, room)
                room = block.reshape(-1) if room is None else room
                found[:, first : first + rows.size] += (
                    coef[:, start : start + some.size] @ block[: some.size, : rows.size]
                )
        return np.ascontiguousarray(found.T)
