"""The dual problem of a working set by sequential minimal optimisation: two variables at a time, chosen by how much the dual gains.

Variables u_t = s_t α_t between `low` and `high`; v_t is the slope of the dual along u_t. A step raises u_i and lowers u_j:

    i: greatest v of those that can rise;  j: of those that can fall and have v_j < v_i the greatest (v_i − v_j)² / (K_ii + K_jj − 2 K_ij)

`rise` (`fall`) holds 0 where a variable can rise (fall) and −∞ (+∞) where not, so that a sum takes the place of a branch. The two sweeps over
the set are spelt out in vectors; each keeps the best of its lanes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.loops.kernels import vectors as v
from assay.loops.kernels.vectors import SHORT, WORD
from assay.loops.tree.bare import alive, bare

LANES = 16  # the size of a set is a multiple of this
LEAST = 1e-12  # curvature that counts as none
WIDE = v.double(LANES)
NUMBERS = ir.VectorType(WORD, LANES)


def _load(builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """LANES numbers as float64."""
    narrow = kind.dtype == types.float32
    found = v.load(builder, v.single(LANES) if narrow else WIDE, array, at)
    return builder.fpext(found, WIDE.vector) if narrow else found


def _first_of_best(builder: Any, best: Any, number: Any) -> tuple[Any, Any]:
    """The greatest of the lanes and its number; of equal ones the lowest number."""
    top, at = (
        builder.extract_element(best, ir.Constant(SHORT, 0)),
        builder.extract_element(number, ir.Constant(SHORT, 0)),
    )
    for k in range(1, LANES):
        other, its = (builder.extract_element(x, ir.Constant(SHORT, k)) for x in (best, number))
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
        kind = signature.args[0]
        best, least = (cgutils.alloca_once_value(builder, WIDE.all(x)) for x in (-np.inf, np.inf))
        number = cgutils.alloca_once_value(builder, _steps())
        builder.store(WIDE.all(-np.inf), best)
        builder.store(WIDE.all(np.inf), least)
        builder.store(_steps(), number)
        here = cgutils.alloca_once_value(builder, _steps())
        builder.store(_steps(), here)
        times = v.spread(builder, WIDE, step)
        first, second = builder.mul(i, q), builder.mul(j, q)
        with cgutils.for_range(builder, builder.sdiv(q, ir.Constant(WORD, LANES))) as loop:
            at = builder.mul(loop.index, ir.Constant(WORD, LANES))
            gap = builder.fsub(
                _load(builder, kind, rows, builder.add(first, at)), _load(builder, kind, rows, builder.add(second, at))
            )
            now = builder.fsub(v.load(builder, WIDE, slope, at), builder.fmul(times, gap))
            v.store(builder, WIDE, now, slope, at)
            up = builder.fadd(now, v.load(builder, WIDE, rise, at))
            down = builder.fadd(now, v.load(builder, WIDE, fall, at))
            better = builder.fcmp_ordered(">", up, builder.load(best))
            builder.store(builder.select(better, up, builder.load(best)), best)
            builder.store(builder.select(better, builder.load(here), builder.load(number)), number)
            lower = builder.fcmp_ordered("<", down, builder.load(least))
            builder.store(builder.select(lower, down, builder.load(least)), least)
            builder.store(builder.add(builder.load(here), ir.Constant(NUMBERS, [LANES] * LANES)), here)
        top, winner = _first_of_best(builder, builder.load(best), builder.load(number))
        bottom = builder.extract_element(builder.load(least), ir.Constant(SHORT, 0))
        for k in range(1, LANES):
            other = builder.extract_element(builder.load(least), ir.Constant(SHORT, k))
            bottom = builder.select(builder.fcmp_ordered("<", other, bottom), other, bottom)
        builder.store(top, builder.gep(out, [ir.Constant(WORD, 0)]))
        builder.store(bottom, builder.gep(out, [ir.Constant(WORD, 1)]))
        return winner

    whole = types.int64
    return whole(K, whole, whole, whole, types.float64, slope, slope, slope, slope), generate


@intrinsic
def _partner(typingctx: Any, K: Any, diagonal: Any, i: Any, q: Any, top: Any, slope: Any, fall: Any) -> Any:
    """Of those that can fall the number of the one with which i gains most."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, diagonal, i, q, top, slope, fall = args
        kind = signature.args[0]
        gain, bend = (cgutils.alloca_once_value(builder, WIDE.all(x)) for x in (-1.0, 1.0))
        number, here = (cgutils.alloca_once_value(builder, _steps()) for _ in range(2))
        builder.store(WIDE.all(-1.0), gain)
        builder.store(WIDE.all(1.0), bend)
        builder.store(_steps(), number)
        builder.store(_steps(), here)
        first = builder.mul(i, q)
        greatest = v.spread(builder, WIDE, top)
        own = v.spread(builder, WIDE, builder.load(builder.gep(diagonal, [i])))
        with cgutils.for_range(builder, builder.sdiv(q, ir.Constant(WORD, LANES))) as loop:
            at = builder.mul(loop.index, ir.Constant(WORD, LANES))
            down = builder.fadd(v.load(builder, WIDE, slope, at), v.load(builder, WIDE, fall, at))
            drop = builder.fsub(greatest, down)
            some = builder.fcmp_ordered(">", drop, WIDE.all(0.0))
            square = builder.select(some, builder.fmul(drop, drop), WIDE.all(-1.0))
            twice = builder.fmul(_load(builder, kind, rows, builder.add(first, at)), WIDE.all(2.0))
            curve = builder.fsub(builder.fadd(own, v.load(builder, WIDE, diagonal, at)), twice)
            flat = builder.fcmp_ordered("<", curve, WIDE.all(LEAST))
            curve = builder.select(flat, WIDE.all(LEAST), curve)
            mine = builder.fmul(square, builder.load(bend))  # square / curve > gain / bend, without dividing
            better = builder.fcmp_ordered(">", mine, builder.fmul(builder.load(gain), curve))
            builder.store(builder.select(better, square, builder.load(gain)), gain)
            builder.store(builder.select(better, curve, builder.load(bend)), bend)
            builder.store(builder.select(better, builder.load(here), builder.load(number)), number)
            builder.store(builder.add(builder.load(here), ir.Constant(NUMBERS, [LANES] * LANES)), here)
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
    curve = np.maximum(LEAST, diagonal[i] + diagonal[:q] - 2.0 * K[i * q : i * q + q])
    return int(np.where(drop > 0, drop * drop / curve, -1.0).argmax())


