"""The intervals are exact: put back into the binomial law, each end leaves what it must."""

from __future__ import annotations

import math

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from assay.certify.check_held_out import interval_is_exact
from assay.certify.held_out import clopper_pearson, hoeffding


@given(n=st.integers(1, 3000), share=st.floats(0, 1), confidence=st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_clopper_pearson_is_that_of_scipy_and_passes_its_checker(n, share, confidence):
    errors = round(n * share)
    low, high = clopper_pearson(errors, n, confidence)
    other = scipy.stats.binomtest(errors, n).proportion_ci(confidence, "exact")
    assert (low, high) == pytest.approx((other.low, other.high), abs=1e-9)
    assert low <= errors / n <= high
    assert interval_is_exact(errors, n, confidence, low, high)


@given(n=st.integers(5, 500), share=st.floats(0.1, 0.9))
def test_a_narrower_interval_is_not_exact(n, share):
    errors = min(n - 1, max(1, round(n * share)))
    low, high = clopper_pearson(errors, n)
    assert not interval_is_exact(errors, n, 0.95, low + 0.01 * (high - low), high)
    assert not interval_is_exact(errors, n, 0.95, low, high - 0.01 * (high - low))
    assert not interval_is_exact(errors, n, 0.99, low, high)


def test_the_interval_covers_the_true_rate_as_often_as_it_says():
    n, rate = 60, 0.13
    covered = sum(
        scipy.stats.binom.pmf(k, n, rate)
        for k in range(n + 1)
        if clopper_pearson(k, n)[0] <= rate <= clopper_pearson(k, n)[1]
    )
    assert covered >= 0.95


@given(n=st.integers(1, 10**6), confidence=st.floats(0.01, 0.999))
def test_hoeffding_solves_its_equation(n, confidence):
    t = hoeffding(n, confidence)
    assert 2 * math.exp(-2 * n * t * t) == pytest.approx(1 - confidence)
