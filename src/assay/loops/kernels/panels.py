"""Values of a kernel function for panels of rows and groups of others, in registers from the first product to the last use.

Rows lie in panels of PANEL (float32) or half as many (float64), column by column, others in groups of ASKED. While the columns go by, the
products of a panel and a group stay in registers; there the function is taken of them, and they are stored, or summed with coefficients
and forgotten. A library's product of few columns spends as long on copies of its operands, and what it writes must be read again.
Each value depends on its two rows alone, so blocks of any shape give the same bits.

A function is `Formula(what, scale, shift, degree)`: see `vectors`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.kernels import vectors as v
from assay.loops.kernels.vectors import CITY, GAUSS, POWER, TANH, WORD, Kind
from assay.loops.tree.bare import bare

PANEL = 32
ASKED = 12 if binding.get_host_cpu_features().get("avx512f", False) else 3  # 24 or 12 registers of products


def lanes_of(dtype: Any) -> int:
    """The rows of a panel: as many as 32 numbers of four bytes take."""
    return PANEL * 4 // int(np.dtype(dtype).itemsize)


def _kind(array: Any) -> Kind:
    return v.single(PANEL) if array.dtype == types.float32 else v.double(PANEL // 2)


def _products(
    builder: Any, kind: Kind, a: Any, at: Any, b: Any, asked: Any, d: Any, sums: list[Any], city: bool
) -> None:
    """sums[q] += Σ_j a_j b_qj, or Σ_j |a_j − b_qj|."""
    with cgutils.for_range(builder, d) as loop:
        x = v.load(builder, kind, a, builder.add(at, builder.mul(loop.index, ir.Constant(WORD, kind.lanes))))
        first = builder.gep(b, [builder.add(asked, builder.mul(loop.index, ir.Constant(WORD, ASKED)))])
        for q, total in enumerate(sums):
            y = v.spread(builder, kind, builder.load(builder.gep(first, [ir.Constant(WORD, q)])))
            if city:
                gap = builder.fsub(x, y)
                back = builder.fsub(y, x)
                gap = builder.select(builder.fcmp_ordered("<", gap, kind.all(0.0)), back, gap)
                builder.store(builder.fadd(builder.load(total), gap), total)
            else:
                builder.store(v.multiply_add(builder, x, y, builder.load(total)), total)


def _values(builder: Any, kind: Kind, args: Any) -> list[Any]:
    """The function's values for one panel and one group: ASKED places that hold vectors."""
    a, at, b, asked, d, what, scale, shift, degree, alpha, row, beta, i = args
    sums = [cgutils.alloca_once_value(builder, kind.all(0.0)) for _ in range(ASKED)]
    for total in sums:
        builder.store(kind.all(0.0), total)

    def is_(code: int) -> Any:
        return builder.icmp_signed("==", what, ir.Constant(WORD, code))

    with builder.if_else(is_(CITY)) as (then, otherwise):
        with then:
            _products(builder, kind, a, at, b, asked, d, sums, city=True)
            for total in sums:
                builder.store(v.exponential(builder, kind, builder.fsub(kind.all(0.0), builder.load(total))), total)
        with otherwise:
            _products(builder, kind, a, at, b, asked, d, sums, city=False)
            with builder.if_else(is_(GAUSS)) as (gauss, linear):
                with gauss:
                    half = v.load(builder, kind, alpha, row)
                    for q, total in enumerate(sums):
                        other = builder.load(builder.gep(beta, [builder.add(i, ir.Constant(WORD, q))]))
                        both = builder.fadd(half, v.spread(builder, kind, other))  # first, so that K(x, z) = K(z, x)
                        less = builder.fsub(builder.load(total), both)
                        builder.store(v.exponential(builder, kind, less), total)
                with linear:
                    times, plus = v.spread(builder, kind, scale), v.spread(builder, kind, shift)
                    for total in sums:
                        builder.store(v.multiply_add(builder, builder.load(total), times, plus), total)
                    with builder.if_then(is_(POWER)):
                        for total in sums:
                            builder.store(v.power(builder, kind, builder.load(total), degree), total)
                    with builder.if_then(is_(TANH)):
                        for total in sums:
                            builder.store(v.hyperbolic_tangent(builder, kind, builder.load(total)), total)
    return sums


def _weighted(builder: Any, kind: Kind, args: Any, coef: Any) -> Iterator[tuple[Any, Any]]:
    """The values of each of a group and its coefficient, as vectors of float64."""
    wide = v.double(kind.lanes)
    for q, total in enumerate(_values(builder, kind, args)):
        K = builder.load(total) if kind.bits == 64 else builder.fpext(builder.load(total), wide.vector)
        c = builder.load(builder.gep(coef, [builder.add(args[12], ir.Constant(WORD, q))]))
        yield K, v.spread(builder, wide, c)


def _signature(a: Any, *more: Any) -> Any:
    number, whole = a.dtype, types.int64
    return types.void(a, whole, a, whole, whole, whole, number, number, whole, a, whole, a, whole, *more)


@intrinsic
def _fill(
    typingctx: Any,
    a: Any,
    at: Any,
    b: Any,
    asked: Any,
    d: Any,
    what: Any,
    scale: Any,
    shift: Any,
    degree: Any,
    alpha: Any,
    row: Any,
    beta: Any,
    i: Any,
    out: Any,
    to: Any,
    step: Any,
) -> Any:
    kind = _kind(a)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, to, step = args[13:]
        for q, total in enumerate(_values(builder, kind, args[:13])):
            place = builder.add(to, builder.mul(step, ir.Constant(WORD, q)))
            v.store(builder, kind, builder.load(total), out, place)
        return context.get_dummy_value()

    return _signature(a, a, types.int64, types.int64), generate


