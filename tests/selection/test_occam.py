"""Occam's rule: the simplest model that cannot be told from the best."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DataError
from assay.selection.judge import recommend

NAN = float("nan")


def test_the_simplest_within_one_standard_error_of_the_best_is_chosen():
    choice = recommend([0.20, 0.10, 0.115, 0.119, 0.13], [0.01, 0.02, 0.5, 0.5, 0.5], [1, 9, 5, 3, 2])
    assert (choice.best, choice.chosen, choice.within) == (1, 3, [1, 2, 3])
    assert choice.threshold == pytest.approx(0.12)


def test_of_equally_simple_models_the_one_of_lower_risk_is_chosen():
    assert recommend([0.12, 0.11, 0.10], [0.05] * 3, [1, 1, 2]).chosen == 1


def test_where_all_are_equal_the_first_is_chosen():
    assert recommend([0.3] * 4, [0.0] * 4, [2] * 4)[:3] == (0, 0, [0, 1, 2, 3])


def test_of_equal_risks_the_simplest_is_the_best():
    assert recommend([0.3, 0.3], [0.0, 0.0], [2, 1])[:3] == (1, 1, [0, 1])


def test_a_single_model_is_chosen():
    assert recommend([0.3], [NAN], [NAN]) == (0, 0, [0], 0.3)


def test_failed_fits_take_no_part_and_unknown_complexity_is_the_greatest():
    choice = recommend([NAN, 0.1, 0.11], [0.1, 0.1, 0.1], [0, NAN, 7])
    assert (choice.best, choice.chosen, choice.within) == (1, 2, [1, 2])


def test_nothing_to_choose_from_is_an_error():
    for risks in ([], [NAN, NAN]):
        with pytest.raises(DataError, match="No model has a risk"):
            recommend(risks, [0.1] * len(risks), [1] * len(risks))
    with pytest.raises(DataError, match="as many"):
        recommend([0.1], [0.1, 0.2], [1])


def test_the_error_of_the_paired_difference_decides_where_it_is_known():
    risks, errors, sizes = [0.10, 0.11, 0.115], [0.05] * 3, [9, 2, 1]
    assert recommend(risks, errors, sizes).chosen == 2
    assert recommend(risks, errors, sizes, difference_errors=[0.0, 0.02, 0.001]).chosen == 1
    matrix = np.array([[0.0, 0.001, 0.001], [1, 1, 1], [1, 1, 1]])
    assert recommend(risks, errors, sizes, difference_errors=matrix).within == [0]
    assert recommend(risks, errors, sizes, difference_errors=[0.0, NAN, 0.001]).within == [0, 1]
    with pytest.raises(DataError, match="3 models"):
        recommend(risks, errors, sizes, difference_errors=[0.1])


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2), st.integers(0, 5)), min_size=1, max_size=12))
def test_the_chosen_is_never_worse_than_the_threshold_nor_more_complex_than_the_best(models):
    risks, errors, sizes = map(np.array, zip(*models))
    choice = recommend(risks, errors, sizes)
    assert risks[choice.chosen] <= choice.threshold + 1e-12
    assert sizes[choice.chosen] <= sizes[choice.best]
    assert choice.best in choice.within
    assert risks[choice.best] == risks.min()
