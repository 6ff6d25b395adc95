"""A table wherever it lies, and its rows: what a source has to offer, its cache, and the cutting of its batches into blocks.

Rows are read batch by batch in the calling thread and turned into numbers where they are computed with.

The simplest source is a frame in memory: pandas, polars, Arrow, DuckDB, whatever speaks Arrow or is known to narwhals, a dict of columns.
The columns keep their types: categories stay categories (Arrow dictionaries), nullable whole numbers stay whole, times stay
times; pandas' row labels are no column. What can be read but once (a stream of batches, a query) is kept in memory.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.types as types

from assay.engines import Block, Part, Rows
from assay.errors import DataError, DataTypeError, SchemaError, nearest
from assay.numerics import Array
from assay.tables.arrow_columns import as_target, as_weight, is_text

Reading = Literal["number", "text", "as it is"]
MOST_CACHED = 1 << 30  # bytes of the files
FEW_ROWS = 1 << 12
INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")


class Source(ABC):
    """One table, wherever it lies. `types` are the Arrow types of its columns, in order; `notes` are what the user should hear.

    A column is asked for as a `Reading`: "number" (whole numbers may then come as floats), "text" (a source of characters gives
    the very characters of the file, a typed one its own type), or "as it is" (the type of `types`).
    """

    where: str
    types: dict[str, Any]
    n_rows: int | None = None
    typed: bool = True  # False: the file holds characters, and a column may be read as another type than was guessed
    readable_anywhere: bool = False  # by any process that sees the files
    parsed_from: Sequence[str] = ()  # the files whose text every pass has to parse
    keep: Any = None  # a temporary file that has to live as long as its rows
    notes: Sequence[str] = ()
    repeated: Sequence[str] = ()  # names that several columns of a file have, which are then numbered
    offered: Sequence[str] = ()  # columns that are there for a role alone
    written: Mapping[str, Any] = {}  # how columns of text write the numbers and dates that they are read as
    point: str = ""  # the decimal sign by which it reads characters as numbers, where it does,
    decimal: str = ""  # the one that its numbers prove,
    usual_decimal: str = ""  # or that is usual in such files

    @abstractmethod
    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        """Arrow record batches of these columns, in their order, rows in order, of about `size` rows; may be called again."""

    def first_rows(self, names: list[str]) -> Any:
        """Some of the first rows of text columns, as an Arrow table."""
        found, rows = [], 0
        for batch in self.batches(dict.fromkeys(names, "text"), FEW_ROWS):
            found.append(batch)
            rows += batch.num_rows
            if rows >= FEW_ROWS:
                break
        return pa.Table.from_batches(found)

    def widened(self, names: Iterable[str]) -> Source:
        """The source with columns of these names too, where its form says what they hold though it does not list them."""
        return self

    def ranges(self, decoding: Decoding, step: int) -> Iterator[Part]:
        """The rows in parts of `step` rows that any process can read which sees the files, where the source is `readable_anywhere`."""
        raise NotImplementedError


class CachedSource(Source):
    """A source with the batches of its first pass at hand, as Arrow holds them, until the cache is released.

    The schema takes one pass over a table, bringing it into memory another: what the first has parsed serves the second.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.where, self.types, self.n_rows, self.typed = source.where, source.types, source.n_rows, source.typed
        self.keep, self.notes, self.written = source.keep, source.notes, source.written
        self.repeated, self.offered = source.repeated, source.offered
        self.point, self.decimal, self.usual_decimal = source.point, source.decimal, source.usual_decimal
        self._readings: dict[str, Reading] = {}
        self._batches: list[Any] | None = None
        self._over = False

    def release(self) -> None:
        """Let go of what was read; later passes read the source again."""
        self._batches, self._over = None, True

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        if self._batches is not None:
            known = self._cached(columns)
            if known is not None:
                return known
        return self.source.batches(columns, size) if self._over else self._first(columns, size)

    def _first(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        kept: list[Any] = []
        for batch in self.source.batches(columns, size):
            kept.append(batch)
            yield batch
        if not self._over:
            self._batches, self._readings, self._over = kept, dict(columns), True
            self.n_rows = sum(batch.num_rows for batch in kept)

    def _cached(self, columns: Mapping[str, Reading]) -> Iterator[Any] | None:
        """The batches kept with just these columns, where they were read as is now asked for."""
        assert self._batches is not None
        for name, reading in columns.items():
            if self._readings.get(name) not in (reading, "number" if self._was_whole(name, reading) else reading):
                return None
        try:
            return iter([self._chosen(batch, columns) for batch in self._batches])
        except pa.ArrowInvalid:  # decimals among whole numbers: the source itself has to say where
            return None

    def _was_whole(self, name: str, reading: Reading) -> bool:
        return reading == "as it is" and types.is_integer(self.types[name])

    def _chosen(self, batch: Any, columns: Mapping[str, Reading]) -> Any:
        arrays = [
            batch.column(name).cast(self.types[name]) if self._was_whole(name, reading) else batch.column(name)
            for name, reading in columns.items()
        ]
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def cached(source: Source) -> Source:
    """The source itself, or with a cache of its first pass where reading means parsing and the files are not huge."""
    size = sum(Path(path).stat().st_size for path in source.parsed_from)
    return CachedSource(source) if source.parsed_from and size <= MOST_CACHED else source


def release_cache(source: Source) -> None:
    """Let go of the batches that a source has cached, if it has any."""
    if isinstance(source, CachedSource):
        source.release()


@dataclass(frozen=True)
class Decoding(ABC):
    """How batches of a source become blocks: which columns are read, and as what."""

    target: str | None
    weight: str | None
    text_target: bool

    @abstractmethod
    def features_read(self) -> dict[str, Reading]:
        """How the features are read."""

    @abstractmethod
    def matrix(self, table: Any, start: int) -> Any:
        """The features of an Arrow table of which the first row has the number `start`."""

    def columns(self) -> dict[str, Reading]:
        reading = self.features_read()
        if self.target is not None:
            reading[self.target] = "text" if self.text_target else "as it is"
        if self.weight is not None:
            reading[self.weight] = "number"
        return reading

    def block(self, batches: list[Any], start: int) -> Block:
        """The block of some Arrow batches, of which the first row has the number `start`."""
        table = pa.Table.from_batches(batches)
        X = self.matrix(table, start)
        y = None if self.target is None else as_target(table[self.target], self.target, start, self.text_target)
        w = None if self.weight is None else as_weight(table[self.weight], self.weight, start)
        return Block(X, y, w, start)


class BatchPart(NamedTuple):
    """A block as Arrow batches, not yet converted."""

    batches: list[Any]
    decoding: Decoding
    start: int

    def load(self) -> Block:
        return self.decoding.block(self.batches, self.start)


class SourceRows(Rows):
    """Rows of a source. `shared`: in parts that any process can read which sees the files."""

    home = "stream"

    def __init__(
        self, source: Source, target: str | None, weight: str | None, text_target: bool = False, shared: bool = False
    ) -> None:
        self.source, self.n_rows = source, source.n_rows
        self._target, self._weight, self._text_target, self._shared = target, weight, text_target, shared
        self.has_target, self.has_weight = target is not None, weight is not None

    def parts(self, decoding: Decoding, step: int) -> Iterator[Part]:
        """The rows in parts of `step` rows."""
        if self._shared:
            yield from self.source.ranges(decoding, step)
            return
        rows = 0
        for start, batches in cut(self.source.batches(decoding.columns(), step), step):
            yield BatchPart(batches, decoding, start)
            rows = start + sum(batch.num_rows for batch in batches)
        self.n_rows = rows

    def _reads_text(self, classes: Array) -> bool:
        """Whether the target is to be read as text, so that its labels are of the kind of a model's classes; else SchemaError."""
        assert self._target is not None
        text = classes.dtype.kind in "OUT"
        dtype = self.source.types[self._target]
        readable = types.is_integer(dtype) or not (self.source.typed or types.is_floating(dtype))
        if text == is_text(dtype) or (text and readable):
            return text
        kinds = ("text", "numbers") if text else ("numbers", "text")
        raise SchemaError(
            f"The model's classes are {kinds[0]}, such as {classes.tolist()[0]!r}, but the target {self._target!r} holds {kinds[1]} "
            f"in {self.source.where}."
        )


def cut(batches: Iterable[Any], step: int) -> Iterator[tuple[int, list[Any]]]:
    """(first row, slices) of exactly `step` rows each, the last one perhaps shorter. Slices share memory: nothing is copied."""
    held: list[Any] = []
    rows = start = 0
    for batch in batches:
        offset = 0
        while rows + batch.num_rows - offset >= step:
            take = step - rows
            yield start, [*held, batch.slice(offset, take)]
            start, offset, rows, held = start + step, offset + take, 0, []
        if offset < batch.num_rows:
            held.append(batch.slice(offset))
            rows += batch.num_rows - offset
    if rows:
        yield start, held


def named(paths: Sequence[Path]) -> str:
    """The files as a message calls them."""
    more = f" (and {len(paths) - 1} more files)" if len(paths) > 1 else ""
    return f"{str(paths[0])!r}{more}"


def check_known(names: Iterable[str], known: Mapping[str, Any], what: str, where: str) -> None:
    """Raise for the first column that a table does not have, with the nearest name that it has."""
    for name in names:
        if name not in known:
            raise SchemaError(f"{where} has no column {name!r} ({what}). {nearest(name, known)}")


def refuse_repeats(names: list[str], where: str) -> None:
    """Raise where two columns share a name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SchemaError(f"{where} has two columns named {name!r}: rename one of them.")
        seen.add(name)


def choose_features(source: Source, roles: Mapping[str, str], features: str | Iterable[str] | None) -> tuple[str, ...]:
    """The columns to learn from: those named, or all without a role but the row labels that pandas wrote.

    Roles and features have to be columns of the source, and no two of them the same.
    """
    taken: dict[str, str] = {}
    for role, name in roles.items():
        check_known([name], source.types, f"the {role}", source.where)
        if name in source.repeated:
            numbered = [other for other in source.types if re.fullmatch(re.escape(name) + r" \(\d+\)", other)]
            other = f", or name one that is numbered: {numbered[-1]!r}" if numbered else ""
            raise SchemaError(
                f"{source.where} has two columns named {name!r}, and that is the {role}: rename one of them{other}."
            )
        if name in taken:
            raise SchemaError(f"Column {name!r} cannot be both the {taken[name]} and the {role}: name another column.")
        taken[name] = role
    if features is None:
        unasked = {*taken, *source.offered}
        return tuple(n for n in source.types if n not in unasked and not INDEX_OF_PANDAS.fullmatch(n))
    names = (features,) if isinstance(features, str) else tuple(features)
    check_known(names, source.types, "a feature", source.where)
    refuse_repeats(list(names), "features")
    for name in names:
        if name in taken:
            raise SchemaError(
                f"Column {name!r} cannot be both the {taken[name]} and a feature: leave it out of features."
            )
    return names


class FrameSource(Source):
    """An Arrow table, or what has been turned into one."""

    def __init__(self, data: Any, where: str | None = None) -> None:
        self.where = where or f"the {type(data).__name__}"
        table = _table(data, self.where)
        refuse_repeats(table.column_names, self.where)
        if table.num_columns == 0:
            raise DataError(f"{self.where} has no columns.")
        if table.num_rows == 0:
            raise DataError(f"{self.where} has columns but no rows.")
        self._columns = _plain_text(table)
        self.types = dict(zip(self._columns.column_names, self._columns.schema.types))
        self.n_rows = self._columns.num_rows

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        check_known(columns, self.types, "it is to be read", self.where)
        yield from self._columns.select(list(columns)).to_batches(max_chunksize=size)


def is_frame(data: Any) -> bool:
    """Whether an object is a table in memory (and not a path, an array or a list)."""
    if isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return True
    import narwhals.stable.v2 as nw

    return nw.from_native(data, pass_through=True) is not data or isinstance(data, nw.DataFrame | nw.LazyFrame)


def _table(data: Any, where: str) -> Any:
    if isinstance(data, Mapping):
        return _from_columns(data, where)
    if isinstance(data, pa.Table):
        return data
    native = _native(data, where)
    try:
        if _is_pandas(native):
            return _from_pandas(native, where)
        return pa.table(native)
    except (pa.ArrowException, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise _refusal(error, where) from None


def _native(data: Any, where: str) -> Any:
    """The frame itself, out of narwhals' wrapping; a lazy one computed."""
    if _is_pandas(data):
        return data
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(data, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"{where} cannot be read: {error}") from None
    return frame.to_native() if isinstance(frame, nw.DataFrame) else data


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pandas"


def _from_pandas(frame: Any, where: str) -> Any:
    names = [str(name) for name in frame.columns]
    refuse_repeats(names, where)
    if any(not isinstance(name, str) for name in frame.columns):
        frame = frame.set_axis(names, axis=1)
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)


def _from_columns(columns: Mapping[Any, Any], where: str) -> Any:
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[str(name)] = pa.array(
                values.tolist() if getattr(values, "ndim", 1) > 1 else values, from_pandas=True
            )
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise DataTypeError(f"Column {str(name)!r} of {where} cannot be read: {error}") from None
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"The columns of {where} have different lengths: {lengths}.")
    return pa.table(arrays)


def _plain_text(table: Any) -> Any:
    """Text views (as polars hands them over) as plain text: not every function knows views."""
    for j, dtype in enumerate(table.schema.types):
        held = dtype.value_type if types.is_dictionary(dtype) else dtype
        if types.is_string_view(held):
            plain = (
                pa.dictionary(dtype.index_type, pa.large_string()) if types.is_dictionary(dtype) else pa.large_string()
            )
            table = table.set_column(j, table.field(j).name, table.column(j).cast(plain))
    return table


def _refusal(error: Exception, where: str) -> DataTypeError:
    column = re.search(r"[Cc]olumn (\S+) with type", str(error))
    what = f"Column {column[1]!r} of {where}" if column else where
    return DataTypeError(
        f"{what} cannot be read as a column of one type ({str(error).splitlines()[0]}): make it text or numbers, as with "
        "astype(str)."
    )
