"""Every metric that scikit-learn's brute force takes gives the same distances, is proved, and goes into a file; so do ways of weighing votes."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.neighbors as theirs
from sklearn.model_selection import cross_val_score

import assay
from assay.errors import DataError, ModelFileError, ParameterError
from assay.families.neighbours.named_metrics import OF_BITS, NamedMetric

RNG = np.random.default_rng(11)
X, QUERIES = RNG.standard_normal((90, 4)), RNG.standard_normal((15, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
BITS, BITS_ASKED = np.column_stack([X > 0.3, X[:, 0] < 5]), np.column_stack([QUERIES > 0.3, QUERIES[:, 0] < 5])
BETWEEN, ASKED = np.abs(X[:, None] - X).sum(axis=2), np.abs(QUERIES[:, None] - X).sum(axis=2)
W = np.array([1.0, 2.0, 0.5, 0.1])
CASES = [
    *((name, X, QUERIES, {}) for name in ("l1", "l2", "cityblock", "chebyshev", "canberra", "braycurtis", "cosine", "correlation", "sqeuclidean")),
    ("nan_euclidean", HOLES, QUERIES, {}),
    ("haversine", X[:, :2], QUERIES[:, :2], {}),
    ("seuclidean", X, QUERIES, {"metric_params": {"V": X.var(axis=0)}}),
    ("minkowski", X, QUERIES, {"p": 3, "metric_params": {"w": W}}),
    ("minkowski", X, QUERIES, {"metric_params": {"p": 1.5}}),
    ("precomputed", BETWEEN, ASKED, {}),
    *((name, BITS, BITS_ASKED, {}) for name in OF_BITS if name != "sokalmichener"),  # theirs is gone
]  # fmt: skip
IDS = [f"{name}-{'-'.join(given.get('metric_params', {}))}" for name, _, _, given in CASES]


pytestmark = pytest.mark.filterwarnings("ignore:Parameter p is found:SyntaxWarning")


@pytest.mark.parametrize(("metric", "rows", "asked", "given"), CASES, ids=IDS)
def test_distances_are_those_of_scikit_learns_brute_force(metric, rows, asked, given):
    mine = assay.NearestNeighbors(n_neighbors=7, metric=metric, **given).fit(rows)
    due = theirs.NearestNeighbors(n_neighbors=7, metric=metric, algorithm="brute", **given).fit(rows)
    for Q in (asked, None):
        distances, numbers = mine.kneighbors(Q)
        np.testing.assert_allclose(distances, due.kneighbors(Q)[0], atol=1e-12)
        assert (np.diff(distances, axis=1) >= 0).all()
        tied = distances[:, 1:] == distances[:, :-1]
        assert (numbers[:, 1:][tied] > numbers[:, :-1][tied]).all(), "of rows equally far the first is nearer"
    radius = float(np.median(mine.kneighbors(asked)[0])) + 1e-9  # at no row's distance, but for a few values of bits
    found, wanted = (m.radius_neighbors(asked, radius, return_distance=False) for m in (mine, due))
    assert [sorted(a.tolist()) for a in found] == [sorted(a.tolist()) for a in wanted]


@pytest.mark.parametrize("weights", [None, "some"])
@pytest.mark.parametrize(("metric", "rows", "asked", "given"), CASES, ids=IDS)
def test_a_model_by_every_metric_is_proved_and_goes_into_a_file(metric, rows, asked, given, weights, tmp_path):
    w = None if weights is None else RNG.choice([0.0, 1.0, 2.0], len(rows))
    for cls, target in ((assay.KNeighborsClassifier, Y), (assay.KNeighborsRegressor, X[:, 1] + 3)):
        model = cls(3, weights="distance", metric=metric, **given).fit(rows, target, sample_weight=w)
        assert model.certificate_.holds
        told = model.certificate_.verify(rows, target, w)
        assert told.holds, str(told)
        model.save(tmp_path / "model.assay")
        assert np.array_equal(assay.load(tmp_path / "model.assay").predict(asked), model.predict(asked))
    moved = np.roll(np.asarray(rows, dtype=np.float64), 1, axis=1)
    if metric not in (
        "l1",
        "l2",
        "cityblock",
        "chebyshev",
        "canberra",
        "braycurtis",
        "cosine",
        "correlation",
        "sqeuclidean",
        "minkowski",
    ):
        assert not model.certificate_.verify(np.where(np.isnan(moved), 0.0, moved), target, w).holds


@pytest.mark.parametrize("algorithm", ["ball_tree", "kd_tree", "brute", "auto"])
def test_every_algorithm_gives_the_same_rows(algorithm):
    mine = assay.NearestNeighbors(n_neighbors=4, algorithm=algorithm).fit(X).kneighbors(QUERIES)
    due = theirs.NearestNeighbors(n_neighbors=4, algorithm="ball_tree").fit(X).kneighbors(QUERIES)
    np.testing.assert_allclose(mine[0], due[0])
    assert np.array_equal(mine[1], due[1])


def gaussian(distances):
    return np.exp(-(distances**2))


def inverse_square(distances):
    return 1 / distances**2


@pytest.mark.parametrize("weights", [None, gaussian, inverse_square])
@pytest.mark.parametrize("name", ["KNeighborsClassifier", "KNeighborsRegressor"])
def test_votes_by_a_function_are_those_of_scikit_learn(name, weights):
    y = Y if "Class" in name else X[:, 1]
    mine, due = (getattr(lib, name)(5, weights=weights).fit(X, y) for lib in (assay, theirs))
    both = QUERIES if weights is inverse_square else np.concatenate([QUERIES, X[:4]])  # at a distance of zero, too
    for Q in (both, None):
        np.testing.assert_allclose(mine.predict(Q), due.predict(Q))
        if hasattr(due, "predict_proba"):
            np.testing.assert_allclose(mine.predict_proba(Q), due.predict_proba(Q), atol=1e-12)
    assert mine.score(None, y) == pytest.approx(due.score(None, y))
    assert mine.certificate_.verify(X, y).holds


def test_votes_by_a_function_count_weights_of_rows_as_copies():
    times = RNG.integers(1, 4, len(X))
    one = assay.KNeighborsRegressor(4, weights=gaussian).fit(X, X[:, 1], sample_weight=times)
    copies = assay.KNeighborsRegressor(4, weights=gaussian).fit(np.repeat(X, times, axis=0), np.repeat(X[:, 1], times))
    np.testing.assert_allclose(one.predict(QUERIES), copies.predict(QUERIES))
    assert one.certificate_.verify(X, X[:, 1], times).holds


def test_a_function_as_weights_is_refused_where_it_cannot_be(tmp_path):
    model = assay.KNeighborsClassifier(3, weights=gaussian).fit(X, Y)
    with pytest.raises(ModelFileError, match="weights function of yours"):
        model.save(tmp_path / "model.assay")
    with pytest.raises(ParameterError, match="n_neighbors='auto' cannot go with a function"):
        assay.KNeighborsClassifier("auto", weights=gaussian).fit(X, Y)
    with pytest.raises(DataError, match="number ≥ 0 for each"):
        assay.KNeighborsClassifier(3, weights=lambda d: d[0]).fit(X, Y).predict(QUERIES)


def test_a_fit_by_left_out_rows_is_what_leaving_them_out_gives():
    model = assay.KNeighborsClassifier(3).fit(X, Y)
    alone = [
        assay.KNeighborsClassifier(3).fit(np.delete(X, i, 0), np.delete(Y, i)).predict(X[i : i + 1])[0]
        for i in range(30)
    ]
    assert model.predict(None)[:30].tolist() == alone


@pytest.mark.parametrize(
    ("metric", "given", "rows", "error", "said"),
    [
        ("haversine", {}, X, DataError, "two columns"),
        ("precomputed", {}, X, DataError, "must be square"),
        ("precomputed", {}, -BETWEEN, DataError, "Negative values"),
        ("minkowski", {"w": [1.0, 2.0]}, X, ParameterError, "each of the 4 columns"),
        ("minkowski", {"p": -1}, X, ParameterError, "power of a distance"),
        ("seuclidean", {"V": np.ones(3)}, X, ParameterError, "each of the 4 columns"),
        ("seuclidean", {}, X * [1, 1, 1, 0], DataError, "divide by the variance"),
        ("canberra", {"w": W}, X, ParameterError, "has no metric_params"),
        ("correlation", {}, X[:, :1] + np.zeros(4), DataError, "compares how rows vary"),
        ("euclidean", {}, HOLES, DataError, "NaN"),
    ],
)
def test_what_has_no_such_distance_is_refused_with_a_sentence(metric, given, rows, error, said):
    with pytest.raises(error, match=said):
        assay.KNeighborsClassifier(3, metric=metric, metric_params=given or None).fit(rows, Y).predict(rows)


def test_distances_that_are_given_are_cut_as_scikit_learn_cuts_them():
    mine = cross_val_score(assay.KNeighborsClassifier(3, metric="precomputed"), BETWEEN, Y)
    due = cross_val_score(theirs.KNeighborsClassifier(3, metric="precomputed"), BETWEEN, Y)
    np.testing.assert_allclose(mine, due)


def test_a_row_alone_has_the_bits_it_has_among_others():
    for name in ("canberra", "braycurtis", "correlation", "nan_euclidean", "sqeuclidean"):
        whole = NamedMetric(name).distances(X, QUERIES)
        assert np.array_equal(whole[3:4, 5:6], NamedMetric(name).distances(X[5:6], QUERIES[3:4]))


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_rows_whose_correlation_is_one_but_for_rounding_are_verified(unit):
    rng = np.random.default_rng(0)
    rows = unit * (3000.0 + rng.standard_normal((9, 2)))  # of two columns, each correlation is 1 or -1
    labels = np.arange(9) % 2
    model = assay.KNeighborsClassifier(3, metric="correlation").fit(rows, labels)
    assert set(np.unique(model.kneighbors(rows)[0].round(9))) <= {0.0, 2.0}
    assert model.certificate_.verify(rows, labels).holds, str(model.certificate_.verify(rows, labels))


def test_rows_that_vary_with_nothing_are_refused_by_the_fit():
    with pytest.raises(DataError, match="varies with nothing"):
        assay.KNeighborsRegressor(1, metric="correlation").fit([[0.0], [-0.0]], [1.0, 2.0])
