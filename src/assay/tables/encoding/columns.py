"""Dates as numbers: days since 1970, month, day of the week and, where there is a time of day, the hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from assay.engines.csr import SparseMatrix, pointers_of
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.tables.encoding.words import BUCKETS
from assay.tables.schema.schema import Column, Schema

PARTS = ("days", "month", "weekday")
DAY = 86_400.0


def part_names(with_time: bool) -> tuple[str, ...]:
    """The parts that a date column becomes."""
    return (*PARTS, "hour") if with_time else PARTS


def parts(seconds: Array, with_time: bool) -> Floats:
    """(m, parts): of seconds since 1970; NaN stays NaN. Weekdays count from Monday 0, months from January 1.

    >>> parts(np.array([0.0, 31 * DAY + 3600]), with_time=True).tolist()
    [[0.0, 1.0, 3.0, 0.0], [31.041666666666668, 2.0, 6.0, 1.0]]
    """
    seconds = np.asarray(seconds, dtype=np.float64)
    days = seconds / DAY
    whole = np.floor(days)
    known = np.isfinite(whole)
    dated = np.where(known, whole, 0).astype("datetime64[D]")
    month = dated.astype("datetime64[M]").astype(np.int64) % 12 + 1.0
    columns = [days, month, (np.where(known, whole, 0) + 3) % 7]  # 1970 began on a Thursday
    if with_time:
        columns.append(np.floor((seconds - whole * DAY) / 3600))
    out = np.stack(columns, axis=1)
    out[~known] = np.nan
    return out


# The columns of a block sorted by what they are: numbers (with the parts of dates), categories and words.
#
# A block of a table holds, in the order of the schema: numbers, true/false as 0 and 1, dates as seconds, categories as codes; NaN where
# a value is missing, −1 for a category that the schema does not list. Words follow as counts in further columns.

MISSING, OTHER = -2, -1
MOST_TEXTS = 1000  # columns of text: each is counted in 32 768 columns


class ExpandedColumns(NamedTuple):
    """numbers (m, a) with NaN where missing; codes (m, c) with MISSING and OTHER; counts of words or None."""

    numbers: Floats
    codes: Array
    words: SparseMatrix | None


@dataclass(frozen=True)
class ColumnGroups:
    """Which columns of a block are what, by their place among the `used` columns of the schema."""

    used: tuple[Column, ...]

    @classmethod
    def of(cls, schema: Schema) -> ColumnGroups:
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

    def expand(self, X: Any) -> ExpandedColumns:
        """Take a block apart."""
        words = None
        if isinstance(X, SparseMatrix):
            width = X.n_columns - BUCKETS * len(self.texts)
            words = X.columns(np.arange(width, X.n_columns))
            X = X.columns(np.arange(width)).toarray()
        numbers = self._numbers(X)
        if not self._coded:
            return ExpandedColumns(numbers, np.empty((len(X), 0), dtype=np.int64), words)
        codes = X[:, self._coded]
        with np.errstate(invalid="ignore"):
            codes = np.where(np.isnan(codes), MISSING, codes).astype(np.int64)
        return ExpandedColumns(numbers, codes, words)

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


# Wide columns as sparse rows: one column a category, weighed words, and the joining of such pieces.
#
# tf·idf = count · (1 + log((1 + n)/(1 + documents with the word))),  then each row's words to length 1

NARROW = 256  # columns of words for models that take dense rows only


def one_hot_sparse(place: Array, width: int) -> SparseMatrix:
    """A one in the column place[i] of row i; −1: none."""
    kept = place >= 0
    return SparseMatrix(
        np.ones(int(kept.sum())), place[kept].astype(np.int32), pointers_of(kept.astype(np.int64)), width
    )


def tf_idf(words: SparseMatrix, documents: Array, n: int, texts: int) -> SparseMatrix:
    """The counts weighed by how rare a word is; the words of each of the text columns have length 1 in a row."""
    idf = 1.0 + np.log((1.0 + n) / (1.0 + documents))
    data = words.data * idf[words.indices]
    group = words.row_numbers() * texts + words.indices // BUCKETS
    length = np.sqrt(np.bincount(group, weights=data * data, minlength=len(words) * texts))
    return words.with_data(data / length[group])


def hashed_narrow(words: SparseMatrix, texts: int) -> Floats:
    """The weighed words folded into NARROW columns a text column, each row again of length 1."""
    out = np.zeros((len(words), texts, NARROW))
    np.add.at(out, (words.row_numbers(), words.indices // BUCKETS, words.indices % NARROW), words.data)
    length = np.sqrt(np.einsum("itk,itk->it", out, out))
    out /= np.where(length > 0, length, 1.0)[:, :, None]
    return out.reshape(len(words), NARROW * texts)


def beside(dense: Floats, pieces: Sequence[SparseMatrix]) -> SparseMatrix:
    """One matrix of dense columns and sparse pieces side by side."""
    rows, columns = np.nonzero(dense)
    row, column, data = [rows], [columns], [dense[rows, columns].astype(np.float64)]
    width = dense.shape[1]
    for piece in pieces:
        row.append(piece.row_numbers())
        column.append(piece.indices.astype(np.int64) + width)
        data.append(piece.data)
        width += piece.n_columns
    at = np.concatenate(row)
    order = np.argsort(at, kind="stable")  # pieces lie in the order of their columns: a stable sort keeps that
    lengths = np.bincount(at, minlength=len(dense))
    values, places = np.concatenate(data)[order], np.concatenate(column)[order].astype(np.int32)
    return SparseMatrix(values, places, pointers_of(lengths), width)
