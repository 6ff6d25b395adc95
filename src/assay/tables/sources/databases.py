"""Tables and queries of databases as sources: PostgreSQL and SQLite through ADBC, DuckDB by itself. All are only read."""

from __future__ import annotations

import os

from assay.errors import DataError, ParameterError
from assay.tables.sources.addresses import Address, is_database, masked, parse
from assay.tables.sources.source import Source

__all__ = ["is_database", "masked", "open_database", "open_sql"]


def open_database(data: str | os.PathLike[str], *, table: str | None = None, sql: str | None = None) -> Source:
    """The rows of a table (the only one unless named), or of one SELECT. The forms of `data` are in tables/addresses.py."""
    return _open(parse(data).asking(table, sql))


def _open(address: Address) -> Source:
    if address.kind == "postgresql":
        from assay.tables.sources.adbc import open_postgresql

        return open_postgresql(address)
    if address.kind == "sqlite":
        from assay.tables.sources.adbc import open_sqlite

        return open_sqlite(address)
    from assay.tables.sources.duckdb_tables import open_duckdb

    return open_duckdb(address)


def open_sql(sql: str, data: str | os.PathLike[str] | None = None, *, delimiter: str | None = None) -> Source:
    """The rows of a query: in a database; over a Parquet, CSV or JSON-lines file, which the query calls `data`; or over
    files that the query names itself, as in "select * from 'part-*.parquet'". Files are read by DuckDB."""
    if data is not None and is_database(data):
        return open_database(data, sql=sql)
    from assay.tables.sources.duckdb_tables import open_query

    if data is None:
        return open_query(sql, None, None)
    path = os.fspath(data)
    if path == "-":
        raise ParameterError("A query cannot read standard input: save the rows in a file first.")
    return open_query(sql, path, _form(path), delimiter)


def _form(path: str) -> str:
    """What DuckDB should read a file as."""
    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except FileNotFoundError:
        raise DataError(f"There is no file {path!r}.") from None
    except OSError as error:
        raise DataError(f"{path!r} cannot be read: {error.strerror or error}.") from None
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1" or head[:4] in (b"PK\3\4", b"\xd0\xcf\x11\xe0"):
        raise DataError(
            f"A query reads Parquet, CSV and JSON-lines files, and {path!r} is none: convert it, or leave the query out."
        )
    return "json" if head.lstrip()[:1] in (b"{", b"[") or ".json" in os.path.basename(path).lower() else "csv"