@intrinsic
def _add(
    typingctx: Any,
    a: Any,
    at: Any,
    b: Any,
    asked: Any,
    d: Any,
    what: Any,
    scale: Any,
    shift: Any,
    degree: Any,
    alpha: Any,
    row: Any,
    beta: Any,
    i: Any,
    coef: Any,
    f: Any,
    j: Any,
) -> Any:
    kind = _kind(a)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        coef, f, j = args[13:]
        found = v.load(builder, v.double(kind.lanes), f, j)
        for K, c in _weighted(builder, kind, args[:13], coef):
            found = v.multiply_add(builder, K, c, found)
        v.store(builder, v.double(kind.lanes), found, f, j)
        return context.get_dummy_value()

    return _signature(a, f, f, types.int64), generate


@intrinsic
def _add_both(
    typingctx: Any,
    a: Any,
    at: Any,
    b: Any,
    asked: Any,
    d: Any,
    what: Any,
    scale: Any,
    shift: Any,
    degree: Any,
    alpha: Any,
    row: Any,
    beta: Any,
    i: Any,
    coef: Any,
    f: Any,
    g: Any,
    j: Any,
) -> Any:
    kind = _kind(a)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        coef, f, g, j = args[13:]
        wide = v.double(kind.lanes)
        signed, size = v.load(builder, wide, f, j), v.load(builder, wide, g, j)
        for K, c in _weighted(builder, kind, args[:13], coef):
            term = builder.fmul(K, c)
            below = builder.fcmp_ordered("<", term, wide.all(0.0))
            signed = builder.fadd(signed, term)
            size = builder.fadd(size, builder.select(below, builder.fsub(wide.all(0.0), term), term))
        v.store(builder, wide, signed, f, j)
        v.store(builder, wide, size, g, j)
        return context.get_dummy_value()

    return _signature(a, f, f, g, types.int64), generate


class Formula(NamedTuple):
    """What is made of products t of columns: `what` with its numbers; `degree` is whole."""

    what: int
    scale: float
    shift: float
    degree: int


def _plain_values(
    a: Any,
    at: int,
    b: Any,
    asked: int,
    d: int,
    what: int,
    scale: float,
    shift: float,
    degree: int,
    alpha: Any,
    row: int,
    beta: Any,
    i: int,
) -> Any:
    lanes = lanes_of(a.dtype)
    x = a[at : at + d * lanes].reshape(d, lanes)
    y = b[asked : asked + d * ASKED].reshape(d, ASKED)
    if what == CITY:
        return np.exp(-np.abs(x[:, None, :] - y[:, :, None]).sum(axis=0))
    t = y.T @ x
    if what == GAUSS:
        return np.exp(np.minimum(0, t - (alpha[row : row + lanes] + beta[i : i + ASKED, None])))
    t = scale * t + shift
    return t**degree if what == POWER else np.tanh(t) if what == TANH else t


def _plain_fill(*args: Any) -> None:
    K, (out, to, step) = _plain_values(*args[:13]), args[13:]
    for q in range(ASKED):
        out[to + q * step : to + q * step + K.shape[1]] = K[q]


def _plain_add(*args: Any) -> None:
    K, i, (coef, f, j) = _plain_values(*args[:13]), args[12], args[13:]
    f[j : j + K.shape[1]] += coef[i : i + ASKED] @ K


def _plain_add_both(*args: Any) -> None:
    K, i, (coef, f, g, j) = _plain_values(*args[:13]), args[12], args[13:]
    f[j : j + K.shape[1]] += coef[i : i + ASKED] @ K
    g[j : j + K.shape[1]] += np.abs(coef[i : i + ASKED]) @ np.abs(K)


fill, add, add_both = (_plain_fill, _plain_add, _plain_add_both) if config.DISABLE_JIT else (_fill, _add, _add_both)


@njit(nogil=True, cache=True)
def fill_block(a, b, alpha, beta, what, scale, shift, degree, first, stop, out):  # type: ignore[no-untyped-def]
    """out (≥ groups · ASKED, (stop − first) · lanes): values of panels first … stop − 1 of a (panels, d, lanes) and the groups of b (groups, d, ASKED)."""
    d, lanes, step = a.shape[1], a.shape[2], out.shape[1]
    rows, others, halves, offs, to = bare(a), bare(b), bare(alpha), bare(beta), bare(out)
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


@njit(nogil=True, cache=True)
def add_values(a, b, alpha, beta, what, scale, shift, degree, first, stop, coef, f):  # type: ignore[no-untyped-def]
    """f[row] += Σ_i coef_i K(row, i) for the rows of panels first … stop − 1."""
    d, lanes = a.shape[1], a.shape[2]
    rows, others, halves, offs, c, into = bare(a), bare(b), bare(alpha), bare(beta), bare(coef), bare(f)
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


@njit(nogil=True, cache=True)
def add_values_and_sizes(a, b, alpha, beta, what, scale, shift, degree, first, stop, coef, f, g):  # type: ignore[no-untyped-def]
    """The same, and g[row] += Σ_i |coef_i K(row, i)|: what bounds the error of f."""
    d, lanes = a.shape[1], a.shape[2]
    rows, others, halves, offs, c, into, sizes = bare(a), bare(b), bare(alpha), bare(beta), bare(coef), bare(f), bare(g)
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


@njit(nogil=True, cache=True)
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
