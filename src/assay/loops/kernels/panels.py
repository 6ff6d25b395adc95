"""Values of a kernel function for panels of rows and groups of others, in registers from the first product to the last use.

Rows lie in panels of PANEL (float32) or half as many (float64), column by column, others in groups of ASKED. While the columns go by, the
products of a panel and a group stay in registers; there the function is taken of them, and they are stored, or summed with coefficients
and forgotten. A library's product of few columns spends as long on copies of its operands, and what it writes must be read again.
Each value depends on its two rows alone, so blocks of any shape give the same bits.

A function is `Formula(what, scale, shift, degree)`: see `vectors`.
"""

from __future__ import annotations

from typing import NamedTuple

from assay.compiled import jit
from assay.compiled.simd.kernels import ASKED, add, add_both, fill
from assay.compiled.simd.memory import data_pointer


class Formula(NamedTuple):
    """What is made of products t of columns: `what` with its numbers; `degree` is whole."""

    what: int
    scale: float
    shift: float
    degree: int


@jit
def fill_block(a, b, alpha, beta, what, scale, shift, degree, first, stop, out):  # type: ignore[no-untyped-def]
    """out (≥ groups · ASKED, (stop − first) · lanes): values of panels first … stop − 1 of a (panels, d, lanes) and the groups of b (groups, d, ASKED)."""
    d, lanes, step = a.shape[1], a.shape[2], out.shape[1]
    rows, others, halves, offs, to = (
        data_pointer(a),
        data_pointer(b),
        data_pointer(alpha),
        data_pointer(beta),
        data_pointer(out),
    )
    for p in range(first, stop):
        for g in range(b.shape[0]):
            i = g * ASKED
            at = i * step + (p - first) * lanes
            fill(
                rows,
                p * lanes * d,
                others,
                i * d,
                d,
                what,
                scale,
                shift,
                degree,
                halves,
                p * lanes,
                offs,
                i,
                to,
                at,
                step,
            )


@jit
def add_values(a, b, alpha, beta, what, scale, shift, degree, first, stop, coef, f):  # type: ignore[no-untyped-def]
    """f[row] += Σ_i coef_i K(row, i) for the rows of panels first … stop − 1."""
    d, lanes = a.shape[1], a.shape[2]
    rows, others, halves, offs, c, into = (
        data_pointer(a),
        data_pointer(b),
        data_pointer(alpha),
        data_pointer(beta),
        data_pointer(coef),
        data_pointer(f),
    )
    for p in range(first, stop):
        for g in range(b.shape[0]):
            i = g * ASKED
            add(
                rows,
                p * lanes * d,
                others,
                i * d,
                d,
                what,
                scale,
                shift,
                degree,
                halves,
                p * lanes,
                offs,
                i,
                c,
                into,
                p * lanes,
            )


@jit
def add_values_and_sizes(a, b, alpha, beta, what, scale, shift, degree, first, stop, coef, f, g):  # type: ignore[no-untyped-def]
    """The same, and g[row] += Σ_i |coef_i K(row, i)|: what bounds the error of f."""
    d, lanes = a.shape[1], a.shape[2]
    rows, others, halves, offs, c, into, sizes = (
        data_pointer(a),
        data_pointer(b),
        data_pointer(alpha),
        data_pointer(beta),
        data_pointer(coef),
        data_pointer(f),
        data_pointer(g),
    )
    for p in range(first, stop):
        for group in range(b.shape[0]):
            i = group * ASKED
            add_both(
                rows,
                p * lanes * d,
                others,
                i * d,
                d,
                what,
                scale,
                shift,
                degree,
                halves,
                p * lanes,
                offs,
                i,
                c,
                into,
                sizes,
                p * lanes,
            )


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
