"""A schema goes to JSON and comes back the same; what was tampered with is refused. It is shown in 80 columns."""

from __future__ import annotations

import copy
import html
import json

import numpy as np
import pyarrow as pa
import pytest

import assay
from assay.errors import ModelFileError
from assay.tables import rows
from assay.tables.schema.schema import Schema, infer


@pytest.mark.parametrize("name", ["adult.parquet", "titanic.csv", "sms_spam.csv", "mushroom.csv", "longley.csv"])
def test_a_schema_survives_json(data_dir, name):
    schema = infer(rows(data_dir / name).source, target="target")
    assert Schema.from_data(json.loads(json.dumps(schema.to_data(), allow_nan=False))) == schema


@pytest.fixture
def data():
    moments = np.array(["2024-02-29T10:00", "2024-03-01T00:00"] * 20, "datetime64[us]")
    table = {"n": np.arange(40) / 3, "c": ["a", "b"] * 20, "d": moments, "w": [1.0] * 40, "y": [True, False] * 20}
    return infer(rows(pa.table(table)).source, target="y", weight="w").to_data()


def forged(data, *path, value):
    data = copy.deepcopy(data)
    inside = data
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value
    return data


FORGERIES = {
    "no object": lambda d: [d],
    "another version": lambda d: forged(d, "schema", value="assay.schema/2"),
    "an entry too many": lambda d: {**d, "code": "import os"},
    "an entry too few": lambda d: {k: v for k, v in d.items() if k != "roles"},
    "rows": lambda d: forged(d, "n_rows", value=-1),
    "rows as text": lambda d: forged(d, "n_rows", value="40"),
    "rows as truth": lambda d: forged(d, "n_rows", value=True),
    "columns": lambda d: forged(d, "columns", value={}),
    "a column": lambda d: forged(d, "columns", 0, value=7),
    "a column's entry": lambda d: forged(d, "columns", 0, "extra", value=7),
    "kind": lambda d: forged(d, "columns", 0, "kind", value="tensor"),
    "kind as list": lambda d: forged(d, "columns", 0, "kind", value=["number"]),
    "name": lambda d: forged(d, "columns", 0, "name", value=None),
    "a name twice": lambda d: forged(d, "columns", 0, "name", value="c"),
    "the target's name": lambda d: forged(d, "columns", 0, "name", value="y"),
    "missing": lambda d: forged(d, "columns", 0, "missing", value=41),
    "distinct": lambda d: forged(d, "columns", 0, "distinct", value=41),
    "about": lambda d: forged(d, "columns", 0, "about", value=1),
    "levels of a number": lambda d: forged(d, "columns", 0, "levels", value=["a"]),
    "no levels": lambda d: forged(d, "columns", 1, "levels", value=None),
    "levels out of order": lambda d: forged(d, "columns", 1, "levels", value=["b", "a"]),
    "a level twice": lambda d: forged(d, "columns", 1, "levels", value=["a", "a"]),
    "levels that are no text": lambda d: forged(d, "columns", 1, "levels", value=[1, 2]),
    "too many levels": lambda d: forged(d, "columns", 1, "levels", value=[f"{i:05}" for i in range(1001)]),
    "counts of other levels": lambda d: forged(d, "columns", 1, "counts", value={"x": 1}),
    "negative counts": lambda d: forged(d, "columns", 1, "counts", value={"a": -1, "b": 1}),
    "more counts than rows": lambda d: forged(d, "columns", 1, "counts", value={"a": 40, "b": 1}),
    "half a range": lambda d: forged(d, "columns", 0, "low", value=None),
    "an infinite range": lambda d: forged(d, "columns", 0, "high", value=float("inf")),
    "a range upside down": lambda d: forged(d, "columns", 0, "low", value=1e9),
    "a huge range": lambda d: forged(d, "columns", 0, "high", value=10**400),
    "role": lambda d: forged(d, "roles", value={"spy": "w"}),
    "role of a feature": lambda d: forged(d, "roles", value={"weight": "n"}),
}


def test_the_untouched_data_are_accepted(data):
    assert Schema.from_data(data).to_data() == data


@pytest.mark.parametrize("name", FORGERIES)
def test_tampered_data_are_refused(data, name):
    with pytest.raises(ModelFileError, match="The stored schema cannot be used"):
        Schema.from_data(FORGERIES[name](data))


@pytest.mark.parametrize("name", ["adult.parquet", "titanic.csv", "wdbc.csv", "islr_caravan.csv"])
def test_the_table_fits_80_columns_and_names_every_column(data_dir, name):
    schema = infer(rows(data_dir / name).source, target="target")
    lines = str(schema).splitlines()
    assert max(map(len, lines)) <= 80
    assert all(any(line.startswith(c.name[:21]) for line in lines) for c in schema.columns)


def test_a_notebook_shows_how_columns_are_read_as_text_does():
    table = pa.table({"<b>paid</b>": ["1.234,50", "2.000,25", "13,75"] * 10, "n": [1.5, 2.5, 3.5] * 10})
    schema = assay.schema(table)
    (how,) = schema.written.values()
    assert str(how) in str(schema)
    page = schema._repr_html_()
    assert (
        f"<p>Read as they are written:</p><table><tbody><tr><td>&lt;b&gt;paid&lt;/b&gt;</td><td>{html.escape(str(how))}"
        in page
    )
    assert "Read as they are written" not in infer(rows(pa.table({"n": [1.5, 2.5] * 9})).source)._repr_html_()


def test_strange_names_and_values_do_not_break_the_table():
    table = pa.table({"a\nb\x1b[31m" + "n" * 200: ["x\r\n", "<script>"] * 10, "": [1.5, 2.5] * 10})
    schema = infer(rows(table).source)
    assert max(map(len, str(schema).splitlines())) <= 80
    assert len(str(schema).splitlines()) == 4
    assert "\x1b" not in str(schema)
    assert "<script>" not in schema._repr_html_()
    assert "&lt;script&gt;" in schema._repr_html_()
