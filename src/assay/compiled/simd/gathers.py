"""Many rows take a step together, each to its own place: loads from vectors of addresses.

Numba cannot know that the places do not overlap, and so never makes such loads by itself. Several vectors are under way at once, so
that none waits for memory alone. Measured with AVX-512 on a forest of 100 trees and 20 000 rows: 106 ms of one core row by
row, 52 ms with eight rows interleaved in plain code, 24 ms so (AVX2 and SSE2: 60–70 ms). Without the compiler it is plain loops.

SHAP values of eight rows at a time (`families.trees.loops.shap`): a lane is a row, and a set of rows is eight bits.
Where a row stands on an edge of a tree is one of three things: it satisfies all that the way asks of the edge's column (`hot`), it fails
that here first (`cold`), or it failed above. All arrays are addresses; offsets count numbers. An edge's row of the table `E` holds, for Q
points, the factors of hot and of cold rows and then what they add: 4·Q numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from llvmlite.ir.instructions import GEPInstr  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from assay.compiled.simd import vectors as v
from assay.compiled.simd.vectors import BYTE, DOUBLE, DOUBLES, INT16, INT32, LANE, WORD, word

VALUES, NODES = 64, 96  # values that are searched, rows that go down a tree at a time
LANES = 2 * LANE
GROUPS = range(NODES // LANES)
BITS = ir.VectorType(ir.IntType(1), LANE)
ALL = (1 << LANE) - 1


class _Vectors:
    """Vectors of one length for one function under construction."""

    def __init__(self, builder: Any, lanes: int) -> None:
        self.builder, self.lanes = builder, lanes
        self.words = ir.VectorType(INT32, lanes)

    def all(self, number: int) -> Any:
        return v.same(self.words, number)

    def spread(self, x: Any) -> Any:
        return v.spread(self.builder, x, self.lanes)

    def gather(self, base: Any, places: Any, stride: Any, kind: Any, align: int) -> Any:
        """The `kind` of number that lies at each of the places, which count in units of the type `stride`."""
        base = self.builder.bitcast(base, kind.as_pointer())
        address = GEPInstr(self.builder.block, base, [places], False, "", source_etype=stride)
        address.type = ir.VectorType(base.type, self.lanes)
        self.builder._insert(address)
        found = ir.VectorType(kind, self.lanes)
        everywhere = v.same(ir.VectorType(ir.IntType(1), self.lanes), 1)
        letter = "f64" if kind == DOUBLE else "i32"
        function = cgutils.get_or_insert_function(
            self.builder.module,
            ir.FunctionType(found, [address.type, INT32, everywhere.type, found]),
            f"llvm.masked.gather.v{self.lanes}{letter}.v{self.lanes}p0",
        )
        nothing = ir.Constant(found, ir.Undefined)
        return self.builder.call(function, [address, ir.Constant(INT32, align), everywhere, nothing])

    def place(self, base: Any, first: int, kind: Any) -> Any:
        at = self.builder.gep(base, [v.word(first)])
        return self.builder.bitcast(at, ir.VectorType(kind, self.lanes).as_pointer())

    def walk(self, step: Callable[[Any, int], Any], groups: range, leaves: Any) -> None:
        """Take steps from node 0 until no row of any group moves, two at a time; step(at, g) is where group g comes from `at`. The nodes go to `leaves`."""
        builder, before = self.builder, self.builder.block
        loop, after = builder.append_basic_block("steps"), builder.append_basic_block("leaves")
        builder.branch(loop)
        builder.position_at_end(loop)
        at = [builder.phi(self.words) for _ in groups]
        once = [step(at[g], g) for g in groups]
        twice = [step(once[g], g) for g in groups]
        moved = self.all(0)
        for g in groups:
            moved = builder.or_(moved, builder.xor(once[g], twice[g]))
        bits = builder.bitcast(builder.icmp_unsigned("!=", moved, self.all(0)), ir.IntType(self.lanes))
        for g in groups:
            at[g].add_incoming(self.all(0), before)
            at[g].add_incoming(twice[g], loop)
        builder.cbranch(builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0)), loop, after)
        builder.position_at_end(after)
        for g in groups:
            builder.store(twice[g], self.place(leaves, self.lanes * g, INT32), align=4)


@intrinsic
def _climb(typingctx: Any, ladder: Any, first: Any, steps: Any, values: Any, counts: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Vectors(builder, LANE)
        ladder = builder.gep(args[0], [args[1]])
        groups = range(VALUES // LANE)
        x = [builder.load(code.place(args[3], LANE * g, DOUBLE), align=8) for g in groups]
        before, top = builder.block, builder.shl(ir.Constant(INT32, 1), builder.trunc(args[2], INT32))
        loop, after = builder.append_basic_block("halves"), builder.append_basic_block("found")
        builder.branch(loop)
        builder.position_at_end(loop)
        width, at = builder.phi(INT32), [builder.phi(code.words) for _ in groups]
        half = builder.lshr(width, ir.Constant(INT32, 1))
        ahead = code.spread(half)
        last = builder.sub(ahead, code.all(1))
        below = []
        for g in groups:
            edge = code.gather(ladder, builder.add(at[g], last), DOUBLE, DOUBLE, 8)
            lower = builder.fcmp_ordered("<", edge, x[g])
            below.append(builder.add(at[g], builder.select(lower, ahead, code.all(0))))
        width.add_incoming(top, before)
        width.add_incoming(half, loop)
        for g in groups:
            at[g].add_incoming(code.all(0), before)
            at[g].add_incoming(below[g], loop)
        builder.cbranch(builder.icmp_unsigned(">", half, ir.Constant(INT32, 1)), loop, after)
        builder.position_at_end(after)
        for g in groups:
            builder.store(below[g], code.place(args[4], LANE * g, INT32), align=4)
        return context.get_dummy_value()

    return types.void(ladder, types.intp, types.intp, values, counts), generate


def _narrow(code: _Vectors, words: Any, at: Any) -> tuple[Any, Any, Any]:
    """(child, column, code) of nodes in one word: 16 bits of half the child, 8 of the column, 8 of the code."""
    b = code.builder
    word = code.gather(words, at, INT32, INT32, 4)
    child = b.and_(b.lshr(word, code.all(15)), code.all(0x1FFFE))
    return child, b.and_(b.lshr(word, code.all(8)), code.all(0xFF)), b.and_(word, code.all(0xFF))


def _wide(code: _Vectors, words: Any, at: Any) -> tuple[Any, Any, Any]:
    """(child, twice the column, code) of nodes in two words: 16 bits of the column, 16 of the code; half the child."""
    b = code.builder
    word = code.gather(words, at, WORD, INT32, 4)
    half = code.gather(b.gep(words, [v.word(1)]), at, WORD, INT32, 4)
    column = b.and_(b.lshr(word, code.all(15)), code.all(0x1FFFE))
    return b.shl(half, code.all(1)), column, b.and_(word, code.all(0xFFFF))


def _descent(node: Callable[..., tuple[Any, Any, Any]], kind: Any) -> Any:
    @intrinsic
    def descend(typingctx: Any, words: Any, root: Any, codes: Any, first: Any, d: Any, leaves: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            code = _Vectors(builder, LANES)
            words, rows = builder.gep(args[0], [args[1]]), builder.gep(args[2], [builder.mul(args[3], args[4])])
            stride = code.spread(builder.mul(builder.trunc(args[4], INT32), ir.Constant(INT32, kind.width // 8)))
            numbers = [ir.Constant(code.words, [LANES * g + i for i in range(LANES)]) for g in GROUPS]
            start = [builder.mul(stride, number) for number in numbers]

            def step(at: Any, g: int) -> Any:
                child, column, cut = node(code, words, at)
                own = code.gather(rows, builder.add(start[g], column), BYTE, INT32, 1)
                right = builder.icmp_unsigned(">", builder.and_(own, code.all((1 << kind.width) - 1)), cut)
                return builder.add(child, builder.zext(right, code.words))

            code.walk(step, GROUPS, args[5])
            return context.get_dummy_value()

        return types.void(words, types.intp, codes, types.intp, types.intp, leaves), generate

    return descend


def _plain_climb(ladder: Any, first: int, steps: int, values: Any, counts: Any) -> None:
    for i in range(VALUES):
        at, half = 0, 1 << int(steps)
        while half > 1:
            half //= 2
            at += half if ladder[first + at + half - 1] < values[i] else 0
        counts[i] = at


def _plain_descent(node: Callable[..., tuple[int, int, int]]) -> Any:
    def descend(words: Any, root: int, codes: Any, first: int, d: int, leaves: Any) -> None:
        for i in range(NODES):
            at, before = 0, -1
            while at != before:
                child, column, cut = node(words, root, at)
                at, before = child + int(codes[(first + i) * d + column] > cut), at
            leaves[i] = at

    return descend


def _plain_narrow(words: Any, root: int, at: int) -> tuple[int, int, int]:
    word = int(words[root + at])
    return word >> 16 << 1, word >> 8 & 0xFF, word & 0xFF


def _plain_wide(words: Any, root: int, at: int) -> tuple[int, int, int]:
    word = int(words[root + 2 * at])
    return int(words[root + 2 * at + 1]) << 1, word >> 16, word & 0xFFFF


# climb(ladder, first, steps, values, counts): of 64 values the number of edges below each, among the 2^steps − 1 ≥ 1 that
# begin at ladder[first] in rising order; 0 for NaN
climb = _plain_climb if config.DISABLE_JIT else _climb
# descend_…(words, root, codes, first, d, leaves): of 96 rows of codes (·, d), from `first` on, the leaf, counted from the root; the
# root is at words[root]. A row goes to its node's child, or to the one behind it where its code is above the node's; a leaf is its own child
descend_narrow = _plain_descent(_plain_narrow) if config.DISABLE_JIT else _descent(_narrow, BYTE)
descend_wide = _plain_descent(_plain_wide) if config.DISABLE_JIT else _descent(_wide, INT16)


def _wide_by_column(code: _Vectors, words: Any, at: Any) -> tuple[Any, Any, Any]:
    """(child, column, cut) of nodes in two words: 16 bits of the column, 16 of the cut; half the child."""
    b = code.builder
    word = code.gather(words, at, WORD, INT32, 4)
    half = code.gather(b.gep(words, [v.word(1)]), at, WORD, INT32, 4)
    return b.shl(half, code.all(1)), b.lshr(word, code.all(16)), b.and_(word, code.all(0xFFFF))


def _descent_by_column(node: Callable[..., tuple[Any, Any, Any]], kind: Any) -> Any:
    """Of codes of one type and nodes of one kind."""
    size = kind.width // 8

    @intrinsic
    def descend(typingctx: Any, words: Any, codes: Any, n: Any, d: Any, rows: Any, first: Any, leaves: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            code = _Vectors(builder, LANES)
            words, codes, n, d, rows, first, leaves = args
            stride = builder.mul(builder.trunc(n, INT32), ir.Constant(INT32, size))
            last = code.spread(builder.sub(builder.mul(stride, builder.trunc(d, INT32)), ir.Constant(INT32, 4)))
            stride = code.spread(stride)
            rows, leaves = builder.gep(rows, [first]), builder.gep(leaves, [first])
            own = [builder.load(code.place(rows, LANES * g, INT32), align=4) for g in GROUPS]
            start = [builder.mul(row, code.all(size)) for row in own]

            def step(at: Any, g: int) -> Any:
                child, column, cut = node(code, words, at)
                place = builder.add(builder.mul(column, stride), start[g])
                inside = builder.select(builder.icmp_unsigned("<", place, last), place, last)
                word = code.gather(codes, inside, BYTE, INT32, 1)
                word = builder.lshr(word, builder.shl(builder.sub(place, inside), code.all(3)))
                above = builder.add(builder.and_(word, code.all((1 << kind.width) - 1)), code.all(1))
                return builder.add(child, builder.zext(builder.icmp_unsigned(">", above, cut), code.words))

            code.walk(step, GROUPS, leaves)
            return context.get_dummy_value()

        return types.void(words, codes, types.int64, types.int64, rows, types.int64, leaves), generate

    return descend


def _plain_descent_by_column(wide: bool) -> Any:
    def descend(words: Any, codes: Any, n: int, d: int, rows: Any, first: int, leaves: Any) -> None:
        for i in range(first, first + NODES):
            at, before = 0, -1
            while at != before:
                word = int(words[2 * at]) if wide else int(words[at])
                child = int(words[2 * at + 1]) << 1 if wide else word >> 16 << 1
                column, cut = (word >> 16, word & 0xFFFF) if wide else (word >> 8 & 0xFF, word & 0xFF)
                at, before = child + int(int(codes[column * n + int(rows[i])]) + 1 > cut), at
            leaves[i] = at

    return descend


# descend_…(words, codes, n, d, rows, first, leaves): leaves[first : first + 96] of the rows with these numbers; codes (d, n) lie flat. A row
# goes to its node's child, or to the one behind it where its code + 1 is above the node's cut; a leaf is its own child
descend_narrow_bytes = _plain_descent_by_column(False) if config.DISABLE_JIT else _descent_by_column(_narrow, BYTE)
descend_wide_bytes = _plain_descent_by_column(True) if config.DISABLE_JIT else _descent_by_column(_wide_by_column, BYTE)
descend_wide_halves = (
    _plain_descent_by_column(True) if config.DISABLE_JIT else _descent_by_column(_wide_by_column, INT16)
)


def _lanes(builder: Any, rows: Any) -> Any:
    """A set of rows as a mask."""
    return builder.bitcast(builder.trunc(rows, BYTE), BITS)


def _pick(builder: Any, E: Any, at: Any, hot: Any, cold: Any, rest: Any) -> Any:
    """E[at] for hot rows, E[at + Q] for cold ones (both given as (mask, offset)), else `rest`."""
    (is_hot, to_hot), (is_cold, to_cold) = hot, cold
    first = v.spread(builder, builder.load(builder.gep(E, [builder.add(at, to_hot)])))
    second = v.spread(builder, builder.load(builder.gep(E, [builder.add(at, to_cold)])))
    return builder.select(is_hot, first, builder.select(is_cold, second, rest))


@intrinsic
def _rows_up_to(typingctx: Any, X: Any, at: Any, cut: Any, missing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x = v.load(builder, args[0], args[1])
        below = builder.fcmp_ordered("<=", x, v.spread(builder, args[2]))
        lacking = builder.and_(v.bits_of(builder, builder.fcmp_unordered("uno", x, x)), args[3])
        return builder.or_(v.bits_of(builder, below), lacking)

    return types.int64(X, types.int64, types.float64, types.int64), generate


@np.errstate(invalid="ignore")
def _plain_rows_up_to(X: Any, at: int, cut: float, missing: int) -> int:
    found = 0
    for r in range(LANE):
        x = X[at + r]
        found |= int(x <= cut or (x != x and missing != 0)) << r
    return found


# rows_up_to(X, at, cut, missing): the rows with X[at + row] ≤ cut; those of `missing` also where that is NaN
rows_up_to = _plain_rows_up_to if config.DISABLE_JIT else _rows_up_to


@intrinsic
def _go_down(
    typingctx: Any, P: Any, above: Any, below: Any, E: Any, e: Any, rest: Any, hot: Any, cold: Any, Q: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        P, above, below, E, e, rest, hot, cold, Q = args
        sides = (_lanes(builder, hot), word(0)), (_lanes(builder, cold), Q)
        others = v.spread(builder, rest)
        with cgutils.for_range(builder, Q, intp=WORD) as loop:
            factor = _pick(builder, E, builder.add(e, loop.index), *sides, others)
            at = builder.mul(loop.index, word(LANE))
            p = v.load(builder, P, builder.add(above, at))
            v.store(builder, builder.fmul(p, factor), P, builder.add(below, at))
        return context.get_dummy_value()

    whole, real = types.int64, types.float64
    return types.void(P, whole, whole, E, whole, real, whole, whole, whole), generate


def _plain_go_down(P: Any, above: int, below: int, E: Any, e: int, rest: float, hot: int, cold: int, Q: int) -> None:
    for q in range(Q):
        for r in range(LANE):
            factor = E[e + q] if hot >> r & 1 else E[e + Q + q] if cold >> r & 1 else rest
            P[below + q * LANE + r] = P[above + q * LANE + r] * factor


# go_down(P, above, below, E, e, rest, hot, cold, Q): P[below …] = P[above …] · the factor of each row on the edge at E[e]; of rows that
# failed above it is `rest`
go_down = _plain_go_down if config.DISABLE_JIT else _go_down


@intrinsic
def _close_edge(
    typingctx: Any,
    G: Any,
    own: Any,
    above: Any,
    first: Any,
    E: Any,
    e: Any,
    hot: Any,
    cold: Any,
    Q: Any,
    phi: Any,
    to: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        G, own, above, first, E, e, hot, cold, Q, phi, to = args
        twice = builder.add(Q, Q)
        sides = (_lanes(builder, hot), twice), (_lanes(builder, cold), builder.add(twice, Q))
        zero = v.same(DOUBLES, 0.0)
        alone = builder.icmp_signed("!=", first, word(0))
        total = v.variable(builder, zero)
        with cgutils.for_range(builder, Q, intp=WORD) as loop:
            at = builder.mul(loop.index, word(LANE))
            g = v.load(builder, G, builder.add(own, at))
            adds = _pick(builder, E, builder.add(e, loop.index), *sides, zero)
            builder.store(v.multiply_add(builder, g, adds, builder.load(total)), total)
            place = builder.add(above, at)
            v.store(builder, builder.select(alone, g, builder.fadd(v.load(builder, G, place), g)), G, place)
        v.store(builder, builder.fadd(v.load(builder, phi, to), builder.load(total)), phi, to)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(G, whole, whole, whole, E, whole, whole, whole, whole, phi, whole), generate


def _plain_close_edge(
    G: Any, own: int, above: int, first: int, E: Any, e: int, hot: int, cold: int, Q: int, phi: Any, to: int
) -> None:
    for r in range(LANE):
        total = 0.0
        for q in range(Q):
            g = G[own + q * LANE + r]
            total += g * (E[e + 2 * Q + q] if hot >> r & 1 else E[e + 3 * Q + q] if cold >> r & 1 else 0.0)
            G[above + q * LANE + r] = g if first else G[above + q * LANE + r] + g
        phi[to + r] += total


# close_edge(G, own, above, first, E, e, hot, cold, Q, phi, to): phi[to …] += Σ_q G[own + q] · what the edge at E[e] adds; G[own …] is added to
# G[above …], or put there where it is the first
close_edge = _plain_close_edge if config.DISABLE_JIT else _close_edge


@intrinsic
def _scale_to(typingctx: Any, P: Any, p: Any, value: Any, G: Any, g: Any, Q: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        P, p, value, G, g, Q = args
        factor = v.spread(builder, value)
        with cgutils.for_range(builder, Q, intp=WORD) as loop:
            at = builder.mul(loop.index, word(LANE))
            scaled = builder.fmul(v.load(builder, P, builder.add(p, at)), factor)
            v.store(builder, scaled, G, builder.add(g, at))
        return context.get_dummy_value()

    whole = types.int64
    return types.void(P, whole, types.float64, G, whole, whole), generate


def _plain_scale_to(P: Any, p: int, value: float, G: Any, g: int, Q: int) -> None:
    G[g : g + Q * LANE] = P[p : p + Q * LANE] * value


# scale_to(P, p, value, G, g, Q): G[g …] = value · P[p …]
scale_to = _plain_scale_to if config.DISABLE_JIT else _scale_to
