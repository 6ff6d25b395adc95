"""A table at predict time is held to the schema of the fit: what does not fit is refused by name, what is odd is noted."""

from __future__ import annotations

import pyarrow as pa
import pytest

from assay.errors import SchemaError
from assay.tables import rows
from assay.tables.schema.compatible import check_columns, check_same
from assay.tables.schema.schema import Schema, infer

N = 60
FITTED = {
    "age": [20 + i % 40 for i in range(N)],
    "job": [("cook", "smith", "clerk")[i % 3] for i in range(N)],
    "paid": [i % 2 == 0 for i in range(N)],
    "since": pa.array([18000 + i for i in range(N)], pa.int32()).cast(pa.date32()),
    "note": [f"a note with number {i}" for i in range(N)],
    "id": range(N),
    "unit": ["mm"] * N,
    "y": [i % 2 for i in range(N)],
}


def source(columns):
    return rows(pa.table(columns)).source


@pytest.fixture(scope="module")
def schema() -> Schema:
    return infer(source(FITTED), target="y")


def changed(**columns):
    return source({name: columns.get(name, values) for name, values in FITTED.items()})


def without(*names):
    return source({name: values for name, values in FITTED.items() if name not in names})


def test_the_table_of_the_fit_fits(schema):
    assert check_same(schema, source(FITTED)) == []


@pytest.mark.parametrize("name", ["adult.parquet", "titanic.csv", "sms_spam.csv", "bank_marketing.csv"])
def test_real_tables_fit_themselves(data_dir, name):
    table = rows(data_dir / name).source
    assert check_same(infer(table, target="target"), table) == []


def test_what_is_not_learnt_from_may_be_absent(schema):
    assert check_same(schema, without("id", "unit", "y")) == []


def test_a_missing_column_is_named_with_its_nearest(schema):
    table = source({{"job": "Job "}.get(name, name): values for name, values in FITTED.items()})
    with pytest.raises(
        SchemaError, match=r"no column 'job', which the model was fitted on .categories.. Did you mean 'Job '"
    ):
        check_columns(schema, table)


WRONG = {
    "text for numbers": (
        {"age": ["31"] * 7 + ["old"] * 53},
        "'age' holds text .* 'old' in row 7 .* but numbers .*20 … 59",
    ),
    "dates for numbers": ({"age": FITTED["since"]}, "'age' holds dates .*such as '2019-04-14', but numbers"),
    "numbers for dates": ({"since": [2020] * N}, "'since' holds numbers .*such as '2020', but dates"),
    "text for dates": ({"since": ["2020-01-01", "soon"] * 30}, "'since' holds text .*'soon' in row 1 .*but dates"),
    "numbers for truth": ({"paid": [0, 1, 2] * 20}, "'paid' holds numbers .*'2' in row 2 .*but truth values"),
    "text for truth": ({"paid": ["yes", "perhaps"] * 30}, "'paid' holds text .*'perhaps' in row 1"),
    "decimals for categories": ({"job": [0.5] * N}, "'job' holds numbers .*such as '0.5', but categories"),
    "lists for text": ({"note": [[1]] * N}, "'note' holds values of no use .*but text"),
}


@pytest.mark.parametrize("name", WRONG)
def test_another_kind_is_refused_with_an_example(schema, name):
    columns, message = WRONG[name]
    with pytest.raises(SchemaError, match=message):
        check_same(schema, changed(**columns))


RIGHT = {
    "numbers written as text": {"age": ["31"] * N},
    "truth as 0 and 1": {"paid": [0, 1] * 30},
    "truth in words": {"paid": ["yes", "no"] * 30},
    "dates as text": {"since": ["2019-05-01"] * N},
    "categories of a frame": {"job": pa.array(FITTED["job"]).dictionary_encode()},
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_same_values_in_another_type_are_taken(schema, name):
    assert check_same(schema, changed(**RIGHT[name])) == []


def test_odd_values_are_noted(schema):
    ages = [None] * 3 + [19, 61, 99] + [30] * 54
    jobs = ["baker"] * 5 + ["pilot"] * 2 + ["judge", "poet"] + ["cook"] * 51
    table = source({**FITTED, "age": ages, "job": jobs, "a": ages, "b": ages, "c": ages, "d": ages})
    assert check_same(schema, table) == [
        "not used, for the model does not know them: 'a', 'b', 'c' and 1 more",
        "column 'age' lacks a value in 3 of 60 rows; the fit had none missing",
        "column 'age': 5.3 % of the values lie outside what the fit saw (20 … 59)",
        "column 'job' has 4 categories the fit never saw, in 9 of 60 rows: 'baker', 'pilot', 'judge', …",
    ]


def test_a_column_of_a_csv_file_that_turned_to_text_is_refused_with_the_row(tmp_path):
    (tmp_path / "fit.csv").write_text("x,y\n" + "".join(f"{i / 3},{i % 2}\n" for i in range(50)))
    (tmp_path / "new.csv").write_text("x\n1.5\nn/e\n")
    schema = infer(rows(tmp_path / "fit.csv").source, target="y")
    with pytest.raises(SchemaError, match=r"'x' holds text in .*new.csv', such as 'n/e' in row 1 "):
        check_same(schema, rows(tmp_path / "new.csv").source)


def test_categories_made_of_numbers_are_read_as_text_again(tmp_path):
    (tmp_path / "fit.csv").write_text("zip,y\n" + "".join(f"0{i % 3},{i % 2}\n" for i in range(50)))
    (tmp_path / "new.csv").write_text("zip,x\n00,1\n07,2\n")
    schema = infer(rows(tmp_path / "fit.csv").source, target="y", kinds={"zip": "category"})
    notes = check_same(schema, rows(tmp_path / "new.csv").source)
    assert notes[1] == "column 'zip' has 1 category the fit never saw, in 1 of 2 rows: '07'"
