"""What the ADBC drivers share: a connection that is always closed, rows of small questions, and errors in the user's words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from adbc_driver_manager import dbapi

from assay.errors import AssayError, DataError
from assay.tables.sources.addresses import Address

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


def wrapped(sql: str) -> str:
    """A query as a table of another: one statement that returns rows. The line break ends a comment at its end."""
    return f"({sql.strip().rstrip(';')}\n) AS asked"
