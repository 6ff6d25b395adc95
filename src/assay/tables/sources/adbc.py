"""PostgreSQL and SQLite through ADBC: connections that are always closed, results that are spooled, errors in the user's words.

PostgreSQL: one read-only transaction, one COPY. The rows come in one snapshot. A scan that begins where another one is, or that several
workers share, would change their order from one fit to the next: both are turned off.

SQLite: opened read-only, the types looked up in the values. A column of SQLite may hold anything in any row. The rule: whole numbers
and floats together are floats; text beside numbers makes a column of text, as a stray word does in a CSV file, and a note says so.
BOOLEAN, DATE and DATETIME are what the declaration says where all values can be read so, else numbers or text. Spooled because a
writer may come between two passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from adbc_driver_manager import dbapi

from assay.errors import AssayError, DataError
from assay.tables.sources.databases import Address, TableName, choose, quoted, wrapped
from assay.tables.sources.source import refuse_repeats
from assay.tables.sources.spool import ROWS_IN_GROUP, SpooledQuery

HINTS = (
    ("refused|could not connect|no such file", "Is the server running, and are host and port right?"),
    ("timeout expired|unreachable", "Are host and port right, and does a firewall let you through?"),
    ("password authentication failed", "User or password is wrong; PGPASSWORD sets the password."),
    ("no password supplied", "Set PGPASSWORD, or write ~/.pgpass."),
    ("translate host name|name or service", "Is the name of the host spelt right?"),
    ("database .* does not exist", "Is the name of the database spelt right?"),
    ("permission denied", "Ask the owner of the table for the right to read it (GRANT SELECT)."),
    ("read-only transaction|readonly database|syntax error at or near", "Give one SELECT: the database is only read."),
    ("locked|busy", "Another program is writing to it: try again when that has finished."),
    ("unable to open|allocate memory", "May the file and its folder be read?"),
)
# what the database itself says begins behind the first of these that is there
BEFORE = (r"(?:ERROR|FATAL):\s+", r"port \d+ failed: ", r"Failed to \w+(?: query)?: ", r"^[A-Z_]+: (?:\[\w+\] )?", "")


@contextmanager
def explained(address: Address, doing: str) -> Iterator[None]:
    """The driver's errors as a DataError: the database's own first line, a hint, and no password."""
    try:
        yield
    except (dbapi.Error, OSError, pa.ArrowException) as error:  # errors amid the rows come through Arrow
        if isinstance(error, AssayError):
            raise
        found = (re.search(before + r"(\S.*)", str(error)) for before in BEFORE)
        line = address.hide(next((match[1] for match in found if match), type(error).__name__)).strip().rstrip(".")
        hint = next((hint for pattern, hint in HINTS if re.search(pattern, line, re.IGNORECASE)), "")
        raise DataError(f"{doing}: {line}. {hint}".rstrip()) from None


@contextmanager
def cursor(connect: Any, address: Address, uri: str) -> Iterator[Any]:
    """A cursor of a new connection; both are closed whatever happens."""
    with explained(address, f"Cannot open {address.where}"):
        connection = connect(uri)
    try:
        with connection.cursor() as found:
            yield found
    finally:
        connection.close()


def ask(found: Any, sql: str) -> list[dict[str, Any]]:
    """The few rows of a question about the database."""
    found.execute(sql)
    answer: list[dict[str, Any]] = found.fetch_arrow_table().to_pylist()
    return answer


TRANSACTION = (
    "SET TRANSACTION READ ONLY",
    "SET LOCAL synchronize_seqscans = off",
    "SET LOCAL max_parallel_workers_per_gather = 0",
)
POSTGRESQL_TABLES = """
    SELECT n.nspname AS schema, c.relname AS name, pg_table_is_visible(c.oid) AS near
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition
      AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    ORDER BY 3 DESC, 1, 2"""
# types whose values are words (enumerations, citext, addresses of networks), which the driver would hand over as bytes
WORDS = "SELECT typname::text AS name, oid::int8 AS oid FROM pg_catalog.pg_type WHERE typcategory IN ('S', 'E', 'I')"


def open_postgresql(address: Address) -> SpooledQuery:
    """The table or the query of a PostgreSQL database."""
    import adbc_driver_postgresql.dbapi as driver  # type: ignore[import-untyped]

    with cursor(driver.connect, address, address.connection) as found:
        with explained(address, f"Cannot read {address.where}"):
            for setting in TRANSACTION:
                found.execute(setting)
            sql, where = address.sql, f"The query on {address.where}"
            if sql is None:
                tables = [TableName(**row) for row in ask(found, POSTGRESQL_TABLES)]
                table = choose(tables, address.table, address.where)
                sql, where = f"SELECT * FROM {table.identifier}", f"Table {str(table)!r} of {address.where}"
        with explained(address, f"{where} failed"):
            schema = found.adbc_execute_schema(f"SELECT * FROM {wrapped(sql)}")
            refuse_repeats(schema.names, where)
            columns = ", ".join(_column(field, _words(found, schema)) for field in schema)
            found.execute(f"SELECT {columns} FROM {wrapped(sql)}")
            reader = found.fetch_record_batch()
            return SpooledQuery(where, reader.schema, reader)


def _type_name(field: Any) -> str:
    metadata = field.metadata or {}
    return str((metadata.get(b"POSTGRESQL:type") or metadata.get(b"ADBC:postgresql:typname") or b"").decode())


def _words(found: Any, schema: Any) -> set[str]:
    """The names of the types that are read as text, as the driver writes them; asked only where a type is unknown."""
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


SQLITE_TABLES = "SELECT 'main' AS schema, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 2"
MILLISECONDS_TO_WAIT = 2000
QUESTIONS_AT_ONCE = 1000
EXAMPLES = {pa.int64(): "0", pa.float64(): "0.5", pa.string(): "''", pa.binary(): "x''"}
CASTS = {pa.int64(): "{}", pa.float64(): "CAST({} AS REAL)", pa.string(): "CAST({} AS TEXT)", pa.binary(): "{}"}
COUNTS = (
    "count({0})",
    "count(*) FILTER (WHERE typeof({0}) = 'integer')",
    "count(*) FILTER (WHERE typeof({0}) = 'real')",
)
BLOBS = "count(*) FILTER (WHERE typeof({0}) = 'blob')"
# what a declaration promises: the condition on a value, and the type where all of them meet it
DECLARED = {
    "bool": ("{0} IN (0, 1)", pa.bool_()),
    "date": ("date({0}) = {0}", pa.date32()),
    "time": (
        "strftime('%Y-%m-%d %H:%M:%S', {0}) = replace(substr({0}, 1, 19), 'T', ' ') AND length({0}) <= 26"
        " AND (length({0}) = 19 OR substr({0}, 20) GLOB '.[0-9]*' AND substr({0}, 21) NOT GLOB '*[^0-9]*')",
        pa.timestamp("us"),
    ),
}


def open_sqlite(address: Address) -> SpooledQuery:
    """The table or the query of an SQLite file."""
    import adbc_driver_sqlite.dbapi as driver

    uri = f"file:{quote(str(Path(address.connection).resolve()))}?mode=ro"
    with cursor(driver.connect, address, uri) as found:
        with explained(address, f"Cannot read {address.where}"):
            ask(found, f"PRAGMA busy_timeout = {MILLISECONDS_TO_WAIT}")
            sql, where = address.sql, f"The query on {address.where}"
            if sql is None:
                table = choose([TableName(**row) for row in ask(found, SQLITE_TABLES)], address.table, address.where)
                sql, where = f"SELECT * FROM {table.identifier}", f"Table {table.name!r} of {address.where}"
        with explained(address, f"{where} failed"):
            found.execute(f"CREATE TEMP VIEW asked AS SELECT * FROM {wrapped(sql)}")
            declared = {
                row["name"]: row["type"] or "" for row in ask(found, "SELECT * FROM pragma_table_info('asked')")
            }
            found.execute(f"SELECT * FROM {wrapped(sql)} LIMIT 0")
            refuse_repeats([column[0] for column in found.description], where)
            notes: list[str] = []
            stored, final = _types(found, declared, notes)
            found.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(ROWS_IN_GROUP)})
            found.execute(_statement(stored))
            schema = pa.schema(list(final.items()))
            return SpooledQuery(where, schema, _checked(found.fetch_record_batch(), where), notes)


def _kind(declaration: str) -> str:
    words = declaration.lower()
    return "bool" if "bool" in words else "time" if "time" in words else "date" if "date" in words else ""


def _types(found: Any, declared: dict[str, str], notes: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The Arrow types of the columns as they are fetched, and as they are handed on."""
    stored: dict[str, Any] = {}
    final: dict[str, Any] = {}
    counts = _counted(found, [(name, question) for name in declared for question in COUNTS])
    others = {name for name in declared if counts[name, COUNTS[0]] > counts[name, COUNTS[1]] + counts[name, COUNTS[2]]}
    kinds = {name: kind for name in declared if (kind := _kind(declared[name]))}
    promised = {name: f"count(*) FILTER (WHERE {DECLARED[kind][0]})" for name, kind in kinds.items()}
    counts |= _counted(found, [*((name, BLOBS) for name in others), *promised.items()])
    for name in declared:
        present, whole, real = (counts[name, question] for question in COUNTS)
        stored[name] = _stored(name, present, whole, real, counts.get((name, BLOBS), 0), notes)
        kept = name in promised and 0 < present == counts[name, promised[name]]
        final[name] = DECLARED[kinds[name]][1] if kept and stored[name] in (pa.int64(), pa.string()) else stored[name]
    return stored, final


