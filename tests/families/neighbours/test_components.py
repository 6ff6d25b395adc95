import numpy as np
import pytest
from sklearn.neighbors import NeighborhoodComponentsAnalysis as Theirs
from sklearn.utils.estimator_checks import parametrize_with_checks

import assay
from assay.errors import DataError, ParameterError

rng = np.random.default_rng(4)
y = rng.integers(0, 3, 80)
X = rng.normal(size=(80, 5))
X[:, 1] += 2.0 * y


@parametrize_with_checks([assay.NeighborhoodComponentsAnalysis(max_iter=5)])
def test_conformance(estimator, check):
    check(estimator)


def chance(A):
    """The mean chance that a soft neighbour is of the same class, pair by pair."""
    Z = X @ np.asarray(A).T
    far = ((Z[:, None] - Z) ** 2).sum(axis=2)
    np.fill_diagonal(far, np.inf)
    e = np.exp(far.min(axis=1, keepdims=True) - far)
    p = e / e.sum(axis=1, keepdims=True)
    return float(np.where(y[:, None] == y, p, 0.0).sum(axis=1).mean())


@pytest.mark.parametrize("init", ["auto", "pca", "lda", "identity", "random"])
@pytest.mark.parametrize("n_components", [None, 2])
def test_the_objective_is_that_of_all_pairs_and_as_high_as_scikit_learns(init, n_components):
    if init == "lda" and n_components is None:
        pytest.skip("three classes have two discriminant directions")
    ours = assay.NeighborhoodComponentsAnalysis(n_components, init=init, max_iter=200).fit(X, y)
    assert ours.objective_[-1] == pytest.approx(chance(ours.components_), abs=1e-9)
    assert np.all(np.diff(ours.objective_) > 0)
    assert len(ours.objective_) == ours.n_iter_ + 1
    theirs = Theirs(n_components, init=init, max_iter=200, random_state=0).fit(X, y)
    if init != "random":
        assert chance(ours.components_) > chance(theirs.components_) - 0.03
    assert np.allclose(ours.transform(X), X @ ours.components_.T)
    assert ours.components_.shape == theirs.components_.shape


def test_a_map_that_is_given_is_where_it_starts_and_a_fit_goes_on_from_the_last():
    start = rng.normal(size=(2, 5))
    model = assay.NeighborhoodComponentsAnalysis(init=start, max_iter=30, warm_start=True).fit(X, y)
    assert model.objective_[0] == pytest.approx(chance(start), abs=1e-9)
    last = model.objective_[-1]
    assert model.fit(X, y).objective_[0] == pytest.approx(last, abs=1e-9)
    with pytest.raises(ParameterError, match=r"The new inputs dimensionality \(4\)"):
        model.fit(X[:, :4], y)


def test_the_map_does_not_depend_on_threads():
    one, two = (assay.NeighborhoodComponentsAnalysis(n_jobs=n).fit(X, y).components_ for n in (1, 2))
    assert np.array_equal(one, two)


def test_what_cannot_be_is_refused_in_words():
    for given, words in [
        ({"n_components": 6}, "cannot be greater than the given data dimensionality"),
        ({"init": np.eye(4)}, "must match the dimensionality of the given inputs"),
        ({"init": np.eye(5), "n_components": 2}, "does not match the output dimensionality"),
        ({"init": np.ones((6, 5))}, "cannot be greater than its input dimensionality"),
        ({"init": "best"}, "init"),
        ({"init": "lda"}, "has 2 discriminant directions"),
    ]:
        with pytest.raises(ParameterError, match=words):
            assay.NeighborhoodComponentsAnalysis(**given).fit(X, y)
    with pytest.raises(DataError, match="requires y"):
        assay.NeighborhoodComponentsAnalysis().fit(X)
