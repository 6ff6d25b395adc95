"""A folder of mixed files says which of them are its table; an address is refused as it was given, with what to do."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from assay.errors import DataError
from assay.tables.sources.recognise import source_of
from tests.tables.test_csv_as_it_comes import table_of


def fill(folder, **files):
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)


def test_the_files_of_one_form_are_read_and_the_others_named(tmp_path):
    fill(tmp_path, a_csv="x,y\n1,a\n", b_csv="x,y\n2,b\n", readme_txt="hello", old_json='{"x": 1}\n')
    source = source_of(tmp_path)
    assert table_of(source).to_pydict() == {"x": [1, 2], "y": ["a", "b"]}
    assert "2 CSV files a.csv, b.csv are read as one table; not read: old.json, readme.txt" in source.notes[0]


def test_parquet_files_come_first_and_a_folder_of_one_form_needs_no_note(tmp_path):
    fill(tmp_path, a_csv="x\n1\n", b_csv="x\n2\n", c_csv="x\n3\n")
    assert not source_of(tmp_path).notes
    parquet.write_table(pa.table({"x": [7]}), tmp_path / "d.parquet")
    source = source_of(tmp_path)
    assert table_of(source)["x"].to_pylist() == [7]
    assert "not read: a.csv, b.csv, c.csv" in source.notes[0]


def test_as_many_of_two_forms_are_refused_with_a_pattern(tmp_path):
    fill(tmp_path, a_csv="x\n1\n", b_json='{"x": 1}\n')
    with pytest.raises(DataError, match=r"several forms \(CSV: a.csv; JSON: b.json\): give the file, or a pattern"):
        source_of(tmp_path)


def test_files_of_other_columns_are_named(tmp_path):
    fill(tmp_path, a_csv="x,y\n1,a\n", b_csv="x,z\n2,b\n")
    with pytest.raises(DataError, match=r"b\.csv' has other columns than .*a\.csv'"):
        source_of(tmp_path)


@pytest.mark.parametrize("address", ["https://example.org/a//b.csv?x=1", "s3://bucket/x.parquet", "ftp://h/x.csv"])
def test_an_address_is_refused_as_it_was_given_with_what_to_do(address):
    for data in (address, [address]):
        with pytest.raises(DataError) as caught:
            source_of(data)
        assert f"'{address}' is an address" in str(caught.value)
        assert "download it first" in str(caught.value)


def test_the_password_of_an_address_is_not_shown():
    with pytest.raises(DataError) as caught:
        source_of("https://ann:secret@example.org/a.csv")
    assert "secret" not in str(caught.value)
