"""Input that least squares refuses, and how it says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from families.least_squares.problems import problem

import assay
from assay.errors import DataError, ParameterError
from assay.families.least_squares.estimators import line


@pytest.mark.parametrize(
    ("X", "y", "w", "message"),
    [
        ([[1.0], [np.nan]], [1, 2], None, "NaN .first in row 1, column 0"),
        ([[1.0], [np.inf]], [1, 2], None, "infinity"),
        ([[1.0], [2.0]], [1, np.nan], None, "y contains NaN"),
        ([[1.0], [2.0]], ["a", "b"], None, "must be numbers"),
        ([["a"], ["b"]], [1, 2], None, "not a number"),
        ([[1.0], [2.0, 3.0]], [1, 2], None, "ragged"),
        (np.empty((0, 2)), [], None, "0 sample"),
        ([[1.0], [2.0]], [1, 2, 3], None, "inconsistent"),
        ([[1.0], [2.0]], [1, 2], [-1, 1], "Negative"),
        ([[1.0], [2.0]], [1, 2], [0, 0], "positive weight"),
        ([[1e300], [2.0]], [1, 2], None, "overflow"),
        ([[1.0], [2.0]], [1e300, 2], None, "overflow"),
        ([[1.0], [2.0]], [[[1], [2]], [[3], [4]]], None, "1d array"),
    ],
)
@pytest.mark.parametrize("cls", [assay.LinearRegression, assay.Ridge])
def test_bad_input_is_refused_by_name(cls, X, y, w, message):
    with pytest.raises(DataError, match=message):
        cls().fit(X, y, w)


def test_bad_parameters_are_refused_by_name():
    for bad in ({"solver": "svdd"}, {"eta": 0.0}, {"max_iter": 0}, {"random_state": -1}):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            assay.LinearRegression(**bad).fit([[1.0], [2.0]], [1, 2])
    with pytest.raises(ParameterError, match="alpha"):
        assay.Ridge(-1.0).fit([[1.0], [2.0]], [1, 2])


def test_wrong_width_names_and_no_rows_are_refused_at_prediction():
    X, y = problem()
    model = assay.LinearRegression().fit(X, y)
    with pytest.raises(DataError, match="expecting 6 features"):
        model.predict(X[:, :5])
    with pytest.raises(DataError, match="0 sample"):
        model.predict(X[:0])
    with pytest.raises(DataError, match="NaN"):
        model.predict(np.full((1, 6), np.nan))
    named = assay.LinearRegression().fit(pd.DataFrame(X, columns=list("abcdef")), y)
    with pytest.raises(DataError, match="feature names"):
        named.predict(pd.DataFrame(X, columns=list("abcdeg")))


def test_a_line_needs_points_that_differ():
    with pytest.raises(DataError, match="All x are equal"):
        line([1.0, 1.0], [1.0, 2.0])
    with pytest.raises(DataError, match="equally many"):
        line([1.0, 2.0], [1.0])
