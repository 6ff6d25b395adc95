"""A metric function of one's own: the rows, the answers and the claims are those of the same metric by its name."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier as TheirClassifier

import assay
from assay.errors import DataError, ModelFileError, ParameterError


def manhattan(x, z):
    return np.abs(x - z).sum()


def weighed(x, z, scale):
    return abs(x - z) @ scale


def grid(n=80, seed=0):
    """Rows of few values: many are equally far."""
    rng = np.random.default_rng(seed)
    return rng.integers(5, size=(n, 2)).astype(float), rng.integers(3, size=n), rng.choice([0.0, 0.5, 1.0, 2.0], n)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [3, "auto"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", [assay.KNeighborsClassifier, assay.KNeighborsRegressor])
def test_answers_choice_and_claims_are_those_of_the_named_metric(model, weighted, k, weights):
    X, y, w = grid()
    Q, w = grid(30, 1)[0] + 0.5, w if weighted else None
    named = model(k, weights=weights, metric="manhattan").fit(X, y, sample_weight=w)
    own = model(k, weights=weights, metric=manhattan).fit(X, y, sample_weight=w)
    assert np.array_equal(own.predict(Q), named.predict(Q))
    assert own.n_neighbors_ == named.n_neighbors_
    assert [c.check for c in own.certificate_.claims] == [c.check for c in named.certificate_.claims]
    verdicts = own.certificate_.verify(X, y, w)
    assert own.certificate_.holds
    assert verdicts.holds, str(verdicts)


def test_neighbours_come_in_the_order_of_distance_and_row_number():
    X, _, _ = grid()
    named, own = (assay.NearestNeighbors(n_neighbors=7, radius=2.0, metric=m).fit(X) for m in ("manhattan", manhattan))
    for Q in (None, X[:9] + 0.25):
        for ours, due in zip(own.kneighbors(Q), named.kneighbors(Q)):
            assert np.array_equal(ours, due)
        for ours, due in zip(own.radius_neighbors(Q), named.radius_neighbors(Q)):
            assert all(np.array_equal(a, b) for a, b in zip(ours, due))
    assert (own.kneighbors_graph(mode="distance") != named.kneighbors_graph(mode="distance")).nnz == 0


def test_the_function_is_called_with_the_query_and_then_the_row():
    def ahead(x, z):  # what lies behind the query is far
        return float(np.where(z >= x, z - x, 100 + x - z).sum())

    near = assay.NearestNeighbors(n_neighbors=1, metric=ahead).fit([[0.0], [1.0], [5.0]])
    assert near.kneighbors([[1.5]])[1].tolist() == [[2]]


def test_metric_params_are_its_keyword_arguments_as_in_scikit_learn():
    X, y, _ = grid()
    given = {"metric": weighed, "metric_params": {"scale": np.array([1.0, 7.3])}}
    ours, theirs = assay.KNeighborsClassifier(1, **given).fit(X, y), TheirClassifier(1, **given).fit(X, y)
    Q = grid(30, 2)[0] + [0.1, 0.2]
    assert np.allclose(ours.kneighbors(Q)[0], theirs.kneighbors(Q)[0])
    assert ours.certificate_.verify(X, y).holds


def test_a_table_that_is_read_in_parts_answers_alike(tmp_path):
    X, y, _ = grid()
    np.savetxt(tmp_path / "t.csv", np.column_stack([X, y]), delimiter=",", header="a,b,y", comments="", fmt="%g")
    whole = assay.KNeighborsClassifier(3, metric=manhattan).fit(X, y)
    parts = assay.KNeighborsClassifier(3, metric=manhattan).fit(assay.rows(str(tmp_path / "t.csv"), target="y"))
    assert np.array_equal(whole.kneighbors(X + 0.5)[1], parts.kneighbors(X + 0.5)[1])


def test_every_step_of_a_query_is_shown():
    X, y, _ = grid(20)
    steps = list(assay.KNeighborsClassifier(2, metric=manhattan).steps(X, y))
    due = assay.KNeighborsClassifier(2, metric="manhattan").fit(X, y).kneighbors(None)[1][0]
    assert np.array_equal(steps[-2].values["neighbours"][:2], due)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x, z: "far", "'far'"),
        (lambda x, z: None, "None"),
        (lambda x, z: x - z, "one number"),
        (lambda x, z: 1j, "one number"),
        (lambda x, z: float(x[0] - z[0]), r"returned -\d"),
        (lambda x, z: float("nan"), "nan"),
        (lambda x, z: float("inf"), "inf"),
    ],
)
def test_what_is_no_distance_is_refused_with_the_pair(function, words):
    X, y, _ = grid()
    with pytest.raises(DataError, match=words) as refused:
        assay.KNeighborsClassifier(3, metric=function).fit(X, y).predict(X[:5])
    assert "≥ 0" in str(refused.value)


def test_the_function_cannot_change_the_rows():
    def careless(x, z):
        z += 1
        return 0.0

    X, y, _ = grid()
    with pytest.raises(ValueError, match="read-only"):
        assay.KNeighborsClassifier(3, metric=careless).fit(X, y).predict(X[:5])


def test_a_model_file_holds_no_function(tmp_path):
    X, y, _ = grid()
    for model in (assay.KNeighborsClassifier, assay.KNeighborsRegressor):
        with pytest.raises(ModelFileError, match=r"metric function of yours.*data, no code.*named metrics"):
            model(3, metric=manhattan).fit(X, y).save(tmp_path / "m.assay")


def test_a_tree_of_boxes_takes_none():
    with pytest.raises(ParameterError, match="use NearestNeighbors"):
        assay.KDTree([[0.0], [1.0]], metric=manhattan)


def test_a_wrong_statement_about_it_is_found_out():
    X, y, _ = grid()
    certificate = assay.KNeighborsClassifier(3, metric=manhattan).fit(X, y).certificate_
    wrong = tuple(
        dataclasses.replace(c, witness={**c.witness, "function": lambda x, z: np.abs(x - z).max()})
        for c in certificate.claims
        if c.check == "neighbours_exact"
    )
    assert wrong
    assert not dataclasses.replace(certificate, claims=wrong, own=None).verify(X, y).holds
