"""What a thing is, told by its content: names mislead no one."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as parquet
import pytest
from PIL import Image

import assay
from assay.errors import DataError, ParameterError, SchemaError
from assay.tables.sources.recognise import source_of

FRAME = pd.DataFrame({"x": [1.5, 2.5, 3.5], "c": ["a", "b", "a"], "y": [0, 1, 0]})
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)


def stream(path):
    with ipc.new_stream(path, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=2)


def arrow_file(path):
    with ipc.new_file(path, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=2)


WRITERS = {
    "csv": lambda path: FRAME.to_csv(path, index=False),
    "tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "csv.gz": lambda path: path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode())),
    "jsonl": lambda path: FRAME.to_json(path, orient="records", lines=True),
    "json": lambda path: FRAME.to_json(path, orient="records"),
    "parquet": lambda path: FRAME.to_parquet(path),
    "arrow file": arrow_file,
    "arrow stream": stream,
    "feather": lambda path: feather.write_feather(FRAME, path, compression="zstd"),
    "feather lz4": lambda path: feather.write_feather(FRAME, path, compression="lz4"),
    "xlsx": lambda path: FRAME.to_excel(path, index=False, engine="openpyxl"),
}


@pytest.mark.parametrize("name", ["table", "table.csv", "table.txt"])
@pytest.mark.parametrize("form", WRITERS)
def test_a_file_is_what_it_holds_whatever_its_name(tmp_path, form, name):
    with (tmp_path / name).open("wb") as file:
        if form == "xlsx":
            WRITERS[form](file)
    if form != "xlsx":
        WRITERS[form](tmp_path / name)
    loaded = assay.rows(tmp_path / name, target="y")
    assert loaded.names == ("x", "c")
    assert np.array_equal(loaded.in_memory().X, [[1.5, 0], [2.5, 1], [3.5, 0]])
    assert loaded.in_memory().y.tolist() == [0, 1, 0]


@pytest.mark.parametrize("form", ["csv", "jsonl", "arrow file", "arrow stream", "parquet"])
def test_several_files_are_one_table(tmp_path, form):
    for name in ("b", "a"):
        WRITERS[form](tmp_path / name)
    assert assay.rows([tmp_path / "b", tmp_path / "a"], target="y").in_memory().y.tolist() == [0, 1, 0] * 2
    assert assay.rows(str(tmp_path / "[ab]"), target="y").in_memory().y.tolist() == [0, 1, 0] * 2


def test_files_of_several_kinds_or_columns_are_no_table(tmp_path):
    WRITERS["csv"](tmp_path / "a")
    WRITERS["jsonl"](tmp_path / "b")
    with pytest.raises(DataError, match=r"is text, but .* is json"):
        source_of([tmp_path / "a", tmp_path / "b"])
    WRITERS["arrow file"](tmp_path / "c")
    feather.write_feather(pa.table({"x": [1]}), str(tmp_path / "d"))
    with pytest.raises(SchemaError, match=r"other columns"):
        source_of([tmp_path / "c", tmp_path / "d"])


def read_column(path, name):
    return list(source_of(path).batches({name: "text"}, 10))


@pytest.mark.parametrize("form", ["arrow file", "arrow stream"])
def test_a_damaged_arrow_file_is_refused(tmp_path, form):
    path = tmp_path / "t.arrow"
    WRITERS[form](path)
    data = path.read_bytes()
    for size in (len(data) // 2, 12):
        path.write_bytes(data[:size])
        with pytest.raises(DataError, match=r"not a readable Arrow file"):
            read_column(path, "c")


def test_arrow_files_give_only_the_columns_asked_for(tmp_path):
    for form in ("arrow file", "arrow stream"):
        WRITERS[form](tmp_path / "t")
        batches = list(source_of(tmp_path / "t").batches({"y": "number", "x": "number"}, 10))
        assert [b.schema.names for b in batches] == [["y", "x"]] * 2


def test_folders_within_folders_of_parquet_files_are_read_and_their_names_pointed_out(tmp_path):
    for year in (2025, 2026):
        (tmp_path / f"year={year}").mkdir()
        FRAME.to_parquet(tmp_path / f"year={year}" / "part.parquet")
    (tmp_path / "_metadata.parquet").write_bytes(b"mark")
    source = source_of(tmp_path)
    assert source.n_rows == 6
    assert "'year'" in source.notes[0]
    assert parquet.ParquetFile(source.paths[0]).metadata is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "t"}, "table='t' is for databases"),
        ({"sheet": "s"}, "sheet='s' is for Excel"),
        ({"size": (2, 2)}, "size="),
    ],
)
def test_options_that_the_data_cannot_have_are_refused(tmp_path, options, message):
    WRITERS["csv"](tmp_path / "t.csv")
    for data in (tmp_path / "t.csv", FRAME):
        with pytest.raises(ParameterError, match=message):
            source_of(data, **options)


def test_old_feather_files_say_what_to_do(tmp_path):
    (tmp_path / "t.feather").write_bytes(b"FEA1" + b"\0" * 100)
    with pytest.raises(DataError, match=r"Feather file of version 1: write it again"):
        source_of(tmp_path / "t.feather")


def pictures(folder, sizes=((2, 3),), mode="L"):
    for c, name in enumerate(["cat", "dog"]):
        (folder / name).mkdir(parents=True)
        for i, (h, w) in enumerate(sizes):
            depth = () if mode == "L" else (3,)
            Image.fromarray(np.full((h, w, *depth), 100 * c + i, np.uint8)).save(folder / name / f"{i}.png")


def test_a_folder_of_classes_of_images_is_a_table_of_pixels(tmp_path):
    pictures(tmp_path, sizes=[(2, 3), (2, 3)])
    (tmp_path / "cat" / "notes.txt").write_text("no image")
    source = source_of(tmp_path)
    assert list(source.types) == ["class", "p0_0", "p0_1", "p0_2", "p1_0", "p1_1", "p1_2"]
    rows = assay.rows(tmp_path, target="class")
    held = rows.in_memory()
    assert held.y.tolist() == ["cat", "cat", "dog", "dog"]
    assert np.array_equal(held.X, np.repeat([[0], [1], [100], [101]], 6, axis=1))
    assert assay.GaussianNB().fit(rows).score(rows) == 1


def test_colours_are_three_columns_a_pixel_in_the_order_of_the_picture(tmp_path):
    pictures(tmp_path, mode="RGB")
    pixels = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    Image.fromarray(pixels).save(tmp_path / "dog" / "0.png")
    source = source_of(tmp_path)
    assert list(source.types)[1:5] == ["p0_0_r", "p0_0_g", "p0_0_b", "p0_1_r"]
    (batch,) = source.batches(dict.fromkeys(list(source.types)[1:], "number"), 100)
    assert [column[1].as_py() for column in batch.columns] == list(range(18))


def test_images_are_brought_to_the_size_that_most_have_or_that_is_asked_for(tmp_path):
    pictures(tmp_path, sizes=[(4, 4), (2, 3), (2, 3)])
    source = source_of(tmp_path)
    assert source.size == (2, 3)
    assert "resized to 2 × 3" in source.notes[0]
    assert len(source_of(tmp_path, size=(1, 1)).types) == 2
    with pytest.raises(ParameterError, match=r"\(height, width\)"):
        source_of(tmp_path, size=(0, 3))


def test_images_that_cannot_be_a_table_are_refused(tmp_path):
    pictures(tmp_path, sizes=[(300, 300)])
    with pytest.raises(DataError, match=r"300 × 300 pixels, more than 65536 columns: give a smaller size"):
        source_of(tmp_path)
    (tmp_path / "dog" / "bad.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"bad\.png' is not a readable image"):
        source_of(tmp_path, size=(2, 2))
    (tmp_path / "dog" / "bad.png").write_bytes((tmp_path / "dog" / "0.png").read_bytes()[:-40])
    with pytest.raises(DataError, match=r"bad\.png' is a damaged image"):
        list(source_of(tmp_path, size=(2, 2)).batches({"p0_0": "number"}, 10))
