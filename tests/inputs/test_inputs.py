"""Bad input is refused in words: what was wrong, which value, what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import CASES, IDS

import assay
from assay.errors import DataError, DataTypeError, SchemaError
from assay.inputs import as_column, as_matrix, as_rows, as_weights

every_case = pytest.mark.parametrize("case", CASES, ids=IDS)


@every_case
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda X, y: (X[0], y), "Expected 2D array"),
        (lambda X, y: (3.0, y), "Expected 2D array"),
        (lambda X, y: (X[None], y), "Expected 2D array"),
        (lambda X, y: (X[:, :0], y), r"0 feature\(s\)"),
        (lambda X, y: (X[:0], y[:0]), r"0 sample\(s\)"),
        (lambda X, y: ([[1, 2], [3]], [0, 1]), "ragged"),
        (lambda X, y: (X + 1j, y), "Complex data not supported"),
        (lambda X, y: (X, None), "requires y"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples: X has 120 rows, y has 119"),
        (lambda X, y: (X, np.c_[y, y][:, :, None]), "1d array"),
        (lambda X, y: (np.where(X[3, 1] == X, np.inf, X), y), "infinity"),
        (lambda X, y: (np.where(X[3, 1] == X, "x", X.astype(object)), y), "contains 'x'"),
        (
            lambda X, y: (pd.DataFrame(X).assign(z=pd.Timestamp(0)).rename(columns=str), y),
            "neither numbers nor categories",
        ),
        (lambda X, y: (pd.DataFrame(X, columns=["a", "b", "c", "d", 5]), y), "string names"),
        (lambda X, y: (pd.DataFrame(X, columns=list("aabcd")), y), "same name"),
        (lambda X, y: (X, np.full(len(y), np.nan)), "NaN"),
        (lambda X, y: (X, [None] * len(y)), "NaN|None|number"),
    ],
)
def test_rows_that_cannot_be_used(case, damage, message):
    X, y = case.rows()
    with pytest.raises(DataError, match=message):
        case.model().fit(*damage(X, y))


@every_case
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(120), "[Nn]egative"),
        (np.zeros(120), "zero"),
        (np.full(120, np.nan), "NaN"),
        (np.full(120, np.inf), "infinity"),
        (np.ones(119), "one weight a row"),
        (np.ones((120, 2)), "1D array"),
        (["a"] * 120, "not numbers"),
    ],
)
def test_weights_that_cannot_be_used(case, weights, message):
    X, y = case.rows()
    with pytest.raises(DataError, match=message):
        case.model().fit(X, y, sample_weight=weights)


@every_case
def test_one_weight_for_all_rows_is_no_weight(case):
    X, y = case.rows()
    a, b = case.model().fit(X, y, sample_weight=2.0), case.model().fit(X, y, sample_weight=np.full(120, 2.0))
    assert np.array_equal(a.predict(X), b.predict(X))


@every_case
def test_values_at_the_ends_of_the_floating_range_are_answered_or_explained(case):
    X, y = case.rows()
    for value in (1e300, -1e300, 1e-300, 5e-324):
        wild = X.copy()
        wild[5, 2] = value
        try:
            model = case.model().fit(wild, y)
        except DataError as error:
            assert len(str(error)) > 20  # noqa: PT017
        else:
            assert model.predict(X).shape == (120,)


@every_case
def test_constant_columns_do_no_harm(case):
    X, y = case.rows()
    X = X.copy()
    X[:, 1] = 1.0
    assert case.model().fit(X, y).predict(X).shape == (120,)


@every_case
def test_one_class_is_refused_or_answered_always(case):
    X, _ = case.rows()
    if case.classifies and getattr(case.model(), "least_classes", 2) == 2:
        with pytest.raises(DataError, match=r"only one class|Only one class"):
            case.model().fit(X, np.zeros(120, int))
    elif case.classifies:
        model = case.model().fit(X, np.full(120, 7))
        assert model.predict(X).tolist() == [7] * 120
        assert not hasattr(model, "predict_proba") or model.predict_proba(X).tolist() == [[1.0]] * 120
        assert model.certificate_.verify(X, np.full(120, 7)).holds


def test_a_cell_that_is_not_finite_is_named():
    X = np.ones((45_000, 50))
    X[43_000, 7] = np.nan
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(50)])
    with pytest.raises(DataError, match=r"NaN \(first in row 43000, column 'column 7'\)"):
        assay.LinearRegression().fit(frame, np.arange(45_000.0))
    X[43_000, 7] = -np.inf
    with pytest.raises(DataError, match=r"infinity .*\(first in row 43000, column 7\)"):
        assay.LinearRegression().fit(X, np.arange(45_000.0))


def test_text_is_named_with_its_column():
    frame = pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"]})
    with pytest.raises(DataError, match="Column 'colour' contains 'red'"):
        assay.LinearRegression().fit(frame, [0.0, 1.0])


def test_missing_names_are_listed_with_the_nearest():
    X, y = CASES[IDS.index("gaussian-nb")].rows()
    model = assay.GaussianNB().fit(pd.DataFrame(X, columns=["length", "width", "c", "d", "e"]), y)
    with pytest.raises(SchemaError, match=r"Did you mean 'lenght'") as raised:
        model.predict(pd.DataFrame(X, columns=["lenght", "width", "c", "d", "e"]))
    assert isinstance(raised.value, KeyError)


def test_a_column_vector_is_flattened_with_a_warning():
    with pytest.warns(UserWarning, match="column-vector y"):
        assert as_column(np.ones((3, 1)), "y", 3).shape == (3,)


def test_missing_values_of_frames_become_nan():
    frames = [
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [True, False, True]}),
        pl.DataFrame({"a": [1, None, 3], "b": [True, False, True]}),
    ]
    for frame in frames:
        assert np.array_equal(as_rows(frame).X, [[1, 1], [np.nan, 0], [3, 1]], equal_nan=True)


def test_a_frame_of_single_precision_stays_so():
    assert (
        as_rows(pl.DataFrame({"a": [1.0], "b": [2.0]}, schema={"a": pl.Float32, "b": pl.Float32})).X.dtype == np.float32
    )
    assert as_rows(pd.DataFrame({"a": np.ones(2, np.float32), "b": np.ones(2)})).X.dtype == np.float64


def test_half_and_extended_precision_become_double():
    assert as_matrix(np.ones((2, 2), np.float16)).dtype == np.float64
    assert as_matrix(np.ones((2, 2), np.longdouble)).dtype == np.float64


def test_objects_without_numbers_are_a_type_error():
    with pytest.raises(DataTypeError, match="not a number"):
        as_matrix(np.array([[{}]], dtype=object))


def test_labels_of_nullable_frames_can_be_saved(tmp_path):
    X, y = CASES[IDS.index("gaussian-nb")].rows()
    for target in (pd.Series(y, dtype="Int64"), y.astype(object), pd.Series(y).astype("category")):
        model = assay.GaussianNB().fit(X, target)
        model.save(tmp_path / "m.assay")
        assert np.array_equal(assay.load(tmp_path / "m.assay").predict(X), model.predict(X))
        assert model.classes_.dtype == y.dtype


def test_weights_are_taken_from_series_and_lists():
    for weights in (pd.Series([1, 2]), pl.Series([1, 2]), [1, 2], (1, 2), np.array([1, 2], object)):
        assert as_weights(weights, 2).tolist() == [1, 2]


def test_a_target_beside_rows_that_bring_their_own_is_refused():
    with pytest.raises(DataError, match="brings its own target"):
        as_rows(as_rows(np.ones((2, 2))), [0, 1])
