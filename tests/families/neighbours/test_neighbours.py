"""Nearest neighbours against scikit-learn, against definitions written out, and against themselves in parts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier as TheirClassifier
from sklearn.neighbors import KNeighborsRegressor as TheirRegressor
from sklearn.neighbors import NearestNeighbors as Theirs

import assay

METRICS = [
    {},
    {"metric": "manhattan"},
    {"metric": "chebyshev"},
    {"metric": "minkowski", "p": 3},
    {"metric": "minkowski", "p": np.inf},
    {"metric": "cosine"},
]


def cloud(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, d)) + y[:, None] * 0.7, y


@pytest.fixture(scope="module")
def table():
    return (*cloud(), cloud(50, seed=1)[0])


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_answers_are_those_of_scikit_learn_where_nothing_ties(table, metric, weights):
    X, y, Q = table
    for k in (1, 4, 15):
        ours = assay.KNeighborsClassifier(k, weights=weights, **metric).fit(X, y)
        theirs = TheirClassifier(k, weights=weights, **metric).fit(X, y)
        assert np.allclose(ours.predict_proba(Q), theirs.predict_proba(Q), rtol=1e-12, atol=1e-14)
        numbers = X[:, 0] * y
        ours = assay.KNeighborsRegressor(k, weights=weights, **metric).fit(X, numbers)
        theirs = TheirRegressor(k, weights=weights, **metric).fit(X, numbers)
        assert np.allclose(ours.predict(Q), theirs.predict(Q), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("metric", [*METRICS, {"metric": "mahalanobis"}, {"metric": "hamming"}], ids=str)
def test_neighbours_distances_and_graphs_are_those_of_scikit_learn(table, metric):
    X, _, Q = table
    if metric.get("metric") == "hamming":
        X, Q = np.round(X), np.round(Q)
    more = (
        {"metric_params": {"VI": np.linalg.inv(np.cov(X.T, bias=True))}, "algorithm": "brute"}
        if metric.get("metric") == "mahalanobis"
        else {}
    )
    ours = assay.NearestNeighbors(n_neighbors=6, radius=1.2, **metric).fit(X)
    theirs = Theirs(n_neighbors=6, radius=1.2, **metric, **more).fit(X)
    far, rows = ours.kneighbors(Q)
    assert np.allclose(far, theirs.kneighbors(Q)[0], rtol=1e-12, atol=1e-15)
    if metric.get("metric") == "hamming":  # which of many equally far rows are listed is a matter of the rule
        assert np.all(np.diff(far, axis=1) >= 0)
        assert np.all((np.diff(far, axis=1) > 0) | (np.diff(rows, axis=1) > 0))
        return
    assert np.array_equal(rows, theirs.kneighbors(Q)[1])
    radius = float(np.median(far[:, -1]))
    a, b = (model.radius_neighbors(Q, radius, sort_results=True) for model in (ours, theirs))
    assert all(np.array_equal(i, j) for i, j in zip(a[1], b[1]))
    assert (ours.kneighbors_graph(Q) != theirs.kneighbors_graph(Q)).nnz == 0
    assert abs(ours.kneighbors_graph(Q, 3, "distance") - theirs.kneighbors_graph(Q, 3, "distance")).max() < 1e-12
    there = abs(
        ours.radius_neighbors_graph(Q, radius, "distance") - theirs.radius_neighbors_graph(Q, radius, "distance")
    )
    assert there.max() < 1e-12


def test_without_queries_no_row_is_its_own_neighbour(table):
    X = table[0]
    ours, theirs = assay.NearestNeighbors(n_neighbors=4).fit(X), Theirs(n_neighbors=4).fit(X)
    assert np.array_equal(ours.kneighbors()[1], theirs.kneighbors()[1])
    assert all(i not in near for i, near in enumerate(ours.radius_neighbors(radius=1.5)[1]))


def test_every_quadratic_metric_is_a_map_and_then_euclidean(table):
    X, _, Q = table
    rng = np.random.default_rng(3)
    A = rng.normal(size=(4, 4))
    W = A @ A.T
    due = np.sqrt(np.einsum("mnd,de,mne->mn", Q[:, None] - X, W, Q[:, None] - X))
    far, rows = assay.NearestNeighbors(n_neighbors=5, metric="quadratic", metric_params={"W": W}).fit(X).kneighbors(Q)
    assert np.array_equal(rows, due.argsort(axis=1)[:, :5])
    assert np.allclose(far, np.sort(due, axis=1)[:, :5], rtol=1e-12)
    V = np.cov(X.T)
    inverse, given = ({"VI": np.linalg.inv(V)}, {"V": V})
    for params in (inverse, given):
        near = assay.NearestNeighbors(n_neighbors=5, metric="mahalanobis", metric_params=params).fit(X)
        assert np.allclose(
            near.kneighbors(Q)[0],
            np.sort(np.sqrt(np.einsum("mnd,de,mne->mn", Q[:, None] - X, np.linalg.inv(V), Q[:, None] - X)), axis=1)[
                :, :5
            ],
        )
    thin = np.outer(A[0], A[0])  # of rank one: rows are as far apart as their projections
    near = assay.NearestNeighbors(n_neighbors=3, metric="quadratic", metric_params={"W": thin}).fit(X)
    assert np.allclose(near.kneighbors(Q)[0], np.sort(np.abs((Q @ A[0])[:, None] - X @ A[0]), axis=1)[:, :3], atol=1e-9)


def test_ties_go_to_the_class_of_the_nearest_voter_then_to_the_lowest():
    X = [[-1.0], [2.0], [-3.0], [4.0]]
    near = assay.KNeighborsClassifier(2).fit(X, ["b", "a", "b", "a"])
    assert near.predict([[0.0]]).tolist() == ["b"]  # one vote each, and the b at distance 1 is nearer than the a at 2
    assert near.predict_proba([[0.0]]).argmax() == 1
    level = assay.KNeighborsClassifier(2).fit([[-1.0], [1.0], [5.0]], ["b", "a", "b"])
    assert level.predict([[0.0]]).tolist() == ["a"]
    assert assay.KNeighborsClassifier(1).fit([[-1.0], [1.0], [5.0]], ["b", "a", "b"]).predict([[0.0]]).tolist() == ["b"]


def test_a_weight_is_so_many_votes():
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "b", "a"]
    half = assay.KNeighborsClassifier(2).fit(X, y, sample_weight=[1.5, 1.0, 1.0, 0.0])
    assert np.allclose(half.predict_proba([[-1.0]]), [[0.75, 0.25]])
    assert half.kneighbors([[3.0]], 3)[1].tolist() == [[2, 1, 0]]  # a row of weight zero is nobody's neighbour
    with pytest.raises(ValueError, match=r"4 neighbours are asked for, and the fit has 3\.5 votes"):
        assay.KNeighborsClassifier(4).fit(X, y, sample_weight=[1.5, 1.0, 1.0, 0.0])


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("votes", [None, 3], ids=["plain", "weighted"])
def test_the_leave_one_out_curve_is_what_leaving_rows_out_gives(weights, votes):
    X, y = cloud(60, 3, 5)
    X[10:20] = X[:10]  # duplicates, some of another class
    w = None if votes is None else 0.5 + np.arange(60) % votes
    model = assay.KNeighborsClassifier("auto", weights=weights).fit(X, y, sample_weight=w)
    number = assay.KNeighborsRegressor("auto", weights=weights).fit(X, X[:, 0] + y, sample_weight=w)
    own = np.ones(60) if w is None else w
    for k in (1, 4, len(model.leave_one_out_)):
        wrong = square = 0.0
        for i in range(60):
            left = own.copy()
            left[i] = max(0.0, left[i] - 1)
            one = assay.KNeighborsClassifier(k, weights=weights).fit(X, y, sample_weight=left)
            wrong += own[i] * float(one.predict(X[i : i + 1])[0] != y[i])
            two = assay.KNeighborsRegressor(k, weights=weights).fit(X, X[:, 0] + y, sample_weight=left)
            square += own[i] * float(two.predict(X[i : i + 1])[0] - X[i, 0] - y[i]) ** 2
        assert model.leave_one_out_[k - 1] == pytest.approx(wrong / own.sum(), rel=1e-12)
        assert number.leave_one_out_[k - 1] == pytest.approx(square / own.sum(), rel=1e-10)
    least = model.leave_one_out_.min()
    assert model.leave_one_out_[model.n_neighbors_ - 1] == least
    assert np.all(model.leave_one_out_[model.n_neighbors_ :] > least)
    simple = assay.KNeighborsClassifier("auto", weights=weights, rule="one-se").fit(X, y, sample_weight=w)
    assert simple.n_neighbors_ >= model.n_neighbors_
    assert simple.leave_one_out_[simple.n_neighbors_ - 1] <= least + np.sqrt(least * (1 - least) / own.sum())


def test_rows_that_choose_weigh_as_their_classes_do():
    X, y = cloud(200, 3, 8)
    heavy = assay.KNeighborsClassifier("auto", class_weight={0: 1000.0, 1: 0.001, 2: 0.001}).fit(X, y)
    assert np.mean(heavy.predict(X) == 0) > 0.7
    assert heavy.certificate_.verify(X, y).holds
    assert heavy.leave_one_out_[heavy.n_neighbors_ - 1] < 0.01


def test_some_rows_can_choose_the_number_of_neighbours():
    X, y = cloud(400)
    few = assay.KNeighborsClassifier("auto", validation_rows=100).fit(X, y)
    assert np.allclose(few.leave_one_out_ * 100, np.round(few.leave_one_out_ * 100))
    assert few.certificate_.verify(X, y).holds


def test_rows_that_are_read_in_parts_answer_alike(table, tmp_path, client):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from assay.engines import block_rows

    rng = np.random.default_rng(0)
    n = 2 * block_rows(3) + 77
    X = rng.integers(-40, 40, size=(n, 3)) / 4.0  # many ties
    y = rng.integers(4, size=n)
    w = 0.5 + np.arange(n) % 3
    Q = rng.integers(-40, 40, size=(40, 3)) / 4.0
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({**{f"x{j}": X[:, j] for j in range(3)}, "y": y, "w": w}), path)
    import pandas as pd

    ask = pd.DataFrame(Q, columns=["x0", "x1", "x2"])
    for weight in (None, "w"):
        rows = assay.rows(path, target="y", weight=weight, features=["x0", "x1", "x2"])
        here = assay.KNeighborsClassifier(7).fit(
            pd.DataFrame(X, columns=ask.columns), y, sample_weight=None if weight is None else w
        )
        for name, options in [("stream", {"workers": 2}), ("cluster", {"client": client})]:
            with assay.engine(name, **options):
                there = assay.KNeighborsClassifier(7).fit(rows)
                assert there._remote_rows is not None
                for a, b in zip(here.kneighbors(ask), there.kneighbors(ask)):
                    assert np.array_equal(a, b)
                assert np.array_equal(here.predict_proba(ask), there.predict_proba(ask))
                for a, b in zip(here.radius_neighbors(ask[:5], 0.5), there.radius_neighbors(ask[:5], 0.5)):
                    assert all(np.array_equal(i, j) for i, j in zip(a, b))


def test_rows_can_be_added(table):
    X, y, Q = table
    for metric in ("euclidean", "mahalanobis"):
        whole = assay.KNeighborsClassifier("auto", metric=metric).fit(X, y)
        pieces = assay.KNeighborsClassifier("auto", metric=metric).partial_fit(X[:50], y[:50], classes=[0, 1, 2])
        pieces.partial_fit(X[50:], y[50:])
        assert np.array_equal(whole.predict_proba(Q), pieces.predict_proba(Q))
        assert whole.n_neighbors_ == pieces.n_neighbors_
        assert pieces.certificate_.verify(X, y).holds
    early = assay.KNeighborsClassifier(5).partial_fit(X[:3], y[:3], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="5 neighbours are asked for, and the fit has 3 rows"):
        early.predict(Q)
    number = assay.KNeighborsRegressor(3).partial_fit(X[:50], X[:50, 0]).partial_fit(X[50:], X[50:, 0])
    assert np.array_equal(number.predict(Q), assay.KNeighborsRegressor(3).fit(X, X[:, 0]).predict(Q))


def test_the_bracket_holds_the_bayes_error_and_the_lemma_its_double():
    from scipy.stats import norm

    rng = np.random.default_rng(2)
    y = np.arange(6000) % 2
    X = rng.normal(size=(6000, 1)) + 2.0 * y[:, None]
    bayes = norm.cdf(-1.0)
    claim = assay.KNeighborsClassifier(1).fit(X, y).certificate_["Bayes error"]
    error = 1 - assay.KNeighborsClassifier(1).fit(X[:3000], y[:3000]).score(X[3000:], y[3000:])
    assert bayes <= error + 0.01
    assert error <= 2 * bayes + 0.01
    assert claim.value - 0.02 <= bayes <= claim.bound + 0.02
    bracket = assay.cover_hart(X, y)
    assert bracket.neighbour.n == 6000
    assert bracket.least <= bayes <= bracket.most


def test_columns_of_text_dates_and_the_like_are_told_apart():
    import pandas as pd

    with pytest.raises(ValueError, match="Column 'a' contains 'x', which is not a number"):
        assay.KNeighborsClassifier(1).fit(pd.DataFrame({"a": ["x", "y"]}), [0, 1])
    whole = assay.KNeighborsClassifier(1).fit(np.array([[0, 1], [5, 6]], dtype=np.int16), [0, 1])
    assert whole.predict(np.array([[True, False]])).tolist() == [0]


def test_what_cannot_be_asked_is_refused_in_words(table):
    X, y, Q = table
    fit = assay.KNeighborsClassifier(3).fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors=0 is not possible"):
        assay.KNeighborsClassifier(0).fit(X, y)
    with pytest.raises(ValueError, match=r"301 neighbours are asked for, and the fit has 300 rows \(n_samples = 300\)"):
        assay.KNeighborsClassifier(301).fit(X, y)
    with pytest.raises(ValueError, match="301 neighbours are asked for"):
        fit.kneighbors(Q, 301)
    with pytest.raises(ValueError, match=r"Input X contains NaN \(first in row 1, column 2\)"):
        fit.predict(np.where((np.arange(50) == 1)[:, None] & (np.arange(4) == 2), np.nan, Q))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        fit.predict(Q[:0])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        fit.kneighbors(Q[:0])
    with pytest.raises(ValueError, match="radius=-1 is not possible"):
        fit.radius_neighbors(Q, -1)
    with pytest.raises(ValueError, match=r'Unsupported mode.*got "far"'):
        fit.kneighbors_graph(Q, mode="far")
    flat = X.copy()
    flat[:, 2] = 1.5
    with pytest.raises(ValueError, match="column 2 has none"):
        assay.KNeighborsClassifier(3, metric="mahalanobis").fit(flat, y)
    flat[:, 2] = flat[:, 0] + flat[:, 1]
    with pytest.raises(ValueError, match="column 0, column 1, column 2 depend on each other"):
        assay.KNeighborsClassifier(3, metric="mahalanobis").fit(flat, y)
    zero = X.copy()
    zero[7] = 0.0
    with pytest.raises(ValueError, match="Row 7 is all zeros"):
        assay.KNeighborsClassifier(3, metric="cosine").fit(zero, y)
    for W, words in [
        (np.eye(3), r"has the shape \(3, 3\)"),
        (np.diag([1.0, 1.0, 1.0, -1.0]), "least eigenvalue is -1"),
        (np.triu(np.ones((4, 4))), "is not symmetric"),
        (np.zeros((4, 4)), "is zero"),
    ]:
        with pytest.raises(ValueError, match=words):
            assay.KNeighborsClassifier(3, metric="quadratic", metric_params={"W": W}).fit(X, y)
    with pytest.raises(ValueError, match="needs metric_params="):
        assay.KNeighborsClassifier(3, metric="quadratic").fit(X, y)
    with pytest.raises(ValueError, match=r"has no metric_params\['V'\]"):
        assay.KNeighborsClassifier(3, metric_params={"V": np.eye(4)}).fit(X, y)
    with pytest.raises(ValueError, match="both V and VI"):
        assay.KNeighborsClassifier(3, metric="mahalanobis", metric_params={"V": np.eye(4), "VI": np.eye(4)}).fit(X, y)
    with pytest.raises(AttributeError, match="predicts nothing"):
        assay.NearestNeighbors().fit(X).predict(Q)


def test_all_rows_alike_are_ordered_by_number():
    near = assay.NearestNeighbors(n_neighbors=3).fit(np.ones((50, 2)))
    assert near.kneighbors([[1.0, 1.0]])[1].tolist() == [[0, 1, 2]]
    assert near.kneighbors([[9.0, 1.0]])[1].tolist() == [[0, 1, 2]]
    votes = assay.KNeighborsClassifier(5, weights="distance").fit(np.ones((50, 2)), np.arange(50) % 2)
    assert np.allclose(votes.predict_proba([[1.0, 1.0]]), [[0.6, 0.4]])


@pytest.mark.parametrize("size", [1e200, 1e-200, 1.0])
def test_neither_huge_nor_tiny_coordinates_change_the_order(size):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(200, 3)), rng.normal(size=(20, 3))
    due = assay.NearestNeighbors(n_neighbors=5).fit(X).kneighbors(Q)
    far, rows = assay.NearestNeighbors(n_neighbors=5).fit(X * size).kneighbors(Q * size)
    assert np.array_equal(rows, due[1])
    assert np.allclose(far / size, due[0])


def test_differences_far_from_zero_are_not_lost_to_cancellation():
    rng = np.random.default_rng(0)
    steps = rng.permutation(200).astype(float)
    X = 1e8 + steps[:, None] * 2.0**-20
    near = assay.NearestNeighbors(n_neighbors=3).fit(X)
    _, rows = near.kneighbors([[1e8 + 50.2 * 2.0**-20]])
    assert steps[rows[0]].tolist() == [50.0, 51.0, 49.0]


def test_a_tree_by_itself():
    X, _ = cloud(3000, 3)
    Q = cloud(200, 3, 4)[0]
    tree, theirs = assay.KDTree(X), Theirs(n_neighbors=4).fit(X)
    far, rows = tree.query(Q, 4)
    assert np.array_equal(rows, theirs.kneighbors(Q)[1])
    assert np.allclose(far, theirs.kneighbors(Q)[0], rtol=1e-12)
    near = theirs.radius_neighbors(Q, 0.8, sort_results=True)
    found, distances = tree.query_radius(Q, 0.8, return_distance=True)
    assert all(np.array_equal(a, b) for a, b in zip(found, near[1]))
    assert all(np.allclose(a, b) for a, b in zip(distances, near[0]))
    assert np.array_equal(tree.count(Q, 0.8), [len(one) for one in near[1]])
    assert np.array_equal(
        tree.query_radius(Q, np.linspace(0, 2, 200), count_only=True), tree.count(Q, np.linspace(0, 2, 200))
    )
    mapped = assay.KDTree(X, metric="mahalanobis")
    assert np.array_equal(
        mapped.query(Q, 3)[1], assay.NearestNeighbors(n_neighbors=3, metric="mahalanobis").fit(X).kneighbors(Q)[1]
    )
    with pytest.raises(ValueError, match="k=0 is not possible"):
        tree.query(Q, 0)
    with pytest.raises(ValueError, match="has no boxes"):
        assay.KDTree(X, metric="hamming")


@pytest.mark.parametrize(("name", "plain"), [("l1", "manhattan"), ("cityblock", "manhattan"), ("l2", "euclidean")])
def test_other_names_of_a_metric_and_of_a_search_change_no_answer(name, plain):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.arange(300) % 3
    other = assay.KNeighborsClassifier(7, metric=name, algorithm="ball_tree", weights=None).fit(X, y)
    usual = assay.KNeighborsClassifier(7, metric=plain).fit(X, y)
    assert np.array_equal(other.predict_proba(X), usual.predict_proba(X))
    assert np.array_equal(other.kneighbors(X)[0], usual.kneighbors(X)[0])
    assert other.certificate_.verify(X, y).holds
