"""Databases that are down, closed, locked or asked for nonsense: a clear DataError, and never a password."""

from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import sys
import tempfile
import traceback

import duckdb
import postgres
import pytest

from assay.errors import AssayError, MissingExtraError, ParameterError
from assay.tables.sources.databases import is_database, masked, open_database, open_sql, parse

PARTS_OF_PASSWORD = ("s3cr3t", "pass@word", "pass%40word", "wr0ng", "sesame")


def complaint(call, *arguments, **named) -> str:
    """The message of the AssayError; no text around it may show a password."""
    with pytest.raises(AssayError) as raised:
        call(*arguments, **named)
    error = raised.value
    assert error.exit_code in (2, 3)
    seen = "".join(traceback.format_exception(error)) + repr(error) + str(error.args)
    shown = "".join(line for line in seen.splitlines(True) if "complaint(" not in line)
    assert not any(part in shown for part in PARTS_OF_PASSWORD), shown
    return str(error)


@pytest.fixture(scope="module")
def table(server):
    server.run("CREATE TABLE IF NOT EXISTS plain AS SELECT 1 AS a")
    server.run("DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN PASSWORD 'sesame'")
    return server


def test_a_wrong_or_missing_password_is_said_without_it(table, monkeypatch):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", "/nonexistent")
    said = complaint(open_database, table.address(password="wr0ng"))
    assert said == (
        f"Cannot open postgresql://assay:***@127.0.0.1:{table.port}/postgres: password authentication failed for user "
        '"assay". User or password is wrong; PGPASSWORD sets the password.'
    )
    assert "Set PGPASSWORD" in complaint(open_database, table.address(password=None))
    monkeypatch.setenv("PGPASSWORD", "wr0ng")
    assert "password authentication failed" in complaint(open_database, table.address(password=None))


def test_the_password_may_come_from_the_environment_or_the_settings(table, monkeypatch):
    assert open_database(table.address() + "?table=plain").n_rows == 1
    bare = table.address(password=None) + "?table=plain"
    with_setting = bare + "&password=" + postgres.PASSWORD.replace("@", "%40").replace("/", "%2F")
    source = open_database(with_setting)
    assert "s3cr3t" not in source.where + repr(parse(with_setting)) + repr(vars(source))
    monkeypatch.setenv("PGPASSWORD", postgres.PASSWORD)
    assert open_database(bare).n_rows == 1


def test_a_server_that_is_not_there_is_named(table):
    port = postgres._free_port()
    said = complaint(open_database, f"postgresql://ann:sesame@127.0.0.1:{port}/shop")
    assert said.startswith(f"Cannot open postgresql://ann:***@127.0.0.1:{port}/shop: Connection refused. Is the server")
    assert "host spelt right" in complaint(open_database, "postgres://ann:sesame@nowhere.invalid/shop")
    assert 'database "shop" does not exist' in complaint(open_database, table.address("shop"))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:ses/ame@host/db", "postgresql://ann:12/3sesame@host/db", "postgresql://ann:s%zzsesame@host/db",
        "postgresql://ann:x?sesame@host/db", "postgresql://ann:x#sesame@host/db", "postgresql://ann:sesame@b@host/db",
        "postgresql://ann:sesame@host:port/db", "postgresql://ann:sesame@host/db?colour=sesame", "mysql://ann:sesame@host/db",
        "postgresql:ann:sesame",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_read_shows_no_part_of_its_password(address):
    assert is_database(address)
    assert "ann:" not in complaint(open_database, address)


def test_masked_hides_passwords_in_any_text():
    assert (
        masked("see postgresql://ann:sesame@h/d?password=sesame&x=1") == "see postgresql://ann:***@h/d?password=***&x=1"
    )
    assert masked("mysql://ann:a@b/c@h/d") == "mysql://ann:***@h/d"
    assert masked("PGPASSWORD=sesame assay train") == "PGPASSWORD=*** assay train"
    assert masked("coins.csv at 12:30, a@b") == "coins.csv at 12:30, a@b"
    assert masked("postgresql://ann@h/d") == "postgresql://ann@h/d"


def test_errors_of_a_query_carry_the_first_line_of_the_database(table):
    address = table.address()
    assert '/postgres failed: column "b" does not exist.' in complaint(
        open_database, address, sql="select b from plain"
    )
    assert "syntax error" in complaint(open_database, address, sql="selec 1")
    assert "division by zero" in complaint(open_database, address, sql="select 1 / (a - 1) from plain")
    assert "no rows" in complaint(open_database, address, sql="select * from plain where a > 5")
    assert "two columns named 'a'" in complaint(open_database, address, sql="select a, a from plain")
    assert "has no table 'plian'. Did you mean 'plain'" in complaint(open_database, address, table="plian")
    assert "no columns" in complaint(open_database, address, sql="select")
    assert "\n" not in complaint(open_database, address, sql="select * from nowhere")


