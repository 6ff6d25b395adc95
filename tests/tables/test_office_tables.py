"""Tables as offices write them give the same model as the same table written plainly, and a model reads later tables as it read the first."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import assay
from assay.errors import ModelFileError, ParameterError, SchemaError
from assay.tables.schema.schema import Schema
from assay.tables.sources.recognise import source_of

ROWS = 60


def columns():
    rng = np.random.default_rng(7)
    amount = np.round(rng.gamma(2, 8000, ROWS), 2)
    people = rng.integers(1, 3_000_000, ROWS)
    share = np.round(rng.uniform(0, 100, ROWS), 1)
    day = [datetime.date(2019, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 900, ROWS)]
    bought = np.where(amount / 10_000 + share / 50 + rng.normal(0, 0.5, ROWS) > 2.5, "ja", "nein")
    return amount - 9000, people, share, day, bought


def swapped(text):
    return text.translate(str.maketrans(",.", ".,"))


def indian(n):
    head, tail = str(n)[:-3], str(n)[-3:]
    pairs = [] if not head else [head[max(0, i - 2) : i] for i in range(len(head), 0, -2)][::-1]
    return ",".join([*pairs, tail])


STYLES = {  # delimiter, amount, people, share, day
    "plain": (",", lambda x: f"{x:.2f}", str, str, str),
    "German": (
        ";",
        lambda x: swapped(f"{x:,.2f}"),
        lambda n: swapped(f"{n:,}"),
        lambda p: swapped(f"{p} %"),
        lambda d: d.strftime("%d.%m.%Y"),
    ),
    "French": (
        ";",
        lambda x: f"{x:,.2f} €".replace(",", "\u202f").replace(".", ","),
        lambda n: f"{n:,}".replace(",", " "),
        lambda p: f"{p}\u00a0%".replace(".", ","),
        lambda d: d.strftime("%d/%m/%Y"),
    ),
    "Swiss": (
        "\t",
        lambda x: f"CHF {x:,.2f}".replace(",", "'"),
        lambda n: f"{n:,}".replace(",", "’"),
        lambda p: f"{p}%",
        lambda d: d.strftime("%d.%m.%y"),
    ),
    "American": (
        ",",
        lambda x: f"${x:,.2f}" if x >= 0 else f"(${-x:,.2f})",
        lambda n: f"{n:,}",
        lambda p: f"{p}%",
        lambda d: f"{d.month}/{d.day}/{d.year}",
    ),
    "Indian": (
        ",",
        lambda x: f"₹ {x:.2f}",
        indian,
        lambda p: f"{p}",
        lambda d: d.strftime("%d-%b-%Y"),
    ),
    "ledger": (
        "|",
        lambda x: f"{abs(x):,.2f}{'-' if x < 0 else ''}",
        lambda n: f"{n:,}",
        lambda p: f"{p}",
        lambda d: d.strftime("%b %d, %Y"),
    ),
}


def office_file(folder, style):
    delimiter, *writers = STYLES[style]
    cells = [[write(v) for v in values] for write, values in zip(writers, columns())]
    lines = [["betrag", "einwohner", "anteil", "tag", "kauf"], *zip(*cells, columns()[-1])]
    path = folder / f"{style}.csv"
    quoted = '"' if delimiter == "," else ""
    path.write_text("\n".join(delimiter.join(f"{quoted}{c}{quoted}" for c in line) for line in lines) + "\n")
    return path


@pytest.fixture(scope="module")
def offices(tmp_path_factory):
    folder = tmp_path_factory.mktemp("offices")
    paths = {style: office_file(folder, style) for style in STYLES}
    return {style: (path, assay.train(path, "kauf", assay.LogisticRegression())) for style, path in paths.items()}


@pytest.mark.parametrize("style", [s for s in STYLES if s != "plain"])
def test_a_table_as_an_office_writes_it_gives_the_plain_tables_model_bit_for_bit(offices, style):
    path, model = offices[style]
    plain_path, plain = offices["plain"]
    assert model.coef_.tobytes() == plain.coef_.tobytes()
    assert model.model_.provenance_["fingerprint"] == plain.model_.provenance_["fingerprint"]
    assert model.predict_proba(path).tobytes() == plain.predict_proba(plain_path).tobytes()
    assert [c.kind for c in model.schema_.columns] == ["number", "number", "number", "date"]


@pytest.mark.parametrize("style", ["German", "American"])
def test_a_saved_model_reads_frames_text_and_numbers_alike(offices, style, tmp_path):
    path, model = offices[style]
    model.save(tmp_path / "m.assay")
    loaded = assay.load(tmp_path / "m.assay")
    assert loaded.schema_ == model.schema_
    wanted = model.predict_proba(path).tobytes()
    text = pd.read_csv(path, sep=STYLES[style][0], dtype=str)
    assert loaded.predict_proba(text).tobytes() == wanted
    assert loaded.predict_proba(offices["plain"][0]).tobytes() == wanted  # numbers are numbers
    assert offices["plain"][1].predict_proba(path).tobytes() == wanted  # and a plain model reads what an office writes


def test_a_single_row_is_read_as_the_office_of_the_fit_wrote(offices, tmp_path):
    _, model = offices["German"]
    row = {"betrag": "12.179,35", "einwohner": "1.234", "anteil": "45,1 %", "tag": "09.02.2021"}
    plain = {"betrag": 12179.35, "einwohner": 1234, "anteil": 45.1, "tag": "2021-02-09"}
    assert model.predict_proba([row]).tobytes() == model.predict_proba([plain]).tobytes()
    file = tmp_path / "one.csv"
    file.write_text(";".join(row) + "\n" + ";".join(row.values()) + "\n")
    assert model.predict_proba(file).tobytes() == model.predict_proba([plain]).tobytes()
    with pytest.raises(SchemaError, match=r"'betrag' holds 'viel' in row 0.*written like '"):
        model.predict([{**row, "betrag": "viel"}])


def test_verify_reads_the_office_table_as_the_fit_did(offices):
    path, model = offices["German"]
    assert model.certificate_.verify(model.rows(path, labelled=True)).holds


def source(tmp_path, text, **options):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return source_of(path, **options)


def values(source, name):
    return pa.Table.from_batches(list(source.batches({name: "as it is"}, 100)))[name].to_pylist()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x;y\n1.234;1,5\n2.345;2\n", [1234, 2345]),  # the other column's comma is decimal
        ("x;y\n1.234;1.5\n2.345;2\n", [1.234, 2.345]),
        ("x;y\n950;a\n1.234;b\n", [950, 1234]),  # three decimals would be 950.000
        ("x;y\n9500;a\n1.234;b\n", [9500, 1.234]),
        ("x;y\n0.950;a\n1.234;b\n", [0.95, 1.234]),  # no thousands begin with a nought
        ("x;y\n0,950;a\n1,234;b\n", [0.95, 1.234]),
        ("x\ty\n950\ta\n1,234\tb\n", [950, 1234]),
        ("x\ty\n$1,234\ta\n$5,678\tb\n", [1234, 5678]),  # money has no three decimals
        ('x,y\n"1,234",1.5\n"5,678",2\n', [1234, 5678]),
        ('x,y\n"1.234.567,5",1.5\n"5,5",2\n', [1234567.5, 5.5]),  # one column by comma, another by point
    ],
)
def test_what_a_point_means_is_decided_by_the_column_and_then_by_the_table(tmp_path, text, wanted):
    found = source(tmp_path, text)
    assert values(found, "x") == wanted
    assert not any("two things" in note for note in found.notes)


def test_where_nothing_tells_a_note_says_so_and_the_user_decides(tmp_path):
    text = "x;y\n1,234;a\n5,678;b\n"
    found = source(tmp_path, text)
    assert values(found, "x") == [1.234, 5.678]
    assert any("'x' could mean two things" in note and "--decimal" in note for note in found.notes)
    assert values(source(tmp_path, text, decimal="."), "x") == [1234, 5678]
    assert values(source(tmp_path, text, thousands=","), "x") == [1234, 5678]
    sure = source(tmp_path, text, decimal=",")
    assert values(sure, "x") == [1.234, 5.678]
    assert not any("two things" in note for note in sure.notes)
    assert any("'x' could" in note for note in source(tmp_path, "x,y\n1.234,a\n5.678,b\n").notes)


@pytest.mark.parametrize(
    "bad", [{"decimal": ";"}, {"thousands": "x"}, {"decimal": ",", "thousands": ","}, {"day_first": "no"}]
)
def test_impossible_ways_of_writing_are_refused(tmp_path, bad):
    with pytest.raises(ParameterError, match=r"possible|both"):
        source(tmp_path, "x\n1\n", **bad)


def test_a_few_values_that_cannot_be_read_are_missing_named_and_remembered(tmp_path):
    rows = [f"{i}.000,50;{'ab'[i % 2]}" for i in range(1, 60)]
    path = tmp_path / "t.csv"
    path.write_text("x;y\n" + "\n".join([*rows, "n.v.;a", "-;b"]) + "\n")
    found = source_of(path)
    assert values(found, "x")[-2:] == [None, None]
    assert any("'x' has 1 value that is no number" in note and "'n.v.'" in note for note in found.notes)
    model = assay.train(path, "y", assay.DecisionTreeClassifier(max_depth=2), holdout=0)
    assert model.schema_["x"].missing == 2
    assert model.predict([{"x": "n.v."}]) == model.predict([{"x": None}])


@pytest.mark.parametrize(
    "texts",
    [
        ["030 123 456", "040 987 654"],
        ["555 123 456"] * 3 + ["555 987 654"] * 3,
        ["1-", "2", "3-"],
        ["$5", "€7"],
        ["10-20", "20-30"],
        ["192.168.1.20", "10.0.0.1"],
        ["1,2,3", "2,5"],
        ["01050", "12045"],
        ["7", "12"],
    ],
)
def test_telephone_numbers_codes_grades_ranges_and_mixed_money_stay_text(texts):
    assert str(source_of({"x": texts}).types["x"]) == "string"


def test_text_columns_of_frames_and_parquet_files_are_read_alike(tmp_path):
    table = pa.table({"x": ["12.179,35", None, "3,5"], "s": ["12.5", "1.25", "3.0"], "y": ["a", "b", "a"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.parquet", table.to_pandas()):
        found = source_of(data)
        assert values(found, "x") == [12179.35, None, 3.5]
        assert values(found, "s") == [12.5, 1.25, 3.0]
    schema = assay.schema(table)
    assert "12.179,35 → 12179.35" in str(schema)
    assert "s" in schema.written


@pytest.mark.parametrize(
    ("texts", "options", "wanted"),
    [
        (["09.02.2021", "13.02.2021"], {}, ["2021-02-09", "2021-02-13"]),
        (["2/9/2021", "2/13/2021"], {}, ["2021-02-09", "2021-02-13"]),
        (["9/2/2021", "13/2/2021"], {}, ["2021-02-09", "2021-02-13"]),
        (["3/4/2023 5:10 PM", "3/14/2023 12:00 AM"], {}, ["2023-03-04 17:10", "2023-03-14"]),
        (["2021-02-09T10:00", "2021-02-10"], {}, ["2021-02-09 10:00", "2021-02-10"]),
        (["9 Feb 2021", "1 March 1999"], {}, ["2021-02-09", "1999-03-01"]),
        (["Feb 9, 2021", "Mar. 1st, 1999"], {}, ["2021-02-09", "1999-03-01"]),
        (["9. Dez. 2021", "1. März 1999"], {}, ["2021-12-09", "1999-03-01"]),
        (["3/4/2023", "4/5/2023"], {"day_first": True}, ["2023-04-03", "2023-05-04"]),
        (["3/4/2023", "4/5/2023"], {"day_first": False}, ["2023-03-04", "2023-04-05"]),
        (["3.4.69", "4.5.70"], {}, ["2069-04-03", "1970-05-04"]),
    ],
)
def test_dates_of_many_forms_are_read(texts, options, wanted):
    found = source_of({"d": texts}, **options)
    assert [str(d).removesuffix(":00").removesuffix(" 00:00") for d in values(found, "d")] == wanted
    assert not any("cannot be told apart" in note for note in found.notes)


def test_days_are_told_from_months_by_another_column_or_a_note_asks(tmp_path):
    ambiguous = ["3/4/2023", "4/5/2023"]
    found = source_of({"a": ambiguous, "b": ["13/1/2020", "2/1/2020"]})
    assert values(found, "a")[0] == datetime.datetime(2023, 4, 3)
    assert not any("told apart" in note for note in found.notes)
    assert any(
        "'a' has no day above 12" in note and "--day-first" in note for note in source_of({"a": ambiguous}).notes
    )


def test_dates_that_no_calendar_has_are_missing_and_named():
    found = source_of({"d": [f"{1 + i % 28}.02.2021" for i in range(40)] + ["31.02.2021"]})
    assert values(found, "d")[-1] is None
    assert any("'31.02.2021'" in note for note in found.notes)


def test_a_forged_way_of_writing_is_refused(offices):
    data = offices["German"][1].schema_.to_data()
    assert Schema.from_data(data).to_data() == data
    for change in (
        {"decimal": ";"},
        {"thousands": ","},
        {"order": "dmy"},
        {"missing": "x"},
        {"example": "viel"},
        {"more": 1},
    ):
        forged = {**data, "written": {**data["written"], "betrag": {**data["written"]["betrag"], **change}}}
        with pytest.raises(ModelFileError, match="'betrag' is written"):
            Schema.from_data(forged)
    with pytest.raises(ModelFileError, match="written that it has not"):
        Schema.from_data({**data, "written": {"fremd": data["written"]["betrag"]}})


def test_stream_threads_and_dask_read_office_text_alike(tmp_path):
    amount, people, *_, bought = columns()
    table = pa.table(
        {"x": [swapped(f"{v:,.2f}") for v in amount], "n": [swapped(f"{v:,}") for v in people], "y": bought}
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    files = []
    for name in ("threads", "stream"):
        with assay.engine(name):
            assay.train(tmp_path / "t.parquet", "y", assay.GaussianNB(), holdout=0).save(tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
    written = source_of(tmp_path / "t.parquet")
    from assay.tables.schema.schema import infer
    from assay.tables.table_rows import TableRows

    rows = TableRows(written, infer(written, target="y"), "y")
    here, anywhere = ([part.load() for part in r.blocks()] for r in (rows, rows.anywhere()))
    assert all(a.X.tobytes() == b.X.tobytes() for a, b in zip(here, anywhere, strict=True))


def test_codes_are_told_by_a_leading_zero_or_by_their_name_and_length(tmp_path):
    found = source(tmp_path, "zip,n,phone,code\n90210,90210,5551234,007\n10001,10001,555123,8\n")
    assert [str(t) for t in found.types.values()] == ["string", "int64", "int64", "string"]
    assert values(found, "code") == ["007", "8"]
    assert [note.split(":")[0] for note in found.notes] == [
        "Column 'zip' holds codes such as '90210'",
        "Column 'code' holds codes such as '007'",
    ]


def test_a_query_on_a_file_sees_what_the_office_means(tmp_path):
    text = "plz;betrag\n01050;1.250,50\n01051;980,00\n20095;12,25\n"
    found = source(tmp_path, text, sql="select plz, betrag from data where betrag > 100")
    assert values(found, "plz") == ["01050", "01051"]
    assert values(found, "betrag") == [1250.5, 980]
    assert found.written["betrag"].decimal == ","
