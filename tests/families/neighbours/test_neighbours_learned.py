"""The metric that the notes ask for, and nearest neighbours step by step."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import assay
from assay.errors import ModelFileError


def noisy(n=240, seed=0):
    """Three classes told apart by two columns, one of them small, among noise of any size."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 5)) * np.array([1.0, 0.01, 5.0, 1.0, 30.0])
    X[:, 0] += 3.0 * (y == 1)
    X[:, 1] += 0.03 * (y == 2)
    return X, y


@pytest.mark.parametrize("rank", ["full", "diagonal", 2])
def test_a_learned_metric_tells_classes_apart_where_plain_distances_do_not(rank, tmp_path):
    X, y = noisy()
    new, truth = noisy(300, 1)
    plain = assay.KNeighborsClassifier(5).fit(X, y).score(new, truth)
    model = assay.KNeighborsClassifier(5, metric="learned", rank=rank).fit(X, y)
    assert model.score(new, truth) > max(0.8, plain + 0.2)
    assert model.map_.shape == (5, 2 if rank == 2 else 5)
    assert np.all(np.diff(model.objective_) >= 0)
    if rank == "diagonal":
        assert np.count_nonzero(model.map_ - np.diag(np.diag(model.map_))) == 0
    assert model.certificate_.verify(X, y).holds
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert np.array_equal(again.predict_proba(new), model.predict_proba(new))
    assert again.certificate_.verify(X, y).holds
    W = model.map_ @ model.map_.T
    given = assay.KNeighborsClassifier(5, metric="quadratic", metric_params={"W": W}).fit(X, y)
    assert np.mean(given.predict(new) == model.predict(new)) > 0.99


def test_a_false_account_of_what_was_learnt_is_refused():
    X, y = noisy()
    model = assay.KNeighborsClassifier(5, metric="learned", metric_steps=5).fit(X, y)
    claim = model.certificate_["learned metric"]
    for wrong in (
        {"value": claim.value + 1e-4},
        {"witness": {**claim.witness, "start": claim.value + 0.01}},
        {"witness": {**claim.witness, "map": 1.01 * claim.witness["map"]}},
    ):
        claims = tuple(dataclasses.replace(c, **wrong) if c is claim else c for c in model.certificate_)
        assert not dataclasses.replace(model.certificate_, claims=claims, own=None).verify(X, y).holds
    record = model.to_record()
    del record.arrays["objective_"]
    with pytest.raises(ModelFileError):
        assay.KNeighborsClassifier.from_record(record)


def test_weights_and_zero_weights_take_part_in_learning():
    X, y = noisy()
    w = np.ones(len(y))
    w[::4] = 0.0
    a = assay.KNeighborsClassifier(5, metric="learned").fit(X, y, sample_weight=w)
    b = assay.KNeighborsClassifier(5, metric="learned").fit(X[w > 0], y[w > 0])
    assert np.allclose(a.map_, b.map_)
    assert a.certificate_.verify(X, y, w).holds


def test_the_steps_show_the_metric_turning_the_choice_and_the_descent():
    X, y = noisy()
    model = assay.KNeighborsClassifier("auto", metric="learned", metric_steps=8).fit(X, y)
    query = noisy(1, 5)[0][0]
    steps = list(assay.KNeighborsClassifier("auto", metric="learned", metric_steps=8).steps(X, y, query=query))
    turning = [s.values for s in steps if "W" in s.values]
    assert [v["objective"] for v in turning] == model.objective_.tolist()
    assert np.allclose(turning[-1]["W"], model.map_ @ model.map_.T)
    choice = [s.values for s in steps if "loss" in s.values]
    assert [v["loss"] for v in choice] == model.leave_one_out_.tolist()
    assert choice[-1]["best"] == model.n_neighbors_
    looked = [s.values for s in steps if "looked" in s.values]
    far, rows = model.kneighbors(query[None])
    assert np.array_equal(looked[-1]["neighbours"], rows[0])
    assert np.allclose(looked[-1]["distances"], far[0])
    worst = [v["distances"][-1] for v in looked if len(v["distances"]) == model.n_neighbors_]
    assert np.all(np.diff(worst) <= 0)  # the list only gets better
    assert sum(len(v["rows"]) for v in looked if v["looked"]) < len(X)  # most rows are never looked at
    assert any(not v["looked"] for v in looked)
    assert steps[-1].values["n_neighbors_"] == model.n_neighbors_
    assert np.argmax(steps[-1].values["answer"]) == np.flatnonzero(model.classes_ == model.predict(query[None]))[0]


def test_without_a_query_the_first_row_is_left_out():
    X, y = noisy()
    for metric in ("euclidean", "hamming"):
        model = assay.KNeighborsClassifier(4, metric=metric).fit(np.round(X), y)
        last = [
            s.values for s in assay.KNeighborsClassifier(4, metric=metric).steps(np.round(X), y) if "looked" in s.values
        ][-1]
        assert np.array_equal(last["neighbours"], model.kneighbors(n_neighbors=4)[1][0])


def test_what_cannot_be_learnt_is_refused_in_words():
    X, y = noisy()
    with pytest.raises(ValueError, match="rank from 1 to 5, not 6"):
        assay.KNeighborsClassifier(3, metric="learned", rank=6).fit(X, y)
    with pytest.raises(ValueError, match="metric='learned' is not possible"):
        assay.KNeighborsRegressor(3, metric="learned").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="finite numbers"):
        list(assay.KNeighborsClassifier(3).steps(X, y, query=[1.0]))


def test_a_stated_chance_is_that_of_differences_where_products_are_rounded():
    from assay.families.neighbours.metric_learning import sorted_rows, told

    rows = sorted_rows(np.array([[0.3], [0.3], [0.3], [1.7], [0.3]]), np.array([1, 0, 0, 0, 1]), None)
    assert told(rows, np.array([[1e7]]), 0.0) == pytest.approx((4 / 3 + 1 / 2) / 5, rel=1e-12)
    assert told(rows, np.array([[1.0]]), 0.125) == 0.125
