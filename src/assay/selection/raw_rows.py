"""Some rows of a table in memory as its schema describes them, a model's answers for such rows, and their values in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assay.engines import ArrayRows, SparseRows
from assay.engines.csr import SparseMatrix
from assay.errors import AssayError
from assay.numerics import Array
from assay.selection.data import Answers, TableData
from assay.selection.splits import each_once
from assay.selection.table_model import TableModel
from assay.tables.encoding.words import BUCKETS
from assay.tables.schema.schema import TEXTUAL, Column
from assay.tables.schema.text import moment, number
from assay.tables.table_rows import texts_at

LONGEST = 60  # letters of a value that is shown
LONGEST_TEXT = 160


@dataclass(frozen=True)
class RawRows:
    """`numbers` (m,) are the rows' numbers in the table, rising; X (m, d) their values, not encoded, words as counts."""

    numbers: Array
    X: Any  # an array, or a SparseMatrix where the table has text
    data: TableData

    @classmethod
    def of(cls, data: TableData, which: Array) -> RawRows:
        """These rows of the table, each once, in the table's order."""
        numbers = each_once(which)
        rows = data.pick(numbers).in_memory()
        return cls(numbers, rows.X, data)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def y(self) -> Array:
        """The targets as they stand in the table."""
        found: Array = self.data.y[self.numbers]
        return found

    @cached_property
    def plain(self) -> list[Column]:
        """The columns of which X has one each: all but text."""
        return [c for c in self.data.schema.used if c.kind not in TEXTUAL]

    @cached_property
    def texts(self) -> list[Column]:
        return [c for c in self.data.schema.used if c.kind in TEXTUAL]

    @cached_property
    def _keys(self) -> dict[str, int]:
        """Of each column of strings, the column of X that holds its keys."""
        strings = [c.name for c in self.texts if c.kind == "string"]
        return {name: len(self.plain) + k for k, name in enumerate(strings)}

    def _terms(self) -> Iterator[tuple[Column, int]]:
        """Each column of text, and the first of the columns of X that count its words or letters."""
        for k, column in enumerate(self.texts):
            yield column, len(self.plain) + len(self._keys) + k * BUCKETS

    def places(self) -> dict[str, list[int]]:
        """Of each column of the table, the columns of X that hold it."""
        found = {c.name: [j] for j, c in enumerate(self.plain)}
        for column, start in self._terms():
            key = [self._keys[column.name]] if column.name in self._keys else []
            found[column.name] = [*key, *range(start, start + BUCKETS)]
        return found

    @cached_property
    def values(self) -> Array:
        """(m, plain columns): what is no text, as an array."""
        if isinstance(self.X, SparseMatrix):
            return self.X.columns(np.arange(len(self.plain))).toarray()
        return np.asarray(self.X)

    def in_words(self, i: int) -> dict[str, str]:
        """The values of the i-th row as a person would write them; of text that cannot be read again, how many different words it has."""
        said = {c.name: spoken(c, float(v)) for c, v in zip(self.plain, self.values[i])}
        if self.texts and self._written is not None:
            said |= {name: quoted(texts[i]) for name, texts in self._written.items()}
        elif self.texts:
            places = self.X[np.array([i])].indices
            for column, start in self._terms():
                said[column.name] = f"{int(((places >= start) & (places < start + BUCKETS)).sum())} words"
        return {c.name: said[c.name] for c in self.data.schema.used}

    @cached_property
    def _written(self) -> dict[str, list[str | None]] | None:
        """The texts as they stand in the table; None where the table is not there any more, or is another one."""
        if self.data.source is None:
            return None
        try:
            found = texts_at(self.data.source, [c.name for c in self.texts], self.numbers)
        except (AssayError, OSError, ArithmeticError, LookupError, TypeError, ValueError):
            return None
        return found if all(len(texts) == len(self) for texts in found.values()) else None


def quoted(text: str | None) -> str:
    """A text as it is shown: its beginning, on one line.

    >>> quoted("Dear  sir,\\nyours"), quoted(None)
    ('Dear sir, yours', 'missing')
    """
    if text is None:
        return "missing"
    line = " ".join(text[: 4 * LONGEST_TEXT].split())
    return line if len(line) <= LONGEST_TEXT else line[: LONGEST_TEXT - 1] + "…"


def spoken(column: Column, value: float) -> str:
    """A number of X as the value it stands for.

    >>> from assay.tables.schema.schema import Column
    >>> spoken(Column("c", "category", "string", 0, 2, False, ("oak", "elm"), None, None, ""), 1.0)
    'elm'
    """
    if np.isnan(value):
        return "missing"
    if column.kind == "category":
        levels = column.levels or ()
        return levels[int(value)][:LONGEST] if 0 <= value < len(levels) else "other"
    if column.kind == "boolean":
        return "true" if value else "false"
    if column.kind == "date":
        return moment(value, column.with_time)
    return number(value) if np.isfinite(value) else str(value)


def answers(model: TableModel, X: Any, data: TableData, loss: str) -> Answers:
    """What a model answers for raw rows, as far as the loss looks at it."""
    rows = SparseRows(X) if isinstance(X, SparseMatrix) else ArrayRows(X)
    return Answers.for_loss(model.learner, model.encoding_.rows(rows), data.classes, loss)
