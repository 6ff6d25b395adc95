"""Values of a kernel function for panels of rows and groups of others, and the sweeps over a working set.

Rows lie in panels of PANEL (float32) or half as many (float64), column by column, others in groups of ASKED. While the columns go by, the
products of a panel and a group stay in registers; there the function is taken of them, and they are stored, or summed with coefficients
and forgotten. A library's product of few columns spends as long on copies of its operands, and what it writes must be read again.
Each value depends on its two rows alone, so blocks of any shape give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.compiled.simd import vectors as v
from assay.compiled.simd.vectors import INT32, WORD, Kind, word
from assay.compiled.tiers import WIDE_REGISTERS

PANEL = 32
ASKED = 12 if WIDE_REGISTERS else 3  # 24 or 12 registers of products
# scale·t + shift, (scale·t + shift)^degree, e^(t − a − b), e^(−t), tanh(scale·t + shift)
PRODUCT, POWER, GAUSS, CITY, TANH = range(5)
LANES = 16  # the size of a working set is a multiple of this
FLAT = 1e-12  # curvature that counts as none
WIDE = v.double(LANES)
NUMBERS = ir.VectorType(WORD, LANES)


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
        x = kind.load(builder, a, builder.add(at, builder.mul(loop.index, word(kind.lanes))))
        first = builder.gep(b, [builder.add(asked, builder.mul(loop.index, word(ASKED)))])
        for q, total in enumerate(sums):
            y = kind.spread(builder, builder.load(builder.gep(first, [word(q)])))
            if city:
                gap = builder.fsub(x, y)
                back = builder.fsub(y, x)
                gap = builder.select(builder.fcmp_ordered("<", gap, kind.all(0.0)), back, gap)
                builder.store(builder.fadd(builder.load(total), gap), total)
            else:
                builder.store(v.multiply_add(builder, x, y, builder.load(total)), total)


def _power(builder: Any, kind: Kind, x: Any, degree: Any) -> Any:
    """x·x·…·x."""
    total = v.variable(builder, kind.all(1.0))
    with cgutils.for_range(builder, degree):
        builder.store(builder.fmul(builder.load(total), x), total)
    return builder.load(total)


def _values(builder: Any, kind: Kind, args: Any) -> list[Any]:
    """The function's values for one panel and one group: ASKED places that hold vectors. args: rows, row, others, i, d, formula."""
    rows, row, others, i, d, formula = args
    (a, alpha), (b, beta) = ([builder.extract_value(laid, field) for field in range(2)] for laid in (rows, others))
    what, scale, shift, degree = (builder.extract_value(formula, field) for field in range(4))
    at, asked = builder.mul(row, d), builder.mul(i, d)
    sums = [v.variable(builder, kind.all(0.0)) for _ in range(ASKED)]

    def is_(code: int) -> Any:
        return builder.icmp_signed("==", what, word(code))

    with builder.if_else(is_(CITY)) as (then, otherwise):
        with then:
            _products(builder, kind, a, at, b, asked, d, sums, city=True)
            for total in sums:
                builder.store(v.exponential(builder, kind, builder.fsub(kind.all(0.0), builder.load(total))), total)
        with otherwise:
            _products(builder, kind, a, at, b, asked, d, sums, city=False)
            with builder.if_else(is_(GAUSS)) as (gauss, linear):
                with gauss:
                    half = kind.load(builder, alpha, row)
                    for q, total in enumerate(sums):
                        other = builder.load(builder.gep(beta, [builder.add(i, word(q))]))
                        both = builder.fadd(half, kind.spread(builder, other))  # first, so that K(x, z) = K(z, x)
                        less = builder.fsub(builder.load(total), both)
                        builder.store(v.exponential(builder, kind, less), total)
                with linear:
                    times, plus = kind.spread(builder, scale), kind.spread(builder, shift)
                    for total in sums:
                        builder.store(v.multiply_add(builder, builder.load(total), times, plus), total)
                    with builder.if_then(is_(POWER)):
                        for total in sums:
                            builder.store(_power(builder, kind, builder.load(total), degree), total)
                    with builder.if_then(is_(TANH)):
                        for total in sums:
                            builder.store(v.hyperbolic_tangent(builder, kind, builder.load(total)), total)
    return sums


