"""`assay.rows`: a table that stays where it is, opened by what it is rather than by how it is called."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from assay.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from assay.tables.file_rows import FileRows


def rows(
    source: Any,
    target: str | None = None,
    features: Iterable[str] | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    *,
    table: str | None = None,
    sql: str | None = None,
    sheet: str | None = None,
) -> FileRows:
    """The rows of a table, read block by block whenever a model needs them.

    `source`: the path of a CSV/TSV, JSON lines (these also compressed by gzip or zstd), Parquet, Arrow IPC or Excel file,
    several paths, a pattern such as "part-*.parquet", a folder of Parquet files or of classes of images, the address of a database
    (with `table` or `sql`), a frame (pandas, polars, Arrow, a dict of columns), or "-" for a file from standard input. `features`
    names the columns to learn from (default: all but target and weight); `delimiter` is found in the file unless given; `sheet` is
    the sheet of a workbook (default: the first). The same object serves fit, predict and verify:

        model.fit(assay.rows("big.parquet", target="y"))
    """
    from assay.tables.file_rows import FileRows, ParquetRows
    from assay.tables.sources.parquet import ParquetFiles
    from assay.tables.sources.recognise import source_of

    if delimiter is not None:
        _check_delimiter(delimiter)
    spooled = _spool_stdin() if isinstance(source, str) and source == "-" else None
    if spooled is None:
        opened = source_of(source, delimiter=delimiter, table=table, sql=sql, sheet=sheet)
    else:
        where = "standard input"
        opened = source_of(spooled.name, delimiter=delimiter, table=table, sql=sql, sheet=sheet, where=where)
        opened.keep = spooled
    kind = ParquetRows if type(opened) is ParquetFiles else FileRows  # a cluster's workers see the user's files only
    return _choose(kind, opened, target, features, weight)


def _check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n\0"':
        raise ParameterError(f"delimiter={delimiter!r} is not possible: it is one ASCII character, such as ';'.")


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


def _spool_stdin() -> Any:
    """Standard input as a temporary file: fitting reads the rows more than once."""
    file = tempfile.NamedTemporaryFile(prefix="assay-stdin-")  # noqa: SIM115 - it outlives this function
    while chunk := sys.stdin.buffer.read(1 << 20):
        file.write(chunk)
    file.flush()
    return file
