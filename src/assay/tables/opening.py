"""`assay.rows`: a table that stays in its file, opened by what the file is rather than by how it is called."""

from __future__ import annotations

import difflib
import glob
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.engines import Rows
from assay.errors import DataError, DataTypeError, ParameterError, SchemaError

if TYPE_CHECKING:
    from assay.tables.file_rows import FileRows

PARQUET_NAMES = (".parquet", ".pq", ".parq")


def rows(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | None = None,
    features: Iterable[str] | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
) -> FileRows:
    """The rows of a Parquet or CSV/TSV file, read block by block whenever a model needs them.

    `source`: a path, several paths, a pattern such as "part-*.parquet", a folder of Parquet files, or "-" for CSV (or
    Parquet) from standard input. `features` names the columns to learn from (default: all but target and weight);
    `delimiter` is found in the file unless given. The same object serves fit, predict and verify:

        model.fit(assay.rows("big.parquet", target="y"))
    """
    if delimiter is not None:
        _check_delimiter(delimiter)
    spooled = _spool_stdin() if isinstance(source, str) and source == "-" else None
    paths = [Path(spooled.name)] if spooled is not None else _paths(source)
    source_rows = _open(paths, target, features, weight, delimiter, "standard input" if spooled is not None else None)
    source_rows.source.keep = spooled
    return source_rows


def _check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n\0"':
        raise ParameterError(f"delimiter={delimiter!r} is not possible: it is one ASCII character, such as ';'.")


def _open(
    paths: list[Path],
    target: str | None,
    features: Iterable[str] | None,
    weight: str | None,
    delimiter: str | None,
    where: str | None,
) -> FileRows:
    from assay.tables.file_rows import FileRows, ParquetRows

    if _is_parquet(paths[0]):
        from assay.tables.parquet import ParquetFiles

        return _choose(ParquetRows, ParquetFiles(paths, where), target, features, weight)
    from assay.tables.delimited import DelimitedFiles

    return _choose(FileRows, DelimitedFiles(paths, delimiter, where), target, features, weight)


def _choose(
    kind: type[FileRows], source: Any, target: str | None, features: Iterable[str] | None, weight: str | None
) -> FileRows:
    from assay.tables.columns import check_known, feature_names, refuse_repeats

    check_known([target] if target is not None else [], source.types, "the target", source.where)
    check_known([weight] if weight is not None else [], source.types, "the weight", source.where)
    if target is not None and target == weight:
        raise SchemaError(
            f"Column {target!r} cannot be both the target and the weight: give the weights a column of their own."
        )
    if features is None:
        names = feature_names(source.types, (target, weight))
    else:
        names = (features,) if isinstance(features, str) else tuple(features)
        check_known(names, source.types, "a feature", source.where)
        refuse_repeats(list(names), "features")
        for role, name in (("target", target), ("weight", weight)):
            if name in names:
                raise SchemaError(f"Column {name!r} cannot be both the {role} and a feature: leave it out of features.")
    if not names:
        raise SchemaError(f"{source.where} has no column left to learn from besides the target and the weight.")
    return kind(source, names, target, weight)


def _paths(source: Any) -> list[Path]:
    if isinstance(source, str | os.PathLike):
        return _expand(Path(source))
    if isinstance(source, Iterable) and not isinstance(source, Rows) and not hasattr(source, "__array__"):
        found = [path for item in source for path in _expand(Path(item))]
        if found:
            return found
        raise DataError("The list of files is empty.")
    raise DataTypeError(
        f"assay.rows takes the path of a file, not {type(source).__name__}: arrays and frames are given to fit(X, y) as they are."
    )


def _expand(path: Path) -> list[Path]:
    if path.is_dir():
        inside = sorted(p for p in path.iterdir() if p.suffix.lower() in PARQUET_NAMES)
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


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1" or path.suffix.lower() in PARQUET_NAMES
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None


def _spool_stdin() -> Any:
    """Standard input as a temporary file: fitting reads the rows more than once."""
    file = tempfile.NamedTemporaryFile(prefix="assay-stdin-")  # noqa: SIM115 - it outlives this function
    while chunk := sys.stdin.buffer.read(1 << 20):
        file.write(chunk)
    file.flush()
    return file