def _weighted(builder: Any, kind: Kind, args: Any, coef: Any) -> Iterator[tuple[Any, Any]]:
    """The values of each of a group and its coefficient, as vectors of float64."""
    wide = v.double(kind.lanes)
    for q, total in enumerate(_values(builder, kind, args)):
        K = builder.load(total) if kind.bits == 64 else builder.fpext(builder.load(total), wide.vector)
        c = builder.load(builder.gep(coef, [builder.add(args[3], word(q))]))
        yield K, wide.spread(builder, c)


def _signature(rows: Any, others: Any, formula: Any, *more: Any) -> Any:
    whole = types.int64
    return types.void(rows, whole, others, whole, whole, formula, *more)


@intrinsic
def _fill(
    typingctx: Any, rows: Any, row: Any, others: Any, i: Any, d: Any, formula: Any, out: Any, to: Any, step: Any
) -> Any:
    kind = _kind(rows.types[0])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, to, step = args[6:]
        for q, total in enumerate(_values(builder, kind, args[:6])):
            place = builder.add(to, builder.mul(step, word(q)))
            v.store(builder, builder.load(total), out, place)
        return context.get_dummy_value()

    return _signature(rows, others, formula, out, types.int64, types.int64), generate


@intrinsic
def _add(typingctx: Any, rows: Any, row: Any, others: Any, i: Any, d: Any, formula: Any, coef: Any, f: Any) -> Any:
    kind = _kind(rows.types[0])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row, (coef, f) = args[1], args[6:]
        found = v.double(kind.lanes).load(builder, f, row)
        for K, c in _weighted(builder, kind, args[:6], coef):
            found = v.multiply_add(builder, K, c, found)
        v.store(builder, found, f, row)
        return context.get_dummy_value()

    return _signature(rows, others, formula, coef, f), generate


@intrinsic
def _add_both(
    typingctx: Any, rows: Any, row: Any, others: Any, i: Any, d: Any, formula: Any, coef: Any, f: Any, g: Any
) -> Any:
    kind = _kind(rows.types[0])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row, (coef, f, g) = args[1], args[6:]
        wide = v.double(kind.lanes)
        signed, size = wide.load(builder, f, row), wide.load(builder, g, row)
        for K, c in _weighted(builder, kind, args[:6], coef):
            term = builder.fmul(K, c)
            below = builder.fcmp_ordered("<", term, wide.all(0.0))
            signed = builder.fadd(signed, term)
            size = builder.fadd(size, builder.select(below, builder.fsub(wide.all(0.0), term), term))
        v.store(builder, signed, f, row)
        v.store(builder, size, g, row)
        return context.get_dummy_value()

    return _signature(rows, others, formula, coef, f, g), generate


def _plain_values(rows: Any, row: int, others: Any, i: int, d: int, formula: Any) -> Any:
    (a, alpha), (b, beta), (what, scale, shift, degree) = rows, others, formula
    lanes = lanes_of(a.dtype)
    x = a[row * d : (row + lanes) * d].reshape(d, lanes)
    y = b[i * d : (i + ASKED) * d].reshape(d, ASKED)
    if what == CITY:
        return np.exp(-np.abs(x[:, None, :] - y[:, :, None]).sum(axis=0))
    t = y.T @ x
    if what == GAUSS:
        return np.exp(np.minimum(0, t - (alpha[row : row + lanes] + beta[i : i + ASKED, None])))
    t = scale * t + shift
    return t**degree if what == POWER else np.tanh(t) if what == TANH else t


