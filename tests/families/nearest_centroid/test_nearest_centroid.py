import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.neighbors import NearestCentroid as Theirs

import assay
from assay.errors import DataError, ParameterError

rng = np.random.default_rng(2)
y = rng.integers(0, 3, 90)
X = rng.normal(size=(90, 4)) * [1.0, 5.0, 0.2, 1.0] + y[:, None] * [1.0, -2.0, 0.1, 0.0]
Q = rng.normal(size=(50, 4)) * 3


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("shrink_threshold", [None, 0.3, 2.0])
@pytest.mark.parametrize("priors", ["uniform", "empirical", [0.2, 0.5, 0.3]])
def test_all_that_is_learnt_and_answered_is_scikit_learns(metric, shrink_threshold, priors):
    given = {"metric": metric, "shrink_threshold": shrink_threshold, "priors": priors}
    ours, theirs = assay.NearestCentroid(**given).fit(X, y), Theirs(**given).fit(X, y)
    for name in ("centroids_", "deviations_", "within_class_std_dev_", "class_prior_"):
        assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10, atol=1e-12)
    assert np.array_equal(ours.predict(Q), theirs.predict(Q))
    if metric == "euclidean":
        assert np.allclose(ours.decision_function(Q), theirs.decision_function(Q))
        assert np.allclose(ours.predict_proba(Q), theirs.predict_proba(Q))
    assert not any(hasattr(ours, name) for name in ("decision_function", "predict_proba")) or metric == "euclidean"
    assert ours.certificate_.verify(X, y).holds
    assert not ours.certificate_.verify(X + 1e-3 * (y == 1)[:, None], y).holds


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_a_weight_is_a_repeated_row_and_zeros_may_be_left_out(metric):
    w = rng.integers(0, 4, 90)
    model = assay.NearestCentroid(metric, shrink_threshold=0.2, priors="empirical").fit(X, y, sample_weight=w)
    again = assay.NearestCentroid(metric, shrink_threshold=0.2, priors="empirical").fit(
        np.repeat(X, w, 0), np.repeat(y, w)
    )
    assert np.allclose(model.centroids_, again.centroids_)
    assert np.allclose(model.deviations_, again.deviations_)
    assert model.certificate_.verify(X, y, w).holds
    S = np.where(np.abs(X) > 1, X, 0.0)
    assert np.array_equal(
        assay.NearestCentroid(metric).fit(csr_array(S), y).centroids_,
        assay.NearestCentroid(metric).fit(S, y).centroids_,
    )


def test_two_classes_have_one_decision_value():
    few = y < 2
    ours, theirs = assay.NearestCentroid().fit(X[few], y[few]), Theirs().fit(X[few], y[few])
    assert np.allclose(ours.decision_function(Q), theirs.decision_function(Q))


def test_more_rows_move_means_and_medians_need_all_at_once():
    parts = assay.NearestCentroid(shrink_threshold=0.1).partial_fit(X[:40], y[:40], classes=[0, 1, 2])
    parts.partial_fit(X[40:], y[40:])
    assert np.allclose(parts.centroids_, assay.NearestCentroid(shrink_threshold=0.1).fit(X, y).centroids_)
    with pytest.raises(AttributeError, match="all rows at once"):
        _ = assay.NearestCentroid("manhattan").partial_fit


def test_what_cannot_be_is_refused_in_words():
    with pytest.raises(DataError, match="All features have zero variance"):
        assay.NearestCentroid().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    with pytest.raises(ParameterError, match="priors must be non-negative"):
        assay.NearestCentroid(priors=[-1, 1, 1]).fit(X, y)
    with pytest.raises(ParameterError, match="priors holds 2 numbers, and there are 3 classes"):
        assay.NearestCentroid(priors=[0.5, 0.5]).fit(X, y)
    with pytest.warns(UserWarning, match="do not sum to 1"):
        assert assay.NearestCentroid(priors=[1, 1, 2]).fit(X, y).class_prior_.tolist() == [0.25, 0.25, 0.5]
    with pytest.warns(UserWarning, match="zero standard deviation"):
        flat = assay.NearestCentroid().fit(np.column_stack([X, np.ones(90)]), y)
    assert flat.certificate_.verify(np.column_stack([X, np.ones(90)]), y).holds


def test_a_comparison_that_names_it_tries_shrinkage():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = assay.compare(X, y=y, models=["nearest-centroid", "baseline"], folds=2, workers=0)
    assert found["nearest-centroid"].risk.value < found["baseline"].risk.value
