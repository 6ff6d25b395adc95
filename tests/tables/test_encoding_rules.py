"""The rules of an encoding, one by one: what becomes of missing, unseen, rare, infinite and empty values."""

from __future__ import annotations

import datetime
import time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines import engine_for
from assay.engines.csr import SparseMatrix
from assay.errors import DataError, SchemaError
from assay.tables.encoding import Encoding, EncodingSpec, from_data, to_data
from assay.tables.encoding.columns import date_parts
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import TableRows, encode

NAN = float("nan")
PLAIN = EncodingSpec()


def learnt(fit: Any, encoding_spec: EncodingSpec = PLAIN, **asked: Any) -> Encoding:
    source = table_source(fit)
    schema = infer(source, **asked)
    rows = TableRows(source, schema)
    return Encoding.learn(engine_for(rows), schema, encoding_spec, rows)


def encoded(encoding: Encoding, data: Any) -> np.ndarray:
    X = encode(TableRows(table_source(data), encoding.schema).in_memory(), encoding).X
    return X.toarray() if isinstance(X, SparseMatrix) else X


def rows(encoding: Encoding, data: Any) -> dict[str, list[float]]:
    return {name: column.tolist() for name, column in zip(encoding.names, encoded(encoding, data).T)}


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_a_missing_number_is_the_mean_and_has_an_indicator_only_where_the_fit_had_some():
    encoding = learnt({"a": [1.0, None, 3.0], "b": [4.0, 5.0, 9.0]})
    assert rows(encoding, {"a": [None, 7.0], "b": [None, 1.0]}) == {
        "a": [2.0, 7.0],
        "b": [6.0, 1.0],
        "a is missing": [1.0, 0.0],
    }


def test_a_model_that_takes_missing_numbers_gets_them():
    encoding = learnt({"a": [1.0, None, 3.0], "b": [4.0, 5.0, 9.0]}, EncodingSpec(scaled=True, missing=True))
    np.testing.assert_array_equal(encoded(encoding, {"a": [None], "b": [6.0]}), [[NAN, 0.0]])
    assert encoding.names == ("a", "b")


def test_a_column_without_any_value_in_the_rows_of_the_fit_is_zero_and_has_no_indicator():
    table = pa.table({"a": pa.array([None, None, 1.0, 2.0]), "b": [1.0, 2.0, 3.0, 5.0]})
    schema = infer(table_source(table))
    first = TableRows(table_source(table.slice(0, 2)), schema)
    encoding = Encoding.learn(engine_for(first), schema, EncodingSpec(scaled=True), first)
    assert encoding.names == ("a", "b")
    assert rows(encoding, table)["a"] == [0.0, 0.0, 1.0, 2.0]


def test_columns_that_tell_no_rows_apart_are_left_out():
    data = {
        "row": list(range(30)),
        "same": [3] * 30,
        "nothing": [None] * 30,
        "x": [1.0, 2.5] * 15,
    }
    assert learnt(data).names == ("x",)


@pytest.mark.parametrize("at", [0, 7, 200_000])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_value_is_refused_with_its_column_and_row(at, value):
    x = np.arange(200_001.0) % 7 + 0.5
    x[at] = value
    with pytest.raises(DataError, match=rf"'far' is infinite in row {at} \(counted from 0"):
        learnt({"near": np.arange(len(x)) % 5 + 0.25, "far": x})


def test_numbers_too_large_to_square_are_refused_by_name_within_a_block_and_across_blocks():
    with pytest.raises(DataError, match="'big' holds numbers too large to square"):
        learnt({"x": [1.0, 2.5], "big": [1e200, -1e200]})
    far = np.where(np.arange(300_000) < 131_072, 1e160, -1e160)  # constant within the first block
    with pytest.raises(DataError, match="'big' holds numbers too large to square"):
        learnt({"x": np.arange(300_000) % 3 + 0.5, "big": far})


def test_single_precision_stays_single():
    table = pa.table({"a": pa.array([1.5, 2.5, None], pa.float32()), "b": pa.array([0.1, 0.2, 0.4], pa.float32())})
    encoding = learnt(table, EncodingSpec(scaled=True))
    assert encoded(encoding, table).dtype == np.float32
    assert encoded(encoding, table.append_column("c", pa.array([1, 2, 3]))).dtype == np.float32
    mixed = learnt(table.append_column("c", pa.array([1.5, 2.0, 4.0])))
    assert encoded(mixed, table.append_column("c", pa.array([1.5, 2.0, 4.0]))).dtype == np.float64


