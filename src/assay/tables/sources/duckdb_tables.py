"""DuckDB: tables are read in place, views and queries are spooled. Nothing is written, no extension is downloaded.

DuckDB keeps the order of insertion when it reads a table, column by column; a file that changes meanwhile is refused. So a
table needs no copy. A view or a query may join, group or draw random numbers, of which no order is promised.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from assay.errors import AssayError, DataError
from assay.tables.sources.databases import Address, TableName, choose, quoted, wrapped
from assay.tables.sources.source import Reading, Source, refuse_repeats
from assay.tables.sources.spool import ROWS_IN_GROUP, SpooledQuery

CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "preserve_insertion_order": "true",
}
TABLES = """
    SELECT schema_name, table_name, schema_name = 'main', true FROM duckdb_tables() WHERE NOT internal AND NOT temporary
    UNION ALL
    SELECT schema_name, view_name, schema_name = 'main', false FROM duckdb_views() WHERE NOT internal AND NOT temporary
    ORDER BY 3 DESC, 1, 2"""
READERS = {"parquet": "read_parquet", "csv": "read_csv", "json": "read_json"}


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """DuckDB's errors as a DataError with its own first line."""
    try:
        yield
    except (duckdb.Error, OSError, pa.ArrowException) as error:  # errors amid the rows come through Arrow
        if isinstance(error, AssayError):
            raise
        line = str(error).strip().splitlines()[0].rstrip(".!")
        line = re.sub(r"^(IO|Invalid Input|Connection) Error: ", "", line)
        if "Conflicting lock" in line or "different configuration" in line:
            line = "another program, or this one, has it open for writing. Close it there and try again"
        elif "requires the extension" in line:
            line += ", and extensions are never downloaded"
        raise DataError(f"{doing}: {line}.") from None


@contextmanager
def connection(path: str, where: str) -> Iterator[Any]:
    """A read-only connection that is always closed."""
    with explained(f"Cannot open {where}"):
        found = duckdb.connect(path, read_only=path != ":memory:", config=CONFIG)
    try:
        yield found
    finally:
        found.close()


class DuckTable(Source):
    """A table of a DuckDB file. Each pass opens the file anew, so that any process can make it."""

    def __init__(self, found: Any, path: str, table: TableName, where: str) -> None:
        self.path, self.where = os.path.abspath(path), where
        self._stamp = _stamp(self.path)
        relation = found.sql(f"SELECT * FROM {table.identifier}")
        self._columns = dict(zip(relation.columns, _columns(relation)))
        self._from = table.identifier
        self.types = dict(zip(relation.columns, _schema(found, relation, table.identifier).types))
        self.n_rows = int(found.sql(f"SELECT count(*) FROM {table.identifier}").fetchall()[0][0])
        if self.n_rows == 0:
            raise DataError(f"{where} has columns but no rows.")

    def batches(self, columns: Mapping[str, Reading], size: int) -> Iterator[Any]:
        if _stamp(self.path) != self._stamp:
            raise DataError(f"{self.where} was changed while it was read. Start again, or copy the file first.")
        wanted = ", ".join(self._columns[name] for name in columns)
        with connection(self.path, self.where) as found, explained(f"{self.where} cannot be read"):
            reader = found.sql(f"SELECT {wanted} FROM {self._from}").to_arrow_reader(size)
            yield from reader


def open_duckdb(address: Address) -> Source:
    """The table or the query of a DuckDB file."""
    with connection(address.connection, address.where) as found:
        if address.sql is not None:
            return _spooled(found, address.sql, f"The query on {address.where}")
        tables = {TableName(*row[:3]): row[3] for row in found.sql(TABLES).fetchall()}
        table = choose(list(tables), address.table, address.where)
        where = f"Table {str(table)!r} of {address.where}"
        with explained(f"{where} cannot be read"):
            if tables[table]:
                return DuckTable(found, address.connection, table, where)
            return _spooled(found, f"SELECT * FROM {table.identifier}", where)


def open_query(
    sql: str, path: str | None, form: str | None, delimiter: str | None = None, table: Any = None
) -> SpooledQuery:
    """A query over a file, which it calls `data` (or over its Arrow table), or over the files that it names itself."""
    where = "The query" if path is None else f"The query on {path!r}"
    with connection(":memory:", "DuckDB") as found:
        if table is not None:
            found.register("data", table)
        elif path is not None:
            with explained(f"{path!r} cannot be read"):
                options = {"delimiter": delimiter} if delimiter else {}
                getattr(found, READERS[form or "csv"])(path, **options).create_view("data")
        return _spooled(found, sql, where)


def _spooled(found: Any, sql: str, where: str) -> SpooledQuery:
    with explained(f"{where} failed"):
        statements = found.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise DataError(f"{where} failed: give one SELECT, the data are only read.")
        relation = found.sql(f"SELECT * FROM {wrapped(sql)}")
        refuse_repeats(relation.columns, where)
        columns = ", ".join(_columns(relation))
        schema = _schema(found, relation, wrapped(sql))
        reader = found.sql(f"SELECT {columns} FROM {wrapped(sql)}").to_arrow_reader(ROWS_IN_GROUP)
        return SpooledQuery(where, schema, reader)


def _columns(relation: Any) -> list[str]:
    """The columns as DuckDB should hand them over: exact decimals and huge whole numbers as floats, words as text."""
    found = []
    for name, dtype in zip(map(quoted, relation.columns), map(str, relation.types)):
        if re.match(r"DECIMAL|U?HUGEINT$|BIGNUM$", dtype) and not dtype.endswith("]"):
            found.append(f"{name}::DOUBLE AS {name}")
        elif re.match(r"ENUM|UUID$", dtype) and not dtype.endswith("]"):
            found.append(f"{name}::VARCHAR AS {name}")
        else:
            found.append(name)
    return found


def _schema(found: Any, relation: Any, table: str) -> Any:
    """The Arrow schema; JSON, which comes as text, is called what it is, so that it is refused rather than counted."""
    reader = found.sql(f"SELECT {', '.join(_columns(relation))} FROM {table} LIMIT 0").to_arrow_reader(1)
    schema = reader.schema
    reader.close()
    json = [str(dtype) == "JSON" for dtype in relation.types]
    return pa.schema([pa.field(f.name, pa.json_() if is_json else f.type) for f, is_json in zip(schema, json)])


def _stamp(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size
