"""The rows of a table, encoded in memory, as a stream and on a cluster, are the same bits for any number of threads."""

from __future__ import annotations

import datetime
import sqlite3
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as parquet
import pytest
from small_blocks import small_blocks

import assay
from assay.certify.certificate import fingerprint_of
from assay.engines import MaskedRows, engine_for, some_rows
from assay.engines.csr import SparseMatrix
from assay.selection.table_model import fit_table, sides
from assay.store import encode as file_bytes
from assay.tables.encoding import Encoding, EncodingSpec, to_data
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import EncodedRows, TableRows, encode

ROWS = 20_000
ENGINES = [("threads", 1), ("threads", 2), ("threads", 5), ("stream", 1), ("stream", 2)]
SPECS = {
    "scaled": EncodingSpec("one-hot", True),
    "reference": EncodingSpec("reference"),
    "native": EncodingSpec("native", False, True),
    "codes": EncodingSpec("codes", True),
}


@pytest.fixture(autouse=True, scope="module")
def _small(client):
    with small_blocks(client):
        yield


def make_rows(n: int = ROWS, text: bool = False) -> pa.Table:
    rng = np.random.default_rng(8)
    label = rng.integers(0, 2, n)
    holes = rng.random(n) < 0.02
    words = np.array(["ash tree", "birch", "elm", "oak", "yew"])
    day = np.datetime64("2020-01-01") + rng.integers(0, 900, n)
    columns = {
        "size": pa.array(rng.normal(label, 1.0), mask=holes),
        "weight": rng.normal(1e6, 10.0, n),
        "tree": pa.array(words[rng.integers(0, 5, n)], mask=rng.random(n) < 0.01),
        "old": rng.random(n) < 0.3,
        "day": pa.array(day, pa.date32()),
        "many": np.array([f"{k:03d}" for k in range(90)])[rng.integers(0, 90, n)],
    }
    if text:
        said = ["free prize now", "call me later", "win the prize", "see you at home", "free call to win it now"]
        columns["said"] = [f"{said[i % 5]} number {i % 97}" for i in range(n)]
    return pa.table({**columns, "y": np.array(["no", "yes"])[label]})


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    where = tmp_path_factory.mktemp("rows") / "rows.parquet"
    parquet.write_table(make_rows(), where, row_group_size=4001)
    return where


@pytest.fixture(scope="module")
def text_path(tmp_path_factory):
    where = tmp_path_factory.mktemp("text") / "rows.parquet"
    parquet.write_table(make_rows(20_000, text=True), where, row_group_size=7001)
    return where


def marks(path, encoding_spec, mask=None):
    """What an engine learns and what it encodes: the stored encoding, and the fingerprint of the encoded rows."""
    source = table_source(path)
    schema = infer(source, target="y", kinds={"said": "text"} if "said" in source.types else None)
    table = TableRows(source, schema, "y")
    engine = engine_for(table)
    opened = engine.open(table)
    raw = opened if mask is None else some_rows(opened, MaskedRows(~mask))
    encoding = Encoding.learn(engine, schema, encoding_spec, raw)
    seen, held_out = sides(opened, encoding, mask)
    found = [fingerprint_of(rows, np.array(["no", "yes"])) for rows in (seen, held_out) if rows is not None]
    return repr(to_data(encoding)), *found


def on_every_engine(path, encoding_spec, client, mask=None):
    found = {}
    for name, workers in ENGINES:
        with assay.engine(name, workers=workers):
            found[name, workers] = marks(path, encoding_spec, mask)
    with assay.engine("cluster", client):
        found["cluster"] = marks(path, encoding_spec, mask)
    found["none in force"] = marks(path, encoding_spec, mask)
    return found


@pytest.mark.parametrize("encoding_spec", SPECS.values(), ids=SPECS)
def test_encodings_are_the_same_bits_on_every_engine(path, encoding_spec, client):
    found = on_every_engine(path, encoding_spec, client)
    assert len(set(found.values())) == 1, {k: v[1:] for k, v in found.items()}


def test_and_so_they_are_where_some_rows_are_held_out(path, client):
    mask = np.random.default_rng(0).random(ROWS) < 0.3
    found = on_every_engine(path, SPECS["scaled"], client, mask)
    assert len(set(found.values())) == 1, {k: v[1:] for k, v in found.items()}


@pytest.mark.parametrize("sparse", [True, False])
def test_and_so_are_those_of_text(text_path, sparse, client):
    found = on_every_engine(text_path, EncodingSpec("one-hot", True, False, sparse), client)
    assert len(set(found.values())) == 1, {k: v[1:] for k, v in found.items()}


