"""Frames in memory as a source: every kind keeps its columns' types."""

from __future__ import annotations

import datetime

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import assay
from assay.errors import DataError, DataTypeError, SchemaError
from assay.store import encode
from assay.tables.sources.recognise import source_of

COLUMNS = {"x": [1.5, None, 2.5], "n": [1, 2, 3], "c": ["red", "blue", None], "b": [True, False, True]}
ARROW = pa.table(COLUMNS)
POLARS = pl.DataFrame(COLUMNS)
PANDAS = pd.DataFrame(COLUMNS, index=[5, 6, 7])


def relation():
    connection = duckdb.connect()
    connection.register("held", ARROW)
    return connection.sql("select * from held")


FRAMES = {
    "pandas": lambda: PANDAS,
    "pandas of Arrow": lambda: PANDAS.convert_dtypes(dtype_backend="pyarrow"),
    "pandas objects": lambda: PANDAS.astype({"c": object}),
    "polars": lambda: POLARS,
    "polars lazy": lambda: POLARS.lazy(),
    "Arrow": lambda: ARROW,
    "Arrow batch": lambda: ARROW.combine_chunks().to_batches()[0],
    "Arrow reader": lambda: ARROW.to_reader(),
    "narwhals": lambda: nw.from_native(POLARS),
    "narwhals pandas": lambda: nw.from_native(PANDAS),
    "DuckDB": relation,
    "dict": lambda: COLUMNS,
    "dict of arrays": lambda: {**COLUMNS, "x": np.array([1.5, np.nan, 2.5]), "n": pd.Series([1, 2, 3])},
}


def table_of(source):
    return pa.Table.from_batches(list(source.batches(dict.fromkeys(source.types, "as it is"), 2)))


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_gives_the_same_columns_again_and_again(kind):
    source = source_of(FRAMES[kind]())
    assert source.n_rows == 3
    assert source.typed
    for _ in range(2):
        assert table_of(source).to_pydict() == COLUMNS
    assert pa.types.is_integer(source.types["n"])


@pytest.mark.parametrize("kind", FRAMES)
def test_a_model_is_fitted_from_any_frame_as_from_its_file(kind, tmp_path):
    ARROW.to_pandas().to_parquet(tmp_path / "t.parquet")
    expected = assay.rows(tmp_path / "t.parquet", target="b")
    rows = assay.rows(FRAMES[kind](), target="b")
    assert rows.names == ("x", "n", "c")
    assert rows.categories == expected.categories == (None, None, ("blue", "red"))
    assert np.array_equal(rows.in_memory().X, expected.in_memory().X, equal_nan=True)
    models = [assay.NaiveBayes().fit(r) for r in (rows, expected)]
    assert encode(models[0].to_record()) == encode(models[1].to_record())


def test_categories_stay_categories():
    kinds = [
        pd.DataFrame({"c": pd.Categorical(["a", None, "b"])}),
        pl.DataFrame({"c": ["a", None, "b"]}, schema={"c": pl.Categorical}),
        pl.DataFrame({"c": ["a", None, "b"]}, schema={"c": pl.Enum(["b", "a"])}),
        pa.table({"c": pa.array(["a", None, "b"]).dictionary_encode()}),
    ]
    for frame in kinds:
        source = source_of(frame)
        assert pa.types.is_dictionary(source.types["c"])
        rows = assay.rows(frame)
        assert rows.categories == (("a", "b"),)
        assert np.array_equal(rows.in_memory().X[:, 0], [0, np.nan, 1], equal_nan=True)


def test_nullable_whole_numbers_stay_whole_and_times_stay_times():
    day = datetime.datetime(2026, 1, 31)
    source = source_of(pd.DataFrame({"n": pd.array([1, None], "Int64"), "t": [day, None], 7: [0.5, 1]}))
    assert list(source.types) == ["n", "t", "7"]
    assert source.types["n"] == pa.int64()
    assert pa.types.is_timestamp(source.types["t"])
    assert table_of(source)["n"].to_pylist() == [1, None]


def test_what_is_no_column_of_one_type_is_named():
    with pytest.raises(DataTypeError, match=r"Column 'bad' of the DataFrame cannot be read.*astype\(str\)"):
        source_of(pd.DataFrame({"good": [1, 2], "bad": ["x", 1]}))
    with pytest.raises(DataTypeError, match=r"Column 'bad' of the dict cannot be read"):
        source_of({"bad": ["x", 1]})
    with pytest.raises(DataError, match=r"different lengths: \{'a': 1, 'b': 2\}"):
        source_of({"a": [1], "b": [1, 2]})
    with pytest.raises(SchemaError, match=r"two columns named 'a'"):
        source_of(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@pytest.mark.parametrize("empty", [pd.DataFrame({"x": []}), pl.DataFrame(), {}])
def test_an_empty_frame_is_refused(empty):
    with pytest.raises(DataError, match=r"no rows|no columns"):
        source_of(empty)


@pytest.mark.parametrize("thing", [np.ones((2, 2)), 3, [1, 2], None, pd.Series([1, 2])])
def test_what_holds_no_table_is_refused(thing):
    with pytest.raises(DataTypeError, match=r"assay.rows takes the path of a file or a frame"):
        assay.rows(thing)
