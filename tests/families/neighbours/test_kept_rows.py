import numpy as np
import pytest
from scipy.sparse import coo_matrix
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import BallTree, KNeighborsTransformer
from sklearn.neighbors import NearestNeighbors as Theirs

import assay
from assay.errors import DataError, DataTypeError, ModelFileError, ParameterError

rng = np.random.default_rng(5)
X, Q = rng.normal(size=(60, 3)), rng.normal(size=(7, 3))
y = rng.integers(0, 3, 60)


def test_rows_within_a_radius_come_in_the_order_of_their_numbers_or_of_their_distances():
    near = assay.NearestNeighbors().fit(X)
    far, rows = near.radius_neighbors(Q, 1.5)
    by_far, by_rows = near.radius_neighbors(Q, 1.5, sort_results=True)
    assert all(np.all(np.diff(one) > 0) for one in rows)
    assert all(np.all(np.diff(one) >= 0) for one in by_far)
    for a, b, c, d in zip(far, rows, by_far, by_rows):
        assert sorted(zip(c, d)) == sorted(zip(a, b))
    with pytest.raises(ParameterError, match="return_distance must be True"):
        near.radius_neighbors(Q, 1.5, return_distance=False, sort_results=True)


def test_each_query_may_have_a_radius_of_its_own():
    near, each = assay.NearestNeighbors().fit(X), np.linspace(0.2, 2.0, len(Q))
    found = near.radius_neighbors(Q, each, return_distance=False)
    alone = [near.radius_neighbors(Q[i : i + 1], r, return_distance=False)[0] for i, r in enumerate(each)]
    assert all(np.array_equal(a, b) for a, b in zip(found, alone))
    for wrong in (each[:3], -each, "far", [[1.0]]):
        with pytest.raises(ParameterError, match="radius"):
            near.radius_neighbors(Q, wrong)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
def test_a_sparse_graph_of_distances_answers_as_the_rows_do(form):
    graph = KNeighborsTransformer(n_neighbors=12, mode="distance").fit(X)
    trained, asked = graph.transform(X).asformat(form), graph.transform(Q).asformat(form)
    of_rows = assay.KNeighborsClassifier(5, weights="distance").fit(X, y)
    of_graph = assay.KNeighborsClassifier(5, weights="distance", metric="precomputed").fit(trained, y)
    assert np.allclose(of_graph.predict_proba(asked), of_rows.predict_proba(Q))
    assert np.allclose(of_graph.kneighbors(asked)[0], of_rows.kneighbors(Q)[0])
    assert of_graph.certificate_.verify(trained, y).holds
    assert not of_graph.certificate_.verify(graph.transform(2 * X).asformat(form), y).holds
    found = [
        model.radius_neighbors(asked, np.inf, False) for model in (of_graph, Theirs(metric="precomputed").fit(trained))
    ]
    assert all(np.array_equal(np.sort(a), np.sort(b)) for a, b in zip(*found))


def test_of_a_graph_no_more_neighbours_can_be_asked_for_than_it_lists():
    graph = KNeighborsTransformer(n_neighbors=4, mode="distance").fit(X)
    near = assay.NearestNeighbors(n_neighbors=9, metric="precomputed").fit(graph.transform(X))
    with pytest.raises(DataError, match="9 neighbors per samples are required, but some samples have only 5"):
        near.kneighbors(graph.transform(Q))
    with pytest.raises(DataError, match="6 neighbors per samples are required"):
        near.kneighbors(n_neighbors=5)
    with pytest.raises(DataTypeError, match="explicit zeros"):
        near.kneighbors(graph.transform(Q).todok())
    with pytest.raises(DataError, match="Negative values in data passed to precomputed"):
        near.kneighbors(-coo_matrix(graph.transform(Q)))


def test_a_metric_may_be_an_object_of_scikit_learns(tmp_path):
    given = assay.KNeighborsClassifier(3, metric=DistanceMetric.get_metric("manhattan")).fit(X, y)
    named = assay.KNeighborsClassifier(3, metric="manhattan").fit(X, y)
    assert np.array_equal(given.predict_proba(Q), named.predict_proba(Q))
    assert given.effective_metric_ == "manhattan"
    assert given.certificate_.verify(X, y).holds
    with pytest.raises(ModelFileError, match="metric='manhattan', by its name"):
        given.save(tmp_path / "m.assay")
    with pytest.raises(ParameterError, match="give its name"):
        assay.NearestNeighbors(metric=DistanceMetric.get_metric("minkowski", p=3)).fit(X)


def test_rows_may_be_those_of_a_tree_or_of_another_model():
    alone = assay.NearestNeighbors(n_neighbors=2).fit(X)
    for held in (alone, assay.KDTree(X), BallTree(X)):
        assert np.array_equal(assay.KNeighborsClassifier(2).fit(held, y).kneighbors(Q)[1], alone.kneighbors(Q)[1])


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree"])
def test_trees_are_refused_where_no_distance_is_a_metric(algorithm):
    with pytest.raises(ParameterError, match="does not support 0 < p < 1"):
        assay.KNeighborsClassifier(algorithm=algorithm, p=0.5).fit(X, y)
    with pytest.warns(UserWarning, match="are not distance metrics"):
        assay.KNeighborsClassifier(p=0.5).fit(X, y)
    if algorithm == "kd_tree":
        for given in ({"metric": "canberra"}, {"metric_params": {"w": [1.0, 2.0, 3.0]}}, {"metric": "hamming"}):
            with pytest.raises(ParameterError, match="not valid for algorithm='kd_tree'"):
                assay.NearestNeighbors(algorithm=algorithm, **given).fit(X)


def test_a_function_of_distances_must_give_some_neighbour_a_weight():
    model = assay.KNeighborsClassifier(3, weights=lambda d: (d < 1e-9) * 1.0).fit(X, y)
    assert np.array_equal(model.predict(X), y)
    for answer in (model.predict, model.predict_proba):
        with pytest.raises(DataError, match="All neighbors of some sample is getting zero weights"):
            answer(Q)


def test_one_class_is_always_the_answer():
    model = assay.KNeighborsClassifier(3).fit(X, np.full(60, "a"))
    assert set(model.predict(Q)) == {"a"}
    assert np.array_equal(model.predict_proba(Q), np.ones((7, 1)))
    assert model.certificate_.verify(X, np.full(60, "a")).holds
