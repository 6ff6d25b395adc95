"""CSV as people have it: encodings, decimal commas, spellings of missing values, odd quotes, wide tables."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import math
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.errors import DataError
from assay.tables.sources.recognise import source_of
from assay.tables.sources.text import Unclosed, last_line_end, quoted


def table_of(source, reading="as it is"):
    return pa.Table.from_batches(list(source.batches(dict.fromkeys(source.types, reading), 1000)))


def opened(tmp_path, text, **options):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return source_of(path, **options)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_latin_bytes_are_read_as_latin_text_with_a_note(tmp_path, encoding):
    source = opened(tmp_path, "größe,stadt\n2,München\n".encode(encoding))
    assert list(source.types) == ["größe", "stadt"]
    assert table_of(source)["stadt"].to_pylist() == ["München"]
    assert "not UTF-8" in source.notes[0]


def test_latin_bytes_far_down_are_refused_with_their_row(tmp_path):
    lines = ["a,b", *["1,ab"] * 1_200_000]
    text = "\n".join(lines).encode() + "\n1,ö\n".encode("latin-1")
    with pytest.raises(DataError, match=r"'b' is not UTF-8 text in row 1200002 of .*iconv"):
        table_of(opened(tmp_path, text))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_byte_order_marks_are_obeyed_and_not_read(tmp_path, encoding):
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    source = opened(tmp_path, (mark + "größe,b\n1,ä\n").encode(encoding))
    assert table_of(source).to_pydict() == {"größe": [1], "b": ["ä"]}
    assert not source.notes


def test_decimal_commas_are_read_where_the_delimiter_is_another(tmp_path):
    source = opened(tmp_path, "x;y;name\n1,5;2;a,b\n-0,25;3;c\n;4;d\n")
    assert table_of(source).to_pydict() == {"x": [1.5, -0.25, None], "y": [2, 3, 4], "name": ["a,b", "c", "d"]}
    assert "decimal comma" in source.notes[0]
    assert not opened(tmp_path, "x;name\n1.5;a,b\n").notes


@pytest.mark.parametrize(
    "spelling", ["", " ", "?", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>"]
)
def test_the_usual_spellings_are_missing_in_every_column(tmp_path, spelling):
    source = opened(tmp_path, f"x,c,b\n1.5,red,true\n{spelling},{spelling},{spelling}\n2,blue,false\n")
    assert table_of(source).to_pydict() == {
        "x": [1.5, None, 2],
        "c": ["red", None, "blue"],
        "b": [True, None, False],
    }


@pytest.mark.parametrize("spelling", ["-", "--", ".", "*"])
def test_a_dash_is_missing_among_numbers_and_a_text_among_texts(tmp_path, spelling):
    source = opened(tmp_path, f"x,class,n\n1.5,+,NA\n{spelling},{spelling},1\n2,NA,\n")
    assert table_of(source).to_pydict() == {"x": [1.5, None, 2], "class": ["+", spelling, None], "n": [None, 1, None]}
    assert table_of(opened(tmp_path, f"x,y\n+5,1\n{spelling},2\n"))["x"].to_pylist() == ["+5", spelling]


def test_quotes_around_numbers_and_spaces_change_nothing(tmp_path):
    source = opened(tmp_path, 'x,y\n"1.5", 2\n"","3 "\n')
    assert table_of(source, "number").to_pydict() == {"x": [1.5, None], "y": [2, 3]}


def test_dates_in_iso_and_truth_values_have_types_and_yes_is_text(tmp_path):
    source = opened(
        tmp_path, "d,t,b,w\n2026-01-31,2026-01-31 10:00:00,TRUE,yes\n2026-02-01,2026-01-31T11:00:00,False,no\n"
    )
    assert list(map(str, source.types.values())) == ["date32[day]", "timestamp[s]", "bool", "string"]
    held = table_of(source)
    assert held["d"][0].as_py() == datetime.date(2026, 1, 31)
    assert held["t"][1].as_py() == datetime.datetime(2026, 1, 31, 11)


def test_infinite_values_arrive_as_they_are(tmp_path):
    assert table_of(opened(tmp_path, "x\ninf\n-Infinity\n1e400\n"))["x"].to_pylist() == [math.inf, -math.inf, math.inf]


def test_a_column_that_is_missing_throughout_is_numbers_that_are_missing(tmp_path):
    source = opened(tmp_path, "x,y\n,1\nNA,2\n")
    assert table_of(source, "number")["x"].to_pylist() == [None, None]
    X = assay.rows(tmp_path / "t.csv", target="y").in_memory().X
    assert np.isnan(X).all()


def test_one_row_is_a_table(tmp_path):
    assert table_of(opened(tmp_path, "x,y\n1,a")).to_pydict() == {"x": [1], "y": ["a"]}


def test_separators_between_thousands_are_read_and_their_characters_kept(tmp_path):
    source = opened(tmp_path, 'x,y\n"1,234",1\n"12,345.5",2\n')
    assert table_of(source)["x"].to_pylist() == [1234, 12345.5]
    assert table_of(source, "text")["x"].to_pylist() == ["1,234", "12,345.5"]
    assert "x 12,345.5 → 12345.5" in source.notes[0]


def test_a_single_text_among_numbers_makes_a_column_of_text(tmp_path):
    source = opened(tmp_path, "x\n" + "1.5\n" * 50 + "oops\n")
    assert source.types == {"x": pa.string()}


def test_a_later_value_of_another_type_names_row_column_value_and_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.tables.sources.delimited.GUESSED_FROM", 1 << 10)
    monkeypatch.setattr("assay.tables.sources.delimited.READ_AT_ONCE", 1 << 10)
    lines = ["x,note", '1,"two\nlines"', "", *["1,a"] * 2000, "oops,b", *["1,a"] * 2000]
    with pytest.raises(DataError, match=r"'x' should .*'oops' in row 2003 \(line 2005\) of .*--kind x=category"):
        table_of(opened(tmp_path, "\n".join(lines)))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,"x\n2,y\n3,"z"\n4,w\n', 2),
        ('a,b\n1,x\n"2,y\n3,z\n', 3),
        ('a,"b\n1,x\n', 1),
        ('a,b\n1,5" pipe\n2,"x', 3),
    ],
)
def test_a_quote_that_is_not_closed_is_named_with_its_line(tmp_path, text, line):
    with pytest.raises(DataError, match=f"A quote opens in line {line} of .* and is not closed"):
        table_of(opened(tmp_path, text))


def test_a_row_of_other_length_that_goes_over_lines_is_told_by_its_first_line(tmp_path):
    with pytest.raises(
        DataError, match=r"3 fields where the header has 2, in row 3(?s:.*)begins in line 3 and goes on over"
    ):
        table_of(opened(tmp_path, 'a,b\n1,2\n"x\ny",2,3\n'))


def test_quotes_within_a_value_are_characters(tmp_path):
    held = table_of(opened(tmp_path, 'a,b\n5" pipe,1\n"say ""hi""",2\n6" pipe,3\n'))
    assert held["a"].to_pylist() == ['5" pipe', 'say "hi"', '6" pipe']


