"""What the columns of a file become: numbers, categories, targets, weights."""

from __future__ import annotations

import datetime
import decimal
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import assay
from assay.engines import block_rows
from assay.errors import DataError, SchemaError
from assay.tables.sources.source import cut


def load(rows):
    return rows.in_memory()


def test_numbers_of_every_kind_become_floats_and_missing_becomes_nan(tmp_path):
    table = pa.table(
        {
            "int": pa.array([1, None, 3], pa.int16()),
            "float": [0.5, float("nan"), None],
            "bool": [True, False, None],
            "decimal": [decimal.Decimal("1.25"), None, decimal.Decimal("2.50")],
            "half": pa.array(np.array([1, 2, 3], dtype=np.float16)),
            "nothing": pa.nulls(3),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    X = load(assay.rows(tmp_path / "t.parquet")).X
    nan = np.nan
    expected = [[1, 0.5, 1, 1.25, 1, nan], [nan, nan, 0, nan, 2, nan], [3, nan, nan, 2.5, 3, nan]]
    assert np.array_equal(X, np.array(expected), equal_nan=True)
    assert X.flags.c_contiguous


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["b", "a"], "U"), ([2, 1], "i"), ([0.5, 1.5], "f"), ([True, False], "b")],
)
def test_targets_stay_what_they_are(tmp_path, values, kind):
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": values})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for name in ("t.parquet", "t.csv"):
        y = load(assay.rows(tmp_path / name, target="y")).y
        assert y.dtype.kind == kind
        assert y.tolist() == values


def test_categories_are_the_sorted_texts_and_missing_is_nan(tmp_path):
    (tmp_path / "t.csv").write_text("colour,y\nred,1\nblue,0\n,1\nred,0\n")
    rows = assay.rows(tmp_path / "t.csv", target="y")
    assert rows.categories == (("blue", "red"),)
    assert np.array_equal(load(rows).X[:, 0], [1, 0, np.nan, 1], equal_nan=True)


def test_a_fitted_model_picks_its_columns_by_name_and_its_own_categories(tmp_path):
    (tmp_path / "new.csv").write_text("note;size;colour\n;2;green\nx;3;red\n")
    rows = assay.rows(tmp_path / "new.csv").fitted_to(("colour", "size"), (("blue", "red"), None))
    assert rows.names == ("colour", "size")
    assert np.array_equal(load(rows).X, [[np.nan, 2], [1, 3]], equal_nan=True)


def test_a_category_that_looks_like_a_number_in_new_rows_is_read_as_the_text_it_was(tmp_path):
    (tmp_path / "new.csv").write_text("code\n1\n2\n")
    pd.DataFrame({"code": [1, 2]}).to_parquet(tmp_path / "new.parquet")
    for name in ("new.csv", "new.parquet"):
        rows = assay.rows(tmp_path / name).fitted_to(("code",), (("1", "2", "x"),))
        assert load(rows).X[:, 0].tolist() == [0, 1]


