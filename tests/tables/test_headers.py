"""Where a table begins in a file: titles above the header, names that repeat or lack, totals below, and lines that the user skips."""

from __future__ import annotations

import pytest

from assay.errors import DataError, ParameterError, SchemaError
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import source_of
from tests.tables.test_csv_as_it_comes import table_of
from tests.tables.test_excel import book

BODY = "Stadt;Umsatz;Anteil\nBern;1.250,50;12,5 %\nBasel;980,00;7 %\nGenf;2.100,25;8 %\n"


def opened(tmp_path, text, **options):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return source_of(path, **options)


@pytest.mark.parametrize(
    "titles",
    [
        "Umsatz je Stadt\n",
        "Umsatz je Stadt\n\n",
        "Umsatz je Stadt;;\nStand: 31.12.2021;;\n;;\n",
        '"Umsatz je Stadt;\nin Franken"\n\n',
        "Sales, by town, in 2021\n\n\n",
    ],
)
def test_titles_above_the_header_are_skipped_with_a_note(tmp_path, titles):
    found = opened(tmp_path, titles + BODY)
    assert table_of(found)["Umsatz"].to_pylist() == [1250.5, 980, 2100.25]
    assert any("stand above the header and are skipped" in note for note in found.notes)
    assert list(found.types) == ["Stadt", "Umsatz", "Anteil"]
    n = titles.count("\n")
    said = opened(tmp_path, titles + BODY, skip=n)
    assert table_of(said) == table_of(found)
    assert not any("skipped" in note for note in said.notes)


@pytest.mark.parametrize(
    "text", ["a,b,c\n1,2,3\n", ",a,b\n0,1,2\n", "x,\nfoo,bar\n", "a\n1\n2\n", "\n\na;b\n1;2\n", "a,b\nc,d\n,\n"]
)
def test_a_header_on_top_is_the_header(tmp_path, text):
    found = opened(tmp_path, text)
    assert not any("skipped" in note for note in found.notes)


def test_rows_of_numbers_are_no_header_and_skip_0_means_none(tmp_path):
    with pytest.raises(DataError, match="3 fields where the header has 1"):
        table_of(opened(tmp_path, "title\n1,2,3\n4,5,6\n"))
    with pytest.raises(DataError, match="3 fields where the header has 1"):
        opened(tmp_path, "Umsatz\n" + BODY, skip=0)
    with pytest.raises(DataError, match="empty below the lines that are skipped"):
        opened(tmp_path, BODY, skip=9)
    for bad in (-1, 1.5, True):
        with pytest.raises(ParameterError, match="number of lines"):
            opened(tmp_path, BODY, skip=bad)
    with pytest.raises(ParameterError, match="CSV files and workbooks"):
        source_of({"x": [1]}, skip=1)


def test_names_that_repeat_or_lack_are_numbered_with_a_note(tmp_path):
    found = opened(tmp_path, "x,x,,x (2),x\n1,2,3,4,5\n")
    assert list(found.types) == ["x", "x (3)", "column 3", "x (2)", "x (4)"]
    assert table_of(found)["x (4)"].to_pylist() == [5]
    assert "several columns named 'x'" in found.notes[0]
    with pytest.raises(
        SchemaError, match=r"two columns named 'x', and that is the target.*name one that is numbered: 'x \(4\)'"
    ):
        infer(found, target="x")  # the other one would tell it
    assert infer(found, target="x (4)").target.name == "x (4)"


def test_a_total_below_is_pointed_out_and_left_alone(tmp_path):
    found = opened(tmp_path, BODY + "Summe;4.330,75;\n")
    assert table_of(found).num_rows == 4
    assert any("'Summe'" in note for note in found.notes)
    assert not any("last row" in note for note in opened(tmp_path, BODY).notes)


def test_workbooks_have_titles_repeated_names_and_totals_too(tmp_path):
    rows = [
        ["Umsatz je Stadt"],
        [],
        ["Stadt", "Umsatz", "Umsatz"],
        ["Bern", 3.5, "1'250.50"],
        ["Basel", 4.0, "980"],
        ["Total", 7.5, "2'230.5"],
    ]
    found = source_of(book(tmp_path, *rows))
    assert table_of(found).to_pydict() == {
        "Stadt": ["Bern", "Basel", "Total"],
        "Umsatz": [3.5, 4.0, 7.5],
        "Umsatz (2)": [1250.5, 980, 2230.5],
    }
    assert [key for key in ("skipped", "several columns", "'Total'") if not any(key in n for n in found.notes)] == []
    assert list(source_of(book(tmp_path, *rows), skip=2).types) == ["Stadt", "Umsatz", "Umsatz (2)"]
