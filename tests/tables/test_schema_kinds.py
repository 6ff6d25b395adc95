"""Each column of a real table gets the kind that a person would give it; overrides do what they say or are refused."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from assay.errors import AssayError, DataError, ParameterError, SchemaError
from assay.tables import rows
from assay.tables.schema.schema import MOST_LEVELS, infer, task_of


def schema_of(path, target=None, **options):
    return infer(rows(path).source, target=target, **options)


def table(columns):
    """These columns as a source."""
    return rows(pa.table(columns)).source


@pytest.fixture
def text_file(tmp_path):
    """A CSV file of this text as a source."""

    def make(text):
        (tmp_path / "t.csv").write_text(text)
        return rows(tmp_path / "t.csv").source

    return make


KINDS = {
    "adult.parquet": {
        "number": "age fnlwgt education_num capital_gain capital_loss hours_per_week",
        "category": "workclass education marital_status occupation relationship race sex native_country",
    },
    "titanic.csv": {
        "number": "Pclass Age SibSp Parch Fare",
        "category": "Sex Embarked",
        "text": "Name",
        "string": "Ticket Cabin",
    },
    "penguins.csv": {
        "number": "bill_length_mm bill_depth_mm flipper_length_mm body_mass_g",
        "category": "island sex",
    },
    "sms_spam.csv": {"text": "text"},
    "bank_marketing.csv": {
        "number": "age balance day duration campaign pdays previous",
        "category": "job marital education default housing loan contact month poutcome",
    },
    "islr_default.csv": {"number": "balance income", "category": "student"},
    "longley.csv": {"number": "GNPDEFL GNP UNEMP ARMED POP YEAR"},
    "california_housing.csv": {
        "number": "longitude latitude housing_median_age total_rooms total_bedrooms population households median_income",
        "category": "ocean_proximity",
    },
}


@pytest.mark.parametrize("name", KINDS)
def test_real_columns_get_the_kinds_one_would_expect(data_dir, name):
    schema = schema_of(data_dir / name, "target")
    found = {column.name: column.kind for column in schema.columns}
    assert found == {column: kind for kind, names in KINDS[name].items() for column in names.split()}


@pytest.mark.parametrize("name", ["adult.parquet", "titanic.csv", "penguins.csv", "mushroom.csv", "pima_missing.csv"])
def test_counts_are_those_of_pandas(data_dir, name):
    path = data_dir / name
    frame = (
        pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, keep_default_na=False, na_values=[""])
    )
    schema = schema_of(path, "target")
    assert schema.n_rows == len(frame)
    for column in (*schema.columns, schema.target):
        values = frame[column.name]
        assert (column.missing, column.distinct, column.about) == (values.isna().sum(), values.nunique(), False), column
        if column.kind == "number":
            assert (column.low, column.high) == (values.min(), values.max())
        if column.kind == "category":
            assert list(column.levels) == sorted(values.dropna().unique())
            assert column.counts == values.value_counts().to_dict()


TASKS = {
    "adult.parquet": "classification",
    "titanic.csv": "classification",
    "wine.csv": "classification",
    "vowel.csv": "classification",
    "optdigits.csv": "classification",
    "longley.csv": "regression",
    "prostate.csv": "regression",
    "concrete.csv": "regression",
    "california_housing.csv": "regression",
}


@pytest.mark.parametrize(("name", "task"), TASKS.items())
def test_the_target_decides_between_classes_and_numbers(data_dir, name, task):
    assert task_of(schema_of(data_dir / name, "target"))[0] == task


def test_the_task_can_be_overridden_where_that_is_possible(data_dir):
    assert task_of(schema_of(data_dir / "titanic.csv", "target"), "regression") == ("regression", "as you asked")
    with pytest.raises(ParameterError, match="no number"):
        task_of(schema_of(data_dir / "iris.csv", "target"), "regression")
    with pytest.raises(ParameterError, match="'classification' or 'regression'"):
        task_of(schema_of(data_dir / "iris.csv", "target"), "clustering")
    with pytest.raises(ParameterError, match="no target"):
        task_of(schema_of(data_dir / "iris.csv"))


def test_dates_and_lists_are_no_targets():
    table_with = {"x": [1.5, 2.5], "day": [dt.date(2024, 1, 1), dt.date(2024, 1, 2)], "list": [[1], [2]]}
    for name in ("day", "list"):
        with pytest.raises(DataError, match=f"The target '{name}' holds"):
            task_of(infer(table(table_with), target=name))
    with pytest.raises(ParameterError, match="The target 'x' cannot be 'text': it is one of number, category, boolean"):
        infer(table(table_with), target="x", kinds={"x": "text"})


def test_a_constant_column_is_told_so(data_dir):
    veil = schema_of(data_dir / "mushroom.csv", "target")["veil-type"]
    assert (veil.kind, veil.why) == ("constant", "one value in all rows")


N = 100
HOURS = [dt.datetime(2024, 2, 28, 23) + dt.timedelta(hours=7 * i) for i in range(N)]
COLUMNS = {
    "counter from 0": (range(N), "id"),
    "counter from 1": (np.arange(1.0, N + 1), "id"),
    "counter from 5": (range(5, N + 5), "number"),
    "PassengerId": (np.random.default_rng(0).permutation(10 * N)[:N], "id"),
    "user_id": (np.random.default_rng(1).permutation(10 * N)[:N], "id"),
    "paid": (np.random.default_rng(1).permutation(10 * N)[:N], "number"),
    "shop_id": ([i % 7 for i in range(N)], "number"),  # it repeats: a shop, not a row
    "token": ([f"{i * 7919:x}" for i in range(N)], "id"),
    "typing error": ([*(f"{i / 7:.3f}" for i in range(N - 1)), "1.2.3"], "string"),
    "all numbers": ([f"{i * 7919:07}" for i in range(N)], "id"),
    "few": ([f"c{i % 20}" for i in range(N)], "category"),
    "some": ([f"c{i % 40}" for i in range(N)], "string"),
    "two words": ([f"Ann {i}" for i in range(N)], "string"),
    "sentences": ([f"this is sentence {i}" for i in range(N)], "text"),
    "long": (["x" * 60 + str(i) for i in range(N)], "text"),
    "all missing": (pa.nulls(N), "constant"),
    "all missing floats": (pa.nulls(N, pa.float64()), "constant"),
    "all NaN": (np.full(N, np.nan), "constant"),
    "one value": ([None] * 9 + ["x"] * (N - 9), "constant"),
    "one number": ([3] * N, "constant"),
    "true": ([True] * N, "constant"),
    "truth": ([True, False, None, True] * (N // 4), "boolean"),
    "day": ([t.date() for t in HOURS], "date"),
    "hour": (HOURS, "date"),
    "zoned": (pa.array(HOURS, pa.timestamp("ns", "Europe/Berlin")), "date"),
    "dictionary": (pa.array([f"c{i % 60}" for i in range(N)]).dictionary_encode(), "category"),
    "codes": (pa.array([i % 3 for i in range(N)]).dictionary_encode(), "category"),
    "decimal": ([decimal.Decimal(i) / 8 for i in range(N)], "number"),
    "list": ([[i] for i in range(N)], "ignored"),
    "bytes": ([b"\xff"] * N, "ignored"),
    "time": ([t.time() for t in HOURS], "ignored"),
    "infinite": ([np.inf] + [1.5 * i for i in range(1, N)], "number"),
}


@pytest.fixture
def zoo():
    return infer(table({name: values for name, (values, _) in COLUMNS.items()}))


def test_the_rules_hold_for_every_kind_of_column(zoo):
    assert {c.name: c.kind for c in zoo.columns} == {name: kind for name, (_, kind) in COLUMNS.items()}


def test_text_that_is_nearly_all_numbers_says_what_is_not(zoo):
    assert zoo["typing error"].why == "numbers but for 1 value such as '1.2.3'"


def test_dates_are_seconds_since_1970_and_know_whether_they_have_a_time(zoo):
    hour, day = zoo["hour"], zoo["day"]
    assert hour.low == HOURS[0].replace(tzinfo=dt.UTC).timestamp()
    assert hour.high == HOURS[-1].replace(tzinfo=dt.UTC).timestamp()
    assert (hour.with_time, day.with_time, zoo["zoned"].with_time) == (True, False, True)
    assert day.low == dt.datetime(2024, 2, 28, tzinfo=dt.UTC).timestamp()
    assert day.distinct == len({t.date() for t in HOURS})


def test_infinite_values_do_not_spoil_the_range(zoo):
    column = zoo["infinite"]
    assert (column.low, column.high, column.whole) == (1.5, 148.5, False)
    assert column.why == "numbers, 1 of them infinite"


def test_a_row_counter_stays_a_number_where_it_is_all_there_is():
    schema = infer(table({"x": range(50), "y": [2.5 * i for i in range(50)]}), target="y")
    assert schema["x"].kind == "number"
    assert "nothing else to learn from" in schema["x"].why


def test_a_target_is_never_an_id():
    schema = infer(table({"x": [i * i for i in range(50)], "y": range(50), "id": range(50)}), target="y")
    assert (schema.target.kind, schema["id"].kind) == ("number", "id")
    names = infer(table({"x": [i * i for i in range(50)], "y": [f"n{i}" for i in range(50)]}), target="y")
    assert names.target.kind == "category"
    assert len(names.target.levels) == 50


def test_a_code_keeps_its_zeros_unless_it_is_made_a_number(text_file):
    source = text_file("zip,x\n" + "".join(f"0{1000 + i % 3},{i}\n" for i in range(60)))
    assert infer(source)["zip"].kind == "category"
    assert infer(source, kinds={"zip": "number"})["zip"].high == 1002
    column = infer(source, kinds={"zip": "category"})["zip"]
    assert column.levels == ("01000", "01001", "01002")
    assert (column.kind, column.low, column.why) == ("category", None, "as you asked")


def test_numbers_of_typed_files_become_categories_too():
    source = table({"n": [3, 1, None, 3], "f": [1.5, np.nan, 2.0, 1.5], "b": [True, None, False, True]})
    schema = infer(source, kinds=dict.fromkeys("nfb", "category"))
    assert [c.levels for c in schema.columns] == [("1", "3"), ("1.5", "2"), ("false", "true")]
    assert [c.missing for c in schema.columns] == [1, 1, 1]


def test_text_becomes_numbers_truth_values_or_dates_where_it_can():
    source = table(
        {"n": ["1", "2.5", None], "b": ["yes", "no", None], "d": ["2024-02-29", "2024-03-01 12:00:00", None]}
    )
    schema = infer(source, kinds={"n": "number", "b": "boolean", "d": "date"})
    number, truth, date = schema.columns
    assert (number.low, number.high, number.missing) == (1.0, 2.5, 1)
    assert truth.counts == {"false": 1, "true": 1}
    assert date.with_time
    assert date.high == dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC).timestamp()


def test_more_categories_than_are_kept_keep_the_frequent_ones():
    n = 3 * MOST_LEVELS
    values = [f"rare {i}" for i in range(n)] + [f"often {i % 10}" for i in range(n)]
    column = infer(table({"a": values}), kinds={"a": "category"})["a"]
    assert len(column.levels) == MOST_LEVELS
    assert {f"often {i}" for i in range(10)} <= set(column.levels)
    assert column.distinct == n + 10


WRONG = {
    "sexx": ({"sexx": "text"}, SchemaError, "Did you mean 'sex'"),
    "kind": ({"sex": "categry"}, ParameterError, "Did you mean 'category'"),
    "constant": ({"sex": "constant"}, ParameterError, "say 'ignored'"),
    "parse": ({"sex": "number"}, SchemaError, "'Male' in row 0 .* is not a number"),
    "truth": ({"sex": "boolean"}, SchemaError, "'Male' in row 0 .* is not true or false"),
    "date": ({"sex": "date"}, SchemaError, "'Male' in row 0 .* is not a date"),
    "number as date": ({"age": "date"}, SchemaError, "holds int64 and cannot be 'date'. Possible: number, category"),
    "number as truth": ({"age": "boolean"}, SchemaError, "go from 17 to 90"),
}


@pytest.mark.parametrize("name", WRONG)
def test_impossible_overrides_are_refused(data_dir, name):
    kinds, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        schema_of(data_dir / "adult.parquet", "target", kinds=kinds)


def test_text_of_a_csv_file_is_no_number_by_force(data_dir):
    with pytest.raises(AssayError, match=r"'sex' should hold a number.*'MALE' in row 2"):
        schema_of(data_dir / "penguins.csv", "target", kinds={"sex": "number"})


def test_ignored_columns_are_not_read(text_file):
    source = text_file("a,b\n" + "1,2\n" * 1_200_000 + "1,oops\n")  # past what the types are guessed from
    with pytest.raises(AssayError, match="oops"):
        infer(source)
    assert infer(source, kinds={"b": "ignored"})["b"].kind == "ignored"
    assert infer(source, kinds={"b": "category"})["b"].levels == ("2", "oops")


ROLES = {
    "target misspelt": ({"target": "taget"}, "no column 'taget' .the target.. Did you mean 'target'"),
    "weight misspelt": ({"weight": "agee"}, "no column 'agee' .the weight.. Did you mean 'age'"),
    "two roles": ({"target": "age", "group": "age"}, "cannot be both the target and the group"),
    "text as weight": ({"weight": "sex"}, "weights are numbers"),
    "feature and target": ({"target": "age", "features": ["age"]}, "cannot be both the target and a feature"),
    "feature twice": ({"features": ["age", "age"]}, "two columns named 'age'"),
    "override of a role": ({"group": "race", "kinds": {"race": "text"}}, "no column 'race' to be 'text'"),
}


@pytest.mark.parametrize("name", ROLES)
def test_roles_that_cannot_be_are_refused(data_dir, name):
    options, message = ROLES[name]
    with pytest.raises(SchemaError, match=message):
        infer(rows(data_dir / "adult.parquet").source, **options)


def test_columns_with_a_role_are_no_features(data_dir):
    schema = schema_of(data_dir / "adult.parquet", "target", weight="fnlwgt", group="race", features=["age", "sex"])
    assert [c.name for c in schema.columns] == ["age", "sex"]
    assert schema.roles == {"weight": "fnlwgt", "group": "race"}
