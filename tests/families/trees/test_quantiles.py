"""Quantile regression forests against a direct computation of Meinshausen's weights, and their coverage."""

from __future__ import annotations

import numpy as np
import pytest
from cases import file_bytes, lines

import assay
from assay.errors import ModelFileError, ParameterError
from assay.families.trees.grow import RowSample

X, Y = lines(200, 4, 0)
NEW = lines(60, 4, 1)[0]
LEVELS = [0.0, 0.1, 0.25, 0.5, 0.9, 1.0]


def weights(model, A, w=None):
    """w_i(x), (rows of A, training rows), from the leaves that `apply` names."""
    n, T = len(Y), len(model.nodes_)
    seen, there = model.apply(X), model.apply(A)
    found = np.zeros((len(A), n))
    for t in range(T):
        times = RowSample(model._seed(), n, True).times(t, n).astype(float) if model.bootstrap else np.ones(n)
        mass = times if w is None else times * w
        for i, leaf in enumerate(there[:, t]):
            inside = mass * (seen[:, t] == leaf)
            found[i] += inside / inside.sum() / T
    return found


def lower_quantile(share, q):
    order = np.argsort(Y, kind="stable")
    run = np.cumsum(share[order])
    return Y[order][max(np.searchsorted(run, q - 1e-12), np.flatnonzero(run > 0)[0])]


@pytest.mark.parametrize("w", [None, 0.5 + np.arange(200) % 4], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "model",
    [
        assay.RandomForestRegressor(n_estimators=13, quantiles=True, min_samples_leaf=3),
        assay.RandomForestRegressor(n_estimators=4, quantiles=True, max_leaf_nodes=6, random_state=5),
        assay.ExtraTreesRegressor(n_estimators=5, quantiles=True, min_samples_leaf=5),
        assay.RandomForestRegressor(n_estimators=3, quantiles=True, max_depth=3, criterion="absolute_error"),
    ],
    ids=["forest", "pruned", "extra", "absolute"],
)
def test_quantiles_are_those_of_meinshausens_weights(model, w):
    model = type(model)(**model.get_params()).fit(X, Y, w)
    share = weights(model, NEW, w)
    expected = np.array([[lower_quantile(row, q) for q in LEVELS] for row in share])
    assert np.array_equal(model.predict_quantiles(NEW, LEVELS), expected)
    assert np.array_equal(model.predict_quantiles(NEW, 0.25), expected[:, 2])
    assert np.array_equal(model.predict_quantiles(NEW, LEVELS[::-1]), expected[:, ::-1])
    if model.criterion == "squared_error":
        assert np.allclose(share @ Y, model.predict(NEW))  # the mean of the distribution is the forest's answer


def test_intervals_hold_as_many_new_rows_as_they_say():
    rng = np.random.default_rng(0)

    def draw(n):
        A = rng.uniform(-1, 1, (n, 2))
        return A, A[:, 0] + (0.3 + 0.7 * (A[:, 1] > 0)) * rng.standard_normal(
            n
        )  # the noise depends on the second column

    A, y = draw(3000)
    model = assay.RandomForestRegressor(n_estimators=60, min_samples_leaf=40, quantiles=True).fit(A, y)
    B, truth = draw(3000)
    low, middle, high = model.predict_quantiles(B).T
    inside = (low <= truth) & (truth <= high)
    assert abs(inside.mean() - 0.9) < 0.03
    for side in (B[:, 1] > 0, B[:, 1] <= 0):
        assert abs(inside[side].mean() - 0.9) < 0.07
    assert np.mean((high - low)[B[:, 1] > 0]) > 2 * np.mean((high - low)[B[:, 1] <= 0])
    assert np.all((low <= middle) & (middle <= high))


def test_quantiles_are_in_the_file(tmp_path):
    model = assay.RandomForestRegressor(n_estimators=5, quantiles=True).fit(X, Y, 0.5 + np.arange(200) % 3)
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert np.array_equal(again.predict_quantiles(NEW), model.predict_quantiles(NEW))
    assert file_bytes(again) == file_bytes(model)
    plain = assay.RandomForestRegressor(n_estimators=5).fit(X, Y, 0.5 + np.arange(200) % 3)
    assert np.array_equal(plain.predict(NEW), model.predict(NEW))  # keeping rows changes no answer
    members = 5 * 200 * (4 + 1) + 4 * model.get_n_leaves() + 200 * 16
    assert (tmp_path / "m.assay").stat().st_size < len(file_bytes(plain)) + members + 4096


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("member_", lambda a: a + np.uint32(200)),
        ("member_target_", lambda a: a[::-1].copy()),
        ("member_count_", lambda a: a + np.uint32(1)),
        ("member_times_", None),
    ],
)
def test_files_with_impossible_members_are_refused(part, change):
    record = assay.RandomForestRegressor(n_estimators=3, quantiles=True).fit(X, Y).to_record()
    if change is None:
        del record.arrays[part]
    else:
        record.arrays[part] = change(record.arrays[part])
    with pytest.raises(ModelFileError, match=r"leaf|leaves|beyond what there is"):
        assay.RandomForestRegressor.from_record(record)


def test_rows_drawn_very_often_are_kept_exactly():
    model = assay.RandomForestRegressor(n_estimators=3, quantiles=True, max_samples=4000, max_depth=2).fit(X[:7], Y[:7])
    assert model.member_times_.max() == 255
    times = np.array([RowSample(0, 4000, True).times(t, 7) for t in range(3)])
    assert model.member_times_.astype(int).sum() == times.sum() == 12_000
    share = np.zeros((2, 7))
    for t in range(3):
        leaf = model.apply(X[:7])[:, t]
        for i in range(2):
            inside = times[t] * (leaf == leaf[i])
            share[i] += inside / inside.sum() / 3
    order = np.argsort(Y[:7])
    for q in (0.2, 0.5, 0.8):
        expected = [Y[:7][order][np.searchsorted(np.cumsum(row[order]), q - 1e-12)] for row in share]
        assert model.predict_quantiles(X[:2], q).tolist() == expected


def test_without_the_members_the_error_says_what_to_do():
    with pytest.raises(ParameterError, match="quantiles=True"):
        assay.RandomForestRegressor(n_estimators=2).fit(X, Y).predict_quantiles(NEW)
    model = assay.RandomForestRegressor(n_estimators=2, quantiles=True).fit(X, Y)
    for q in (1.5, -0.1, [], [[0.5]], "half", float("nan")):
        with pytest.raises(ParameterError, match="q="):
            model.predict_quantiles(NEW, q)


def test_trees_added_later_have_their_members_too():
    whole = assay.RandomForestRegressor(n_estimators=8, quantiles=True).fit(X, Y)
    grown = assay.RandomForestRegressor(n_estimators=3, quantiles=True, warm_start=True).fit(X, Y)
    grown.set_params(n_estimators=8).fit(X, Y)
    assert np.array_equal(grown.predict_quantiles(NEW, LEVELS), whole.predict_quantiles(NEW, LEVELS))
    assert np.array_equal(grown.member_target_, whole.member_target_)
    without = assay.RandomForestRegressor(n_estimators=3, warm_start=True).fit(X, Y)
    with pytest.raises(ParameterError, match="warm_start=False"):
        without.set_params(n_estimators=5, quantiles=True).fit(X, Y)
    grown.set_params(n_estimators=9, quantiles=False).fit(X, Y)
    with pytest.raises(ParameterError, match="quantiles=True"):
        grown.predict_quantiles(NEW)
