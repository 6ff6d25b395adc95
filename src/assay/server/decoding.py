"""Rows in JSON as numbers without detours: the columns of a model are a type of their own, which reads and checks a body at once.

A body that does not fit the type (numbers written as text, dates, a column that is not there) is read as a table of any kind instead,
which answers it or says what is wrong; so this is a short cut and no second set of rules.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import astuple

from assay.errors import ModelFileError
from assay.numerics import Array

NAN = float("nan")
PLAIN: dict[str, Any] = {"number": float | None, "boolean": bool | None, "category": str | None}
DATATYPES = {
    "number": "FP64",
    "boolean": "BOOL",
    "category": "BYTES",
    "date": "BYTES",
    "text": "BYTES",
    "string": "BYTES",
}
MOST_UNNAMED = 1 << 16  # columns without names, of which a small file may claim any number
PIECE = 1 << 16  # bytes read at once: other threads have their turn between two pieces
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"([ \t\r\n]*+:)?|[{}\[\]]', re.DOTALL)
_BETWEEN = re.compile(rb"[}\]][ \t\r\n]*(,)[ \t\r\n]*[{\[]")

Reader = Callable[[bytes], Any]


class NotPlain(Exception):
    """Values that have to be read the long way: as a table whose columns are of any type."""


def plain_name(name: str) -> bool:
    """Whether JSON writes a name as it is: only then can it be a field of a type."""
    return all(c >= " " and c not in '"\\' for c in name)


def names_of_first(body: bytes, most: int) -> int:
    """How many names the first object of a body has, of which no more than `most` are counted: to find out that there are too many takes
    less than to read them all."""
    if body.count(b'":') <= most:  # the shortest way to write a name
        return 0
    count = depth = 0
    for token in _TOKEN.finditer(body):
        if token[1] is not None and depth == 1:
            count += 1
        depth += {b"{": 1, b"[": 1 if depth else 0, b"}": -1, b"]": -1}.get(token[0], 0)
        if count > most or (depth <= 0 and count):
            break
    return count


# --- the columns of a model -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExpectedColumn:
    """A column that a model expects. `unknown` is the number of a category that the fit never saw."""

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    unknown: float = NAN

    @cached_property
    def codes(self) -> Mapping[str | None, float]:
        """The number of each category; of a missing value NaN."""
        return {None: NAN, **{level: float(code) for code, level in enumerate(self.levels)}}

    def numbers(self, values: Sequence[Any]) -> Any:
        """Values of the kinds in PLAIN as numbers."""
        if self.kind == "category":
            codes, unknown = self.codes, self.unknown
            return [codes.get(value, unknown) for value in values]
        return values


def expected_columns(model: Any, most: int = MOST_UNNAMED) -> tuple[ExpectedColumn, ...]:
    """The columns of a model: those of its schema, of its names, or x0, x1, … (at most so many) as the tables of arrays are called."""
    encoding = getattr(model, "encoding_", None)
    if encoding is not None:
        used = encoding.schema.used
        return tuple(ExpectedColumn(c.name, c.kind, tuple(c.levels or ()), -1.0) for c in used)
    d, names = model.n_features_in_, given_names(model)
    if names is None and d > most:
        raise ModelFileError(
            f"The model has {d} columns without names, more than the {most} that a service asks for: fit it on a table with names."
        )
    names = names or tuple(f"x{j}" for j in range(d))
    kinds = zip(names, model.categories_ or (None,) * d)
    return tuple(
        ExpectedColumn(n, "number") if found is None else ExpectedColumn(n, "category", found) for n, found in kinds
    )


def given_names(model: Any) -> tuple[str, ...] | None:
    """The names of the columns of a model that was fitted without a schema; None: they had none."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(names.tolist())


def matrix(columns: Sequence[ExpectedColumn], values: Iterable[Sequence[Any]], n: int) -> Array:
    """Columns of plain values as numbers (n, d)."""
    X = np.empty((n, len(columns)))
    for j, (column, given) in enumerate(zip(columns, values)):
        X[:, j] = column.numbers(given)  # NumPy makes NaN of None
    return X


# --- reading --------------------------------------------------------------------------------------------------------------


class RowDecoder:
    """Reads rows (objects or arrays) and columns of one model's table."""

    def __init__(self, columns: Sequence[ExpectedColumn]) -> None:
        self._columns = columns
        alone = len({c.name for c in columns}) == len(columns)
        self.possible = alone and all(c.kind in PLAIN and plain_name(c.name) for c in columns)
        if not self.possible:
            return
        names = {f"c{j}": c.name for j, c in enumerate(columns)}
        plain = [(field, PLAIN[c.kind]) for field, c in zip(names, columns)]
        lists = [(field, list.__class_getitem__(kind)) for field, kind in plain]
        row = msgspec.defstruct("ObjectRow", plain, rename=names, gc=False)
        array = tuple.__class_getitem__(tuple(kind for _, kind in plain))
        table = msgspec.defstruct("TableColumns", lists, rename=names, gc=False)
        self._rows, self._arrays, self._table = (
            msgspec.json.Decoder(kind).decode
            for kind in (list[row], list[array], table)  # type: ignore[valid-type]
        )
        self._lines = msgspec.json.Decoder(row).decode_lines
        self._numeric = all(c.kind != "category" for c in columns)
        self._pack = struct.Struct(f"{len(columns)}d").pack

    def lines(self, body: bytes) -> Array:
        """The numbers of a body of objects, one a line."""
        self._check_possible()
        return self._of_rows(_read(self._lines, body), astuple)

    def __call__(self, body: bytes) -> tuple[Array, str]:
        """The numbers of a body, and its form: "rows", "arrays" or "columns"."""
        self._check_possible()
        if body[:1] == b"{":
            return self._of_columns(astuple(_read(self._table, body))), "columns"
        objects = body[1:64].lstrip(b" \t\r\n")[:1] == b"{"
        reader, form = (self._rows, "rows") if objects else (self._arrays, "arrays")
        values = astuple if objects else None
        if len(body) <= PIECE:
            return self._of_rows(_read(reader, body), values), form
        try:
            pieces = [self._of_rows(_read(reader, piece), values) for piece in _pieces(body)]
        except (NotPlain, msgspec.DecodeError):  # it was not cut between two rows, or cannot be read at all
            return self._of_rows(_read(reader, body), values), form
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces), form

    def _check_possible(self) -> None:
        if not self.possible:
            raise NotPlain

    def _of_rows(self, rows: list[Any], values: Callable[[Any], tuple[Any, ...]] | None) -> Array:
        """Rows as numbers; `values` makes a tuple of each."""
        if not rows:
            raise NotPlain
        n, d = len(rows), len(self._columns)
        tuples = rows if values is None else list(map(values, rows))
        if not self._numeric:
            return matrix(self._columns, zip(*tuples), n)
        pack = self._pack
        try:  # half the time of np.fromiter
            packed = bytearray().join([pack(*row) for row in tuples])
        except struct.error:  # a value is missing
            return np.array(tuples, dtype=np.float64)
        return np.frombuffer(packed).reshape(n, d)

    def _of_columns(self, columns: tuple[Any, ...]) -> Array:
        n = len(columns[0])
        if n == 0 or any(len(values) != n for values in columns):
            raise NotPlain
        return matrix(self._columns, columns, n)


def _read(reader: Reader, body: bytes) -> Any:
    try:
        return reader(body)
    except msgspec.ValidationError:
        raise NotPlain from None


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