def test_statistics_of_some_rows_are_those_of_a_table_of_only_these_rows(path):
    whole = parquet.read_table(path)
    mask = np.random.default_rng(1).random(ROWS) < 0.9
    some = whole.filter(pa.array(~mask))
    schema = infer(table_source(whole), target="y")
    tables = [TableRows(table_source(data), schema, "y") for data in (whole, some)]
    engine = engine_for(tables[0])
    parts = [some_rows(tables[0], MaskedRows(~mask)), tables[1], some_rows(tables[0].in_memory(), MaskedRows(~mask))]
    a, b, c = (to_data(Encoding.learn(engine, schema, EncodingSpec(), part)) for part in parts)
    assert a == b == c
    assert a["statistics"]["n"] == some.num_rows


def test_statistics_over_many_blocks_are_those_of_all_rows_at_once(path):
    """The weights lie around a million with deviation 10: sums of squares would lose the digits that matter."""
    source = table_source(path)
    table = TableRows(source, infer(source, target="y"), "y")
    statistics = Encoding.learn(engine_for(table), table.schema, EncodingSpec(), table).statistics
    whole = parquet.read_table(path).to_pandas()
    assert 2 * table.step < ROWS
    for j, name in enumerate(["size", "weight"]):
        assert statistics.present[j] == whole[name].notna().sum()
        assert statistics.mean[j] == pytest.approx(whole[name].mean(), rel=1e-12)
        assert statistics.deviation[j] == pytest.approx(whole[name].std(ddof=0), rel=1e-10)


def test_rows_encoded_in_memory_are_those_of_the_stream(path, text_path):
    for where in (path, text_path):
        source = table_source(where)
        table = TableRows(source, infer(source, target="y"), "y")
        encoding = Encoding.learn(engine_for(table), table.schema, EncodingSpec(scaled=True, sparse=True), table)
        streamed, here = encode(table, encoding), encode(table.in_memory(), encoding)
        assert isinstance(streamed, EncodedRows)
        there = streamed.in_memory()
        assert streamed.names == here.names == there.names
        assert (streamed.n_columns, streamed.sparse) == (here.n_columns, here.sparse)
        assert np.array_equal(there.y, here.y)
        for a, b in _arrays(there.X, here.X):
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()


def _arrays(a, b):
    if isinstance(a, SparseMatrix):
        return [(a.data, b.data), (a.indices, b.indices), (a.indptr, b.indptr)]
    return [(a, b)]


@pytest.mark.parametrize("name", ["naive-bayes", "logistic-regression"])
def test_model_files_of_a_table_are_the_same_bytes_on_every_engine(path, name, client):
    from assay.families import model_class

    source = table_source(path)
    schema = infer(source, target="y")
    mask = np.arange(ROWS) % 4 == 0
    cls = model_class(name)
    encoding_spec = EncodingSpec("native", False, True) if cls.takes_categories else EncodingSpec("one-hot", True)
    files = set()
    for engine in (("threads", 2), ("stream", 1), None):
        with assay.engine("cluster", client) if engine is None else assay.engine(engine[0], workers=engine[1]):
            fitted = fit_table(cls(), schema, encoding_spec, TableRows(source, schema, "y"), mask)
            files.add(file_bytes(fitted.to_record()))
    assert len(files) == 1


def test_the_same_table_as_csv_parquet_sqlite_and_frame_encodes_alike(tmp_path):
    table = make_rows(2000)
    pyarrow.csv.write_csv(table, tmp_path / "rows.csv")
    parquet.write_table(table, tmp_path / "rows.parquet")
    with sqlite3.connect(tmp_path / "rows.db") as connection:
        kinds = {"size": "REAL", "weight": "REAL", "old": "BOOLEAN", "day": "DATE"}
        declared = ", ".join(f"{name} {kinds.get(name, 'TEXT')}" for name in table.column_names)
        connection.execute(f"CREATE TABLE t ({declared})")
        rows = zip(*(column.to_pylist() for column in table.columns))
        said = [[v.isoformat() if isinstance(v, datetime.date) else v for v in row] for row in rows]
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * table.num_columns)})", said)
    connection.close()
    schema = infer(table_source(table), target="y", kinds={"many": "category"})
    encoding = None
    bits = set()
    sources = [table, tmp_path / "rows.csv", tmp_path / "rows.parquet", str(tmp_path / "rows.db"), table.to_pandas()]
    for data in [*sources, {name: table[name].to_pylist() for name in table.column_names}]:
        rows = TableRows(table_source(data), schema, "y")
        encoding = encoding or Encoding.learn(engine_for(rows), schema, EncodingSpec(scaled=True), rows)
        bits.add(encode(rows, encoding).in_memory().X.tobytes())
    assert len(bits) == 1


def test_a_file_is_opened_without_loading_pandas(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "\n".join(f"{i},k{i % 2}" for i in range(8)))
    opened = """
import sys
from assay.selection.plan import open_table
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source
source = table_source(sys.argv[1])
open_table(source, infer(source, target="y"))
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", opened, str(tmp_path / "t.csv")], check=True)
