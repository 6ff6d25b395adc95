"""Ask memory for what a loop will need soon.

Measured on 500 000×50 doubles, two threads: hash and moments in one pass take 17 ms without and 11.5 ms with it, where
reading alone takes 8.5 ms: the work between two rows keeps the hardware's own prefetcher from running far enough ahead.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

LINE = 64  # bytes of a cache line


def _ask_for(context: Any, builder: Any, place: Any) -> Any:
    address = builder.bitcast(place, ir.IntType(8).as_pointer())
    i32 = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [address.type, i32, i32, i32])
    function = builder.module.declare_intrinsic("llvm.prefetch", (address.type,), kind)
    read, keep, data_cache = (ir.Constant(i32, v) for v in (0, 3, 1))
    builder.call(function, [address, read, keep, data_cache])
    return context.get_dummy_value()


@intrinsic
def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Start loading array[index] (flat) into the caches; harmless beyond its end."""
    signature = types.void(array, index)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return _ask_for(context, builder, builder.gep(data, [arguments[1]]))

    return signature, generate


def _nothing(array: Any, index: int) -> None:
    """Without the compiler nothing is asked for ahead."""


prefetch = _nothing if config.DISABLE_JIT else _prefetch


@intrinsic
def _prefetch_at(typingctx: Any, address: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _ask_for(context, builder, builder.gep(arguments[0], [arguments[1]]))

    return types.void(address, index), generate


# prefetch_at(address, index): as `prefetch`, of a bare address
prefetch_at = _nothing if config.DISABLE_JIT else _prefetch_at


@njit(nogil=True, cache=True, inline="always")
def prefetch_rows(flat, first, count, stride):  # type: ignore[no-untyped-def]
    """Start loading `count` numbers of a flat array from `first` on; `stride` numbers fill a cache line."""
    stop = min(first + count, flat.shape[0])
    for i in range(first, stop, stride):
        prefetch(flat, i)
