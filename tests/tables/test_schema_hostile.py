"""Tables that break naive code: 10 000 columns, one row, nothing but gaps, huge texts; and counts of different values."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tables import rows
from assay.tables.schema.schema import infer
from assay.tables.schema.tallies import Distinct, hash_numbers, text_hashes

MB = 1 << 20


def source(columns):
    return rows(pa.table(columns)).source


def test_ten_thousand_columns_are_told_apart_in_little_memory(tmp_path):
    rng = np.random.default_rng(0)
    head = ",".join(f"c{j}" for j in range(10_000))
    lines = [",".join(map(str, row)) for row in rng.integers(0, 1000, (30, 10_000))]
    (tmp_path / "wide.csv").write_text("\n".join([head, *lines]) + "\n")
    opened = rows(tmp_path / "wide.csv").source
    tracemalloc.start()
    schema = infer(opened)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {c.kind for c in schema.columns} == {"number"}
    assert peak < 100 * MB
    assert len(str(schema).splitlines()) < 110
    assert "and 9900 more columns" in str(schema)


def test_memory_stays_bounded_however_many_values_differ():
    n = 400_000
    opened = source({"n": np.random.default_rng(0).normal(size=n), "t": [f"{i}-{'x' * 80}" for i in range(n)]})
    tracemalloc.start()
    schema = infer(opened)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * MB
    assert [c.about for c in schema.columns] == [True, True]
    assert all(abs(c.distinct / n - 1) < 0.05 for c in schema.columns)


def test_one_row_has_constants_alone():
    schema = infer(source({"x": [1.5], "t": ["a"], "b": [True], "g": [None]}))
    assert {c.kind for c in schema.columns} == {"constant"}
    assert schema.used == ()
    assert "1 row, 4 columns: none of use." in str(schema)


def test_a_file_of_one_missing_column_is_all_constant(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n,1\n,2\n,3\n")
    column = infer(rows(tmp_path / "t.csv").source, target="y")["x"]
    assert (column.kind, column.missing, column.distinct, column.why) == ("constant", 3, 0, "no value at all")


def test_a_column_that_begins_with_gaps_is_read_to_its_end(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + ",1\n" * 70_000 + "2.5,1\n3.5,0\n")
    column = infer(rows(tmp_path / "t.csv").source, target="y")["x"]
    assert (column.kind, column.missing, column.low, column.high) == ("number", 70_000, 2.5, 3.5)


def test_long_texts_are_counted_without_being_kept():
    texts = ["a" * 300_000 + str(i % 7) for i in range(40)]  # longer than is hashed: told apart by length alone
    assert infer(source({"t": texts}))["t"].distinct >= 1
    assert infer(source({"t": ["b" * i for i in range(1, 400)]}))["t"].distinct == 399


def test_a_counter_is_one_however_the_batches_fall():
    n = 200_000  # several steps of the pass
    schema = infer(source({"row": np.arange(1, n + 1), "x": np.random.default_rng(0).normal(size=n)}))
    assert schema["row"].kind == "id"
    broken = np.arange(1, n + 1)
    broken[150_000] = 7
    assert infer(source({"row": broken, "x": broken * 0.5}))["row"].kind == "number"


@pytest.mark.parametrize("n", [10, 5000, 99_999])
def test_counts_are_exact_up_to_the_cap(n):
    count = Distinct(100_000)
    x = np.random.default_rng(1).permutation(np.repeat(np.arange(n), 3)) / 7
    for part in np.array_split(x, 11):
        count.add(hash_numbers(part))
    assert (count.count, count.about) == (n, False)


@pytest.mark.parametrize("n", [200_000, 1_000_000])
def test_beyond_the_cap_the_count_is_near_and_free_of_order(n):
    found = []
    for seed in range(2):
        count = Distinct(100_000)
        for part in np.array_split(np.random.default_rng(seed).permutation(n), 20):
            count.add(hash_numbers(part.astype(float)))
        found.append(count.count)
        assert count.about
    assert found[0] == found[1]
    assert abs(found[0] / n - 1) < 4 / np.sqrt(2**14)


def test_zero_is_zero_with_either_sign():
    assert hash_numbers(np.array([0.0]))[0] == hash_numbers(np.array([-0.0]))[0]
    assert hash_numbers(np.array([0.5], np.float32))[0] == hash_numbers(np.array([0.5]))[0]


@given(st.lists(st.text(max_size=12), min_size=1, max_size=60), st.integers(0, 10))
def test_texts_hash_alike_exactly_where_they_are_alike(texts, skip):
    array = pa.array(["padding"] * skip + texts, pa.large_string()).slice(skip)
    hashes = text_hashes(array).tolist()
    assert len(set(hashes)) == len(set(texts))
    assert dict(zip(texts, hashes)) == dict(zip(reversed(texts), reversed(hashes)))
