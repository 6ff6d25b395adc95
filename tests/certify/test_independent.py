"""Each formula of a checker stands there a second time: it is what its definition says, and a fault on the side that fits is found out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from cases import blobs, lines, pairs

import assay
from assay.certify.rows import CsrBlock, back, between_0_and_1, content_keys, row_keys, times
from assay.engines import derived, fingerprint
from assay.families.kernel.features import maps
from assay.families.linear.check.terms import LOSSES, Strengths, farthest_target, least_margin, softmax_terms
from assay.families.separability.check import _bounded_solution, _meeting_weights, _whole_solution
from assay.families.trees import training_data
from assay.families.trees.check.witness import class_factors
from assay.inputs import labels
from assay.risk import terms
from assay.solvers import problem

pytestmark = pytest.mark.filterwarnings("ignore")
GRID = np.linspace(-60, 60, 120_001)
WIDTH = 1.35


def found_out(model, X, y):
    """Whether the model says that all is well and the checkers say that it is not."""
    certificate = model.fit(X, y).certificate_
    return certificate.holds and not certificate.verify(X, y).holds


@pytest.mark.parametrize("make", [pairs, blobs])
def test_a_solver_that_takes_a_penalty_for_lighter_is_found_out(monkeypatch, make):
    monkeypatch.setattr(terms.Penalty, "conjugate", lambda self, g: 0.0)
    assert found_out(assay.LogisticRegression(), *make(120, 3, 0))


def test_a_solver_that_forgets_the_intercept_is_found_out(monkeypatch):
    monkeypatch.setattr(problem, "slack", lambda slope, rest, value, far: 0.0)
    assert found_out(assay.LogisticRegression(), *pairs(120, 3, 0))


def test_trees_that_weigh_classes_wrongly_are_found_out(monkeypatch):
    monkeypatch.setattr(training_data, "class_multipliers", lambda weight, classes, counts: np.array([1.0, 2.0, 3.0]))
    assert found_out(assay.DecisionTreeClassifier(class_weight="balanced"), *blobs(120, 3, 0))


def test_landmarks_that_were_drawn_otherwise_are_found_out(monkeypatch):
    monkeypatch.setattr(
        maps, "content_keys", lambda X, seed, dtype=np.float64: fingerprint.content_keys(X, seed + 1, dtype)
    )
    assert found_out(assay.KernelFeaturesRegressor(n_components=20), *lines(120, 3, 0))


@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize("t", [-1.0, 1.0])
def test_slopes_curvatures_and_conjugates_are_those_of_the_loss(name, t):
    loss, width = LOSSES[name], 0.3 if name == "pinball" else WIDTH
    value = loss.value(GRID, t, width)
    assert np.all(value >= 0)
    z = np.array([-3.3, -0.7, 0.2, 0.4, 2.9])
    h = 1e-5
    if name != "hinge":  # whose slope is that of a smooth one
        slopes = (loss.value(z + h, t, width) - loss.value(z - h, t, width)) / (2 * h)
        np.testing.assert_allclose(loss.slope(z, t, width), slopes, atol=1e-8)
        if loss.curvature is not None:  # else straight but for corners
            bends = (loss.slope(z + h, t, width) - loss.slope(z - h, t, width)) / (2 * h)
            np.testing.assert_allclose(loss.curvature(z, t, width), bends, atol=1e-8)
    for u in loss.into_domain(np.array([-5.0, -0.7, -0.2, 0.0, 0.3, 0.9, 4.0]), t, width):
        np.testing.assert_allclose(loss.conjugate(u, t, width), np.max(u * GRID - value), atol=1e-5)


def test_softmax_is_the_logarithm_of_a_share():
    z, codes = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 4
    loss, u, star = softmax_terms(z, codes)
    shares = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(loss, -np.log(shares[np.arange(20), codes]))
    np.testing.assert_allclose(u, shares - np.eye(4)[codes])
    np.testing.assert_allclose(star, (u * z).sum(axis=1) - loss, atol=1e-12)  # Fenchel's equality at the slope


@pytest.mark.parametrize("s", [Strengths(0.0, 2.0, 0.5), Strengths(0.7, 2.0, 0.0), Strengths(0.7, 0.0, 0.0)])
def test_penalties_and_their_conjugates(s):
    for g in (-3.0, -0.2, 0.5, 2.0):
        inside = np.array([g, 0.0]) * s.into_domain(np.array([g, 0.0]))
        values = [s.value(np.array([w, 0.0])) for w in GRID[::100]]
        np.testing.assert_allclose(s.conjugate(inside), np.max(inside[0] * GRID[::100] - values), atol=1e-2)
    assert Strengths(0.0, 1.0, 0.5).conjugate(np.array([0.0, 2.0])) == 4.0


@pytest.mark.parametrize("name", ["log", "hinge", "squared hinge"])
def test_rows_that_lose_little_have_a_mean_margin(name):
    for lost in (0.1, 0.7, 3.0):
        assert LOSSES[name].value(np.float64(least_margin(name, lost)), 1.0, WIDTH) == pytest.approx(lost)
    assert LOSSES["squared"].value(farthest_target("squared", 0.7, WIDTH), 0.0, WIDTH) == pytest.approx(0.7)
    assert LOSSES["huber"].value(farthest_target("huber", 3.0, WIDTH), 0.0, WIDTH) == pytest.approx(3.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_draws_are_those_of_the_fit(dtype):
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[3, 1] = -0.0
    for seed in (0, 7, (1 << 64) - 1):
        assert np.array_equal(row_keys(50, seed), derived.row_keys(0, 50, seed))
        assert np.array_equal(content_keys(X, seed, dtype), fingerprint.content_keys(X, seed, dtype))
    assert np.array_equal(between_0_and_1(row_keys(50, 1)), derived.unit_interval(derived.row_keys(0, 50, 1)))


@pytest.mark.parametrize(
    ("classes", "weight"),
    [
        (["a", "b", "c"], "balanced"),
        (["a", "b", "c"], {"b": 2.5}),
        ([0, 1, 2], {1: 2, "2": 0.5}),
        ([0.0, 1.0, 2.5], {"1": 2.0, "2.5": 3.0}),
        ([False, True], {"true": 4.0}),
    ],
)
def test_classes_are_weighed_as_the_fit_does(classes, weight):
    counts = np.array([4.0, 0.0, 2.0])[: len(classes)]
    due = labels.class_multipliers(weight, np.array(classes), counts)
    np.testing.assert_allclose(class_factors(weight, classes, counts), due)
    with pytest.raises(ValueError, match="no class"):
        class_factors({"other": 1.0}, classes, counts)


def test_sparse_blocks_are_the_matrices_that_they_keep():
    dense = np.where(np.random.default_rng(0).random((9, 5)) < 0.4, np.arange(45.0).reshape(9, 5), 0.0)
    S = sp.csr_matrix(dense)
    block = CsrBlock(S.data, S.indices, S.indptr, 5)
    w, r = np.arange(10.0).reshape(5, 2), np.arange(9.0)
    np.testing.assert_allclose(times(block, w), dense @ w)
    np.testing.assert_allclose(back(block, r), dense.T @ r)
    for rows in (slice(2, 7), dense[:, 0] > 0, np.array([8, 0, 0])):
        assert np.array_equal(block[rows].toarray(), dense[rows])
    assert np.array_equal(block.columns(np.array([1, 4])).toarray(), dense[:, [1, 4]])


def test_weights_of_meeting_hulls_are_solved_for_exactly():
    X, s = np.array([[0.0, 5.0], [4.0, 5.0], [1.0, 5.0]]), np.array([1, 1, -1])
    assert np.array_equal(_meeting_weights(X, s, False), [0.75, 0.25, 1.0])
    assert _meeting_weights(X + np.array([[0, 0], [0, 0], [0, 1]]), s, False) is None
    assert _meeting_weights(X[:, :1] - 5.0, s, False) is not None
    rng = np.random.default_rng(3)
    for n in (2, 5, 9):
        M, alpha = rng.integers(-9, 9, (n, n)) / 8.0, rng.integers(1, 9, n) / 4.0
        np.testing.assert_allclose(_whole_solution(M, M @ alpha), alpha)
        np.testing.assert_allclose(_bounded_solution(M, M @ alpha), alpha)
    assert _whole_solution(np.ones((2, 2)), np.ones(2)) is None  # more than one
    assert _whole_solution(np.array([[1.0], [1.0]]), np.array([1.0, 2.0])) is None  # none
    assert _bounded_solution(np.ones((2, 2)), np.ones(2)) is None