move, partner = (_plain_move, _plain_partner) if config.DISABLE_JIT else (_move, _partner)


@njit(nogil=True, cache=True)
def solve_working_set(K, u, low, high, slope, share, floor, most):  # type: ignore[no-untyped-def]
    """Raise the dual over the set until its violation is below `share` of what it was at first, or `floor`; at most `most` steps. K (≥ q, q), the
    others (q,), q a multiple of LANES; u and slope are changed. Fillers have low = high = u = 0, whatever K. Returns the steps taken and the violation left."""
    q = len(u)
    rise, fall, diagonal, out = np.empty(q), np.empty(q), np.empty(q), np.empty(2)
    for t in range(q):
        rise[t] = 0.0 if u[t] < high[t] else -np.inf
        fall[t] = 0.0 if u[t] > low[t] else np.inf
        diagonal[t] = K[min(t, len(K) - 1), t]
    rows, slopes, up, down, own, found = bare(K), bare(slope), bare(rise), bare(fall), bare(diagonal), bare(out)
    i = move(rows, 0, 0, q, 0.0, slopes, up, down, found)
    enough = max(floor, share * (out[0] - out[1]))
    taken = 0
    while taken < most and out[0] - out[1] > enough:
        j = partner(rows, own, i, q, out[0], slopes, down)
        step = (slope[i] - slope[j]) / max(LEAST, diagonal[i] + diagonal[j] - 2.0 * K[i, j])
        room_i, room_j = high[i] - u[i], u[j] - low[j]
        if step >= room_i or step >= room_j:
            step = min(room_i, room_j)
        new_i, new_j = u[i] + step, u[j] - step
        u[i] = high[i] if step == room_i else new_i
        u[j] = low[j] if step == room_j else new_j
        rise[i] = 0.0 if u[i] < high[i] else -np.inf
        rise[j] = 0.0
        fall[i] = 0.0
        fall[j] = 0.0 if u[j] > low[j] else np.inf
        i = move(rows, i, j, q, step, slopes, up, down, found)
        taken += 1
    alive((rise, fall, diagonal, out))
    return taken, out[0] - out[1]
