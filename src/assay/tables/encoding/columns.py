"""The columns of a table's blocks by what they are (numbers with the parts of dates, categories, words), and their statistics.

A block holds, in the order of the schema: numbers, true/false as 0 and 1, dates as seconds, categories as codes; NaN where a value is
missing, −1 for a category that the schema does not list. A key follows for each string, equal where the strings are; then the words
of texts and the letters of strings, as counts in further columns.

What an encoding has to know of the rows it is made for is one fold of counts, means and scatters:

    mean_j, M2_j = Σ(x_j − mean_j)²   over the rows that have a number in column j
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.engines.csr import SparseMatrix
from assay.engines.engine import merge_in_order
from assay.errors import DataError
from assay.numerics import Array, Floats
from assay.tables.encoding.words import BUCKETS
from assay.tables.schema.schema import TEXTUAL, Column, Schema

DATE_PARTS = ("days", "month", "weekday")
DAY = 86_400.0
MISSING, OTHER = -2, -1
MOST_TEXTS = 1000  # columns of text: each is counted in 32 768 columns
TILE = 1 << 12  # rows
ROUNDING = 1e-12  # deviations up to this share of the mean are those of one number added up


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
        plain = [c for c in self.used if c.kind not in TEXTUAL]
        return [j for j, c in enumerate(plain) if c.kind in kinds]

    def _of(self, *kinds: str) -> list[Column]:
        return [c for c in self.used if c.kind in kinds]

    @property
    def categories(self) -> list[Column]:
        return self._of("category")

    @property
    def texts(self) -> list[Column]:
        """What becomes counts of words or letters."""
        return self._of(*TEXTUAL)

    @property
    def strings(self) -> list[Column]:
        return self._of("string")

    def number_names(self) -> list[tuple[str, str]]:
        """(name, source column) of the expanded numbers."""
        named = [(c.name, c.name) for c in self._of("number", "boolean")]
        return named + [(f"{c.name}.{p}", c.name) for c in self._of("date") for p in date_part_names(c.with_time)]

    def is_truth(self) -> Array:
        """Which of the expanded numbers are true/false columns: 0 and 1 need no scaling."""
        truths = [c.kind == "boolean" for c in self._of("number", "boolean")]
        return np.array(truths + [False] * (len(self.number_names()) - len(truths)), dtype=bool)

    def expand(self, X: Any) -> ExpandedColumns:
        """Take a block apart."""
        words, keys = None, np.full((len(X), self._many[1]), np.nan)
        if isinstance(X, SparseMatrix):
            texts, strings = self._many
            width = X.n_columns - BUCKETS * texts
            words = X.columns(np.arange(width, X.n_columns))
            X = X.columns(np.arange(width)).toarray()
            X, keys = X[:, : width - strings], X[:, width - strings :]
        numbers = self._numbers(X)
        if not self._coded:
            return ExpandedColumns(numbers, np.empty((len(X), 0), dtype=np.int64), words, keys)
        codes = X[:, self._coded]
        with np.errstate(invalid="ignore"):
            codes = np.where(np.isnan(codes), MISSING, codes).astype(np.int64)
        return ExpandedColumns(numbers, codes, words, keys)

    @cached_property
    def _many(self) -> tuple[int, int]:
        return len(self.texts), len(self.strings)

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
        dates = [date_parts(X[:, j], c.with_time).astype(X.dtype) for j, c in self._dated]
        return np.concatenate([numbers, *dates], axis=1) if dates else numbers


class ExpandedColumns(NamedTuple):
    """numbers (m, a) with NaN where missing; codes (m, c) with MISSING and OTHER; counts of words or None; keys (m, s) of strings."""

    numbers: Floats
    codes: Array
    words: SparseMatrix | None
    keys: Floats


def date_part_names(with_time: bool) -> tuple[str, ...]:
    """The parts that a date column becomes."""
    return (*DATE_PARTS, "hour") if with_time else DATE_PARTS


def date_parts(seconds: Array, with_time: bool) -> Floats:
    """(m, parts) of dates in seconds since 1970; NaN stays NaN. Weekdays count from Monday 0, months from January 1.

    >>> date_parts(np.array([0.0, 31 * DAY + 3600]), with_time=True).tolist()
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


class TextComponents(NamedTuple):
    """Of a column of text: the b hashed words that count, and the directions that its weighed words are projected on."""

    buckets: Array  # (b,): rising
    V: Floats  # (b, k): float32
    mean: Floats  # (k,): of the projections of the rows learnt from
    spread: float  # the root of the sum of their variances


