"""What a rectangle classifier refuses, and what it bears: each error says what to do."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from assay import RectangleClassifier
from assay.errors import DataError, DataTypeError, ModelFileError, OneClassError, ParameterError
from assay.estimator.search_space import TableTraits

rng = np.random.default_rng(5)
X = rng.random((60, 3))
Y = (X[:, 0] > 0.5).astype(int)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "best"}, "method='best' is not possible: it must be one of 'auto', 'tightest', 'exact', 'search'"),
        ({"n_rectangles": 0}, "n_rectangles=0"),
        ({"n_rectangles": 1.5}, "n_rectangles=1.5"),
        ({"n_init": 0}, "n_init=0"),
        ({"random_state": -1}, "random_state=-1"),
        ({"pos_label": [1]}, "pos_label=\\[1\\] is not possible: it must be a label of y or None"),
        ({"pos_label": 7}, r"pos_label=7 is no class of y. Classes: \[0, 1\]"),
        ({"class_weight": {0: 0.0, 1: 0.0}}, "leaves no class with any weight"),
        ({"class_weight": {5: 1.0}}, "class 5, which does not occur"),
        ({"method": "exact"}, "for one or two columns, and X has 3: use method='search' or 'auto'"),
        ({"method": "tightest", "n_rectangles": 2}, "'tightest' is one rectangle a class, and n_rectangles=2"),
    ],
    ids=str,
)
def test_parameters_that_cannot_be_are_named(params, message):
    with pytest.raises(ParameterError, match=message):
        RectangleClassifier(**params).fit(X, Y)


def test_a_positive_label_is_for_two_classes():
    with pytest.raises(ParameterError, match="pos_label=1 is for two classes, and y has 3"):
        RectangleClassifier(pos_label=1).fit(X, np.arange(60) % 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_missing_and_infinite_values_are_named_with_their_cell(bad, dtype):
    spoilt = X.astype(dtype)
    spoilt[4, 2] = bad
    with pytest.raises(DataError, match=r"row 4, column 2"):
        RectangleClassifier().fit(spoilt, Y)
    for y in (Y, np.arange(60) % 3):
        model = RectangleClassifier().fit(X.astype(dtype), y)
        for ask in (model.predict, model.predict_proba, model.decision_function):
            with pytest.raises(DataError, match=r"row 4, column 2"):
                ask(spoilt)


def test_one_class_no_rows_and_no_weight_are_refused():
    with pytest.raises(OneClassError, match="only one class"):
        RectangleClassifier().fit(X, np.zeros(60))
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        RectangleClassifier().fit(X[:0], Y[:0])
    with pytest.raises(DataError, match=r"zero.*give some rows a positive weight"):
        RectangleClassifier().fit(X, Y, np.zeros(60))
    with pytest.raises(DataError, match="Only one class, 1, has rows of positive weight"):
        RectangleClassifier().fit(X, Y, (Y == 1).astype(float))
    with pytest.raises(DataError, match="looks like regression"):
        RectangleClassifier().fit(X, X[:, 0])
    with pytest.raises(DataError, match="the weights are so large that their sum overflows"):
        RectangleClassifier().fit(X, Y, np.full(60, 1e307))
    with pytest.raises(DataTypeError, match=r"[Ss]parse"):
        RectangleClassifier().fit(scipy.sparse.csr_matrix(X), Y)


@pytest.mark.parametrize("weight", [1e-307, 1e-200, 0.1, 1 / 3, 1e100])
def test_weights_of_any_size_and_any_digits_are_certified(weight):
    w = weight * (1 + np.arange(60) % 3)
    plain = RectangleClassifier("search").fit(X, Y, 1.0 + np.arange(60) % 3)
    model = RectangleClassifier("search").fit(X, Y, w)
    assert np.array_equal(model.lower_, plain.lower_)
    assert model.certificate_.verify(X, Y, w).holds
    noisy = rng.random(60)
    certificate = RectangleClassifier("search").fit(X, Y, noisy).certificate_
    assert certificate.verify(X, Y, noisy).holds


def test_a_row_of_almost_no_weight_still_counts_for_the_tightest_rectangle():
    w = np.ones(60)
    far = np.vstack([X, [[9.0, 9.0, 9.0]]])
    model = RectangleClassifier("tightest").fit(far, np.append(Y, 1), np.append(w, 1e-40))
    assert model.upper_.tolist() == [[9.0, 9.0, 9.0]]
    assert model.certificate_.verify(far, np.append(Y, 1), np.append(w, 1e-40)).holds


def test_a_class_without_weight_has_no_rectangle():
    y = np.arange(60) % 3
    for w, class_weight in (((y != 2).astype(float), None), (None, {2: 0.0})):
        model = RectangleClassifier(class_weight=class_weight).fit(X, y, w)
        assert 2 not in model.owner_
        assert 2 not in model.predict(X)
        assert model.certificate_.verify(X, y, w).holds


@pytest.mark.parametrize("method", ["auto", "tightest", "search"])
def test_constant_columns_and_rows_that_are_all_the_same_are_borne(method):
    still = X.copy()
    still[:, 1] = 4.0
    model = RectangleClassifier(method).fit(still, Y)
    assert model.unit_[1] == 1.0
    assert model.certificate_.verify(still, Y).holds
    same = RectangleClassifier(method).fit(np.ones((9, 2)), np.arange(9) % 2)
    assert same.certificate_.verify(np.ones((9, 2)), np.arange(9) % 2).holds


def test_values_at_the_ends_of_the_numbers_are_borne():
    far = np.where(X > 0.5, 1.7e308, -1.7e308)
    model = RectangleClassifier().fit(far, Y)
    assert np.isfinite(model.decision_function(far)).all()
    assert model.certificate_.verify(far, Y).holds
    tiny = X * 1e-310
    model = RectangleClassifier().fit(tiny, Y)
    assert np.isfinite(model.decision_function([[1e300, 1.0, -1e300]])).all()
    assert model.score(tiny, Y) > 0.9


def test_a_zero_of_either_sign_gives_the_same_file():
    from cases import file_bytes

    signed = np.where(X < 0.4, -0.0, X)
    files = []
    for A in (signed, signed + 0.0):
        record = RectangleClassifier().fit(A, Y).to_record()
        record.provenance.pop("fingerprint")
        files.append([a.tobytes() for a in record.arrays.values()])
    assert files[0] == files[1]
    assert file_bytes(RectangleClassifier().fit(X, Y))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("lower_", lambda a: a + 100),
        ("owner_", lambda a: a * 0),
        ("unit_", lambda a: a * 0),
        ("cells_", lambda a: a * 0),
        ("methods_", lambda a: ["guess"]),
        ("methods_", lambda a: []),
        ("shift_", lambda a: 10**9),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(part, value):
    model = RectangleClassifier("search").fit(X, Y)
    setattr(model, part, value(getattr(model, part)))
    with pytest.raises(ModelFileError, match="The model file's"):
        RectangleClassifier.from_record(model.to_record())


def test_a_comparison_leaves_it_out_where_it_cannot_help_or_end():
    def table(rows=1000, classes=2, text=False, columns=5):
        return TableTraits(rows, classes, False, True, text, columns=columns)

    assert RectangleClassifier.search_space("regressor", table(classes=0)) is None
    assert RectangleClassifier.search_space("classifier", table(text=True)).unfit is None
    assert "too long" in RectangleClassifier.search_space("classifier", table(rows=10**8, columns=50)).unfit
    usual = RectangleClassifier.search_space("classifier", table())
    assert [s["n_rectangles"] for s in usual.search] == [1, 2, 4, 8]
    large = RectangleClassifier.search_space("classifier", table(rows=10**6, columns=20))
    assert large.unfit is None
    assert [s["n_rectangles"] for s in large.search] == [1, 2, 4]