def test_one_row_can_be_learnt_from_and_nothing_is_divided_by_zero():
    schema = infer(table_source({"a": [1.0, 2.0], "c": ["x", "y"]}))
    one = TableRows(table_source({"a": [5.0], "c": ["y"]}), schema)
    encoding = Encoding.learn(engine_for(one), schema, EncodingSpec(scaled=True), one)
    assert rows(encoding, {"a": [5.0, 7.0], "c": ["y", "x"]}) == {"a": [0.0, 2.0], "c=y": [1.0, 0.0]}


@pytest.mark.parametrize("value", [0.1, 1e6 / 3, -7.3e-9, 1e15 + 0.3])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_column_that_is_constant_but_for_rounding_is_not_scaled_up(value, sparse):
    n = 1001  # the mean of many equal numbers is off in its last digit, and so are all deviations from it
    few = np.where(np.arange(n) % 2, value, np.nextafter(value, np.inf))
    for column in (np.full(n, value), few):
        frame = {"same": column, "told": np.arange(n) / 7.0, "colour": ["red", "blue", "green"] * 333 + ["red"] * 2}
        encoding = learnt(frame, EncodingSpec("one-hot", True, False, sparse), kinds={"same": "number"})
        assert encoding.statistics.deviation[0] == 1.0
        assert np.abs(encoded(encoding, frame)[:, 0]).max() <= 1e-12 * abs(value)
        assert encoding.statistics.deviation[1] == pytest.approx(np.std(frame["told"]))


@pytest.mark.parametrize("spread", [1e-9, 1e-11])
def test_a_column_that_varies_little_beside_its_mean_is_scaled_all_the_same(spread):
    column = 1.0 + spread * np.random.default_rng(0).normal(size=500)
    encoding = learnt({"a": column}, EncodingSpec("one-hot", True), kinds={"a": "number"})
    assert encoded(encoding, {"a": column}).std() == pytest.approx(1.0)


def test_truth_values_are_0_and_1_unscaled_and_a_missing_one_is_their_share():
    encoding = learnt({"b": [True, False, None, True, True]}, EncodingSpec(scaled=True))
    assert rows(encoding, {"b": [True, False, None]}) == {"b": [1.0, 0.0, 0.75], "b is missing": [0.0, 0.0, 1.0]}


# --- categories -------------------------------------------------------------------------------------------------------


def test_a_missing_category_has_its_own_column_only_where_the_fit_had_some():
    encoding = learnt({"c": ["a", None, "b"]})
    assert rows(encoding, {"c": [None, "a", "?"]}) == {
        "c=a": [0.0, 1.0, 0.0],
        "c=b": [0.0, 0.0, 0.0],
        "c is missing": [1.0, 0.0, 0.0],
    }
    without = learnt({"c": ["a", "b", "d"]})
    assert encoded(without, {"c": [None, "?"]}).tolist() == [[0.0] * 3] * 2


def test_a_category_of_two_levels_is_one_column_unless_a_value_is_missing():
    assert learnt({"c": ["no", "yes", "no"]}).names == ("c=yes",)
    assert learnt({"c": ["no", "yes", None]}).names == ("c=no", "c=yes", "c is missing")


def levels_table(levels: int) -> dict[str, list[str]]:
    return {"c": [f"{k:03d}" for k in range(levels) for _ in range(levels - k)]}


@pytest.mark.parametrize("categories", ["one-hot", "reference"])
@pytest.mark.parametrize("levels", [3, 63, 64, 65, 100])
def test_the_64_most_frequent_categories_have_columns_and_the_rest_share_one(levels, categories):
    encoding = learnt(levels_table(levels), EncodingSpec(categories))
    kept = [f"{k:03d}" for k in range(min(levels, 64))]
    dropped = kept.pop(0) if categories == "reference" else None
    other = ["c (other)"] if levels > 64 else []
    assert encoding.names == tuple([f"c={level}" for level in kept] + other)
    X = encoded(encoding, {"c": [*kept, "099", "never seen", "000"]})
    assert X[: len(kept), : len(kept)].tolist() == np.eye(len(kept)).tolist()
    rest = [0.0] * len(kept) + [1.0] * len(other)
    assert X[len(kept) : -1].tolist() == [rest, rest]
    assert X[-1].any() == (dropped is None), "the reference is told by zeros everywhere, (other) included"


