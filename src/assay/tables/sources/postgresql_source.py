"""PostgreSQL through ADBC: one read-only transaction, one COPY, spooled.

The rows come in one snapshot. A scan that begins where another one is, or that several workers share, would change their
order from one fit to the next: both are turned off.
"""

from __future__ import annotations

from typing import Any

import adbc_driver_postgresql.dbapi as driver  # type: ignore[import-untyped]

from assay.tables.columns import refuse_repeats
from assay.tables.sources.adbc import ask, cursor, explained, wrapped
from assay.tables.sources.addresses import Address
from assay.tables.sources.catalogue import Table, choose, quoted
from assay.tables.sources.spool import Spooled

SETTINGS = (
    "SET TRANSACTION READ ONLY",
    "SET LOCAL synchronize_seqscans = off",
    "SET LOCAL max_parallel_workers_per_gather = 0",
)
TABLES = """
    SELECT n.nspname AS schema, c.relname AS name, pg_table_is_visible(c.oid) AS near
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition
      AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    ORDER BY 3 DESC, 1, 2"""
# types whose values are words (enumerations, citext, addresses of networks), which the driver would hand over as bytes
WORDS = "SELECT typname::text AS name, oid::int8 AS oid FROM pg_catalog.pg_type WHERE typcategory IN ('S', 'E', 'I')"


def open_postgresql(address: Address) -> Spooled:
    """The table or the query of a PostgreSQL database."""
    with cursor(driver.connect, address, address.connection) as found:
        with explained(address, f"Cannot read {address.where}"):
            for setting in SETTINGS:
                found.execute(setting)
            sql, where = address.sql, f"The query on {address.where}"
            if sql is None:
                tables = [Table(**row) for row in ask(found, TABLES)]
                table = choose(tables, address.table, address.where)
                sql, where = f"SELECT * FROM {table.identifier}", f"Table {str(table)!r} of {address.where}"
        with explained(address, f"{where} failed"):
            schema = found.adbc_execute_schema(f"SELECT * FROM {wrapped(sql)}")
            refuse_repeats(schema.names, where)
            columns = ", ".join(_column(field, _words(found, schema)) for field in schema)
            found.execute(f"SELECT {columns} FROM {wrapped(sql)}")
            reader = found.fetch_record_batch()
            return Spooled(where, reader.schema, reader)


def _type_name(field: Any) -> str:
    metadata = field.metadata or {}
    return str((metadata.get(b"POSTGRESQL:type") or metadata.get(b"ADBC:postgresql:typname") or b"").decode())


def _words(found: Any, schema: Any) -> set[str]:
    """The names of the types that are read as text, as the driver writes them; asked only where a type is strange."""
    if not any(str(field.type).startswith("extension<arrow.opaque") for field in schema):
        return set()
    return {name for row in ask(found, WORDS) for name in (row["name"], f"unnamed<oid:{row['oid']}>")}


def _column(field: Any, words: set[str]) -> str:
    """A column as the database should hand it over: exact decimals as floats, money too, words as text."""
    name, type_name = quoted(field.name), _type_name(field)
    if type_name in ("numeric", "money"):
        return f"{name}::numeric::double precision AS {name}"
    if type_name in ("uuid", "bpchar") or type_name in words:
        return f"{name}::text AS {name}"
    return name
