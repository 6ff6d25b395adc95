"""Workbooks: what the cells of a sheet become, and what is said about those that cannot be read. Peer: openpyxl 3.1."""

from __future__ import annotations

import datetime
import zipfile

import openpyxl
import pyarrow as pa
import pytest
from openpyxl.utils.datetime import CALENDAR_MAC_1904

import assay
from assay.errors import DataError, ParameterError
from assay.tables.sources.recognise import source_of
from assay.tables.sources.workbook import moment

DAY = datetime.date(2026, 1, 31)
TIME = datetime.datetime(2026, 1, 31, 10, 30, 15)


def table_of(source):
    return pa.Table.from_batches(list(source.batches(dict.fromkeys(source.types, "as it is"), 1000)))


def book(tmp_path, *rows, name="t.xlsx", **sheets):
    workbook = openpyxl.Workbook()
    for row in rows:
        workbook.active.append(row)
    for title, others in sheets.items():
        sheet = workbook.create_sheet(title)
        for row in others:
            sheet.append(row)
    workbook.save(tmp_path / name)
    return tmp_path / name


def test_cells_keep_their_kinds(tmp_path):
    path = book(
        tmp_path,
        ["number", "text", "yes", "day", "time", "mixed", "nothing"],
        [1, "red", True, DAY, TIME, 1, None],
        [2.5, "blue", False, DAY, DAY, "one", None],
        [None, None, None, None, None, 2.5, "NA"],
    )
    source = source_of(path)
    assert table_of(source).to_pydict() == {
        "number": [1, 2.5, None],
        "text": ["red", "blue", None],
        "yes": [True, False, None],
        "day": [DAY, DAY, None],
        "time": [TIME, datetime.datetime(2026, 1, 31), None],
        "mixed": ["1", "one", "2.5"],
        "nothing": [None, None, None],
    }
    assert list(map(str, source.types.values())) == [
        *("double", "string", "bool", "date32[day]", "timestamp[ms]", "string", "null"),
    ]
    assert source.n_rows == 3


@pytest.mark.parametrize("since_1904", [False, True])
def test_days_are_counted_as_the_workbook_counts_them(tmp_path, since_1904):
    workbook = openpyxl.Workbook()
    if since_1904:
        workbook.epoch = CALENDAR_MAC_1904
    for row in (["day"], [DAY], [datetime.date(1990, 3, 1)]):
        workbook.active.append(row)
    workbook.save(tmp_path / "t.xlsx")
    assert table_of(source_of(tmp_path / "t.xlsx"))["day"].to_pylist() == [DAY, datetime.date(1990, 3, 1)]


def test_the_day_that_never_was_is_left_out_of_the_count():
    assert [moment(d).date() for d in (59, 61)] == [datetime.date(1900, 2, 28), datetime.date(1900, 3, 1)]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("dd.mm.yyyy", "date32[day]"),
        ("General", "double"),
        ("0.00%", "double"),
        ('0 "days"', "double"),
        ("[Red]0.0", "double"),
    ],
)
def test_the_number_format_says_what_a_date_is(tmp_path, code, kind):
    workbook = openpyxl.Workbook()
    workbook.active.append(["x"])
    workbook.active.append([43831])
    workbook.active["A2"].number_format = code
    workbook.save(tmp_path / "t.xlsx")
    assert str(source_of(tmp_path / "t.xlsx").types["x"]) == kind


def test_gaps_unnamed_columns_and_blank_rows(tmp_path):
    path = book(tmp_path, [], ["x", None, "y"], [1, "a", 2], [], [3, None, 4], [None, None, None], name="t.csv")
    assert table_of(source_of(path)).to_pydict() == {"x": [1, 3], "column 2": ["a", None], "y": [2, 4]}


def test_errors_in_cells_are_missing_and_told(tmp_path):
    source = source_of(book(tmp_path, ["x"], [1], ["#N/A"], ["#DIV/0!"], [2]))
    assert table_of(source)["x"].to_pylist() == [1, None, None, 2]
    assert "2 cells" in source.notes[0]


def test_sheets_are_chosen_by_name_and_misspelt_ones_come_with_the_nearest(tmp_path):
    path = book(tmp_path, ["a"], [1], coins=[["size"], [18]])
    first = source_of(path)
    assert list(first.types) == ["a"]
    assert "'coins'" in first.notes[0]
    assert list(source_of(path, sheet="coins").types) == ["size"]
    with pytest.raises(ParameterError, match=r"no sheet 'coin'. Did you mean 'coins'"):
        source_of(path, sheet="coin")


def test_a_model_is_fitted_from_a_sheet(tmp_path):
    path = book(tmp_path, ["x", "c", "y"], *[[i, "ab"[i % 2], i % 3] for i in range(30)])
    rows = assay.rows(path, target="y", sheet="Sheet")
    assert rows.categories == (None, ("a", "b"))
    assert assay.NaiveBayes().fit(rows).score(rows) >= 0


def test_workbooks_that_cannot_be_read_say_why(tmp_path):
    with pytest.raises(DataError, match=r"header but no rows"):
        source_of(book(tmp_path, ["x", "y"]))
    with pytest.raises(DataError, match=r"empty sheet. Its sheets are 'Sheet', 'b'"):
        source_of(book(tmp_path, b=[["x"], [1]]))
    path = tmp_path / "old.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600)
    with pytest.raises(DataError, match=r"old kind \(.xls\). Save it as .xlsx"):
        source_of(path)
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(DataError, match=r"password"):
        source_of(path)
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as file:
        file.writestr("t.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match=r"zip file without a workbook"):
        source_of(tmp_path / "t.zip")
    data = book(tmp_path, ["x"], [1]).read_bytes()
    (tmp_path / "cut.xlsx").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=r"no workbook that can be read"):
        source_of(tmp_path / "cut.xlsx")
