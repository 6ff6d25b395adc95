"""A column that held text at the fit holds text at prediction, and numbers stay numbers: codes never leak."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import assay
from assay.errors import DataError, SchemaError

FRAME = pd.DataFrame({"sex": ["m", "f", "m", "f", "m", "f"] * 5, "age": np.arange(30.0)})
LABELS = np.arange(30) % 3 == 0


@pytest.fixture
def model():
    return assay.NaiveBayes().fit(FRAME, LABELS)


def test_numbers_where_text_was_fitted_are_refused(model):
    with pytest.raises(SchemaError, match="'sex' held text at the fit"):
        model.predict(FRAME.assign(sex=0.0))


def test_text_that_is_numbers_is_read_as_numbers_where_numbers_were_fitted(model):
    as_text = model.predict_proba(pl.DataFrame({"sex": ["m"], "age": ["22"]}))
    np.testing.assert_array_equal(as_text, model.predict_proba(pl.DataFrame({"sex": ["m"], "age": [22.0]})))


def test_other_text_is_refused_where_numbers_were_fitted(model):
    with pytest.raises(DataError, match="'age' contains 'old'"):
        model.predict(FRAME.assign(age="old"))


def test_more_rows_of_another_kind_are_refused_too(model):
    with pytest.raises(DataError, match="'age' contains 'x'"):
        model.partial_fit(FRAME.assign(age="x"), LABELS)


def test_a_text_column_without_any_value_is_missing(model):
    missing = model.predict_proba(FRAME.iloc[:1].assign(sex=None))
    assert np.isfinite(missing).all()
