"""The same rows from PostgreSQL, SQLite, DuckDB and Parquet are the same: kinds, values and the model's bits."""

from __future__ import annotations

import datetime
import os
import pickle
import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import assay
from assay.errors import DataError, ParameterError, SchemaError
from assay.store import encode
from assay.tables.arrow_columns import kind_of
from assay.tables.file_rows import FileRows
from assay.tables.sources.databases import is_database, open_database, open_sql
from assay.tables.sources.parquet import ParquetFiles

ROWS = 70_000
FORMS = ["postgresql", "sqlite", "duckdb", "duckdb query", "file query"]


def make_rows() -> pa.Table:
    rng = np.random.default_rng(5)
    label = rng.integers(0, 3, ROWS)
    holes = rng.random(ROWS) < 0.01
    late = np.arange(ROWS) < 68_000
    return pa.table(
        {
            "Row": np.arange(ROWS),
            "x 1": rng.normal(label, 1.0),
            'the "x"': pa.array(rng.normal(label, 3.0), mask=holes),
            "late": pa.array(rng.normal(size=ROWS), mask=late),
            "yes": label == 1,
            "day": pa.array([datetime.date(2020, 1, 1) + datetime.timedelta(int(i) % 900) for i in range(ROWS)]),
            "at": pa.array(rng.integers(0, 10**15, ROWS), pa.timestamp("us")),
            "word": pa.array(np.array(["é", "o'k", 'a "b"'])[label], mask=holes),
            "y": np.array(["ash", "birch", "elm"])[label],
        }
    )


def fill_sqlite(path: Path, rows: pa.Table) -> None:
    kinds = {"Row": "BIGINT", "yes": "BOOLEAN", "day": "DATE", "at": "TIMESTAMP", "word": "TEXT", "y": "TEXT"}
    columns = ", ".join('"' + n.replace('"', '""') + '" ' + kinds.get(n, "REAL") for n in rows.column_names)
    with sqlite3.connect(path) as connection:
        connection.execute(f'CREATE TABLE "My Trees" ({columns})')
        texts = [rows[n].cast("string") if n in ("day", "at") else rows[n] for n in rows.column_names]
        marks = ", ".join("?" * rows.num_columns)
        connection.executemany(f'INSERT INTO "My Trees" VALUES ({marks})', zip(*(c.to_pylist() for c in texts)))
    connection.close()


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return make_rows()


@pytest.fixture(scope="module")
def places(rows, server, tmp_path_factory) -> dict[str, tuple]:
    folder = tmp_path_factory.mktemp("bases")
    parquet.write_table(rows, folder / "trees.parquet", row_group_size=9999)
    server.run('CREATE SCHEMA "Wood"')
    server.run(
        'CREATE TABLE "Wood"."My Trees" ("Row" bigint, "x 1" double precision, "the ""x""" double precision, '
        "late double precision, yes boolean, day date, at timestamp, word text, y varchar(9))"
    )
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(server.address()) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("My Trees", rows, mode="append", db_schema_name="Wood")
        connection.commit()
    fill_sqlite(folder / "trees.db", rows)
    with duckdb.connect(str(folder / "trees.duckdb")) as connection:
        connection.register("given", rows)
        connection.execute('CREATE TABLE "My Trees" AS SELECT * FROM given')
    return {
        "postgresql": (server.address() + "?table=Wood.My%20Trees", None),
        "sqlite": (f"sqlite:{folder / 'trees.db'}?table=My Trees", None),
        "duckdb": (folder / "trees.duckdb", None),
        "duckdb query": (folder / "trees.duckdb", 'select * from "My Trees" order by "Row"'),
        "file query": (folder / "trees.parquet", 'select * from data order by "Row" -- all'),
        "parquet": folder / "trees.parquet",
    }


def opened(place):
    data, sql = place
    return open_database(data) if sql is None else open_sql(sql, data)


def content(source) -> pa.Table:
    return pa.Table.from_batches(source.batches(dict.fromkeys(source.types, "as it is"), 10_000))


@pytest.fixture(scope="module")
def fitted(places) -> bytes:
    return fit(ParquetFiles([places["parquet"]]))


def fit(source) -> bytes:
    features = ("x 1", 'the "x"', "yes")
    return encode(assay.NaiveBayes().fit(FileRows(source, features, "y", None)).to_record())


@pytest.mark.parametrize("form", FORMS)
def test_every_database_gives_the_values_of_the_parquet_file(places, rows, form):
    source = opened(places[form])
    assert list(source.types) == rows.column_names
    assert source.n_rows == ROWS
    for name, dtype in source.types.items():
        if name not in ("day", "at"):
            assert kind_of(name, dtype) == kind_of(name, rows.schema.field(name).type)
    found = content(source)
    if form == "postgresql":  # no order is promised there
        found = found.sort_by("Row")
    assert found.cast(rows.schema).equals(rows)
    assert all(found.schema.field(n).type == rows.schema.field(n).type for n in ("yes", "day", "at"))


