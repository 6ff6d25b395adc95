"""What a thing is, told by its content and not by its name: the one place that turns whatever holds a table into a `Source`."""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from assay.engines import Rows
from assay.errors import DataError, DataTypeError, ParameterError
from assay.tables.sources.arrow_ipc import FILE_MAGIC, STREAM_MAGIC
from assay.tables.sources.bytes_of import head_of
from assay.tables.sources.excel import OLD_MAGIC, ZIP_MAGIC
from assay.tables.sources.source import Source

Form = Literal["parquet", "arrow", "excel", "json", "text"]
PARQUET_NAMES = (".parquet", ".pq", ".parq")
PARQUET_MAGIC = b"PAR1"
OLD_FEATHER = b"FEA1"
PARTITION = re.compile(r"[^=]+=[^=]*")


def source_of(
    data: Any,
    *,
    delimiter: str | None = None,
    table: str | None = None,
    sql: str | None = None,
    sheet: str | None = None,
    size: tuple[int, int] | None = None,
    where: str | None = None,
) -> Source:
    """The source of a path, several paths, a pattern, a folder, a database's address, or a frame in memory.

    `delimiter` is for CSV, `table` and `sql` for databases (`sql` also for files, which it calls `data`), `sheet` for workbooks,
    `size` (height, width) for folders of images; `where` is what messages call the data.
    """
    if isinstance(data, Source):
        return data
    if not isinstance(data, str | os.PathLike) and _is_frame(data):
        _refuse_options("a frame in memory", table=table, sql=sql, sheet=sheet, size=size)
        from assay.tables.sources.frames import Frame

        return Frame(data, where)
    if isinstance(data, str | os.PathLike):
        found = _database(data, delimiter, table, sql)
        if found is not None:
            return found
        if Path(data).is_dir() and not parquet_inside(Path(data)):
            return _images(Path(data), size, where, table=table, sql=sql, sheet=sheet)
    paths = paths_of(data)
    form = form_of(paths[0])
    _refuse_options(
        f"{str(paths[0])!r}", table=table, sql=sql, size=size, **({} if form == "excel" else {"sheet": sheet})
    )
    for path in paths[1:]:
        if (other := form_of(path)) != form:
            raise DataError(
                f"{str(paths[0])!r} is {form}, but {str(path)!r} is {other}: files read as one table are of one kind."
            )
    return _open(form, paths, delimiter, sheet, where)


def _open(form: Form, paths: list[Path], delimiter: str | None, sheet: str | None, where: str | None) -> Source:
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
        return ExcelSheet(paths[0], sheet, where)
    if form == "json":
        from assay.tables.sources.json_lines import JsonLines

        return JsonLines(paths, where)
    from assay.tables.sources.delimited import DelimitedFiles

    return DelimitedFiles(paths, delimiter, where)


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
    if head.startswith((ZIP_MAGIC, OLD_MAGIC)):
        return "excel"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return "json" if re.match(rb'\{\s*("|\})|\[\s*(\{|\])', start) or start in (b"{", b"[") else "text"


def _is_frame(data: Any) -> bool:
    if isinstance(data, Rows | list | tuple) or (hasattr(data, "__array__") and not hasattr(data, "columns")):
        return False
    from assay.tables.sources.frames import is_frame

    return is_frame(data)


def _database(data: str | os.PathLike[str], delimiter: str | None, table: str | None, sql: str | None) -> Source | None:
    from assay.tables.sources.databases import is_database, open_database, open_sql

    if is_database(data):
        return open_database(data, table=table, sql=sql)
    return None if sql is None else open_sql(sql, data, delimiter=delimiter)


def _images(folder: Path, size: tuple[int, int] | None, where: str | None, **others: Any) -> Source:
    from assay.tables.sources.images import ImageFolder, image_files

    if not image_files(folder):
        raise DataError(
            f"{str(folder)!r} is a directory without Parquet files and without subfolders of images: give the path of a file."
        )
    _refuse_options("a folder of images", **others)
    return ImageFolder(folder, size, where)


def _refuse_options(what: str, **options: Any) -> None:
    meant = {
        "table": "databases",
        "sql": "databases and single files",
        "sheet": "Excel workbooks",
        "size": "folders of images",
    }
    for name, value in options.items():
        if value is not None:
            raise ParameterError(f"{name}={value!r} is for {meant[name]}, and {what} is none: leave it out.")


def paths_of(data: Any) -> list[Path]:
    """The files that a path, a pattern, a folder of Parquet files or a list of them stands for."""
    if isinstance(data, str | os.PathLike):
        return _expand(Path(data))
    if isinstance(data, Iterable) and not isinstance(data, Rows) and not hasattr(data, "__array__"):
        items = list(data)
        if not items:
            raise DataError("The list of files is empty.")
        if all(isinstance(item, str | os.PathLike) for item in items):
            return [path for item in items for path in _expand(Path(item))]
    raise DataTypeError(
        f"assay.rows takes the path of a file or a frame, not {type(data).__name__}: arrays are given to fit(X, y) as they are."
    )


def parquet_inside(folder: Path) -> list[Path]:
    """The Parquet files of a folder and its subfolders, but hidden ones and those that begin with _ (as writers' marks do)."""
    found = (p for p in folder.rglob("*") if p.suffix.lower() in PARQUET_NAMES and p.is_file())
    return sorted(p for p in found if not any(part[0] in "._" for part in p.relative_to(folder).parts))


def _expand(path: Path) -> list[Path]:
    if path.is_dir():
        inside = parquet_inside(path)
        if not inside:
            raise DataError(f"{str(path)!r} is a directory without Parquet files: give the path of a file.")
        return inside
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
