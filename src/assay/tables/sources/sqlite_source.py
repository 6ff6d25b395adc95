"""SQLite through ADBC: opened read-only, the types looked up in the values, spooled.

A column of SQLite may hold anything in any row. The rule: whole numbers and floats together are floats; text beside numbers
makes a column of text, as a stray word does in a CSV file, and a note says so. BOOLEAN, DATE and DATETIME are what the
declaration says where all values can be read so, else numbers or text. Spooled because a writer may come between two passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import adbc_driver_sqlite.dbapi as driver
import pyarrow as pa

from assay.errors import DataError
from assay.tables.columns import refuse_repeats
from assay.tables.sources.adbc import ask, cursor, explained, wrapped
from assay.tables.sources.addresses import Address
from assay.tables.sources.catalogue import Table, choose, quoted
from assay.tables.sources.spool import ROWS_IN_GROUP, Spooled

TABLES = "SELECT 'main' AS schema, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 2"
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


def open_sqlite(address: Address) -> Spooled:
    """The table or the query of an SQLite file."""
    uri = f"file:{quote(str(Path(address.connection).resolve()))}?mode=ro"
    with cursor(driver.connect, address, uri) as found:
        with explained(address, f"Cannot read {address.where}"):
            ask(found, f"PRAGMA busy_timeout = {MILLISECONDS_TO_WAIT}")
            sql, where = address.sql, f"The query on {address.where}"
            if sql is None:
                table = choose([Table(**row) for row in ask(found, TABLES)], address.table, address.where)
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
            return Spooled(where, schema, _checked(found.fetch_record_batch(), where), notes)


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