@pytest.mark.parametrize("form", FORMS)
def test_a_fit_from_a_database_is_the_fit_from_the_file_byte_for_byte(places, fitted, form):
    assert fit(opened(places[form])) == fitted


@pytest.mark.parametrize("form", FORMS)
def test_two_passes_give_the_same_rows_in_the_same_order(places, form):
    source = opened(places[form])
    assert content(source).equals(content(source))
    some = pa.Table.from_batches(source.batches({"y": "as it is", "Row": "number"}, 777))
    assert some.column_names == ["y", "Row"]
    assert some.equals(content(source).select(["y", "Row"]))


def test_a_pass_after_the_table_changed_still_reads_the_snapshot(server):
    server.run("CREATE TABLE moving AS SELECT i, i % 2 AS y FROM generate_series(1, 500) i")
    source = open_database(server.address(), table="moving")
    before = content(source)
    server.run("UPDATE moving SET i = i + 1000 WHERE i < 50", "DELETE FROM moving WHERE i = 400")
    assert content(source).equals(before)


def test_a_duckdb_file_that_changes_between_passes_is_refused(tmp_path):
    with duckdb.connect(str(tmp_path / "m.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS i FROM range(100000)")
    source = open_database(tmp_path / "m.duckdb")
    content(source)
    with duckdb.connect(str(tmp_path / "m.duckdb")) as connection:
        connection.execute("INSERT INTO t SELECT range FROM range(100000)")
    with pytest.raises(DataError, match="was changed while it was read"):
        content(source)


def test_the_copy_is_private_serves_other_processes_and_goes_with_the_source(places, tmp_path):
    source = opened(places["sqlite"])
    path = Path(source.path)
    assert path.stat().st_mode & 0o077 == 0
    copy = pickle.loads(pickle.dumps(source))
    assert content(copy).num_rows == ROWS
    del copy
    assert path.exists()
    if hasattr(os, "fork"):
        code = subprocess.run([sys.executable, "-c", _FORKED.format(data=places["sqlite"][0])], capture_output=True)
        assert code.stdout.decode().split() == ["child", "True", "True"], code.stderr.decode()
    del source
    assert not path.exists()


_FORKED = """
import os, sys
from pathlib import Path
from assay.tables.sources.databases import open_database
source = open_database({data!r})
child = os.fork()
if child == 0:
    print("child", flush=True)
    sys.exit()
os.waitpid(child, 0)
print(Path(source.path).exists())
import atexit
path = source.path
atexit.register(lambda: print(not Path(path).exists()))
del source
"""


def test_a_query_keeps_its_own_order_everywhere(places, server):
    for data in (server.address(), places["sqlite"][0].split("?")[0], places["duckdb"][0]):
        table = '"Wood"."My Trees"' if str(data).startswith("postgresql") else '"My Trees"'
        source = open_database(data, sql=f'select "Row", "x 1" from {table} order by "x 1" desc;')
        values = content(source)["x 1"].to_numpy()
        assert len(values) == ROWS
        assert (np.diff(values) <= 0).all()


def test_tables_are_found_by_any_way_to_write_their_names(server, tmp_path):
    server.run(
        'CREATE SCHEMA s', 'CREATE TABLE s.coin AS SELECT 1 AS a', 'CREATE TABLE public.coin AS SELECT 2 AS a',
        'CREATE TABLE "Coin.s" AS SELECT 3 AS a', 'CREATE TABLE "it\'s ""it""; drop" AS SELECT 4 AS a',
        'CREATE VIEW "V" AS SELECT 5 AS a',
    )  # fmt: skip
    wanted = {"coin": 2, "s.coin": 1, "public.coin": 2, '"s"."coin"': 1, "COIN": 2, "Coin.s": 3, "coin.S": 3, "v": 5}
    for name, value in {**wanted, 'it\'s "it"; drop': 4}.items():
        assert content(open_database(server.address(), table=name))["a"].to_pylist() == [value], name


def test_the_only_table_needs_no_name_and_several_are_listed(tmp_path):
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE coins AS SELECT 1 AS a")
    assert is_database(path)
    assert content(open_database(path)).num_rows == 1
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE VIEW many AS SELECT 2 AS a")
    with pytest.raises(DataError, match=r"holds 2 tables: 'coins', 'many'. Say which"):
        open_database(path)
    with pytest.raises(SchemaError, match=r"has no table 'coinz'. Did you mean 'coins'"):
        open_database(f"sqlite:///{path}?table=coinz")
    with pytest.raises(ParameterError, match="give one"):
        open_database(path, table="coins", sql="select 1")
    with pytest.raises(ParameterError, match="The address says table='coins'"):
        open_database(f"sqlite:{path}?table=coins", table="many")


def test_sqlite_columns_of_mixed_types_follow_the_stated_rule(tmp_path):
    path = tmp_path / "loose.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a INTEGER, b, c BOOLEAN, d DATE, e DATETIME, f, g BLOB)")
        rows = [(1, 1, 1, "2024-02-29", "2024-02-29T01:02:03.5", None, b"x"), (2.5, "n/a", 2, "soon", None, None, None)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    source = open_database(path)
    assert "Column 'b' holds 1 texts beside 1 numbers: it is read as text." in source.notes[0]
    expected = {"a": pa.float64(), "b": pa.string(), "c": pa.int64(), "d": pa.string(), "e": pa.timestamp("us")}
    assert {name: source.types[name] for name in expected} == expected
    read = pa.Table.from_batches(source.batches(dict.fromkeys("abef", "as it is"), 10))
    assert read["b"].to_pylist() == ["1", "n/a"]
    assert read["f"].to_pylist() == [None, None]
    with pytest.raises(DataError, match="Column 'g' holds binary"):
        kind_of("g", source.types["g"])
    [hollow] = source.batches({"a": "number", "g": "as it is"}, 10)
    assert hollow.column(1).to_pylist() == [[], None]


def test_types_of_postgresql_become_numbers_text_and_dates_or_are_refused_by_name(server):
    server.run("CREATE TYPE mood AS ENUM ('sad', 'glad')", "CREATE DOMAIN whole AS bigint")
    server.run(
        "CREATE TABLE kinds AS SELECT 1::smallint a, 2::bigint b, 1.5::real c, 0.1::numeric(9, 2) d, 12.34::money e, true f, "
        "'z'::char(5) g, 'glad'::mood h, '7b2fbc2e-1111-4222-8333-123456789abc'::uuid i, '10.0.0.1'::inet j, 3::whole k, "
        "date '2024-02-29' l, timestamptz '2024-02-29 12:00+02' m, null::int n, array[1, 2] o, '{}'::json p, '{}'::jsonb q, "
        "interval '1 day' r, point(1, 2) s, int4range(1, 3) t, '\\x00'::bytea u, time '01:02' v"
    )
    server.run("INSERT INTO kinds (d) VALUES ('NaN'), (NULL)")
    source = open_database(server.address(), table="kinds")
    usable = dict.fromkeys("abcdefghijklmn", "as it is")
    first, second, third = pa.Table.from_batches(source.batches(usable, 10)).to_pylist()
    assert [first[n] for n in "abcdefghijk"] == [
        1, 2, 1.5, 0.1, 12.34, True, "z", "glad", "7b2fbc2e-1111-4222-8333-123456789abc", "10.0.0.1/32", 3,
    ]  # fmt: skip
    assert np.isnan(second["d"])
    assert set(third.values()) == {None}
    for name in "opqrstu":
        with pytest.raises(DataError, match=f"Column '{name}' holds .* neither numbers nor text"):
            kind_of(name, source.types[name])


def test_types_of_duckdb_become_numbers_text_and_dates_or_are_refused_by_name(tmp_path):
    path = tmp_path / "kinds.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
        connection.execute(
            "CREATE TABLE kinds AS SELECT 1::hugeint a, 0.1::decimal(9, 2) b, 'glad'::mood c, "
            "'7b2fbc2e-1111-4222-8333-123456789abc'::uuid d, date '2024-02-29' e, [1, 2] f, {'a': 1} g, '{}'::json h, "
            "interval 1 day i, 'x'::blob j, [1.5::decimal(3, 1)] k"
        )
        connection.execute("CREATE VIEW seen AS SELECT * FROM kinds")
    for table in ("kinds", "seen"):
        source = open_database(path, table=table)
        [row] = pa.Table.from_batches(source.batches(dict.fromkeys("abcd", "as it is"), 10)).to_pylist()
        assert row == {"a": 1.0, "b": 0.1, "c": "glad", "d": "7b2fbc2e-1111-4222-8333-123456789abc"}
        assert source.types["e"] == pa.date32()
        for name in "fghijk":
            with pytest.raises(DataError, match=f"Column '{name}' holds .* neither numbers nor text"):
                kind_of(name, source.types[name])


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_a_query_over_a_file_calls_it_data(tmp_path, form):
    path = tmp_path / f"f.{form}"
    with duckdb.connect() as connection:
        connection.sql("select range as a, 'w' || range as b from range(5)").write_parquet(str(tmp_path / "f.parquet"))
        (tmp_path / "f.csv").write_text("a,b\n" + "".join(f"{i},w{i}\n" for i in range(5)))
        (tmp_path / "f.json").write_text("".join(f'{{"a":{i},"b":"w{i}"}}\n' for i in range(5)))
    for source in (
        open_sql("select b, a from data where a > 2", path),
        open_sql(f"select b, a from '{path}' where a > 2"),
    ):
        assert content(source).to_pydict() == {"b": ["w3", "w4"], "a": [3, 4]}


def test_an_address_may_carry_a_long_query(tmp_path):
    with sqlite3.connect(tmp_path / "a b.db") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    query = "select a%2B1 as b from t where a in (" + ", ".join(map(str, range(2000))) + ")"
    for path in (tmp_path / "a b.db", str(tmp_path / "a b.db").replace(" ", "%20")):
        assert content(open_database(f"sqlite:{path}?sql={query}")).to_pydict() == {"b": [2]}
