"""The address of an array's numbers, in place of the array.

Numba counts references to every array that a function takes out of a tuple: 3 µs a node, where the search of a small node takes
a tenth of that. Addresses are counted by nobody; whoever takes them keeps the arrays alive. Without the compiler an
address is the flat array itself.
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