def test_whole_numbers_may_go_on_as_decimals_far_down_the_file(tmp_path):
    lines = ["x,y"] + ["1,0"] * 1_200_000 + ["2.5,1"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert load(assay.rows(tmp_path / "t.csv", target="y")).X[-1, 0] == 2.5


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_in_the_file(tmp_path, delimiter):
    text = 'a,b,"c d"\n1,2,"x, y; z"\n3,4,w\n'
    frame = pd.read_csv(io.StringIO(text))
    frame.to_csv(tmp_path / "t.csv", sep=delimiter, index=False)
    assert assay.rows(tmp_path / "t.csv").names == ("a", "b", "c d")


def test_quoted_line_ends_byte_order_marks_and_compression_are_read(tmp_path):
    import gzip

    text = '\ufeffa,b\n"x\ny",1\nz,2\n'
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    rows = assay.rows(tmp_path / "t.csv.gz")
    assert rows.names == ("a", "b")
    assert rows.categories == (("x\ny", "z"), None)


def test_the_row_labels_that_pandas_writes_are_no_feature(tmp_path):
    pd.DataFrame({"x": [1.0, 2.0]}, index=[5, 9]).to_parquet(tmp_path / "t.parquet")
    assert assay.rows(tmp_path / "t.parquet").names == ("x",)


def test_dates_are_refused_unless_left_out(tmp_path):
    day = datetime.date(2020, 1, 1)
    pd.DataFrame({"x": [1.0, 2.0], "day": [day, day], "y": [0, 1]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"'day' holds date32.*days since"):
        list(assay.rows(tmp_path / "t.parquet", target="y").blocks())
    assert load(assay.rows(tmp_path / "t.parquet", target="y", features=["x"])).X.shape == (2, 1)


def test_a_model_of_numbers_refuses_text_and_says_which_column(tmp_path):
    (tmp_path / "t.csv").write_text("size,colour,y\n1,red,0\n2,blue,1\n")
    with pytest.raises(DataError, match=r"colour"):
        assay.LinearRegression().fit(assay.rows(tmp_path / "t.csv", target="y"))


def test_targets_are_read_without_the_other_columns(tmp_path):
    pd.DataFrame({"x": range(10), "y": [0, 1] * 5}).to_parquet(tmp_path / "t.parquet")
    (part,) = assay.rows(tmp_path / "t.parquet", target="y").targets()
    block = part.load()
    assert block.X.shape == (10, 0)
    assert block.y.tolist() == [0, 1] * 5


def test_batches_of_any_length_are_cut_into_blocks_of_one_length():
    table = pa.table({"x": range(1000)})
    batches = [*table.slice(0, 3).to_batches(), *table.slice(3, 900).to_batches(), *table.slice(903).to_batches()]
    blocks = list(cut(batches, 256))
    assert [start for start, _ in blocks] == [0, 256, 512, 768]
    assert [sum(b.num_rows for b in held) for _, held in blocks] == [256, 256, 256, 232]
    assert pa.Table.from_batches([b for _, held in blocks for b in held]).equals(table.combine_chunks())


def test_blocks_of_a_file_have_the_rows_that_their_width_says(tmp_path):
    pd.DataFrame({"x": np.arange(200_000.0)}).to_parquet(tmp_path / "t.parquet", row_group_size=1000)
    sizes = [len(part.load().X) for part in assay.rows(tmp_path / "t.parquet").blocks()]
    assert set(sizes[:-1]) == {block_rows(1)}
    assert sum(sizes) == 200_000


def test_the_number_of_rows_is_known_once_a_csv_file_has_been_read(tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n2\n3\n")
    rows = assay.rows(tmp_path / "t.csv")
    assert rows.n_rows is None
    list(rows.blocks())
    assert rows.n_rows == 3


@pytest.mark.parametrize("before", ["", "\n\n", "\r\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("first", "last"), [("1", "3"), ("red", "blue")])
def test_a_blank_line_in_a_file_of_one_column_is_a_row_with_a_missing_value(tmp_path, before, end, first, last):
    (tmp_path / "t.csv").write_bytes((before + end.join(["x", first, "", last, ""])).encode())
    rows = assay.rows(tmp_path / "t.csv")
    assert rows.names == ("x",)
    assert np.isnan(load(rows).X[:, 0]).tolist() == [False, True, False]


def test_a_blank_line_between_rows_of_several_columns_is_no_row(tmp_path):
    (tmp_path / "t.csv").write_text("\nx,z\n1,2\n\n3,4\n\n")
    assert load(assay.rows(tmp_path / "t.csv")).X.tolist() == [[1, 2], [3, 4]]


def test_a_target_of_another_kind_than_the_models_classes_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,7\n2,8\n")
    rows = assay.rows(tmp_path / "t.csv", target="y")
    assert load(rows.labelled_like(np.array(["7", "8", "x"]))).y.tolist() == ["7", "8"]
    (tmp_path / "u.csv").write_text("x,y\n1,a\n2,b\n")
    with pytest.raises(SchemaError, match=r"classes are numbers, such as 7, but the target 'y' holds text"):
        assay.rows(tmp_path / "u.csv", target="y").labelled_like(np.array([7, 8]))


def test_memory_stays_flat_however_long_the_file(tmp_path):
    n = 1_000_000
    rng = np.random.default_rng(0)
    parquet.write_table(
        pa.table({**{f"x{j}": rng.normal(size=n) for j in range(20)}, "y": rng.integers(0, 2, n)}),
        tmp_path / "t.parquet",
    )
    script = """
import resource, sys
import assay
first = assay.GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
rows = assay.rows(sys.argv[1], target="y")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with assay.engine("stream", workers=2):
    assay.GaussianNB().fit(rows)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "t.parquet")], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 120  # MB; the table itself takes 168