def test_errors_that_come_after_many_rows_are_errors_too(table, tmp_path):
    late = "select case when i < 300000 then i else {} end as a from {} s(i)"
    query = late.format("1 / (i - 300000)", "generate_series(1, 300000)")
    assert "division by zero" in complaint(open_database, table.address(), sql=query)
    query = late.format("error('too far')", "range(1, 300001)")
    assert "too far" in complaint(open_sql, query)


def test_a_table_without_the_right_to_read_it_is_refused(table):
    address = table.address(user="guest", password="sesame")
    assert "permission denied for table plain" in complaint(open_database, address, table="plain")


@pytest.mark.parametrize("sql", ["delete from plain", "drop table plain", "select 1; drop table plain",
    "with gone as (delete from plain returning a) select * from gone"])  # fmt: skip
def test_nothing_is_ever_written(table, sql, tmp_path):
    complaint(open_database, table.address(), sql=sql)
    assert open_database(table.address(), table="plain").n_rows == 1
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE plain AS SELECT 1 AS a")
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE plain AS SELECT 1 AS a")
    for path in (tmp_path / "a.db", tmp_path / "a.duckdb"):
        before = path.read_bytes()
        complaint(open_database, path, sql=sql)
        assert path.read_bytes() == before


def test_no_query_makes_files(tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE plain AS SELECT 1 AS a")
    made = tmp_path / "made"
    complaint(open_database, tmp_path / "a.db", sql=f"attach '{made}' as x")
    complaint(open_sql, f"copy (select 1) to '{made}'")
    complaint(open_sql, f"attach '{made}' as x")
    assert not made.exists()


def test_duckdb_downloads_no_extensions():
    assert "give one SELECT" in complaint(open_sql, "install spatial")
    assert "never downloaded" in complaint(open_sql, "select * from 'https://example.invalid/x.parquet'")


def test_files_that_are_no_databases_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n" * 9)
    for kind in ("sqlite", "duckdb"):
        assert f"is not a database of {kind}" in complaint(open_database, f"{kind}:{tmp_path / 'a.csv'}")
        assert "There is no file" in complaint(open_database, f"{kind}:{tmp_path / 'none.db'}")
        assert "names no file" in complaint(open_database, f"{kind}::memory:")
    assert not is_database(tmp_path / "a.csv")
    assert not is_database(tmp_path / "none.db")
    assert "neither an SQLite nor a DuckDB file" in complaint(open_database, tmp_path / "a.csv")
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    assert "not a database" in complaint(open_database, damaged) or "malformed" in complaint(open_database, damaged)
    empty = tmp_path / "empty.db"
    empty.touch()
    assert "holds no tables" in complaint(open_database, f"sqlite:{empty}")
    with pytest.raises(ParameterError, match="neither table= nor sql="):
        open_database(f"sqlite:{empty}?tabel=x")


HOLD = """
import sys
{connect}
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_database_locked_by_another_program_is_said(tmp_path, kind, monkeypatch):
    path = tmp_path / "locked"
    if kind == "sqlite":
        monkeypatch.setattr("assay.tables.sources.adbc.MILLISECONDS_TO_WAIT", 50)
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        connect = f"import sqlite3; c = sqlite3.connect({str(path)!r}); c.execute('begin exclusive')"
    else:
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        connect = f"import duckdb; c = duckdb.connect({str(path)!r})"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD.format(connect=connect)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert "nother program" in complaint(open_database, path)
        holder.stdin.close()
    assert open_database(path).n_rows == 1


FULL = """
import resource, signal, sys
from assay.tables.sources.databases import open_sql
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    open_sql("select random() as a from range(1000000)")
except Exception as error:
    print(type(error).__name__, error.exit_code, error)
"""


def test_a_copy_that_finds_no_room_is_said_and_leaves_nothing_behind(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FULL], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("WriteError 1 The rows of the query cannot be copied to"), done.stderr
    assert "Set TMPDIR" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_query_without_rows_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert "no rows" in complaint(open_sql, "select 1 as a where false")
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["adbc_driver_sqlite", "adbc_driver_sqlite.dbapi"])
def test_without_the_drivers_the_extra_that_brings_them_is_named(tmp_path, monkeypatch, missing):
    sqlite3.connect(tmp_path / "trees.db").execute("CREATE TABLE trees (height)").connection.close()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"trees\.db.* needs adbc_driver_sqlite.*'assay-ml\[databases\]'"):
        open_database(f"sqlite:{tmp_path / 'trees.db'}")
