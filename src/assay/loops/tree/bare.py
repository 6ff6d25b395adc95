"""The address of an array's numbers, in place of the array.

Numba counts references to every array that a function takes out of a tuple: 3 µs a node, where the search of a small node takes
a tenth of that. Addresses are counted by nobody. Numba frees an array that a function has made after the last line that names it, whoever has its
address: so a function that takes the address of an array of its own names it in `alive` at its end. What it is given lives in its caller.
Without the compiler an address is the flat array itself.
"""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.extending import intrinsic


@intrinsic
def _address(typingctx: Any, array: Any) -> Any:
    signature = types.CPointer(array.dtype)(array)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return signature, generate


def _flat(array: Any) -> Any:
    return array.reshape(-1)


bare = _flat if config.DISABLE_JIT else _address


@intrinsic
def _used(typingctx: Any, arrays: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_dummy_value()

    return types.void(arrays), generate


def _nothing(arrays: Any) -> None:
    """Without the compiler an address keeps its array."""


# alive((array, …)): the arrays are not freed before this line
alive = _nothing if config.DISABLE_JIT else _used


@intrinsic
def _as_kind(typingctx: Any, room: Any, like: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], arguments[1].type)

    return like(room, like), generate


def _as_it_is(room: Any, like: Any) -> Any:
    return room


# as_kind(room, like): the address `room` of numbers as large as those of `like`, or larger, as one of numbers of that kind
as_kind = _as_it_is if config.DISABLE_JIT else _as_kind
