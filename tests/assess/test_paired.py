"""Two models are told apart when they should be, and about as seldom as promised when they should not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from assay.assess import compare_pair, holm, in_words
from assay.assess.paired import corrected_rows_t, corrected_t, mcnemar, paired_t
from assay.errors import DataError, ParameterError


@given(b=st.integers(0, 40), c=st.integers(0, 40), both=st.integers(1, 50))
def test_mcnemar_is_the_binomial_test_of_the_rows_they_differ_on(b, c, both):
    first = np.repeat([1, 0, 0], [b, c, both])
    second = np.repeat([0, 1, 0], [b, c, both])
    found = mcnemar(np.zeros(len(first), int), first, second)
    assert found.p == pytest.approx(scipy.stats.binomtest(b, b + c).pvalue if b + c else 1.0)
    assert found.difference == pytest.approx((b - c) / len(first))
    assert found.low <= found.difference <= found.high
    assert (found.verdict == "cannot tell apart") == (found.p >= 0.05)
    assert (found.low < 0 < found.high) == (found.p >= 0.05)


def test_the_interval_of_mcnemar_covers_the_difference():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(500):
        kind = rng.choice(3, 150, p=[0.15, 0.05, 0.8])
        found = mcnemar(np.zeros(150), kind == 0, kind == 1)
        covered += found.low <= 0.10 <= found.high
    assert covered >= 0.95 * 500


def test_the_paired_t_is_that_of_scipy():
    rng = np.random.default_rng(1)
    a, b = rng.random(40), rng.random(40) + 0.2
    found, due = paired_t(a, b), scipy.stats.ttest_rel(a, b)
    ends = due.confidence_interval(0.95)
    assert (found.statistic, found.p, found.low, found.high) == pytest.approx((due.statistic, due.pvalue, *ends))
    assert found.verdict == "first is better"


def test_the_corrected_t_widens_the_variance_by_the_shared_training_rows():
    d = np.array([0.01, 0.03, 0.02, 0.0, 0.04, 0.02, 0.01, 0.03, 0.05, 0.01])
    found = corrected_t(d, np.zeros(10), n_train=90, n_test=10)
    t = d.mean() / np.sqrt((1 / 10 + 10 / 90) * d.var(ddof=1))
    assert found.statistic == pytest.approx(t)
    assert found.p == pytest.approx(2 * scipy.stats.t.sf(t, 9))
    assert found.p > scipy.stats.ttest_1samp(d, 0).pvalue


def test_holm_is_that_of_its_definition_and_is_never_below_p():
    p = np.array([0.01, 0.04, 0.03, 0.005])
    assert holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert len(holm([])) == 0


def test_a_test_is_said_in_words():
    far = mcnemar(np.zeros(40), np.zeros(40), np.arange(40) < 30)
    assert in_words(far, "LDA", "stump") == "LDA is better than stump (McNemar, exact, p < 0.0001)."


def test_equal_models_are_told_apart_at_most_as_often_as_promised():
    rng, wrong = np.random.default_rng(4), 0
    for _ in range(300):
        columns = {str(m): (rng.random(100) < 0.2).astype(int) for m in range(2)}
        test = compare_pair(columns["0"], columns["1"], y=np.zeros(100, int))
        wrong += test.verdict != "cannot tell apart"
    assert wrong <= 0.05 * 300


def test_equal_folds_are_the_same_and_a_constant_gap_is_a_difference():
    assert corrected_t([0.1, 0.2], [0.1, 0.2], 9, 1).verdict == "cannot tell apart"
    assert corrected_t([0.25, 0.5], [0.5, 0.75], 9, 1).verdict == "cannot tell apart"  # two folds alike are no proof
    assert corrected_t([0.25] * 20, [0.5] * 20, 9, 1).verdict == "first is better"


def test_the_correction_over_rows_is_that_over_folds_of_one_row():
    rng = np.random.default_rng(0)
    a, b = rng.random(200), rng.random(200)
    rows, folds = corrected_rows_t(a, b, 150), corrected_t(a, b, 150, 1)
    assert rows.p == pytest.approx(folds.p)
    assert rows.low == pytest.approx(folds.low)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(DataError, match="no spread"):
        paired_t([0.1], [0.2])
    with pytest.raises(ParameterError, match="n_train"):
        corrected_t([0.1, 0.2], [0.2, 0.1], 0, 1)
