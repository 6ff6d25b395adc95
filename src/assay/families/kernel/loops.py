"""Values of a kernel function for panels of rows and groups of others, in registers from the first product to the last use.

Rows lie in panels of PANEL (float32) or half as many (float64), column by column, others in groups of ASKED. While the columns go by, the
products of a panel and a group stay in registers; there the function is taken of them, and they are stored, or summed with coefficients
and forgotten. A library's product of few columns spends as long on copies of its operands, and what it writes must be read again.
Each value depends on its two rows alone, so blocks of any shape give the same bits.

A function is `Formula(what, scale, shift, degree)`: see `assay.compiled.simd.kernels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from assay.compiled.decorator import inlined, jit
from assay.compiled.simd.kernels import ASKED, add, add_both, fill
from assay.compiled.simd.memory import data_pointer


class KernelFormula(NamedTuple):
    """What is made of products t of columns: `what` with its numbers; `degree` is whole."""

    what: int
    scale: Any
    shift: Any
    degree: int


class PanelRows(NamedTuple):
    """Rows in panels (panels, d, lanes), or in groups (groups, d, ASKED), and half of their squares."""

    panels: Any
    halves: Any


@inlined
def _panel_pointers(rows):  # type: ignore[no-untyped-def]
    return PanelRows(data_pointer(rows.panels), data_pointer(rows.halves))


@jit
def fill_block(rows, others, formula, first, stop, out):  # type: ignore[no-untyped-def]
    """out (≥ groups · ASKED, (stop − first) · lanes): values of panels first … stop − 1 of the rows and the groups of others."""
    d, lanes, step = rows.panels.shape[1], rows.panels.shape[2], out.shape[1]
    a, b, to = _panel_pointers(rows), _panel_pointers(others), data_pointer(out)
    for p in range(first, stop):
        for g in range(others.panels.shape[0]):
            i = g * ASKED
            fill(a, p * lanes, b, i, d, formula, to, i * step + (p - first) * lanes, step)


@jit
def add_values(rows, others, formula, first, stop, coef, f):  # type: ignore[no-untyped-def]
    """f[row] += Σ_i coef_i K(row, i) for the rows of panels first … stop − 1."""
    d, lanes = rows.panels.shape[1], rows.panels.shape[2]
    a, b, c, into = _panel_pointers(rows), _panel_pointers(others), data_pointer(coef), data_pointer(f)
    for p in range(first, stop):
        for g in range(others.panels.shape[0]):
            add(a, p * lanes, b, g * ASKED, d, formula, c, into)


@jit
def add_values_and_sizes(rows, others, formula, first, stop, coef, f, g):  # type: ignore[no-untyped-def]
    """The same, and g[row] += Σ_i |coef_i K(row, i)|: what bounds the error of f."""
    d, lanes = rows.panels.shape[1], rows.panels.shape[2]
    a, b, c, into, sizes = (
        _panel_pointers(rows),
        _panel_pointers(others),
        data_pointer(coef),
        data_pointer(f),
        data_pointer(g),
    )
    for p in range(first, stop):
        for group in range(others.panels.shape[0]):
            add_both(a, p * lanes, b, group * ASKED, d, formula, c, into, sizes)


@jit
def lay_out(X, pick, centre, scale, panels, halves):  # type: ignore[no-untyped-def]
    """Rows pick of X, less a centre and times scale: into panels or groups (k, d, width), whatever their width; halves: ½ of their squares."""
    d, width = X.shape[1], panels.shape[2]
    for r in range(len(pick)):
        p, k = r // width, r % width
        total = 0.0
        for j in range(d):
            panels[p, j, k] = (X[pick[r], j] - centre[j]) * scale
            x = float(panels[p, j, k])
            total += x * x
        halves[r] = 0.5 * total
