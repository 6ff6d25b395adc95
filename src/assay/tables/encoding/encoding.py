"""An encoding: how the columns of a table become the numbers of a model, learnt from the rows of its fit alone.

number     (x − mean)/deviation where the model depends on units, else x;  missing: the mean, and "x is missing" = 1
true/false 0 and 1
date       days since 1970, month, weekday, hour, as numbers
category   a column a category (the 64 most frequent; the rest share "other"), or as the model takes them; a missing
           value is a category of its own where the fit had some; an unseen one counts as "other", or as none
text       words hashed into 32 768 columns (called by those words), tf·idf, each row of length 1; words in one row alone are left out;
           for models that take dense columns, projected on at most 30 directions (`components.py`)
string     stretches of 3 and 4 letters likewise; how frequent the value is, and the mean target of rows with it (`strings.py`)
id, constant, ignored: left out

As plain data an encoding goes into a model file (`stored.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from assay.engines import ArrayRows, Engine, Part, Rows, SparseRows
from assay.engines.csr import SparseMatrix
from assay.engines.engine import default_engine
from assay.estimator.estimator import Estimator
from assay.estimator.search_space import Categories, SearchSpace
from assay.numerics import Array, Floats
from assay.tables.encoding.columns import (
    MISSING,
    ColumnGroups,
    EncodingStatistics,
    ExpandedColumns,
    StringValues,
    statistics_of,
)
from assay.tables.encoding.components import (
    FEWEST_ROWS,
    component_names,
    components_of,
    projected,
    weighed,
)
from assay.tables.encoding.strings import (
    Target,
    string_columns,
    string_names,
    strings_of,
)
from assay.tables.encoding.words import (
    BUCKETS,
    NARROW,
    bucket_names,
    hashed_narrow,
    hstack,
    one_hot_sparse,
)
from assay.tables.schema.schema import Schema

MOST_CATEGORIES = 64
WIDE = 512  # dense columns above which a model that takes sparse rows gets them
TILE = 1 << 14
PIECE = 1 << 14  # rows that a thread encodes at a time


class EncodingSpec(NamedTuple):
    """What a model needs of the encoding."""

    categories: Categories = "one-hot"
    scaled: bool = False
    missing: bool = False  # it takes missing numbers itself
    sparse: bool = False  # it takes sparse rows
    target: Target = ""  # what it learns, where strings may be encoded by it

    @classmethod
    def of(
        cls, model: type[Estimator], search_space: SearchSpace, kind: str, categories: Categories | None = None
    ) -> EncodingSpec:
        """The needs of a model, a "classifier" or a "regressor"; `categories` overrides how categories are encoded, where the model does
        not take them itself."""
        how = search_space.categories if categories is None or search_space.categories == "native" else categories
        sparse = model.takes_sparse and not model.fills_sparse and not search_space.dense
        target: Target = "classes" if kind == "classifier" else "number"
        return cls(how, search_space.scaled, model.takes_missing, sparse, target)

    @property
    def components(self) -> bool:
        """Whether text becomes dense components: the model takes no sparse rows, or categories beside which there are none."""
        return not self.sparse or self.categories == "native"


class Output(NamedTuple):
    """A column of the encoded rows: its name, the table's column it comes from, what it is."""

    name: str
    source: str
    role: Literal["number", "indicator", "category", "words", "component", "value"]


class OneHotLevels(NamedTuple):
    """The categories of a column that get columns of their own: places among the schema's levels, and what the rest becomes."""

    kept: Array  # level numbers with a column each
    other: bool
    missing: bool
    dropped: int = -1  # the level that zeros stand for in all these columns

    @property
    def width(self) -> int:
        return len(self.kept) + self.other + self.missing

    def places(self, levels: int) -> Array:
        """place[code]: the column among those of a category, −1 for none; OTHER (−1) and MISSING (−2) count from the end."""
        after = len(self.kept)
        place = np.full(levels + 2, after if self.other else -1, dtype=np.int64)
        place[self.kept] = np.arange(after)
        if self.dropped >= 0:
            place[self.dropped] = -1
        place[MISSING] = after + self.other if self.missing else -1
        return place