def test_of_equally_frequent_categories_the_first_is_the_reference():
    assert learnt({"c": ["b", "a", "c"] * 2}, EncodingSpec("reference")).names == ("c=b", "c=c")
    assert learnt({"c": ["b", "a", "c", "c"]}, EncodingSpec("reference")).names == ("c=a", "c=b")


def test_a_level_that_the_rows_of_the_fit_lack_has_no_column():
    table = {"c": ["a", "b", "d", "e", "a", "b"]}
    schema = infer(table_source(table))
    some = TableRows(table_source({"c": ["a", "b", "e"]}), schema)
    encoding = Encoding.learn(engine_for(some), schema, EncodingSpec(), some)
    assert encoding.names == ("c=a", "c=b", "c=e")
    assert encoded(encoding, {"c": ["d"]}).tolist() == [[0.0, 0.0, 0.0]]
    codes = Encoding.learn(engine_for(some), schema, EncodingSpec("native"), some)
    assert encoded(codes, {"c": ["a", "d", "e", None, "?"]})[:, 0].tolist()[:3] == [0.0, 2.0, 3.0]
    assert codes.categories == (("a", "b", "d", "e"),)


def test_rows_of_a_category_beyond_the_schema_are_other_where_the_fit_had_them():
    table = levels_table(3)
    schema = infer(table_source(table))
    strange = TableRows(table_source({"c": ["000", "001", "?"]}), schema)
    encoding = Encoding.learn(engine_for(strange), schema, EncodingSpec(), strange)
    assert encoding.names == ("c=000", "c=001", "c (other)")
    assert encoded(encoding, {"c": ["002", "!", "000"]}).tolist() == [[0, 0, 1], [0, 0, 1], [1, 0, 0]]


def test_native_codes_are_places_among_the_levels_and_unknown_is_missing():
    data = {"c": ["b", None, "a", "?"]}
    native = learnt({"c": ["a", "b", "d", "d"]}, EncodingSpec("native"))
    np.testing.assert_array_equal(encoded(native, data), [[1.0], [NAN], [0.0], [NAN]])
    codes = learnt({"c": ["a", "b", "d", "d"]}, EncodingSpec("codes"))
    assert encoded(codes, data).tolist() == [[1.0], [-1.0], [0.0], [-1.0]]
    assert codes.categories is None


@pytest.mark.parametrize("dtype", [pa.float64(), pa.float32()])
def test_nan_in_floats_that_shall_be_categories_is_missing_and_no_category(dtype):
    table = pa.table({"f": pa.array([1.5, NAN, 2.5, None, 2.5], dtype), "x": [1.0, 2.0, 4.0, 7.0, 9.0]})
    encoding = learnt(table, kinds={"f": "category"})
    assert encoding.schema["f"].missing == 2
    assert encoding.names == ("x", "f=1.5", "f=2.5", "f is missing")
    assert encoded(encoding, table)[:, 3].tolist() == [0.0, 1.0, 0.0, 1.0, 0.0]


def test_whole_numbers_can_be_categories():
    frame = pd.DataFrame({"zip": [10, 20, 10, 30], "x": [1.0, 2.0, 3.5, 4.0]})
    encoding = learnt(frame, kinds={"zip": "category"})
    assert encoding.names == ("x", "zip=10", "zip=20", "zip=30")
    assert encoded(encoding, frame)[:, 1:].tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    stored = frame.assign(zip=frame["zip"].astype("category"))
    np.testing.assert_array_equal(encoded(learnt(stored), stored), encoded(encoding, frame))


def test_a_category_without_any_level_still_encodes():
    frame = pd.DataFrame({"c": pd.Categorical([None, None, None], categories=["a"]), "x": [1.0, 2.0, 4.0]})
    encoding = learnt(frame, kinds={"c": "category"})
    assert rows(encoding, frame)["x"] == [1.0, 2.0, 4.0]
    assert encoded(encoding, pd.DataFrame({"c": ["a"], "x": [1.0]})).shape == (1, len(encoding.names))


# --- dates ------------------------------------------------------------------------------------------------------------


@given(st.lists(st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2200, 1, 1)), min_size=2, unique=True))
def test_dates_are_days_month_weekday_and_hour(moments):
    frame = pd.DataFrame({"d": np.array(moments, "datetime64[us]"), "x": np.arange(len(moments)) + 0.5})
    encoding = learnt(frame)
    if not encoding.schema["d"].with_time:
        return
    assert encoding.names == ("x", "d.days", "d.month", "d.weekday", "d.hour")
    X, d = encoded(encoding, frame), frame["d"]
    days = (d - pd.Timestamp(0)) / pd.Timedelta(days=1)
    np.testing.assert_allclose(X[:, 1], days, rtol=0, atol=1e-9)
    for j, part in enumerate((d.dt.month, d.dt.day_of_week, d.dt.hour), start=2):
        np.testing.assert_array_equal(X[:, j], part)