class StringValues(NamedTuple):
    """Of a column of strings the u values that occur more than once, their rows and sums of targets in each of the five parts."""

    keys: Floats  # (u,): rising
    counts: Array  # (u, parts)
    sums: Floats  # (u, parts, c): of the c columns that targets become
    parts: Array  # (parts,): rows
    totals: Floats  # (parts, c)
    labels: tuple[str, ...]  # (c,): the classes; "" of a number
    missing: int  # rows without a string
    mean: Floats  # (1 + c,): of the columns that the rows of the fit become
    scale: Floats


class EncodingStatistics(NamedTuple):
    """n rows; of a numbers: how many, mean, M2; of the categories: how often each occurs."""

    n: int
    present: Array  # (a,): rows that have a number
    mean: Floats  # (a,)
    m2: Floats  # (a,)
    levels: tuple[Array, ...]  # per category column: (levels + 2,) with OTHER and MISSING last
    documents: Array  # (buckets,): rows with such a word
    texts: tuple[TextComponents, ...] = ()  # a column of text each, where a model takes dense columns
    strings: tuple[StringValues, ...] = ()

    @property
    def deviation(self) -> Floats:
        """√(M2/rows present); 1 where nothing varies, so that division changes nothing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            s = np.sqrt(self.m2 / self.present)
        constant = s <= ROUNDING * np.abs(self.mean)  # 0.1 many times over has a mean that is off by rounding
        return np.where(np.isfinite(s) & ~constant & (s > 0), s, 1.0)


def statistics_of(engine: Engine, groups: ColumnGroups, rows: Rows) -> EncodingStatistics:
    """The statistics of the rows of a table; the same bits on every engine."""
    found = fold(engine, rows.blocks(), _Absorb(groups), _merge)
    if found is None:
        raise DataError("There are no rows to learn the encoding from.")
    bad = np.flatnonzero(~np.isfinite(found.m2))
    if len(bad):  # each block could be squared, but not all of them together
        raise too_large(groups, int(bad[0]))
    return found


@dataclass(frozen=True)
class _Absorb:
    groups: ColumnGroups

    def __call__(self, block: Block) -> EncodingStatistics:
        if isinstance(block.X, SparseMatrix):
            return self._of(block.X, block.start)
        starts = range(0, max(1, len(block.X)), TILE)  # what is made of a tile stays in the cache
        found = merge_in_order((self._of(block.X[a : a + TILE], block.start + a) for a in starts), _merge)
        assert found is not None
        return found

    def _of(self, X: Any, start: int) -> EncodingStatistics:
        found = self.groups.expand(X)
        N = np.asarray(found.numbers, dtype=np.float64)
        known = ~np.isnan(N)
        whole = bool(known.all())
        count = known.sum(axis=0)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            filled = N if whole else np.where(known, N, 0.0)
            mean = np.where(count > 0, filled.sum(axis=0) / np.maximum(count, 1), 0.0)
            off = N - mean if whole else np.where(known, N - mean, 0.0)
            m2 = np.einsum("ij,ij->j", off, off)
        if not np.isfinite(m2).all():
            self._refuse(N, start)
        levels = tuple(
            np.bincount(
                np.where(codes >= 0, codes, len(column.levels or ()) + (codes == MISSING)),
                minlength=len(column.levels or ()) + 2,
            )
            for codes, column in zip(found.codes.T, self.groups.categories)
        )
        words = found.words
        documents = np.zeros(0, np.int64) if words is None else np.bincount(words.indices, minlength=words.n_columns)
        return EncodingStatistics(len(N), count, mean, m2, levels, documents)

    def _refuse(self, N: Floats, start: int) -> None:
        names = self.groups.number_names()
        bad = np.argwhere(np.isinf(N))
        if len(bad):
            i, j = bad[0]
            raise DataError(
                f"Column {names[j][0]!r} is infinite in row {start + i} (counted from 0, without the header). Leave such rows out, or "
                "write the value as missing."
            )
        j = int(np.argmax(np.abs(np.nan_to_num(N)).max(axis=0)))
        raise too_large(self.groups, j)


def _merge(a: EncodingStatistics, b: EncodingStatistics) -> EncodingStatistics:
    present = a.present + b.present
    share = b.present / np.maximum(present, 1)
    with np.errstate(over="ignore"):
        shift = b.mean - a.mean
        m2 = a.m2 + b.m2 + shift * shift * a.present * share
    return EncodingStatistics(
        a.n + b.n,
        present,
        np.where(a.present > 0, a.mean + shift * share, b.mean),
        m2,
        tuple(x + y for x, y in zip(a.levels, b.levels)),
        a.documents + b.documents,
    )


def too_large(groups: ColumnGroups, j: int) -> DataError:
    """The error about numbers of which no deviation can be taken."""
    name = groups.number_names()[j][0]
    return DataError(f"Column {name!r} holds numbers too large to square: bring it to other units.")