def _plain_fill(*args: Any) -> None:
    K, (out, to, step) = _plain_values(*args[:6]), args[6:]
    for q in range(ASKED):
        out[to + q * step : to + q * step + K.shape[1]] = K[q]


def _plain_add(*args: Any) -> None:
    K, row, i, (coef, f) = _plain_values(*args[:6]), args[1], args[3], args[6:]
    f[row : row + K.shape[1]] += coef[i : i + ASKED] @ K


def _plain_add_both(*args: Any) -> None:
    K, row, i, (coef, f, g) = _plain_values(*args[:6]), args[1], args[3], args[6:]
    f[row : row + K.shape[1]] += coef[i : i + ASKED] @ K
    g[row : row + K.shape[1]] += np.abs(coef[i : i + ASKED]) @ np.abs(K)


# Of the panel that begins at row `row` and the group that begins at `i`, of d columns; rows and others are (panels, halves of squares), a formula is
# (what, scale, shift, degree), in numbers of their width:
# fill(rows, row, others, i, d, formula, out, to, step): out[to + q step + k] = K(row + k, i + q)
# add(…, coef, f): f[row + k] += Σ_q coef[i + q] K(row + k, i + q);  add_both(…, coef, f, g): the same, and g of all terms' sizes
fill, add, add_both = (_plain_fill, _plain_add, _plain_add_both) if config.DISABLE_JIT else (_fill, _add, _add_both)


def _load(builder: Any, array: Any, at: Any) -> Any:
    """LANES numbers as float64."""
    found = v.load(builder, array, at, LANES)
    return builder.fpext(found, WIDE.vector) if found.type != WIDE.vector else found


def _first_of_best(builder: Any, best: Any, number: Any) -> tuple[Any, Any]:
    """The greatest of the lanes and its number; of equal ones the lowest number."""
    top, at = (
        builder.extract_element(best, ir.Constant(INT32, 0)),
        builder.extract_element(number, ir.Constant(INT32, 0)),
    )
    for k in range(1, LANES):
        other, its = (builder.extract_element(x, ir.Constant(INT32, k)) for x in (best, number))
        equal = builder.and_(builder.fcmp_ordered("==", other, top), builder.icmp_signed("<", its, at))
        better = builder.or_(builder.fcmp_ordered(">", other, top), equal)
        top, at = builder.select(better, other, top), builder.select(better, its, at)
    return top, at


def _steps() -> Any:
    return ir.Constant(NUMBERS, list(range(LANES)))


