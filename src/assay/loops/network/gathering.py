"""Rows of a mini-batch brought together, NARROW numbers at a time."""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.extending import intrinsic

from assay.loops.kernels import vectors as v
from assay.loops.network.products import NARROW
from assay.loops.tree.inner import inner


@intrinsic
def _copy_lanes(typingctx: Any, source: Any, first: Any, target: Any, to: Any) -> Any:
    kind = v.single(NARROW) if source.dtype == types.float32 else v.double(NARROW)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, first, target, to = args
        v.store(builder, kind, v.load(builder, kind, source, first), target, to)
        return context.get_dummy_value()

    return types.void(source, types.int64, source, types.int64), generate


def _plain_copy_lanes(source: Any, first: int, target: Any, to: int) -> None:
    target[to : to + NARROW] = source[first : first + NARROW]


copy_lanes = _plain_copy_lanes if config.DISABLE_JIT else _copy_lanes


@inner
def bring(x, d, rows, first, many, m, A, at, wide):  # type: ignore[no-untyped-def]
    """Rows rows[first …] of x, of d numbers (a multiple of NARROW), to A[at …], with rows of zeros up to m. Bare addresses."""
    for i in range(many):
        row, to = rows[first + i] * d, at + i * wide
        for j in range(0, d, NARROW):
            copy_lanes(x, row + j, A, to + j)
    for i in range(many, m):
        to = at + i * wide
        for j in range(d):
            A[to + j] = 0.0
