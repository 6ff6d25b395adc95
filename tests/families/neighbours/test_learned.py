"""A learnt map separates at least as well as the peer's, leaves noise out, and is the same whoever does the work."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from assay.engines.engine import Threads
from assay.errors import ParameterError
from assay.families.neighbours.metric_learning import learn_map, sorted_rows, value
from assay.families.neighbours.metrics import root_of

ONE, TWO = Threads(1), Threads(2)


def with_noise(n=600, d=10, noise=5, seed=0):
    """Three normal classes; the last `noise` columns say nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    Z = rng.normal(size=(n, d))
    Z[:, : d - noise] += (1.2 * rng.normal(size=(3, d - noise)))[y]
    return Z, y


DATA = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True), "noise": with_noise()}
SHAPES = ["full", "diagonal", 2]


@pytest.mark.parametrize("name", DATA)
def test_it_gets_as_high_as_the_peer(name):
    Z, y = DATA[name]
    scaled = StandardScaler().fit_transform(Z)  # scikit-learn 1.x starts from the identity: this is its better result
    peer = NeighborhoodComponentsAnalysis(max_iter=50, random_state=0).fit(scaled, y)
    ours = learn_map(Z, y, workers=TWO)
    assert ours.value >= value(sorted_rows(scaled, y, None), peer.components_.T, ONE) - 1e-4
    assert np.isclose(ours.value, value(sorted_rows(Z, y, None), ours.map, ONE), rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", DATA)
def test_every_step_gets_higher(name, shape):
    Z, y = DATA[name]
    found = learn_map(Z, y, shape=shape, workers=TWO)
    assert found.history[0] == found.start < found.value == found.history[-1]
    assert len(found.history) == found.steps + 1 <= 51
    assert np.all(np.diff(found.history) > -1e-12)
    assert found.map.shape == (Z.shape[1], 2 if shape == 2 else Z.shape[1])
    assert root_of(found.W, Z.shape[1]).shape[1] <= found.map.shape[1]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bits_do_not_depend_on_the_number_of_workers(shape):
    Z, y = with_noise(900)
    w = np.random.default_rng(1).random(900)
    first = learn_map(Z, y, w, shape=shape, steps=8, workers=ONE)
    for workers in (2, 3):
        other = learn_map(Z, y, w, shape=shape, steps=8, workers=Threads(workers))
        assert np.array_equal(other.map, first.map)
        assert other.history == first.history


def test_columns_of_noise_get_little_weight():
    Z, y = with_noise(400, 6, 3)
    W = np.diag(learn_map(Z, y, shape="diagonal", steps=10, workers=TWO).W)
    assert W[3:].max() < 0.2 * W[:3].max()


@pytest.mark.parametrize("shape", SHAPES)
def test_units_do_not_matter(shape):
    Z, y = with_noise(200, 5, 2)
    units = np.array([1.0, 1024.0, 2.0**-10, 4.0, 1.0])
    a, b = (learn_map(rows, y, shape=shape, steps=5, workers=ONE) for rows in (Z, Z * units + 3.0 * units))
    assert np.allclose(a.history, b.history, rtol=1e-6)
    assert np.allclose(a.W, b.W * units[:, None] * units, rtol=1e-4, atol=1e-6 * np.abs(a.W).max())


def test_each_step_is_seen():
    Z, y = DATA["iris"]
    seen = []
    found = learn_map(Z, y, steps=6, workers=ONE, each=lambda step, W, F: seen.append((step, W, F)))
    assert [step for step, _, _ in seen] == list(range(7))
    assert tuple(F for _, _, F in seen) == found.history
    assert np.array_equal(seen[-1][1], found.W)
    assert all(np.array_equal(W, W.T) and not np.array_equal(W, found.W) for _, W, _ in seen[:-1])


def test_weights_count():
    Z, y = with_noise(300, 5, 2)
    w = np.where(np.arange(300) < 200, 1.0, 0.0)
    a, b = learn_map(Z, y, w, steps=5, workers=ONE), learn_map(Z[:200], y[:200], steps=5, workers=ONE)
    assert a.rows == b.rows == 200
    assert np.array_equal(a.map, b.map)


@pytest.mark.parametrize("shape", ["full", "diagonal", 1])
def test_odd_tables_have_a_map(shape):
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    constant = Z.copy()
    constant[:, 1] = 0.1
    tables = [
        (Z, np.zeros(30, int)),  # one class
        (constant, y),
        (np.ones((30, 3)), y),
        (np.repeat(Z[:6], 5, axis=0), y),  # equal rows of several classes
        (Z[:, :1], y),
        (Z[:2], np.array([0, 1])),
        (Z[:2], np.array([0, 0])),
        (Z[:1], y[:1]),
        (Z * 1e120, y),
        (Z * 1e-120, y),
    ]
    for rows, codes in tables:
        found = learn_map(rows, codes, shape=shape, workers=ONE)
        assert np.isfinite(found.map).all()
        assert 0.0 <= found.value <= 1.0 + 1e-12
        assert found.value >= found.start
    assert not learn_map(constant, y, shape=shape, workers=ONE).map[1].any()


def test_more_classes_than_rank_and_more_rank_than_classes():
    Z, y = DATA["wine"]
    for rank in (1, 2, 3, 13):
        found = learn_map(Z, y, shape=rank, steps=15, workers=TWO)
        assert found.map.shape == (13, rank)
        assert found.value > 0.9


def test_of_many_rows_some_are_drawn():
    Z, y = with_noise(500)
    found = learn_map(Z, y, steps=3, most=100, seed=4, workers=ONE)
    assert found.rows == 100
    assert not np.array_equal(found.map, learn_map(Z, y, steps=3, most=100, seed=5, workers=ONE).map)


@pytest.mark.parametrize("shape", [0, 5, "triangular", True, 1.5])
def test_a_shape_that_is_none_is_refused(shape):
    with pytest.raises(ParameterError, match="rank from 1 to 4"):
        learn_map(*DATA["iris"], shape=shape, workers=ONE)
