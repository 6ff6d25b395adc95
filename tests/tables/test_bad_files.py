"""Files that cannot be used: each gets a message that says what is wrong, where, and what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import assay
from assay.errors import DataError, DataTypeError, ParameterError, SchemaError
from assay.tables.sources.recognise import source_of

GOOD = "size,mass,coin\n1,2,a\n3,4,b\n"


def read_all(*args, **options):
    rows = assay.rows(*args, **options)
    for part in rows.blocks():
        part.load()


BAD_TEXT = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n", "is empty"),
    "header only": (b"a,b\n", "header but no rows"),
    "ragged short": (b"a,b\n1,2\n3\n", "1 fields where the header has 2, in row 3"),
    "ragged long": (b"a,b\n1,2\n3,4,5\n", "3 fields where the header has 2, in row 3"),
    "binary": (b"a,b\n\0\x01\x02,1\n", "binary file, not CSV"),
    "quote unclosed": (b'a,b\n1,x\n2,"y\n3,z\n', 'quote opens in line 3 .* not closed: "y. Close it, or double it'),
    "spreadsheet": (b"PK\x03\x04 and so on", "binary file.*Save the sheet as CSV"),
}


@pytest.mark.parametrize("what", BAD_TEXT)
def test_a_text_file_that_is_no_table_is_refused(tmp_path, what):
    data, message = BAD_TEXT[what]
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(DataError, match=f"(?s){message}"):
        read_all(tmp_path / "t.csv")


def test_a_value_of_another_type_far_down_names_column_row_and_value(tmp_path):
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *["1.5,0"] * 1_100_000, "oops,1"]))
    with pytest.raises(DataError, match=r"'x' should hold a number.*'oops' in row 1100002.*leave it empty"):
        read_all(tmp_path / "t.csv", target="y")


def test_text_where_the_model_knows_numbers_names_the_cell(tmp_path):
    (tmp_path / "t.csv").write_text("x\nred\n")
    pd.DataFrame({"x": ["red"]}).to_parquet(tmp_path / "t.parquet")
    model = assay.GaussianNB().fit(pd.DataFrame({"x": [0.0, 1.0]}), [0, 1])
    with pytest.raises(DataError, match=r"'x' should hold a number.*'red' in row 2"):
        model.predict(assay.rows(tmp_path / "t.csv"))
    with pytest.raises(SchemaError, match=r"'x' holds text.*fitted on numbers"):
        model.predict(assay.rows(tmp_path / "t.parquet"))


def test_missing_files_and_folders_are_named(tmp_path):
    (tmp_path / "coins.csv").write_text(GOOD)
    with pytest.raises(DataError, match=r"no file .*coin\.csv.*Did you mean .*coins\.csv"):
        assay.rows(tmp_path / "coin.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"is a directory without tables"):
        assay.rows(tmp_path / "empty")
    with pytest.raises(DataError, match=r"No file matches"):
        assay.rows(str(tmp_path / "*.parquet"))
    with pytest.raises(DataTypeError, match=r"path of a file or a frame, not ndarray"):
        assay.rows(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "coins"}, "no column 'coins' .the target.. Did you mean 'coin'"),
        ({"target": "coin", "weight": "mas"}, "no column 'mas' .the weight.. Did you mean 'mass'"),
        ({"features": ["sise"]}, "no column 'sise' .a feature.. Did you mean 'size'"),
        ({"target": "coin", "features": ["size", "coin"]}, "both the target and a feature"),
        ({"weight": "mass", "features": ["size", "mass"]}, "both the weight and a feature"),
        ({"target": "mass", "weight": "mass"}, "'mass' cannot be both the target and the weight"),
        ({"features": ["size", "size"]}, "two columns named 'size'"),
        ({"target": "coin", "features": []}, "no column left to learn from"),
    ],
)
def test_columns_that_are_not_there_come_with_the_nearest_name(tmp_path, options, message):
    (tmp_path / "t.csv").write_text(GOOD)
    with pytest.raises(SchemaError, match=message):
        assay.rows(tmp_path / "t.csv", **options)


def test_columns_that_the_model_needs_come_with_the_nearest_name(tmp_path):
    (tmp_path / "t.csv").write_text("sise,mass\n1,2\n")
    model = assay.GaussianNB().fit(pd.DataFrame({"size": [0.0, 1.0], "mass": [1.0, 2.0]}), [0, 1])
    with pytest.raises(SchemaError, match=r"no column 'size' .the model was fitted on it.. Did you mean 'sise'"):
        model.predict(assay.rows(tmp_path / "t.csv"))


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "empty"])
def test_a_corrupt_parquet_file_is_refused_without_a_crash(tmp_path, damage):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": np.arange(1000.0), "y": np.arange(1000) % 2}).to_parquet(path)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "flipped":
        data[4:400] = bytes(b ^ 0x5A for b in data[4:400])
    else:
        data = bytearray(b"no parquet at all" if damage == "text" else b"")
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"not a readable Parquet file"):
        read_all(path, target="y")


def test_a_parquet_file_without_rows_is_refused(tmp_path):
    parquet.write_table(pa.table({"x": pa.array([], pa.float64())}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"columns but no rows"):
        assay.rows(tmp_path / "t.parquet")


def test_files_that_are_read_as_one_table_need_the_same_columns(tmp_path):
    pd.DataFrame({"x": [1.0]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"x": ["one"]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match=r"'x' is double in .* but .*string in"):
        assay.rows([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("z\n1\n")
    with pytest.raises(DataError, match=r"other columns"):
        assay.rows([tmp_path / "a.csv", tmp_path / "b.csv"])


@pytest.mark.parametrize("missing", ["", "NaN"])
def test_a_missing_target_is_refused_with_its_row(tmp_path, missing):
    (tmp_path / "t.csv").write_text(f"x,y,z\n1,0.5,a\n2,1.5,b\n3,{missing},\n")
    for target in ("y", "z"):
        with pytest.raises(DataError, match=f"target '{target}' is missing in row 2"):
            read_all(tmp_path / "t.csv", target=target)


@pytest.mark.parametrize(
    ("weight", "message"), [("-1", "is -1 in row 1"), ("", "is missing in row 1"), ("inf", "is inf in row 1")]
)
def test_impossible_weights_are_refused_with_their_row(tmp_path, weight, message):
    (tmp_path / "t.csv").write_text(f"x,y,w\n1,0,1\n2,1,{weight}\n")
    with pytest.raises(DataError, match=f"weight 'w' {message}"):
        read_all(tmp_path / "t.csv", target="y", weight="w")


def test_a_text_column_that_names_every_row_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.tables.file_rows.MOST_LEVELS", 10)
    pd.DataFrame({"name": [f"n{i}" for i in range(20)], "y": [0, 1] * 10}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"'name' holds more than 10 different texts"):
        read_all(tmp_path / "t.parquet", target="y")


@pytest.mark.parametrize("delimiter", [";;", "", "é", "\n"])
def test_a_delimiter_is_one_character(tmp_path, delimiter):
    (tmp_path / "t.csv").write_text(GOOD)
    with pytest.raises(ParameterError, match=r"delimiter=.* is not possible: it is one ASCII character"):
        assay.rows(tmp_path / "t.csv", delimiter=delimiter)


def png(width: int, height: int, colour: int, pixels: bytes) -> bytes:
    """A PNG that claims a size, of 8 bits grey (0) or by a palette (3)."""
    import struct
    import zlib

    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
    palette = part(b"PLTE", bytes(range(6))) if colour == 3 else b""
    return b"\x89PNG\r\n\x1a\n" + head + palette + part(b"IDAT", zlib.compress(pixels)) + part(b"IEND", b"")


@pytest.mark.parametrize(
    "image", [png(60_000, 60_000, 0, b""), png(20, 20, 3, b""), png(20, 20, 0, b"ab")], ids=["claims", "cut", "short"]
)
def test_an_image_that_lies_about_its_pixels_is_refused(tmp_path, image):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.png").write_bytes(image)
    with pytest.raises(DataError, match=r"1\.png"):
        list(source_of(tmp_path).batches({"p0_0": "as it is"}, 10))
