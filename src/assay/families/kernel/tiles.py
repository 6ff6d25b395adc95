"""Rows laid out so that compiled loops take values of a kernel function for many pairs at once: blocks of them, or sums with coefficients.

A value depends on its two rows alone, so blocks, threads and the order of rows change no bit of it, and K(x, z) = K(z, x).
"""

from __future__ import annotations

import math
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.compiled.simd.kernels import ASKED, CITY, GAUSS, POWER, PRODUCT, TANH, lanes_of
from assay.engines.engine import Threads
from assay.families.kernel.functions import Kernel, has_formula
from assay.families.kernel.loops import (
    KernelFormula,
    PanelRows,
    add_values,
    add_values_and_sizes,
    fill_block,
    lay_out,
)
from assay.numerics import Array, Floats

PIECE = 1 << 11  # rows of a task, about
MOST_DEGREE = 64
LEAST32, MOST32 = 1e-15, 1e15  # numbers whose squares float32 has


def has_tiles(kernel: Kernel) -> bool:
    """Whether the compiled loops know the function."""
    if kernel.name == "poly":
        return kernel.degree == int(kernel.degree) and kernel.degree <= MOST_DEGREE and kernel.centre is None
    return has_formula(kernel) and not kernel.by_differences


def has_float32(kernel: Kernel, X: Floats) -> bool:
    """Whether float32 has numbers as great and as small as those of which values among these rows are made."""
    if kernel.normed:
        off = X if kernel.centre is None else X - kernel.centre
        reach = np.abs(off).max(initial=0.0) * scale_of_rows(kernel)
    else:
        reach = max(np.abs(X).max(initial=0.0), np.abs(kernel.diagonal(X)).max(initial=0.0))
    return bool(
        (reach == 0 or LEAST32 < reach < MOST32) and LEAST32 < kernel.gamma < MOST32 and abs(kernel.coef0) < MOST32
    )


def scale_of_rows(kernel: Kernel) -> float:
    """What rows are multiplied by before distances are taken."""
    return {"rbf": math.sqrt(2.0 * kernel.gamma), "laplacian": kernel.gamma}.get(kernel.name, 1.0)


def _formula(kernel: Kernel) -> KernelFormula:
    what = {"linear": PRODUCT, "affine": PRODUCT, "poly": POWER, "rbf": GAUSS, "laplacian": CITY, "sigmoid": TANH}[
        kernel.name
    ]
    if what == PRODUCT:
        return KernelFormula(what, 1.0, float(kernel.name == "affine"), 1)
    return KernelFormula(what, kernel.gamma, kernel.coef0, int(kernel.degree) if what == POWER else 1)


class PanelGroup(NamedTuple):
    """Rows as the others of panels: (groups, d, ASKED), half of their squares, and how many there are."""

    rows: Array
    halves: Array
    size: int

    def stretch(self, first: int, stop: int) -> PanelGroup:
        """The others first … stop − 1, where first is a multiple of ASKED."""
        stop = min(stop, self.size)
        part = slice(first // ASKED, -(-stop // ASKED))
        return PanelGroup(self.rows[part], self.halves[first : part.stop * ASKED], stop - first)


class Tiles:
    """Rows `pick` of X (n, d) under a kernel function, in float32 or float64."""

    def __init__(self, kernel: Kernel, X: Floats, pick: Array, dtype: Any) -> None:
        self.kernel, self.dtype, self.size = kernel, np.dtype(dtype), len(pick)
        self.lanes, self.formula = lanes_of(dtype), _formula(kernel)
        zero = np.zeros(X.shape[1])
        self.centre = zero if kernel.centre is None else kernel.centre
        self.scale = scale_of_rows(kernel)
        self.panels, self.halves = self._laid(X, pick, self.lanes)

    def _laid(self, X: Floats, pick: Array, width: int) -> tuple[Array, Array]:
        many = -(-len(pick) // width)
        rows = np.zeros((many, X.shape[1], width), dtype=self.dtype)
        halves = np.zeros(many * width, dtype=self.dtype)
        lay_out(X, pick, self.centre, self.scale, rows, halves)
        return rows, halves

    def group(self, X: Floats, pick: Array) -> PanelGroup:
        """Rows pick of X as others."""
        return PanelGroup(*self._laid(X, pick, ASKED), len(pick))

    def _arguments(self, others: PanelGroup) -> tuple[PanelRows, PanelRows, KernelFormula]:
        f, number = self.formula, self.dtype.type
        with np.errstate(over="ignore", under="ignore"):  # of distances the scale is in the rows
            formula = KernelFormula(f.what, number(f.scale), number(f.shift), f.degree)
        return PanelRows(self.panels, self.halves), PanelRows(others.rows, others.halves), formula

    def stretch(self, first: int, stop: int) -> Tiles:
        """The rows first … stop − 1, where first is a multiple of the lanes."""
        some = copy(self)
        some.size = min(stop, self.size) - first
        part = slice(first // self.lanes, -(-min(stop, self.size) // self.lanes))
        some.panels, some.halves = self.panels[part], self.halves[first : part.stop * self.lanes]
        return some

    def zeros(self) -> Floats:
        """Zeros, one for each row, and for those that fill the last panel."""
        return np.zeros(len(self.panels) * self.lanes)

    def values(self, others: PanelGroup) -> Array:
        """K(other, row): (others, rows)."""
        return self.padded_values(others)[: others.size, : self.size]

    def padded_values(self, others: PanelGroup, room: Array | None = None) -> Array:
        """The same with what fills the last group and panel; in `room` where that is large enough."""
        shape = len(others.rows) * ASKED, len(self.panels) * self.lanes
        if room is None or room.size < shape[0] * shape[1]:
            room = np.empty(shape[0] * shape[1], dtype=self.dtype)
        out = room[: shape[0] * shape[1]].reshape(shape)
        fill_block(*self._arguments(others), 0, len(self.panels), out)
        return out

    def add(
        self, f: Floats, others: PanelGroup, coef: Floats, workers: Threads | None, sizes: Floats | None = None
    ) -> None:
        """f[row] += Σ coef_i K(other_i, row), f as `zeros` makes it; sizes[row] += Σ |coef_i K(other_i, row)|."""
        padded = np.zeros(len(others.rows) * ASKED)
        padded[: len(coef)] = coef
        many = max(1, PIECE // self.lanes)
        parts = [(i, min(i + many, len(self.panels))) for i in range(0, len(self.panels), many)]
        work = partial(self._add_part, f, others, padded, sizes)
        for _ in map(work, parts) if workers is None or len(parts) == 1 else workers.map(work, parts):
            pass

    def _add_part(
        self, f: Floats, others: PanelGroup, coef: Floats, sizes: Floats | None, part: tuple[int, int]
    ) -> None:
        if sizes is None:
            add_values(*self._arguments(others), *part, coef, f)
        else:
            add_values_and_sizes(*self._arguments(others), *part, coef, f, sizes)
