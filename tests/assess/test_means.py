"""The mean of a bounded loss lies within its interval at least as often as promised, for few rows too."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from assay.assess.score import MOST_BETS, bounded_mean, mean_interval
from assay.errors import DataError

LAWS = {
    "rare ones": (lambda rng, n: (rng.random(n) < 0.05).astype(float), 0.05),
    "skewed": (lambda rng, n: rng.beta(0.3, 3.0, n), 0.3 / 3.3),
    "flat": (lambda rng, n: rng.random(n), 0.5),
    "nearly always 1": (lambda rng, n: 1 - rng.beta(0.2, 10.0, n), 1 - 0.2 / 10.2),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [10, 80])
def test_the_interval_of_a_bounded_mean_covers_at_least_as_often_as_it_says(law, n):
    draw, truth = LAWS[law]
    rng, times = np.random.default_rng(len(law) + n), 400
    ends = [bounded_mean(draw(rng, n), 0.0, 1.0, 0.9) for _ in range(times)]
    covered = sum(low <= truth <= high for low, high in ends)
    assert covered >= scipy.stats.binom.ppf(0.001, times, 0.9)
    assert covered >= 0.9 * times


def test_the_t_interval_of_rare_losses_covers_too_seldom_which_is_why_it_is_called_approximate():
    draw, truth = LAWS["rare ones"]
    rng = np.random.default_rng(5)
    ends = [mean_interval(draw(rng, 20), 0.9) for _ in range(400)]
    assert sum(low <= truth <= high for low, high in ends) < 0.8 * 400


def test_rows_averaged_in_groups_still_cover_and_cost_no_width():
    rng = np.random.default_rng(0)
    x = rng.random(5 * MOST_BETS + 3)
    low, high = bounded_mean(x, 0.0, 1.0)
    assert low < 0.5 < high
    normal = 2 * 1.96 * x.std() / math.sqrt(len(x))
    assert normal < high - low < 1.6 * normal  # √(2 log 40)/1.96 = 1.39 is the price of being valid for every n


@given(shift=st.floats(-5, 5), scale=st.floats(0.1, 10))
def test_the_interval_moves_with_the_unit_of_the_loss(shift, scale):
    x = np.random.default_rng(1).random(50)
    low, high = bounded_mean(x, 0.0, 1.0)
    moved = bounded_mean(shift + scale * x, shift, shift + scale)
    assert moved == pytest.approx((shift + scale * low, shift + scale * high), abs=1e-6)


def test_sorted_rows_get_as_good_an_interval_as_mixed_ones():
    x = np.sort(np.random.default_rng(2).random(400))
    low, high = bounded_mean(x, 0.0, 1.0)
    assert low < x.mean() < high
    assert high - low < 0.13


def test_values_outside_the_bounds_are_refused():
    with pytest.raises(DataError, match="not within the bounds"):
        bounded_mean(np.array([0.0, 2.0]), 0.0, 1.0)


def test_the_t_interval_is_that_of_scipy():
    x = np.random.default_rng(3).normal(size=30)
    other = scipy.stats.ttest_1samp(x, 0.0).confidence_interval(0.95)
    assert mean_interval(x) == pytest.approx((other.low, other.high))
    assert mean_interval(x[:1]) == (-math.inf, math.inf)
