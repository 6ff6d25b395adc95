"""Databases: addresses taken apart, and the table or query that they name as a source. All are only read; passwords are never shown.

postgresql://user:password@host:5432/db?table=schema.t      (postgres:// too; the password rather in PGPASSWORD)
sqlite:shop.db?table=orders      sqlite:///shop.db      duckdb:shop.duckdb?sql=select …
shop.db, shop.sqlite, shop.duckdb                           (known by their first bytes)

PostgreSQL and SQLite are read through ADBC, DuckDB by itself. Names of tables are looked up, never pasted into SQL as they were typed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote, unquote

from assay.errors import DataError, MissingExtraError, ParameterError, SchemaError, install, nearest

if TYPE_CHECKING:
    from assay.tables.sources.source import Source

Database = Literal["postgresql", "sqlite", "duckdb"]
KINDS: dict[str, Database] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
}
UNSUPPORTED = ("mysql", "mariadb", "mssql", "oracle", "snowflake", "redshift", "bigquery", "clickhouse", "mongodb")
SCHEME = re.compile(rf"({'|'.join((*KINDS, *UNSUPPORTED))})(?:\+\w+)?:", re.IGNORECASE)
SECRETS = (
    (re.compile(r"(?s)(\b[a-z][a-z0-9+.-]*://[^:/@\s]*):.*@", re.IGNORECASE), r"\1:***@"),
    (re.compile(r"(?i)((?:pg|ssl)?password=)[^&\s]+"), r"\1***"),
)
SETTINGS = (
    *("host", "hostaddr", "port", "dbname", "user", "password", "passfile", "require_auth", "channel_binding"),
    *("connect_timeout", "client_encoding", "options", "application_name", "tcp_user_timeout"),
    *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "gssencmode"),
    *("sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl", "sslsni"),
    *("krbsrvname", "target_session_attrs", "service", "load_balance_hosts"),
)
SECONDS_TO_CONNECT = "10"


def open_database(data: str | os.PathLike[str], *, table: str | None = None, sql: str | None = None) -> Source:
    """The rows of a table (the only one unless named), or of one SELECT. For the forms of `data` see above."""
    address = parse(data).asking(table, sql)
    if address.kind != "duckdb":
        return _through_adbc(address)
    from assay.tables.sources.duckdb_tables import open_duckdb

    return open_duckdb(address)


def _through_adbc(address: Address) -> Source:
    """PostgreSQL and SQLite: their drivers are an extra, for most tables are files."""
    try:
        from assay.tables.sources.adbc import open_postgresql, open_sqlite

        return (open_postgresql if address.kind == "postgresql" else open_sqlite)(address)
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith("adbc_driver"):
            raise
        raise MissingExtraError(f"Reading {address.where} needs {missing.name}: {install('databases')}.") from None


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


def is_database(data: object) -> bool:
    """Whether this is the address of a database, or a file that is one.

    >>> is_database("postgresql://ann@localhost/shop"), is_database("duckdb:shop.db?table=t"), is_database("coins.csv")
    (True, True, False)
    """
    if isinstance(data, str) and SCHEME.match(data):
        return True
    return isinstance(data, str | os.PathLike) and file_kind(data) is not None


def file_kind(path: str | os.PathLike[str]) -> Database | None:
    """Which database a file is, by its first bytes."""
    try:
        with open(path, "rb") as file:
            head = file.read(16)
    except (OSError, ValueError):
        return None
    return "sqlite" if head == b"SQLite format 3\0" else "duckdb" if head[8:12] == b"DUCK" else None


def parse(data: str | os.PathLike[str]) -> Address:
    """The address as parts, or an error that says what is wrong with it (without its password)."""
    text = os.fspath(data)
    scheme = SCHEME.match(text)
    if scheme is None or os.path.isfile(text):
        kind = file_kind(text)
        if kind is None:
            raise DataError(f"{masked(text)!r} is neither an SQLite nor a DuckDB file.")
        return Address(kind, repr(text), text)
    name = scheme[1].lower()
    if name not in KINDS:
        raise DataError(
            f"{name} databases cannot be read: PostgreSQL, SQLite and DuckDB can. Export the table as Parquet or CSV."
        )
    rest = text[scheme.end() :]
    return _server(rest) if KINDS[name] == "postgresql" else _file(KINDS[name], rest)


@dataclass(frozen=True)
class Address:
    """A database, and perhaps the table or query in it. `connection` may hold a password: it is left out of `repr`."""

    kind: Database
    where: str
    connection: str = field(repr=False)
    table: str | None = None
    sql: str | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def hide(self, text: str) -> str:
        """A message of the database without the password, whatever the driver put into it."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return masked(text)

    def asking(self, table: str | None, sql: str | None) -> Address:
        """The address with the table or query of the arguments, which must not contradict it."""
        for name, ours, theirs in (("table", self.table, table), ("sql", self.sql, sql)):
            if ours is not None and theirs is not None and ours != theirs:
                raise ParameterError(f"The address says {name}={ours!r}, the argument {name}={theirs!r}: give one.")
        both = replace(self, table=table or self.table, sql=sql or self.sql)
        if both.table is not None and both.sql is not None:
            raise ParameterError(f"table={both.table!r} and a query were given: give one of them.")
        return both


