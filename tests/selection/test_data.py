"""Table data: what several models need alike is found once."""

from __future__ import annotations

import numpy as np
import pytest

from assay.engines import engine
from assay.selection.data import TableData
from assay.tables.encoding import Encoding, EncodingSpec
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import TableRows

rng = np.random.default_rng(1)
TABLE = {
    "a": rng.normal(size=400),
    "c": [("x", "y", "z")[k] for k in rng.integers(0, 3, 400)],
    "t": [("yes", "no")[k] for k in rng.integers(0, 2, 400)],
}


@pytest.fixture(params=["threads", "stream"])
def data(request):
    source = table_source(TABLE)
    schema = infer(source, target="t")
    rows = TableRows(source, schema, "t")
    return TableData.of(schema, engine(request.param).open(rows), True)


def test_statistics_of_the_same_rows_are_found_once(data):
    which = np.arange(0, 400, 2)
    first = data.statistics(which)
    assert data.statistics(which.copy()) is first
    assert data.statistics(which[:-1]).n == 199


def test_encoded_rows_are_those_of_an_encoding_learnt_from_them(data):
    which = np.arange(1, 400, 3)
    encoding = Encoding(data.schema, EncodingSpec(scaled=True), data.statistics(which))
    rows = data.encoded(encoding, which).in_memory()
    assert abs(rows.X[:, 0].mean()) < 1e-12
    assert abs(rows.X[:, 0].std() - 1) < 1e-12
    assert rows.y.tolist() == data.y[which].tolist()


def test_codes_are_places_among_the_classes(data):
    assert data.classes.tolist() == ["no", "yes"]
    assert np.array_equal(data.classes[data.codes], data.y)
