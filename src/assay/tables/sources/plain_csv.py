"""Long files of numbers and plain texts, parsed by a compiled loop: about twice as fast as the general parser, same values.

It stands in for the parser where only numbers and texts are wanted. Whatever it does not understand (another kind of
number, a quote within a quoted text, too many cells in a row, bytes that are not UTF-8) it leaves to the parser, chunk by chunk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from assay.numerics import Array
from assay.tables.loops import REFUSED, Cells, MissingWords, gather, read_cells
from assay.tables.sources.guessing import MISSING

LONGEST_WORD = 16
LARGEST_WHOLE = float(1 << 53)


class PlainParser:
    """The parser for some columns of a file: `names` are all columns, `dtypes` the types of the wanted ones, in their order."""

    def __init__(
        self, names: list[str], dtypes: dict[str, Any], delimiter: str, point: str, missing_numbers: tuple[str, ...]
    ) -> None:
        self._dtypes, self._end, self._point = dtypes, np.uint8(ord(delimiter)), np.uint8(ord(point))
        self._numbers = [name for name, dtype in dtypes.items() if not types.is_string(dtype)]
        self._texts = [name for name, dtype in dtypes.items() if types.is_string(dtype)]
        place = {name: k for k, name in enumerate(self._numbers)} | {name: -2 - k for k, name in enumerate(self._texts)}
        self._roles = np.array([place.get(name, -1) for name in names], np.int64)
        words = [word.encode() for word in (*MISSING, *missing_numbers)]
        letters = np.array([list(word.ljust(LONGEST_WORD, b"\0")) for word in words], np.uint8)
        self._missing = MissingWords(letters, np.array([len(word) for word in words], np.int64), len(MISSING))

    @staticmethod
    def takes(dtypes: dict[str, Any]) -> bool:
        """Whether all of the types are numbers or text."""
        return all(types.is_float64(t) or types.is_int64(t) or types.is_string(t) for t in dtypes.values())

    def parse(self, text: bytes) -> Any:
        """The table of a chunk, or None where the general parser has to see to it."""
        codes = np.frombuffer(text + b"\n\n", np.uint8)
        most = int(np.count_nonzero(codes == 10)) + (0 if b"\n" in text else text.count(b"\r"))
        numbers = np.empty((len(self._numbers), most))
        valid = np.empty((len(self._dtypes), most), np.bool_)
        starts, stops = (np.empty((len(self._texts), most), np.int64) for _ in range(2))
        cells = Cells(numbers, starts, stops, valid)
        rows = read_cells(codes, len(text), self._end, self._point, self._roles, cells, self._missing)
        if rows == REFUSED:
            return None
        columns = {name: self._number(name, numbers[k, :rows], valid[k, :rows]) for k, name in enumerate(self._numbers)}
        for k, name in enumerate(self._texts):
            there = valid[len(self._numbers) + k, :rows]
            columns[name] = _texts(codes, starts[k, :rows], stops[k, :rows], there, text.isascii())
        return None if any(c is None for c in columns.values()) else pa.table({n: columns[n] for n in self._dtypes})

    def _number(self, name: str, values: Array, there: Array) -> Any:
        held = values
        if types.is_int64(self._dtypes[name]):
            held = np.where(there, values, 0.0)
            if not ((held == np.floor(held)) & (np.abs(held) < LARGEST_WHOLE)).all():
                return None
            held = held.astype(np.int64)
        return pa.Array.from_buffers(self._dtypes[name], len(held), [_bitmap(there), pa.py_buffer(held)])


def _bitmap(there: Array) -> Any:
    return None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))


def _texts(codes: Array, starts: Array, stops: Array, there: Array, ascii_only: bool) -> Any:
    offsets = np.empty(len(starts) + 1, np.int32)
    out = np.empty(int((stops - starts)[there].sum()), np.uint8)
    gather(codes, starts, stops, there, offsets, out)
    found = pa.Array.from_buffers(pa.string(), len(starts), [_bitmap(there), pa.py_buffer(offsets), pa.py_buffer(out)])
    if not ascii_only:
        try:
            found.validate(full=True)
        except pa.ArrowInvalid:
            return None
    return found