def masked(text: str) -> str:
    """Any text with the passwords of addresses in it replaced.

    >>> masked("postgresql://ann:pa/ss@w0rd@db.example/shop?table=t&password=x")
    'postgresql://ann:***@db.example/shop?table=t&password=***'
    """
    for pattern, shown in SECRETS:
        text = pattern.sub(shown, text)
    return text


def _query(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split("&") if pair]
    return {unquote(key): unquote(value) for key, _, value in pairs}


def _file(kind: Database, rest: str) -> Address:
    path, mark, query = rest.rpartition("?")
    if not mark or not re.match(r"\w+=", query):
        path, query = rest, ""
    asked = _query(query)
    for key in asked:
        if key not in ("table", "sql"):
            raise ParameterError(f"The address says {key}=…, which is neither table= nor sql=.")
    if path.startswith("///"):  # three slashes: relative, as SQLAlchemy has it; else the path as a file URL has it
        path = path[3:] if os.path.exists(path[3:]) else path[2:]
    if not os.path.exists(path):
        path = unquote(path)
    if path in ("", ":memory:"):
        raise DataError(f"{kind}:{path} names no file. Write {kind}:shop.db?table=orders.")
    found = file_kind(path)
    if not os.path.exists(path):
        raise DataError(f"There is no file {path!r}.")
    if found != kind and os.path.getsize(path):
        is_other = f"it is a database of {found}" if found else "its first bytes say otherwise"
        raise DataError(f"{path!r} is not a database of {kind}: {is_other}.")
    return Address(kind, repr(path), path, asked.get("table"), asked.get("sql"))


def _server(rest: str) -> Address:
    """postgresql: //user:password@host:port/db?settings, taken apart here so that no part of a password is ever echoed."""
    parts = re.fullmatch(r"(?s)//(?:([^/?#@]*)@)?([^/?#@]*)(?:/([^/?#@]*))?(?:\?([^#]*))?", rest)
    if parts is None or re.search(r"%(?![0-9a-fA-F]{2})", rest.partition("?")[0]):
        raise DataError(
            "The address is not of the form postgresql://user:password@host:5432/database?table=name. In user and password, "
            "write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23, % as %25; or leave the password to PGPASSWORD."
        )
    account, hosts, database, query = (part or "" for part in parts.groups())
    user, _, password = account.partition(":")
    if re.search(r":(?!\d*(,|$))", re.sub(r"\[[^\]]*\]", "", hosts)):
        raise DataError(
            "The port in the address is not a number: postgresql://user:password@host:5432/database?table=name."
        )
    settings = _query(query)
    table, sql = settings.pop("table", None), settings.pop("sql", None)
    for key in settings:
        if key not in SETTINGS:
            raise ParameterError(f"The address has a setting that PostgreSQL does not know. {nearest(key, SETTINGS)}")
    secrets = {unquote(password), password, settings.get("password", ""), settings.get("sslpassword", "")} - {""}
    who = (user + ":***" if password or "password" in settings else user) + "@" if user else ""
    where = f"postgresql://{who}{hosts}{'/' if database else ''}{unquote(database)}"
    if "PGCONNECT_TIMEOUT" not in os.environ:
        settings.setdefault("connect_timeout", SECONDS_TO_CONNECT)
    settings.setdefault("application_name", "assay")
    tail = "&".join(f"{key}={quote(value, safe='')}" for key, value in settings.items())
    connection = f"postgresql://{account + '@' if account else ''}{hosts}/{database}?{tail}"
    return Address("postgresql", where, connection, table, sql, tuple(sorted(secrets, key=len, reverse=True)))


class TableName(NamedTuple):
    """A table or view. `near`: it can be named without its schema."""

    schema: str
    name: str
    near: bool = True

    def __str__(self) -> str:
        return self.name if self.near else f"{self.schema}.{self.name}"

    @property
    def identifier(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"


def choose(tables: list[TableName], wanted: str | None, where: str) -> TableName:
    """The wanted table, or the only one. Upper and lower case matter only where two names differ by nothing else.

    >>> choose([TableName("main", "coins"), TableName("old", "coins", near=False)], "Coins", "the shop").identifier
    '"main"."coins"'
    """
    if wanted is None:
        if len(tables) == 1:
            return tables[0]
        if not tables:
            raise DataError(f"{where} holds no tables.")
        shown = ", ".join(repr(str(table)) for table in tables[:20]) + (", …" if len(tables) > 20 else "")
        raise DataError(
            f"{where} holds {len(tables)} tables: {shown}. Say which: ?table=NAME in the address, table= in Python."
        )
    for same in (str, str.lower):
        for match in (_by_name, _by_full_name):
            found = [table for table in tables if same(wanted) in map(same, match(table))]
            if len(found) == 1:
                return found[0]
    known = nearest(wanted, map(str, tables)) if tables else "It holds no tables."
    raise SchemaError(f"{where} has no table {wanted!r}. {known}")


def _by_name(table: TableName) -> list[str]:
    return [table.name, quoted(table.name)] if table.near else []


def _by_full_name(table: TableName) -> list[str]:
    return [f"{table.schema}.{table.name}", table.identifier]


def quoted(name: str) -> str:
    """A name as an SQL identifier.

    >>> quoted('the "big" table')
    '"the ""big"" table"'
    """
    return '"' + name.replace('"', '""') + '"'


def wrapped(sql: str) -> str:
    """A query as a table of another: one statement that returns rows. The line break ends a comment at its end."""
    return f"({sql.strip().rstrip(';')}\n) AS asked"