def _counted(found: Any, questions: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """{(column, question): count}, in as few passes as SQLite's limit of columns allows."""
    counts: dict[tuple[str, str], int] = {}
    for a in range(0, len(questions), QUESTIONS_AT_ONCE):
        some = questions[a : a + QUESTIONS_AT_ONCE]
        asked = ", ".join(f"{question.format(quoted(name))} AS a{i}" for i, (name, question) in enumerate(some))
        [row] = ask(found, f"SELECT {asked} FROM temp.asked")
        counts |= zip(some, row.values())
    return counts


def _stored(name: str, present: int, whole: int, real: int, blobs: int, notes: list[str]) -> Any:
    texts = present - whole - real - blobs
    if blobs:
        return pa.binary()
    if texts and (whole or real):
        notes.append(
            f"Column {name!r} holds {texts} texts beside {whole + real} numbers: it is read as text. For numbers, "
            f"give a query with CAST({quoted(name)} AS REAL)."
        )
    return pa.string() if texts else pa.float64() if real else pa.int64()


def _statement(stored: dict[str, Any]) -> str:
    """All rows behind one with an example of each type: the driver takes the types from the rows it meets first."""
    examples = ", ".join(f"{EXAMPLES[dtype]} AS {quoted(name)}" for name, dtype in stored.items())
    columns = ", ".join(CASTS[dtype].format(quoted(name)) for name, dtype in stored.items())
    return f"SELECT {examples} UNION ALL SELECT {columns} FROM temp.asked"


def _checked(batches: Any, where: str) -> Iterator[Any]:
    first = 1  # the row of examples
    for batch in batches:
        rows = batch.slice(first)
        first = 0
        try:
            rows.validate(full=True)
        except pa.ArrowInvalid:
            raise DataError(f"{where} holds text that is not UTF-8.") from None
        yield rows