@dataclass(frozen=True)
class Encoding:
    """The encoding of a table for one model, ready to be applied to any rows of that table."""

    schema: Schema
    encoding_spec: EncodingSpec
    statistics: EncodingStatistics

    @classmethod
    def learn(cls, engine: Engine, schema: Schema, encoding_spec: EncodingSpec, rows: Rows) -> Encoding:
        """Learn from rows of the table (as `TableRows` gives them), in one fold; in two where text becomes components."""
        groups = ColumnGroups.of(schema)
        statistics = statistics_of(engine, groups, rows)
        if encoding_spec.components:
            statistics = statistics._replace(texts=components_of(engine, groups, statistics, rows))
        strings = strings_of(engine, groups, encoding_spec.target, rows)
        return cls(schema, encoding_spec, statistics._replace(strings=strings))

    @cached_property
    def groups(self) -> ColumnGroups:
        return ColumnGroups.of(self.schema)

    @cached_property
    def _indicators(self) -> Array:
        """The numbers that were missing in some row of the fit, but not in all."""
        if self.encoding_spec.missing:
            return np.empty(0, dtype=np.int64)
        count = self.statistics.present
        lacking = (count < self.statistics.n) & (count > 0)
        names = self.groups.number_names()  # a date is missing with all its parts: one indicator says so
        first = np.array([j == 0 or names[j][1] != names[j - 1][1] for j in range(len(names))], dtype=bool)
        return np.flatnonzero(lacking & first) if len(names) else np.empty(0, dtype=np.int64)

    @cached_property
    def _one_hot(self) -> tuple[OneHotLevels, ...]:
        return tuple(self._one_hot_levels(counts) for counts in self.statistics.levels)

    def _one_hot_levels(self, counts: Array) -> OneHotLevels:
        levels, other, missing = counts[:-2], counts[-2] > 0, counts[-1] > 0
        order = np.lexsort((np.arange(len(levels)), -levels))
        present = order[levels[order] > 0]
        kept, rest = np.sort(present[:MOST_CATEGORIES]), len(present) > MOST_CATEGORIES
        alone = not (other or rest or missing)
        if len(kept) and (self.encoding_spec.categories == "reference" or (len(kept) == 2 and alone)):
            drop = int(present[0] if self.encoding_spec.categories == "reference" else kept[0])
            return OneHotLevels(kept[kept != drop], bool(other or rest), bool(missing), drop)
        return OneHotLevels(kept, bool(other or rest), bool(missing))

    @cached_property
    def native(self) -> bool:
        return self.encoding_spec.categories == "native"

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """The columns of the encoded rows, in order."""
        named = self.groups.number_names()
        out = [Output(name, source, "number") for name, source in named]
        out += [Output(f"{named[j][1]} is missing", named[j][1], "indicator") for j in self._indicators]
        for column, one_hot in zip(self.groups.categories, self._one_hot):
            if self.encoding_spec.categories in ("native", "codes"):
                out.append(Output(column.name, column.name, "category"))
                continue
            levels = column.levels or ()
            names = [f"{column.name}={levels[k]}" for k in one_hot.kept]
            names += [f"{column.name} (other)"] * one_hot.other + [f"{column.name} is missing"] * one_hot.missing
            out += [Output(name, column.name, "category") for name in names]
        for column, values in zip(self.groups.strings, self.statistics.strings):
            out += [Output(name, column.name, "value") for name in string_names(column.name, values)]
            if self._sometimes_missing(values):
                out.append(Output(f"{column.name} is missing", column.name, "indicator"))
        for t, column in enumerate(self.groups.texts):
            mine = self._known_words[self._known_words // BUCKETS == t] % BUCKETS
            if self._projects:
                names = component_names(column.name, column.words or (), self.statistics.texts[t])
                out += [Output(name, column.name, "component") for name in names]
                continue
            names = bucket_names(column.name, column.words or (), mine, NARROW if self._narrow else None)
            out += [Output(name, column.name, "words") for name in names]
        return _with_unique_names(out)

    @cached_property
    def _projects(self) -> bool:
        """Whether text becomes components."""
        return self.encoding_spec.components and bool(self.statistics.texts)

    @cached_property
    def _narrow(self) -> bool:
        """Whether words are folded into a few dense columns, as they were in files of the first version."""
        return self.encoding_spec.components and not self._projects

    @cached_property
    def _known_words(self) -> Array:
        """The hashed words that get a column: those in two or more rows of the fit. A word of one row says nothing of others."""
        return np.flatnonzero(self.statistics.documents >= FEWEST_ROWS)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(o.name for o in self.outputs)

    @cached_property
    def categories(self) -> tuple[tuple[str, ...] | None, ...] | None:
        """Of each encoded column the categories whose codes it holds, where the model takes categories itself."""
        if not self.native or not self.groups.categories:
            return None
        levels = {c.name: tuple(c.levels or ()) for c in self.groups.categories}
        return tuple(levels[o.source] if o.role == "category" else None for o in self.outputs)

    @cached_property
    def sparse(self) -> bool:
        """Whether the encoded rows are sparse."""
        if not self.encoding_spec.sparse or self.native:
            return False
        return bool(self.groups.texts) or (len(self.outputs) > WIDE and bool(self.groups.categories))

    def __call__(self, X: Any, first: int | None = None) -> Any:
        """The encoded numbers of a block: an array, or a `SparseMatrix` where `sparse`.

        `first`: they are rows of the fit, and so many come before them; None: they are others.
        """
        if self.sparse:
            return self._sparse(self.groups.expand(X), first)
        dtype = np.float64 if isinstance(X, SparseMatrix) else X.dtype
        out = np.empty((len(X), len(self.outputs)), dtype=dtype)
        self.into(X, out, first)
        return out

    def into(self, X: Any, out: Floats, first: int | None = None) -> None:
        """The encoded numbers of a block, written into an array."""
        found = self.groups.expand(X)
        for a in range(0, len(out), TILE):  # a tile stays in the cache while all columns fill it
            b = a + TILE
            self._dense(ExpandedColumns(found.numbers[a:b], found.codes[a:b], None, found.keys[a:b]), out[a:b])
        if self.groups.texts:
            words = self._without_words(len(out)) if found.words is None else found.words
            known = weighed(words, self.statistics.documents, self.statistics.n, self._texts)
            dense = np.concatenate([self._values(found.keys, first), self._dense_words(known)], axis=1)
            out[:, len(self.outputs) - dense.shape[1] :] = dense

    def _values(self, keys: Floats, first: int | None) -> Floats:
        """How frequent the values of strings are, the means of the target there, and whether there is none."""
        pieces = [np.empty((len(keys), 0))]
        for key, values in zip(keys.T, self.statistics.strings):
            Z = string_columns(key, values, first)
            if self.encoding_spec.scaled:
                Z = (Z if self.sparse else Z - values.mean) / values.scale
            pieces += [Z, np.isnan(key)[:, None]] if self._sometimes_missing(values) else [Z]
        return np.concatenate(pieces, axis=1)

    def _sometimes_missing(self, values: StringValues) -> bool:
        return 0 < values.missing < self.statistics.n

    def _dense_words(self, known: SparseMatrix) -> Floats:
        if self._projects:
            return projected(known, self.statistics.texts, self.encoding_spec.scaled)
        return hashed_narrow(known, self._texts)

    def _without_words(self, rows: int) -> SparseMatrix:
        """Rows of which no text is known, as pictures ask about them."""
        width = len(self.statistics.documents)
        return SparseMatrix(np.empty(0), np.empty(0, np.int32), np.zeros(rows + 1, np.int64), width)

    @cached_property
    def _texts(self) -> int:
        return len(self.groups.texts)

    def rows(self, rows: Rows, of_fit: bool = False) -> ArrayRows | SparseRows:
        """Rows of the table in memory, encoded; `of_fit`: they are the rows of the fit, all of them."""
        if rows.sparse or self.sparse:
            whole: Any = rows.in_memory()
            X = self(whole.X, 0 if of_fit else None)
            if isinstance(X, SparseMatrix):
                return SparseRows(X, whole.y, whole.w, names=self.names)
            return ArrayRows(X, whole.y, whole.w, names=self.names, categories=self.categories)
        out = np.empty((rows.n_rows or 0, len(self.outputs)), dtype=rows.dtype)
        for _ in default_engine().map(partial(self._fill, out), rows.stretches(PIECE)):
            pass
        return ArrayRows(out, rows.y, rows.w, names=self.names, categories=self.categories)

    def _fill(self, out: Floats, part: Part) -> None:
        block = part.load()
        self.into(block.X, out[block.start : block.start + len(block.X)])

    def _dense(self, found: ExpandedColumns, out: Floats) -> None:
        a = found.numbers.shape[1]
        out[:, :a] = self._imputed(found.numbers)
        for k, j in enumerate(self._indicators):
            out[:, a + k] = np.isnan(found.numbers[:, j])
        at = a + len(self._indicators)
        for codes, one_hot, column in zip(found.codes.T, self._one_hot, self.groups.categories):
            if self.encoding_spec.categories in ("native", "codes"):
                missing = np.nan if self.native else -1.0
                out[:, at] = np.where(codes >= 0, codes, missing)
                at += 1
                continue
            place = one_hot.places(len(column.levels or ()))[codes]
            out[:, at : at + one_hot.width] = 0.0
            rows = np.flatnonzero(place >= 0)
            out[rows, at + place[rows]] = 1.0
            at += one_hot.width

    def _imputed(self, N: Floats) -> Floats:
        """Numbers with missing ones filled, brought to mean 0 and deviation 1 where the model needs that."""
        mean, scale = self._centre
        Z = N
        if self.encoding_spec.scaled:
            Z = N - mean
            Z /= scale
        if not self.encoding_spec.missing:
            lacking = np.isnan(Z)
            if lacking.any():
                fill = (self.statistics.mean - mean) / scale if self.encoding_spec.scaled else self.statistics.mean
                Z = np.where(lacking, fill, Z)
        return Z

    @cached_property
    def _centred(self) -> Array:
        return ~self.groups.is_truth()

    @cached_property
    def _centre(self) -> tuple[Floats, Floats]:
        mean = np.where(self._centred, self.statistics.mean, 0.0)
        return (mean * (not self.sparse), np.where(self._centred, self.statistics.deviation, 1.0))

    def _sparse(self, found: ExpandedColumns, first: int | None) -> SparseMatrix:
        N = self._imputed(found.numbers)
        dense = np.column_stack([N, *(np.isnan(found.numbers[:, j]) for j in self._indicators)])
        pieces = []
        for codes, one_hot, column in zip(found.codes.T, self._one_hot, self.groups.categories):
            place = one_hot.places(len(column.levels or ()))[codes]
            pieces.append(one_hot_sparse(place, one_hot.width))
        if self.statistics.strings:
            pieces.append(hstack(self._values(found.keys, first), []))
        if found.words is not None:
            known = weighed(found.words, self.statistics.documents, self.statistics.n, self._texts)
            pieces.append(known.columns(self._known_words))
        return hstack(dense, pieces)


def _with_unique_names(outputs: list[Output]) -> tuple[Output, ...]:
    """The columns with names of their own: a table may have a column that is called "x is missing" beside x."""
    taken: set[str] = set()
    found = []
    for output in outputs:
        name, k = output.name, 1
        while name in taken:
            k += 1
            name = f"{output.name} ({k})"
        taken.add(name)
        found.append(output._replace(name=name) if k > 1 else output)
    return tuple(found)