def test_a_missing_date_has_one_indicator_and_the_means_of_all_its_parts():
    table = pa.table({"d": pa.array([datetime.date(2024, 1, 1), None, datetime.date(2024, 3, 3)]), "x": [1.0, 2, 4]})
    encoding = learnt(table)
    assert encoding.names == ("x", "d.days", "d.month", "d.weekday", "d is missing")
    X = encoded(encoding, table)
    np.testing.assert_allclose(X[1, 1:], [19754.0, 2.0, 3.0, 1.0])
    assert X[:, 4].tolist() == [0.0, 1.0, 0.0]


def test_parts_of_a_missing_moment_are_missing():
    assert np.isnan(date_parts(np.array([NAN]), with_time=True)).all()


# --- many columns, and what is stored ---------------------------------------------------------------------------------


def test_ten_thousand_columns_take_a_few_seconds():
    rng = np.random.default_rng(0)
    words = np.array(["a", "b", "c"])
    data = {f"x{j}": rng.normal(size=40) for j in range(5000)}
    data |= {f"c{j}": words[rng.integers(0, 3, 40)] for j in range(5000)}
    start = time.process_time()
    encoding = learnt(data, EncodingSpec("one-hot", True))
    X = encoded(encoding, data)
    assert time.process_time() - start < 15
    assert X.shape == (40, len(encoding.names))
    np.testing.assert_allclose(X[:, :5000].mean(axis=0), 0, atol=1e-12)


@given(st.lists(st.tuples(st.floats(-1e9, 1e9) | st.none(), st.sampled_from("abc") | st.none()), min_size=1))
def test_an_encoding_survives_being_stored_bit_for_bit(pairs):
    data = {"x": pa.array([p[0] for p in pairs], pa.float64()), "c": pa.array([p[1] for p in pairs], pa.string())}
    encoding = learnt(pa.table(data), EncodingSpec("one-hot", True), kinds={"x": "number", "c": "category"})
    again = from_data(to_data(encoding))
    assert again.names == encoding.names
    assert to_data(again) == to_data(encoding)
    np.testing.assert_array_equal(encoded(again, pa.table(data)), encoded(encoding, pa.table(data)))


def test_words_are_counted_whatever_their_case_and_a_text_without_words_is_zero():
    texts = ["Free prize, FREE!", "no free lunch in here", "prize of the lunch", None, "!!! ?", "one-off rarity"]
    encoding = learnt({"t": texts}, EncodingSpec(sparse=True), kinds={"t": "text"})
    X = encoded(encoding, {"t": texts})
    length = np.linalg.norm(X, axis=1)
    np.testing.assert_allclose(length, [1, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(X[:1], encoded(encoding, {"t": ["prize FREE free rarity unheard"]}))


def test_no_two_encoded_columns_share_a_name_whatever_the_columns_of_the_table_are_called():
    data = {"a": [1.0, None, 4.0], "a is missing": [1.0, 2.0, 4.0], "c": ["x", "y", "z"], "c=x": [0.5, 2.0, 4.0]}
    encoding = learnt(data)
    assert encoding.names == ("a", "a is missing", "c=x", "a is missing (2)", "c=x (2)", "c=y", "c=z")
    assert rows(encoding, data)["a is missing (2)"] == [0.0, 1.0, 0.0]


def test_more_columns_of_text_than_can_be_counted_are_refused_in_words():
    texts = [f"some words of row {i}" for i in range(3)]
    with pytest.raises(DataError, match="1001 columns hold text, and at most 1000"):
        learnt({f"t{j}": texts for j in range(1001)})


def test_a_value_that_is_no_truth_value_or_date_is_named_with_its_row():
    encoding = learnt({"b": [True, False, True], "x": [1.0, 2.0, 3.5]})
    with pytest.raises(SchemaError, match="'b' holds 2 in row 1"):
        encoded(encoding, {"b": [0, 2, 1], "x": [1.0, 2.0, 3.0]})
    day = learnt({"d": np.array(["2024-01-01", "2024-01-03"], "datetime64[D]"), "x": [1.0, 2.5]})
    with pytest.raises(SchemaError, match="'d' holds 'soon' in row 1"):
        encoded(day, {"d": ["2024-01-01", "soon"], "x": [1.0, 2.0]})
