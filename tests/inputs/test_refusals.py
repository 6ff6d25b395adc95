"""Whatever a user can get wrong ends in an error of ours that says what to do."""

import numpy as np
import pytest

import assay
from assay.errors import AssayError, DataError, ModelFileError, ParameterError

X = np.random.default_rng(0).normal(size=(40, 2))
y = np.arange(40) % 3


@pytest.mark.parametrize("ask", ["conf_int", "summary", "predict_interval"])
def test_ridge_says_why_it_has_no_intervals(ask):
    with pytest.raises(ParameterError, match="penalty pulls the coefficients"):
        getattr(assay.Ridge().fit(X, y), ask)()


def test_a_level_must_be_a_share():
    with pytest.raises(ParameterError, match="level='a'"):
        assay.LinearRegression().fit(X, y).conf_int("a")


@pytest.mark.parametrize("workers", ["a", 0, 1.5])
def test_threads_are_counted_in_whole_numbers(workers):
    with pytest.raises(ParameterError, match="threads are not possible"):
        assay.engine("threads", workers=workers)


def test_a_model_file_is_named_by_a_path():
    with pytest.raises(ModelFileError, match="not by NoneType"):
        assay.load(None)


def test_the_squared_loss_needs_numbers():
    model = assay.GaussianNB().fit(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(DataError, match="squared loss needs numbers"):
        assay.empirical_risk(model, X, np.array(["a", "b", "c"])[y], "squared")


def test_margins_are_for_two_classes():
    with pytest.raises(AssayError, match="two classes"):
        assay.empirical_risk(assay.QuadraticDiscriminantAnalysis().fit(X, y), X, y, "hinge")


def test_ragged_targets_and_text_weights_are_refused():
    model = assay.GaussianNB().fit(X, y)
    with pytest.raises(DataError, match="ragged"):
        assay.empirical_risk(model, X, [[1, 2], [3]])
    with pytest.raises(DataError, match="sample_weight must be"):
        assay.empirical_risk(model, X, y, sample_weight=["a"] * 40)


def test_rows_of_a_file_are_scored_with_their_own_target(tmp_path):
    import pandas as pd

    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_parquet(tmp_path / "rows.parquet")
    rows = assay.rows(tmp_path / "rows.parquet", target="y")
    model = assay.GaussianNB().fit(rows)
    assert model.score(rows) == model.score(pd.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(DataError, match="brings its own target"):
        model.score(rows, y)
