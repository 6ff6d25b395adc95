import warnings

import numpy as np
import pytest
from sklearn import neighbors as theirs

import assay
from assay.errors import DataError, DataTypeError

rng = np.random.default_rng(8)
X, Q = rng.normal(size=(120, 3)), rng.normal(size=(40, 3))
y, numbers = rng.integers(0, 3, 120), rng.normal(size=120)
WEIGHTS = ["uniform", None, "distance", lambda d: np.exp(-d)]


def of_arrays(weights):
    """As scikit-learn hands distances over: an array of arrays."""
    if not callable(weights):
        return weights

    def each(distances):
        out = np.empty(len(distances), dtype=object)
        out[:] = [weights(d) for d in distances]
        return out

    return each


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("metric", [{}, {"metric": "manhattan"}, {"p": 3}, {"metric": "canberra"}])
def test_answers_are_those_of_scikit_learn(weights, metric):
    given = {"radius": 1.1, "weights": of_arrays(weights), **metric}
    ours = assay.RadiusNeighborsClassifier(**{**given, "weights": weights}, outlier_label=2).fit(X, y)
    peer = theirs.RadiusNeighborsClassifier(**given, outlier_label=2).fit(X, y)
    assert np.allclose(ours.predict_proba(Q), peer.predict_proba(Q), rtol=1e-12)
    assert np.array_equal(ours.predict(Q), peer.predict(Q))
    model = assay.RadiusNeighborsRegressor(**{**given, "weights": weights}).fit(X, numbers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, due = (m.predict(Q) for m in (model, theirs.RadiusNeighborsRegressor(**given).fit(X, numbers)))
    assert np.allclose(found, due, rtol=1e-12, equal_nan=True)
    for one, target in ((ours, y), (model, numbers)):
        assert one.certificate_.verify(X, target).holds
        assert not one.certificate_.verify(np.vstack([X[:-1], X[:1] + 0.01]), target).holds


def test_queries_without_neighbours_are_refused_or_get_the_label_of_outliers():
    far = np.vstack([X[:1], [[50.0, 0.0, 0.0]]])
    plain = assay.RadiusNeighborsClassifier().fit(X, y)
    for answer in (plain.predict, plain.predict_proba):
        with pytest.raises(DataError, match=r"No neighbors found for test samples \[1\]"):
            answer(far)
    other = assay.RadiusNeighborsClassifier(outlier_label=-1).fit(X, y)
    with pytest.warns(UserWarning, match="Outlier label -1 is not in training classes"):
        found = other.predict(far)[1], *other.predict_proba(far)[1]
    assert found == (-1, 0, 0, 0)
    named = assay.RadiusNeighborsClassifier(outlier_label="somewhere else").fit(X, np.array(["a", "b", "c"])[y])
    with pytest.warns(UserWarning, match="not in training classes"):
        assert named.predict(far)[1] == "somewhere else"
    usual = assay.RadiusNeighborsClassifier(outlier_label="most_frequent").fit(X, y, sample_weight=1.0 + (y == 1))
    assert usual.outlier_label_ == 1
    assert np.array_equal(usual.predict_proba(far)[1], [0, 1, 0])
    for wrong in ([[5]], "a"):
        with pytest.raises(DataTypeError, match="outlier_label"):
            assay.RadiusNeighborsClassifier(outlier_label=wrong).fit(X, y)


def test_without_queries_each_row_is_left_out():
    model = assay.RadiusNeighborsClassifier(1.5, weights="distance", outlier_label=0).fit(X, y)
    alone = [
        assay.RadiusNeighborsClassifier(1.5, weights="distance", outlier_label=0)
        .fit(np.delete(X, i, 0), np.delete(y, i))
        .predict_proba(X[i : i + 1])[0]
        for i in range(10)
    ]
    assert np.allclose(model.predict_proba(None)[:10], alone)


def test_a_query_without_neighbours_has_no_mean_and_a_warning_says_so():
    model = assay.RadiusNeighborsRegressor().fit(X, numbers)
    with pytest.warns(UserWarning, match="predicting NaN"):
        assert np.isnan(model.predict(np.vstack([X[:1], [[50.0, 0.0, 0.0]]]))).tolist() == [False, True]


def test_rows_just_at_the_radius_are_within_it():
    grid = np.arange(6.0)[:, None]
    model = assay.RadiusNeighborsRegressor(radius=1.0).fit(grid, grid[:, 0] ** 2)
    assert np.array_equal(model.predict([[2.0]]), [(1 + 4 + 9) / 3])
    assert model.certificate_.verify(grid, grid[:, 0] ** 2).holds


def test_a_comparison_that_names_it_searches_radii():
    found = assay.compare(X, y=(X[:, 0] > 0).astype(int), models=["baseline", "radius-neighbors"], folds=2, workers=0)
    assert found["radius-neighbors"].risk.value < 0.3 < found["baseline"].risk.value
