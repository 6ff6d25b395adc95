"""The columns of a block sorted by what they are: numbers (with the parts of dates), categories and words.

A block of a table holds, in the order of the schema: numbers, true/false as 0 and 1, dates as seconds, categories as codes; NaN where
a value is missing, −1 for a category that the schema does not list. Words follow as counts in further columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from assay.engines.csr import SparseMatrix
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.tables.description.schema import Column, Schema
from assay.tables.encoding.dates import part_names, parts
from assay.tables.encoding.words import BUCKETS

MISSING, OTHER = -2, -1
MOST_TEXTS = 1000  # columns of text: each is counted in 32 768 columns


class Expanded(NamedTuple):
    """numbers (m, a) with NaN where missing; codes (m, c) with MISSING and OTHER; counts of words or None."""

    numbers: Floats
    codes: Array
    words: SparseMatrix | None


@dataclass(frozen=True)
class Groups:
    """Which columns of a block are what, by their place among the `used` columns of the schema."""

    used: tuple[Column, ...]

    @classmethod
    def of(cls, schema: Schema) -> Groups:
        groups = cls(schema.used)
        if len(groups.texts) > MOST_TEXTS:
            raise DataError(
                f"{len(groups.texts)} columns hold text, and at most {MOST_TEXTS} can be learnt from: name the columns to use "
                "(features=[…], --features in the shell), or make categories of them."
            )
        return groups

    def places(self, *kinds: str) -> list[int]:
        """Places among the columns that are not text: those of a block's first columns."""
        plain = [c for c in self.used if c.kind != "text"]
        return [j for j, c in enumerate(plain) if c.kind in kinds]

    def _of(self, *kinds: str) -> list[Column]:
        return [c for c in self.used if c.kind in kinds]

    @property
    def categories(self) -> list[Column]:
        return self._of("category")

    @property
    def texts(self) -> list[Column]:
        return self._of("text")

    def number_names(self) -> list[tuple[str, str]]:
        """(name, source column) of the expanded numbers."""
        named = [(c.name, c.name) for c in self._of("number", "boolean")]
        return named + [(f"{c.name}.{p}", c.name) for c in self._of("date") for p in part_names(c.with_time)]

    def is_truth(self) -> Array:
        """Which of the expanded numbers are true/false columns: 0 and 1 need no scaling."""
        truths = [c.kind == "boolean" for c in self._of("number", "boolean")]
        return np.array(truths + [False] * (len(self.number_names()) - len(truths)), dtype=bool)

    def expand(self, X: Any) -> Expanded:
        """Take a block apart."""
        words = None
        if isinstance(X, SparseMatrix):
            width = X.n_columns - BUCKETS * len(self.texts)
            words = X.columns(np.arange(width, X.n_columns))
            X = X.columns(np.arange(width)).toarray()
        numbers = self._numbers(X)
        if not self._coded:
            return Expanded(numbers, np.empty((len(X), 0), dtype=np.int64), words)
        codes = X[:, self._coded]
        with np.errstate(invalid="ignore"):
            codes = np.where(np.isnan(codes), MISSING, codes).astype(np.int64)
        return Expanded(numbers, codes, words)

    @cached_property  # these are asked for with every block, and a service answers blocks of one row
    def _coded(self) -> list[int]:
        return self.places("category")

    @cached_property
    def _plain(self) -> list[int]:
        return self.places("number", "boolean")

    @cached_property
    def _dated(self) -> list[tuple[int, Column]]:
        return list(zip(self.places("date"), self._of("date")))

    def _numbers(self, X: Floats) -> Floats:
        numbers = X if len(self._plain) == X.shape[1] else X[:, self._plain]
        dates = [parts(X[:, j], c.with_time).astype(X.dtype) for j, c in self._dated]
        return np.concatenate([numbers, *dates], axis=1) if dates else numbers