def test_a_wrong_delimiter_is_named_with_the_right_one(tmp_path):
    with pytest.raises(DataError, match=r"delimiter=';' leaves .* single column 'a,b': it seems to be cut at ','"):
        opened(tmp_path, "a,b\n1,2\n", delimiter=";")


def test_columns_without_a_name_get_one_and_a_header_of_numbers_is_pointed_out(tmp_path):
    assert list(opened(tmp_path, ",x\n0,1\n").types) == ["column 1", "x"]
    assert "holds numbers only" in opened(tmp_path, "1,2.5\n3,4\n").notes[0]


def test_ten_thousand_columns_open_in_seconds(tmp_path):
    d, n = 10_000, 60
    X = np.random.default_rng(0).normal(size=(n, d)).round(3)
    pd.DataFrame(X, columns=[f"x{j}" for j in range(d)]).to_csv(tmp_path / "t.csv", index=False)
    start = time.process_time()
    rows = assay.rows(tmp_path / "t.csv")
    assert np.array_equal(rows.in_memory().X, X)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("compress", ["gzip", "zstd", "bz2", "lz4"])
def test_compressed_files_are_recognised_whatever_their_name(tmp_path, compress):
    with pa.CompressedOutputStream(str(tmp_path / "t.csv"), compress) as file:
        file.write(b"x,c\n1,a\n2,b\n")
    assert table_of(source_of(tmp_path / "t.csv")).to_pydict() == {"x": [1, 2], "c": ["a", "b"]}


def test_a_compressed_file_that_is_cut_short_is_refused(tmp_path):
    whole = gzip.compress(np.random.default_rng(0).bytes(1000).hex().encode())
    with pytest.raises(DataError, match=r"cannot be read"):
        opened(tmp_path, whole[: len(whole) // 2])


CELLS = st.text(alphabet='a1 "\n\r,;é', max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30), st.integers(1, 40))
def test_cells_come_back_as_python_writes_them_however_the_file_is_cut(tmp_path_factory, cells, size):
    cells = [(a + "x", b + "y") for a, b in cells]
    text = io.StringIO()
    csv.writer(text).writerows([("a", "b"), *cells])
    path = tmp_path_factory.mktemp("cut") / "t.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    source = source_of(path, delimiter=",")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.tables.sources.delimited.READ_AT_ONCE", size)
        patch.setattr("assay.tables.sources.delimited.BYTES_A_COLUMN", 1)
        held = table_of(source, "text")
    assert list(zip(held["a"].to_pylist(), held["b"].to_pylist())) == cells


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='a",\n', max_size=30))
def test_the_fast_and_the_exact_search_for_quotes_agree(text):
    from assay.tables.sources.text import _quoted_exactly

    data = text.encode()
    if b'"' not in data:
        return
    try:
        fast, exact = quoted(data, ","), _quoted_exactly(data, ",")
    except Unclosed:
        with pytest.raises(Unclosed):
            _quoted_exactly(data, ",")
        return
    inside = [
        {i for a, b in zip(starts, [*ends, len(data)]) for i in range(int(a), int(b))} for starts, ends in (fast, exact)
    ]
    assert inside[0] == inside[1]
    assert last_line_end(data, ",")[0] <= len(data)
