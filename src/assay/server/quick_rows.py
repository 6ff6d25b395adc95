"""Rows in JSON as numbers without detours: the columns of a model are a type of their own, which reads and checks a body at once.

A body that does not fit the type (numbers written as text, dates, a column that is not there) is read as a table of any kind instead,
which answers it or says what is wrong; so this is a short cut and no second set of rules.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import astuple

from assay.numerics import Array
from assay.server.expected import PLAIN, Expected, NotPlain, matrix, plain_name
from assay.server.long_rows import LONG, long_rows

Reader = Callable[[bytes], Any]
PIECE = 1 << 16  # bytes read at once: other threads have their turn between two pieces
_BETWEEN = re.compile(rb"[}\]][ \t\r\n]*(,)[ \t\r\n]*[{\[]")


def _pieces(body: bytes) -> Iterator[bytes]:
    """A long array in pieces, cut where one row seems to end and the next to begin.

    Where all pieces are arrays of rows the cuts were right: put together they are the body, which can be read in one way only.
    """
    at, end = 1, max(body.rfind(b"]"), 1)
    if body[end + 1 :].strip():
        yield body
        return
    while at < end:
        cut = _BETWEEN.search(body, min(at + PIECE, end), end)
        stop = end if cut is None else cut.start(1)
        yield b"[%b]" % body[at:stop]
        at = stop + 1


class QuickRows:
    """Reads rows (objects or arrays) and columns of one model's table."""

    def __init__(self, columns: Sequence[Expected]) -> None:
        self._columns = columns
        self.possible = all(c.kind in PLAIN and plain_name(c.name) for c in columns)
        if not self.possible:
            return
        names = {f"c{j}": c.name for j, c in enumerate(columns)}
        plain = [(field, PLAIN[c.kind]) for field, c in zip(names, columns)]
        lists = [(field, list.__class_getitem__(kind)) for field, kind in plain]
        row = msgspec.defstruct("Row", plain, rename=names, gc=False)
        array = msgspec.defstruct("ArrayRow", plain, gc=False, array_like=True, forbid_unknown_fields=True)
        table = msgspec.defstruct("Columns", lists, rename=names, gc=False)
        self._rows, self._arrays, self._table = (
            msgspec.json.Decoder(kind).decode
            for kind in (list[row], list[array], table)  # type: ignore[valid-type]
        )
        self._lines = msgspec.json.Decoder(row).decode_lines
        self._numeric = all(c.kind != "category" for c in columns)

    def lines(self, body: bytes) -> Array:
        """The numbers of a body of objects, one a line."""
        self._check_possible()
        return self._of_rows(self._read(self._lines, body))

    def __call__(self, body: bytes) -> tuple[Array, str]:
        """The numbers of a body, and its form: "rows" or "columns"."""
        self._check_possible()
        if body[:1] == b"{":
            return self._of_columns(astuple(self._read(self._table, body))), "columns"
        objects = body[1:64].lstrip(b" \t\r\n")[:1] == b"{"
        reader, form = (self._rows, "rows") if objects else (self._arrays, "arrays")
        if len(body) <= PIECE:
            return self._of_rows(self._read(reader, body)), form
        found = long_rows(self._columns, body, objects) if len(body) >= LONG else None
        if found is not None:
            return found, form
        try:
            pieces = [self._of_rows(self._read(reader, piece)) for piece in _pieces(body)]
        except (NotPlain, msgspec.DecodeError):  # it was not cut between two rows, or cannot be read at all
            return self._of_rows(self._read(reader, body)), form
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces), form

    def _check_possible(self) -> None:
        if not self.possible:
            raise NotPlain

    def _read(self, reader: Reader, body: bytes) -> Any:
        try:
            return reader(body)
        except msgspec.ValidationError:
            raise NotPlain from None

    def _of_rows(self, rows: list[Any]) -> Array:
        if not rows:
            raise NotPlain
        n, d = len(rows), len(self._columns)
        if not self._numeric:
            return matrix(self._columns, zip(*map(astuple, rows)), n)
        try:  # half the time of np.fromiter
            flat = np.frombuffer(struct.pack(f"{n * d}d", *chain.from_iterable(map(astuple, rows)))).copy()
        except struct.error:  # a value is missing
            flat = np.array(list(chain.from_iterable(map(astuple, rows))), dtype=np.float64)
        return flat.reshape(n, d)

    def _of_columns(self, columns: tuple[Any, ...]) -> Array:
        n = len(columns[0])
        if n == 0 or any(len(values) != n for values in columns):
            raise NotPlain
        return matrix(self._columns, columns, n)