@intrinsic
def _move(typingctx: Any, K: Any, i: Any, j: Any, q: Any, step: Any, slope: Any, rise: Any, fall: Any, out: Any) -> Any:
    """slope −= step·(K_i − K_j); out: the greatest slope that can rise, the least that can fall. Returns the number of the first."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, i, j, q, step, slope, rise, fall, out = args
        best, least = (v.variable(builder, WIDE.all(x)) for x in (-np.inf, np.inf))
        number = v.variable(builder, _steps())
        here = v.variable(builder, _steps())
        times = WIDE.spread(builder, step)
        first, second = builder.mul(i, q), builder.mul(j, q)
        with cgutils.for_range(builder, builder.sdiv(q, word(LANES))) as loop:
            at = builder.mul(loop.index, word(LANES))
            gap = builder.fsub(
                _load(builder, rows, builder.add(first, at)), _load(builder, rows, builder.add(second, at))
            )
            now = builder.fsub(WIDE.load(builder, slope, at), builder.fmul(times, gap))
            v.store(builder, now, slope, at)
            up = builder.fadd(now, WIDE.load(builder, rise, at))
            down = builder.fadd(now, WIDE.load(builder, fall, at))
            better = builder.fcmp_ordered(">", up, builder.load(best))
            builder.store(builder.select(better, up, builder.load(best)), best)
            builder.store(builder.select(better, builder.load(here), builder.load(number)), number)
            lower = builder.fcmp_ordered("<", down, builder.load(least))
            builder.store(builder.select(lower, down, builder.load(least)), least)
            builder.store(builder.add(builder.load(here), v.same(NUMBERS, LANES)), here)
        top, winner = _first_of_best(builder, builder.load(best), builder.load(number))
        bottom = builder.extract_element(builder.load(least), ir.Constant(INT32, 0))
        for k in range(1, LANES):
            other = builder.extract_element(builder.load(least), ir.Constant(INT32, k))
            bottom = builder.select(builder.fcmp_ordered("<", other, bottom), other, bottom)
        builder.store(top, builder.gep(out, [word(0)]))
        builder.store(bottom, builder.gep(out, [word(1)]))
        return winner

    whole = types.int64
    return whole(K, whole, whole, whole, types.float64, slope, slope, slope, slope), generate


@intrinsic
def _partner(typingctx: Any, K: Any, diagonal: Any, i: Any, q: Any, top: Any, slope: Any, fall: Any) -> Any:
    """Of those that can fall the number of the one with which i gains most."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, diagonal, i, q, top, slope, fall = args
        gain, bend = (v.variable(builder, WIDE.all(x)) for x in (-1.0, 1.0))
        number, here = (v.variable(builder, _steps()) for _ in range(2))
        first = builder.mul(i, q)
        greatest = WIDE.spread(builder, top)
        own = WIDE.spread(builder, builder.load(builder.gep(diagonal, [i])))
        with cgutils.for_range(builder, builder.sdiv(q, word(LANES))) as loop:
            at = builder.mul(loop.index, word(LANES))
            down = builder.fadd(WIDE.load(builder, slope, at), WIDE.load(builder, fall, at))
            drop = builder.fsub(greatest, down)
            some = builder.fcmp_ordered(">", drop, WIDE.all(0.0))
            square = builder.select(some, builder.fmul(drop, drop), WIDE.all(-1.0))
            twice = builder.fmul(_load(builder, rows, builder.add(first, at)), WIDE.all(2.0))
            curve = builder.fsub(builder.fadd(own, WIDE.load(builder, diagonal, at)), twice)
            flat = builder.fcmp_ordered("<", curve, WIDE.all(FLAT))
            curve = builder.select(flat, WIDE.all(FLAT), curve)
            mine = builder.fmul(square, builder.load(bend))  # square / curve > gain / bend, without dividing
            better = builder.fcmp_ordered(">", mine, builder.fmul(builder.load(gain), curve))
            builder.store(builder.select(better, square, builder.load(gain)), gain)
            builder.store(builder.select(better, curve, builder.load(bend)), bend)
            builder.store(builder.select(better, builder.load(here), builder.load(number)), number)
            builder.store(builder.add(builder.load(here), v.same(NUMBERS, LANES)), here)
        share = builder.fdiv(builder.load(gain), builder.load(bend))
        return _first_of_best(builder, share, builder.load(number))[1]

    whole = types.int64
    return whole(K, diagonal, whole, whole, types.float64, slope, slope), generate


def _plain_move(K: Any, i: int, j: int, q: int, step: float, slope: Any, rise: Any, fall: Any, out: Any) -> int:
    slope[:q] -= step * (K[i * q : i * q + q].astype(np.float64) - K[j * q : j * q + q])
    out[0], out[1] = (slope[:q] + rise[:q]).max(), (slope[:q] + fall[:q]).min()
    return int((slope[:q] + rise[:q]).argmax())


def _plain_partner(K: Any, diagonal: Any, i: int, q: int, top: float, slope: Any, fall: Any) -> int:
    drop = top - (slope[:q] + fall[:q])
    curve = np.maximum(FLAT, diagonal[i] + diagonal[:q] - 2.0 * K[i * q : i * q + q])
    return int(np.where(drop > 0, drop * drop / curve, -1.0).argmax())


move, partner = (_plain_move, _plain_partner) if config.DISABLE_JIT else (_move, _partner)
