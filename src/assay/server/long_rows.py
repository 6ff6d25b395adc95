"""Long JSON bodies of numbers by a compiled loop: half the time, and other threads go on meanwhile.

The compiler is not loaded for it before a long body has come, and then aside: until it is there, and for whatever the loop does
not understand, the usual way answers, with the same numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from assay.numerics import Array
from assay.server.expected import Expected

LONG = 1 << 18  # bytes
_any_row = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Loop:
    """The compiled loop, once it is there; `wanted` has it loaded in a thread of its own."""

    def __init__(self) -> None:
        self.read: Callable[..., int] | None = None
        self._once = threading.Lock()

    def wanted(self) -> Callable[..., int] | None:
        if self.read is None and self._once.acquire(blocking=False):
            threading.Thread(target=self.load, name="assay-compile", daemon=True).start()
        return self.read

    def load(self) -> None:
        from assay.loops.json_rows import read_rows

        arguments = _arguments(b"[[1.5]]", [b""], [False])
        read_rows(*arguments, np.empty((1, 1)))
        self.read = read_rows


LOOP = Loop()


def _arguments(body: bytes, keys: list[bytes], truths: Sequence[bool]) -> tuple[Any, ...]:
    text = np.frombuffer(body + b"\0\0", np.uint8)
    brackets = (91, 93) if not keys[0] else (123, 125)
    ends = np.cumsum([len(key) for key in keys]).astype(np.uint64)
    return text, len(body), np.frombuffer(b"".join(keys) + b"\0", np.uint8), ends, np.array(truths), *brackets


def long_rows(columns: Sequence[Expected], body: bytes, objects: bool) -> Array | None:
    """The numbers of a long body, or None where it has to be read the usual way."""
    read = LOOP.wanted()
    if read is None or any(c.kind not in ("number", "boolean") for c in columns):
        return None
    order = _order(columns, body) if objects else list(range(len(columns)))
    if order is None:
        return None
    keys = [msgspec.json.encode(columns[j].name) if objects else b"" for j in order]
    d = len(columns)
    out = np.empty(
        (len(body) // (2 * d) + 1, d)
    )  # more rows than there can be; pages that are not touched cost nothing
    rows = read(*_arguments(body, keys, [columns[j].kind == "boolean" for j in order]), out)
    if rows < 1:
        return None
    found = out[:rows]
    return found if order == list(range(d)) else found[:, np.argsort(order)]


def _order(columns: Sequence[Expected], body: bytes) -> list[int] | None:
    """The places of the columns in the order in which the first row names them; None where it names others."""
    end = body.find(b"}")
    try:
        named = list(_any_row.decode(body[body.find(b"{") : end + 1]))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    places = {c.name: j for j, c in enumerate(columns)}
    return [places[name] for name in named] if sorted(named) == sorted(places) else None
