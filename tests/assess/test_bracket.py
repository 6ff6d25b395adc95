"""The bracket of Cover and Hart holds the Bayes error where that is known."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from assay.assess import bayes_bracket
from assay.assess.bayes_error import drawn_rows, loo_1nn_error, standardised
from assay.errors import DataError, OneClassError, ParameterError
from assay.families.neighbours.leave_one_out import least_bayes_error


def twonorm(n, d, seed=0):
    """Normal classes around ±2/√d·(1, …, 1): Bayes error Φ(−2) = 2.275 %, whatever d is."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, d)) + (2 / np.sqrt(d)) * (2 * y[:, None] - 1), y


def test_the_bracket_of_twonorm_holds_its_bayes_error():
    bayes = scipy.stats.norm.cdf(-2)
    for d in (1, 2, 5):
        bracket = bayes_bracket(*twonorm(20_000, d))
        assert bracket.least <= bayes <= bracket.most
        assert bracket.low <= bayes * 1.15  # the lower end is an estimate: no proof holds it below
        assert bracket.high < 0.0445 * 1.2  # 2R*(1 − R*) = 4.45 %, the limit of the nearest neighbour


def test_in_20_columns_the_nearest_neighbour_is_above_its_limit_and_the_error_still_below_it():
    bracket = bayes_bracket(*twonorm(4000, 20))
    assert bracket.high > 0.0445
    assert scipy.stats.norm.cdf(-2) <= bracket.high
    assert bracket.note == "asymptotic, estimate"


@pytest.mark.parametrize("K", [2, 3, 10])
def test_the_lower_end_inverts_the_bound_of_cover_and_hart(K):
    for r in np.linspace(0, (K - 1) / K * 0.99, 9):
        assert least_bayes_error(r * (2 - K / (K - 1) * r), K) == pytest.approx(r, abs=1e-6)
    assert least_bayes_error((K - 1) / K, K) == 0  # worse than guessing says nothing


def test_leave_one_out_is_that_of_scikit_learn_in_every_tile(data_dir):
    table = np.loadtxt(data_dir / "wine.csv", delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1].astype(int)
    Z = StandardScaler().fit_transform(X)
    near = KNeighborsClassifier(1, algorithm="brute").fit(Z, y).kneighbors(return_distance=False)[:, 0]
    assert loo_1nn_error(standardised(X), y) == int((y[near] != y).sum())
    X, y = twonorm(1100, 3)
    near = KNeighborsClassifier(1, algorithm="brute").fit(X, y).kneighbors(return_distance=False)[:, 0]
    assert loo_1nn_error(X, y) == int((y[near] != y).sum())
    assert loo_1nn_error(scipy.sparse.csr_array(X), y) == int((y[near] != y).sum())


def test_standardising_drops_constants_and_puts_missing_values_at_the_mean():
    X = np.array([[1.0, 5.0, np.nan], [3.0, 5.0, 2.0], [5.0, 5.0, 4.0]])
    Z = standardised(X)
    assert Z.shape == (3, 2)
    assert Z[:, 0] == pytest.approx(np.array([-1, 0, 1]) * np.sqrt(1.5))
    assert Z[:, 1] == pytest.approx([0, -1, 1])


def test_long_tables_are_judged_on_a_subset_fixed_by_the_seed():
    X, y = twonorm(3000, 2)
    a, b, c = (bayes_bracket(X, y, most=500, seed=s) for s in (0, 0, 1))
    assert a == b != c
    assert a.neighbour.n == 500
    json.dumps(a.to_data())


def test_where_the_neighbours_error_still_falls_with_the_rows_the_lower_end_is_stated_below_it():
    counts = iter([250, 150])  # of 1000 rows and of 500: 25 %, 30 %
    X, y = twonorm(1000, 2)
    found = bayes_bracket(X, y, neighbour_errors=lambda *given: next(counts))
    assert found.fall == pytest.approx(0.05)
    flat = bayes_bracket(X, y, neighbour_errors=lambda Z, t, *_: len(t) // 4)
    assert (flat.fall, flat.low) == (0.0, found.low)
    assert found.least < flat.least < flat.low


def test_rows_of_one_group_are_not_each_others_neighbours():
    """Two copies of every row of noise: beside its copy each looks certain, without it each is a toss."""
    rng = np.random.default_rng(6)
    g = np.repeat(np.arange(600), 2)
    X, y = rng.normal(size=(600, 2))[g], rng.integers(0, 2, 600)[g]
    assert bayes_bracket(X, y).high == 0
    apart = bayes_bracket(X, y, groups=g)
    assert apart.neighbour.low < 0.5 < apart.neighbour.high
    once = np.arange(0, 1200, 2)
    assert apart.high == pytest.approx(loo_1nn_error(standardised(X[once]), y[once]) / 600)
    assert loo_1nn_error(scipy.sparse.csr_array(X), y, g) == loo_1nn_error(X, y, g)
    assert apart.neighbour.kind == "approximate"
    assert bayes_bracket(X, y, groups=[f"case {k}" for k in g], most=500).neighbour.n == 500
    with pytest.raises(DataError, match="one group"):
        bayes_bracket(X, y, groups=np.zeros(1200))
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        bayes_bracket(X, y, groups=[1, 2, 3])


def test_rows_are_drawn_evenly_over_a_sorted_table():
    rows = drawn_rows(6000, 4000)
    assert len(np.unique(rows)) == 4000
    assert np.array_equal(rows, np.sort(rows))
    assert np.bincount(rows // 2000).tolist() == pytest.approx([4000 / 3] * 3, rel=0.05)
    assert not np.array_equal(rows, drawn_rows(6000, 4000, seed=1))


def test_pure_noise_has_no_lower_end_past_guessing():
    rng = np.random.default_rng(3)
    bracket = bayes_bracket(rng.normal(size=(400, 2)), np.arange(400) % 2)
    assert 0 <= bracket.least <= bracket.low <= bracket.high <= bracket.most
    assert bracket.most >= 0.5


def test_one_class_or_one_row_have_no_bracket():
    with pytest.raises(OneClassError, match="one class"):
        bayes_bracket(np.ones((3, 1)), [1, 1, 1])
    with pytest.raises(ParameterError, match="most=1"):
        bayes_bracket(np.ones((3, 1)), [1, 1, 0], most=1)
