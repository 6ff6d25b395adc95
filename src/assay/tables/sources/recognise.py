"""Whatever holds a table as a `Source`: paths, databases, frames, arrays. What a file is, its content says and not its name.

Which files of a folder are its table: those of one form, the one that most of them have; a note says which are not read.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from assay.engines import Rows
from assay.errors import DataError, DataTypeError, ParameterError
from assay.numerics import Array
from assay.tables.sources.arff import ArffFile, is_arff
from assay.tables.sources.arrow_ipc import FILE_MAGIC, STREAM_MAGIC
from assay.tables.sources.images import ImageFolder, image_files
from assay.tables.sources.source import MOST_CACHED, Source, SourceRows
from assay.tables.sources.svmlight import SvmlightFile, is_svmlight
from assay.tables.sources.text import head_of
from assay.tables.written.source import with_writings
from assay.tables.written.writing import WritingOptions

PARQUET = "Parquet"
PARQUET_NAMES = (".parquet", ".pq", ".parq")
FORMS = {
    **dict.fromkeys(PARQUET_NAMES, PARQUET),
    **dict.fromkeys((".csv", ".tsv"), "CSV"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "JSON"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "Arrow"),
    **dict.fromkeys((".xlsx", ".xls"), "Excel"),
    ".arff": "ARFF",
    **dict.fromkeys((".svm", ".libsvm", ".svmlight"), "svmlight"),
}
PACKED = (".gz", ".zst", ".bz2", ".lz4")
NAMED = 3
Form = Literal["parquet", "arrow", "excel", "json", "ARFF", "svmlight", "text"]
PARQUET_MAGIC = b"PAR1"
OLD_FEATHER = b"FEA1"
EXCEL_MAGIC = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")  # .xlsx is a zip file; .xls
PARTITION = re.compile(r"[^=]+=[^=]*")
BATCH = 1 << 16


class FolderFiles(NamedTuple):
    """The files that are read as one table, and all others."""

    form: str
    read: list[Path]
    left: list[Path]

    def notes(self, folder: Path) -> list[str]:
        """What is read of a folder, where something is not."""
        if not self.read or not self.left:
            return []
        files = "file" if len(self.read) == 1 else "files"
        return [
            f"Of {str(folder)!r} the {len(self.read)} {self.form} {files} {_named(self.read, folder)} are read as one table; not read: "
            f"{_named(self.left, folder)}."
        ]


def tables_inside(folder: Path) -> FolderFiles:
    """The tables of a folder and its subfolders, but hidden ones and those that begin with _ (as writers' marks do)."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file()]
    shown = [p for p in files if not any(part[0] in "._" for part in p.relative_to(folder).parts)]
    by_form: dict[str, list[Path]] = {}
    for path in shown:
        by_form.setdefault(form_by_name(path), []).append(path)
    by_form.pop("", None)
    form = PARQUET if PARQUET in by_form else _most(by_form, folder)
    read = by_form.get(form, [])
    return FolderFiles(form, read, [path for path in shown if path not in set(read)])


def form_by_name(path: Path) -> str:
    """The form that a file's name says; "" where it says none.

    >>> form_by_name(Path("sales.csv.gz")), form_by_name(Path("notes.txt"))
    ('CSV', '')
    """
    name = path.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return FORMS.get(Path(name).suffix, "")


def _most(by_form: dict[str, list[Path]], folder: Path) -> str:
    """The form most files have."""
    counted = sorted(by_form, key=lambda form: -len(by_form[form]))
    if len(counted) > 1 and len(by_form[counted[0]]) == len(by_form[counted[1]]):
        some = "; ".join(f"{form}: {_named(by_form[form], folder)}" for form in counted)
        raise DataError(
            f"{str(folder)!r} holds tables of several forms ({some}): give the file, or a pattern such as {str(folder / '*.csv')!r}."
        )
    return counted[0] if counted else ""


def _named(paths: Sequence[Path], folder: Path) -> str:
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(str(path.relative_to(folder)) for path in paths[:NAMED]) + more


def table_source(
    data: Any,
    *,
    names: Sequence[str] | None = None,
    extra: Mapping[str, Any] | None = None,
    as_written: bool = True,
    **opening: Any,
) -> Source:
    """The source of a table; `names` are those of an array's columns, `extra` further columns given beside (y, weights).

    `as_written`: numbers and dates that columns of text write are found out; else they stay text, for a model knows how it reads them.
    """
    if isinstance(data, SourceRows):
        return data.source
    beside = {name: values for name, values in (extra or {}).items() if values is not None}
    if isinstance(data, list | tuple | np.ndarray) and not _paths(data):
        data = named_columns(data, names)
    source = source_of(data, as_written=as_written, **opening)
    return _with(source, beside) if beside else source


def source_of(
    data: Any,
    *,
    delimiter: str | None = None,
    table: str | None = None,
    sql: str | None = None,
    sheet: str | None = None,
    size: tuple[int, int] | None = None,
    where: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    day_first: bool | None = None,
    skip: int | None = None,
    as_written: bool = True,
) -> Source:
    """The source of a path, several paths, a pattern, a folder, a database's address, or a frame in memory.

    `delimiter` is for CSV, `table` and `sql` for databases (`sql` also for files, which it calls `data`), `sheet` for workbooks,
    `size` (height, width) for folders of images; `where` is what messages call the data. `decimal`, `thousands` and `day_first` say how text
    writes numbers and dates, where that is not to be found out (`as_written`); `skip` how many lines of a CSV file or workbook stand above the header.
    """
    if isinstance(data, Source):
        return data
    said = WritingOptions(decimal, thousands, day_first)
    if skip is not None and (not isinstance(skip, int) or isinstance(skip, bool) or skip < 0):
        raise ParameterError(f"skip={skip!r} is not possible: it is a number of lines, such as 2.")
    names = {"delimiter": delimiter, "table": table, "sql": sql, "sheet": sheet, "size": size, "where": where}
    source = _source_of(data, said, skip=skip, **names)  # type: ignore[arg-type]
    return with_writings(source, said) if as_written else source


def _source_of(
    data: Any,
    said: WritingOptions,
    *,
    delimiter: str | None,
    table: str | None,
    sql: str | None,
    sheet: str | None,
    size: tuple[int, int] | None,
    where: str | None,
    skip: int | None,
) -> Source:
    """The source, its text columns as they are."""
    if not isinstance(data, str | os.PathLike) and _is_frame(data):
        _refuse_options("a frame in memory", table=table, sql=sql, sheet=sheet, size=size, skip=skip)
        from assay.tables.sources.source import FrameSource

        return FrameSource(data, where)
    if isinstance(data, str | os.PathLike):
        _refuse_address(data)
        found = _database(data, delimiter, table, sql, said, skip)
        if found is not None:
            return found
        if Path(data).is_dir() and image_files(Path(data)) and tables_inside(Path(data)).form != PARQUET:
            _refuse_options("a folder of images", table=table, sql=sql, sheet=sheet, skip=skip)
            return ImageFolder(Path(data), size, where)
    paths = paths_of(data)
    form = form_of(paths[0])
    _refuse_options(
        f"{str(paths[0])!r}", table=table, sql=sql, size=size, **({} if form == "excel" else {"sheet": sheet})
    )
    if form not in ("excel", "text"):
        _refuse_options(f"{str(paths[0])!r}", skip=skip)
    for path in paths[1:]:
        if (other := form_of(path)) != form:
            raise DataError(
                f"{str(paths[0])!r} is {form}, but {str(path)!r} is {other}: files read as one table are of one kind."
            )
    source = _open(form, paths, delimiter, sheet, where, said, skip)
    if isinstance(data, str | os.PathLike) and Path(data).is_dir():
        source.notes = [*tables_inside(Path(data)).notes(Path(data)), *source.notes]
    return source


def _refuse_address(data: str | os.PathLike[str]) -> None:
    """Raise for an address on the web or in a store: tables are read where they lie on this machine, or in a database."""
    from assay.tables.sources.databases import is_database, masked

    address = re.match(r"(?i)([a-z][a-z0-9+.-]*)://", str(data))
    if address is None or is_database(data) or Path(data).exists():
        return
    get = {"s3": "aws s3 cp", "gs": "gcloud storage cp", "http": "curl -LO", "https": "curl -LO"}.get(
        address[1].lower()
    )
    how = f", for instance with {get} {masked(str(data))}" if get else ""
    raise DataError(
        f"{masked(str(data))!r} is an address, and only files of this machine are read: download it first{how}."
    )


def _open(
    form: Form,
    paths: list[Path],
    delimiter: str | None,
    sheet: str | None,
    where: str | None,
    said: WritingOptions,
    skip: int | None,
) -> Source:
    if form == "parquet":
        from assay.tables.sources.parquet import ParquetFiles

        source = ParquetFiles(paths, where)
        source.notes = _partitions(paths, source)
        return source
    if form == "arrow":
        from assay.tables.sources.arrow_ipc import ArrowFiles

        return ArrowFiles(paths, where)
    if form == "excel":
        from assay.tables.sources.excel import ExcelSheet

        if len(paths) > 1:
            raise DataError(
                f"{len(paths)} workbooks cannot be read as one table: give one, or save them as CSV or Parquet."
            )
        return ExcelSheet(paths[0], sheet, where, skip)
    if form in ("ARFF", "svmlight"):
        if len(paths) > 1:
            raise DataError(
                f"{len(paths)} {form} files cannot be read as one table: give one, or save them as CSV or Parquet."
            )
        return ArffFile(paths[0], where) if form == "ARFF" else SvmlightFile(paths[0], where)
    if form == "json":
        from assay.tables.sources.json_lines import JsonLines

        return JsonLines(paths, where)
    from assay.tables.sources.delimited import DelimitedFiles

    return DelimitedFiles(paths, delimiter, where, said=said, skip=skip)


def _partitions(paths: list[Path], source: Source) -> list[str]:
    """A note where folders are called like year=2026: such columns are in no file, and no model should miss them unknowingly."""
    keys = {part.split("=")[0] for path in paths for part in path.parts[:-1] if PARTITION.fullmatch(part)}
    lost = sorted(keys - set(source.types))
    return [
        f"The folders of {source.where} are named by {', '.join(map(repr, lost))}: that is no column." for _ in lost[:1]
    ]


def form_of(path: Path) -> Form:
    """What a file is, by its first bytes; compressed files by what is in them."""
    if path.suffix.lower() in PARQUET_NAMES:  # so that a damaged one is called so
        return "parquet"
    try:
        head = head_of(str(path), 1 << 12)
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    if head.startswith((FILE_MAGIC, STREAM_MAGIC)):
        return "arrow"
    if head.startswith(OLD_FEATHER):
        raise DataError(
            f"{str(path)!r} is a Feather file of version 1: write it again as Parquet or as Feather of version 2."
        )
    if head.startswith(EXCEL_MAGIC):
        return "excel"
    if is_arff(head):
        return "ARFF"
    if form_by_name(path) == "svmlight" or is_svmlight(head):
        return "svmlight"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return "json" if re.match(rb'\{\s*("|\})|\[\s*(\{|\])', start) or start in (b"{", b"[") else "text"


def _is_frame(data: Any) -> bool:
    if isinstance(data, Rows | list | tuple) or (hasattr(data, "__array__") and not hasattr(data, "columns")):
        return False
    from assay.tables.sources.source import is_frame

    return is_frame(data)


def _database(
    data: str | os.PathLike[str],
    delimiter: str | None,
    table: str | None,
    sql: str | None,
    said: WritingOptions,
    skip: int | None,
) -> Source | None:
    from assay.tables.sources.databases import is_database, open_database, open_sql

    if is_database(data):
        return open_database(data, table=table, sql=sql)
    if sql is None:
        return None
    path = Path(data)
    if path.is_file() and path.stat().st_size <= MOST_CACHED and form_of(path) == "text":
        return _query_of_text(sql, path, delimiter, said, skip)
    return open_sql(sql, data, delimiter=delimiter)


def _query_of_text(sql: str, path: Path, delimiter: str | None, said: WritingOptions, skip: int | None) -> Source:
    """A query over a CSV file as it is read here: DuckDB itself takes 01050 for a number and 1.234,50 for text."""
    from assay.tables.sources.duckdb_tables import open_query

    file = with_writings(_open("text", [path], delimiter, None, None, said, skip), said)
    found = open_query(sql, str(path), None, table=_read(file, list(file.types)))
    found.notes = file.notes
    found.written = {n: how for n, how in file.written.items() if found.types.get(n) == how.type}
    return found


def _refuse_options(what: str, **options: Any) -> None:
    meant = {
        "table": "databases",
        "sql": "databases and single files",
        "sheet": "Excel workbooks",
        "size": "folders of images",
        "skip": "CSV files and workbooks",
    }
    for name, value in options.items():
        if value is not None:
            raise ParameterError(f"{name}={value!r} is for {meant[name]}, and {what} is none: leave it out.")


def paths_of(data: Any) -> list[Path]:
    """The files that a path, a pattern, a folder of tables or a list of them stands for."""
    if isinstance(data, str | os.PathLike):
        return _expand(Path(data))
    if isinstance(data, Iterable) and not isinstance(data, Rows) and not hasattr(data, "__array__"):
        items = list(data)
        if not items:
            raise DataError("The list of files is empty.")
        if all(isinstance(item, str | os.PathLike) for item in items):
            for item in items:
                _refuse_address(item)
            return [path for item in items for path in _expand(Path(item))]
    raise DataTypeError(
        f"assay.rows takes the path of a file or a frame, not {type(data).__name__}: arrays are given to fit(X, y) as they are."
    )


def _expand(path: Path) -> list[Path]:
    if path.is_dir():
        inside = tables_inside(path)
        if not inside.read:
            raise DataError(
                f"{str(path)!r} is a directory without tables (Parquet, CSV, …) and without subfolders of images: give the path of a file."
            )
        return inside.read
    if path.exists():
        return [path]
    if any(c in str(path) for c in "*?["):
        matches = [Path(p) for p in sorted(glob.glob(str(path)))]
        if not matches:
            raise DataError(f"No file matches {str(path)!r}.")
        return matches
    raise DataError(f"There is no file {str(path)!r}.{_similar(path)}")


def _similar(path: Path) -> str:
    try:
        close = difflib.get_close_matches(path.name, os.listdir(path.parent or "."), n=1)
    except OSError:
        return ""
    return f" Did you mean {str(path.parent / close[0])!r}?" if close else ""


def named_columns(data: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """The columns of a two-dimensional array (or list of rows) by name; without names x0, x1, …"""
    if isinstance(data, list | tuple) and len(data) and isinstance(data[0], Mapping):
        keys = dict.fromkeys(key for row in data for key in row)
        return {str(key): [row.get(key) for row in data] for key in keys}
    array = _table_of(data)
    if array.ndim != 2:
        raise DataError(f"A table has rows and columns; got an array of shape {array.shape}.")
    if names is not None and len(names) != array.shape[1]:
        raise DataError(
            f"The array has {array.shape[1]} columns where {len(names)} are expected: {', '.join(names[:8])} …"
        )
    names = names if names is not None else [f"x{j}" for j in range(array.shape[1])]
    return {str(name): array[:, j] for j, name in enumerate(names)}


def _table_of(data: Any) -> Array:
    """An array; of lists one of objects, so that a number beside a text stays a number."""
    if isinstance(data, np.ndarray):
        return data
    if any(not isinstance(row, list | tuple | np.ndarray) for row in data):
        raise DataError(f"A table has rows and columns; got a {type(data).__name__} of {type(data[0]).__name__}.")
    lengths = sorted({len(row) for row in data})
    if len(lengths) > 1:
        raise DataError(
            f"The rows have different lengths, from {lengths[0]} to {lengths[-1]}: a table has as many columns in each."
        )
    array = np.empty((len(data), lengths[0] if lengths else 0), dtype=object)
    for i, row in enumerate(data):
        array[i] = row
    return array


def _paths(data: Any) -> bool:
    return (
        not isinstance(data, np.ndarray)
        and len(data) > 0
        and all(hasattr(p, "__fspath__") or isinstance(p, str) for p in data)
    )


def _with(source: Source, beside: Mapping[str, Any]) -> Source:
    """A table with further columns, which take the place of those of the same name."""
    import pyarrow as pa

    from assay.tables.sources.source import FrameSource

    given = FrameSource(dict(beside), "what is given beside the table")
    kept = [name for name in source.types if name not in given.types]
    table, more = (_read(s, names) for s, names in ((source, kept), (given, list(given.types))))
    if table is None:
        return given
    if more.num_rows != table.num_rows:
        raise DataError(f"{source.where} has {table.num_rows} rows, but {more.num_rows} values are given beside it.")
    both = FrameSource(pa.table({**{n: table[n] for n in kept}, **{n: more[n] for n in given.types}}), source.where)
    both.written, both.notes = source.written, source.notes
    return both


def _read(source: Source, names: list[str]) -> Any:
    """Columns of a source as an Arrow table; None where no columns are wanted."""
    import pyarrow as pa

    return pa.Table.from_batches(source.batches(dict.fromkeys(names, "as it is"), BATCH)) if names else None
